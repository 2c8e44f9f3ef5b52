//! Rows of events: the numbers of a realm, each with the position of the fact that it reports.
//!
//! **Shape.** `kind u8, account u64, position u64, tag u32` (big-endian), then, as a record, the part of its subject
//! that the fact does not hold: the hold or transfer at that time, or how many movements the account had. One row is
//! written with every voucher, so the row itself is no MessagePack.
//!
//! **Order.** Numbers follow the journal: commits in their order, facts within a commit in theirs, counted under the
//! event rule set that was in force in the realm at that place.

use caudal_ledger::cases::Parked;
use caudal_ledger::coverage::CoverageFact;
use caudal_ledger::events::rules::{EventRules, RuleSets};
use caudal_ledger::events::{EventId, EventKind};
use caudal_ledger::facts::RealmFact;
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::{AccountNo, RealmId, Tag};
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Transfer;
use caudal_storage::{Entry, IndexWriter, Position, StoreError};
use serde::{Deserialize, Serialize};

use super::EntryRows;
use super::totals::{self, Cause};
use crate::records::{encode, keys};

/// The content of an event's row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventRow {
    /// The kind of event, by which subscriptions choose.
    pub kind: EventKind,
    /// The account of the event; 0 for an event of the realm itself.
    pub account: AccountNo,
    /// The position of the fact.
    pub position: Position,
    /// The tag of the event's id.
    pub tag: Tag,
    /// The part that the fact does not hold, an encoded [`SubjectNote`]; empty if the fact holds everything.
    pub noted: Vec<u8>,
}

/// The part of an event's subject that its fact does not hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SubjectNote {
    /// How many movements the account had.
    Movements(u64),
    /// The hold as it was after the voucher.
    Hold(Hold),
    /// The transfer as it was after the fact.
    Transfer(Box<Transfer>),
    /// Money in suspense with the decisions so far.
    Parked(Box<Parked>),
}

const HEAD: usize = 21;

impl EventRow {
    /// An event whose fact holds everything.
    pub const fn new(kind: EventKind, account: AccountNo, position: Position) -> Self {
        Self {
            kind,
            account,
            position,
            tag: Tag::NONE,
            noted: Vec::new(),
        }
    }

    /// The same with the tag of a voucher.
    pub fn tagged(self, tag: Tag) -> Self {
        Self { tag, ..self }
    }

    /// The same with the tag of its record, if the rules want one.
    pub fn tagged_by(self, rules: &EventRules, entry: &Entry) -> Self {
        if !rules.tagged {
            return self;
        }
        let at = Timestamp::from_millis(entry.at);
        self.tagged(Tag::of_record(&entry.body, at))
    }

    /// The same with the part that the fact does not hold.
    pub fn noting(self, noted: SubjectNote) -> Result<Self, StoreError> {
        let noted = encode(&noted)?;
        Ok(Self { noted, ..self })
    }

    /// The id of the event, by its number in a realm.
    pub const fn id(&self, realm: RealmId, number: u64) -> EventId {
        EventId {
            realm,
            number,
            tag: self.tag,
        }
    }

    fn head(&self) -> [u8; HEAD] {
        let mut head = [self.kind.number(); HEAD];
        let parts = self.account.0.to_be_bytes().into_iter();
        let parts = parts.chain(self.position.0.to_be_bytes());
        let parts = parts.chain(self.tag.to_bytes());
        head.iter_mut().skip(1).zip(parts).for_each(|(h, p)| *h = p);
        head
    }

    /// Reads a row.
    ///
    /// # Errors
    /// When it is cut short or of an unknown kind.
    pub fn parse(row: &[u8]) -> Result<Self, StoreError> {
        let read = || {
            let (kind, rest) = row.split_first()?;
            let (account, rest) = rest.split_first_chunk::<8>()?;
            let (position, rest) = rest.split_first_chunk::<8>()?;
            let (tag, noted) = rest.split_first_chunk::<4>()?;
            Some(Self {
                kind: EventKind::of_number(*kind)?,
                account: AccountNo(u64::from_be_bytes(*account)),
                position: Position(u64::from_be_bytes(*position)),
                tag: Tag::from_bytes(*tag),
                noted: noted.to_vec(),
            })
        };
        read().ok_or_else(|| StoreError::Corrupt("an event in the index is unreadable".into()))
    }
}

/// The rule set with a number.
///
/// # Errors
/// When this program does not know it.
pub fn known(sets: RuleSets, number: u16) -> Result<&'static EventRules, StoreError> {
    let newest = sets.newest();
    let why = || {
        format!(
            "events are numbered by rules {number}, and this program knows those up to {newest}: \
             a newer version wrote this journal; start that version"
        )
    };
    let found = sets.of(number);
    found.ok_or_else(|| StoreError::Corrupt(why().into()))
}

/// The rows that a fact of a realm adds: an event, or other rules for the events that follow.
pub(super) fn of_realm(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let fact: RealmFact = rows.fact()?;
    if let RealmFact::EventRules { number } = fact {
        known(rows.sets, number)?;
        return totals::update(rows, Cause::Other, |totals| totals.event_rules = number);
    }
    let rules = rows.rules()?;
    match (rules.realm)(&fact) {
        Some(kind) => rows.publish(&rows.event(rules, kind)),
        None => Ok(()),
    }
}

/// The row that a change between covered and not covered adds: its event.
pub(super) fn of_coverage(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let fact: CoverageFact = rows.fact()?;
    let rules = rows.rules()?;
    let event = rows.event(rules, EventKind::of_coverage(&fact));
    rows.publish(&event)
}

/// Writes an event under its number.
pub(super) fn note(realm: RealmId, number: u64, event: &EventRow, index: &mut dyn IndexWriter) {
    let (key, head) = (keys::event(realm, number), event.head());
    if event.noted.is_empty() {
        return index.put(&key, &head);
    }
    index.put(&key, &[&head, event.noted.as_slice()].concat());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_and_what_is_cut_or_unknown_is_damage() {
        let event = EventRow::new(EventKind::HoldExpired, AccountNo(u64::MAX), Position(7));
        assert_eq!(EventRow::parse(&event.head()).unwrap(), event);
        let tag = Tag::of_record(b"a fact", Timestamp::from_millis(1));
        let noted = event.tagged(tag).noting(SubjectNote::Movements(9)).unwrap();
        let row = [noted.head().as_slice(), &noted.noted].concat();
        assert_eq!(EventRow::parse(&row).unwrap(), noted);
        for cut in 0..HEAD {
            assert!(EventRow::parse(&row[..cut]).is_err(), "{cut}");
        }
        assert!(EventRow::parse(&[0xff; HEAD]).is_err());
    }
}
