//! Rows of vouchers, holds, transfers and the bank's movements.

use caudal_ledger::balance::Direction;
use caudal_ledger::cases::{CaseKind, Parked, SuspensePlace};
use caudal_ledger::events::EventKind;
use caudal_ledger::events::rules::RuleSets;
use caudal_ledger::facts::BankCall;
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::{AccountNo, OriginId, RealmId, TransferId};
use caudal_ledger::money::Money;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Suspense, Transfer, TransferFact, TransferRecord, TransferStatus};
use caudal_ledger::vouchers::{ReferenceType, Voucher};
use caudal_storage::{Entry, IndexWriter, Position, StoreError};

use super::events::{self, EventRow, SubjectNote};
use super::{InternalLine, Landed, VoucherPlace, books, cases, totals, unbooked, usage};
use crate::records::keys::{self, Rail, TransferName};
use crate::records::{account_sets, decode, encode};

/// What of a voucher is reversed: the sum, `i64`, and the sequence of the last reversal, `u64`, both big-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReversedRow {
    /// The sum of its reversals, in centavos.
    pub amount: Money,
    /// The sequence of the last one; 0 without one.
    pub last: u64,
}

impl ReversedRow {
    fn to_bytes(self) -> [[u8; 8]; 2] {
        let amount = self.amount.centavos().to_be_bytes();
        [amount, self.last.to_be_bytes()]
    }

    /// Reads a row; nothing is reversed without one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is of another size.
    pub fn parse(row: Option<&[u8]>) -> Result<Self, StoreError> {
        let Some(row) = row else {
            return Ok(Self::default());
        };
        let (words, rest) = row.as_chunks::<8>();
        let ([amount, last], []) = (words, rest) else {
            return Err(StoreError::Corrupt(
                "the row of a reversed voucher is cut short".into(),
            ));
        };
        Ok(Self {
            amount: Money::from_centavos(i64::from_be_bytes(*amount)),
            last: u64::from_be_bytes(*last),
        })
    }

    /// The row after another reversal.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the sum leaves the range of money.
    pub fn after(self, reversal: &Voucher) -> Result<Self, StoreError> {
        let amount = self.amount.plus(reversal.amount.money());
        let too_much = || StoreError::Corrupt("the reversals of a voucher are too many".into());
        Ok(Self {
            amount: amount.ok_or_else(too_much)?,
            last: reversal.sequence,
        })
    }
}

/// The rows that a voucher adds.
pub(super) fn posted(
    (sets, realm): (RuleSets, RealmId),
    account: AccountNo,
    voucher: &Voucher,
    position: Position,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let place = VoucherPlace {
        account,
        sequence: voucher.sequence,
    }
    .to_bytes();
    if let Some(id) = voucher
        .external_id
        .as_ref()
        .filter(|_| voucher.claims_external_id())
    {
        index.put(&keys::external(realm, voucher.direction, id), &place);
    }
    let mut internal = None;
    if voucher.is_internal() {
        let ordinal = index.next(&keys::internal_count(realm))?;
        let line = InternalLine::of(account, voucher);
        index.put(&keys::internal(realm, ordinal), &line.to_bytes());
        internal = Some(ordinal);
    }
    if voucher.is_at_the_bank() {
        let day = voucher.at.business_day();
        index.put(
            &keys::bank_day_of(realm, day, account, voucher.sequence),
            &[],
        );
    }
    if let Some(reverses) = voucher.details.as_ref().and_then(|it| it.reverses) {
        let key = keys::reversed(realm, account, reverses.sequence);
        let before = ReversedRow::parse(index.get(&key)?.as_deref())?;
        index.put(&key, before.after(voucher)?.to_bytes().as_flattened());
    }
    let named = voucher.reference_id.as_deref().and_then(TransferId::parse);
    if let (Some(id), Direction::ConfirmHold) = (named, voucher.direction) {
        let key = keys::transfer_left(realm, account, id.0.sequence);
        index.put(&key, &voucher.sequence.to_be_bytes());
    }
    if let (ReferenceType::CashIn, Some(rail)) = (voucher.reference_type, &voucher.reference_id) {
        let landed = Landed {
            account,
            sequence: voucher.sequence,
            suspended: false,
            case: None,
        };
        let key = keys::rail(realm, Rail::Arrival, rail);
        index.put(&key, &encode(&landed)?);
    }
    usage::posted(realm, voucher, index)?;
    usage::posted_of_type(realm, account, voucher, index)?;
    books::posted(realm, voucher, index)?;
    let number = totals::posted(realm, index, (voucher, internal), |totals| {
        totals.posted(voucher);
        totals.count_event()
    })?;
    let event = EventRow::new(EventKind::VoucherCreated, account, position).tagged(voucher.tag);
    events::note(realm, number, &event, index);
    account_sets::posted(realm, account, voucher, index)?;
    hold(sets, realm, account, voucher, position, index)
}

fn hold(
    sets: RuleSets,
    realm: RealmId,
    account: AccountNo,
    voucher: &Voucher,
    position: Position,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let publish = |hold: &Hold, index: &mut dyn IndexWriter| {
        let Some(kind) = (events::rules(sets, realm, index)?.hold)(voucher, Some(hold)) else {
            return Ok(());
        };
        let event = EventRow::new(kind, account, position).tagged(voucher.tag);
        events::publish(realm, event.noting(SubjectNote::Hold(hold.clone()))?, index)
    };
    if let Some(hold) = Hold::opened(voucher) {
        let number = hold.sequence;
        index.put(&keys::hold(realm, account, number), &encode(&hold)?);
        index.put(&keys::open_hold(realm, account, number), &[]);
        let ordinal = index.next(&keys::hold_count(realm))?;
        let place = VoucherPlace {
            account,
            sequence: number,
        };
        index.put(&keys::hold_at(realm, ordinal), &place.to_bytes());
        if let Some(end) = hold.expires_at {
            index.put(&keys::hold_end(realm, end, account, number), &[]);
        }
        return publish(&hold, index);
    }
    let Some(number) = Hold::of_step(voucher) else {
        return Ok(());
    };
    let key = keys::hold(realm, account, number);
    let row = index
        .get(&key)?
        .ok_or_else(|| StoreError::Corrupt("a step of a hold that was never opened".into()))?;
    let mut hold: Hold = decode(&row)?;
    let before = hold.expires_at;
    hold.apply(voucher);
    index.put(&key, &encode(&hold)?);
    let is_open = hold.remaining().is_some();
    if !is_open {
        index.delete(&keys::open_hold(realm, account, number));
    }
    let after = hold.expires_at.filter(|_| is_open);
    if before != after {
        let end = |end| keys::hold_end(realm, end, account, number);
        if let Some(at) = before {
            index.delete(&end(at));
        }
        if let Some(at) = after {
            index.put(&end(at), &[]);
        }
    }
    publish(&hold, index)
}

/// When a transfer that waits for the bank was requested, from the row that is there meanwhile; `None` if it waits for a
/// person.
pub(crate) fn requested_at(row: &[u8]) -> Option<Timestamp> {
    let millis = row.try_into().ok().map(u64::from_be_bytes);
    millis.map(Timestamp::from_millis)
}

/// The rows that a fact of a transfer adds.
pub(super) fn transfer(
    (sets, realm): (RuleSets, RealmId),
    account: AccountNo,
    (entry, position): (&Entry, Position),
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let TransferRecord {
        transfer: number,
        fact,
    } = decode(&entry.body)?;
    let at = Timestamp::from_millis(entry.at);
    let key = keys::transfer(realm, account, number);
    let mut before = None;
    let transfer = match &fact {
        TransferFact::Requested(transfer) => {
            requested(realm, account, transfer, index)?;
            transfer.as_ref().clone()
        }
        _ => {
            let row = index.get(&key)?.ok_or_else(|| {
                StoreError::Corrupt("a transfer goes on that was never asked for".into())
            })?;
            let mut transfer: Transfer = decode(&row)?;
            before = Some(transfer.status);
            named(realm, account, &transfer, &fact, index);
            transfer.apply(&fact, at);
            transfer
        }
    };
    came_back(realm, account, &fact, index)?;
    let open = keys::open_transfer(realm, account, number);
    let (waited, waits) = (
        before.is_some_and(TransferStatus::is_open),
        transfer.status.is_open(),
    );
    if transfer.status == TransferStatus::Audit {
        index.put(&open, &[]);
    } else if waits {
        index.put(&open, &transfer.created_at.millis().to_be_bytes());
    } else {
        index.delete(&open);
    }
    if waited != waits {
        totals::moved(realm, index, at, |totals| {
            totals.waits(transfer.amount, waited, waits);
        })?;
    }
    index.put(&key, &encode(&transfer)?);
    doubted(realm, account, before, &transfer, index)?;
    let rules = events::rules(sets, realm, index)?;
    let Some(kind) = (rules.transfer)(&fact, before, transfer.status) else {
        return Ok(());
    };
    let event = EventRow::new(kind, account, position).tagged_by(rules, entry);
    let event = match fact {
        // The fact itself holds everything.
        TransferFact::Requested(_) => event,
        _ => event.noting(SubjectNote::Transfer(Box::new(transfer)))?,
    };
    let ending = EventKind::of_ending(&fact).map(|kind| EventRow {
        kind,
        ..event.clone()
    });
    events::publish(realm, event, index)?;
    ending.map_or(Ok(()), |ending| events::publish(realm, ending, index))
}

/// The rows by which a transfer is found and listed from its request on.
fn requested(
    realm: RealmId,
    account: AccountNo,
    transfer: &Transfer,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let number = transfer.sequence;
    let place = VoucherPlace {
        account,
        sequence: number,
    }
    .to_bytes();
    let ordinal = index.next(&keys::transfer_count(realm))?;
    index.put(&keys::transfer_at(realm, ordinal), &place);
    let external = keys::transfer_external(realm, &transfer.external_id);
    index.put(&external, &place);
    if let Some(origin) = transfer.origin {
        let row = [realm.0.to_be_bytes().as_slice(), &place].concat();
        index.put(&keys::origin(origin), &row);
        unbooked::booked(realm, account, origin, number, transfer.tag, index)?;
    }
    Ok(())
}

/// The rows by which a transfer is found under the ids that the bank gives it by a fact.
fn named(
    realm: RealmId,
    account: AccountNo,
    before: &Transfer,
    fact: &TransferFact,
    index: &mut dyn IndexWriter,
) {
    let (TransferFact::Advanced {
        bank_id, coelsa_id, ..
    }
    | TransferFact::Completed { bank_id, coelsa_id }) = fact
    else {
        return;
    };
    let place = VoucherPlace {
        account,
        sequence: before.sequence,
    };
    let ids = [
        (TransferName::Bank, bank_id, &before.bank_id),
        (TransferName::Rail, coelsa_id, &before.coelsa_id),
    ];
    for (kind, id, known) in ids {
        if let Some(id) = id.as_ref().filter(|_| id != known) {
            index.put(&keys::transfer_name(realm, kind, id), &place.to_bytes());
        }
    }
}

/// A transfer is a case while it is in `audit`.
fn doubted(
    realm: RealmId,
    account: AccountNo,
    before: Option<TransferStatus>,
    transfer: &Transfer,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let audit = |status| status == TransferStatus::Audit;
    let place = VoucherPlace {
        account,
        sequence: transfer.sequence,
    };
    match (before.is_some_and(audit), audit(transfer.status)) {
        (false, true) => {
            let case = (place, transfer.updated_at);
            cases::opens(realm, CaseKind::Transfer, case, index)
        }
        (true, false) => cases::closes(realm, CaseKind::Transfer, place, index),
        (true, true) | (false, false) => Ok(()),
    }
}

/// Records where a transfer that came back has landed.
fn came_back(
    realm: RealmId,
    account: AccountNo,
    fact: &TransferFact,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    if let TransferFact::Reversed {
        coelsa_id, voucher, ..
    } = fact
    {
        let landed = Landed {
            account,
            sequence: *voucher,
            suspended: false,
            case: None,
        };
        let key = keys::rail(realm, Rail::Return, coelsa_id);
        index.put(&key, &encode(&landed)?);
    }
    Ok(())
}

/// The row that a call to the bank adds: a call about a transfer is found by the transfer.
pub(super) fn called(
    realm: RealmId,
    account: AccountNo,
    call: &BankCall,
    seq: u64,
    position: Position,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let Some(origin) = OriginId::parse(&call.reference) else {
        return Ok(());
    };
    let row = index.get(&keys::origin(origin))?;
    let found = origin_place(row.as_deref(), origin)?;
    if let Some((of, place)) = found
        && (of, place.account) == (realm, account)
    {
        let key = keys::transfer_call(realm, account, place.sequence, seq);
        index.put(&key, &position.0.to_be_bytes());
    }
    Ok(())
}

/// The place of the transfer with a reference: from its row, or from the reference itself. A return of money in
/// suspense is under the account [`RETURNS`](caudal_ledger::cases::RETURNS).
pub fn origin_place(
    row: Option<&[u8]>,
    origin: OriginId,
) -> Result<Option<(RealmId, VoucherPlace)>, StoreError> {
    let Some(row) = row else {
        return Ok(origin.place().map(|id| {
            let place = VoucherPlace {
                account: id.account,
                sequence: id.sequence,
            };
            (id.realm, place)
        }));
    };
    let (realm, place) = row
        .split_first_chunk::<4>()
        .ok_or_else(|| StoreError::Corrupt("the place of a reference is cut short".into()))?;
    let realm = RealmId(u32::from_be_bytes(*realm));
    Ok(Some((realm, VoucherPlace::from_bytes(place)?)))
}

/// The rows that money adds which no account could take.
pub(super) fn suspended(
    (sets, realm): (RuleSets, RealmId),
    account: AccountNo,
    (entry, position): (&Entry, Position),
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let suspense: Suspense = decode(&entry.body)?;
    let landed = Landed {
        account,
        sequence: entry.seq,
        suspended: true,
        case: None,
    };
    let rail = keys::rail(realm, Rail::Arrival, &suspense.cash_in.coelsa_id);
    index.put(&rail, &encode(&landed)?);
    let amount = suspense.cash_in.amount.into();
    let place = SuspensePlace {
        account,
        sequence: entry.seq,
    };
    let parked = Parked::new(place, suspense, Timestamp::from_millis(entry.at));
    cases::parked(realm, &parked, index)?;
    let at = Timestamp::from_millis(entry.at);
    totals::moved(realm, index, at, |totals| totals.suspended(amount))?;
    let rules = events::rules(sets, realm, index)?;
    let event =
        EventRow::new(EventKind::CashInSuspended, account, position).tagged_by(rules, entry);
    events::publish(realm, event, index)
}
