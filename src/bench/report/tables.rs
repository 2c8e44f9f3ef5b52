//! The tables for people.

use std::collections::BTreeMap;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use crate::case::Case;
use crate::cases::Compared;
use crate::figures::{grouped, mebibytes, micros, per_second};
use crate::growth::Tenth;
use crate::load;
use crate::machine;
use crate::rows::Row;

/// A table whose columns hold numbers, except the first.
pub fn table(header: &[&str], rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(header);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The cases.
pub fn cases(rows: &[Row]) -> Table {
    let header = [
        "case",
        "conns",
        "req/s",
        "vouchers/s",
        "p50 µs",
        "p99 µs",
        "to (a)",
        "flush/s",
        "group",
        "flush µs",
        "B/posting",
        "CPU µs",
        "a voucher",
        "others",
    ];
    let cells = rows.iter().map(|row| {
        let posts = row.flushes_per_second > 0;
        let of = |text: String| if posts { text } else { "-".to_owned() };
        vec![
            row.name.to_owned(),
            row.connections.to_string(),
            grouped(row.per_second),
            of(grouped(row.vouchers_per_second)),
            micros(row.p50_nanos),
            micros(row.p99_nanos),
            row.ratio_to_noop.to_string(),
            of(grouped(row.flushes_per_second)),
            of(row.mean_group.to_string()),
            of(micros(row.mean_flush_nanos)),
            of(grouped(row.journal_bytes_per_posting)),
            micros(row.cpu_nanos),
            row.cpu_nanos_per_voucher
                .map_or_else(|| "-".to_owned(), micros),
            row.taken_by_others.to_string(),
        ]
    });
    table(&header, cells.collect())
}

/// The cases at the most connections, and the names of the threads that were busy in any of them.
fn busy(compared: &Compared) -> (Vec<&Row>, Vec<&str>) {
    let rows: Vec<&Row> = Case::ALL
        .iter()
        .filter_map(|case| compared.at_most_connections(*case))
        .collect();
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, nanos) in rows.iter().flat_map(|row| &row.cpu_nanos_by_thread) {
        let most = names.entry(name).or_default();
        *most = (*most).max(*nanos);
    }
    names.retain(|name, nanos| *nanos >= 50 && *name != load::THREAD);
    (rows, names.into_keys().collect())
}

/// CPU time by thread, for each case at the most connections: per voucher, or per answer for a case without vouchers.
pub fn threads(compared: &Compared) -> Table {
    let (rows, names) = busy(compared);
    let mut header = vec!["CPU µs a voucher (or answer), by thread"];
    header.extend(&names);
    header.push(load::THREAD);
    let cells = rows.iter().map(|row| {
        let of = |name: &str| row.cpu_nanos_by_thread.get(name).copied().unwrap_or(0);
        let mut cells = vec![format!("{} × {}", row.name, row.connections)];
        cells.extend(names.iter().map(|name| micros(of(name))));
        cells.push(micros(of(load::THREAD)));
        cells
    });
    table(&header, cells.collect())
}

/// The vouchers (or answers) per second that each thread could do with a processor of its own and no waiting; the HTTP
/// threads are counted together, with a processor each.
pub fn ceilings(compared: &Compared, workers: usize) -> Table {
    let (rows, names) = busy(compared);
    let mut header = vec!["most a second, by thread"];
    header.extend(&names);
    let together = u64::try_from(workers).unwrap_or(1);
    let cells = rows.iter().map(|row| {
        let of = |name: &str| {
            let processors = if name == machine::HTTP { together } else { 1 };
            match row.cpu_nanos_by_thread.get(name) {
                Some(nanos) if *nanos >= 50 => grouped(per_second(processors, *nanos)),
                Some(_) | None => "-".to_owned(),
            }
        };
        let mut cells = vec![format!("{} × {}", row.name, row.connections)];
        cells.extend(names.iter().map(|name| of(name)));
        cells
    });
    table(&header, cells.collect())
}

/// The tenths of the long load.
pub fn tenths(all: &[Tenth]) -> Table {
    let header = [
        "tenth",
        "req/s",
        "group",
        "flush µs",
        "B/posting",
        "CPU µs",
        "others",
        "index MiB",
        "runs",
        "RSS MiB",
    ];
    let cells = (1..).zip(all).map(|(n, tenth): (u64, _)| {
        vec![
            n.to_string(),
            grouped(tenth.per_second),
            tenth.mean_group.to_string(),
            micros(tenth.mean_flush_nanos),
            grouped(tenth.journal_bytes_per_posting),
            micros(tenth.cpu_nanos),
            tenth.taken_by_others.to_string(),
            mebibytes(tenth.index_bytes),
            tenth.index_runs.to_string(),
            mebibytes(tenth.memory),
        ]
    });
    table(&header, cells.collect())
}
