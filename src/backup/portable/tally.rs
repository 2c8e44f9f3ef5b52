//! A summary of a realm's entries: how many there are, how far each stream goes, and digests that distinguish one
//! history from every other.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{Context, SHA256};
use caudal_ledger::chain::Digest;
use caudal_storage::StreamId;

/// The identity of a stream within its realm: kind and number.
pub type StreamName = (u8, u64);

/// How far a stream goes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StreamReach {
    /// The sequence of its last entry.
    pub last: u64,
    /// The hash over its entries: SHA-256 of the hash before, and sequence, time and body of the entry.
    pub hash: [u8; 32],
}

/// An entry without the number of its realm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RealmEntry<'a> {
    /// The kind of its stream.
    pub kind: u8,
    /// The number of its stream.
    pub number: u64,
    /// Its sequence there, from 1.
    pub seq: u64,
    /// Its time, in milliseconds since 1970 UTC.
    pub at: u64,
    /// The encoded fact.
    pub body: &'a [u8],
}

impl<'a> RealmEntry<'a> {
    /// The entry of a stream, without its realm.
    pub const fn of(stream: StreamId, (seq, at): (u64, u64), body: &'a [u8]) -> Self {
        Self {
            kind: stream.kind,
            number: stream.number,
            seq,
            at,
            body,
        }
    }

    /// The name of its stream.
    pub const fn stream(&self) -> StreamName {
        (self.kind, self.number)
    }
}

/// The entries of a realm, counted in the order of its journal.
#[derive(Clone)]
pub struct RealmTally {
    /// The number of entries.
    pub entries: u64,
    /// How far each stream goes.
    pub streams: BTreeMap<StreamName, StreamReach>,
    all: Context,
}

impl Default for RealmTally {
    fn default() -> Self {
        Self {
            entries: 0,
            streams: BTreeMap::new(),
            all: Context::new(&SHA256),
        }
    }
}

impl RealmTally {
    /// Counts the next entry.
    ///
    /// # Errors
    /// When it does not follow the last one of its stream; then it is not counted.
    pub fn take(&mut self, item: &RealmEntry<'_>) -> Result<(), String> {
        let reach = self.streams.entry(item.stream()).or_default();
        if Some(item.seq) != reach.last.checked_add(1) {
            return Err(format!(
                "entry {} of stream {}/{} follows entry {}",
                item.seq, item.kind, item.number, reach.last
            ));
        }
        let (seq, at) = (item.seq.to_be_bytes(), item.at.to_be_bytes());
        let mut one = Context::new(&SHA256);
        let parts = [reach.hash.as_slice(), &seq, &at, item.body];
        parts.iter().for_each(|part| one.update(part));
        *reach = StreamReach {
            last: item.seq,
            hash: digest(one).0,
        };
        self.all.update(&[item.kind]);
        self.all.update(&item.number.to_be_bytes());
        // The hash of a stream covers everything else of this entry, and of those before it.
        self.all.update(&reach.hash);
        self.entries += 1;
        Ok(())
    }

    /// The digest over all entries in their order.
    pub fn digest(&self) -> Digest {
        digest(self.all.clone())
    }

    /// The first stream that differs in another tally, with its state in each.
    pub fn differs(
        &self,
        other: &Self,
    ) -> Option<(StreamName, Option<StreamReach>, Option<StreamReach>)> {
        let names = self.streams.keys().chain(other.streams.keys());
        let mut both = names.map(|name| {
            let of = |tally: &Self| tally.streams.get(name).copied();
            (*name, of(self), of(other))
        });
        both.find(|(_, mine, theirs)| mine != theirs)
    }
}

#[expect(
    clippy::expect_used,
    reason = "SHA-256 gives 32 bytes; zeros instead would equal other zeros"
)]
fn digest(context: Context) -> Digest {
    let hash = context.finish();
    Digest(hash.as_ref().try_into().expect("a digest of 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(number: u64, seq: u64, body: &[u8]) -> RealmEntry<'_> {
        RealmEntry {
            kind: 4,
            number,
            seq,
            at: 7,
            body,
        }
    }

    fn tally(items: &[RealmEntry<'_>]) -> RealmTally {
        let mut tally = RealmTally::default();
        items.iter().for_each(|item| tally.take(item).unwrap());
        tally
    }

    #[test]
    fn order_between_streams_is_in_the_digest_and_not_in_theirs() {
        let (a, b) = (item(1, 1, b"a"), item(2, 1, b"b"));
        let (one, other) = (tally(&[a, b]), tally(&[b, a]));
        assert_eq!(one.differs(&other), None);
        assert_ne!(one.digest(), other.digest());
        let changed = tally(&[a, item(2, 1, b"c")]);
        let (stream, mine, theirs) = one.differs(&changed).unwrap();
        assert_eq!(stream, (4, 2));
        assert!(mine.unwrap().hash != theirs.unwrap().hash);
    }

    #[test]
    fn a_gap_and_a_repeat_are_refused_and_not_counted() {
        let mut tally = tally(&[item(1, 1, b"a")]);
        for seq in [1, 3, 0] {
            let why = tally.take(&item(1, seq, b"b")).unwrap_err();
            assert!(why.contains("follows entry 1"), "{why}");
        }
        assert_eq!(tally.entries, 1);
    }
}
