//! Holds, transfers between accounts and through the bank, batches: turns that involve several accounts.

use std::cell::Cell;
use std::rc::Rc;

use caudal_ledger::holds::{HoldStatus, HoldStep};
use caudal_ledger::ids::{HoldId, OriginId, VoucherId};
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::tenants::Mode;
use caudal_ledger::transfers::{
    BankMoved, BankTransfer, BankWord, Counterparty, Departure, Destination, Recovered,
    TransferStatus,
};

use super::harness::{Harness, cvu, origin, outside, sending, within};
use super::storms::all;
use super::*;
use crate::accounts::{ChangeProfile, MakeTransfer};
use crate::engine::lists::{ListPage, SortOrder as Way};
use crate::engine::money::{HoldView, ItemOutcome, NoticeOutcome, TransferFilter};
use crate::ports::Notice;
use crate::realms::Batch;

pub(super) const EVERYTHING: ListPage = ListPage {
    order: Way::Ascending,
    limit: 1000,
    offset: 0,
    cursor: None,
};

fn bank() -> Arc<TestBank> {
    Arc::default()
}

fn place(harness: &Harness, account: u64, sequence: u64) -> VoucherId {
    super::harness::place(harness.store.as_ref(), account, sequence)
}

async fn step(
    harness: &Harness,
    hold: u64,
    step: HoldStep,
    part: Option<i64>,
) -> Answered<HoldView> {
    let part = part.map(|part| Amount::from_centavos(part).unwrap());
    let id = HoldId(place(harness, 1, hold));
    harness
        .engine
        .ledger()
        .step_hold(REALM, id, step, part, false, plain())
        .await
}

/// Available and held.
async fn both(harness: &Harness, account: u64) -> (i64, i64) {
    let balance = harness.balance(account).await;
    (balance.available.centavos(), balance.held.centavos())
}

#[actix::test]
async fn a_hold_is_opened_once_and_goes_in_parts() {
    let harness = Harness::new(1, 1, 1000, bank()).await;
    harness.store.set_automatic(false);
    let opened = async {
        tokio::join!(
            harness.hold(1, 300, "h", None),
            harness.hold(1, 300, "h", None),
            harness.hold(1, 301, "h", None),
        )
    };
    let flush = async {
        wait_until(|| harness.store.pending() >= 3).await;
        harness.store.set_automatic(true);
    };
    let ((first, second, other), ()) = tokio::join!(opened, flush);
    let first = value(first);
    assert!(matches!(first, Outcome::Recorded(_)));
    let first = first.into_inner();
    assert_eq!(value(second), Outcome::Replayed(first.clone()));
    assert!(matches!(
        other,
        Err(Failure::Rejected(Rejection::ExternalIdReused { .. }))
    ));
    assert_eq!(both(&harness, 1).await, (700, 300));
    value(step(&harness, 2, HoldStep::Confirm, Some(100)).await);
    assert_eq!(both(&harness, 1).await, (700, 200));
    let too_much = step(&harness, 2, HoldStep::Release, Some(201)).await;
    assert!(matches!(
        too_much,
        Err(Failure::Rejected(Rejection::HoldRemaining { .. }))
    ));
    let last = value(step(&harness, 2, HoldStep::Release, None).await);
    assert_eq!(last.hold.status(), HoldStatus::Confirmed);
    let none = step(&harness, 2, HoldStep::Release, None).await;
    let Err(Failure::Rejected(Rejection::HoldNotOpen { ended: Some(ended) })) = none else {
        panic!("{none:?}");
    };
    let id = HoldId(place(&harness, 1, 2));
    assert_eq!((ended.id, ended.status), (id, HoldStatus::Confirmed));
    assert_eq!(ended.at, last.hold.ended_at);
    assert!(ended.at.is_some());
    // A repeat gets the first answer.
    let repeat = value(harness.hold(1, 300, "h", None).await);
    assert_eq!(repeat, Outcome::Replayed(first));
    let read = harness
        .engine
        .queries()
        .hold(REALM, HoldId(place(&harness, 1, 2)))
        .await;
    // Only the answer to a step has the balance after it.
    let last = HoldView {
        voucher: None,
        balance: None,
        ..last
    };
    assert_eq!(read.as_ref(), Ok(&last));
    let target = Target::Account(AccountNo(1));
    let listed = harness
        .engine
        .queries()
        .holds(REALM, target, None, EVERYTHING)
        .await;
    assert_eq!(listed.unwrap().items, [last]);
    harness.verified().await;
}

#[actix::test]
async fn a_hold_ends_in_a_balance_in_a_sweep_and_after_a_crash() {
    tokio::time::pause();
    let mut harness = Harness::new(1, 1, 1000, bank()).await;
    let soon = |harness: &Harness| Some(harness.clock.peek().plus_millis(3_600_000));
    value(harness.hold(1, 10, "a", soon(&harness)).await);
    harness.clock.jump(3_600_001);
    assert_eq!(both(&harness, 1).await, (1000, 0));
    // Nobody asks the account: the sweep of the realm finds the hold.
    value(harness.hold(1, 20, "b", soon(&harness)).await);
    let target = Target::Account(AccountNo(1));
    assert!(
        harness
            .engine
            .operators()
            .passivate(REALM, target)
            .await
            .unwrap()
    );
    harness.clock.jump(3_600_001);
    super::harness::later(Duration::from_secs(31)).await;
    let (account, _) =
        crate::engine::operators::on_disk(harness.engine.store().as_ref(), REALM, AccountNo(1))
            .unwrap();
    assert_eq!(account.balance.held, Money::ZERO);
    // Nor does anybody ask after a restart, when its alarm is gone.
    value(harness.hold(1, 30, "c", soon(&harness)).await);
    harness.clock.jump(3_600_001);
    harness = harness.crash(0, bank());
    super::harness::later(Duration::from_secs(1)).await;
    let (account, _) =
        crate::engine::operators::on_disk(harness.engine.store().as_ref(), REALM, AccountNo(1))
            .unwrap();
    assert_eq!(account.balance.held, Money::ZERO);
    assert_eq!(both(&harness, 1).await, (1000, 0));
    let ended = harness
        .engine
        .queries()
        .hold(REALM, HoldId(place(&harness, 1, 6)))
        .await
        .unwrap();
    assert_eq!(ended.hold.status(), HoldStatus::Expired);
    harness.verified().await;
}

#[actix::test]
async fn money_goes_to_another_account_once() {
    let harness = Harness::new(1, 3, 1000, bank()).await;
    let repeat = || harness.give((1, 2), 100, "t");
    harness.store.set_automatic(false);
    let flush = async {
        wait_until(|| harness.store.pending() >= 2).await;
        harness.store.set_automatic(true);
    };
    let (first, second, ()) = tokio::join!(repeat(), repeat(), flush);
    let first = value(first).into_inner();
    assert_eq!(first.transfer.status, TransferStatus::Completed);
    assert_eq!(value(second), Outcome::Replayed(first.clone()));
    assert_eq!(value(repeat().await), Outcome::Replayed(first.clone()));
    let other = harness.give((1, 2), 101, "t").await;
    let Err(Failure::Rejected(Rejection::TransferExternalIdReused { fields, .. })) = other else {
        panic!("{other:?}")
    };
    assert_eq!(fields, ["amount"]);
    let alias = Destination::Alias(Alias::parse("otra.prueba").unwrap());
    let target = Target::Account(AccountNo(3));
    let order = ProfileOrder::SetAlias(Alias::parse("otra.prueba").unwrap());
    let changed = harness
        .engine
        .ledger()
        .order(REALM, ChangeProfile::new(target, order), plain());
    value(changed.await);
    value(harness.send(1, alias.clone(), 10, "by-alias").await);
    let itself = harness.send(3, alias, 10, "itself").await;
    assert_eq!(itself, Err(Failure::Rejected(Rejection::SameAccount)));
    let closing = harness.engine.ledger().order(
        REALM,
        ChangeProfile::new(target, ProfileOrder::Close),
        plain(),
    );
    value(closing.await);
    let closed = harness.give((1, 3), 10, "closed").await;
    assert_eq!(closed, Err(Failure::Rejected(Rejection::DestinationClosed)));
    let poor = harness.give((1, 2), 100_000, "poor").await;
    assert!(matches!(
        poor,
        Err(Failure::Rejected(Rejection::InsufficientFunds { .. }))
    ));
    assert_eq!(both(&harness, 1).await, (890, 0));
    assert_eq!(both(&harness, 2).await, (1100, 0));
    let listed = harness
        .engine
        .queries()
        .transfers(REALM, TransferFilter::default(), EVERYTHING)
        .await;
    assert_eq!(listed.unwrap().total, 2);
    harness.verified().await;
}

#[actix::test]
async fn a_cursor_of_all_transfers_is_none_of_the_transfers_of_one_account() {
    let harness = Harness::new(1, 2, 1000, bank()).await;
    for n in 0..2 {
        value(harness.give((1, 2), 1, &format!("a{n}")).await);
        value(harness.give((2, 1), 1, &format!("b{n}")).await);
    }
    let first = ListPage {
        limit: 1,
        ..EVERYTHING
    };
    let all = TransferFilter::default();
    let listed = harness
        .engine
        .queries()
        .transfers(REALM, all, first)
        .await
        .unwrap();
    assert_eq!(listed.items[0].account, AccountNo(1));
    let page = ListPage {
        cursor: listed.next,
        ..EVERYTHING
    };
    let of = |account| {
        let filter = TransferFilter {
            from: Some(Target::Account(AccountNo(account))),
            ..TransferFilter::default()
        };
        harness.engine.queries().transfers(REALM, filter, page)
    };
    for account in [1, 2] {
        assert_eq!(of(account).await.unwrap_err(), Failure::NotACursor);
    }
}

#[actix::test]
async fn a_batch_is_posted_whole_or_each_for_itself() {
    let harness = Harness::new(1, 3, 100, bank()).await;
    let items = |last: i64| {
        let mut items: Vec<_> = (1..=3)
            .map(|a| adjustment(a, "OUT", 10, &format!("{last}-{a}")))
            .collect();
        items.push(adjustment(2, "OUT", last, &format!("{last}-more")));
        items.push(adjustment(1, "OUT", 10, &format!("{last}-1")));
        items
    };
    let batch = |last, atomic| {
        harness.engine.ledger().order(
            REALM,
            Batch {
                items: items(last),
                mode: harness::mode(atomic),
            },
            plain(),
        )
    };
    let sum = || async {
        both(&harness, 1).await.0 + both(&harness, 2).await.0 + both(&harness, 3).await.0
    };
    let refused = value(batch(91, true).await);
    assert!(
        matches!(refused[3], Err(Failure::Rejected(_))),
        "{refused:?}"
    );
    assert_eq!(sum().await, 300);
    harness.store.refuse_next(StoreError::Overloaded);
    assert_eq!(batch(5, true).await, Err(Failure::Overloaded));
    assert_eq!(sum().await, 300);
    let done = value(batch(5, true).await);
    assert!(matches!(done[0], Ok(Outcome::Recorded(_))));
    assert!(matches!(done[4], Ok(Outcome::Replayed(_))));
    assert_eq!(sum().await, 265);
    let apart = value(batch(92, false).await);
    let ok: Vec<_> = apart.iter().map(Result::is_ok).collect();
    assert_eq!(ok, [true, true, true, false, true]);
    assert!(matches!(apart[4], Ok(Outcome::Replayed(_))));
    assert_eq!(sum().await, 235);
    harness.verified().await;
}

fn arrival(id: &str, account: u64) -> Notice {
    Notice::Received {
        coelsa_id: id.into(),
        bank_id: "b".into(),
        cvu: cvu(account),
        amount: Amount::from_centavos(70).unwrap(),
        from: Counterparty::default(),
        at: Timestamp::default(),
    }
}

async fn hear(harness: &Harness, notice: Notice) -> Result<NoticeOutcome, Failure> {
    harness
        .engine
        .ledger()
        .notice(Mode::Live, notice, "r")
        .await
}

#[actix::test]
async fn money_that_arrives_is_credited_once_however_often_the_bank_says_so() {
    for keep in [0, usize::MAX] {
        let harness = Harness::new(1, 1, 0, bank()).await;
        harness.store.set_automatic(false);
        let fifty = (0..50).map(|_| {
            let harness = Rc::clone(&harness);
            actix::spawn(async move { hear(&harness, arrival("rail", 1)).await })
        });
        let fifty: Vec<_> = fifty.collect();
        wait_until(|| harness.store.pending() >= 1).await;
        fifty.iter().for_each(tokio::task::JoinHandle::abort);
        let harness = harness.crash(keep, bank());
        let again = (0..50).map(|_| {
            let harness = Rc::clone(&harness);
            async move { hear(&harness, arrival("rail", 1)).await }
        });
        let heard = all(again).await;
        let done = heard
            .iter()
            .filter(|h| **h == Ok(NoticeOutcome::Done))
            .count();
        assert_eq!(done, usize::from(keep == 0));
        assert_eq!(both(&harness, 1).await, (70, 0));
        // The CVU belongs to nobody: the money is kept for a person, once.
        assert_eq!(
            hear(&harness, arrival("x", 9)).await,
            Ok(NoticeOutcome::Suspended)
        );
        assert_eq!(
            hear(&harness, arrival("x", 9)).await,
            Ok(NoticeOutcome::Known)
        );
        harness.verified().await;
    }
}

#[actix::test]
async fn the_first_last_word_of_the_bank_counts_and_reconciliation_shows_the_lie() {
    let harness = Harness::new(1, 1, 1000, bank()).await;
    // The bank answers at once that it is done.
    value(harness.send(1, outside(), 100, "t").await);
    wait_until(|| harness.disk(1) == 900).await;
    let transfer = BankTransfer {
        bank_id: "b".into(),
        coelsa_id: None,
        word: BankWord::Failed {
            reason: "after all".into(),
        },
        moved: BankMoved::default(),
    };
    let origin = origin("t");
    let lie = Notice::Settled { origin, transfer };
    assert_eq!(hear(&harness, lie).await, Ok(NoticeOutcome::Known));
    assert_eq!(both(&harness, 1).await, (900, 0));
    let today = harness.clock.peek().business_day();
    let found = harness
        .engine
        .queries()
        .reconcile(REALM, today, "r")
        .await
        .unwrap();
    let found: Vec<_> = found.into_iter().map(|one| one.judged).collect();
    assert_eq!(found, [Agreement::MissingAtBank.into()]);
}

#[actix::test]
async fn what_was_never_at_the_bank_does_not_come_back_from_it() {
    let harness = Harness::new(1, 2, 1000, bank()).await;
    let order = sending(within(2), 100, "t");
    let target = Target::Account(AccountNo(1));
    let sent = harness.engine.ledger().order(
        REALM,
        MakeTransfer {
            from: target,
            order,
            dry_run: false,
        },
        plain(),
    );
    value(sent.await);
    let back = Notice::Reversed {
        origin: OriginId::of_place(place(&harness, 1, 2)),
        bank_id: "b".into(),
        coelsa_id: "back".into(),
        amount: Amount::from_centavos(100).unwrap(),
        reason: "none".into(),
    };
    assert_eq!(hear(&harness, back).await, Ok(NoticeOutcome::Ignored));
    assert_eq!(both(&harness, 1).await, (900, 0));
}

/// A key for a batch whose answer tells how many items were done.
fn counted(key: &str) -> Requester<Vec<ItemOutcome>> {
    let render = |outcome: Result<&Vec<ItemOutcome>, &Failure>| {
        let done = outcome.map_or(0, |items| items.iter().flatten().count());
        Rendered {
            status: 200,
            body: done.to_string(),
            again: false,
        }
    };
    Requester {
        keyed: Some(Keyed {
            scope: Scope {
                key: key.into(),
                method: "POST".into(),
                path: "/bulk".into(),
                fields: BTreeMap::new(),
            },
            render: Box::new(render),
        }),
        request_id: "r".into(),
        admitted: None,
    }
}

#[actix::test]
async fn a_key_keeps_no_batch_of_which_a_part_is_to_be_tried_again() {
    for atomic in [false, true] {
        let harness = Harness::new(1, 2, 100, bank()).await;
        let items = || vec![adjustment(1, "IN", 1, "a"), adjustment(2, "IN", 1, "b")];
        let batch = || {
            harness.engine.ledger().order(
                REALM,
                Batch {
                    items: items(),
                    mode: harness::mode(atomic),
                },
                counted("k"),
            )
        };
        harness.store.refuse_next(StoreError::Overloaded);
        let first = batch().await;
        let kept = matches!(first, Ok(Given::Kept { .. }));
        assert!(!kept, "{first:?}");
        // The same key tries again, and then keeps the answer.
        for again in [false, true] {
            let kept = Given::Kept {
                status: 200,
                body: "2".into(),
                again,
            };
            assert_eq!(batch().await, Ok(kept));
        }
        assert_eq!(both(&harness, 1).await.0 + both(&harness, 2).await.0, 202);
        harness.verified().await;
    }
}

/// The race after an older copy was put back: a client sends its order again, and the bank's list has it. The bank has
/// paid once.
#[actix::test]
async fn an_order_and_its_record_on_the_banks_list_are_posted_once_whichever_comes_first() {
    for list_first in [false, true] {
        let harness = Harness::new(1, 1, 1000, bank()).await;
        let left = || {
            Notice::Left(Departure {
                origin: origin("t"),
                bank_id: "b".into(),
                coelsa_id: None,
                cvu: cvu(1),
                amount: Amount::from_centavos(100).unwrap(),
                to: outside(),
                recovered: Recovered {
                    moved: BankMoved::default(),
                    at: harness.clock.peek(),
                },
                resolved: None,
            })
        };
        // Nothing is on disk until both have come, or one was refused.
        harness.store.set_automatic(false);
        let answered = Cell::new(false);
        let order = async {
            let sent = harness.send(1, outside(), 100, "t").await.is_ok();
            answered.set(true);
            sent
        };
        let list = async {
            let heard = hear(&harness, left()).await.is_ok();
            answered.set(true);
            heard
        };
        let disk = async {
            wait_until(|| harness.store.pending() >= 2 || answered.get()).await;
            harness.store.set_automatic(true);
        };
        let done = if list_first {
            let (list, order, ()) = tokio::join!(list, order, disk);
            (order, list, ())
        } else {
            tokio::join!(order, list, disk)
        };
        assert_ne!((done.0, done.1), (false, false), "list first: {list_first}");
        // Both come again, as in practice.
        drop(harness.send(1, outside(), 100, "t").await);
        hear(&harness, left()).await.unwrap();
        wait_until(|| harness.disk(1) == 900).await;
        assert_eq!(
            both(&harness, 1).await,
            (900, 0),
            "list first: {list_first}"
        );
        harness.verified().await;
    }
}
