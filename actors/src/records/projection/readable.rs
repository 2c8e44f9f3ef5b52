//! Whether this program can read an entry: a newer version may write kinds of streams, and facts, that it does not know.

use caudal_ledger::cases::{CaseFact, CollectorFact, UnbookedFact};
use caudal_ledger::coverage::CoverageFact;
use caudal_ledger::days::DayFact;
use caudal_ledger::deliveries::DeliveryFact;
use caudal_ledger::facts::{AccountFact, Answer, BankCall, LedgerFact, PlatformFact, RealmFact};
use caudal_ledger::people::PeopleFact;
use caudal_ledger::people::approvals::ApprovalFact;
use caudal_ledger::people::audit::AuditFact;
use caudal_ledger::transfers::{Suspense, TransferRecord};
use caudal_ledger::webhooks::WebhookFact;
use caudal_storage::{Entry, StoreError};
use serde::de::DeserializeOwned;

use crate::records::{
    ANSWER_PARTS, ANSWERS, APPROVALS, AUDIT, BANK, CASES, COLLECTOR, COVERAGE, DAYS, DELIVERIES,
    LEDGER, PEOPLE, PLATFORM, PROFILE, REALM, SUSPENSE, TRANSFERS, UNBOOKED, WEBHOOKS, decode,
    unknown_kind,
};

/// Refuses an entry of an unknown kind, or whose body cannot be decoded.
pub(super) fn readable(entry: &Entry) -> Result<(), StoreError> {
    match entry.stream.kind {
        LEDGER => is::<LedgerFact>(entry),
        PLATFORM => is::<PlatformFact>(entry),
        REALM => is::<RealmFact>(entry),
        PROFILE => is::<AccountFact>(entry),
        BANK => is::<BankCall>(entry),
        ANSWERS => is::<Answer>(entry),
        TRANSFERS => is::<TransferRecord>(entry),
        SUSPENSE => is::<Suspense>(entry),
        CASES => is::<CaseFact>(entry),
        UNBOOKED => is::<UnbookedFact>(entry),
        COLLECTOR => is::<CollectorFact>(entry),
        WEBHOOKS => is::<WebhookFact>(entry),
        DELIVERIES => is::<DeliveryFact>(entry),
        PEOPLE => is::<PeopleFact>(entry),
        AUDIT => is::<AuditFact>(entry),
        APPROVALS => is::<ApprovalFact>(entry),
        COVERAGE => is::<CoverageFact>(entry),
        DAYS => is::<DayFact>(entry),
        // parts of a text
        ANSWER_PARTS => Ok(()),
        kind => Err(unknown_kind(kind)),
    }
}

fn is<T: DeserializeOwned>(entry: &Entry) -> Result<(), StoreError> {
    decode::<T>(&entry.body).map(drop)
}

#[cfg(test)]
mod tests {
    use caudal_ledger::ids::{AccountNo, RealmId};
    use caudal_storage::{Fact, Projection};

    use super::*;
    use crate::records::account_stream;
    use crate::records::projection::ServiceProjection;

    #[test]
    fn entries_of_unknown_kinds_and_with_unknown_facts_are_refused() {
        for kind in PLATFORM..=u8::MAX {
            let entry = Entry {
                stream: account_stream(RealmId(1), AccountNo(1), kind),
                seq: 1,
                at: 1,
                body: b"\x01\x81\xa5Newer\xc0".to_vec(),
                fact: Fact::default(),
            };
            assert_eq!(
                ServiceProjection.knows(&entry).is_ok(),
                kind == ANSWER_PARTS,
                "{kind}"
            );
        }
    }
}
