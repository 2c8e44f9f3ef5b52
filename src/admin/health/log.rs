//! Metrics of a log that is elsewhere.

use std::collections::BTreeMap;

use super::{OperatorDesk, Page};
use crate::admin::cells;

/// How this node stands in each cell; where there is one, it is not named.
fn of_cells(page: &mut Page, all: &[(u32, Vec<cells::Figure>)]) {
    if let [(_, gauges)] = all {
        for (name, help, figure) in gauges {
            page.gauge(name, help, figure);
        }
        return;
    }
    // What is not known of one cell is absent there alone.
    let known = all.iter().flat_map(|(_, gauges)| gauges);
    let names: BTreeMap<_, _> = known.map(|(name, help, _)| (*name, *help)).collect();
    for (name, help) in names {
        page.family(name, "gauge", help);
        for (cell, gauges) in all {
            let label = format!("{{cell=\"{cell}\"}}");
            for (_, _, figure) in gauges.iter().filter(|(it, _, _)| *it == name) {
                page.sample(name, &label, figure);
            }
        }
    }
}

/// What the log's handle has counted; nothing where the log is this machine's disk.
pub(super) fn figures(page: &mut Page, desk: &OperatorDesk) {
    of_cells(page, &cells::gauges(desk));
    for (name, help, figure) in cells::counters(desk).into_iter().flatten() {
        page.counter(name, help, figure);
    }
    let Some(status) = &desk.door.log else {
        return;
    };
    let log = status.figures();
    page.gauge(
        "cell_log_copies",
        "How many servers of the database have a record before it counts as appended.",
        log.copies(),
    );
    let counters = [
        (
            "cell_log_appends_total",
            "Records appended to the log.",
            log.appends,
        ),
        (
            "cell_log_unknown_total",
            "Appends whose answer was lost; each was asked about.",
            log.unknown,
        ),
        (
            "cell_log_retries_total",
            "Statements tried again.",
            log.retries,
        ),
        (
            "cell_log_connections_total",
            "Connections made to the database of the log.",
            log.connections,
        ),
        (
            "cell_log_bytes_total",
            "Bytes of the records appended.",
            log.bytes,
        ),
        (
            "cell_log_packed_bytes_total",
            "The same bytes, compressed, as the database has them.",
            log.packed,
        ),
    ];
    for (name, help, figure) in counters {
        page.counter(name, help, figure);
    }
}
