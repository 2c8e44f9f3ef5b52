//! Orders at the same time, power cuts and a bank: every answer holds.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::test_runner::{Config, TestRunner};

use crate::engine::{End, Fate, Hazard, Order, Scene, Story, book::Book, play, play_on, stories};
use crate::{cases, config};

/// How many stories the usual run plays.
const STORIES: u32 = 384;

/// How many stories the usual run plays on several threads.
const ON_THREADS: u32 = 24;
/// How many threads the actors have: one for the supervisor, and two for the accounts.
const THREADS: usize = 3;

/// Plays this many stories; returns how often each outcome was seen.
fn played(stories_of: u32, play: impl Fn(&Story) -> Book) -> BTreeMap<String, usize> {
    let seen = RefCell::new(BTreeMap::<String, usize>::new());
    let config = Config {
        source_file: Some(file!()),
        ..config(stories_of)
    };
    let outcome = TestRunner::new(config).run(&stories(), |story| {
        let book = play(&story);
        let mut seen = seen.borrow_mut();
        *seen.entry("done".to_owned()).or_default() += book.done().count();
        *seen.entry("unknown".to_owned()).or_default() += book.unknown;
        for (code, count) in book.refusals() {
            *seen.entry(code).or_default() += count;
        }
        Ok(())
    });
    outcome.unwrap_or_else(|why| panic!("{why}"));
    seen.into_inner()
}

fn scene(orders: &[Order], hazard: Option<Hazard>, end: End) -> Scene {
    Scene {
        orders: orders.to_vec(),
        hazard,
        end,
    }
}

#[test]
fn stories_that_went_wrong_once_go_right() {
    use Order::{Arrive, Reactivate, Send};
    // The bank's list is read while the store refuses a movement of it.
    let refused = [Arrive(1, 1, 0)];
    let calm = End::Calm;
    let one = vec![scene(&refused, Some(Hazard::Refusal), calm)];
    // The same with a refusal that is left from a scene that wrote nothing.
    let two = vec![
        scene(&[Reactivate(1)], Some(Hazard::Refusal), End::Retire(0)),
        scene(&refused, Some(Hazard::Refusal), calm),
    ];
    // One of the first to ask for the time panics, among them the search through the bank's list.
    let sent = [Send(3, 1861, Fate::Deaf), Send(1, 57, Fate::Back)];
    let asks = |nth| vec![scene(&sent, Some(Hazard::Panic(nth)), calm)];
    for story in [one, two].into_iter().chain((1..=12).map(asks)) {
        play(&story);
    }
}

#[test]
fn whatever_was_answered_holds_on_several_threads() {
    let seen = played(ON_THREADS, |story| play_on(THREADS, story));
    println!("stories: {} with {seen:?}", cases(ON_THREADS));
    // When every actor has a thread, it is chance how many orders are under way at a cut.
    assert!(seen.get("done").is_some_and(|count| *count > 0));
}

#[test]
fn whatever_was_answered_holds_and_is_done_once() {
    let seen = played(STORIES, play);
    println!("stories: {} with {seen:?}", cases(STORIES));
    // The stories reach the cases that they are about.
    for outcome in [
        "done",
        "unknown",
        "insufficient_funds",
        "limit_exceeded",
        "account_suspended",
        "hold_not_open",
        "hold_remaining",
        "reversal_exceeds",
    ] {
        let count = seen.get(outcome).copied().unwrap_or_default();
        assert!(count > 0, "no {outcome}");
    }
}
