//! How fast a copy goes: when it rests, and how many entries it appends at once.
//!
//! **Bounds.** At low speed a copy works for [`SLICE`] and rests [`REST`] times as long, [`REST_MAX`] at most, so it takes
//! a fifth of one processor. It appends [`EASY_ENTRIES`] at once; where the target takes [`LONG`] for each commit, as a
//! distant database does, twice as many each time up to [`EASY_MOST`], because fewer would take as long, and half as many
//! once it is quicker. At full speed a copy does not rest and appends [`HASTY_ENTRIES`] at once.

use std::time::{Duration, Instant};

/// How long a copy works without a rest.
const SLICE: Duration = Duration::from_millis(1);
/// How many times as long as it worked it then rests.
const REST: u32 = 4;
/// The longest rest: a request to stop is noticed within this time.
const REST_MAX: Duration = Duration::from_millis(250);
/// How many entries it appends at once at low speed, unless one commit of its source has more.
const EASY_ENTRIES: usize = 16;
/// The same at full speed.
const HASTY_ENTRIES: usize = 512;
/// The most at low speed, where the target takes [`LONG`] for each commit.
const EASY_MOST: usize = 128;
/// A commit that takes this long would take as long with fewer entries.
const LONG: Duration = Duration::from_millis(20);

/// The speed of one copy.
pub(super) struct Speed {
    hasty: bool,
    /// How many entries it appends at once at low speed now.
    easy: usize,
    /// When the last rest ended.
    worked_since: Instant,
}

impl Speed {
    /// Low speed, from now on.
    pub(super) fn low(now: Instant) -> Self {
        Self {
            hasty: false,
            easy: EASY_ENTRIES,
            worked_since: now,
        }
    }

    /// Full speed from now on.
    pub(super) fn hurry(&mut self) {
        self.hasty = true;
    }

    /// How many entries it appends at once.
    pub(super) fn entries(&self) -> usize {
        match self.hasty {
            true => HASTY_ENTRIES,
            false => self.easy,
        }
    }

    /// How long it rests now; `None` while it may work on. A rest of zero is only a moment to look around.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        let worked = now.duration_since(self.worked_since);
        let rest = match self.hasty {
            true => Duration::ZERO,
            false => worked
                .checked_mul(REST)
                .map_or(REST_MAX, |it| it.min(REST_MAX)),
        };
        (worked >= SLICE).then_some(rest)
    }

    /// It has rested, or waited for something, until now.
    pub(super) fn rested(&mut self, now: Instant) {
        self.worked_since = now;
    }

    /// Waiting for the store is no work, except for as much of it as leaves the device to others.
    pub(super) fn waited(&mut self, took: Duration) {
        let idle = took.checked_sub(SLICE);
        if let Some(since) = idle.and_then(|idle| self.worked_since.checked_add(idle)) {
            self.worked_since = since;
        }
    }

    /// The target took this long for a commit.
    pub(super) fn committed(&mut self, took: Duration) {
        self.waited(took);
        self.easy = match took >= LONG {
            true => (self.easy * 2).min(EASY_MOST),
            false => (self.easy / 2).max(EASY_ENTRIES),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn commits_grow_where_each_takes_long_and_shrink_where_none_does() {
        let mut speed = Speed::low(Instant::now());
        let mut sizes = |took: &[u64]| -> Vec<usize> {
            let mut size = |took: &u64| {
                speed.committed(ms(*took));
                speed.entries()
            };
            took.iter().map(&mut size).collect()
        };
        assert_eq!(sizes(&[1, 19, 19]), [16, 16, 16]);
        assert_eq!(sizes(&[20, 500, 20, 20]), [32, 64, 128, 128]);
        assert_eq!(sizes(&[19, 20, 3, 3, 3]), [64, 128, 64, 32, 16]);
        speed.hurry();
        assert_eq!(speed.entries(), HASTY_ENTRIES);
    }

    #[test]
    fn four_fifths_of_the_time_are_rest_and_waiting_for_the_store_is_rest_but_for_a_slice() {
        let begin = Instant::now();
        let mut speed = Speed::low(begin);
        let rests = |speed: &Speed, at: u64| speed.rest(begin + ms(at)).map(|it| it.as_millis());
        assert_eq!(rests(&speed, 0), None);
        assert_eq!(rests(&speed, 1), Some(4));
        assert_eq!(rests(&speed, 10), Some(40));
        assert_eq!(rests(&speed, 1000), Some(250));
        speed.rested(begin + ms(1000));
        assert_eq!(rests(&speed, 1000), None);
        // It waited 30 ms of these 31 for a commit.
        speed.committed(ms(30));
        assert_eq!(rests(&speed, 1031), Some(8));
        // At full speed it looks around, and goes on at once.
        speed.hurry();
        assert_eq!(rests(&speed, 1031), Some(0));
    }
}
