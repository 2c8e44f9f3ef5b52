//! The thread on which an account lives, and why that is safe.
//!
//! **Shape.** A realm's supervisor has a thread (an arbiter), and its accounts live on the other threads, chosen by
//! account number. Within one life of the realm an account is always on the same thread, so an actor and its
//! replacement never run at the same time. With one thread, or without spreading, accounts live with their
//! supervisor. The supervisor routes and claims; the expensive part of a posting (deciding, encoding, handing over)
//! runs on all the other threads.
//!
//! **What crosses threads.** Messages (`mailbox`) and lent desks (`accounts/joint.rs`): values that move, with one
//! owner at any time. Everything else that actors of a realm share is in `scribe::Shared`:
//! - the lane: one lock, held for a push or a pop. The actor that has an account's desk submits its commits, one after
//!   the other, so their order is that of the account's decisions;
//! - claims: a lock for each, taken in one step. The supervisor takes them, and they end when the index shows the
//!   effect, on whichever thread learns that;
//! - the meter of the money that has left the realm: deciding and counting is one step there, a sitting
//!   (`accounts/sitting.rs`), under a lock for which nobody waits while no limit over the sum is set;
//! - the vitals of each account (`vitals`): one word holds what is in flight and whether the actor may still write.
//!
//! **Balances.** Each balance belongs to one account, each account has one desk, and a desk is in one place: with
//! its actor, or with the convoy that borrowed it. So each turn sees everything that was decided before it.
//!
//! **No deadlock.** No turn waits for a turn. An actor that has lent its desk waits for a higher account number,
//! whatever thread that is on. A turn holds the lock of its sitting while it takes other locks (meter,
//! settings), each for a moment and none inside another; no sitting begins inside a sitting; and completions,
//! which run on any thread, take no sitting.
//!
//! **Starting and stopping.** Only the supervisor starts accounts, sends them messages and unloads them. It
//! unloads idle ones: no message waiting, no turn running, nothing in flight, nothing lent and nothing under way
//! at the bank. Before it unloads an actor, or replaces one in doubt, it retires it (`vitals`): nothing that the
//! retired actor still does by itself (an alarm) is written, so nobody else writes the account while its successor
//! reads it from disk.
//!
//! **Bounds.** The messages that the supervisor has forwarded and the accounts have not taken are a crowd
//! ([`crate::mailbox::Crowd`]): at [`crate::mailbox::CROWD_MAX`] messages, orders wait with the supervisor as they do
//! for a pressed lane. Messages for an account that is being loaded, or whose desk is lent, do not count: they wait for
//! no thread, and other orders need not wait for them. On one thread no count is needed, because the accounts take
//! their turns in between.
//!
//! **Failure.** A panic ends the actor in whose turn it happens, and the thread goes on. Lent desks return home in
//! doubt, also across threads. When the supervisor ends, its accounts take the waiting messages and stop, on whichever
//! thread, and the keeper waits for all of them (`life`) before another supervisor begins. A thread that has ended
//! takes no messages: the caller is told that the service is stopping and that nothing was done.

use std::sync::Arc;

use actix::ArbiterHandle;
use caudal_ledger::ids::AccountNo;

use crate::mailbox::Crowd;
use crate::vitals::Vitals;

/// The threads of a realm's accounts.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    /// The threads beside the supervisor's; empty if accounts live with it.
    beside: Arc<[ArbiterHandle]>,
    /// Counts the messages that wait for accounts on these threads.
    crowd: Option<Arc<Crowd>>,
}

impl Threads {
    /// All threads except the supervisor's, which is given by its index.
    pub fn beside(all: &[ArbiterHandle], supervisor: usize) -> Self {
        let others = all.iter().enumerate();
        let others = others.filter(|(at, _)| *at != supervisor);
        let beside: Arc<[_]> = others.map(|(_, thread)| thread.clone()).collect();
        let crowd = (!beside.is_empty()).then(Arc::default);
        Self { beside, crowd }
    }

    /// The thread of an account; `None` is the supervisor's.
    pub fn of(&self, number: AccountNo) -> Option<&ArbiterHandle> {
        let threads = u64::try_from(self.beside.len()).ok()?;
        let at = number.0.checked_rem(threads)?;
        self.beside.get(usize::try_from(at).ok()?)
    }

    /// The vitals of an account that is about to be started.
    pub fn vitals(&self) -> Arc<Vitals> {
        Arc::new(Vitals::among(self.crowd.clone()))
    }

    /// The crowd of accounts on other threads, if so many messages wait that orders should wait, too.
    pub fn pressed(&self) -> Option<&Crowd> {
        self.crowd.as_deref().filter(|crowd| crowd.is_pressed())
    }
}
