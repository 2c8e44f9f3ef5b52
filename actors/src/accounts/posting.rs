//! Money that is posted to an account: adjustments, with their voucher type and the fact about that type which may still
//! be refused, and money that arrives from the bank.

use std::sync::Arc;

use caudal_ledger::accounts::ReversedSoFar;
use caudal_ledger::limits::Usage;
use caudal_ledger::money::Money;
use caudal_ledger::transfers::{CashIn, Suspense};
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::{Outcome, PostAdjustment, ReferenceType, Reversal, Voucher};
use caudal_storage::{SortOrder, StoreError, StreamId};

use super::{AccountContext, AccountOrder, AccountState, AccountVoucher, NoticeOutcome};
use crate::actor_status::ActorStatus;
use crate::commit_writer::{Shared, WriteSet};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};
use crate::records::projection::VoucherPlace;
use crate::records::reads;

/// Posts an adjustment, or says what would happen.
pub struct Post {
    /// The adjustment.
    pub posting: Posting,
    /// Only say what would happen.
    pub dry_run: bool,
}

impl Order for Post {
    type Outcome = Outcome<AccountVoucher>;
}

impl AccountOrder for Post {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        match state.adjust(&self.posting, self.dry_run) {
            Ok((writes, outcome)) => state.writer.finish(writes, outcome, request),
            Err(why) => state.writer.fail(why, request.reply),
        }
    }
}

/// Takes in money that arrived from the bank: credits it, or keeps it for a person to look at.
pub struct BookArrival(pub CashIn);

impl Order for BookArrival {
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl AccountOrder for BookArrival {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let settings = state.shared.settings();
        let context = state.context(&settings, state.now());
        let (writes, heard) = match state.account.decide_cash_in(&self.0, &context) {
            Ok(vouchers) => {
                let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                (state.record(&vouchers), NoticeOutcome::Done)
            }
            Err(refused) => {
                let suspense = Suspense {
                    cash_in: self.0,
                    reason: refused.code().to_owned(),
                };
                let entry = state.write_suspense(&suspense);
                (entry.map(WriteSet::from), NoticeOutcome::Suspended)
            }
        };
        state.writer.finish_if(writes, Ok(heard), request);
    }
}

/// An adjustment whose voucher type was found.
#[derive(Debug)]
pub struct Posting {
    /// The adjustment.
    pub order: PostAdjustment,
    /// The last change of the realm's voucher types, if it was not on disk when the type was found.
    pub precondition: Option<Precondition>,
}

/// A change of a realm's voucher types that is on its way to the disk.
#[derive(Clone, Debug)]
pub struct Precondition {
    /// The entry of the change.
    pub fact: (StreamId, u64),
    /// The state of the supervisor that decided it.
    pub of: Arc<ActorStatus>,
}

impl Precondition {
    /// Whether the change was refused, as far as is known: another one may have its place in the stream by now.
    pub(super) fn is_gone(&self) -> bool {
        self.of.is_poisoned()
    }
}

impl AccountState {
    /// Decides and applies an adjustment; its page makes it durable.
    ///
    /// # Errors
    /// When the index cannot be read or a fact cannot be encoded. A refusal by a rule is not an error here: it is the
    /// second part of the result.
    pub(super) fn adjust(
        &mut self,
        posting: &Posting,
        dry_run: bool,
    ) -> Result<(WriteSet, Result<Outcome<AccountVoucher>, Failure>), StoreError> {
        let Posting {
            order,
            precondition,
        } = posting;
        if precondition.as_ref().is_some_and(Precondition::is_gone) {
            return Ok((WriteSet::default(), Err(Failure::Overloaded)));
        }
        let existing = self.existing(order.voucher_type.direction(), &order.external_id)?;
        let existing = existing.as_ref().map(|(n, v)| (*n, v.as_ref()));
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let decided = match &order.reversal {
            None => {
                let of_type = match &order.voucher_type.limits {
                    Some(_) => self.usage_of_type(&order.voucher_type.code)?,
                    None => Usage::default(),
                };
                self.account
                    .decide_post(order, existing, &of_type, &context)
            }
            Some(reversal) => {
                let so_far = self.reversed_so_far(reversal)?;
                let order = (order, reversal.as_ref());
                self.account
                    .decide_voucher_reversal(order, &so_far, existing, &context)
            }
        };
        let account = match existing {
            Some((account, _)) => account,
            None => self.account.number,
        };
        let placed = |voucher| AccountVoucher { account, voucher };
        let (mut writes, outcome) = match decided {
            Err(rejection) => (WriteSet::default(), Err(rejection.into())),
            Ok(Outcome::Replayed(vouchers)) => {
                let outcome = first(vouchers.into_iter().map(Arc::new));
                (
                    WriteSet::default(),
                    outcome.map(placed).map(Outcome::Replayed),
                )
            }
            Ok(Outcome::Recorded(vouchers)) => {
                let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                let writes = if dry_run {
                    WriteSet::default()
                } else {
                    self.record(&vouchers)?
                };
                let outcome = first(vouchers.into_iter());
                (writes, outcome.map(placed).map(Outcome::Recorded))
            }
        };
        if let Some(precondition) = precondition {
            // Without that change the outcome might be another one: neither a voucher nor a kept answer is written then.
            writes.decides_on(precondition.fact);
        }
        Ok((writes, outcome))
    }
}

impl AccountState {
    /// What of a voucher, and of the charges that a reversal gives back, is reversed: what the index shows, and what it
    /// does not show yet.
    fn reversed_so_far(&self, reversal: &Reversal) -> Result<ReversedSoFar, StoreError> {
        let Shared { store, realm, .. } = &*self.shared;
        let (original, account) = (&reversal.original, self.account.number);
        let mut charges = Vec::new();
        if reversal.refund_fees {
            let id = original.id(*realm, account).to_string();
            let next = original.sequence.strict_add(1);
            let both = (next, next.strict_add(1));
            let order = SortOrder::Ascending;
            let found = reads::vouchers(store.as_ref(), *realm, account, both, order, 2)?;
            let is_charge = |it: &Voucher| {
                it.reference_type == ReferenceType::Fee
                    && it.reference_id.as_deref() == Some(id.as_str())
            };
            for charge in found.into_iter().filter(is_charge) {
                let reversed = self.reversed(charge.sequence)?;
                charges.push((charge, reversed));
            }
        }
        Ok(ReversedSoFar {
            amount: self.reversed(original.sequence)?,
            charges,
        })
    }

    /// What the vouchers of a type with limits have used of them: what the index shows, and what it does not show yet.
    fn usage_of_type(&self, code: &TypeCode) -> Result<Usage, StoreError> {
        let Shared { store, realm, .. } = &*self.shared;
        let row = reads::money::usage_of_type(store.as_ref(), *realm, self.account.number, code)?;
        let counts = |it: &&Arc<Voucher>| it.is_of_limited_type() && it.type_code == *code;
        let unsettled = self.unsettled.iter().filter(counts);
        let unsettled = unsettled.filter(|it| it.sequence > row.last);
        let row = unsettled.fold(row, |row, voucher| row.after(voucher));
        Ok(row.usage)
    }

    fn reversed(&self, sequence: u64) -> Result<Money, StoreError> {
        let Shared { store, realm, .. } = &*self.shared;
        let place = VoucherPlace::new(self.account.number, sequence);
        let row = reads::money::reversed(store.as_ref(), *realm, place)?;
        let reverses = |it: &&Arc<Voucher>| {
            let named = it.details.as_ref().and_then(|it| it.reverses);
            it.sequence > row.last && named.is_some_and(|it| it.sequence == sequence)
        };
        let mut unsettled = self.unsettled.iter().filter(reverses);
        let row = unsettled.try_fold(row, |row, reversal| row.after(reversal))?;
        Ok(row.amount)
    }
}

fn first<T>(mut items: impl Iterator<Item = T>) -> Result<T, Failure> {
    items.next().ok_or(Failure::Bug)
}
