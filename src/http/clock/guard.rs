//! A clock that is checked before it is trusted: the machine's clock, compared with a monotonic one.
//!
//! **Shape.** [`Sources::steady`] runs on whatever anybody does to the machine's clock, even while the machine sleeps.
//! As long as the difference between the two stays the same, the machine's clock gives the time. When it changes by
//! more than [`JUMP_MAX`], the clock is in doubt: the time continues by the steady clock, so nothing expires early or
//! gets a wrong timestamp, and orders are refused until both clocks agree again or a person confirms the machine's
//! clock. At a start there is no earlier difference, so the journal decides: a clock behind its newest timestamp, or
//! further ahead of it than [`DOWN_MAX`], is in doubt too.
//!
//! **Bounds.** Steps below [`JUMP_MAX`] are followed, by at most one part in [`FOLLOW`] of the time that passes, so
//! that many small steps do not add up over years. A slewed clock slews the steady one too, which is not a step.
//!
//! **Failure.** At a start, a wrong clock less than [`DOWN_MAX`] ahead cannot be told from a service that was down;
//! correcting it later is a jump.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use caudal_actors::ports::{Clock, ClockDoubt, DoubtCause, KnownTimes};
use caudal_ledger::time::Timestamp;

/// The largest step of the machine's clock that is trusted.
pub const JUMP_MAX: Duration = Duration::from_secs(2 * 60);
/// The longest downtime for which the machine's clock is trusted at a start.
pub const DOWN_MAX: Duration = Duration::from_secs(92 * 24 * 3600);
/// How far after [`FIRST`] the clock may be where there is no journal yet.
const NEW_MAX: Duration = Duration::from_secs(40 * 366 * 24 * 3600);
/// The start of 2026: no version of this program is older.
const FIRST: Timestamp = Timestamp::from_millis(1_767_225_600_000);
/// Small steps are followed by at most one part in this many of the time that passes.
const FOLLOW: i64 = 100;
/// The pause between two corrections for small steps, in milliseconds.
const FOLLOW_EVERY: i64 = 60_000;
/// The longest that one reading of both clocks may take, in milliseconds; a longer one is repeated, because the process
/// was interrupted in between.
const LOOK_MAX: i64 = 250;
/// The most repetitions of a reading.
const LOOKS: usize = 8;

/// The two clocks of a machine.
pub trait Sources: Send + Sync + std::fmt::Debug + 'static {
    /// The clock that people and programs set.
    fn wall(&self) -> Timestamp;
    /// The time since some fixed instant; nobody sets this clock, and it runs while the machine sleeps.
    fn steady(&self) -> Duration;
}

/// The clocks of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine;

impl Sources for Machine {
    fn wall(&self) -> Timestamp {
        super::now()
    }

    fn steady(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
    }
}

/// The clock of the service: the machine's, as long as it is trusted.
#[derive(Debug)]
pub struct GuardedClock {
    sources: Arc<dyn Sources>,
    /// The milliseconds by which the machine's clock is ahead of the steady one; while the clock is in doubt, those by
    /// which the trusted time is.
    ahead: AtomicI64,
    doubtful: AtomicBool,
    /// When the next correction for small steps is due, in milliseconds of the steady clock.
    follow_at: AtomicI64,
    state: Mutex<GuardState>,
}

#[derive(Debug, Default)]
struct GuardState {
    cause: Option<DoubtCause>,
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

/// Why a clock is not trusted at a start.
fn at_a_start(wall: i64, reference: i64, window: i64) -> Option<DoubtCause> {
    if wall.saturating_add(millis(JUMP_MAX)) < reference {
        Some(DoubtCause::Behind)
    } else if wall > reference.saturating_add(window) {
        Some(DoubtCause::Ahead)
    } else {
        None
    }
}

impl GuardedClock {
    /// A clock from these sources, trusted until the first check that fails.
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

    /// A reading of both clocks at nearly the same instant.
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

    fn state(&self) -> MutexGuard<'_, GuardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Trusts the machine's clock from here on.
    fn believe(&self, wall: i64, steady: i64) {
        self.ahead
            .store(wall.saturating_sub(steady), Ordering::Release);
        let next = steady.saturating_add(FOLLOW_EVERY);
        self.follow_at.store(next, Ordering::Release);
        self.doubtful.store(false, Ordering::Release);
    }

    /// Follows small steps by a part.
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

    /// Reads both clocks, decides whether the machine's is trusted, and returns the current time.
    fn judge(&self) -> i64 {
        let mut state = self.state();
        let (wall, steady) = self.look();
        let believed = steady.saturating_add(self.ahead.load(Ordering::Acquire));
        let agrees = wall.saturating_sub(believed).saturating_abs() <= millis(JUMP_MAX);
        let cause = match state.cause {
            _ if agrees => None,
            None | Some(DoubtCause::Jumped) => Some(DoubtCause::Jumped),
            Some(DoubtCause::Behind | DoubtCause::Ahead) => {
                at_a_start(wall, believed, state.window)
            }
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

fn report(cause: DoubtCause, says: i64, believed: i64) {
    let doubt = ClockDoubt {
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

    fn doubt(&self) -> Option<ClockDoubt> {
        let now = self.now();
        if !self.doubtful.load(Ordering::Acquire) {
            return None;
        }
        self.state().cause.map(|cause| ClockDoubt {
            cause,
            says: self.sources.wall(),
            believed: now,
        })
    }

    fn begin(&self, known: KnownTimes) {
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
