//! The places of accounts: found by the key in an address, the address of one, and the accounts that a text names.
//!
//! An account is named by its CVU, or by its realm and number (`3-12`) where it has none.

use caudal_actors::engine::people::numbered;
use caudal_actors::realms::Target;
use caudal_http::errors::ApiError;
use caudal_ledger::accounts::Account;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;

use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, facts};
use crate::admin::approvals::{AccountBody, accounts_in};

/// The realm and account of a key, and the one key by which the audit log knows it: the same account has to be found
/// there under the same subject, however somebody typed it.
pub(super) async fn found(
    context: &PageContext,
    key: &str,
) -> Result<(TenantRealm, Target, String), ApiError> {
    let (cvu, (realm, number)) = match Cvu::parse(key) {
        Ok(cvu) => (Some(cvu), context.operators().locate(cvu).await?),
        Err(_) => (None, parsed(key).ok_or(Rejection::AccountNotFound)?),
    };
    let place = context.realm(realm).ok_or(Rejection::AccountNotFound)?;
    let target = Target::Account(number);
    let named = match cvu {
        Some(cvu) => cvu.to_string(),
        None => self::key(realm, &context.queries().view(realm, target).await?.account),
    };
    Ok((place, target, named))
}

fn parsed(key: &str) -> Option<(RealmId, AccountNo)> {
    let (realm, number) = key.split_once('-')?;
    Some((
        RealmId(realm.parse().ok()?),
        AccountNo(number.parse().ok()?),
    ))
}

/// The address of an account's page.
pub(super) fn address(realm: RealmId, account: &Account) -> String {
    format!("/console/accounts/{}", key(realm, account))
}

/// The one key of an account, in addresses and in the audit log.
pub(super) fn key(realm: RealmId, account: &Account) -> String {
    match account.cvu {
        Some(cvu) => cvu.to_string(),
        None => numbered(realm, account.number),
    }
}

/// The accounts whose CVUs a text names, as they are now.
pub(super) async fn accounts(
    context: &PageContext,
    text: &str,
) -> Result<impl Iterator<Item = Block>, ApiError> {
    let found = accounts_in(&context.admin_state.app, text).await?;
    Ok(found.into_iter().map(|it| account(context, it)))
}

/// An account as it is now.
fn account(context: &PageContext, it: AccountBody) -> Block {
    let locale = context.locale();
    let place = format!("/console/accounts/{}", it.cvu);
    facts! {
        context, Account;
        Cvu: Cell::code(it.cvu).to(place);
        Holder: Cell::text(it.holder_name);
        Cuit: Cell::code(it.cuit);
        State: locale.state(it.status);
        Available: locale.money(it.available);
        Held: locale.money(it.held);
    }
}
