//! Tables of cases: what can be decided when, and the effect of the bank's answer to a return.

use super::*;
use crate::bank::{BankMoved, BankTransfer, BankWord};
use crate::cvu::Cvu;
use crate::ids::{OriginId, Tag};
use crate::money::Amount;
use crate::rejection::Rejection;
use crate::tenants::Mode;
use crate::transfers::{CashIn, Counterparty, Suspense};

fn decision(by: &str) -> Decision {
    Decision {
        by: by.into(),
        reason: "it is on paper".into(),
        approval_reason: None,
        at: Timestamp::from_millis(5),
        bank_reference: None,
        forced: false,
    }
}

/// Money of 30.00 that no account could take.
pub(crate) fn parked(sender: Option<&str>) -> Parked {
    let cash_in = CashIn {
        coelsa_id: "80V1JXON1874QG39Z64EL7".into(),
        bank_id: "1-20267565393-7-0".into(),
        cvu: Cvu::parse("0000001700000000000017").unwrap(),
        amount: Amount::from_centavos(3_000).unwrap(),
        from: Counterparty {
            cbu: sender.map(str::to_owned),
            ..Counterparty::default()
        },
        at: Timestamp::from_millis(1),
    };
    let place = SuspensePlace {
        account: AccountNo(7),
        sequence: 2,
    };
    let suspense = Suspense {
        cash_in,
        reason: "account_closed".into(),
    };
    Parked::new(place, suspense, Timestamp::from_millis(2))
}

const SENDER: &str = "2850590940090418135201";
/// The tenant and mode of the realm.
const OF: (&str, Mode) = ("tnt_1", Mode::Test);

fn returning() -> Parked {
    let mut parked = parked(Some(SENDER));
    let fact = parked.decide_return(OF, decision("Ana")).unwrap();
    parked.apply(&fact, 4);
    parked
}

/// An answer of the bank about a return, with the bank's id.
pub(crate) fn said(word: BankWord, bank_id: Option<&str>) -> BankTransfer {
    BankTransfer {
        bank_id: bank_id.unwrap_or_default().into(),
        coelsa_id: None,
        word,
        moved: BankMoved::default(),
    }
}

fn failed() -> BankWord {
    BankWord::Failed {
        reason: "closed".into(),
    }
}

#[test]
fn money_in_suspense_is_decided_once() {
    let open = parked(Some(SENDER));
    assert_eq!(open.is_decidable(), Ok(()));
    assert_eq!(open.decision(), None);
    let asked = returning();
    assert_eq!(asked.is_decidable(), Err(Rejection::ReturnInFlight));
    assert_eq!(
        asked.decide_return(OF, decision("Bea")),
        Err(Rejection::ReturnInFlight)
    );
    let mut credited = open.clone();
    let fact = CaseFact::Credited {
        case: open.place,
        cvu: open.suspense.cash_in.cvu,
        account: AccountNo(9),
        voucher: 3,
        tag: Tag::NONE,
        decision: decision("Ana"),
    };
    credited.apply(&fact, 1);
    let mut returned = asked.clone();
    let done = asked.settle_return(4, &said(BankWord::Completed, None));
    returned.apply(&done.unwrap(), 5);
    for decided in [credited, returned] {
        assert_eq!(decided.is_decidable(), Err(Rejection::CaseDecided));
        let again = decided.decide_return(OF, decision("Bea"));
        assert_eq!(again, Err(Rejection::CaseDecided));
        assert_eq!(decided.decision(), Some(&decision("Ana")));
    }
}

#[test]
fn a_return_needs_to_know_where_to() {
    for sender in [None, Some("UNAVAILABLE"), Some("2850590940090418135202")] {
        let refused = parked(sender).decide_return(OF, decision("Ana"));
        assert_eq!(refused, Err(Rejection::SenderUnknown), "{sender:?}");
    }
    let origin = returning().returned().unwrap().origin;
    let rail = parked(None).suspense.cash_in.coelsa_id;
    assert_eq!(origin, OriginId::of_return(OF.0, OF.1, &rail, 1));
}

#[test]
fn the_banks_word_ends_a_return_once() {
    let mut asked = returning();
    // An answer about another try does not concern this one.
    assert_eq!(
        asked.settle_return(3, &said(BankWord::Completed, None)),
        None
    );
    assert_eq!(asked.settle_return(4, &said(BankWord::Lost, None)), None);
    let named = asked.settle_return(4, &said(BankWord::InProgress, Some("b")));
    asked.apply(&named.unwrap(), 5);
    assert_eq!(
        asked.settle_return(4, &said(BankWord::InProgress, Some("b"))),
        None
    );
    // After a refusal the case stays open, with the reason; the next try has another number.
    let refused = asked.settle_return(4, &said(failed(), None)).unwrap();
    assert!(!refused.resolves());
    asked.apply(&refused, 6);
    assert_eq!(asked.refused.as_ref().unwrap().reason, "closed");
    assert_eq!(asked.is_decidable(), Ok(()));
    assert_eq!(
        asked.settle_return(4, &said(BankWord::Completed, None)),
        None
    );
    assert!(asked.is_contradicted(4, &BankWord::Completed));
    let again = asked.decide_return(OF, decision("Bea")).unwrap();
    asked.apply(&again, 7);
    assert_ne!(
        asked.returned().unwrap().origin,
        returning().returned().unwrap().origin
    );
    assert_eq!(
        (asked.returned().unwrap().number, &asked.refused),
        (7, &None)
    );
    let done = asked
        .settle_return(7, &said(BankWord::Completed, Some("c")))
        .unwrap();
    assert!(done.resolves());
    asked.apply(&done, 8);
    assert_eq!(asked.returned().unwrap().bank_id.as_deref(), Some("c"));
    assert_eq!(asked.settle_return(7, &said(failed(), None)), None);
    assert!(asked.is_contradicted(7, &failed()));
    assert!(!asked.is_contradicted(7, &BankWord::Completed));
}

#[test]
fn ids_read_back() {
    let id = parked(None).id(RealmId(3));
    let text = id.to_string();
    assert_eq!(SuspenseId::parse(&text), Some(id));
    assert_eq!(SuspenseId::parse(&text.replace("sus_", "trf_")), None);
}

#[test]
fn what_the_bank_has_of_something_else_is_no_return() {
    let asked = returning();
    let moved = |amount, to: &str| BankMoved {
        amount: Some(Amount::from_centavos(amount).unwrap()),
        currency: Some("ARS".into()),
        to_key: Some(to.into()),
        ..BankMoved::default()
    };
    for (moved, differs) in [
        (moved(3_000, SENDER), None),
        (moved(2_999, SENDER), Some("amount")),
        (moved(3_000, "0110012920000091344977"), Some("to")),
    ] {
        let answer = BankTransfer {
            moved,
            ..said(BankWord::Completed, Some("b"))
        };
        let fact = asked.settle_return(4, &answer).unwrap();
        assert_eq!(fact.resolves(), differs.is_none());
        if let (Some(name), CaseFact::ReturnRefused { why, .. }) = (differs, &fact) {
            assert!(why.reason.ends_with(name), "{}", why.reason);
        }
    }
}
