//! The invariants of a store: what it acknowledged is durable, commits are atomic, restarts are
//! invisible.

use caudal_storage::{Entry, StreamId};

use super::Check;
use crate::hold;
use crate::store::cents::Rows;

/// 11: every acknowledged commit is found, and whatever is found was asked for, in that order.
pub fn check_i11(asked: &[Vec<Entry>], sure: usize, found: &[Vec<Entry>]) -> Check {
    hold!(
        found.len() >= sure,
        "I11: {sure} were acknowledged, {} are found",
        found.len()
    );
    hold!(
        found.len() <= asked.len(),
        "I11: {} found, {} asked for",
        found.len(),
        asked.len()
    );
    Ok(())
}

/// 12: each commit is there with all its entries, or not at all.
pub fn check_i12(asked: &[Vec<Entry>], found: &[Vec<Entry>]) -> Check {
    for (number, (asked, found)) in asked.iter().zip(found).enumerate() {
        let names = |entries: &[Entry]| {
            entries
                .iter()
                .map(|e| (e.stream, e.seq))
                .collect::<Vec<_>>()
        };
        hold!(
            asked == found,
            "I12: commit {} is {:?}, was {:?}",
            number + 1,
            names(found),
            names(asked)
        );
    }
    Ok(())
}

/// 14, for a store: the last sequence at an instant equals that of a replay.
pub fn check_i14_seq(
    stream: StreamId,
    at: u64,
    found: Option<u64>,
    replayed: Option<u64>,
) -> Check {
    hold!(
        found == replayed,
        "I14: {stream:?} at {at} is {found:?}, a replay says {replayed:?}"
    );
    Ok(())
}

/// 26: the rows equal those of a replay of everything.
pub fn check_i26_rows(found: &Rows, right: &Rows) -> Check {
    for (key, value) in right {
        let there = found.get(key);
        hold!(
            there == Some(value),
            "I26: row {key:02x?} is {there:02x?}, not {value:02x?}"
        );
    }
    let more = found.keys().find(|key| !right.contains_key(*key));
    hold!(more.is_none(), "I26: row {more:02x?} should not be there");
    Ok(())
}
