//! One decision about several accounts: an internal transfer, an atomic batch.
//!
//! **Shape.** The order travels as a [`MultiAccountTxn`] from the lowest account number to the highest. Each account but the
//! last lends its account state to it and takes no message until the account state is back. The last account has all account states, and decides,
//! applies and commits for all of them in one turn.
//!
//! **Order.** An account state is lent between two turns of its owner, so the transaction's movements have their place in each
//! account's own sequence. There is one commit: both halves or none, at every instant.
//!
//! **No deadlock.** A waiting account has lent its account state to a transaction that is on its way to an account with a higher
//! number. So an account only ever waits for a higher number, and the highest does not wait. A→B, B→A and longer cycles
//! end.
//!
//! **Bounds.** An actor whose account state is lent is not idle: it stays until the account state is back. A batch is
//! decided in parts of [`BULK_PART`] items, with all account states lent, and committed as one.
//!
//! **Failure.** A lent account state returns to its owner when the transaction is dropped, wherever that happens. If a turn panics, every
//! account state of the transaction returns poisoned, and its owner is loaded again from the disk: the commit is submitted whole at
//! the end of the turn, or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{ActorContext, AsyncContext, Context};
use caudal_ledger::accounts::Movements;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::transfers::Send;
use caudal_ledger::vouchers::Outcome;
use caudal_storage::StoreError;
use tokio::sync::oneshot;

use super::batch::Savepoint;
use super::holds::after;
use super::{
    AccountActor, AccountState, BULK_PART, BatchMode, ItemOutcome, Posting, Reserved, TransferView,
    is_kept,
};
use crate::commit_writer::{RequestContext, WriteSet};
use crate::failure::Failure;
use crate::mailbox::HasResponder;
use crate::meter::Meter;
use crate::reply::Responder;
use crate::settings::Settings;

/// An order about several accounts, on its way through them.
#[derive(Debug)]
pub struct MultiAccountTxn {
    /// The order to decide at the end.
    pub order: JointOrder,
    /// The accounts still ahead, highest number first.
    pub ahead: Vec<Reserved>,
    /// The account states that were lent.
    lent: Vec<LentState>,
}

impl MultiAccountTxn {
    /// An order that will pass `ahead`, highest number first, after the account that it is sent to.
    pub fn new(order: JointOrder, ahead: Vec<Reserved>) -> Self {
        Self {
            order,
            ahead,
            lent: Vec::new(),
        }
    }
}

/// A decision that several accounts take as one.
#[derive(Debug)]
pub enum JointOrder {
    /// Money goes from one account of the realm to another.
    Transfer {
        /// The sending account.
        from: AccountNo,
        /// The receiving account.
        to: AccountNo,
        /// The destination and the amount.
        order: Send,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the answer.
        request: RequestContext<Outcome<TransferView>>,
    },
    /// Adjustments that are all posted, or none; a dry run posts none.
    Batch {
        /// Each item's account and order, or why it was already refused.
        items: Vec<Result<(AccountNo, Posting), Failure>>,
        /// Whether a refused item takes the others along.
        mode: BatchMode,
        /// Receives the answer.
        request: RequestContext<Vec<ItemOutcome>>,
    },
}

impl HasResponder for MultiAccountTxn {
    fn responder(&mut self) -> Option<&mut dyn Responder> {
        match &mut self.order {
            JointOrder::Transfer { request, .. } => Some(request),
            JointOrder::Batch { request, .. } => Some(request),
        }
    }
}

/// A lent account state. It returns to its owner when this is dropped.
#[derive(Debug)]
struct LentState {
    state: Option<Box<AccountState>>,
    actor: Option<oneshot::Sender<Box<AccountState>>>,
}

impl Drop for LentState {
    fn drop(&mut self) {
        if let (Some(mut state), Some(actor)) = (self.state.take(), self.actor.take()) {
            // A dry run gave the account state a meter of its own; the owner decides with the realm's.
            state.meter = Arc::clone(&state.shared.meter);
            if std::thread::panicking() {
                state.actor_status.poison();
            }
            // If the owner is gone meanwhile, it needs no account state.
            drop(actor.send(state));
        }
    }
}

impl AccountActor {
    /// Lends the account state to a transaction and sends the transaction on, or decides at its end.
    pub(super) fn join(&mut self, mut txn: MultiAccountTxn, ctx: &mut Context<Self>) {
        let next = txn.ahead.pop();
        if next.is_none()
            && let JointOrder::Transfer { .. } = txn.order
        {
            if let Some(state) = self.state.as_mut() {
                txn.transfer(state);
            }
            return;
        }
        let (actor, back) = oneshot::channel();
        let state = self.state.take();
        if let Some(state) = &state {
            state.actor_status.lent.store(true, Ordering::Release);
        }
        txn.lent.push(LentState {
            state,
            actor: Some(actor),
        });
        let back = wrap_future::<_, Self>(back).map(|state, actor, ctx: &mut Context<Self>| {
            actor.state = state.ok();
            if let Some(state) = &actor.state {
                state.actor_status.lent.store(false, Ordering::Release);
            }
            match &actor.state {
                Some(state) if !state.actor_status.is_poisoned() => {}
                Some(_) | None => ctx.stop(),
            }
        });
        ctx.wait(back);
        match next {
            Some(next) => next.send(txn),
            // actix polls the most recently added future first.
            None => ctx.wait(wrap_future(txn.batch())),
        }
    }
}

/// The account states of a transaction by account.
type AccountStates<'a> = BTreeMap<AccountNo, &'a mut AccountState>;

/// The lent account states. Holds that have expired are released, as in any turn of their owners.
fn states(lent: &mut [LentState]) -> AccountStates<'_> {
    lent.iter_mut()
        .filter_map(|lent| lent.state.as_deref_mut())
        .map(|state| {
            state.expire();
            (state.account.number, state)
        })
        .collect()
}

impl MultiAccountTxn {
    fn transfer(mut self, own: &mut AccountState) {
        let JointOrder::Transfer {
            from,
            to,
            order,
            dry_run,
            request,
        } = self.order
        else {
            return;
        };
        let mut states = states(&mut self.lent);
        states.insert(own.account.number, own);
        transfer(&mut states, (from, to), &order, dry_run, request);
    }

    /// Decides a batch in parts, so that the other actors of the thread take their turns in between. All account states are lent
    /// meanwhile, so nobody sees a part.
    async fn batch(mut self) {
        let JointOrder::Batch {
            items,
            mode,
            request,
        } = self.order
        else {
            return;
        };
        let mut states = states(&mut self.lent);
        batch(&mut states, items, mode, request).await;
    }
}

fn transfer(
    states: &mut AccountStates<'_>,
    (from, to): (AccountNo, AccountNo),
    order: &Send,
    dry_run: bool,
    request: RequestContext<Outcome<TransferView>>,
) {
    let (Some(sender), Some(receiver)) = (states.remove(&from), states.remove(&to)) else {
        return;
    };
    let seen = sender.seen(order, Some(to));
    let settings = sender.shared.settings();
    let decided = match seen {
        Ok(Some(view)) => Ok(Err(view)),
        Ok(None) => both_halves(sender, receiver, order, &settings).map(Ok),
        Err(why) => Err(why),
    };
    let (outcome, halves) = match decided {
        Err(why) => (Err(why), None),
        Ok(Err(view)) => (Ok(Outcome::Replayed(view)), None),
        Ok(Ok((view, out, into))) => (Ok(Outcome::Recorded(view)), Some((out, into))),
    };
    let Some((out, into)) = halves.filter(|_| !dry_run) else {
        // The answer waits for what both accounts have in flight.
        let nothing = (Arc::clone(&receiver.actor_status), WriteSet::default());
        let writes = WriteSet::default();
        return sender
            .writer
            .finish_joint(writes, vec![nothing], outcome, request);
    };
    let write_sets = sender
        .record_all(out)
        .and_then(|out| Ok((out, receiver.record_all(into)?)));
    match write_sets {
        Ok((writes, other)) => {
            let other = (Arc::clone(&receiver.actor_status), other);
            sender
                .writer
                .finish_joint(writes, vec![other], outcome, request);
        }
        Err(why) => give_up(why, request, [sender, receiver]),
    }
}

fn both_halves(
    sender: &AccountState,
    receiver: &AccountState,
    order: &Send,
    settings: &Settings,
) -> Result<(TransferView, Movements, Movements), Failure> {
    let context = sender.context(settings, sender.now());
    // The receiver may refuse before anything is decided about the sender.
    let (one, other) = (&sender.account, &receiver.account);
    let into = other.decide_receive(order, one, &context)?;
    let (transfer, out) = one.decide_send(order, other, &context)?;
    let view = TransferView {
        account: sender.account.number,
        transfer,
        balance: Some(after(&out.vouchers, one)),
    };
    Ok((view, out, into))
}

/// If the records of a turn cannot be made, nothing of the turn may stay in memory.
fn give_up<'a, T>(
    why: StoreError,
    request: RequestContext<T>,
    states: impl IntoIterator<Item = &'a mut AccountState>,
) {
    for state in states {
        state.actor_status.poison();
    }
    if let Some(reply) = request.reply {
        reply.send(Err(why.into()));
    }
}

/// Takes the accounts back to their savepoints.
fn undo(states: &mut AccountStates<'_>, before: BTreeMap<AccountNo, Savepoint>) {
    for (number, savepoint) in before {
        if let Some(state) = states.get_mut(&number) {
            state.roll_back(savepoint);
        }
    }
}

/// Makes the accounts load their states anew: it is not known what they have.
fn poison(states: &AccountStates<'_>) {
    for state in states.values() {
        state.actor_status.poison();
    }
}

/// Posts all of a batch or nothing. The items are decided and applied one after the other, and undone from savepoints
/// unless all passed. A dry run is always undone, so each item is answered as if the items before it had been posted.
async fn batch(
    states: &mut AccountStates<'_>,
    items: Vec<Result<(AccountNo, Posting), Failure>>,
    mode: BatchMode,
    mut request: RequestContext<Vec<ItemOutcome>>,
) {
    let before: BTreeMap<AccountNo, _> = states
        .iter()
        .map(|(number, state)| (*number, state.savepoint()))
        .collect();
    if mode.dry_run {
        // The items are counted together, and no other order feels them.
        let usage = states.values().next().map(|state| state.meter.usage());
        let own = Meter::new(usage.unwrap_or_default());
        for state in states.values_mut() {
            state.meter = Arc::clone(&own);
        }
    }
    let mut write_sets: BTreeMap<AccountNo, WriteSet> = BTreeMap::new();
    let mut outcomes = Vec::with_capacity(items.len());
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 && place.is_multiple_of(BULK_PART) {
            tokio::task::yield_now().await;
        }
        let outcome = match item {
            Err(why) => Err(why),
            Ok((number, order)) => match states.get_mut(&number) {
                None => Err(Failure::OutcomeUnknown),
                Some(state) => match state.adjust(&order, false) {
                    Err(why) => {
                        let states = states.values_mut().map(|state| &mut **state);
                        return give_up(why, request, states);
                    }
                    Ok((writes, outcome)) => {
                        write_sets.entry(number).or_default().append(writes);
                        outcome
                    }
                },
            },
        };
        outcomes.push(outcome);
    }
    request.keyed = request.keyed.filter(|_| is_kept(&outcomes));
    let all = outcomes.iter().all(Result::is_ok);
    if outcomes.len() > BULK_PART
        && let Some(keyed) = request.keyed.take()
    {
        // Nothing is written yet, so the rendering may take its time elsewhere.
        match keyed.rendered(outcomes).await {
            Ok((keyed, given)) => (request.keyed, outcomes) = (Some(keyed), given),
            Err(_) => return poison(states),
        }
    }
    if mode.dry_run || !all {
        if mode.dry_run {
            write_sets.clear();
        } else {
            // A refusal that a key keeps is written only with the changes that it was decided on.
            let kept = write_sets.values_mut();
            kept.for_each(WriteSet::keep_preconditions);
        }
        undo(states, before);
    }
    let part = |(number, state): (&AccountNo, &&mut AccountState)| {
        let writes = write_sets.remove(number).unwrap_or_default();
        (Arc::clone(&state.actor_status), writes)
    };
    let parts: Vec<_> = states.iter().map(part).collect();
    let Some(state) = states.values_mut().next() else {
        return;
    };
    let writer = &mut state.writer;
    writer.finish_joint(WriteSet::default(), parts, Ok(outcomes), request);
}
