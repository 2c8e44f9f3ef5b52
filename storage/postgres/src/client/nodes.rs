//! The owner and the nodes of a cell, as rows.
//!
//! **Shape.** If a cell is kept for one node, its owner is that node's name after a mark that no name contains.

use std::sync::Arc;
use std::time::Duration;

use caudal_storage::CommitNo;
use caudal_storage::log::{ClusterView, Epoch, Hash, LogError, Presence, SeenNode, Tail};
use tokio_postgres::Row;

use crate::client::shared::{Core, column, count, damaged};

/// The mark; names have no control characters.
const KEPT_FOR: char = '\t';
/// How long a node is listed after it was last seen.
pub(crate) const KNOWN: Duration = Duration::from_secs(600);

/// The owner value of a cell that is kept for a node.
pub(crate) fn kept_for(node: &str) -> String {
    format!("{KEPT_FOR}{node}")
}

/// The name in an owner value, and whether the cell is only kept for it.
pub(crate) fn named(owner: &str) -> (Arc<str>, bool) {
    match owner.strip_prefix(KEPT_FOR) {
        Some(name) => (Arc::from(name), true),
        None => (Arc::from(owner), false),
    }
}

/// The owner of the cell and the nodes that are present, from the rows that were read; notes the cell's lease.
pub(crate) fn cluster_view(core: &Core, rows: &[Row]) -> Result<ClusterView, LogError> {
    let row = rows.first().ok_or_else(|| damaged(0))?;
    let left = core.saw(column(row, 2)?, column(row, 3)?);
    let hash: Vec<u8> = column(row, 5)?;
    let owner: Option<String> = column(row, 1)?;
    let (owner, offered) = match owner.as_deref().map(named) {
        Some((name, true)) => (None, Some(name)),
        Some((name, false)) => (Some(name), None),
        None => (None, None),
    };
    let nodes = rows.iter().map(seen);
    Ok(ClusterView {
        epoch: Epoch(count(row, 0)?),
        owner,
        offered,
        left: left.filter(|left| !left.is_zero()),
        acknowledged: CommitNo(count(row, 6)?),
        tail: Tail {
            commit: CommitNo(count(row, 4)?),
            hash: Hash::try_from(hash.as_slice()).map_err(|_| damaged(0))?,
        },
        nodes: nodes
            .filter_map(Result::transpose)
            .collect::<Result<_, _>>()?,
    })
}

/// The node in a row, if it has one.
fn seen(row: &Row) -> Result<Option<SeenNode>, LogError> {
    let name: Option<String> = column(row, 7)?;
    let Some(name) = name else { return Ok(None) };
    let url: String = column(row, 8)?;
    let (ago, process): (i64, i64) = (column(row, 10)?, column(row, 11)?);
    Ok(Some(SeenNode {
        node: Presence {
            name: Arc::from(name),
            url: Arc::from(url),
            applied: CommitNo(count(row, 9)?),
            process: process.cast_unsigned(),
        },
        // If the clock was set back, the time is in the future.
        ago: u64::try_from(ago).map_or(Duration::ZERO, Duration::from_millis),
    }))
}
