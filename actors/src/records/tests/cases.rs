//! Samples of people's decisions.

use caudal_ledger::cases::{
    BankSays, CaseFact, CollectorFact, Decision, SuspensePlace, TOLD_OTHERWISE, UNREADABLE,
    UnbookedFact, UnreadableLine,
};
use caudal_ledger::collector::{CollectorClass, CollectorMovement, CollectorRule};
use caudal_ledger::cvu::Cbu;
use caudal_ledger::ids::{OriginId, Tag};
use caudal_ledger::tenants::test_clock::ClockAdvance;
use caudal_ledger::transfers::{
    BankMoved, Departure, Destination, Recovered, TransferFact, TransferRecord, TransferRejection,
    Verdict,
};

use super::*;

fn decision(forced: bool) -> Decision {
    Decision {
        by: "Ana".into(),
        reason: "it is on paper".into(),
        approval_reason: None,
        at: at(9),
        bank_reference: forced.then(|| "1-20267565393-8-0".into()),
        forced,
    }
}

pub(super) fn verdicts() -> Vec<TransferRecord> {
    [(Verdict::Completed, false), (Verdict::Rejected, true)]
        .map(|(verdict, forced)| TransferRecord {
            transfer: 3,
            fact: TransferFact::Decided {
                verdict,
                decision: decision(forced),
            },
        })
        .into()
}

/// A decision that a second person approved.
pub(super) fn approved() -> Decision {
    Decision {
        by: "Ana + Eva".into(),
        approval_reason: Some("seen".into()),
        ..decision(false)
    }
}

pub(super) fn unbooked() -> Vec<UnbookedFact> {
    let left = Departure {
        origin: OriginId::of_return("tnt_1", Mode::Test, "80V1JXON", 2),
        bank_id: "1-0-8-0".into(),
        coelsa_id: Some("80V1JXON".into()),
        cvu: Cvu::compose(999, 1).unwrap(),
        amount: Amount::from_centavos(5).unwrap(),
        to: Destination::Alias(Alias::parse("eva.perez").unwrap()),
        recovered: Recovered {
            moved: BankMoved::default(),
            at: at(9),
        },
        resolved: None,
    };
    let resolved = Departure {
        resolved: Some(Box::new(money::bea())),
        ..left.clone()
    };
    vec![
        UnbookedFact::Said {
            says: BankSays::Left(left),
            reason: "insufficient_funds".into(),
        },
        UnbookedFact::Said {
            says: BankSays::Arrived(money::suspense().cash_in),
            reason: TOLD_OTHERWISE.into(),
        },
        UnbookedFact::Dismissed {
            case: SuspensePlace {
                account: AccountNo(7),
                sequence: 2,
            },
            decision: decision(false),
        },
        UnbookedFact::Said {
            says: BankSays::Left(resolved),
            reason: "insufficient_funds".into(),
        },
        UnbookedFact::Said {
            says: BankSays::Unreadable(Box::new(UnreadableLine {
                day: BusinessDay::parse("2026-11-21").unwrap(),
                incoming: true,
                field: "value".into(),
                bank_id: Some("1-0-8-0".into()),
                coelsa_id: Some("80V1JXON".into()),
                origin: Some(OriginId::of_return("tnt_1", Mode::Test, "80V1JXON", 2)),
                cvu: Some(Cvu::compose(999, 1).unwrap()),
                amount: Amount::from_centavos(5).ok(),
                text: "{}".into(),
            })),
            reason: UNREADABLE.into(),
        },
    ]
}

pub(super) fn facts() -> Vec<CaseFact> {
    let case = SuspensePlace {
        account: AccountNo(7),
        sequence: 2,
    };
    let (bank_id, coelsa_id) = (Some("1-0-8-0".to_owned()), Some("80V1JXON".to_owned()));
    vec![
        CaseFact::Credited {
            case,
            cvu: Cvu::compose(999, 1).unwrap(),
            account: AccountNo(1),
            voucher: 4,
            tag: Tag::NONE,
            decision: decision(false),
        },
        CaseFact::ReturnRequested {
            case,
            origin: OriginId::of_return("tnt_1", Mode::Test, "80V1JXON", 1),
            to: Cbu::parse("2850590940090418135201").unwrap(),
            decision: decision(false),
            attempt: None,
        },
        CaseFact::ReturnNamed {
            case,
            number: 1,
            bank_id: bank_id.clone(),
            coelsa_id: None,
        },
        CaseFact::Returned {
            case,
            number: 1,
            bank_id,
            coelsa_id,
        },
        CaseFact::ReturnRefused {
            case,
            number: 1,
            why: TransferRejection {
                bank: Some(BankRefusal {
                    status: 409,
                    body: "{}".into(),
                }),
                ..TransferRejection::because("closed".into())
            },
        },
        CaseFact::ReturnRequested {
            case,
            origin: OriginId::of_return("tnt_1", Mode::Test, "80V1JXON", 3),
            to: Cbu::parse("2850590940090418135201").unwrap(),
            decision: decision(false),
            attempt: Some(3),
        },
    ]
}

pub(super) fn collector() -> Vec<CollectorFact> {
    let movement = Box::new(CollectorMovement {
        bank_id: "1-0-8-0".into(),
        coelsa_id: Some("80V1JXON".into()),
        origin: Some(OriginId::of_return("tnt_1", Mode::Test, "80V1JXON", 2)),
        reversal: true,
        incoming: true,
        amount: Amount::from_centavos(5).unwrap(),
        text: "COMISION".into(),
        counterparty: money::bea(),
        at: at(9),
    });
    vec![
        CollectorFact::Listed {
            movement,
            class: CollectorClass::Unclassified,
        },
        CollectorFact::Classified {
            record: 1,
            class: CollectorClass::BankFee,
            decision: Some(decision(false)),
        },
        CollectorFact::Matched { record: 1 },
    ]
}

pub(super) fn seal_keys_rotated() -> PlatformFact {
    PlatformFact::SealKeysRotated {
        id: "tnt_1".into(),
        generation: 2,
    }
}

pub(super) fn test_clock_advanced() -> PlatformFact {
    PlatformFact::TestClockAdvanced {
        id: "tnt_1".into(),
        advance: ClockAdvance { at: at(9), days: 2 },
    }
}

pub(super) fn collector_rules() -> PlatformFact {
    PlatformFact::CollectorRulesSet {
        id: "tnt_1".into(),
        rules: vec![CollectorRule {
            incoming: false,
            text_contains: Some("comision".into()),
            counterparty_cuit: Some(Cuit::parse("30500010912").unwrap()),
            class: CollectorClass::BankTax,
        }],
    }
}
