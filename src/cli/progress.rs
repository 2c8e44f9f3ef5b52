//! A progress line on standard error: rewritten in place, and shown only if that is a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use caudal_storage::{OnProgress, Progress};

/// How often the line is rewritten at most.
const EVERY: Duration = Duration::from_millis(100);
/// Goes to the start of the line and empties it.
const EMPTY: &str = "\r\x1b[2K";
/// While they are off and on again, the terminal cuts what does not fit, instead of beginning a second line that could
/// not be rewritten.
const WRAPPING: [&str; 2] = ["\x1b[?7l", "\x1b[?7h"];
const MIB: u64 = 1 << 20;

/// What the position counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    /// Things, of which nobody knows how many there are.
    Things,
    /// Bytes, up to so many if that is known.
    Bytes(Option<u64>),
}

/// A progress line. It disappears with its last clone.
#[derive(Clone, Debug)]
pub(super) struct ProgressLine(Arc<Mutex<Shown>>);

#[derive(Debug)]
struct Shown {
    what: String,
    unit: Unit,
    position: u64,
    since: Instant,
    /// When the line was last written; `None` if it is not there.
    written: Option<Instant>,
    visible: bool,
}

impl ProgressLine {
    /// Shows what goes on, and how many things are done once there is a number.
    pub(super) fn new(what: &str) -> Self {
        Self::begin(what, Unit::Things)
    }

    /// Shows how many of so many bytes are done; 0 if it is not known how many there will be.
    pub(super) fn bytes(what: &str, all: u64) -> Self {
        Self::begin(what, Unit::Bytes((all > 0).then_some(all)))
    }

    fn begin(what: &str, unit: Unit) -> Self {
        let mut shown = Shown {
            what: what.to_owned(),
            unit,
            position: 0,
            since: Instant::now(),
            written: None,
            visible: io::stderr().is_terminal(),
        };
        shown.write();
        Self(Arc::new(Mutex::new(shown)))
    }

    /// Changes what goes on.
    pub(super) fn set_what(&self, what: &str) {
        self.change(|shown| what.clone_into(&mut shown.what));
    }

    /// Changes how much is done.
    pub(super) fn set_position(&self, position: u64) {
        self.change(|shown| shown.position = position);
    }

    /// Removes the line; a later change would show it again.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// Shows the progress of opening a store.
    pub(super) fn watch_opening(&self) -> OnProgress {
        let line = self.clone();
        Arc::new(move |progress| {
            let (what, position) = match progress {
                Progress::Checking { segment, of } => {
                    let what = format!("checking the journal, {of} segments:");
                    (what, segment.into())
                }
                Progress::Indexing { commit, of } => {
                    (format!("rebuilding the index, {of} commits:"), commit)
                }
            };
            line.change(|shown| (shown.what, shown.position) = (what, position));
        })
    }

    fn change(&self, change: impl FnOnce(&mut Shown)) {
        let mut shown = self.lock();
        change(&mut shown);
        if shown.written.is_none_or(|it| it.elapsed() >= EVERY) {
            shown.write();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shown {
    /// The line after this time.
    fn text(&self, after: Duration) -> String {
        let (what, done) = (&self.what, self.position);
        let rate = u128::from(done) * 1000 / after.as_millis().max(1);
        let mib = u128::from(MIB);
        match self.unit {
            Unit::Things if done == 0 => what.clone(),
            Unit::Things => format!("{what} {done} ({rate}/s)"),
            Unit::Bytes(None) => format!("{what} {} MiB ({} MiB/s)", done / MIB, rate / mib),
            Unit::Bytes(Some(all)) => {
                let part = u128::from(done) * 100 / u128::from(all);
                let left = all.checked_sub(done);
                let left = left.and_then(|left| u128::from(left).checked_div(rate));
                let left = left.map_or_else(String::new, |left| format!(", {left} s left"));
                format!(
                    "{what} {} of {} MiB, {part} % ({} MiB/s{left})",
                    done / MIB,
                    all.div_ceil(MIB),
                    rate / mib
                )
            }
        }
    }

    fn write(&mut self) {
        if !self.visible {
            return;
        }
        self.written = Some(Instant::now());
        let [off, on] = WRAPPING;
        let text = self.text(self.since.elapsed());
        // Nobody is told that a terminal does not take the line.
        write!(io::stderr().lock(), "{EMPTY}{off}{text}{on}").ok();
    }

    fn clear(&mut self) {
        if self.written.take().is_some() {
            write!(io::stderr().lock(), "{EMPTY}").ok();
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_much_is_done_and_how_fast() {
        let text = |unit, position, seconds| {
            let shown = Shown {
                what: "reading".to_owned(),
                unit,
                position,
                since: Instant::now(),
                written: None,
                visible: false,
            };
            shown.text(Duration::from_secs(seconds))
        };
        assert_eq!(text(Unit::Things, 0, 0), "reading");
        assert_eq!(text(Unit::Things, 500, 2), "reading 500 (250/s)");
        let bytes = Unit::Bytes(None);
        assert_eq!(text(bytes, 8 * MIB, 2), "reading 8 MiB (4 MiB/s)");
        let bytes = Unit::Bytes(Some(10 * MIB));
        let shown = "reading 5 of 10 MiB, 50 % (1 MiB/s, 5 s left)";
        assert_eq!(text(bytes, 5 * MIB, 5), shown);
        let shown = "reading 0 of 10 MiB, 0 % (0 MiB/s)";
        assert_eq!(text(bytes, 0, 0), shown);
    }
}
