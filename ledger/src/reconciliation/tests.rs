//! Every state at the bank against every state in the ledger.

use super::*;
use crate::cases::Decision;
use crate::cvu::{Cbu, Cvu};
use crate::fees::Charges;
use crate::ids::Tag;
use crate::text::ExternalId;
use crate::time::Timestamp;
use crate::transfers::{Concept, Destination, TransferFact, Verdict};

const CVU: &str = "0000001700000000000017";

fn amount(centavos: i64) -> Amount {
    Amount::from_centavos(centavos).unwrap()
}

fn words() -> [BankWord; 4] {
    let reason = String::new();
    [
        BankWord::Completed,
        BankWord::Failed { reason },
        BankWord::InProgress,
        BankWord::Lost,
    ]
}

fn transfer(status: TransferStatus) -> Transfer {
    Transfer {
        sequence: 1,
        tag: Tag::NONE,
        receiver: None,
        status,
        from: Cvu::parse(CVU).unwrap(),
        to: Destination::Key(Cbu::parse("2850590940090418135201").unwrap()),
        amount: amount(500),
        charges: Charges::default(),
        concept: Concept::Var,
        description: None,
        external_id: ExternalId::parse("x").unwrap(),
        bank_id: None,
        coelsa_id: None,
        rejection: None,
        reversed: Money::ZERO,
        created_at: Timestamp::from_millis(1),
        updated_at: Timestamp::from_millis(1),
        resolved: None,
        metadata: std::collections::BTreeMap::new(),
        decision: None,
        dispute: None,
        origin: None,
        recovered: None,
    }
}

fn decided(verdict: Verdict) -> Transfer {
    let mut transfer = transfer(TransferStatus::Audit);
    let decision = Decision {
        by: "Ana".into(),
        reason: "paper".into(),
        approval_reason: None,
        at: Timestamp::from_millis(9),
        bank_reference: None,
        forced: false,
    };
    let fact = TransferFact::Decided { verdict, decision };
    transfer.apply(&fact, Timestamp::from_millis(9));
    transfer
}

fn of(ours: &Ours<'_>, word: &BankWord, centavos: i64) -> (&'static str, bool) {
    let listed = Listed {
        word,
        amount: amount(centavos),
        cvu: CVU,
    };
    judge(&listed, ours).map_or(("", false), |it| (it.agreement.as_str(), it.contradicted))
}

#[test]
fn transfers_by_state_and_word() {
    use TransferStatus::{Audit, Completed, InProgress, Rejected, Requested, Reversed};
    let open = ["pending"; 4];
    let left = ["matched", "missing_at_bank", "pending", "pending"];
    let not = ["missing_in_ledger", "", "pending", "pending"];
    for (status, right) in [
        (Requested, open),
        (InProgress, open),
        (Audit, open),
        (Completed, left),
        (Reversed, left),
        (Rejected, not),
    ] {
        let ours = transfer(status);
        let found = words().map(|word| of(&Ours::Transfer(&ours), &word, 500).0);
        assert_eq!(found, right, "{status:?}");
    }
    // A different amount is a difference, whatever the states are.
    for status in [Requested, Audit, Completed] {
        let ours = transfer(status);
        let found = of(&Ours::Transfer(&ours), &BankWord::Completed, 499).0;
        assert_eq!(found, "amount_differs", "{status:?}");
    }
}

#[test]
fn a_manual_decision_is_final_and_a_contradiction_is_reported() {
    let (yes, no) = (decided(Verdict::Completed), decided(Verdict::Rejected));
    for (ours, right) in [
        (&yes, [false, true, false, false]),
        (&no, [true, false, false, false]),
    ] {
        let found = words().map(|word| of(&Ours::Transfer(ours), &word, 500));
        assert_eq!(found, right.map(|contradicted| ("decided", contradicted)));
        assert_eq!(unlisted(Some(ours)), Agreement::Decided);
    }
    assert_eq!(unlisted(None), Agreement::MissingAtBank);
    let completed = transfer(TransferStatus::Completed);
    assert_eq!(unlisted(Some(&completed)), Agreement::MissingAtBank);
}

#[test]
fn money_that_arrived_by_amount_and_cvu() {
    let done = BankWord::Completed;
    for (ours, right) in [
        (Ours::Nothing, "missing_in_ledger"),
        (Ours::Credit(amount(500), CVU), "matched"),
        (Ours::Credit(amount(501), CVU), "amount_differs"),
        (
            Ours::Credit(amount(500), "0000999100000000000017"),
            "missing_in_ledger",
        ),
    ] {
        assert_eq!(of(&ours, &done, 500).0, right, "{ours:?}");
    }
    let waiting = crate::cases::tests::parked(Some("2850590940090418135201"));
    let mut returning = waiting.clone();
    let by = *decided(Verdict::Completed).decision.unwrap();
    returning.apply(
        &waiting
            .decide_return(("tnt_1", crate::tenants::Mode::Test), by)
            .unwrap(),
        4,
    );
    let mut returned = returning.clone();
    let fact = returning
        .settle_return(4, &crate::cases::tests::said(done.clone(), None))
        .unwrap();
    returned.apply(&fact, 5);
    for (state, there, back) in [
        (&waiting, "suspense", "missing_in_ledger"),
        (&returning, "pending", "pending"),
        (&returned, "decided", "matched"),
    ] {
        assert_eq!(of(&Ours::Parked(state), &done, 3_000).0, there);
        assert_eq!(of(&Ours::Return(state, 4), &done, 3_000).0, back);
    }
    let [_, failed, moving, _] = words();
    assert_eq!(
        of(&Ours::Return(&returned, 4), &failed, 3_000),
        ("missing_at_bank", true)
    );
    assert_eq!(of(&Ours::Return(&returned, 4), &moving, 3_000).0, "pending");
    assert_eq!(of(&Ours::Return(&waiting, 4), &failed, 3_000).0, "");
}

#[test]
fn the_sums_are_the_banks_whatever_the_ledger_has() {
    let mut tally = ReconciliationTotals::default();
    let done = BankWord::Completed;
    let listed = Listed {
        word: &done,
        amount: amount(500),
        cvu: CVU,
    };
    for agreement in Agreement::ALL {
        tally.count(agreement.into(), Some((true, &listed)));
        tally.count(agreement.into(), Some((false, &listed)));
        tally.count(agreement.into(), None);
    }
    for agreement in Agreement::ALL {
        assert_eq!(tally.of(agreement), 3);
    }
    let sum = Money::from_centavos(4_000);
    assert_eq!((tally.amount_in, tally.amount_out), (sum, sum));
}

#[test]
fn what_counts_of_the_ledger_is_the_case_before_the_credit_and_the_transfer_of_what_left() {
    let (credit, sent) = ((amount(500), CVU), transfer(TransferStatus::Completed));
    let of = |incoming, credit, transfer| Ours::of(incoming, None, credit, transfer);
    assert!(matches!(
        of(true, Some(credit), Some(&sent)),
        Ours::Credit(..)
    ));
    assert!(matches!(of(true, None, Some(&sent)), Ours::Nothing));
    assert!(matches!(
        of(false, Some(credit), Some(&sent)),
        Ours::Transfer(_)
    ));
    assert!(matches!(of(false, Some(credit), None), Ours::Nothing));
    let listed = |cvu| Listed {
        word: &BankWord::Completed,
        amount: amount(500),
        cvu,
    };
    assert!(!of(true, Some(credit), None).is_elsewhere(&listed(CVU)));
    assert!(of(true, Some(credit), None).is_elsewhere(&listed("0000999100000000000017")));
}

#[test]
fn other_days_are_the_neighbours_and_those_of_what_was_settled_late_up_to_today() {
    let day = |text| BusinessDay::parse(text).unwrap();
    let (today, monday) = (day("2026-03-03"), day("2026-03-02"));
    let found = other_days(
        monday,
        today,
        [monday, day("2026-02-27"), day("2026-02-27")],
    );
    let right = ["2026-03-01", "2026-03-03", "2026-02-27"].map(day);
    assert_eq!(found, right);
    assert_eq!(other_days(today, today, []), [monday]);
    let many = (0..20).scan(monday, |last, _| {
        *last = last.before();
        Some(*last)
    });
    assert_eq!(other_days(monday, today, many).len(), OTHER_DAYS_MAX);
}
