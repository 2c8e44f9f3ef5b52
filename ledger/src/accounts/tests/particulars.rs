//! What the wallet family decides: particulars in every state, and a CVU for an account without one.

use super::*;
use crate::bank::BankRefusal;
use crate::particulars::{Names, Particulars};

fn registered() -> Account {
    let own = account();
    let registration = Registration {
        number: AccountNo(2),
        holder: own.holder,
        code: None,
        email: None,
        phone: None,
        metadata: BTreeMap::new(),
        kyc: Kyc::default(),
        enabled: true,
        names: Names::default(),
        asks_cvu: false,
    };
    Account::registered(&registration, Timestamp::from_millis(1))
}

fn named(family: &str) -> Particulars {
    Particulars {
        names: Names {
            family: Some(family.into()),
            ..Names::default()
        },
        email: Some(format!("{family}@a.example")),
        ..Particulars::default()
    }
}

fn refusal() -> BankAnswer {
    BankAnswer::Refused(BankRefusal {
        status: 409,
        body: "{}".into(),
    })
}

const fn get_cvu() -> Order {
    Order::GetCvu {
        client_id: 2,
        name: None,
        automatic_alias: true,
    }
}

#[test]
fn a_name_waits_for_the_bank_only_where_the_bank_knows_the_account() {
    let mut bare = registered();
    assert_eq!(run(&mut bare, &Order::ChangeParticulars(named("Paz"))), 1);
    assert_eq!(
        (bare.holder.name.as_str(), bare.pending.is_none()),
        ("Ana Prueba Paz", true)
    );
    assert_eq!(bare.holders, [bare.holder.clone()]);
    let mut open = account();
    let before = open.holder.clone();
    run(&mut open, &Order::ChangeParticulars(named("Paz")));
    assert!(open.pending.is_some() && open.holder == before && open.email.is_none());
    // Meanwhile, what needs no bank goes on, and what does has to wait.
    let mail = Particulars {
        email: Some("x@y.example".into()),
        ..Particulars::default()
    };
    run(&mut open, &Order::ChangeParticulars(mail));
    assert!(open.pending.is_some() && open.email.is_some());
    assert_eq!(
        open.decide(&Order::ChangeParticulars(named("Otra")), &Policy::default()),
        Err(Rejection::OperationInFlight)
    );
    let mut refused = open.clone();
    settle(&mut refused, &refusal());
    assert_eq!(
        (&refused.holder, refused.pending.is_none()),
        (&before, true)
    );
    settle(&mut open, &BankAnswer::Done);
    assert_eq!(open.holder.name, "Ana Prueba Paz");
    assert_eq!(open.email.as_deref(), Some("Paz@a.example"));
    // The same once more changes nothing.
    assert_eq!(run(&mut open, &Order::ChangeParticulars(named("Paz"))), 0);
}

#[test]
fn the_cuit_is_fixed_by_the_cvu() {
    let change = |cuit: &str| {
        Order::ChangeParticulars(Particulars {
            cuit: Cuit::parse(cuit).ok(),
            ..Particulars::default()
        })
    };
    let (own, other) = (change("20267565393"), change("30717449076"));
    let mut open = account();
    assert_eq!(run(&mut open, &own), 0);
    assert_eq!(
        open.decide(&other, &Policy::default()),
        Err(Rejection::CuitImmutable)
    );
    let mut bare = registered();
    assert_eq!(run(&mut bare, &other), 1);
    assert_eq!(bare.holder.person_type, bare.holder.cuit.person_type());
    assert_eq!(bare.shown_names().business.as_deref(), Some("Ana Prueba"));
}

#[test]
fn a_refused_cvu_leaves_the_account_as_it_was() {
    let mut bare = registered();
    run(&mut bare, &get_cvu());
    assert!(bare.pending.is_some());
    assert_eq!(
        bare.decide(&get_cvu(), &Policy::default()),
        Err(Rejection::OperationInFlight)
    );
    settle(&mut bare, &refusal());
    assert_eq!(
        (bare.status, bare.pending.is_none()),
        (Status::Registered, true)
    );
    assert!(bare.refusal.is_some());
    run(&mut bare, &get_cvu());
    let cvu = Cvu::compose(999, 2).unwrap();
    settle(&mut bare, &BankAnswer::Opened { cvu, alias: None });
    assert_eq!((bare.status, bare.cvu), (Status::Active, Some(cvu)));
    assert!(bare.refusal.is_none());
    assert_eq!(run(&mut bare, &get_cvu()), 0);
    run(&mut bare, &Order::Close);
    settle(&mut bare, &BankAnswer::Done);
    assert_eq!(
        bare.decide(&get_cvu(), &Policy::default()),
        Err(Rejection::AccountClosed)
    );
    assert_eq!(
        bare.decide(&Order::ChangeParticulars(named("Paz")), &Policy::default()),
        Err(Rejection::AccountClosed)
    );
}
