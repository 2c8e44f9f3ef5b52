//! The content of one commit, the checks before the store gets it, and its line in the log.

use caudal_ledger::facts::LedgerFact;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{Entry, Row, StreamId};

use crate::actor_status::CommitReach;
use crate::meter::CountedUsage;
use crate::records;

/// The line of a commit in the log at DEBUG: the request, and the vouchers that it wrote. Events name the same
/// vouchers, so a delivery leads back to its request.
#[derive(Debug)]
pub(super) struct LogLine {
    request_id: String,
    wrote: String,
}

impl LogLine {
    /// The line of a request's write set; `None` while nobody reads it, or nothing is written.
    pub(super) fn of(writes: &WriteSet, request_id: &str) -> Option<Self> {
        if !tracing::enabled!(tracing::Level::DEBUG) || writes.entries.is_empty() {
            return None;
        }
        let mut line = Self {
            request_id: request_id.to_owned(),
            wrote: String::new(),
        };
        line.add(writes);
        Some(line)
    }

    pub(super) fn add(&mut self, writes: &WriteSet) {
        use std::fmt::Write as _;
        for entry in &writes.entries {
            let space = if self.wrote.is_empty() { "" } else { " " };
            if entry.stream.kind != records::LEDGER {
                continue;
            }
            if let Ok(LedgerFact::Posted(voucher)) = records::decode(&entry.body) {
                let realm = RealmId(entry.stream.realm);
                let id = voucher.id(realm, AccountNo(entry.stream.number));
                // Writing to a text cannot fail.
                write!(self.wrote, "{space}{id}").ok();
            }
        }
    }

    pub(super) fn write(line: Option<Self>, ok: bool) {
        if let Some(Self { request_id, wrote }) = line {
            tracing::debug!(request_id, wrote, ok, "committed");
        }
    }
}

/// The content of one commit.
#[derive(Debug, Default)]
pub struct WriteSet {
    /// The facts, in the order in which they are applied.
    pub entries: Vec<Entry>,
    /// Index rows that may be lost without harm: accounts at rest.
    pub hints: Vec<Row>,
    /// The entries on which the write set was decided and which are not known to be durable: the last one of each stream.
    pub decided_on: Vec<(StreamId, u64)>,
    /// The sequence of the last movement among the entries.
    pub sequence: Option<u64>,
    /// What the vouchers took from the realm's meter.
    pub taken: CountedUsage,
}

impl From<Vec<Entry>> for WriteSet {
    /// The write set of facts that are no movements.
    fn from(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            ..Self::default()
        }
    }
}

impl From<Entry> for WriteSet {
    /// The write set of one fact that is no movement.
    fn from(entry: Entry) -> Self {
        vec![entry].into()
    }
}

impl WriteSet {
    /// How far the write set takes the streams of its account, or the realm's own stream.
    pub(super) fn reach(&self) -> CommitReach {
        let mut facts = self.entries.iter().rev();
        let profile =
            facts.find(|entry| matches!(entry.stream.kind, records::PROFILE | records::REALM));
        CommitReach {
            sequence: self.sequence,
            profile: profile.map(|entry| entry.seq),
        }
    }

    /// Adds a write set that comes after this one.
    pub fn append(&mut self, mut after: Self) {
        self.entries.append(&mut after.entries);
        self.hints.append(&mut after.hints);
        for fact in after.decided_on {
            self.decides_on(fact);
        }
        self.taken.append(after.taken);
        self.sequence = after.sequence.or(self.sequence);
    }

    /// Notes an entry on which the write set was decided.
    pub fn decides_on(&mut self, fact: (StreamId, u64)) {
        if !self.decided_on.contains(&fact) {
            self.decided_on.push(fact);
        }
    }

    /// Forgets everything but the entries on which the write set was decided.
    pub fn keep_preconditions(&mut self) {
        let decided_on = std::mem::take(&mut self.decided_on);
        *self = Self {
            decided_on,
            ..Self::default()
        };
    }

    /// Stops an actor whose write set is not what it has decided; the actor is then loaded again from the disk.
    ///
    /// # Panics
    /// When neighbouring entries of a stream do not follow each other, or the last movement is not `sequence`.
    pub(super) fn assert_whole(&self) {
        self.assert_in_order();
        let movements = self.entries.iter().rev();
        let last = movements
            .filter(|it| it.stream.kind == records::LEDGER)
            .map(|it| it.seq)
            .next();
        assert_eq!(self.sequence, last, "the last movement of a page");
    }

    /// The same check for a write set of several accounts, which has no last movement.
    ///
    /// # Panics
    /// When neighbouring entries of a stream do not follow each other.
    pub(super) fn assert_in_order(&self) {
        let pairs = self.entries.iter().zip(self.entries.iter().skip(1));
        for (before, after) in pairs.filter(|(before, after)| before.stream == after.stream) {
            assert!(
                after.seq.checked_sub(1) == Some(before.seq) && before.at <= after.at,
                "in {:?} the entry {} at {} does not follow {} at {}",
                after.stream,
                after.seq,
                after.at,
                before.seq,
                before.at
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use caudal_storage::Fact;

    use super::*;
    use crate::records::{LEDGER, account_stream};

    fn writes(entries: &[(u64, u64)]) -> WriteSet {
        let stream = account_stream(RealmId(1), AccountNo(1), LEDGER);
        let entry = |(seq, at): &(u64, u64)| Entry {
            stream,
            seq: *seq,
            at: *at,
            body: Vec::new(),
            fact: Fact::default(),
        };
        WriteSet {
            entries: entries.iter().map(entry).collect(),
            sequence: entries.last().map(|(seq, _)| *seq),
            ..WriteSet::default()
        }
    }

    #[test]
    fn a_write_set_with_consecutive_entries_is_accepted() {
        writes(&[]).assert_whole();
        writes(&[(7, 1), (8, 1), (9, 2)]).assert_whole();
    }

    #[test]
    #[should_panic(expected = "does not follow")]
    fn a_write_set_with_a_gap_is_not_written() {
        writes(&[(7, 1), (9, 1)]).assert_whole();
    }

    #[test]
    #[should_panic(expected = "does not follow")]
    fn a_write_set_with_decreasing_time_is_not_written() {
        writes(&[(7, 2), (8, 1)]).assert_whole();
    }

    #[test]
    #[should_panic(expected = "the last movement")]
    fn a_write_set_with_a_wrong_last_sequence_is_not_written() {
        let writes = WriteSet {
            sequence: Some(9),
            ..writes(&[(7, 1)])
        };
        writes.assert_whole();
    }
}
