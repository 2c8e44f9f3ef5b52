//! Both families report the same: random histories through either family, next to a naive book;
//! afterwards every balance, list and total of both is compared with the book and with each other.
//!
//! **Shape.** A history is a list of steps ([`steps`]); [`play`] sends each to a service of its own
//! with a clock that passes midnights, and enters what should be granted into the book ([`book`]). The
//! book never takes amounts from the service's answers, only from the orders.
//!
//! **Failure.** A history that fails is shortened and printed; its seed is kept next to this file and
//! comes first in every later run.

mod balances;
mod book;
mod lists;
mod play;
mod steps;
mod walk;

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};

use play::Play;
use steps::History;

/// How many histories are played, unless `CAUDAL_HISTORIES` sets another number.
const HISTORIES: u32 = 8;
/// How many steps there are between two comparisons of the totals.
const STEPS_BETWEEN: usize = 12;

async fn agrees(history: &History) -> BTreeMap<&'static str, u32> {
    let mut play = Play::begin().await;
    for (nth, step) in history.steps.iter().enumerate() {
        play.step(step).await;
        if nth % STEPS_BETWEEN == STEPS_BETWEEN - 1 {
            balances::treasury(&play, history.size).await;
        }
    }
    balances::treasury(&play, history.size).await;
    balances::one_by_one(&play).await;
    balances::externals(&play).await;
    lists::accounts(&play, history.size).await;
    lists::filtered(&play, history.size).await;
    lists::sorted(&play, history.size).await;
    lists::held_by(&play, history.size).await;
    lists::movements(&play, history.size).await;
    lists::internal(&play, history.size).await;
    play.book.seen
}

#[test]
fn both_families_agree_on_every_balance_list_and_total() {
    let answer = std::env::var("CAUDAL_HISTORIES").ok();
    let cases = answer.map_or(HISTORIES, |text| text.parse().unwrap());
    let mut runner = TestRunner::new(Config {
        cases,
        max_shrink_iters: 150,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/agreement/regressions.txt",
        ))),
        ..Config::default()
    });
    let seen = RefCell::new(BTreeMap::<_, u32>::new());
    let run = runner.run(&steps::history(1..80), |history| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        for (what, times) in runtime.block_on(agrees(&history)) {
            *seen.borrow_mut().entry(what).or_default() += times;
        }
        Ok(())
    });
    if let Err(why) = run {
        panic!("{why}");
    }
    let seen = seen.into_inner();
    println!("{seen:?}");
    for what in [
        "opened",
        "CVU given",
        "CVU given again",
        "credit",
        "debit",
        "hold",
        "repeated",
        "refused",
    ] {
        assert!(seen.contains_key(what), "no {what} in {seen:?}");
    }
}
