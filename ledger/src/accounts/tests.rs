//! Orders in; facts, balances and refusals out.

mod disputes;
mod histories;
mod hold_changes;
mod movements;
mod particulars;
mod remuneration;
mod totals;

use std::collections::BTreeMap;

use super::*;
use crate::balance::Direction;
use crate::bank::BankRefusal;
use crate::cvu::Cvu;
use crate::history::{Flaw, History};
use crate::ids::{AccountNo, RealmId};
use crate::limits::{TotalLimits, TotalUsage};
use crate::money::{Amount, Money};
use crate::text::ExternalId;
use crate::voucher_types::{Origin, TypeCode, VoucherType};
use crate::vouchers::{Outcome, PostAdjustment};

const REALM: RealmId = RealmId(7);

fn account() -> Account {
    let cuit = Cuit::parse("20267565393").unwrap();
    let holder = Holder {
        cuit,
        name: "Ana Prueba".into(),
        person_type: cuit.person_type(),
    };
    let registration = Registration {
        number: AccountNo(1),
        holder,
        code: None,
        email: None,
        phone: None,
        metadata: BTreeMap::new(),
        kyc: Kyc::default(),
        enabled: true,
        names: crate::particulars::Names::default(),
        asks_cvu: false,
    };
    let mut account = Account::registered(&registration, Timestamp::from_millis(1));
    let cvu = Cvu::compose(999, 1).unwrap();
    run(
        &mut account,
        &ProfileOrder::Open(CvuOpening {
            client_id: 1,
            alias: None,
        }),
    );
    let answer = BankAnswer::Opened {
        cvu,
        alias: Some(Alias::parse("ana.prueba").unwrap()),
    };
    settle(&mut account, &answer);
    account
}

fn run(account: &mut Account, order: &ProfileOrder) -> usize {
    let facts = account.decide(order, &Policy::default()).unwrap();
    for fact in &facts {
        account.apply(fact, account.profile_seq + 1, Timestamp::from_millis(2));
    }
    facts.len()
}

fn settle(account: &mut Account, answer: &BankAnswer) {
    for fact in account.settle(answer) {
        account.apply(&fact, account.profile_seq + 1, Timestamp::from_millis(3));
    }
}

fn suspend() -> ProfileOrder {
    ProfileOrder::Suspend {
        reason: "why".into(),
        code: SuspensionCode::Other,
    }
}

fn order(direction: Direction, centavos: i64, id: &str) -> PostAdjustment {
    PostAdjustment {
        voucher_type: VoucherType {
            code: TypeCode::parse(&format!("T_{direction}")).unwrap(),
            name: "A type".into(),
            origin: Origin::Custom(direction.try_into().unwrap()),
            active: true,
            legacy_id: Some(1000),
            description: None,
            category: None,
            counter_account: None,
            capture_tolerance: None,
            limits: None,
            created_at: Timestamp::default(),
        },
        amount: Amount::from_centavos(centavos).unwrap(),
        external_id: ExternalId::parse(id).unwrap(),
        description: None,
        external_date: None,
        details: None,
        reversal: None,
    }
}

/// The reference of the transfers sent in tests.
fn origin() -> crate::ids::OriginId {
    let id = ExternalId::parse("t").unwrap();
    crate::ids::OriginId::of_order("tnt_1", crate::tenants::Mode::Test, &id)
}

fn context() -> Context<'static> {
    Context {
        realm: REALM,
        now: Timestamp::from_millis(10),
        psp: Terms::default(),
        platform: Terms::default(),
        total: TotalLimits::default(),
        total_usage: TotalUsage::default(),
    }
}

fn seen(voucher: &Voucher) -> Option<(AccountNo, &Voucher)> {
    Some((AccountNo(1), voucher))
}

/// Decides an adjustment of a type without limits.
fn posting(
    account: &Account,
    order: &PostAdjustment,
    context: &Context<'_>,
) -> Result<Outcome<Vec<Voucher>>, Rejection> {
    account.decide_post(order, None, &Usage::default(), context)
}

fn post(account: &mut Account, order: &PostAdjustment) -> Result<Voucher, Rejection> {
    let vouchers = posting(account, order, &context())?.into_inner();
    vouchers.iter().for_each(|v| account.apply_voucher(v));
    Ok(vouchers.into_iter().next().unwrap())
}

/// A voucher that was decided and not applied.
pub(crate) fn drafted() -> Voucher {
    post(&mut account(), &order(Direction::Credit, 100, "drafted")).unwrap()
}

#[test]
fn postings_move_the_balance_and_make_a_history_that_holds() {
    let mut account = account();
    let mut history = History::default();
    let table = [
        (Direction::Credit, 1_000, Ok(1_000)),
        (Direction::Debit, 300, Ok(700)),
        (Direction::Debit, 701, Err("insufficient_funds")),
        (Direction::Debit, 700, Ok(0)),
        (
            Direction::Credit,
            Amount::MAX_CENTAVOS,
            Ok(Amount::MAX_CENTAVOS),
        ),
    ];
    let mut vouchers = Vec::new();
    for (i, (direction, centavos, expected)) in table.into_iter().enumerate() {
        let found = post(&mut account, &order(direction, centavos, &format!("e{i}")));
        match expected {
            Ok(total) => {
                let voucher = found.unwrap();
                assert_eq!(voucher.after.total(), Money::from_centavos(total));
                assert_eq!(history.next(&voucher), Ok(()));
                vouchers.push(voucher);
            }
            Err(code) => assert_eq!(found.unwrap_err().code(), code),
        }
    }
    assert_eq!(
        (history.sequence, history.hash),
        (account.sequence, account.hash)
    );
    // The history detects any change of a voucher.
    let mut forged = vouchers[1].clone();
    forged.description = Some("other".into());
    let mut again = History::default();
    again.next(&vouchers[0]).unwrap();
    assert_eq!(
        again.clone().next(&vouchers[2]),
        Err(Flaw::Sequence { last: 1, found: 3 })
    );
    assert_eq!(again.next(&forged), Err(Flaw::Chain(2)));
}

#[test]
fn a_retry_gets_the_first_voucher_whatever_happened_since() {
    let mut account = account();
    let first_order = order(Direction::Credit, 500, "e");
    let first = post(&mut account, &first_order).unwrap();
    run(&mut account, &ProfileOrder::Close);
    settle(&mut account, &BankAnswer::Done);
    assert_eq!(account.status, Status::Closed);
    let again = account.decide_post(&first_order, seen(&first), &Usage::default(), &context());
    assert_eq!(again, Ok(Outcome::Replayed(vec![first.clone()])));
    let other = account.decide_post(
        &order(Direction::Credit, 501, "e"),
        seen(&first),
        &Usage::default(),
        &context(),
    );
    let Err(Rejection::ExternalIdReused {
        held_by, fields, ..
    }) = other
    else {
        panic!("{other:?}")
    };
    assert_eq!((held_by.sequence, fields), (1, vec!["amount"]));
}

#[test]
fn the_state_of_an_account_decides_which_postings_pass() {
    let (ok, suspended, closed, disabled) = (
        "ok",
        "account_suspended",
        "account_closed",
        "account_disabled",
    );
    // state, enabled → credit, debit
    let table: [(&str, bool, &str, &str); 6] = [
        ("active", true, ok, ok),
        ("active", false, disabled, disabled),
        ("suspended", true, ok, suspended),
        ("suspended", false, disabled, suspended),
        ("closed", true, closed, ok),
        ("closed", false, closed, ok),
    ];
    for (state, enabled, credit, debit) in table {
        let mut account = account();
        post(&mut account, &order(Direction::Credit, 1_000, "first")).unwrap();
        run(&mut account, &ProfileOrder::SetEnabled(enabled));
        match state {
            "suspended" => assert_eq!(run(&mut account, &suspend()), 1),
            "closed" => {
                run(&mut account, &ProfileOrder::Close);
                settle(&mut account, &BankAnswer::Done);
            }
            _ => {}
        }
        assert_eq!(account.status.as_str(), state);
        for (direction, expected) in [(Direction::Credit, credit), (Direction::Debit, debit)] {
            let found = posting(&account, &order(direction, 10, "next"), &context());
            let found = found.as_ref().map_or_else(Rejection::code, |_| ok);
            assert_eq!(found, expected, "{state}, enabled {enabled}, {direction}");
        }
    }
}

#[test]
fn types_are_judged_before_money() {
    let account = account();
    let mut system = order(Direction::Debit, 1, "e");
    system.voucher_type.origin = Origin::System(Direction::Debit);
    let mut inactive = order(Direction::Debit, 1, "e");
    inactive.voucher_type.active = false;
    for (order, code) in [
        (system, "voucher_type_is_system"),
        (inactive, "voucher_type_inactive"),
    ] {
        assert_eq!(
            posting(&account, &order, &context()).unwrap_err().code(),
            code
        );
    }
}

#[test]
fn states_change_as_the_contract_says() {
    let mut account = account();
    assert_eq!(
        account.decide(&ProfileOrder::Reactivate, &Policy::default()),
        Err(Rejection::AccountNotSuspended)
    );
    assert_eq!(run(&mut account, &suspend()), 1);
    assert_eq!(run(&mut account, &suspend()), 0);
    assert_eq!(run(&mut account, &ProfileOrder::Reactivate), 1);
    let same = ProfileOrder::SetAlias(Alias::parse("ana.prueba").unwrap());
    assert_eq!(run(&mut account, &same), 0);
    let other = ProfileOrder::SetAlias(Alias::parse("otra.prueba").unwrap());
    assert_eq!(run(&mut account, &other), 1);
    assert_eq!(
        account.decide(&ProfileOrder::Close, &Policy::default()),
        Err(Rejection::OperationInFlight)
    );
    settle(
        &mut account,
        &BankAnswer::Refused(BankRefusal {
            status: 409,
            body: "{}".into(),
        }),
    );
    assert_eq!(account.alias, Alias::parse("ana.prueba").ok());
    post(&mut account, &order(Direction::Credit, 5, "e")).unwrap();
    let strict = Policy {
        close_requires_zero_balance: true,
        ..Policy::default()
    };
    assert_eq!(
        account
            .decide(&ProfileOrder::Close, &strict)
            .unwrap_err()
            .code(),
        "account_not_empty"
    );
    assert_eq!(run(&mut account, &ProfileOrder::Close), 1);
    settle(&mut account, &BankAnswer::Done);
    assert_eq!(account.balance.total(), Money::from_centavos(5));
    assert_eq!(run(&mut account, &ProfileOrder::Close), 0);
    assert_eq!(
        account.decide(&suspend(), &Policy::default()),
        Err(Rejection::AccountClosed)
    );
}

#[test]
fn holders_are_checked() {
    let account = account();
    let own = account.holder.clone();
    let cuit = Cuit::parse("27123456780").unwrap();
    let second = Holder {
        cuit,
        name: "Otra".into(),
        person_type: PersonType::Human,
    };
    let set = |holders: Vec<Holder>, person_type| {
        let order = ProfileOrder::SetIdentity {
            person_type,
            holders,
        };
        account
            .decide(&order, &Policy::default())
            .map(|facts| facts.len())
    };
    assert_eq!(set(vec![own.clone(), second.clone()], None), Ok(1));
    assert_eq!(
        set(vec![second.clone(), own.clone()], None),
        Err(Rejection::FirstHolderDiffers)
    );
    assert_eq!(set(vec![], None), Err(Rejection::FirstHolderDiffers));
    assert_eq!(
        set(vec![own.clone(), own.clone()], None),
        Err(Rejection::HolderTwice)
    );
    let legal = Some(PersonType::Legal);
    assert_eq!(
        set(vec![own.clone()], legal),
        Err(Rejection::PersonTypeContradicts)
    );
}
