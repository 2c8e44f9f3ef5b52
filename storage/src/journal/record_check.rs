//! Judges the records of a segment on their own: whether each is whole, and its hash.
//!
//! **Shape.** Hashes and checksums take most of the time of a check, and no judgement depends on another record. So two
//! threads share the records; [`check`] then follows the chain.
//!
//! **Bounds.** A place in a list for each record of one segment: where all are as short as can be, as much memory as the
//! segment.
//!
//! **Failure.** If no thread can be started, the caller's thread judges all of them.
//!
//! [`check`]: super::check

use std::panic::resume_unwind;
use std::thread;

use crate::journal::format::{Hash, Record};

/// The intact records at the start of some bytes, up to the first one that is broken.
pub(crate) fn records(data: &[u8]) -> Vec<Record<'_>> {
    let (mut records, mut offset) = (Vec::new(), 0);
    while let Some(record) = data.get(offset..).and_then(Record::parse) {
        offset += record.bytes.len();
        records.push(record);
    }
    records
}

/// What takes longest to find out about a record.
#[derive(Clone, Copy)]
pub(crate) struct CheckedRecord {
    /// Whether its entries pass their checksums.
    pub(crate) whole: bool,
    /// The hash that the next record names.
    pub(crate) hash: Hash,
}

impl CheckedRecord {
    fn of(record: &Record<'_>) -> Self {
        Self {
            whole: record.visit(&mut |_, _, _| true),
            hash: record.hash(),
        }
    }
}

/// Judges records, half of them on another thread: no judgement depends on another record.
pub(crate) fn judged(records: &[Record<'_>]) -> Vec<CheckedRecord> {
    let all = |records: &[Record<'_>]| records.iter().map(CheckedRecord::of).collect::<Vec<_>>();
    let (here, there) = records.split_at(records.len().div_ceil(2));
    if there.is_empty() {
        return all(here);
    }
    thread::scope(|scope| {
        let other = thread::Builder::new().name("caudal-storage-check".to_owned());
        let other = other.spawn_scoped(scope, || all(there));
        let mut judged = all(here);
        judged.extend(match other {
            Ok(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // without another thread it takes longer
            Err(_) => all(there),
        });
        judged
    })
}
