//! Decisions of the wallet family: particulars in every state, and a CVU for an account without
//! one.

use super::*;
use crate::bank::BankRefusal;
use crate::kyc::{Kyc, KycError, KycMarks};
use crate::particulars::{Cleared, Names, NamesMarks, Particulars};

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

const fn get_cvu() -> ProfileOrder {
    ProfileOrder::GetCvu(CvuRequest {
        client_id: 2,
        name: None,
        automatic_alias: true,
    })
}

#[test]
fn a_name_waits_for_the_bank_only_where_the_bank_knows_the_account() {
    let mut bare = registered();
    assert_eq!(
        run(&mut bare, &ProfileOrder::ChangeParticulars(named("Paz"))),
        1
    );
    assert_eq!(
        (bare.holder.name.as_str(), bare.pending.is_none()),
        ("Ana Prueba Paz", true)
    );
    assert_eq!(bare.holders, [bare.holder.clone()]);
    let mut open = account();
    let before = open.holder.clone();
    run(&mut open, &ProfileOrder::ChangeParticulars(named("Paz")));
    assert!(open.pending.is_some() && open.holder == before && open.email.is_none());
    // Meanwhile, changes that need no bank go through, and the others must wait.
    let mail = Particulars {
        email: Some("x@y.example".into()),
        ..Particulars::default()
    };
    run(&mut open, &ProfileOrder::ChangeParticulars(mail));
    assert!(open.pending.is_some() && open.email.is_some());
    assert_eq!(
        open.decide(
            &ProfileOrder::ChangeParticulars(named("Otra")),
            &Policy::default()
        ),
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
    // The same change again changes nothing.
    assert_eq!(
        run(&mut open, &ProfileOrder::ChangeParticulars(named("Paz"))),
        0
    );
}

#[test]
fn the_cuit_is_fixed_by_the_cvu() {
    let change = |cuit: &str| {
        ProfileOrder::ChangeParticulars(Particulars {
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
fn a_closed_cvu_is_asked_for_under_its_own_client_id_and_comes_back_as_it_was() {
    let mut own = registered();
    run(&mut own, &get_cvu());
    let cvu = Cvu::compose(999, 7).unwrap();
    settle(&mut own, &BankAnswer::Opened { cvu, alias: None });
    run(&mut own, &ProfileOrder::Close);
    settle(&mut own, &BankAnswer::Done);
    let closed_at = own.closed_at;
    assert!(closed_at.is_some() && own.reopened_at.is_none());
    // Whatever client id was drawn, the bank is asked with the one in the CVU.
    let drawn = get_cvu().drawn(8);
    let asked = own.decide(&drawn, &Policy::default()).unwrap();
    let [AccountFact::CvuRequested(CvuRequest { client_id: 7, .. })] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    run(&mut own, &drawn);
    let in_flight = Err(Rejection::OperationInFlight);
    assert_eq!(own.decide(&drawn, &Policy::default()), in_flight);
    assert_eq!(
        own.decide(&ProfileOrder::Close, &Policy::default()),
        in_flight
    );
    settle(&mut own, &refusal());
    assert_eq!((own.status, own.closed_at), (Status::Closed, closed_at));
    run(&mut own, &drawn);
    let alias = Alias::parse("ana.otra").ok();
    let opened = BankAnswer::Opened {
        cvu,
        alias: alias.clone(),
    };
    settle(&mut own, &opened);
    assert_eq!((own.status, own.cvu), (Status::Active, Some(cvu)));
    assert_eq!((&own.alias, own.closed_at), (&alias, None));
    assert!(own.reopened_at.is_some() && own.pending.is_none() && own.refusal.is_none());
    assert_eq!(run(&mut own, &drawn), 0);
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
    run(&mut bare, &ProfileOrder::Close);
    settle(&mut bare, &BankAnswer::Done);
    assert_eq!(
        bare.decide(
            &ProfileOrder::ChangeParticulars(named("Paz")),
            &Policy::default()
        ),
        Err(Rejection::AccountClosed)
    );
}

#[test]
fn what_is_cleared_is_gone_and_what_is_required_stays() {
    let mut bare = registered();
    let given = Particulars {
        names: Names {
            given: Some("Ana".into()),
            family: Some("Paz".into()),
            business: None,
        },
        code: Some("c-1".into()),
        phone: Some("1155551234".into()),
        kyc: Kyc {
            pep: Some(true),
            sex: Some("F".into()),
            ..Kyc::default()
        },
        ..Particulars::default()
    };
    assert_eq!(run(&mut bare, &ProfileOrder::ChangeParticulars(given)), 1);
    let clears = |cleared: Cleared| {
        ProfileOrder::ChangeParticulars(Particulars {
            cleared,
            ..Particulars::default()
        })
    };
    let most = clears(Cleared {
        code: true,
        email: true,
        phone: true,
        kyc: KycMarks {
            pep: true,
            ..KycMarks::default()
        },
        ..Cleared::default()
    });
    assert_eq!(run(&mut bare, &most), 1);
    assert_eq!(
        (&bare.code, &bare.phone, bare.kyc.pep),
        (&None, &None, None)
    );
    assert_eq!(bare.kyc.sex.as_deref(), Some("F"));
    // Cleared fields cannot be cleared again.
    assert_eq!(run(&mut bare, &most), 0);
    // A holder must have a name, in both parts or as a firm.
    let family = clears(Cleared {
        names: NamesMarks {
            family: true,
            ..NamesMarks::default()
        },
        ..Cleared::default()
    });
    let policy = Policy::default();
    let refused = bare.decide(&family, &policy);
    assert_eq!(refused, Err(Rejection::NameRequired));
    let firm = Particulars {
        names: Names {
            business: Some("Paz SA".into()),
            ..Names::default()
        },
        ..Particulars::default()
    };
    assert_eq!(run(&mut bare, &ProfileOrder::ChangeParticulars(firm)), 1);
    assert_eq!(run(&mut bare, &family), 1);
    assert_eq!(
        (bare.holder.name.as_str(), &bare.names.family),
        ("Ana", &None)
    );
    // A field that was never set can be cleared.
    assert_eq!(run(&mut bare, &family), 0);
}

#[test]
fn an_identity_document_fits_the_kind_that_is_known() {
    let mut open = account();
    let change = |kind: Option<&str>, number: Option<&str>| ProfileOrder::ChangeKyc {
        kyc: Kyc {
            document_type: kind.map(str::to_owned),
            dni: number.map(str::to_owned),
            ..Kyc::default()
        },
        email: None,
        phone: None,
        cleared: Cleared::default(),
    };
    let policy = Policy::default();
    let refused = Err(Rejection::Document(KycError::Dni));
    assert_eq!(open.decide(&change(None, Some("12345")), &policy), refused);
    assert_eq!(run(&mut open, &change(Some("PASAPORTE"), Some("12345"))), 1);
    assert_eq!(run(&mut open, &change(None, Some("AAB123"))), 1);
    // Another kind of document, which the known number does not fit.
    assert_eq!(open.decide(&change(Some("DNI"), None), &policy), refused);
    assert_eq!(run(&mut open, &change(Some("DNI"), Some("26756539"))), 1);
}

#[test]
fn a_rename_keeps_the_family_name_that_it_ends_with() {
    fn rename(open: &mut Account, name: &str) -> (String, Option<String>) {
        let own = Holder {
            name: name.to_owned(),
            ..open.holder.clone()
        };
        let order = ProfileOrder::SetIdentity {
            person_type: None,
            holders: vec![own],
        };
        run(open, &order);
        settle(open, &BankAnswer::Done);
        assert_eq!(open.holder.name, name);
        let names = open.shown_names();
        (names.given.unwrap_or_default(), names.family)
    }
    let mut open = account();
    // Without parts, the whole name is the given name.
    assert_eq!(rename(&mut open, "Ana Paz"), ("Ana Paz".into(), None));
    open.names = Names {
        given: Some("Ana".into()),
        family: Some("Paz".into()),
        business: None,
    };
    let paz = Some("Paz".to_owned());
    assert_eq!(
        rename(&mut open, "Ana María Paz"),
        ("Ana María".into(), paz)
    );
    assert_eq!(
        rename(&mut open, "Ana Paz Gil"),
        ("Ana Paz Gil".into(), None)
    );
}
