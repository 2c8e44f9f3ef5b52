//! Where accounts are: by the key in an address, and the address of one.
//!
//! An account is named by its CVU, or by its realm and number (`3-12`) where it has none.

use caudal_actors::realms::Target;
use caudal_ledger::accounts::Account;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;

use super::visit::{Place, Visit};
use crate::http::errors::ApiError;

/// The realm and account of a key.
pub async fn found(visit: &Visit, key: &str) -> Result<(Place, Target), ApiError> {
    let (realm, number) = match Cvu::parse(key) {
        Ok(cvu) => visit.engine().locate(cvu).await?,
        Err(_) => numbered(key).ok_or(Rejection::AccountNotFound)?,
    };
    let place = visit.realm(realm).ok_or(Rejection::AccountNotFound)?;
    Ok((place, Target::Account(number)))
}

fn numbered(key: &str) -> Option<(RealmId, AccountNo)> {
    let (realm, number) = key.split_once('-')?;
    Some((
        RealmId(realm.parse().ok()?),
        AccountNo(number.parse().ok()?),
    ))
}

/// Where an account is shown.
pub fn address(realm: RealmId, account: &Account) -> String {
    match account.cvu {
        Some(cvu) => format!("/console/accounts/{cvu}"),
        None => format!("/console/accounts/{}-{}", realm.0, account.number),
    }
}
