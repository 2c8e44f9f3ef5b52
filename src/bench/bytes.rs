//! The use of a store's bytes: entries of the journal by stream, rows of the index by kind, and the bytes around them.

use std::collections::BTreeMap;

use caudal_actors::records::{self, keys};
use caudal_storage::{CommitNo, DurableStore, Index as _, STREAM_TAG, Store as _};
use serde::Serialize;

use super::figures::scaled;

/// One use of bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Its name.
    pub what: &'static str,
    /// The number of entries or rows; 0 if they are not counted.
    pub count: u64,
    /// Bytes before compression.
    pub bytes: u64,
    /// Bytes in the files; for entries in compressed segments, their proportional share of the compressed bytes.
    pub disk: u64,
}

fn stream(kind: u8) -> &'static str {
    match kind {
        records::LEDGER => "journal: vouchers",
        records::PROFILE => "journal: profiles",
        records::BANK => "journal: calls to the bank",
        records::ANSWERS | records::ANSWER_PARTS => "journal: answers kept for keys",
        _ => "journal: other entries",
    }
}

/// Reads the whole store and returns the use of its bytes.
///
/// # Errors
/// When the store cannot be read.
pub fn of(store: &DurableStore) -> anyhow::Result<Vec<Share>> {
    let census = store.census()?;
    let mut entries: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    store.replay(CommitNo(1), &mut |_, entry| {
        let sum = entries.entry(stream(entry.stream.kind)).or_default();
        sum.0 += 1;
        sum.1 += u64::try_from(entry.body.len()).unwrap_or(u64::MAX);
        true
    })?;
    let bodies = entries.values().map(|sum| sum.1).sum::<u64>();
    let saved = store.stats().compressed_saved_bytes.min(bodies);
    let on_disk = |bytes: u64| scaled(bytes, bodies - saved, bodies);
    let beside = |what, disk| Share {
        what,
        count: 0,
        bytes: disk,
        disk,
    };
    let mut shares: Vec<_> = entries
        .into_iter()
        .map(|(what, (count, bytes))| Share {
            what,
            count,
            bytes,
            disk: on_disk(bytes),
        })
        .collect();
    let around = census.journal_files.saturating_sub(bodies - saved);
    shares.push(beside("journal: around them, room set aside", around));
    let mut rows: BTreeMap<&'static str, Share> = BTreeMap::new();
    for (first, found) in &census.index.rows {
        let name = match keys::kind_of(*first) {
            Some(known) => known,
            None if *first == STREAM_TAG => "entries by their streams",
            None => "rows of a kind without a name",
        };
        let share = rows.entry(name).or_insert_with(|| beside(name, 0));
        share.count += found.rows;
        share.bytes += found.bytes;
        share.disk += found.stored;
    }
    shares.extend(rows.into_values());
    let index = &census.index;
    shares.push(beside("index: first keys of blocks", index.fences));
    shares.push(beside("index: filters", index.filters));
    shares.push(beside("index: large values", index.others));
    let used = [index.row_blocks, index.fences, index.filters, index.others];
    let used = used.into_iter().sum();
    let added = census.index_files.saturating_sub(used);
    shares.push(beside("index: around them, in its files", added));
    Ok(shares)
}
