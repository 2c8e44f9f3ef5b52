//! Bytes on disk stay for ever: records of disk format 1 can be read.
//!
//! `fixtures.txt` has one record on each line: the name of a sample below, and its bytes. A line is never changed. When
//! today's bytes of a sample differ, a line is added, and both remain readable.

mod cases;
mod days;
mod money;
mod people;
mod variants;
mod wallet;
mod webhooks;

use std::collections::BTreeMap;
use std::fmt::Debug;

use caudal_ledger::accounts::{CvuOpening, Holder, Identity, SuspensionCode};
use caudal_ledger::alias::Alias;
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::books::BookName;
use caudal_ledger::chain::Digest;
use caudal_ledger::coverage::CoverageFact;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::facts::{
    AccountFact, Answer, BankCall, BankRefusal, ClockWord, LedgerFact, PlatformFact, RealmFact,
    Registration,
};
use caudal_ledger::ids::{AccountNo, PepperId, RealmId, Tag};
use caudal_ledger::kyc::{Address, AddressMarks, Kyc, KycMarks};
use caudal_ledger::limits::{LimitKind, Limits, TemporaryLimits, TotalLimits};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::particulars::{Cleared, Names, Particulars};
use caudal_ledger::remuneration::{BrokerageAccount, EnrolmentState};
use caudal_ledger::tenants::scopes::{Network, Scope};
use caudal_ledger::tenants::{
    ApiKey, BankKind, BankRelation, BankRelations, Mode, Policy, Provider, RealmSource, RealmState,
    Tenant,
};
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::treasury::{Ratio, Sum};
use caudal_ledger::voucher_types::{Origin, Sense, TypeCode, VoucherType};
use caudal_ledger::vouchers::{
    HoldChange, ReferenceType, ReversedVoucher, Voucher, VoucherDetails,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{decode, encode};

const FIXTURES: &str = include_str!("fixtures.txt");

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + millis)
}

fn holder() -> Holder {
    let cuit = Cuit::parse("20267565393").unwrap();
    Holder {
        cuit,
        name: "Ana Ñandú".into(),
        person_type: cuit.person_type(),
    }
}

fn voucher() -> Voucher {
    Voucher {
        cvu: Cvu::compose(999, 1).unwrap(),
        sequence: 7,
        direction: Direction::Debit,
        amount: Amount::from_centavos(12_345).unwrap(),
        after: Balance {
            available: Money::from_centavos(1),
            held: Money::from_centavos(2),
        },
        type_code: TypeCode::parse("FEE_X").unwrap(),
        type_number: None,
        counter_account: None,
        type_name: "Fee".into(),
        external_id: ExternalId::parse("order-1").ok(),
        reference_type: ReferenceType::Adjustment,
        reference_id: None,
        description: Some("Café".into()),
        expires_at: None,
        gives_back: None,
        tag: Tag::NONE,
        counterparty: None,
        details: None,
        external_date: BusinessDay::parse("2026-03-01").map(BusinessDay::date),
        external_date_sent: None,
        at: at(1),
        hash: Digest([7; 32]),
    }
}

/// A voucher with the tenant's own date, sent in the other notation.
fn dated() -> Voucher {
    Voucher {
        external_date_sent: Some("01-03-2026".into()),
        ..voucher()
    }
}

/// A voucher that reverses another one and has data of the tenant's own.
fn detailed() -> Voucher {
    let reverses = ReversedVoucher {
        sequence: 5,
        tag: Tag::after(Digest([8; 32]), at(0)),
    };
    Voucher {
        details: VoucherDetails {
            reverses: Some(reverses),
            relates_to: Some("cmp_00000020000000400000006bzy".into()),
            metadata: [("mcc".into(), "5411".into())].into(),
            ..VoucherDetails::default()
        }
        .if_any(),
        ..voucher()
    }
}

/// A voucher of a hold that tolerates more, and changes it.
fn of_hold() -> Voucher {
    Voucher {
        details: VoucherDetails {
            hold_change: Some(HoldChange::End),
            capture_tolerance: Some(20),
            ..VoucherDetails::default()
        }
        .if_any(),
        ..voucher()
    }
}

fn account_facts() -> Vec<AccountFact> {
    let refusal = BankRefusal {
        status: 409,
        body: "{}".into(),
    };
    let alias = Alias::parse("ana.prueba").unwrap();
    let identity = Identity {
        name: "Ana".into(),
        person_type: holder().person_type,
        holders: vec![holder()],
        names: None,
    };
    let kyc = Kyc {
        dni: Some("26756539".into()),
        pep: Some(false),
        kyc_level: Some(2),
        verified_at: Some(Timestamp::from_millis(5)),
        ..Kyc::default()
    };
    vec![
        AccountFact::Registered(Registration {
            number: AccountNo(1),
            holder: holder(),
            code: Some("c-1".into()),
            email: Some("a@b.c".into()),
            phone: None,
            metadata: BTreeMap::from([("k".into(), "v".into())]),
            kyc: kyc.clone(),
            enabled: true,
            names: Names::default(),
            asks_cvu: false,
        }),
        AccountFact::OpeningRequested(CvuOpening {
            client_id: 10_000_001,
            alias: Some(alias.clone()),
        }),
        AccountFact::Opened {
            cvu: Cvu::compose(999, 1).unwrap(),
            alias: Some(alias.clone()),
        },
        AccountFact::OpeningRefused(refusal.clone()),
        AccountFact::AliasRequested {
            alias: alias.clone(),
        },
        AccountFact::AliasChanged { alias },
        AccountFact::AliasRefused(refusal.clone()),
        AccountFact::IdentityRequested(identity.clone()),
        AccountFact::IdentityChanged(identity),
        AccountFact::IdentityRefused(refusal.clone()),
        AccountFact::ClosingRequested,
        AccountFact::Closed,
        AccountFact::ClosingRefused(refusal),
        AccountFact::Suspended {
            reason: "why".into(),
            code: SuspensionCode::CourtOrder,
        },
        AccountFact::Reactivated,
        AccountFact::KycChanged {
            kyc,
            email: None,
            phone: Some("+54 11 5555-5555".into()),
        },
        AccountFact::LimitsChanged(
            Limits::default()
                .with(LimitKind::DailyAmount, Money::ZERO)
                .with(LimitKind::DailyCount, 3),
        ),
        AccountFact::EnabledChanged { enabled: false },
    ]
}

fn temporary_limits() -> [AccountFact; 2] {
    [
        AccountFact::TemporaryLimitsSet(Some(Box::new(TemporaryLimits {
            limits: Limits::default().with(LimitKind::DailyGross, Money::from_centavos(7)),
            until: at(9),
        }))),
        AccountFact::TemporaryLimitsSet(None),
    ]
}

/// The facts of an account in remuneration.
fn enrolment_facts() -> Vec<AccountFact> {
    let changed = |state, fund: Option<&str>, refusal| AccountFact::EnrolmentChanged {
        enrolment: 4,
        state,
        fund: fund.map(str::to_owned),
        refusal,
    };
    let requested = |fund: Option<&str>| AccountFact::EnrolmentRequested {
        brokerage_account: BrokerageAccount::parse("12-3").unwrap(),
        fund: fund.map(str::to_owned),
        reference: None,
    };
    let referred = AccountFact::EnrolmentRequested {
        brokerage_account: BrokerageAccount::parse("12-3").unwrap(),
        fund: None,
        reference: Some("TJF76VEKS5RSKT7".into()),
    };
    let refusal = BankRefusal {
        status: 409,
        body: "{}".into(),
    };
    vec![
        requested(None),
        requested(Some("Fondo")),
        changed(EnrolmentState::Active, Some("Fondo"), None),
        changed(EnrolmentState::Rejected, None, Some(refusal)),
        changed(EnrolmentState::Suspended, None, None),
        changed(EnrolmentState::Ended, None, None),
        referred,
    ]
}

fn coverage_facts() -> Vec<CoverageFact> {
    let ratio: Ratio = decode(&encode(&7_500_i128).unwrap()).unwrap();
    let missing = CoverageFact {
        at: at(3),
        bank: Money::from_centavos(-7),
        owed: Sum::from_centavos(i128::MAX),
        free: Sum::from_centavos(i128::MIN),
        ratio: Some(ratio),
        covered: false,
        shared: false,
    };
    let there = CoverageFact {
        free: Sum::from_centavos(5),
        ratio: None,
        covered: true,
        shared: true,
        ..missing
    };
    vec![missing, there]
}

fn realm_facts() -> Vec<RealmFact> {
    let code = TypeCode::parse("TOPUP").unwrap();
    vec![
        RealmFact::VoucherTypeCreated(VoucherType {
            code: code.clone(),
            name: "Top-up".into(),
            origin: Origin::Custom(Sense::Credit),
            active: true,
            legacy_id: Some(1000),
            description: None,
            category: None,
            counter_account: None,
            capture_tolerance: None,
            limits: None,
            created_at: at(2),
        }),
        RealmFact::VoucherTypeToggled {
            code: code.clone(),
            active: false,
        },
        RealmFact::VoucherTypeRemoved { code },
        RealmFact::EventRules { number: 2 },
        RealmFact::VoucherTypeAccountSet {
            code: TypeCode::parse("TOPUP").unwrap(),
            account: BookName::parse("gifts").ok(),
        },
        RealmFact::VoucherTypeToleranceSet {
            code: TypeCode::parse("TOLL").unwrap(),
            percent: Some(20),
        },
        RealmFact::VoucherTypeLimitsSet {
            code: TypeCode::parse("TOLL").unwrap(),
            limits: Limits::default().with(LimitKind::DailyCount, 5),
        },
    ]
}

/// A key with limited rights.
fn limited_key() -> PlatformFact {
    PlatformFact::KeyIssued(ApiKey {
        id: "bbbbbbbbbb".into(),
        tenant: "tnt_1".into(),
        mode: Mode::Live,
        label: Some("auditor".into()),
        mac: Digest([8; 32]),
        pepper: None,
        created_at: at(4),
        ends_at: Some(at(9)),
        revoked: false,
        scopes: ["read", "vouchers:write"]
            .map(Scope::parse)
            .into_iter()
            .collect(),
        networks: ["203.0.113.7", "2001:db8::/32"]
            .into_iter()
            .filter_map(Network::parse)
            .collect(),
        lifetime: Some(5),
    })
}

/// A key whose pepper is known.
fn peppered_key() -> PlatformFact {
    let PlatformFact::KeyIssued(key) = limited_key() else {
        unreachable!("it is a key");
    };
    PlatformFact::KeyIssued(ApiKey {
        pepper: Some(PepperId(u32::MAX)),
        ..key
    })
}

fn platform_facts() -> Vec<PlatformFact> {
    let (policy, limits, fees) = (Policy::default(), Limits::default(), Vec::new());
    let total_limits = TotalLimits::default();
    vec![
        PlatformFact::TenantCreated(Box::new(Tenant {
            id: "tnt_1".into(),
            name: "One".into(),
            policy,
            limits,
            fees: fees.clone(),
            live: RealmId(1),
            test: RealmId(2),
            created_at: at(3),
            banks: BankRelations::default(),
            total_limits,
            collector_rules: Vec::new(),
            seal_generation: 1,
            provider: Provider::default(),
        })),
        PlatformFact::TenantChanged {
            id: "tnt_1".into(),
            name: "Uno".into(),
            policy,
            limits,
            fees: fees.clone(),
            total_limits,
            provider: Provider::default(),
        },
        PlatformFact::KeyIssued(ApiKey {
            id: "aaaaaaaaaa".into(),
            tenant: "tnt_1".into(),
            mode: Mode::Test,
            label: None,
            mac: Digest([9; 32]),
            pepper: None,
            created_at: at(4),
            ends_at: Some(at(5)),
            revoked: false,
            scopes: None,
            networks: Vec::new(),
            lifetime: None,
        }),
        PlatformFact::KeyEnds {
            id: "aaaaaaaaaa".into(),
            at: at(6),
            revoked: true,
        },
        PlatformFact::PlatformChanged { limits, fees },
        PlatformFact::BankRelated {
            id: "tnt_1".into(),
            mode: Mode::Live,
            relation: BankRelation {
                kind: BankKind::ApiBank,
                collector: Cbu::compose(322, 1, 42),
                psp_code: Some(77),
                base_url: Some("https://bank.example".into()),
                username: Some("one".into()),
                password_file: Some("/run/secrets/one".into()),
                notice_secret_file: Some("/run/secrets/one-notices".into()),
            },
        },
        with_a_bank(),
        clock_confirmed(),
        total_limited(),
        limited_key(),
        realm_is(RealmState::Importing(source())),
        realm_is(RealmState::Imported(source())),
        realm_is(RealmState::Closed),
        realm_is(RealmState::Open),
        with_provider(),
    ]
}

fn realm_is(state: RealmState) -> PlatformFact {
    let (id, mode) = ("tnt_1".into(), Mode::Test);
    PlatformFact::RealmChanged { id, mode, state }
}

fn source() -> RealmSource {
    RealmSource {
        file: Digest([7; 32]),
        store: "00ff".into(),
        commit: 9,
        at: at(10),
    }
}

fn total_limited() -> PlatformFact {
    PlatformFact::TenantChanged {
        id: "tnt_1".into(),
        name: "Uno".into(),
        policy: Policy::default(),
        limits: Limits::default(),
        fees: Vec::new(),
        total_limits: TotalLimits {
            daily_outgoing: Some(Money::from_centavos(5)),
            monthly_outgoing: None,
            per_minute: Some(7),
        },
        provider: Provider::default(),
    }
}

fn with_provider() -> PlatformFact {
    PlatformFact::TenantChanged {
        id: "tnt_1".into(),
        name: "Uno".into(),
        policy: Policy::default(),
        limits: Limits::default(),
        fees: Vec::new(),
        total_limits: TotalLimits::default(),
        provider: Provider {
            cuit: Cuit::parse("30500001735").ok(),
            address: Some("Sarmiento 530".into()),
        },
    }
}

fn with_a_bank() -> PlatformFact {
    PlatformFact::TenantCreated(Box::new(Tenant {
        id: "tnt_2".into(),
        name: "Two".into(),
        policy: Policy::default(),
        limits: Limits::default(),
        fees: Vec::new(),
        live: RealmId(3),
        test: RealmId(4),
        created_at: at(7),
        banks: BankRelations {
            test: BankRelation {
                collector: Cbu::compose(322, 1, 43),
                ..BankRelation::default()
            },
            ..BankRelations::default()
        },
        total_limits: TotalLimits::default(),
        collector_rules: Vec::new(),
        seal_generation: 1,
        provider: Provider::default(),
    }))
}

fn clock_confirmed() -> PlatformFact {
    PlatformFact::ClockConfirmed(ClockWord {
        says: at(8),
        believed: at(9),
        by: "Ana".into(),
        reason: "a new battery".into(),
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16).unwrap()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap())
        .collect()
}

/// Reads every fixture of a sample. Adds a line to `missing` if today's bytes are not among them.
fn check<T>(name: &str, sample: &T, missing: &mut Vec<String>)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let lines = FIXTURES.lines().filter_map(|line| line.split_once(' '));
    let kept: Vec<_> = lines
        .filter(|(known, _)| *known == name)
        .map(|(_, bytes)| bytes)
        .collect();
    for bytes in &kept {
        assert_eq!(&decode::<T>(&unhex(bytes)).unwrap(), sample, "{name}");
    }
    let today = hex(&encode(sample).unwrap());
    if !kept.contains(&today.as_str()) {
        missing.push(format!("{name} {today}"));
    }
}

/// The same for each sample of a list; its index is part of its name.
fn check_all<T>(name: &str, samples: &[T], missing: &mut Vec<String>)
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    for (n, sample) in samples.iter().enumerate() {
        check(&format!("{name}-{n}"), sample, missing);
    }
}

#[test]
fn records_of_every_version_are_read() {
    let mut missing = Vec::new();
    let lines = &mut missing;
    check("ledger", &LedgerFact::Posted(voucher()), lines);
    check("ledger-details", &LedgerFact::Posted(detailed()), lines);
    check("ledger-hold", &LedgerFact::Posted(of_hold()), lines);
    check("dated", &LedgerFact::Posted(dated()), lines);
    check("step", &LedgerFact::Posted(money::step()), lines);
    check("named", &LedgerFact::Posted(money::named()), lines);
    check("suspense", &money::suspense(), lines);
    check("fees", &AccountFact::FeesChanged(money::fees()), lines);
    check_all("transfer", &money::transfers(), lines);
    check_all("verdict", &cases::verdicts(), lines);
    check_all("case", &cases::facts(), lines);
    check("approved", &cases::approved(), lines);
    check_all("unbooked", &cases::unbooked(), lines);
    check_all("collector", &cases::collector(), lines);
    check("collector-rules", &cases::collector_rules(), lines);
    check("seal-keys-rotated", &cases::seal_keys_rotated(), lines);
    let advanced = cases::test_clock_advanced();
    check("test-clock-advanced", &advanced, lines);
    check_all("account", &account_facts(), lines);
    check_all("temporary-limits", &temporary_limits(), lines);
    check_all("wallet", &wallet::facts(), lines);
    check_all("enrolment", &enrolment_facts(), lines);
    check_all("webhook", &webhooks::facts(), lines);
    check_all("delivery", &webhooks::notes(), lines);
    check_all("realm", &realm_facts(), lines);
    check_all("coverage", &coverage_facts(), lines);
    check_all("day", &days::facts(), lines);
    check("day-salted", &days::salted(), lines);
    check_all("platform", &platform_facts(), lines);
    check("key-peppered", &peppered_key(), lines);
    check("four-eyes", &people::four_eyes(), lines);
    check_all("people", &people::facts(), lines);
    check("person-peppered", &people::peppered(), lines);
    check_all("approval", &people::approvals(), lines);
    check_all("audit", &people::entries(), lines);
    check("audited-change", &people::change(), lines);
    check("audited-reads", &people::reads(), lines);
    check("asked-change", &people::asked(), lines);
    let call = BankCall {
        operation: "create_cvu".into(),
        reference: "10000001".into(),
        request: "{}".into(),
        status: Some(200),
        body: "{}".into(),
        millis: 12,
        correlation: "req_1".into(),
    };
    check("bank", &call, lines);
    let answer = Answer {
        key: "k".into(),
        method: "POST".into(),
        path: "/v1/accounts".into(),
        fields: BTreeMap::from([("cuit".into(), Digest([1; 32]))]),
        status: 201,
        body: "{}".into(),
        at: at(7),
        account: Some(AccountNo(1)),
        rest: None,
    };
    check("answer", &answer, lines);
    let rest = Some((4, 2));
    check("long-answer", &Answer { rest, ..answer }, lines);
    check("part", &"{}".to_owned(), lines);
    assert!(
        missing.is_empty(),
        "add these lines to fixtures.txt:\n{}",
        missing.join("\n")
    );
}

#[test]
fn other_formats_and_rubbish_are_refused_not_guessed() {
    for bytes in [
        &[][..],
        &[0],
        &[1],
        &[1, 0xc1],
        &[2],
        &[2, 0x80],
        &[3, 0x80],
    ] {
        assert!(decode::<LedgerFact>(bytes).is_err(), "{bytes:?}");
    }
}
