//! Orders at the same time, power cuts and a bank: whatever was answered holds.

use std::cell::RefCell;
use std::collections::BTreeMap;

use caudal_proptests::engine::{Story, book::Book, play, play_on, stories};
use caudal_proptests::{cases, config};
use proptest::test_runner::{Config, TestRunner};

/// Stories in the usual run.
const STORIES: u32 = 384;

/// Stories on several threads in the usual run.
const ON_THREADS: u32 = 24;
/// Threads of the actors: the supervisor's, and two for the accounts.
const THREADS: usize = 3;

/// Plays this many stories; gives how often each outcome was seen.
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

#[test]
fn whatever_was_answered_holds_on_several_threads() {
    let seen = played(ON_THREADS, |story| play_on(THREADS, story));
    println!("stories: {} with {seen:?}", cases(ON_THREADS));
    // How many were under way at a cut is chance where everybody has a thread.
    assert!(seen.get("done").is_some_and(|count| *count > 0));
}

#[test]
fn whatever_was_answered_holds_and_is_done_once() {
    let seen = played(STORIES, play);
    println!("stories: {} with {seen:?}", cases(STORIES));
    // The stories reach what they are about.
    for outcome in [
        "done",
        "unknown",
        "insufficient_funds",
        "limit_exceeded",
        "account_suspended",
        "hold_not_open",
        "hold_remaining",
    ] {
        let count = seen.get(outcome).copied().unwrap_or_default();
        assert!(count > 0, "no {outcome}");
    }
}
