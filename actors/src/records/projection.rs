//! The rows that each fact adds to the index. This is deterministic, so that a rebuild gives the same rows.

mod books;
mod cases;
mod collector;
mod days;
mod events;
mod landed;
mod lines;
mod money;
mod profile;
mod readable;
mod totals;
mod unbooked;
mod usage;
mod webhooks;

use caudal_ledger::events::rules::RuleSets;
use caudal_ledger::facts::{Answer, BankCall, LedgerFact};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Entry, Head, IndexWriter, Position, Projection, StoreError, StreamId};

use super::{
    ANSWER_PARTS, ANSWERS, APPROVALS, AUDIT, BANK, CASES, COLLECTOR, COVERAGE, DAYS, DELIVERIES,
    LEDGER, PEOPLE, PLATFORM, PROFILE, REALM, SUSPENSE, TRANSFERS, UNBOOKED, WEBHOOKS,
    account_stream, decode, keys, rest, unknown_kind,
};

pub use books::{BookRow, added_by_day};
pub use cases::CaseCounts;
pub use days::DayRow;
pub use events::{EventRow, SubjectNote, known as known_rules};
pub use landed::Landed;
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

/// The place of a voucher: account and sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VoucherPlace {
    /// The account that the voucher moved.
    pub account: AccountNo,
    /// The sequence in the account.
    pub sequence: u64,
}

impl VoucherPlace {
    /// The place as 16 bytes, both numbers big-endian, so that places of one account sort by sequence.
    pub fn to_bytes(self) -> [u8; 16] {
        let joined = u128::from(self.account.0).wrapping_shl(64) | u128::from(self.sequence);
        joined.to_be_bytes()
    }

    /// Reads what [`Self::to_bytes`] wrote; [`StoreError::Corrupt`] when there are less than 16 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        let (account, sequence) = bytes
            .split_first_chunk::<8>()
            .and_then(|(a, rest)| Some((*a, *rest.first_chunk::<8>()?)))
            .ok_or_else(|| StoreError::Corrupt("a place in the index is cut short".into()))?;
        let account = AccountNo(u64::from_be_bytes(account));
        Ok(Self {
            account,
            sequence: u64::from_be_bytes(sequence),
        })
    }
}

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

/// Adds the rows of one entry under these sets of event rules: a later program has more of them.
pub(crate) fn project(
    sets: RuleSets,
    entry: &Entry,
    position: Position,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let realm = RealmId(entry.stream.realm);
    let account = AccountNo(entry.stream.number);
    let under = (sets, realm);
    match entry.stream.kind {
        LEDGER => {
            let given = entry.fact.get::<Voucher>();
            debug_assert!(given.is_none_or(|given| says(entry, given)));
            if let Some(voucher) = given {
                return money::posted(under, account, voucher, position, index);
            }
            let LedgerFact::Posted(voucher) = decode(&entry.body)?;
            money::posted(under, account, &voucher, position, index)
        }
        TRANSFERS => money::transfer(under, account, (entry, position), index),
        BANK => {
            let call: BankCall = decode(&entry.body)?;
            money::called(realm, account, &call, entry.seq, position, index)
        }
        SUSPENSE => money::suspended(under, account, (entry, position), index),
        UNBOOKED => unbooked::happened(realm, account, entry, index),
        COLLECTOR => collector::happened(realm, entry, index),
        CASES => cases::happened(under, account, (entry, position), index),
        PROFILE => profile::happened(under, account, (entry, position), index),
        REALM => events::of_realm(under, (entry, position), index),
        COVERAGE => events::of_coverage(under, (entry, position), index),
        DAYS => days::happened(under, (entry, position), index),
        WEBHOOKS => webhooks::set(realm, &decode(&entry.body)?, index),
        DELIVERIES => webhooks::went(realm, entry.stream.number, &decode(&entry.body)?, index),
        ANSWERS => {
            let Answer {
                key, method, path, ..
            } = decode(&entry.body)?;
            let place = position.0.to_be_bytes();
            index.put(&keys::answer(realm, &key, &method, &path), &place);
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
