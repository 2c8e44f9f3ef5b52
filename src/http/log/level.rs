//! The level of the log: the directives set at the start, and a temporary change of them.
//!
//! **Shape.** A change names targets of our crates, each with a level, and is laid over the directives set at the
//! start; the rest stays. While there is a change, a thread waits for its end. The log belongs to the process, so
//! several services in one process share it.
//!
//! **Bounds.** A change lasts at most [`CHANGED_MAX`] and has at most [`DIRECTIVES_MAX`] characters. It can name only
//! targets of our crates, which are tested to log nothing personal, because libraries log the data that they send.
//! Warnings cannot be switched off.
//!
//! **Failure.** If the thread that ends a change cannot be started, the change is not made.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tracing_subscriber::filter::{ParseError, Targets};

/// The longest duration of a change: an hour.
pub const CHANGED_MAX: Duration = Duration::from_secs(3600);
/// The default duration of a change: ten minutes.
pub const CHANGED_USUAL: Duration = Duration::from_secs(600);
/// The longest text of a change, in characters.
pub const DIRECTIVES_MAX: usize = 200;
/// The crates whose targets can be named: tests check that they log nothing forbidden at any level.
pub const OURS: [&str; 9] = [
    "caudal",
    "caudal_actors",
    "caudal_api",
    "caudal_backup",
    "caudal_bank",
    "caudal_http",
    "caudal_operators",
    "caudal_service",
    "caudal_storage",
];
/// The levels that a target can be set to.
const LEVELS: [&str; 4] = ["warn", "info", "debug", "trace"];

/// The text does not describe a change of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotDirectives;

/// Targets with their levels, for instance `caudal_bank=debug,caudal_actors=debug`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directives(String);

/// A part that sets one target of our crates to a level; `None` for anything else.
fn directive(part: &str) -> Option<&str> {
    let (target, level) = part.split_once('=')?;
    let named = |b: u8| b.is_ascii_lowercase() || matches!(b, b'_' | b':');
    let of = |name: &str| {
        let below = target.strip_prefix(name);
        below.is_some_and(|below| below.is_empty() || below.starts_with("::"))
    };
    let ours = OURS.into_iter().any(of) && target.bytes().all(named);
    (ours && LEVELS.contains(&level)).then_some(part)
}

impl Directives {
    /// Reads directives: targets of our crates with `warn`, `info`, `debug` or `trace`, separated by commas.
    ///
    /// # Errors
    /// For anything else, and for text longer than [`DIRECTIVES_MAX`].
    pub fn parse(text: &str) -> Result<Self, NotDirectives> {
        let parts: Option<Vec<_>> = text.split(',').map(|part| directive(part.trim())).collect();
        match parts {
            Some(parts) if text.len() <= DIRECTIVES_MAX => Ok(Self(parts.join(","))),
            _ => Err(NotDirectives),
        }
    }
}

impl fmt::Display for Directives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The level of the log now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Level {
    /// The directives set at the start; `None` if this program did not begin the log.
    pub usual: Option<String>,
    /// The change in force, and how long it still lasts.
    pub changed: Option<(Directives, Duration)>,
}

/// Reads the filter of a log: levels, or targets with their levels, separated by commas.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn filter(text: &str) -> Result<Targets, String> {
    let parts = text.split(',').map(str::trim);
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    let read = parts.join(",").parse();
    read.map_err(|why: ParseError| why.to_string())
}

/// Replaces the filter in force.
pub(super) type Apply = Box<dyn Fn(Targets) -> Result<(), String> + Send + Sync>;

/// The one log that can be changed.
static TURNED: OnceLock<Arc<Turning>> = OnceLock::new();

/// Registers the log whose level can be changed from now on.
pub(super) fn changeable(usual: String, apply: Apply) {
    // The log is begun only once, so this cannot be set already.
    drop(TURNED.set(Arc::new(Turning::new(usual, apply))));
}

/// The level of the log now.
pub fn now() -> Level {
    TURNED.get().map_or_else(Level::default, |it| it.now())
}

/// Changes the level of some targets for a while, replacing any earlier change; `None` ends the change.
///
/// # Errors
/// A sentence that says why nothing changed.
pub fn change(to: Option<(Directives, Duration)>) -> Result<(), String> {
    let turning = TURNED.get();
    let turning =
        turning.ok_or("the log of this process was not begun by caudal, and stays as it is")?;
    match to {
        Some((directives, lasting)) => turning.change(directives, lasting),
        None => turning.back(&mut turning.lock()),
    }
}

struct Changed {
    directives: Directives,
    ends: Instant,
}

#[derive(Default)]
struct LevelState {
    changed: Option<Changed>,
    /// Whether a thread waits for the end of a change.
    watched: bool,
}

struct Turning {
    usual: String,
    apply: Apply,
    state: Mutex<LevelState>,
    /// Signals that the end of the change has moved.
    moved: Condvar,
}

impl Turning {
    fn new(usual: String, apply: Apply) -> Self {
        Self {
            usual,
            apply,
            state: Mutex::default(),
            moved: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LevelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Level {
        let state = self.lock();
        let changed = state.changed.as_ref();
        Level {
            usual: Some(self.usual.clone()),
            changed: changed.map(|it| {
                let left = it.ends.saturating_duration_since(Instant::now());
                (it.directives.clone(), left)
            }),
        }
    }

    fn change(self: &Arc<Self>, directives: Directives, lasting: Duration) -> Result<(), String> {
        let filter = filter(&format!("{},{directives}", self.usual))?;
        let mut state = self.lock();
        if !state.watched {
            let watching = Arc::clone(self);
            let thread = std::thread::Builder::new().name("log-level".to_owned());
            let begun = thread.spawn(move || watching.watch());
            begun
                .map_err(|why| format!("no thread could be started that ends the change: {why}"))?;
            state.watched = true;
        }
        let applied = (self.apply)(filter);
        if applied.is_ok() {
            let ends = Instant::now() + lasting.min(CHANGED_MAX);
            state.changed = Some(Changed { directives, ends });
        }
        self.moved.notify_one();
        applied
    }

    /// Ends a change, if there is one.
    fn back(&self, state: &mut LevelState) -> Result<(), String> {
        if state.changed.is_none() {
            return Ok(());
        }
        (self.apply)(filter(&self.usual)?)?;
        state.changed = None;
        self.moved.notify_one();
        Ok(())
    }

    /// Waits until the change has ended, by itself or by a call.
    fn watch(&self) {
        let mut state = self.lock();
        while let Some(changed) = &state.changed {
            let left = changed.ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // If the filter cannot be replaced, there is no log in which to report it.
                self.back(&mut state).ok();
                state.changed = None;
                break;
            }
            let waited = self.moved.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.watched = false;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn only_targets_of_ours_are_told_how_much_to_say() {
        let read = |text: &str| Directives::parse(text).map(|it| it.to_string());
        assert_eq!(
            read("caudal_bank=debug").as_deref(),
            Ok("caudal_bank=debug")
        );
        let two = read("caudal::request=warn, caudal_actors=trace");
        assert_eq!(
            two.as_deref(),
            Ok("caudal::request=warn,caudal_actors=trace")
        );
        let long = format!("caudal::{}=info", "a".repeat(DIRECTIVES_MAX));
        for bad in [
            "",
            "debug",
            "info",
            "hyper=trace",
            "caudal",
            "caudal=",
            "caudal=off",
            "caudal=error",
            "caudal[request]=trace",
            "caudal_postgres=trace",
            "caudalxyz=debug",
            "caudal_actors_of_others::bank=debug",
            "caudal:bank=debug",
            "caudal=debug,",
            "caudal=debug,trace",
            "Caudal=debug",
            &long,
        ] {
            assert_eq!(read(bad), Err(NotDirectives), "{bad}");
        }
    }

    /// A log that reports the filters it gets.
    fn told() -> (Arc<Turning>, mpsc::Receiver<String>) {
        let (tell, told) = mpsc::channel();
        let apply =
            move |filter: Targets| tell.send(filter.to_string()).map_err(|it| it.to_string());
        (
            Arc::new(Turning::new("info".to_owned(), Box::new(apply))),
            told,
        )
    }

    fn debug() -> Directives {
        Directives::parse("caudal_bank=debug").unwrap()
    }

    #[test]
    fn a_change_ends_by_itself() {
        let (turning, told) = told();
        turning.change(debug(), Duration::from_millis(1)).unwrap();
        // However late the thread runs, it ends the change.
        assert_eq!(told.recv().unwrap(), "caudal_bank=debug,info");
        assert_eq!(told.recv().unwrap(), "info");
        let ended = turning.lock();
        assert!(ended.changed.is_none());
    }

    #[test]
    fn a_change_is_ended_and_replaced_and_lasts_no_longer_than_it_may() {
        let (turning, told) = told();
        turning.change(debug(), Duration::MAX).unwrap();
        let (directives, left) = turning.now().changed.unwrap();
        assert!(directives == debug() && left <= CHANGED_MAX);
        let other = Directives::parse("caudal=trace").unwrap();
        turning.change(other.clone(), CHANGED_USUAL).unwrap();
        assert_eq!(turning.now().changed.unwrap().0, other);
        turning.back(&mut turning.lock()).unwrap();
        assert_eq!(turning.now().changed, None);
        turning.back(&mut turning.lock()).unwrap();
        let filters: Vec<_> = told.try_iter().collect();
        assert_eq!(
            filters,
            ["caudal_bank=debug,info", "caudal=trace,info", "info"]
        );
        assert_eq!(turning.now().usual.as_deref(), Some("info"));
    }
}
