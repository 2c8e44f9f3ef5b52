//! Metrics of a log that is elsewhere.

use super::{OperatorDesk, Page};
use crate::admin::cells;

/// What the log's handle has counted; nothing where the log is this machine's disk.
pub(super) fn figures(page: &mut Page, desk: &OperatorDesk) {
    if let Some((gauges, counters)) = cells::figures(desk) {
        for (name, help, figure) in gauges {
            page.gauge(name, help, figure);
        }
        for (name, help, figure) in counters {
            page.counter(name, help, figure);
        }
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
