//! The sandbox's directory: the account behind a CBU, CVU or alias, as seen from a rail.

use caudal_ledger::alias::Alias;
use caudal_ledger::cvu::Cbu;
use serde_json::{Value, json};

use super::accounts::Account;
use super::book::Book;
use super::refusals::{NoEffect, refusal};
use super::worlds::{Rail, World};
use super::{PSP_NAME, external};

/// An account at the sandbox, if the key is one of its own, and the key.
pub(super) type Found<'a> = (Option<(World, &'a Account)>, Cbu);

impl Book {
    /// Whether a key is a CVU of a PSP at the sandbox, open or closed, or not even assigned.
    pub(super) fn is_own(&self, key: &Cbu) -> bool {
        let code = key.entity();
        code.len() == 4 && self.worlds.iter().any(|it| code.parse() == Ok(it.psp))
    }

    /// The account behind a CBU or CVU, as seen from a rail: one of a PSP of that rail, or one of the rest of the
    /// country. Accounts of the other rail do not exist.
    pub(super) fn find_key(&self, rail: Rail, address: &str) -> Result<Found<'_>, NoEffect> {
        let unknown = || {
            refusal(if address.starts_with("000") {
                "PA012"
            } else {
                "PA005"
            })
        };
        let key = Cbu::parse(address).map_err(|_| unknown())?;
        let account = self.by_cvu(address).filter(|(home, _)| home.rail == rail);
        if account.is_none() && (self.is_own(&key) || !external::exists(&key)) {
            return Err(unknown().into());
        }
        Ok((account, key))
    }

    /// The account behind an alias on a rail.
    pub(super) fn find_alias(&self, rail: Rail, alias: &Alias) -> Result<Found<'_>, NoEffect> {
        let claim = self.claims.get(&(rail, alias.folded()));
        let holder = claim.and_then(|claim| {
            let at = claim.held_by?;
            Some((at.0, self.accounts.get(&at)?))
        });
        match (holder, external::by_alias(alias.as_str())) {
            (Some((home, account)), _) => Ok((Some((home, account)), account.cvu.into())),
            (None, Some(key)) => Ok((None, key)),
            (None, None) => Err(refusal("PA011").into()),
        }
    }

    /// The holder of a CBU or CVU.
    pub(crate) fn lookup(&self, rail: Rail, address: &str) -> Result<Value, NoEffect> {
        Ok(shown_found(self.find_key(rail, address)?))
    }

    /// The holder of an alias.
    pub(crate) fn lookup_alias(&self, rail: Rail, text: &str) -> Result<Value, NoEffect> {
        let alias = Alias::parse(text).map_err(|_| refusal("PA006"))?;
        Ok(shown_found(self.find_alias(rail, &alias)?))
    }
}

fn shown_found((account, key): Found<'_>) -> Value {
    account.map_or_else(
        || external::shown(&key),
        |(home, account)| shown(home, account),
    )
}

fn shown(home: World, account: &Account) -> Value {
    json!({
        "owners": [external::owner(account.cuit, &account.name)],
        "type": "CVU",
        "is_active": account.active,
        "currency": "ARS",
        "label": account.alias.as_ref().map_or("", Alias::as_str),
        "account_routing": {"scheme": "CVU", "address": account.cvu},
        "bank_routing": {"scheme": "NAME", "address": PSP_NAME, "code": format!("{:04}", home.psp)},
    })
}
