//! Metrics of logs that are in a database, and of this node.

use std::sync::atomic::Ordering::Relaxed;

use caudal_http::node::Node;
use caudal_postgres::Figures;

use super::{AdminState, Figure, Page, figures};
use crate::admin::node::NodesBody;

/// The gauges of this node.
const NODE: [Figure<NodesBody, Option<u64>>; 4] = figures! {
    gauge node_owner "1 when this node owns the log and serves requests."
        = |nodes| Some(u64::from(nodes.owns));
    gauge node_epoch "Counts the owners of the log." = |nodes| nodes.epoch;
    gauge node_lease_left_ms "How long the owner's lease lasts still, in milliseconds; absent when it is over."
        = |nodes| nodes.lease_left_ms;
    gauge node_behind_commits "Commits of the log that this node lacks." = |nodes| Some(nodes.behind);
};

/// The counters of this node.
const COUNTS: [Figure<Node>; 3] = figures! {
    counter node_turns_total "How often this node has begun to serve." = |node| node.counts.turns.load(Relaxed);
    counter node_handed_over_total "How often this node has handed the log over."
        = |node| node.counts.handed_over.load(Relaxed);
    counter node_not_owner_total "Requests that were refused because this node does not own the log."
        = |node| node.counts.refused.load(Relaxed);
};

/// The figures of the log.
const LOG: [Figure<Figures>; 7] = figures! {
    gauge cell_log_copies "How many servers of the database have a record before it counts as appended."
        = Figures::copies;
    counter cell_log_appends_total "Records appended to the log." = |log| log.appends;
    counter cell_log_unknown_total "Appends whose answer was lost; each was asked about." = |log| log.unknown;
    counter cell_log_retries_total "Statements tried again." = |log| log.retries;
    counter cell_log_connections_total "Connections made to the database of the log." = |log| log.connections;
    counter cell_log_bytes_total "Bytes of the records appended." = |log| log.bytes;
    counter cell_log_packed_bytes_total "The same bytes, compressed, as the database has them." = |log| log.packed;
};

/// The figures of this node and of its log; nothing where the log is on this machine's disk.
pub(super) fn figures(page: &mut Page, admin_state: &AdminState) {
    if let Some(node) = &admin_state.app.node {
        page.known(&NODE, &NodesBody::of(admin_state));
        page.all(&COUNTS, node);
    }
    if let Some(log) = &admin_state.app.log {
        page.all(&LOG, &log.figures());
    }
}
