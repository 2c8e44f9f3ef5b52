//! Requests to the bank other than accounts and transfers: the holder of a key, and the balance of the collector
//! account.

use caudal_actors::ports::KeyHolder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::{Cuit, PersonType};
use caudal_ledger::cvu::Cbu;
use caudal_ledger::money::Money;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Destination;
use serde::Deserialize;
use serde_json::json;

use super::read::{self, NAME_MAX, Worth};
use super::redact::last4;
use super::refusals;
use super::wire::{self, BankRequest, BankResponse, Routing, owner};

/// The most holders that an account can have.
const HOLDERS_MAX: usize = 50;
/// The longest code of a bank or currency, in characters.
const CODE_MAX: usize = 8;

impl BankRequest<KeyHolder> {
    /// Looks up the holder of a CBU, CVU or alias.
    pub(crate) fn lookup(whom: &Destination) -> Self {
        let (path, redacted) = match whom {
            Destination::Key(key) => {
                let shown = json!({"cbu": last4(key.as_str())});
                (["accounts", "cbu", key.as_str()], shown)
            }
            Destination::Alias(alias) => {
                // Many people make aliases out of their names.
                let shown = json!({"label": "…"});
                (["accounts", "alias", alias.as_str()], shown)
            }
        };
        let asked = whom.clone();
        let judge = wire::of_order(refusals::LOOKUP, move |answer| found(answer, &asked));
        Self::get("lookup", &path, judge).recorded(&redacted)
    }
}

impl BankRequest<(Money, Timestamp)> {
    /// The balance of the collector account.
    pub(crate) fn balance(collector: &str) -> Self {
        let asked = collector.to_owned();
        let judge = wire::of_question(move |answer| balance(answer, &asked));
        Self::get("balance", &owner(collector, &[]), judge)
    }
}

fn balance(answer: &BankResponse, collector: &str) -> Option<(Money, Timestamp)> {
    let record: Balance<'_> = answer.read()?;
    let money = record.balance.money().filter(|_| record.id == collector)?;
    Some((money, Timestamp::parse(&record.at)?))
}

fn found(answer: &BankResponse, asked: &Destination) -> Option<KeyHolder> {
    let record: Account = answer.read()?;
    let key = Cbu::parse(&record.account_routing.address).ok()?;
    let label = record.label.filter(|label| !label.is_empty());
    let ours = match asked {
        Destination::Key(asked) => key == *asked,
        Destination::Alias(asked) => label
            .as_ref()
            .is_none_or(|label| Alias::parse(label).is_ok_and(|label| label == *asked)),
    };
    let alias = match asked {
        Destination::Alias(asked) => label.or_else(|| Some(asked.to_string())),
        Destination::Key(_) => label,
    };
    if !ours || record.owners.len() > HOLDERS_MAX {
        return None;
    }
    let holders: Option<Vec<_>> = record.owners.iter().map(Owner::read).collect();
    let routing = record.bank_routing;
    Some(KeyHolder {
        key,
        alias: alias.map(|alias| read::line(&alias, NAME_MAX)),
        holders: holders?,
        bank: (
            read::line(&routing.code, CODE_MAX),
            read::line(&routing.address, NAME_MAX),
        ),
        currency: read::line(&record.currency, CODE_MAX),
        active: record.is_active,
    })
}

#[derive(Deserialize)]
struct Account {
    owners: Vec<Owner>,
    is_active: bool,
    currency: String,
    #[serde(default)]
    label: Option<String>,
    account_routing: Routing,
    bank_routing: BankEntity,
}

#[derive(Deserialize)]
struct Owner {
    id: String,
    display_name: String,
    #[serde(default)]
    is_physical_person: Option<bool>,
}

impl Owner {
    fn read(&self) -> Option<(Cuit, String, bool)> {
        // Banks have holders whose check digit is wrong.
        let cuit = Cuit::parse_relaxed(&self.id).ok()?;
        let human = cuit.person_type() == PersonType::Human;
        let natural = self.is_physical_person.unwrap_or(human);
        Some((cuit, read::line(&self.display_name, NAME_MAX), natural))
    }
}

#[derive(Deserialize)]
struct BankEntity {
    #[serde(default)]
    code: String,
    #[serde(default)]
    address: String,
}

#[derive(Deserialize)]
struct Balance<'a> {
    id: String,
    #[serde(borrow)]
    balance: Worth<'a>,
    at: String,
}
