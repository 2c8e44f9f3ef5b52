//! Holds, transfers, limits and fees: the rules of `ledger` against the naive book.

use std::cell::RefCell;

use caudal_ledger::holds::OPEN_HOLDS_MAX;
use caudal_ledger::transfers::OPEN_TRANSFERS_MAX;
use proptest::collection::vec;
use proptest::test_runner::{Config, TestRunner};

use crate::flows::answer::Answer;
use crate::flows::book::Book;
use crate::flows::compare;
use crate::flows::machine::FlowMachine;
use crate::flows::ops::{End, Op, Pick, To, op};
use crate::flows::tally::{Tally, expected};
use crate::{cases, config};

/// How often a usual run has to see every ending of an operation.
const OFTEN: u32 = 20;

/// One run: after every step it compares the answers and the states, and checks the invariants.
fn run(ops: &[Op], tally: &mut Tally) {
    let (mut book, mut machine) = (Book::new(), FlowMachine::new());
    assert_eq!(compare::same_all(&machine, &book), Ok(()));
    for op in ops {
        book.step(op);
        let answer = machine.step(op, &book);
        assert_eq!(
            answer, book.answer,
            "the rules (left) against the book, at {op:?}"
        );
        assert_eq!(
            compare::same(&machine, &book, &book.touched),
            Ok(()),
            "at {op:?}"
        );
        assert_eq!(machine.check_step(&book.touched), Ok(()), "at {op:?}");
        tally.count(op, &answer);
    }
    assert_eq!(compare::same_all(&machine, &book), Ok(()));
    assert_eq!(machine.check_all(), Ok(()));
    assert_eq!(machine.restart(), Ok(()));
    assert_eq!(compare::same_all(&machine, &book), Ok(()));
    states(&book, tally);
}

/// Counts the states that holds and transfers ended in.
fn states(book: &Book, tally: &mut Tally) {
    for (index, purse) in book.purses.iter().enumerate() {
        let closed = purse.state == crate::flows::book::State::Closed;
        for hold in book.holds(index) {
            let word = book.hold_word(index, hold);
            tally.seen(format!("hold is {word}"));
            if closed {
                tally.seen(format!("hold of a closed account is {word}"));
            }
        }
    }
    for deed in &book.deeds {
        tally.seen(format!("transfer is {}", deed.word()));
        if deed.returned() > 0 && deed.returned() < deed.amount {
            tally.seen("transfer is reversed in part".to_owned());
        }
    }
}

#[test]
fn money_on_its_way_moves_as_the_book_says() {
    let mut runner = TestRunner::new(Config {
        source_file: Some(file!()),
        test_name: Some("flows::money_on_its_way_moves_as_the_book_says"),
        ..config(2_500)
    });
    let tally = RefCell::new(Tally::default());
    let all = runner.run(&vec(op(), 1..400), |ops| {
        run(&ops, &mut tally.borrow_mut());
        Ok(())
    });
    if let Err(why) = all {
        panic!("{why}\n{runner}");
    }
    let tally = tally.into_inner();
    println!("{tally}");
    // A smaller run sees fewer; a far smaller one proves nothing about how many.
    let least = u64::from(cases(OFTEN));
    let expected = expected();
    let short = tally.short(&expected, least);
    assert!(short.is_empty(), "seen less than {least} times: {short:?}");
}

/// The bounds that no run of a few hundred steps reaches: an account has at most so many open
/// holds, and so many transfers that wait for the bank.
#[test]
fn open_connections_are_bounded() {
    let (mut book, mut machine) = (Book::new(), FlowMachine::new());
    let opening = [
        Op::CashIn {
            account: 0,
            amount: Pick::Usual(4),
        },
        hold(),
        send(),
    ];
    for op in &opening {
        book.step(op);
        assert_eq!(machine.step(op, &book), book.answer);
    }
    for (most, op, code) in [
        (OPEN_HOLDS_MAX, hold(), "too_many_open_holds"),
        (OPEN_TRANSFERS_MAX, send(), "too_many_open_transfers"),
    ] {
        // Copies of the same one, up to one less than the bound.
        let account = &mut machine.slots[0].account;
        let (hold, transfer) = (account.holds[&2].clone(), account.transfers[&3].clone());
        for number in 1_000.. {
            if code == "too_many_open_holds" && account.holds.len() < most - 1 {
                account.holds.insert(number, hold.clone());
            } else if code == "too_many_open_transfers" && account.transfers.len() < most - 1 {
                account.transfers.insert(number, transfer.clone());
            } else {
                break;
            }
        }
        book.step(&op);
        assert!(matches!(machine.step(&op, &book), Answer::Recorded(_)));
        book.step(&op);
        assert_eq!(machine.step(&op, &book), Answer::Refused(code));
    }
}

fn hold() -> Op {
    Op::Hold {
        account: 0,
        key: None,
        amount: Pick::Usual(0),
        end: End::Open,
        tolerance: 0,
    }
}

fn send() -> Op {
    Op::Send {
        from: 0,
        to: To::Outside(0),
        key: None,
        amount: Pick::Usual(0),
    }
}
