//! Enrolment in remuneration: who may enrol, only once, and the effects of the fund's answer.

use super::*;
use crate::bank::BankRefusal;
use crate::remuneration::{BrokerageAccount, Enrol, EnrolmentState, FundWord};
use crate::tenants::Mode;

fn enrol(code: &str, fund: Option<&str>) -> Enrol {
    Enrol {
        brokerage_account: BrokerageAccount::parse(code).unwrap(),
        fund: fund.map(str::to_owned),
    }
}

fn said(state: EnrolmentState) -> FundWord {
    let fund = Some("Money Market".to_owned());
    FundWord { state, fund }
}

fn take(account: &mut Account, fact: Option<AccountFact>) -> bool {
    let seq = account.profile_seq + 1;
    let at = Timestamp::from_millis(1_000 + seq);
    fact.iter().for_each(|fact| account.apply(fact, seq, at));
    fact.is_some()
}

/// Asks for an enrolment; returns whether one begins.
fn ask(account: &mut Account, order: &Enrol) -> Result<bool, Rejection> {
    let fact = account.decide_enrolment(order, ("tnt_1", Mode::Test))?;
    Ok(take(account, fact))
}

fn hear(account: &mut Account, state: EnrolmentState) -> bool {
    let number = account.enrolment.as_ref().unwrap().number;
    let fact = account.fund_said(number, &said(state));
    take(account, fact)
}

#[test]
fn an_account_is_enrolled_once_and_no_money_moves() {
    use EnrolmentState::{Active, Ended, Pending, Suspended};
    let mut own = account();
    let before = (own.balance, own.sequence, own.hash, own.usage);
    let (order, other) = (enrol("12-3", None), enrol("12-4", None));
    assert_eq!(ask(&mut own, &order), Ok(true));
    let first = own.enrolment.clone().unwrap();
    assert_eq!((first.number, first.state), (own.profile_seq, Pending));
    assert_eq!(own.enrolling(), Some(first.number));
    for state in [Pending, Active, Suspended, Active] {
        hear(&mut own, state);
        assert_eq!(ask(&mut own, &order), Ok(false), "{state:?}");
        assert_eq!(ask(&mut own, &other), Err(Rejection::EnrolledOtherwise));
        assert!(own.enrolling().is_none() || state == Pending);
    }
    // The fund is now the one that the bank chose.
    assert_eq!(
        ask(&mut own, &enrol("12-3", Some("Money Market"))),
        Ok(false)
    );
    let fund = ask(&mut own, &enrol("12-3", Some("Other")));
    assert_eq!(fund, Err(Rejection::EnrolledOtherwise));
    assert!(hear(&mut own, Ended) && !hear(&mut own, Active));
    assert_eq!(ask(&mut own, &other), Ok(true));
    let second = own.enrolment.clone().unwrap();
    assert!(second.number > first.number);
    assert_ne!(second.reference, first.reference);
    // An answer about the first enrolment does not concern the second.
    assert_eq!(own.fund_said(first.number, &said(Active)), None);
    assert_eq!((own.balance, own.sequence, own.hash, own.usage), before);
}

#[test]
fn references_are_of_what_is_asked_for_and_for_the_how_manieth_time() {
    // An account with other enrolments in between, as after an older copy of the store was put
    // back, and one without.
    let (mut own, mut copy) = (account(), account());
    let (order, other) = (enrol("12-3", None), enrol("12-4", None));
    let referred = |account: &mut Account, order: &Enrol| {
        assert_eq!(ask(account, order), Ok(true));
        let made = account.enrolment.clone().unwrap();
        assert!(hear(account, EnrolmentState::Ended));
        made.reference.unwrap()
    };
    let first = referred(&mut own, &other);
    run(&mut own, &suspend());
    run(&mut own, &ProfileOrder::Reactivate);
    let second = referred(&mut own, &order);
    assert_eq!(referred(&mut copy, &order), second);
    assert_eq!(referred(&mut copy, &other), first);
    let third = referred(&mut own, &order);
    assert_eq!(referred(&mut copy, &order), third);
    let all = std::collections::BTreeSet::from([&first, &second, &third]);
    assert_eq!(all.len(), 3);
}

#[test]
fn a_refusal_ends_what_waits_and_nothing_else() {
    let why = BankRefusal {
        status: 409,
        body: "{}".into(),
    };
    let mut own = account();
    ask(&mut own, &enrol("1", Some("Asked"))).unwrap();
    let number = own.enrolling().unwrap();
    assert_eq!(own.fund_refused(number - 1, &why), None);
    let fact = own.fund_refused(number, &why);
    assert!(take(&mut own, fact));
    let refused = own.enrolment.clone().unwrap();
    assert_eq!(refused.state, EnrolmentState::Rejected);
    assert_eq!(refused.refusal, Some(why.clone()));
    assert_eq!(refused.fund.as_deref(), Some("Asked"));
    assert_eq!(own.fund_refused(number, &why), None);
    assert_eq!(ask(&mut own, &enrol("2", None)), Ok(true));
    assert!(hear(&mut own, EnrolmentState::Active));
    assert_eq!(own.fund_refused(own.profile_seq - 1, &why), None);
}

#[test]
fn the_state_of_an_account_decides_whether_its_money_may_go_to_a_fund() {
    let order = enrol("1", None);
    let mut bare = account();
    bare.status = Status::Registered;
    assert_eq!(ask(&mut bare, &order), Err(Rejection::AccountWithoutCvu));
    let mut off = account();
    run(&mut off, &ProfileOrder::SetEnabled(false));
    assert_eq!(ask(&mut off, &order), Err(Rejection::AccountDisabled));
    let mut blocked = account();
    run(&mut blocked, &suspend());
    assert_eq!(ask(&mut blocked, &order), Err(Rejection::AccountSuspended));
    run(&mut blocked, &ProfileOrder::Reactivate);
    assert_eq!(ask(&mut blocked, &order), Ok(true));
    // If the account is suspended later, the enrolment stays, and the fund's answers count.
    run(&mut blocked, &suspend());
    assert_eq!(ask(&mut blocked, &order), Ok(false));
    assert!(hear(&mut blocked, EnrolmentState::Active));
    let mut closing = account();
    run(&mut closing, &ProfileOrder::Close);
    assert_eq!(ask(&mut closing, &order), Err(Rejection::OperationInFlight));
    settle(&mut closing, &BankAnswer::Done);
    assert_eq!(ask(&mut closing, &order), Err(Rejection::AccountClosed));
}
