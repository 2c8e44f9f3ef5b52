//! Every variant of every fact has a sample, so that its bytes are among the fixtures.

use std::collections::BTreeSet;

use caudal_ledger::cases::{CaseFact, CollectorFact, UnbookedFact};
use caudal_ledger::days::DayFact;
use caudal_ledger::people::PeopleFact;
use caudal_ledger::people::approvals::ApprovalFact;
use caudal_ledger::people::audit::{AuditFact, AuditOutcome};
use caudal_ledger::transfers::TransferFact;
use caudal_ledger::webhooks::WebhookFact;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::*;

/// The variants of `T` without a sample. The error message about an unknown variant lists all that exist.
fn missing<T: DeserializeOwned + Debug>(samples: &[T]) -> Vec<String> {
    let none: StrDeserializer<'_, Error> = "none".into_deserializer();
    let message = T::deserialize(none).unwrap_err().to_string();
    let (_, variants) = message.split_once("expected").unwrap();
    let variants = variants.split('`').skip(1).step_by(2);
    let shown = samples.iter().map(|sample| format!("{sample:?}"));
    let names = |shown: String| {
        let mut words = shown.split(|c: char| !c.is_ascii_alphanumeric());
        words.next().unwrap().to_owned()
    };
    let sampled: BTreeSet<_> = shown.map(names).collect();
    let left: Vec<_> = variants.map(str::to_owned).collect();
    assert!(!left.is_empty(), "{message}");
    left.into_iter()
        .filter(|name| !sampled.contains(name))
        .collect()
}

#[test]
fn every_variant_of_every_fact_has_a_sample() {
    let fees = vec![AccountFact::FeesChanged(money::fees())];
    let limits = temporary_limits().to_vec();
    let accounts = [
        account_facts(),
        wallet::facts(),
        enrolment_facts(),
        fees,
        limits,
    ]
    .concat();
    let transfers = [money::transfers(), cases::verdicts()].concat();
    let transfers: Vec<TransferFact> = transfers.into_iter().map(|record| record.fact).collect();
    let platforms = [
        platform_facts(),
        vec![
            cases::collector_rules(),
            cases::seal_keys_rotated(),
            cases::test_clock_advanced(),
        ],
    ]
    .concat();
    let missing = [
        missing::<AccountFact>(&accounts),
        missing::<RealmFact>(&realm_facts()),
        missing::<PlatformFact>(&platforms),
        missing::<TransferFact>(&transfers),
        missing::<CaseFact>(&cases::facts()),
        missing::<UnbookedFact>(&cases::unbooked()),
        missing::<CollectorFact>(&cases::collector()),
        missing::<DayFact>(&days::facts()),
        missing::<WebhookFact>(&webhooks::facts()),
        missing::<PeopleFact>(&people::facts()),
        missing::<ApprovalFact>(&people::approvals()),
        missing::<AuditFact>(&people::entries()),
        missing::<AuditOutcome>(&people::outcomes()),
    ]
    .concat();
    assert!(
        missing.is_empty(),
        "a sample and its line in fixtures.txt are missing of {missing:?}"
    );
}
