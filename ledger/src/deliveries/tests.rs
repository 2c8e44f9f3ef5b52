//! Tables of tries: order within an account, pauses, parking, stopping, redelivery.

use super::*;
use crate::webhooks::Replay;

const A: AccountNo = AccountNo(1);
const B: AccountNo = AccountNo(2);

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn usual() -> Schedule {
    Schedule::default()
}

fn ended(account: AccountNo, event: u64, status: u16, when: u64) -> Ended {
    Ended {
        replay: 0,
        account,
        event,
        at: at(when),
        millis: 3,
        response: Response::Status(status),
        retry_after: None,
    }
}

fn main(progress: &mut Progress) -> &mut Cursor {
    progress.cursor(0).unwrap()
}

/// A progress that has looked at events 1 (of A), 2 (of B), 3 (of A).
fn looked() -> Progress {
    let mut progress = Progress::new(0);
    let cursor = main(&mut progress);
    assert!(cursor.look(1, A, true, at(0)));
    assert!(cursor.look(2, B, true, at(0)));
    assert!(!cursor.look(3, A, true, at(0)), "it waits behind the first");
    assert!(!cursor.look(4, B, false, at(0)), "it is not wanted");
    progress
}

#[test]
fn an_account_goes_on_with_its_next_event_when_the_last_has_ended() {
    let mut progress = looked();
    let done = progress
        .settle(ended(A, 1, 204, 5), 1, &usual(), at(6))
        .unwrap();
    assert_eq!(done.ending, Ending::Delivered);
    assert_eq!(main(&mut progress).lane(A).unwrap().seen, 1);
    main(&mut progress).found(A, Some(3), at(7));
    assert_eq!(main(&mut progress).lane(A).unwrap().head.unwrap().event, 3);
    progress
        .settle(ended(A, 3, 200, 8), 1, &usual(), at(9))
        .unwrap();
    main(&mut progress).found(A, None, at(10));
    assert_eq!(main(&mut progress).lane(A), None);
    assert_eq!((progress.delivered, progress.taken_at), (2, Some(at(9))));
    // A repeated ending, or one without a lane, has no effect.
    assert_eq!(
        progress.settle(ended(A, 3, 200, 8), 1, &usual(), at(11)),
        None
    );
    assert_eq!(
        progress.settle(ended(B, 9, 200, 8), 1, &usual(), at(11)),
        None
    );
}

#[test]
fn only_2xx_is_a_delivery_and_each_further_try_waits_longer() {
    for (status, delivered) in [
        (199, false),
        (200, true),
        (299, true),
        (300, false),
        (302, false),
    ] {
        assert_eq!(
            Response::Status(status).is_delivered(),
            delivered,
            "{status}"
        );
    }
    assert!(!Response::Trouble("timed_out".into()).is_delivered());
    let mut progress = looked();
    let mut now = 0;
    for (tries, seconds) in (1..).zip(PAUSES) {
        let failed = progress
            .settle(ended(A, 1, 500, now), 1, &usual(), at(now))
            .unwrap();
        let due = failed.due.unwrap().millis() - now;
        let (least, most) = (seconds * 800, seconds * 1200);
        assert!((least..=most).contains(&due), "try {tries}: {due}");
        now += due;
        // The other account's events are accepted, so the webhook does not stop.
        progress.taken_at = Some(at(now));
        progress.streak = 0;
    }
    assert!(now >= KEEP_TRYING, "the schedule covers three days");
    let last = progress
        .settle(ended(A, 1, 500, now), 1, &usual(), at(now))
        .unwrap();
    assert_eq!((last.ending, last.due), (Ending::Parked, None));
    assert_eq!((progress.parked, progress.stopped), (1, None));
    assert_eq!(
        main(&mut progress).lane(A).unwrap().head,
        None,
        "the account goes on"
    );
}

#[test]
fn a_webhook_that_takes_nothing_for_three_days_stops_and_keeps_its_place() {
    let mut progress = looked();
    progress.settle(ended(A, 1, 500, 10), 1, &usual(), at(10));
    let late = 10 + KEEP_TRYING;
    let last = progress
        .settle(ended(A, 1, 500, late), 1, &usual(), at(late))
        .unwrap();
    assert_eq!(last.ending, Ending::Failed);
    assert_eq!(progress.stopped.unwrap().reason, StopReason::Unreachable);
    assert!(progress.is_stopped(1) && !progress.is_stopped(2));
    progress.resume(at(late + 5));
    let head = main(&mut progress).lane(A).unwrap().head.unwrap();
    assert_eq!((head.event, head.due), (1, at(late + 5)));
    let again = progress
        .settle(ended(A, 1, 500, late + 6), 2, &usual(), at(late + 6))
        .unwrap();
    assert_eq!((again.ending, progress.stopped), (Ending::Failed, None));
}

#[test]
fn gone_stops_at_once() {
    let mut progress = looked();
    progress.settle(ended(A, 1, 410, 10), 3, &usual(), at(10));
    let stop = progress.stopped.unwrap();
    assert_eq!((stop.reason, stop.resumed), (StopReason::Gone, 3));
}

#[test]
fn failures_in_a_row_brake_and_a_success_wakes_all_that_waits() {
    let mut progress = looked();
    for n in 0..u64::from(BRAKE) {
        assert!(!progress.is_braked());
        progress.settle(ended(A, 1, 500, n), 1, &usual(), at(n));
    }
    let rest = progress.rest_until.unwrap().millis();
    assert!(
        progress.is_braked() && (4_000..=6_010).contains(&rest),
        "{rest}"
    );
    let due = main(&mut progress).lane(A).unwrap().head.unwrap().due;
    assert!(due > at(3_600_000), "by itself it would wait for hours");
    progress.settle(ended(B, 2, 200, 7_000), 1, &usual(), at(7_000));
    assert!(!progress.is_braked() && progress.rest_until.is_none());
    assert_eq!(
        main(&mut progress).lane(A).unwrap().head.unwrap().due,
        at(7_000)
    );
}

#[test]
fn a_receiver_may_ask_to_be_left_alone_for_a_day_at_most() {
    for (asked, rests) in [(30_000, 30_000), (u64::MAX, LEAVE_ALONE_MAX)] {
        let mut progress = looked();
        let answer = Ended {
            retry_after: Some(asked),
            ..ended(A, 1, 503, 10)
        };
        progress.settle(answer, 1, &usual(), at(10));
        assert_eq!(progress.rest_until, Some(at(10 + rests)));
    }
}

#[test]
fn a_cursor_waits_for_accounts_being_sent_but_not_for_those_in_backoff() {
    let mut progress = looked();
    let cursor = main(&mut progress);
    assert_eq!(cursor.room(|_| false), AHEAD_MAX);
    // All of A before event 1 has ended, event 1 is under way, and the next number is 5.
    assert_eq!(cursor.room(|account| account == A), AHEAD_MAX - 5);
    cursor.next = 2 * AHEAD_MAX;
    assert_eq!(cursor.room(|account| account == A), 0);
    assert_eq!(cursor.room(|_| false), AHEAD_MAX);
    for number in 0..300 {
        cursor.look(number, AccountNo(number + 10), true, at(0));
        if cursor.lanes.len() == LANES_MAX {
            break;
        }
    }
    assert_eq!((cursor.lanes.len(), cursor.room(|_| false)), (LANES_MAX, 0));
}

#[test]
fn a_redelivery_has_its_own_cursor_and_ends() {
    let mut progress = looked();
    progress.replay(&Replay {
        number: 4,
        from: 1,
        to: 2,
        every_kind: true,
    });
    assert_eq!(progress.taken, 4);
    let cursor = progress.cursor(4).unwrap();
    assert_eq!(cursor.room(|_| false), 2);
    assert!(cursor.look(1, A, true, at(0)) && cursor.look(2, B, true, at(0)));
    assert_eq!(cursor.room(|_| false), 0);
    for (account, event) in [(B, 2), (A, 1)] {
        assert!(!progress.cursor(4).unwrap().has_ended());
        let of_replay = Ended {
            replay: 4,
            ..ended(account, event, 200, 1)
        };
        progress.settle(of_replay, 1, &usual(), at(2)).unwrap();
        progress.cursor(4).unwrap().found(account, None, at(2));
    }
    assert!(progress.cursor(4).unwrap().has_ended());
    assert_eq!(
        main(&mut progress).lanes.len(),
        2,
        "the main cursor is as it was"
    );
}

#[test]
fn a_redelivery_of_an_event_that_waits_lets_its_account_go_on() {
    for (refused, goes_on) in [(true, true), (false, false)] {
        let mut progress = looked();
        if refused {
            progress.settle(ended(A, 1, 500, 10), 1, &usual(), at(10));
        }
        progress.replay(&Replay {
            number: 4,
            from: 1,
            to: 1,
            every_kind: true,
        });
        assert!(progress.cursor(4).unwrap().look(1, A, true, at(20)));
        let of_replay = Ended {
            replay: 4,
            ..ended(A, 1, 200, 20)
        };
        progress.settle(of_replay, 1, &usual(), at(20)).unwrap();
        // An event that is due may be on its way: it ends by itself.
        let lane = *main(&mut progress).lane(A).unwrap();
        assert_eq!((lane.seen == 1, lane.head.is_none()), (goes_on, goes_on));
    }
}

#[test]
fn the_log_of_a_delivery_keeps_its_last_tries() {
    let mut delivery = Delivery {
        event: 1,
        tries: 0,
        log: Vec::new(),
    };
    let mut progress = looked();
    for n in 0..30 {
        progress.streak = 0;
        let attempt = progress
            .settle(ended(A, 1, 500, n), 1, &usual(), at(n))
            .unwrap();
        delivery.note(&attempt);
    }
    assert_eq!((delivery.tries, delivery.log.len()), (30, LOG_MAX));
    assert_eq!(delivery.log.last().unwrap().at, at(29));
    assert_eq!(delivery.ending(), Some(Ending::Failed));
}

#[test]
fn a_schedule_of_ones_own_is_kept_to_and_its_last_pauses_go_on() {
    let schedule = Schedule {
        pauses: [10, 20, 30, 30, 30, 30, 30, 30, 30],
        brake: [100, 200, 200, 200, 200],
    };
    let near = |millis: u64| millis * 8 / 10..=millis * 12 / 10;
    for (tries, right) in [(1, 10), (2, 20), (3, 30), (9, 30), (10, 30), (u32::MAX, 30)] {
        let pause = schedule.pause(7, tries);
        assert!(near(right).contains(&pause), "try {tries}: {pause}");
    }
    for (streak, right) in [(BRAKE, 100), (BRAKE + 1, 200), (u32::MAX, 200)] {
        let rest = schedule.rest(streak);
        assert!(near(right).contains(&rest), "streak {streak}: {rest}");
    }
    let mut progress = looked();
    let failed = progress.settle(ended(A, 1, 500, 0), 1, &schedule, at(5));
    let due = failed.unwrap().due.unwrap();
    assert!((at(13)..=at(17)).contains(&due), "{due:?}");
}
