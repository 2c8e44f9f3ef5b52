//! Holds, transfers, limits and fees: their effects on the money, and when they are refused.

use super::*;
use crate::cvu::Cbu;
use crate::fees::FeeRule;
use crate::holds::{HoldStatus, HoldStep, OpenHold};
use crate::ids::HoldId;
use crate::limits::{Change, LimitKind, Limits, LimitsChange, Quantity};
use crate::transfers::{
    BankMoved, BankTransfer, BankWord, CashIn, Concept, Counterparty, Destination, Send,
    TransferRejection, TransferStatus,
};

pub(super) fn amount(centavos: i64) -> Amount {
    Amount::from_centavos(centavos).unwrap()
}

pub(super) fn with_money(centavos: i64) -> Account {
    let mut account = account();
    post(&mut account, &order(Direction::Credit, centavos, "opening")).unwrap();
    account
}

pub(super) fn at(millis: u64) -> Context<'static> {
    Context {
        now: Timestamp::from_millis(millis),
        ..context()
    }
}

pub(super) fn take(account: &mut Account, movements: &Movements) {
    for voucher in &movements.vouchers {
        account.apply_voucher(voucher);
    }
    for record in &movements.transfers {
        account.apply_transfer(record, Timestamp::from_millis(20));
    }
    let held = i128::from(account.balance.held.centavos());
    assert_eq!(
        account.set_apart(),
        held,
        "what is held is held for something"
    );
}

fn hold(account: &mut Account, centavos: i64, ends: Option<u64>) -> u64 {
    let order = OpenHold {
        amount: amount(centavos),
        external_id: ExternalId::parse("h").unwrap(),
        description: None,
        expires_at: ends.map(Timestamp::from_millis),
        capture_tolerance: None,
        metadata: std::collections::BTreeMap::new(),
    };
    let vouchers = account
        .decide_hold(&order, None, &context())
        .unwrap()
        .into_inner();
    let number = vouchers[0].sequence;
    let id = HoldId::parse(vouchers[0].reference_id.as_deref().unwrap()).unwrap();
    assert_eq!(id.0.sequence, number);
    take(
        account,
        &Movements {
            vouchers,
            transfers: vec![],
        },
    );
    number
}

fn step(
    account: &mut Account,
    hold: u64,
    step: HoldStep,
    centavos: Option<i64>,
) -> Result<(), Rejection> {
    let vouchers = account.decide_step(hold, step, centavos.map(amount), &context())?;
    take(
        account,
        &Movements {
            vouchers,
            transfers: vec![],
        },
    );
    Ok(())
}

pub(super) fn send(centavos: i64) -> Send {
    Send {
        metadata: std::collections::BTreeMap::new(),
        to: Destination::Key(Cbu::parse("2850590940090418135201").unwrap()),
        amount: amount(centavos),
        concept: Concept::Var,
        description: None,
        external_id: ExternalId::parse("t").unwrap(),
    }
}

pub(super) fn said(word: BankWord) -> BankTransfer {
    BankTransfer {
        bank_id: "1-20267565393-7-0".into(),
        coelsa_id: Some("80V1JXON1874QG39Z64EL7".into()),
        word,
        moved: BankMoved::default(),
    }
}

pub(super) fn balance(account: &Account) -> (i64, i64) {
    (
        account.balance.available.centavos(),
        account.balance.held.centavos(),
    )
}

fn cash_in(centavos: i64) -> CashIn {
    CashIn {
        coelsa_id: "80V1JXON1874QG39Z64EL7".into(),
        bank_id: "1".into(),
        cvu: Cvu::compose(999, 1).unwrap(),
        amount: amount(centavos),
        from: Counterparty::default(),
        at: Timestamp::from_millis(9),
    }
}

fn charging(code: &str, fixed: i64) -> FeeRule {
    FeeRule {
        code: TypeCode::parse(code).unwrap(),
        percentage: 0.into(),
        fixed: Money::from_centavos(fixed),
        minimum: None,
        maximum: None,
        charge: true,
        tax_rate: 21.into(),
    }
}

#[test]
fn a_hold_is_confirmed_and_released_in_parts_until_nothing_is_left() {
    let mut account = with_money(1_000);
    let number = hold(&mut account, 600, None);
    assert_eq!(balance(&account), (400, 600));
    step(&mut account, number, HoldStep::Confirm, Some(100)).unwrap();
    step(&mut account, number, HoldStep::Release, Some(200)).unwrap();
    assert_eq!(balance(&account), (600, 300));
    let mut shown = account.holds[&number].clone();
    assert_eq!(
        (shown.status(), shown.remaining()),
        (HoldStatus::Open, Some(amount(300)))
    );
    let more = step(&mut account, number, HoldStep::Confirm, Some(301));
    assert_eq!(more.unwrap_err().code(), "hold_remaining");
    let last = account
        .decide_step(number, HoldStep::Confirm, None, &context())
        .unwrap();
    shown.apply(&last[0]);
    assert_eq!(shown.status(), HoldStatus::Confirmed);
    step(&mut account, number, HoldStep::Confirm, None).unwrap();
    assert_eq!(balance(&account), (600, 0));
    let again = step(&mut account, number, HoldStep::Release, None);
    assert_eq!(again, Err(Rejection::HoldNotOpen { ended: None }));
}

#[test]
fn a_hold_whose_time_has_come_is_released_once() {
    let mut account = with_money(1_000);
    let (first, second) = (
        hold(&mut account, 100, Some(50)),
        hold(&mut account, 200, Some(40)),
    );
    hold(&mut account, 300, None);
    assert_eq!(account.next_expiry(), Some(Timestamp::from_millis(40)));
    assert!(account.decide_expiries(&at(39)).is_empty());
    let due = account.decide_expiries(&at(50));
    let of: Vec<_> = due.iter().filter_map(crate::holds::Hold::of_step).collect();
    assert_eq!(of, [second, first], "in the order of their ends");
    let mut shown = account.holds[&first].clone();
    shown.apply(&due[1]);
    assert_eq!(shown.status(), HoldStatus::Expired);
    take(
        &mut account,
        &Movements {
            vouchers: due,
            transfers: vec![],
        },
    );
    assert_eq!(balance(&account), (700, 300));
    assert!(account.decide_expiries(&at(60)).is_empty());
    let past = OpenHold {
        amount: amount(1),
        external_id: ExternalId::parse("p").unwrap(),
        description: None,
        expires_at: Some(Timestamp::from_millis(10)),
        capture_tolerance: None,
        metadata: std::collections::BTreeMap::new(),
    };
    let refused = account.decide_hold(&past, None, &context());
    assert_eq!(refused, Err(Rejection::ExpiryInThePast));
}

#[test]
fn the_banks_word_settles_a_transfer_and_nothing_else_does() {
    let fees = [charging("TRANSFER_OUT", 100)];
    let context = Context {
        platform: Terms {
            fees: &fees,
            ..Terms::default()
        },
        ..context()
    };
    let reason = || "cuenta inexistente".to_owned();
    // answer of the bank → status, available, held
    let table = [
        (BankWord::InProgress, TransferStatus::InProgress, (379, 621)),
        (BankWord::Lost, TransferStatus::Audit, (379, 621)),
        (BankWord::Completed, TransferStatus::Completed, (379, 0)),
        (
            BankWord::Failed { reason: reason() },
            TransferStatus::Rejected,
            (1_000, 0),
        ),
    ];
    for (word, status, after) in table {
        let mut account = with_money(1_000);
        let (mut transfer, asked) = account
            .decide_request(&send(500), origin(), &context)
            .unwrap();
        take(&mut account, &asked);
        assert_eq!(balance(&account), (379, 621), "the charges are held too");
        let settled = account
            .settle_transfer(transfer.sequence, &said(word.clone()), &context)
            .unwrap();
        take(&mut account, &settled);
        for record in &settled.transfers {
            transfer.apply(&record.fact, Timestamp::from_millis(30));
        }
        assert_eq!(
            (transfer.status, balance(&account)),
            (status, after),
            "{word:?}"
        );
        let codes: Vec<_> = settled
            .vouchers
            .iter()
            .map(|v| v.type_code.as_str())
            .collect();
        match status {
            TransferStatus::Completed => {
                assert_eq!(codes, ["TRANSFER_OUT", "RELEASE", "FEE", "FEE_TAX"]);
            }
            TransferStatus::Rejected => assert_eq!(codes, ["RELEASE", "RELEASE"]),
            TransferStatus::Requested
            | TransferStatus::InProgress
            | TransferStatus::Audit
            | TransferStatus::Reversed => assert!(codes.is_empty()),
        }
        // Repeating the answer, or any answer after the last one, changes nothing.
        let again = account
            .settle_transfer(transfer.sequence, &said(word), &context)
            .unwrap();
        assert!(again.is_empty(), "{again:?}");
        // Money that comes back is credited, up to the amount that left.
        let back = account.decide_reversal(&transfer, amount(500), "REV", &context);
        if status == TransferStatus::Rejected {
            assert_eq!(back, Err(Rejection::NothingToReverse));
            continue;
        }
        take(&mut account, &back.unwrap());
        assert_eq!(balance(&account), (879, 0), "{status:?}");
        transfer.reversed = Money::from_centavos(1);
        let more = account.decide_reversal(&transfer, amount(500), "REV2", &context);
        assert_eq!(more, Err(Rejection::NothingToReverse));
    }
}

#[test]
fn both_halves_of_an_internal_transfer_name_it() {
    let (mut a, mut b) = (with_money(1_000), with_money(1));
    b.number = AccountNo(2);
    b.holder.name = "Bea".into();
    let (transfer, out) = a.decide_send(&send(300), &b, &context()).unwrap();
    let id = transfer.id(REALM, a.number);
    assert_eq!(id, a.next_transfer(&context()));
    let into = b.decide_receive(&send(300), &a, &context()).unwrap();
    assert_eq!(out.vouchers[0].reference_id, into.vouchers[0].reference_id);
    let named = |voucher: &Voucher| voucher.counterparty.as_deref().unwrap().name.clone();
    assert_eq!(named(&out.vouchers[0]).as_deref(), Some("Bea"));
    assert_eq!(named(&into.vouchers[0]), Some(a.holder.name.clone()));
    take(&mut a, &out);
    take(&mut b, &into);
    assert_eq!((balance(&a), balance(&b)), ((700, 0), (301, 0)));
    assert!(a.transfers.is_empty(), "it is final at once");
    let own = a.decide_send(&send(1), &a, &context());
    assert_eq!(own.unwrap_err(), Rejection::SameAccount);
    let other = a.sent_before(&send(301), None, (a.number, &transfer), &context());
    assert_eq!(other.unwrap_err().code(), "id_externo_reused");
    assert_eq!(
        a.sent_before(&send(300), None, (a.number, &transfer), &context()),
        Ok(())
    );
}

#[test]
fn limits_refuse_what_leaves_and_a_release_gives_back() {
    let mut account = with_money(10_000);
    let change = LimitsChange::default()
        .with(
            LimitKind::DailyAmount,
            Change::Set(Money::from_centavos(500).into()),
        )
        .with(LimitKind::DailyCount, Change::Set(2.into()));
    run(&mut account, &ProfileOrder::ChangeLimits(change));
    let number = hold(&mut account, 400, None);
    let debit = order(Direction::Debit, 200, "d");
    let refused = posting(&account, &debit, &context()).unwrap_err();
    assert_eq!(refused.code(), "limit_exceeded");
    assert_eq!(
        account
            .decide_request(&send(200), origin(), &context())
            .unwrap_err()
            .code(),
        "limit_exceeded"
    );
    step(&mut account, number, HoldStep::Release, None).unwrap();
    let daily = [LimitKind::DailyCount, LimitKind::DailyAmount];
    assert_eq!(daily.map(|kind| account.usage.used(kind).number()), [0, 0]);
    post(&mut account, &debit).unwrap();
    post(&mut account, &order(Direction::Debit, 1, "e")).unwrap();
    let third = posting(&account, &order(Direction::Debit, 1, "f"), &context());
    assert_eq!(third.unwrap_err().code(), "limit_exceeded");
    // The platform's limit on a balance refuses credits, but not money that the bank brings.
    let platform = Terms {
        limits: Limits::default().with(LimitKind::MaxBalance, Money::from_centavos(9_800)),
        fees: &[],
    };
    let bounded = Context {
        platform,
        ..context()
    };
    let credit = posting(&account, &order(Direction::Credit, 2, "g"), &bounded);
    assert_eq!(credit.unwrap_err().code(), "limit_exceeded");
    assert!(account.decide_cash_in(&cash_in(5_000), &bounded).is_ok());
}

#[test]
fn fees_post_with_what_they_are_charged_for_or_nothing_does() {
    let mut account = with_money(1_000);
    account.fees = vec![charging("T_debit", 100), charging("TRANSFER_IN", 5_000)];
    let vouchers = posting(&account, &order(Direction::Debit, 500, "d"), &context())
        .unwrap()
        .into_inner();
    let answer: Vec<_> = vouchers
        .iter()
        .map(|v| (v.type_code.as_str(), v.amount.centavos()))
        .collect();
    assert_eq!(answer, [("T_DEBIT", 500), ("FEE", 100), ("FEE_TAX", 21)]);
    let short = posting(&account, &order(Direction::Debit, 900, "e"), &context());
    assert_eq!(short.unwrap_err().code(), "insufficient_funds");
    // Incoming money is never refused because it does not cover its fee.
    let arrived = account.decide_cash_in(&cash_in(100), &context()).unwrap();
    assert_eq!(arrived.len(), 1);
    assert_eq!(
        account
            .decide_cash_in(&cash_in(10_000), &context())
            .unwrap()
            .len(),
        3
    );
    vouchers.iter().for_each(|v| account.apply_voucher(v));
    assert_eq!(
        account.usage.used(LimitKind::DailyAmount),
        Quantity::Money(Money::from_centavos(500)),
        "fees do not count"
    );
}

/// Contract §3 and §5: state × every kind of movement.
#[test]
fn the_state_of_an_account_decides_which_movements_pass() {
    use Movement::{AdjustIn, AdjustOut, CashIn, Confirm, Hold, Receive, Release, Settle};
    const ORDER: [Movement; 9] = [
        AdjustIn,
        AdjustOut,
        Hold,
        Confirm,
        Release,
        Movement::Send,
        Receive,
        CashIn,
        Settle,
    ];
    // o passes, s suspended, c closed, d disabled; in the order above
    let table = [
        ("active", true, "ooooooooo"),
        ("active", false, "ddddodooo"),
        ("suspended", true, "osssosooo"),
        ("suspended", false, "dsssosooo"),
        ("closed", true, "cocooccco"),
        ("closed", false, "cocooccco"),
    ];
    for (state, enabled, row) in table {
        let mut account = account();
        run(&mut account, &ProfileOrder::SetEnabled(enabled));
        match state {
            "suspended" => assert_eq!(run(&mut account, &suspend()), 1),
            "closed" => {
                run(&mut account, &ProfileOrder::Close);
                settle(&mut account, &BankAnswer::Done);
            }
            _ => {}
        }
        let found: String = ORDER
            .map(|movement| match account.may(movement) {
                Ok(_) => 'o',
                Err(Rejection::AccountSuspended) => 's',
                Err(Rejection::AccountClosed) => 'c',
                Err(Rejection::AccountDisabled) => 'd',
                Err(_) => '?',
            })
            .iter()
            .collect();
        assert_eq!(found, row, "{state}, enabled {enabled}");
    }
    let why = TransferRejection::because("no".into());
    let nothing = account().reject(9, why, &context()).unwrap();
    assert!(nothing.is_empty());
}

#[test]
fn a_clock_that_is_set_back_opens_no_limit_and_gives_back_where_it_was_counted() {
    let noon = |day: u8| Timestamp::parse(&format!("2026-03-{day:02}T15:00:00Z")).unwrap();
    let on = |day| Context {
        now: noon(day),
        ..context()
    };
    let mut account = with_money(10_000);
    let change = LimitsChange::default().with(
        LimitKind::DailyAmount,
        Change::Set(Money::from_centavos(900).into()),
    );
    run(&mut account, &ProfileOrder::ChangeLimits(change));
    let first = posting(&account, &order(Direction::Debit, 900, "d"), &on(20))
        .unwrap()
        .into_inner();
    first.iter().for_each(|v| account.apply_voucher(v));
    // The day before, by the clock; but the voucher would carry the later day.
    let second = posting(&account, &order(Direction::Debit, 900, "e"), &on(19));
    assert_eq!(second.unwrap_err().code(), "limit_exceeded");
    let hold = OpenHold {
        amount: amount(1),
        external_id: ExternalId::parse("h").unwrap(),
        description: None,
        expires_at: Some(noon(20)),
        capture_tolerance: None,
        metadata: std::collections::BTreeMap::new(),
    };
    let ended = account.decide_hold(&hold, None, &on(19));
    assert_eq!(ended, Err(Rejection::ExpiryInThePast));
    let mut account = with_money(10_000);
    let first = posting(&account, &order(Direction::Credit, 1, "c"), &on(20))
        .unwrap()
        .into_inner();
    first.iter().for_each(|v| account.apply_voucher(v));
    let (transfer, asked) = account
        .decide_request(&send(500), origin(), &on(19))
        .unwrap();
    take(&mut account, &asked);
    let why = TransferRejection::because("no".into());
    let back = account.reject(transfer.sequence, why, &on(19)).unwrap();
    take(&mut account, &back);
    assert_eq!(account.usage.used(LimitKind::DailyAmount).number(), 0);
}

#[test]
fn charges_beyond_the_largest_amount_are_refused_and_not_dropped() {
    let fees = [charging("TRANSFER_OUT", Amount::MAX_CENTAVOS)];
    let context = Context {
        platform: Terms {
            fees: &fees,
            ..Terms::default()
        },
        ..context()
    };
    let refused = with_money(1_000).decide_request(&send(100), origin(), &context);
    assert_eq!(refused.unwrap_err(), Rejection::AmountOverflow);
}
