//! Which thread an account lives on, and why that is safe.
//!
//! **Shape.** A realm's supervisor has a thread (an arbiter), and its accounts live on the other threads, chosen by
//! account number. Within one life of the realm an account is always on the same thread, so an actor and its
//! replacement never run at the same time. With one thread, or without spreading, accounts live with their
//! supervisor. The supervisor routes and claims; the expensive part of a posting (deciding, encoding, handing over)
//! runs on all the other threads.
//!
//! **What crosses threads.** Messages (`mailbox`) and desks that are lent (`accounts/joint.rs`): values that
//! move, with one owner at any time. Everything else that actors of a realm share is in `scribe::Shared`:
//! - the lane: one lock, held for a push or a pop. Commits of one account are submitted by whoever has its desk,
//!   one after the other, so their order is that of its decisions;
//! - claims: a lock for each, in one step. They are taken by the supervisor and end when the index shows what was
//!   done, on whichever thread that is heard;
//! - the meter of the money that has left the realm: deciding and counting is one step there, a
//!   sitting (`accounts/sitting.rs`), under a lock that nobody waits for while no limit over the sum
//!   is set;
//! - the pulse of each account (`vitals`): one word says what is in flight and whether the actor may still write.
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
//! **Bounds.** What the supervisor has forwarded and the accounts have not taken is a crowd
//! ([`crate::mailbox::Crowd`]): at [`crate::mailbox::CROWD_MAX`] orders wait with the supervisor as they do for a lane
//! that is pressed. Messages for an account that is being loaded, or whose desk is lent, do not count: they wait for no
//! thread, and other orders need not wait for them. On one thread no count is needed, because the accounts take their
//! turns in between.
//!
//! **Failure.** A panic ends the actor in whose turn it happens, and the thread goes on. Desks that were lent come home
//! in doubt, over threads too. When the supervisor ends, its accounts take what waits and stop, on whichever thread,
//! and the keeper waits for all of them (`life`) before another supervisor begins. A thread that has ended takes no
//! messages: the caller is told that the service is stopping and that nothing was done.

use std::sync::Arc;

use actix::ArbiterHandle;
use caudal_ledger::ids::AccountNo;

use crate::mailbox::Crowd;
use crate::vitals::Vitals;

/// The threads of a realm's accounts.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    /// Those beside the supervisor's; none where accounts live with it.
    beside: Arc<[ArbiterHandle]>,
    /// What waits for accounts that live on them.
    crowd: Option<Arc<Crowd>>,
}

impl Threads {
    /// All but that of the supervisor, by its place among them.
    pub fn beside(all: &[ArbiterHandle], supervisor: usize) -> Self {
        let others = all.iter().enumerate();
        let others = others.filter(|(at, _)| *at != supervisor);
        let beside: Arc<[_]> = others.map(|(_, thread)| thread.clone()).collect();
        let crowd = (!beside.is_empty()).then(Arc::default);
        Self { beside, crowd }
    }

    /// Where an account lives; `None` is with its supervisor.
    pub fn of(&self, number: AccountNo) -> Option<&ArbiterHandle> {
        let threads = u64::try_from(self.beside.len()).ok()?;
        let at = number.0.checked_rem(threads)?;
        self.beside.get(usize::try_from(at).ok()?)
    }

    /// The pulse of an account that is about to be started.
    pub fn vitals(&self) -> Arc<Vitals> {
        Arc::new(Vitals::among(self.crowd.clone()))
    }

    /// What waits for accounts on other threads, if that is so much that orders do better to wait.
    pub fn pressed(&self) -> Option<&Crowd> {
        self.crowd.as_deref().filter(|crowd| crowd.is_pressed())
    }
}
