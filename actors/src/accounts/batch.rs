//! A batch of adjustments, each posted for itself: every account posts its shares, each share in one turn and one
//! commit.
//!
//! **Bounds.** A share holds at most the items that the supervisor resolves in one turn of its own, so no turn of an
//! account is longer than that, and others take theirs in between.

use std::sync::{Arc, Mutex, PoisonError};

use caudal_ledger::accounts::Account;
use caudal_ledger::vouchers::Voucher;

use super::{AccountContext, AccountOrder, AccountState, ItemOutcome, Posting};
use crate::commit_writer::{RequestContext, WriteSet, is_final};
use crate::failure::Failure;
use crate::mailbox::give_way;
use crate::orders::{ContextOf, Order};
use crate::records::rest::WrittenPart;
use crate::reply::{ClaimGuard, Responder};

/// How many items of a batch are handled in one turn.
pub const BULK_PART: usize = 16;

/// How a batch is posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BatchMode {
    /// All items or nothing, as opposed to each item for itself.
    pub atomic: bool,
    /// Only say what each item would get, taking the items before it into account.
    pub dry_run: bool,
}

/// Delivers a batch's outcomes once all of them have arrived.
type DeliverOutcomes =
    Box<dyn FnOnce(Vec<ItemOutcome>, RequestContext<Vec<ItemOutcome>>) + std::marker::Send>;

/// Gathers the outcomes of a batch; the caller that brings the last one delivers them.
pub struct BatchCollector(Mutex<Collected>);

struct Collected {
    outcomes: Vec<Option<ItemOutcome>>,
    missing: usize,
    waits: Option<(RequestContext<Vec<ItemOutcome>>, DeliverOutcomes)>,
}

impl BatchCollector {
    /// Gathers this many outcomes, then calls `deliver` with them and the caller's request context.
    pub fn new(
        size: usize,
        request: RequestContext<Vec<ItemOutcome>>,
        deliver: impl FnOnce(Vec<ItemOutcome>, RequestContext<Vec<ItemOutcome>>)
        + std::marker::Send
        + 'static,
    ) -> Self {
        Self(Mutex::new(Collected {
            outcomes: std::iter::repeat_with(|| None).take(size).collect(),
            missing: size,
            waits: Some((request, Box::new(deliver))),
        }))
    }

    /// Whether the caller has left.
    pub fn is_left(&self) -> bool {
        let collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = collected.waits.as_ref();
        waits.is_some_and(|(request, _)| request.has_left())
    }

    /// Brings outcomes, by their place in the batch.
    pub fn bring(&self, brought: Vec<(usize, ItemOutcome)>) {
        let mut collected = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, outcome) in brought {
            if let Some(slot) = collected.outcomes.get_mut(place)
                && slot.is_none()
            {
                *slot = Some(outcome);
                collected.missing = collected.missing.saturating_sub(1);
            }
        }
        if collected.missing > 0 {
            return;
        }
        let outcomes = std::mem::take(&mut collected.outcomes);
        let waits = collected.waits.take();
        drop(collected);
        if let Some((request, deliver)) = waits {
            deliver(outcomes.into_iter().flatten().collect(), request);
        }
    }
}

/// One account's part of a batch. If it is dropped without an answer, its outcomes are unknown; if the caller has left,
/// nothing of it was done.
pub struct BatchShard {
    /// The orders, by their place in the batch.
    pub items: Vec<(usize, Posting)>,
    /// The claims of its items, held until they are on disk.
    pub guards: Vec<ClaimGuard>,
    /// Gathers the outcomes.
    pub collector: Arc<BatchCollector>,
}

impl Order for BatchShard {
    type Outcome = ();

    fn caller<'a>(&'a mut self, _: &'a mut RequestContext<()>) -> Option<&'a mut dyn Responder> {
        Some(self)
    }
}

impl AccountOrder for BatchShard {
    fn decide(self, state: &mut AccountState, _: ContextOf<Self>, ctx: &mut AccountContext) {
        state.post_many(self);
        give_way(ctx);
    }
}

impl Responder for BatchShard {
    fn has_left(&self) -> bool {
        self.collector.is_left()
    }

    /// Brings a failure for every item that has no answer.
    fn refuse(&mut self, why: Failure) {
        self.guards.clear();
        let items = std::mem::take(&mut self.items).into_iter();
        let given_up = items.map(|(place, _)| (place, Err(why.clone())));
        self.collector.bring(given_up.collect());
    }
}

impl Drop for BatchShard {
    fn drop(&mut self) {
        if !self.items.is_empty() {
            self.refuse(if self.collector.is_left() {
                Failure::Overloaded
            } else {
                Failure::OutcomeUnknown
            });
        }
    }
}

/// Whether an idempotency key keeps the outcomes of a batch. It does not if some items are to be tried again; the items
/// already posted are then known by their external ids.
pub fn is_kept(outcomes: &[ItemOutcome]) -> bool {
    outcomes.iter().all(is_final)
}

impl AccountState {
    /// Posts a share of a batch in one commit.
    fn post_many(&mut self, mut shard: BatchShard) {
        let mut writes = WriteSet::default();
        let mut outcomes = Vec::with_capacity(shard.items.len());
        for (place, order) in std::mem::take(&mut shard.items) {
            let outcome = match self.adjust(&order, false) {
                Ok((more, outcome)) => {
                    writes.append(more);
                    outcome
                }
                Err(why) => {
                    // Nothing of this turn was written, so the account has to forget all of it.
                    self.actor_status.poison();
                    Err(why.into())
                }
            };
            outcomes.push((place, outcome));
        }
        if self.actor_status.is_poisoned() {
            writes = WriteSet::default();
        }
        let collector = Arc::clone(&shard.collector);
        self.writer.commit(writes, move |done| {
            drop(shard);
            if let Err(why) = done {
                for (_, outcome) in &mut outcomes {
                    if outcome.is_ok() {
                        *outcome = Err(why.clone());
                    }
                }
            }
            collector.bring(outcomes);
        });
    }

    /// The present state of the account, to turn back to.
    pub(super) fn savepoint(&self) -> Savepoint {
        Savepoint {
            account: self.account.clone(),
            unsettled: self.unsettled.back().cloned(),
            left: self.left.clone(),
        }
    }

    /// Turns back to a savepoint: whatever was applied since was not written, and is forgotten.
    pub(super) fn roll_back(&mut self, savepoint: Savepoint) {
        let last = savepoint.unsettled.map_or(0, |voucher| voucher.sequence);
        let later = |v: &mut Arc<Voucher>| v.sequence > last;
        while self.unsettled.pop_back_if(later).is_some() {}
        self.account = savepoint.account;
        self.left = savepoint.left;
    }
}

/// The state of an account to turn back to: see [`AccountState::savepoint`].
#[derive(Debug)]
pub(super) struct Savepoint {
    account: Box<Account>,
    unsettled: Option<Arc<Voucher>>,
    left: WrittenPart,
}
