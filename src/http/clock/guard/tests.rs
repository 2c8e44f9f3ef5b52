//! The guard alone, with both clocks under the test's control.

use super::*;
use std::sync::atomic::AtomicU64;

const DAY: i64 = 24 * 3600 * 1000;
const NOW: i64 = 1_790_000_000_000;

/// Two clocks that a test sets, in milliseconds.
#[derive(Debug, Default)]
struct Hands {
    wall: AtomicI64,
    steady: AtomicU64,
}

impl Hands {
    fn new() -> (Arc<Self>, GuardedClock) {
        let hands = Arc::new(Self::default());
        hands.wall.store(NOW, Ordering::SeqCst);
        let clock = GuardedClock::new(Arc::<Self>::clone(&hands));
        (hands, clock)
    }

    fn pass(&self, millis: i64) {
        self.jump(millis);
        let steady = u64::try_from(millis).unwrap();
        self.steady.fetch_add(steady, Ordering::SeqCst);
    }

    fn jump(&self, millis: i64) {
        self.wall.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Sources for Hands {
    fn wall(&self) -> Timestamp {
        instant(self.wall.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        Duration::from_millis(self.steady.load(Ordering::SeqCst))
    }
}

fn cause(clock: &GuardedClock) -> Option<DoubtCause> {
    clock.doubt().map(|doubt| doubt.cause)
}

#[test]
fn time_that_passes_on_both_is_the_present_also_while_the_machine_was_suspended() {
    let (hands, clock) = Hands::new();
    for pause in [1, 1_000, DAY, 400 * DAY] {
        hands.pass(pause);
        assert_eq!(
            (clock.now(), cause(&clock)),
            (hands.wall(), None),
            "{pause}"
        );
    }
}

#[test]
fn a_jump_is_not_believed_until_it_is_undone() {
    for jump in [
        30 * DAY,
        -3 * DAY,
        70 * 365 * DAY,
        -40 * 365 * DAY,
        120_001,
        -120_001,
    ] {
        let (hands, clock) = Hands::new();
        hands.jump(jump);
        for passed in 0..3 {
            let right = instant(NOW + passed * 20_000);
            assert_eq!(
                (clock.now(), cause(&clock)),
                (right, Some(DoubtCause::Jumped)),
                "{jump}"
            );
            hands.pass(20_000);
        }
        hands.jump(-jump);
        assert_eq!((clock.now(), cause(&clock)), (hands.wall(), None), "{jump}");
    }
}

#[test]
fn small_steps_are_believed_and_made_good_and_many_at_once_are_not() {
    let (hands, clock) = Hands::new();
    // A second each hour, for years of hours.
    for _ in 0..20_000 {
        hands.pass(3_600_000);
        hands.jump(1_000);
        assert_eq!((clock.now(), cause(&clock)), (hands.wall(), None));
    }
    let mut steps = 0;
    while cause(&clock).is_none() {
        hands.pass(1_000);
        hands.jump(1_000);
        steps += 1;
        assert!(steps < 130, "a clock at twice its speed is believed");
    }
}

#[test]
fn a_confirmed_clock_is_the_present_from_then_on() {
    let (hands, clock) = Hands::new();
    hands.jump(-3 * DAY);
    assert_eq!(cause(&clock), Some(DoubtCause::Jumped));
    clock.confirm();
    assert_eq!((clock.now(), cause(&clock)), (hands.wall(), None));
    hands.jump(3 * DAY);
    assert_eq!(cause(&clock), Some(DoubtCause::Jumped));
}

#[test]
fn a_start_is_held_against_the_journal() {
    let rows = [
        (Some(-30 * DAY), None),
        (Some(-91 * DAY), None),
        (Some(-93 * DAY), Some(DoubtCause::Ahead)),
        (Some(-70 * 365 * DAY), Some(DoubtCause::Ahead)),
        (Some(60_000), None),
        (Some(3 * DAY), Some(DoubtCause::Behind)),
        (None, None),
    ];
    for (newest, right) in rows {
        let (hands, clock) = Hands::new();
        let newest = newest.map(|it| instant(NOW + it));
        let confirmed = None;
        clock.begin(KnownTimes { newest, confirmed });
        assert_eq!(cause(&clock), right, "{newest:?}");
        let believed = right.and(newest).unwrap_or(hands.wall());
        assert_eq!(clock.now(), believed, "{newest:?}");
        // The same, confirmed by a person before the last stop.
        let confirmed = newest.map(|newest| (hands.wall(), newest));
        clock.begin(KnownTimes { newest, confirmed });
        assert_eq!(cause(&clock), None, "{newest:?}");
    }
    for wall in [0, 1_000_000_000_000, 4_000_000_000_000] {
        let (hands, clock) = Hands::new();
        hands.wall.store(wall, Ordering::SeqCst);
        clock.begin(KnownTimes::default());
        assert!(cause(&clock).is_some(), "{wall}");
        hands.wall.store(NOW, Ordering::SeqCst);
        assert_eq!((clock.now(), cause(&clock)), (instant(NOW), None));
    }
}

#[test]
fn the_machine_agrees_with_itself() {
    let clock = GuardedClock::of_machine();
    let (first, again) = (clock.now(), clock.now());
    assert!(first <= again.plus_millis(1_000) && clock.doubt().is_none());
}
