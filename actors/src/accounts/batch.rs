//! A batch of adjustments, each for itself: every account posts its share in one turn and one commit.

use std::sync::{Arc, Mutex, PoisonError};

use caudal_ledger::accounts::Account;
use caudal_ledger::vouchers::{PostAdjustment, Voucher};

use super::{Desk, ItemOutcome};
use crate::failure::Failure;
use crate::reply::ClaimGuard;
use crate::scribe::{Page, is_final};

/// Where the outcomes of a batch are gathered; whoever brings the last one hands them over.
pub struct Gather {
    outcomes: Mutex<Gathered>,
}

struct Gathered {
    outcomes: Vec<Option<ItemOutcome>>,
    missing: usize,
    done: Option<Box<dyn FnOnce(Vec<ItemOutcome>) + std::marker::Send>>,
}

impl std::fmt::Debug for Gather {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gather").finish_non_exhaustive()
    }
}

impl Gather {
    /// Gathers so many outcomes, then calls `done`.
    pub fn new(
        size: usize,
        done: impl FnOnce(Vec<ItemOutcome>) + std::marker::Send + 'static,
    ) -> Self {
        Self {
            outcomes: Mutex::new(Gathered {
                outcomes: std::iter::repeat_with(|| None).take(size).collect(),
                missing: size,
                done: Some(Box::new(done)),
            }),
        }
    }

    /// Brings outcomes, by their place in the batch.
    pub fn bring(&self, brought: Vec<(usize, ItemOutcome)>) {
        let mut gathered = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
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
        let done = gathered.done.take();
        drop(gathered);
        if let Some(done) = done {
            done(outcomes.into_iter().flatten().collect());
        }
    }
}

/// The part of a batch that is one account's. Dropped without an answer, its outcomes are unknown.
#[derive(Debug)]
pub struct Share {
    /// The orders, by their place in the batch.
    pub items: Vec<(usize, PostAdjustment)>,
    /// What they claim until they are on disk.
    pub guards: Vec<ClaimGuard>,
    /// Where the outcomes go.
    pub gather: Arc<Gather>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let unknown = |(place, _)| (place, Err(Failure::OutcomeUnknown));
        let items = std::mem::take(&mut self.items);
        if !items.is_empty() {
            self.gather.bring(items.into_iter().map(unknown).collect());
        }
    }
}

/// Whether an idempotency key keeps what came of a batch: not where a part of it is to be tried
/// again; what was done is known by its external ids then.
pub fn is_kept(outcomes: &[ItemOutcome]) -> bool {
    outcomes.iter().all(is_final)
}

impl Desk {
    /// Posts a share of a batch in one commit.
    pub(super) fn post_many(&mut self, mut share: Share) {
        let mut page = Page::default();
        let mut outcomes = Vec::with_capacity(share.items.len());
        for (place, order) in std::mem::take(&mut share.items) {
            let outcome = match self.adjust(&order, false) {
                Ok((more, outcome)) => {
                    page.append(more);
                    outcome
                }
                Err(why) => {
                    // Nothing of this turn was written: it is all to be forgotten.
                    self.vitals.doubt();
                    Err(why.into())
                }
            };
            outcomes.push((place, outcome));
        }
        if self.vitals.doubtful() {
            page = Page::default();
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

    /// Where the desk stands, to come back to.
    pub(super) fn bookmark(&self) -> Bookmark {
        Bookmark {
            account: self.account.clone(),
            unsettled: self.unsettled.back().cloned(),
            snapshot_at: self.snapshot_at,
        }
    }

    /// Comes back to a bookmark: what was applied since was not written, and is forgotten.
    pub(super) fn turn_back(&mut self, bookmark: Bookmark) {
        let last = bookmark.unsettled.map_or(0, |voucher| voucher.sequence);
        while self.unsettled.back().is_some_and(|v| v.sequence > last) {
            self.unsettled.pop_back();
        }
        self.account = bookmark.account;
        self.snapshot_at = bookmark.snapshot_at;
    }
}

/// See [`Desk::bookmark`].
#[derive(Debug)]
pub(super) struct Bookmark {
    account: Account,
    unsettled: Option<Arc<Voucher>>,
    snapshot_at: u64,
}
