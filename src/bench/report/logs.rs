//! The output of the comparison of logs on the disk and in databases, and its bars.

use comfy_table::Table;

use super::tables::table;
use super::{Bar, at_least};
use crate::figures::{Thousandths, grouped, micros};
use crate::logs::{LogRow, OnLogs, Posting};

/// Single vouchers, relative to those on the disk.
const SINGLE_BAR: Thousandths = Thousandths(500);
/// Bulks, relative to those on the disk.
const BULK_BAR: Thousandths = Thousandths(400);
/// Vouchers, single or in bulk, relative to plain SQL on the same server.
const SQL_BAR: Thousandths = Thousandths(3000);
/// The same on one account.
const SQL_HOT_BAR: Thousandths = Thousandths(15_000);

/// The bars of logs in databases.
pub(super) fn bars(logs: &OnLogs) -> Vec<Bar> {
    let of = |row: &LogRow| {
        let (to_disk, to_sql) = match row.posting {
            Posting::Single => (Some(SINGLE_BAR), Some(SQL_BAR)),
            Posting::Bulk => (Some(BULK_BAR), Some(SQL_BAR)),
            Posting::Hot => (None, Some(SQL_HOT_BAR)),
            Posting::Sql | Posting::SqlHot => (None, None),
        };
        let bar = |by: &str, found: Option<Thousandths>, bar: Option<Thousandths>| {
            let what = format!("{}: {}, by {by}", row.place.title(), row.name);
            Some(at_least(what, found?, bar?))
        };
        [
            bar("the disk", row.to_disk, to_disk),
            bar("plain SQL", row.to_sql, to_sql),
        ]
    };
    logs.rows.iter().flat_map(of).flatten().collect()
}

/// The rows.
pub(super) fn rows(rows: &[LogRow]) -> Table {
    let header = [
        "log",
        "posting",
        "conns",
        "vouchers/s",
        "p50 µs",
        "p99 µs",
        "to disk",
        "to SQL",
        "others",
    ];
    let ratio =
        |ratio: Option<Thousandths>| ratio.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let cells = rows.iter().map(|row| {
        vec![
            row.place.title().to_owned(),
            row.name.clone(),
            row.connections.to_string(),
            grouped(row.per_second),
            micros(row.p50_nanos),
            micros(row.p99_nanos),
            ratio(row.to_disk),
            ratio(row.to_sql),
            row.taken_by_others.to_string(),
        ]
    });
    table(&header, cells.collect())
}
