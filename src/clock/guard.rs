//! A clock that is not believed blindly: the machine's clock, compared with one that nobody sets.
//!
//! **Shape.** [`Sources::steady`] runs on whatever is done to the clock, also while the machine
//! sleeps. The difference of both is known; as long as it stays, the machine's clock is the present.
//! When it changes by more than [`JUMP_MAX`], the clock is in doubt: the present goes on by the steady
//! clock, so nothing ends early and nothing is stamped wrong, and orders are refused until both agree
//! again or a person confirms. At a start there is no difference to compare, and the journal speaks:
//! a clock behind its newest stamp, or further ahead of it than [`DOWN_MAX`], is in doubt too.
//!
//! **Bounds.** Steps below [`JUMP_MAX`] are followed, at most one part in [`FOLLOW`] of the time that
//! passes, so that many small ones in years do not add up. A clock that is slewed slews the steady one
//! along, and is no step.
//!
//! **Failure.** A wrong clock at a start, less than [`DOWN_MAX`] ahead, cannot be told from a service
//! that was down; when it is set right, that is a jump.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use caudal_actors::ports::{Cause, Clock, Doubt, Known};
use caudal_ledger::time::Timestamp;

/// The largest step of the machine's clock that is believed.
pub const JUMP_MAX: Duration = Duration::from_secs(2 * 60);
/// How long a service may have been down when its clock is believed at a start.
pub const DOWN_MAX: Duration = Duration::from_secs(92 * 24 * 3600);
/// How far a clock is believed where there is no journal yet: from [`FIRST`] on.
const NEW_MAX: Duration = Duration::from_secs(40 * 366 * 24 * 3600);
/// The start of 2026: no version of this program is older.
const FIRST: Timestamp = Timestamp::from_millis(1_767_225_600_000);
/// One part of the time that passes may be made good of small steps.
const FOLLOW: i64 = 100;
/// How often small steps are made good, in milliseconds.
const FOLLOW_EVERY: i64 = 60_000;
/// How long a look at both clocks may take before it is taken again: the process was stopped between.
const LOOK_MAX: i64 = 250;
/// How often a look is taken again.
const LOOKS: usize = 8;

/// The two clocks of a machine.
pub trait Sources: Send + Sync + std::fmt::Debug + 'static {
    /// The one that people and programs set.
    fn wall(&self) -> Timestamp;
    /// Time since some instant; nobody sets it, and it goes on while the machine sleeps.
    fn steady(&self) -> Duration;
}

/// The clocks of this machine: the one that people set, and the steady one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl Sources for Machine {
    fn wall(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.unwrap_or_default().as_millis();
        Timestamp::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    fn steady(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
    }
}

/// The clock of the service: the machine's, as long as it is believed.
#[derive(Debug)]
pub struct GuardedClock {
    sources: Arc<dyn Sources>,
    /// What the machine's clock is ahead of the steady one, in milliseconds; while it is in doubt,
    /// what the believed time is.
    ahead: AtomicI64,
    doubtful: AtomicBool,
    /// When small steps are next made good, in milliseconds of the steady clock.
    follow_at: AtomicI64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    cause: Option<Cause>,
    /// How far the clock may be ahead at a start, in milliseconds.
    window: i64,
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn signed(at: Timestamp) -> i64 {
    i64::try_from(at.millis()).unwrap_or(i64::MAX)
}

fn instant(millis: i64) -> Timestamp {
    Timestamp::from_millis(u64::try_from(millis).unwrap_or_default())
}

/// Why a clock is not believed at a start.
fn at_a_start(wall: i64, reference: i64, window: i64) -> Option<Cause> {
    if wall.saturating_add(millis(JUMP_MAX)) < reference {
        Some(Cause::Behind)
    } else if wall > reference.saturating_add(window) {
        Some(Cause::Ahead)
    } else {
        None
    }
}

impl GuardedClock {
    /// A clock of these sources, believed until something speaks against it.
    pub fn new(sources: Arc<dyn Sources>) -> Self {
        let clock = Self {
            sources,
            ahead: AtomicI64::new(0),
            doubtful: AtomicBool::new(false),
            follow_at: AtomicI64::new(0),
            state: Mutex::default(),
        };
        let (wall, steady) = clock.look();
        clock.believe(wall, steady);
        clock
    }

    /// This machine's clock.
    pub fn of_machine() -> Self {
        Self::new(Arc::new(Machine))
    }

    /// Both clocks at nearly the same instant.
    fn look(&self) -> (i64, i64) {
        let mut before = millis(self.sources.steady());
        let mut wall = signed(self.sources.wall());
        for _ in 0..LOOKS {
            let after = millis(self.sources.steady());
            if after.saturating_sub(before) <= LOOK_MAX {
                break;
            }
            before = after;
            wall = signed(self.sources.wall());
        }
        (wall, before)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on the machine's clock is the present.
    fn believe(&self, wall: i64, steady: i64) {
        self.ahead
            .store(wall.saturating_sub(steady), Ordering::Release);
        let next = steady.saturating_add(FOLLOW_EVERY);
        self.follow_at.store(next, Ordering::Release);
        self.doubtful.store(false, Ordering::Release);
    }

    /// Makes good a part of small steps.
    fn follow(&self, steady: i64, drift: i64) {
        let due = self.follow_at.load(Ordering::Acquire);
        if steady < due {
            return;
        }
        let next = steady.saturating_add(FOLLOW_EVERY);
        let mine = self
            .follow_at
            .compare_exchange(due, next, Ordering::AcqRel, Ordering::Acquire);
        if mine.is_ok() {
            let passed = steady.saturating_sub(due).saturating_add(FOLLOW_EVERY);
            let most = passed.checked_div(FOLLOW).unwrap_or_default();
            let part = drift.clamp(most.saturating_neg(), most);
            self.ahead.fetch_add(part, Ordering::AcqRel);
        }
    }

    /// Looks again, and decides whether the clock is believed; gives the present.
    fn judge(&self) -> i64 {
        let mut state = self.state();
        let (wall, steady) = self.look();
        let believed = steady.saturating_add(self.ahead.load(Ordering::Acquire));
        let agrees = wall.saturating_sub(believed).saturating_abs() <= millis(JUMP_MAX);
        let cause = match state.cause {
            _ if agrees => None,
            None | Some(Cause::Jumped) => Some(Cause::Jumped),
            Some(Cause::Behind | Cause::Ahead) => at_a_start(wall, believed, state.window),
        };
        let was = std::mem::replace(&mut state.cause, cause);
        match (was, cause) {
            (_, Some(cause)) => {
                self.doubtful.store(true, Ordering::Release);
                if was.is_none() {
                    report(cause, wall, believed);
                }
                believed
            }
            (None, None) => wall,
            (Some(_), None) => {
                self.believe(wall, steady);
                tracing::info!(now = %instant(wall), "the clock is right again: orders are taken");
                wall
            }
        }
    }
}

fn report(cause: Cause, says: i64, believed: i64) {
    let doubt = Doubt {
        cause,
        says: instant(says),
        believed: instant(believed),
    };
    tracing::error!(%doubt, "the clock is in doubt: no order is taken");
}

impl Clock for GuardedClock {
    fn now(&self) -> Timestamp {
        if !self.doubtful.load(Ordering::Acquire) {
            let wall = signed(self.sources.wall());
            let steady = millis(self.sources.steady());
            let drift = wall
                .saturating_sub(steady)
                .saturating_sub(self.ahead.load(Ordering::Acquire));
            if drift.saturating_abs() <= millis(JUMP_MAX) {
                self.follow(steady, drift);
                return instant(wall);
            }
        }
        instant(self.judge())
    }

    fn doubt(&self) -> Option<Doubt> {
        let now = self.now();
        if !self.doubtful.load(Ordering::Acquire) {
            return None;
        }
        self.state().cause.map(|cause| Doubt {
            cause,
            says: self.sources.wall(),
            believed: now,
        })
    }

    fn begin(&self, known: Known) {
        let mut state = self.state();
        let (wall, steady) = self.look();
        let (reference, window) = match known.reference() {
            Some(reference) => (signed(reference), millis(DOWN_MAX)),
            None => (signed(FIRST), millis(NEW_MAX)),
        };
        state.window = window;
        state.cause = at_a_start(wall, reference, window);
        match state.cause {
            None => self.believe(wall, steady),
            Some(cause) => {
                let ahead = reference.saturating_sub(steady);
                self.ahead.store(ahead, Ordering::Release);
                self.doubtful.store(true, Ordering::Release);
                report(cause, wall, reference);
            }
        }
    }

    fn confirm(&self) {
        let mut state = self.state();
        let (wall, steady) = self.look();
        state.cause = None;
        self.believe(wall, steady);
        tracing::warn!(now = %instant(wall), "an operator confirmed the clock");
    }
}

#[cfg(test)]
mod tests;
