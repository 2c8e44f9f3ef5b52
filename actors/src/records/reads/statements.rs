//! Typed reads of past states: an account's profile, what a tenant's statements state of it.

use caudal_ledger::accounts::Account;
use caudal_ledger::facts::{AccountFact, PlatformFact};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::tenants::Provider;
use caudal_ledger::time::Timestamp;
use caudal_storage::Index;

use super::{Lookup, fold};
use crate::records::{PLATFORM_STREAM, PROFILE, account_stream};

/// An account with its profile at an instant, without its movements; if it was registered later, as it was registered.
pub fn profile_at(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
    until: Timestamp,
) -> Lookup<Account> {
    let mut account: Option<Account> = None;
    let stream = account_stream(realm, number, PROFILE);
    fold(store, stream, 0, |fact: AccountFact, seq, at| {
        match (account.as_mut(), &fact) {
            (None, AccountFact::Registered(registration)) => {
                account = Some(Account::registered(registration, at));
            }
            (Some(known), _) if at <= until => known.apply(&fact, seq, at),
            (Some(_) | None, _) => {}
        }
    })?;
    Ok(account)
}

/// The name of a tenant at an instant, and what its statements stated of it then; if the tenant was created later, the
/// first ones.
pub fn tenant_at(store: &dyn Index, tenant: &str, until: Timestamp) -> Lookup<(String, Provider)> {
    let mut called = None;
    fold(store, PLATFORM_STREAM, 0, |fact: PlatformFact, _, at| {
        let named = match fact {
            PlatformFact::TenantCreated(created) => {
                Some((created.id, (created.name, created.provider)))
            }
            PlatformFact::TenantChanged {
                id, name, provider, ..
            } => Some((id, (name, provider))),
            PlatformFact::KeyIssued(_)
            | PlatformFact::KeyEnds { .. }
            | PlatformFact::PlatformChanged { .. }
            | PlatformFact::BankRelated { .. }
            | PlatformFact::ClockConfirmed(_)
            | PlatformFact::RealmChanged { .. }
            | PlatformFact::CollectorRulesSet { .. }
            | PlatformFact::SealKeysRotated { .. }
            | PlatformFact::TestClockAdvanced { .. } => None,
        };
        match named {
            Some((id, then)) if id == tenant && (at <= until || called.is_none()) => {
                called = Some(then);
            }
            Some(_) | None => {}
        }
    })?;
    Ok(called)
}
