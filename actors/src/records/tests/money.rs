//! Samples of the facts of holds, transfers and arrivals.

use caudal_ledger::cvu::Cbu;
use caudal_ledger::fees::{Charges, FeeRule};
use caudal_ledger::transfers::{
    BankMoved, BankWord, CashIn, Concept, Counterparty, Destination, Dispute, Suspense, Transfer,
    TransferFact, TransferRecord, TransferRejection, TransferStatus,
};
use caudal_ledger::vouchers::GivesBack;
use rust_decimal::Decimal;

use super::*;

/// A voucher with all fields that only holds and releases have.
pub(super) fn step() -> Voucher {
    Voucher {
        reference_type: ReferenceType::Hold,
        reference_id: Some("hld_000000400000002000000041xb".into()),
        expires_at: Some(at(9)),
        gives_back: Some(GivesBack {
            counted_at: at(8),
            whole: true,
        }),
        ..voucher()
    }
}

/// A counterparty with all fields.
pub(super) fn bea() -> Counterparty {
    Counterparty {
        cuit: Some("27312547568".into()),
        name: Some("Bea".into()),
        cbu: Some("2850590940090418135201".into()),
        alias: Some("bea.prueba".into()),
        bank: Some("Macro".into()),
        coelsa_id: Some("80V1JXON".into()),
        concept: Some("VAR".into()),
    }
}

/// A voucher that names its counterparty.
pub(super) fn named() -> Voucher {
    Voucher {
        counterparty: Some(Box::new(bea())),
        ..voucher()
    }
}

pub(super) fn fees() -> Vec<FeeRule> {
    vec![FeeRule {
        code: TypeCode::parse("SALE").unwrap(),
        percentage: Decimal::new(6, 1),
        fixed: Money::from_centavos(100),
        minimum: Some(Money::from_centavos(1)),
        maximum: None,
        charge: true,
        tax_rate: Decimal::from(21),
    }]
}

fn transfer(to: Destination) -> Transfer {
    Transfer {
        tag: Tag::NONE,
        sequence: 3,
        receiver: Some((AccountNo(2), Cvu::compose(999, 2).unwrap())),
        status: TransferStatus::Requested,
        from: Cvu::compose(999, 1).unwrap(),
        to,
        amount: Amount::from_centavos(5).unwrap(),
        charges: Charges {
            fee: Money::from_centavos(1),
            tax: Money::from_centavos(2),
        },
        concept: Concept::Hab,
        description: Some("Café".into()),
        external_id: ExternalId::parse("t-1").unwrap(),
        bank_id: Some("1-20267565393-7-0".into()),
        coelsa_id: None,
        rejection: None,
        reversed: Money::ZERO,
        dispute: None,
        origin: None,
        recovered: None,
        created_at: at(1),
        updated_at: at(2),
        decision: None,
        resolved: None,
        metadata: std::collections::BTreeMap::new(),
    }
}

pub(super) fn transfers() -> Vec<TransferRecord> {
    let key = Destination::Key(Cbu::parse("2850590940090418135201").unwrap());
    let alias = Destination::Alias(Alias::parse("bea.prueba").unwrap());
    let (bank_id, coelsa_id) = (Some("1".to_owned()), Some("80V1JXON".to_owned()));
    let facts = [
        TransferFact::Requested(Box::new(transfer(key))),
        TransferFact::Requested(Box::new(transfer(alias.clone()))),
        TransferFact::Advanced {
            status: TransferStatus::Audit,
            bank_id: bank_id.clone(),
            coelsa_id: coelsa_id.clone(),
        },
        TransferFact::Completed { bank_id, coelsa_id },
        TransferFact::Rejected(TransferRejection {
            bank: Some(BankRefusal {
                status: 409,
                body: "{}".into(),
            }),
            ..TransferRejection::because("no".into())
        }),
        TransferFact::Reversed {
            coelsa_id: "80V1JXON".into(),
            amount: Amount::from_centavos(5).unwrap(),
            voucher: 9,
        },
        TransferFact::Disputed(Dispute {
            bank_id: "1-20267565393-8-0".into(),
            coelsa_id: None,
            word: BankWord::Completed,
            moved: BankMoved {
                amount: Some(Amount::from_centavos(5).unwrap()),
                currency: Some("USD".into()),
                to_alias: Some("bea.prueba".into()),
                ..BankMoved::default()
            },
        }),
        TransferFact::Resolved(Box::new(bea())),
        TransferFact::Requested(Box::new(Transfer {
            resolved: Some(Box::new(bea())),
            ..transfer(alias)
        })),
    ];
    let record = |fact| TransferRecord { transfer: 3, fact };
    facts.into_iter().map(record).collect()
}

pub(super) fn suspense() -> Suspense {
    Suspense {
        cash_in: CashIn {
            coelsa_id: "80V1JXON".into(),
            bank_id: "1".into(),
            cvu: Cvu::compose(999, 1).unwrap(),
            amount: Amount::from_centavos(5).unwrap(),
            from: Counterparty {
                name: Some("Bea".into()),
                ..Counterparty::default()
            },
            at: at(1),
        },
        reason: "account_closed".into(),
    }
}
