//! Metrics of logs that are in a database, and of this node.

use caudal_http::node::Node;
use caudal_postgres::Figures;

use super::{AdminState, Page};
use crate::admin::node::{GAUGES, NodesBody, counters};

/// A figure of the log: name, kind, help, value.
type LogFigure = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Figures) -> u64,
);

const LOG: [LogFigure; 7] = [
    (
        "cell_log_copies",
        "gauge",
        "How many servers of the database have a record before it counts as appended.",
        Figures::copies,
    ),
    (
        "cell_log_appends_total",
        "counter",
        "Records appended to the log.",
        |log| log.appends,
    ),
    (
        "cell_log_unknown_total",
        "counter",
        "Appends whose answer was lost; each was asked about.",
        |log| log.unknown,
    ),
    (
        "cell_log_retries_total",
        "counter",
        "Statements tried again.",
        |log| log.retries,
    ),
    (
        "cell_log_connections_total",
        "counter",
        "Connections made to the database of the log.",
        |log| log.connections,
    ),
    (
        "cell_log_bytes_total",
        "counter",
        "Bytes of the records appended.",
        |log| log.bytes,
    ),
    (
        "cell_log_packed_bytes_total",
        "counter",
        "The same bytes, compressed, as the database has them.",
        |log| log.packed,
    ),
];

/// This node's state, and its counters.
fn of_node(page: &mut Page, admin_state: &AdminState, node: &Node) {
    let nodes = NodesBody::now(admin_state);
    for (name, help, figure) in GAUGES {
        if let Some(value) = figure(&nodes) {
            page.gauge(name, help, value);
        }
    }
    for (name, help, figure) in counters(node) {
        page.counter(name, help, figure);
    }
}

/// The counters of this node and of its log; nothing where the log is on this machine's disk.
pub(super) fn figures(page: &mut Page, admin_state: &AdminState) {
    if let Some(node) = &admin_state.app.node {
        of_node(page, admin_state, node);
    }
    let log = admin_state.app.log.as_ref().map(|log| log.figures());
    for (name, kind, help, figure) in LOG {
        page.figure(name, kind, help, log.as_ref().map(figure));
    }
}
