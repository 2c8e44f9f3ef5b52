//! Facts that only accounts of the wallet family have.

use caudal_ledger::accounts::CvuRequest;

use super::*;

/// Facts that only accounts of the wallet family have.
pub(super) fn facts() -> Vec<AccountFact> {
    let refusal = BankRefusal {
        status: 409,
        body: "{}".into(),
    };
    let names = Names {
        given: Some("Ana".into()),
        family: Some("Ñandú".into()),
        business: None,
    };
    let change = Particulars {
        cuit: Cuit::parse("27312547568").ok(),
        names: names.clone(),
        name: Some("Ana Ñandú".into()),
        code: Some("c-2".into()),
        email: Some("a@b.c".into()),
        phone: None,
        kyc: Kyc {
            fatca: Some(true),
            ..Kyc::default()
        },
        enabled: Some(false),
        cleared: Cleared::default(),
    };
    vec![
        AccountFact::Registered(Registration {
            number: AccountNo(2),
            holder: holder(),
            code: None,
            email: None,
            phone: None,
            metadata: BTreeMap::new(),
            kyc: Kyc::default(),
            enabled: false,
            names,
            asks_cvu: false,
        }),
        AccountFact::CvuRequested(CvuRequest {
            client_id: 10_000_002,
            name: Some("Cuenta de Ana".into()),
            automatic_alias: true,
        }),
        AccountFact::CvuRefused(refusal.clone()),
        AccountFact::ParticularsRequested(change.clone()),
        AccountFact::ParticularsChanged(change),
        AccountFact::ParticularsRefused(refusal),
        AccountFact::ParticularsChanged(cleared()),
        AccountFact::IdentityChanged(Identity {
            name: "Ana María Ñandú".into(),
            person_type: holder().person_type,
            holders: vec![holder()],
            names: Some(Names {
                given: Some("Ana María".into()),
                family: Some("Ñandú".into()),
                business: None,
            }),
        }),
        AccountFact::Reopened {
            alias: Alias::parse("ana.prueba").ok(),
        },
        AccountFact::Reopened { alias: None },
    ]
}

/// A change that clears fields, and that sets the newer fields of addresses.
fn cleared() -> Particulars {
    Particulars {
        kyc: Kyc {
            address: Address {
                cpa: Some("C1425ABC".into()),
                city_name: Some("Palermo".into()),
                province_name: Some("CABA".into()),
                ..Address::default()
            },
            ..Kyc::default()
        },
        cleared: Cleared {
            code: true,
            phone: true,
            kyc: KycMarks {
                pep: true,
                address: AddressMarks {
                    floor: true,
                    ..AddressMarks::default()
                },
                ..KycMarks::default()
            },
            ..Cleared::default()
        },
        ..Particulars::default()
    }
}
