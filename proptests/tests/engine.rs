//! Orders at the same time, power cuts and a bank: whatever was answered holds.

use std::cell::RefCell;
use std::collections::BTreeMap;

use caudal_proptests::engine::{play, stories};
use caudal_proptests::{cases, config};
use proptest::test_runner::{Config, TestRunner};

/// Stories in the usual run.
const STORIES: u32 = 384;

#[test]
fn whatever_was_answered_holds_and_is_done_once() {
    let seen = RefCell::new(BTreeMap::<String, usize>::new());
    let config = Config {
        source_file: Some(file!()),
        ..config(STORIES)
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
    println!("stories: {} with {:?}", cases(STORIES), seen.borrow());
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
        let count = seen.borrow().get(outcome).copied().unwrap_or_default();
        assert!(count > 0, "no {outcome}");
    }
}
