//! A batch of adjustments, each posted for itself: every account posts its shares, each share in one turn and one
//! commit.
//!
//! **Bounds.** A share holds at most the items that the supervisor resolves in one turn of its own, so no turn of an
//! account is longer than that, and others take theirs in between.

use std::sync::{Arc, Mutex, PoisonError};

use caudal_ledger::accounts::Account;
use caudal_ledger::vouchers::Voucher;

use super::{AccountContext, AccountOrder, Desk, ItemOutcome, Posting};
use crate::failure::Failure;
use crate::mailbox::give_way;
use crate::orders::{Order, TicketOf};
use crate::records::rest::Left;
use crate::reply::{ClaimGuard, Waits};
use crate::scribe::{Ticket, Write, is_final};

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
type Deliver = Box<dyn FnOnce(Vec<ItemOutcome>, Ticket<Vec<ItemOutcome>>) + std::marker::Send>;

/// Gathers the outcomes of a batch; the caller that brings the last one delivers them.
pub struct Gather(Mutex<Gathered>);

struct Gathered {
    outcomes: Vec<Option<ItemOutcome>>,
    missing: usize,
    waits: Option<(Ticket<Vec<ItemOutcome>>, Deliver)>,
}

impl std::fmt::Debug for Gather {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gather").finish_non_exhaustive()
    }
}

impl Gather {
    /// Gathers this many outcomes, then calls `deliver` with them and the caller's ticket.
    pub fn new(
        size: usize,
        ticket: Ticket<Vec<ItemOutcome>>,
        deliver: impl FnOnce(Vec<ItemOutcome>, Ticket<Vec<ItemOutcome>>) + std::marker::Send + 'static,
    ) -> Self {
        Self(Mutex::new(Gathered {
            outcomes: std::iter::repeat_with(|| None).take(size).collect(),
            missing: size,
            waits: Some((ticket, Box::new(deliver))),
        }))
    }

    /// Whether the caller has left.
    pub fn is_left(&self) -> bool {
        let gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = gathered.waits.as_ref();
        waits.is_some_and(|(ticket, _)| ticket.has_left())
    }

    /// Brings outcomes, by their place in the batch.
    pub fn bring(&self, brought: Vec<(usize, ItemOutcome)>) {
        let mut gathered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, outcome) in brought {
            if let Some(slot) = gathered.outcomes.get_mut(place)
                && slot.is_none()
            {
                *slot = Some(outcome);
                gathered.missing = gathered.missing.saturating_sub(1);
            }
        }
        if gathered.missing > 0 {
            return;
        }
        let outcomes = std::mem::take(&mut gathered.outcomes);
        let waits = gathered.waits.take();
        drop(gathered);
        if let Some((ticket, deliver)) = waits {
            deliver(outcomes.into_iter().flatten().collect(), ticket);
        }
    }
}

/// One account's part of a batch. If it is dropped without an answer, its outcomes are unknown; if the caller has left,
/// nothing of it was done.
#[derive(Debug)]
pub struct Share {
    /// The orders, by their place in the batch.
    pub items: Vec<(usize, Posting)>,
    /// The claims of its items, held until they are on disk.
    pub guards: Vec<ClaimGuard>,
    /// Gathers the outcomes.
    pub gather: Arc<Gather>,
}

impl Order for Share {
    type Outcome = ();

    fn caller<'a>(&'a mut self, _: &'a mut Ticket<()>) -> Option<&'a mut dyn Waits> {
        Some(self)
    }
}

impl AccountOrder for Share {
    fn decide(self, desk: &mut Desk, _: TicketOf<Self>, ctx: &mut AccountContext) {
        desk.post_many(self);
        give_way(ctx);
    }
}

impl Waits for Share {
    fn has_left(&self) -> bool {
        self.gather.is_left()
    }

    /// Brings a failure for every item that has no answer.
    fn refuse(&mut self, why: Failure) {
        self.guards.clear();
        let items = std::mem::take(&mut self.items).into_iter();
        let given_up = items.map(|(place, _)| (place, Err(why.clone())));
        self.gather.bring(given_up.collect());
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if !self.items.is_empty() {
            self.refuse(if self.gather.is_left() {
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

impl Desk {
    /// Posts a share of a batch in one commit.
    fn post_many(&mut self, mut share: Share) {
        let mut page = Write::default();
        let mut outcomes = Vec::with_capacity(share.items.len());
        for (place, order) in std::mem::take(&mut share.items) {
            let outcome = match self.adjust(&order, false) {
                Ok((more, outcome)) => {
                    page.append(more);
                    outcome
                }
                Err(why) => {
                    // Nothing of this turn was written, so the account has to forget all of it.
                    self.vitals.doubt();
                    Err(why.into())
                }
            };
            outcomes.push((place, outcome));
        }
        if self.vitals.doubtful() {
            page = Write::default();
        }
        let gather = Arc::clone(&share.gather);
        self.scribe.commit(page, move |done| {
            drop(share);
            if let Err(why) = done {
                for (_, outcome) in &mut outcomes {
                    if outcome.is_ok() {
                        *outcome = Err(why.clone());
                    }
                }
            }
            gather.bring(outcomes);
        });
    }

    /// The desk's present state, to turn back to.
    pub(super) fn bookmark(&self) -> Bookmark {
        Bookmark {
            account: self.account.clone(),
            unsettled: self.unsettled.back().cloned(),
            left: self.left.clone(),
        }
    }

    /// Turns back to a bookmark: whatever was applied since was not written, and is forgotten.
    pub(super) fn turn_back(&mut self, bookmark: Bookmark) {
        let last = bookmark.unsettled.map_or(0, |voucher| voucher.sequence);
        while self.unsettled.back().is_some_and(|v| v.sequence > last) {
            self.unsettled.pop_back();
        }
        self.account = bookmark.account;
        self.left = bookmark.left;
    }
}

/// The state of a desk to turn back to: see [`Desk::bookmark`].
#[derive(Debug)]
pub(super) struct Bookmark {
    account: Box<Account>,
    unsettled: Option<Arc<Voucher>>,
    left: Left,
}
