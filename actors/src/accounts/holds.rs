//! Holds: opened, confirmed or released, found.

use std::sync::Arc;

use caudal_ledger::accounts::{Account, Context};
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::holds::{Hold, HoldAmendment, HoldStep, OpenHold};
use caudal_ledger::ids::{HoldId, Tag, VoucherId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::{EndedHold, Rejection};
use caudal_ledger::vouchers::{Outcome, ReferenceType, Voucher};
use caudal_storage::StoreError;

use super::{AccountContext, AccountOrder, AccountState, HoldView, Question, Target};
use crate::commit_writer::{RequestContext, Shared, WriteSet};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};
use crate::records::reads;

/// Sets money of an account apart until the hold is confirmed, released, or expired.
pub struct PlaceHold {
    /// The account whose money is set apart.
    pub target: Target,
    /// The amount in centavos, the tenant's own id, and how long the hold lasts.
    pub order: OpenHold,
    /// Only say what would happen.
    pub dry_run: bool,
}

impl Order for PlaceHold {
    type Outcome = Outcome<HoldView>;
}

impl AccountOrder for PlaceHold {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let Self { order, dry_run, .. } = self;
        let existing = match state.existing(Direction::Hold, &order.external_id) {
            Ok(existing) => existing,
            Err(why) => return state.writer.fail(why, request.reply),
        };
        let settings = state.shared.settings();
        let context = state.context(&settings, state.now());
        let seen = existing.as_ref().map(|(n, v)| (*n, v.as_ref()));
        let decided = state.account.decide_hold(&order, seen, &context);
        let mut writes = Ok(WriteSet::default());
        let outcome = match decided {
            Err(rejection) => Err(rejection.into()),
            // The hold as it was opened, as in its first answer.
            Ok(Outcome::Replayed(vouchers)) => state.opened(&vouchers).map(Outcome::Replayed),
            Ok(Outcome::Recorded(vouchers)) => {
                let view = state.opened(&vouchers);
                if !dry_run {
                    let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                    writes = state.record(&vouchers);
                }
                view.map(Outcome::Recorded)
            }
        };
        state.writer.finish_if(writes, outcome, request);
    }
}

/// Confirms or releases a hold, in part or the rest.
pub struct StepHold {
    /// The hold, which names its account.
    pub id: HoldId,
    /// Whether it is confirmed or released: whether the money leaves or returns.
    pub step: HoldStep,
    /// The amount in centavos; the rest when `None`.
    pub amount: Option<Amount>,
    /// Only say what would happen.
    pub dry_run: bool,
}

impl Order for StepHold {
    type Outcome = HoldView;
}

impl AccountOrder for StepHold {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let Self {
            id,
            step,
            amount,
            dry_run,
        } = self;
        state.step(id, dry_run, request, |account, number, context| {
            account.decide_step(number, step, amount, context)
        });
    }
}

/// Changes an open hold: how much it sets apart, or until when.
pub struct ChangeHold {
    /// The hold, which names its account.
    pub id: HoldId,
    /// What changes.
    pub change: HoldAmendment,
    /// Only say what would happen.
    pub dry_run: bool,
}

impl Order for ChangeHold {
    type Outcome = HoldView;
}

impl AccountOrder for ChangeHold {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let Self {
            id,
            change,
            dry_run,
        } = self;
        state.step(id, dry_run, request, |account, number, context| {
            account.decide_hold_change(number, &change, context)
        });
    }
}

/// The balance after vouchers that were decided and not applied.
pub(super) fn after(vouchers: &[Voucher], account: &Account) -> Balance {
    vouchers.last().map_or(account.balance, |last| last.after)
}

/// The voucher of a hold that an order posts: of several the one that confirms, or else the last one.
fn step_of(vouchers: &[Voucher]) -> Option<(u64, Tag)> {
    let of_hold = |it: &&Voucher| it.reference_type == ReferenceType::Hold;
    let confirms = |it: &&Voucher| it.direction == Direction::ConfirmHold;
    let found = vouchers.iter().filter(of_hold).find(confirms);
    let found = found.or_else(|| vouchers.iter().rfind(of_hold))?;
    Some((found.sequence, found.tag))
}

/// Asks for an open hold; `None` when it is not open.
pub struct FindHold(pub HoldId);

impl Question for FindHold {
    type Answer = Option<Hold>;

    fn target(&self) -> Target {
        Target::Account(self.0.0.account)
    }

    fn answer(&self, state: &AccountState) -> Result<Option<Hold>, Failure> {
        Ok(state.account.holds.get(&self.0.0.sequence).cloned())
    }
}

impl AccountState {
    fn opened(&self, vouchers: &[Voucher]) -> Result<HoldView, Failure> {
        let hold = vouchers.iter().find_map(Hold::opened);
        Ok(HoldView {
            account: self.account.number,
            hold: hold.ok_or(Failure::Bug)?,
            balance: Some(after(vouchers, &self.account)),
            voucher: step_of(vouchers),
        })
    }

    /// Does what is decided about an open hold, or says what would happen.
    fn step(
        &mut self,
        id: HoldId,
        dry_run: bool,
        request: RequestContext<HoldView>,
        decide: impl FnOnce(&Account, u64, &Context<'_>) -> Result<Vec<Voucher>, Rejection>,
    ) {
        let number = id.0.sequence;
        let open = self.account.holds.get(&number);
        let Some(mut hold) = open.filter(|hold| hold.tag == id.0.tag).cloned() else {
            let why = self.no_open_hold(id);
            return self.writer.end(Err(why), request);
        };
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let mut writes = Ok(WriteSet::default());
        let outcome = match decide(&self.account, number, &context) {
            Err(rejection) => Err(rejection.into()),
            Ok(vouchers) => {
                let (account, balance) = (self.account.number, after(&vouchers, &self.account));
                let voucher = step_of(&vouchers);
                vouchers
                    .iter()
                    .filter(|v| Hold::of_step(v) == Some(number))
                    .for_each(|v| hold.apply(v));
                if !dry_run {
                    let vouchers: Vec<_> = vouchers.into_iter().map(Arc::new).collect();
                    writes = self.record(&vouchers);
                }
                Ok(HoldView {
                    account,
                    hold,
                    balance: Some(balance),
                    voucher,
                })
            }
        };
        self.writer.finish_if(writes, outcome, request);
    }

    /// Why an id has no open hold: the hold has ended, or it never existed.
    fn no_open_hold(&self, id: HoldId) -> Failure {
        let hold = match self.ended_hold(id) {
            Ok(Some(hold)) => hold,
            Ok(None) => return Rejection::HoldNotFound.into(),
            Err(why) => return why.into(),
        };
        let ended = EndedHold {
            id,
            status: hold.status(),
            at: hold.ended_at,
        };
        let ended = Some(Box::new(ended));
        Rejection::HoldNotOpen { ended }.into()
    }

    /// A hold of the account that is not open, with its last step.
    fn ended_hold(
        &self,
        HoldId(VoucherId { sequence, tag, .. }): HoldId,
    ) -> Result<Option<Hold>, StoreError> {
        let Shared { store, realm, .. } = &*self.shared;
        let kept = reads::money::hold(store.as_ref(), *realm, self.account.number, sequence)?;
        let unsettled = || self.unsettled.iter().map(|voucher| &**voucher);
        let opened = || {
            let mut opened = unsettled().filter_map(Hold::opened);
            opened.find(|hold| hold.sequence == sequence)
        };
        let Some(mut hold) = kept.or_else(opened).filter(|hold| hold.tag == tag) else {
            return Ok(None);
        };
        if hold.remaining().is_some() {
            // The index does not show the end of the hold yet.
            unsettled()
                .filter(|step| Hold::of_step(step) == Some(sequence))
                .for_each(|step| hold.apply(step));
        }
        Ok(Some(hold))
    }
}
