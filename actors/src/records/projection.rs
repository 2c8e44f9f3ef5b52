//! The rows that each fact adds to the index. This is deterministic, so that a rebuild gives the same rows.

mod books;
mod cases;
mod collector;
mod days;
mod events;
mod lines;
mod money;
mod profile;
mod readable;
mod totals;
mod unbooked;
mod usage;
mod webhooks;

use caudal_ledger::events::EventKind;
use caudal_ledger::events::rules::{EventRules, RuleSets};
use caudal_ledger::facts::{Answer, LedgerFact};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Entry, Head, IndexWriter, Position, Projection, StoreError, StreamId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    ANSWER_PARTS, ANSWERS, APPROVALS, AUDIT, BANK, CASES, COLLECTOR, COVERAGE, DAYS, DELIVERIES,
    LEDGER, PEOPLE, PLATFORM, PROFILE, REALM, SUSPENSE, TRANSFERS, UNBOOKED, WEBHOOKS,
    account_stream, decode, encode, keys, rest, unknown_kind,
};

pub use super::keys::VoucherPlace;
pub use books::{BookRow, added_by_day};
pub use cases::{CaseCounts, Landed};
pub use days::DayRow;
pub use events::{EventRow, SubjectNote, known as known_rules};
pub use lines::InternalLine;
pub(super) use money::requested_at;
pub use money::{ReversedRow, origin_place};
pub use profile::{Listed, listed};
pub use totals::Added;
pub(super) use totals::{newest_day, parse as parse_totals};
pub use usage::TypeUsageRow;
pub(super) use usage::parse as parse_usage;

/// The projection of this service. Raise `version` whenever a row changes. Which facts are events does not change with
/// it, because the journal determines that (see [`RuleSets`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct ServiceProjection;

impl Projection for ServiceProjection {
    fn version(&self) -> u32 {
        24
    }

    fn scoped(&self) -> &[u8] {
        keys::SCOPED
    }

    fn single(&self) -> &[u8] {
        keys::SINGLE
    }

    fn unread(&self) -> &[u8] {
        keys::UNREAD
    }

    fn rest_key(&self, stream: StreamId) -> Option<Vec<u8>> {
        let account = AccountNo(stream.number);
        (stream.kind == LEDGER).then(|| keys::rest(RealmId(stream.realm), account))
    }

    fn rests(&self, key: &[u8], value: &[u8]) -> Option<(StreamId, Head)> {
        let (realm, account) = keys::rest_of(key)?;
        let head = rest::head_in(account, value)?;
        Some((account_stream(realm, account, LEDGER), head))
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        project(RuleSets::ALL, entry, position, index)
    }

    fn knows(&self, entry: &Entry) -> Result<(), StoreError> {
        readable::readable(entry)
    }
}

/// An entry that is projected, and the index that takes its rows.
struct EntryRows<'a> {
    sets: RuleSets,
    realm: RealmId,
    /// The number of the entry's stream: in most streams an account.
    account: AccountNo,
    entry: &'a Entry,
    position: Position,
    index: &'a mut dyn IndexWriter,
}

impl EntryRows<'_> {
    /// The fact in the entry.
    fn fact<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        decode(&self.entry.body)
    }

    /// When the fact happened.
    const fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.entry.at)
    }

    /// The place of the fact: its account, and its sequence there.
    const fn place(&self) -> VoucherPlace {
        VoucherPlace::new(self.account, self.entry.seq)
    }

    /// The record in a row, if there is one.
    fn get<T: DeserializeOwned>(&mut self, key: &[u8]) -> Result<Option<T>, StoreError> {
        self.index.get(key)?.map(|row| decode(&row)).transpose()
    }

    /// The record in a row; the default without one.
    fn get_or_default<T: DeserializeOwned + Default>(
        &mut self,
        key: &[u8],
    ) -> Result<T, StoreError> {
        Ok(self.get(key)?.unwrap_or_default())
    }

    /// The record in a row that an earlier fact wrote; without one the index is damaged, and `lost` says how.
    fn known<T: DeserializeOwned>(&mut self, key: &[u8], lost: &str) -> Result<T, StoreError> {
        let lost = || StoreError::Corrupt(lost.into());
        self.get(key)?.ok_or_else(lost)
    }

    /// Writes a record as a row.
    fn put<T: Serialize>(&mut self, key: &[u8], record: &T) -> Result<(), StoreError> {
        self.index.put(key, &encode(record)?);
        Ok(())
    }

    /// The event rules in force in the realm.
    ///
    /// # Errors
    /// When a later program has put a set into force that this one does not know.
    fn rules(&mut self) -> Result<&'static EventRules, StoreError> {
        let totals = self.index.get(&keys::totals(self.realm))?;
        known_rules(self.sets, parse_totals(totals.as_deref())?.event_rules)
    }

    /// The event that reports the fact, with the tag that the rules want.
    fn event(&self, rules: &EventRules, kind: EventKind) -> EventRow {
        EventRow::new(kind, self.account, self.position).tagged_by(rules, self.entry)
    }

    /// Gives an event the next number of its realm.
    fn publish(&mut self, event: &EventRow) -> Result<(), StoreError> {
        let number = totals::update(self, totals::Cause::Other, |totals| totals.count_event())?;
        events::note(self.realm, number, event, self.index);
        Ok(())
    }
}

/// Adds the rows of one entry under these sets of event rules: a later program has more of them.
pub(crate) fn project(
    sets: RuleSets,
    entry: &Entry,
    position: Position,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let rows = &mut EntryRows {
        sets,
        realm: RealmId(entry.stream.realm),
        account: AccountNo(entry.stream.number),
        entry,
        position,
        index,
    };
    match entry.stream.kind {
        LEDGER => {
            let given = entry.fact.get::<Voucher>();
            debug_assert!(given.is_none_or(|given| says(entry, given)));
            if let Some(voucher) = given {
                return money::posted(rows, voucher);
            }
            let LedgerFact::Posted(voucher) = rows.fact()?;
            money::posted(rows, &voucher)
        }
        TRANSFERS => money::transfer(rows),
        BANK => money::called(rows),
        SUSPENSE => money::suspended(rows),
        UNBOOKED => unbooked::happened(rows),
        COLLECTOR => collector::happened(rows),
        CASES => cases::happened(rows),
        PROFILE => profile::happened(rows),
        REALM => events::of_realm(rows),
        COVERAGE => events::of_coverage(rows),
        DAYS => days::happened(rows),
        WEBHOOKS => webhooks::set(rows),
        DELIVERIES => webhooks::went(rows),
        ANSWERS => {
            let Answer {
                key, method, path, ..
            } = rows.fact()?;
            let key = keys::answer(rows.realm, &key, &method, &path);
            rows.index.put(&key, &position.0.to_be_bytes());
            Ok(())
        }
        // These are read whole, or by their sequence; the answer leads to its parts.
        PLATFORM | PEOPLE | APPROVALS | AUDIT | ANSWER_PARTS => Ok(()),
        kind => Err(unknown_kind(kind)),
    }
}

/// Whether an entry's bytes decode to the voucher that was given along with it.
fn says(entry: &Entry, given: &Voucher) -> bool {
    let decoded = decode(&entry.body);
    decoded.is_ok_and(|LedgerFact::Posted(voucher)| voucher == *given)
}
