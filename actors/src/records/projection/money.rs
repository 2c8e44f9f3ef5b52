//! Rows of vouchers, holds, transfers and the bank's movements.

use caudal_ledger::balance::Direction;
use caudal_ledger::cases::{CaseKind, Parked};
use caudal_ledger::events::EventKind;
use caudal_ledger::facts::BankCall;
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::{OriginId, RealmId, TransferId, VoucherId};
use caudal_ledger::money::Money;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Suspense, Transfer, TransferFact, TransferRecord, TransferStatus};
use caudal_ledger::vouchers::{ReferenceType, Voucher};
use caudal_storage::StoreError;

use super::events::{self, EventRow, SubjectNote};
use super::totals::{self, Cause};
use super::{EntryRows, InternalLine, Landed, VoucherPlace};
use super::{books, cases, unbooked, usage};
use crate::records::account_sets;
use crate::records::keys::{self, Rail, TransferName};

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
pub(super) fn posted(rows: &mut EntryRows<'_>, voucher: &Voucher) -> Result<(), StoreError> {
    let (realm, account, index) = (rows.realm, rows.account, &mut *rows.index);
    if let Some(id) = voucher
        .external_id
        .as_ref()
        .filter(|_| voucher.claims_external_id())
    {
        let place = VoucherPlace::new(account, voucher.sequence).to_bytes();
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
        let key = keys::bank_day_of(realm, day, account, voucher.sequence);
        index.put(&key, &[]);
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
        landed(rows, Rail::Arrival, rail, voucher.sequence)?;
    }
    usage::posted(rows, voucher)?;
    books::posted(rows, voucher)?;
    let number = totals::update(rows, Cause::Voucher(voucher, internal), |totals| {
        totals.posted(voucher);
        totals.count_event()
    })?;
    let event =
        EventRow::new(EventKind::VoucherCreated, account, rows.position).tagged(voucher.tag);
    events::note(realm, number, &event, rows.index);
    account_sets::posted(realm, account, voucher, rows.index)?;
    hold(rows, voucher)
}

/// Records that money of the rail has landed in the entry's account, as the voucher with this sequence.
fn landed(rows: &mut EntryRows<'_>, kind: Rail, id: &str, sequence: u64) -> Result<(), StoreError> {
    let landed = Landed {
        account: rows.account,
        sequence,
        suspended: false,
        case: None,
    };
    rows.put(&keys::rail(rows.realm, kind, id), &landed)
}

fn hold(rows: &mut EntryRows<'_>, voucher: &Voucher) -> Result<(), StoreError> {
    let (realm, account) = (rows.realm, rows.account);
    let publish = |hold: Hold, rows: &mut EntryRows<'_>| {
        let Some(kind) = (rows.rules()?.hold)(voucher, Some(&hold)) else {
            return Ok(());
        };
        let event = EventRow::new(kind, account, rows.position).tagged(voucher.tag);
        rows.publish(&event.noting(SubjectNote::Hold(hold))?)
    };
    if let Some(hold) = Hold::opened(voucher) {
        let number = hold.sequence;
        rows.put(&keys::hold(realm, account, number), &hold)?;
        let index = &mut *rows.index;
        index.put(&keys::open_hold(realm, account, number), &[]);
        let ordinal = index.next(&keys::hold_count(realm))?;
        let place = VoucherPlace::new(account, number);
        index.put(&keys::hold_at(realm, ordinal), &place.to_bytes());
        if let Some(end) = hold.expires_at {
            index.put(&keys::hold_end(realm, end, number, account), &[]);
        }
        return publish(hold, rows);
    }
    let Some(number) = Hold::of_step(voucher) else {
        return Ok(());
    };
    let key = keys::hold(realm, account, number);
    let mut hold: Hold = rows.known(&key, "a step of a hold that was never opened")?;
    let before = hold.expires_at;
    hold.apply(voucher);
    rows.put(&key, &hold)?;
    let is_open = hold.remaining().is_some();
    let index = &mut *rows.index;
    if !is_open {
        index.delete(&keys::open_hold(realm, account, number));
    }
    let after = hold.expires_at.filter(|_| is_open);
    if before != after {
        let end = |end| keys::hold_end(realm, end, number, account);
        if let Some(at) = before {
            index.delete(&end(at));
        }
        if let Some(at) = after {
            index.put(&end(at), &[]);
        }
    }
    publish(hold, rows)
}

/// When a transfer that waits for the bank was requested, from the row that is there meanwhile; `None` if it waits for a
/// person.
pub(crate) fn requested_at(row: &[u8]) -> Option<Timestamp> {
    let millis = row.try_into().ok().map(u64::from_be_bytes);
    millis.map(Timestamp::from_millis)
}

/// The rows that a fact of a transfer adds.
pub(super) fn transfer(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let TransferRecord {
        transfer: number,
        fact,
    } = rows.fact()?;
    let key = keys::transfer(rows.realm, rows.account, number);
    let mut before = None;
    let transfer = match &fact {
        TransferFact::Requested(transfer) => {
            requested(rows, transfer)?;
            transfer.as_ref().clone()
        }
        _ => {
            let lost = "a transfer goes on that was never asked for";
            let mut transfer: Transfer = rows.known(&key, lost)?;
            before = Some(transfer.status);
            named(rows, &transfer, &fact);
            transfer.apply(&fact, rows.at());
            transfer
        }
    };
    if let TransferFact::Reversed {
        coelsa_id, voucher, ..
    } = &fact
    {
        landed(rows, Rail::Return, coelsa_id, *voucher)?;
    }
    let open = keys::open_transfer(rows.realm, rows.account, number);
    let (waited, waits) = (
        before.is_some_and(TransferStatus::is_open),
        transfer.status.is_open(),
    );
    if transfer.status == TransferStatus::Audit {
        rows.index.put(&open, &[]);
    } else if waits {
        let requested = transfer.created_at.millis().to_be_bytes();
        rows.index.put(&open, &requested);
    } else {
        rows.index.delete(&open);
    }
    if waited != waits {
        totals::update(rows, Cause::Moved, |totals| {
            totals.waits(transfer.amount, waited, waits);
        })?;
    }
    rows.put(&key, &transfer)?;
    doubted(rows, before, &transfer)?;
    let rules = rows.rules()?;
    let Some(kind) = (rules.transfer)(&fact, before, transfer.status) else {
        return Ok(());
    };
    let event = rows.event(rules, kind);
    let event = match fact {
        // The fact itself holds everything.
        TransferFact::Requested(_) => event,
        _ => event.noting(SubjectNote::Transfer(Box::new(transfer)))?,
    };
    rows.publish(&event)?;
    match EventKind::of_ending(&fact) {
        Some(kind) => rows.publish(&EventRow { kind, ..event }),
        None => Ok(()),
    }
}

/// The rows by which a transfer is found and listed from its request on.
fn requested(rows: &mut EntryRows<'_>, transfer: &Transfer) -> Result<(), StoreError> {
    let (realm, index) = (rows.realm, &mut *rows.index);
    let place = VoucherPlace::new(rows.account, transfer.sequence).to_bytes();
    let ordinal = index.next(&keys::transfer_count(realm))?;
    index.put(&keys::transfer_at(realm, ordinal), &place);
    let external = keys::transfer_external(realm, &transfer.external_id);
    index.put(&external, &place);
    if let Some(origin) = transfer.origin {
        let row = [realm.0.to_be_bytes().as_slice(), &place].concat();
        index.put(&keys::origin(origin), &row);
        unbooked::booked(rows, origin, transfer)?;
    }
    Ok(())
}

/// The rows by which a transfer is found under the ids that the bank gives it by a fact.
fn named(rows: &mut EntryRows<'_>, before: &Transfer, fact: &TransferFact) {
    let (TransferFact::Advanced {
        bank_id, coelsa_id, ..
    }
    | TransferFact::Completed { bank_id, coelsa_id }) = fact
    else {
        return;
    };
    let place = VoucherPlace::new(rows.account, before.sequence);
    let ids = [
        (TransferName::Bank, bank_id, &before.bank_id),
        (TransferName::Rail, coelsa_id, &before.coelsa_id),
    ];
    for (kind, id, known) in ids {
        if let Some(id) = id.as_ref().filter(|_| id != known) {
            let key = keys::transfer_name(rows.realm, kind, id);
            rows.index.put(&key, &place.to_bytes());
        }
    }
}

/// A transfer is a case while it is in `audit`.
fn doubted(
    rows: &mut EntryRows<'_>,
    before: Option<TransferStatus>,
    transfer: &Transfer,
) -> Result<(), StoreError> {
    let audit = |status| status == TransferStatus::Audit;
    let place = VoucherPlace::new(rows.account, transfer.sequence);
    match (before.is_some_and(audit), audit(transfer.status)) {
        (false, true) => cases::opens(rows, CaseKind::Transfer, place, transfer.updated_at),
        (true, false) => cases::closes(rows, CaseKind::Transfer, place),
        (true, true) | (false, false) => Ok(()),
    }
}

/// The row that a call to the bank adds: a call about a transfer is found by the transfer.
pub(super) fn called(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let call: BankCall = rows.fact()?;
    let Some(origin) = OriginId::parse(&call.reference) else {
        return Ok(());
    };
    let row = rows.index.get(&keys::origin(origin))?;
    let found = origin_place(row.as_deref(), origin)?;
    if let Some((of, place)) = found
        && (of, place.account) == (rows.realm, rows.account)
    {
        let key = keys::transfer_call(of, place.account, place.sequence, rows.entry.seq);
        rows.index.put(&key, &rows.position.0.to_be_bytes());
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
        let place = |id: VoucherId| VoucherPlace::new(id.account, id.sequence);
        return Ok(origin.place().map(|id| (id.realm, place(id))));
    };
    let (realm, place) = row
        .split_first_chunk::<4>()
        .ok_or_else(|| StoreError::Corrupt("the place of a reference is cut short".into()))?;
    let realm = RealmId(u32::from_be_bytes(*realm));
    Ok(Some((realm, VoucherPlace::from_bytes(place)?)))
}

/// The rows that money adds which no account could take.
pub(super) fn suspended(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let suspense: Suspense = rows.fact()?;
    let landed = Landed {
        account: rows.account,
        sequence: rows.entry.seq,
        suspended: true,
        case: None,
    };
    let rail = keys::rail(rows.realm, Rail::Arrival, &suspense.cash_in.coelsa_id);
    rows.put(&rail, &landed)?;
    let amount = suspense.cash_in.amount.into();
    let parked = Parked::new(rows.place().into(), suspense, rows.at());
    cases::parked(rows, &parked)?;
    totals::update(rows, Cause::Moved, |totals| totals.suspended(amount))?;
    let rules = rows.rules()?;
    let event = rows.event(rules, EventKind::CashInSuspended);
    rows.publish(&event)
}
