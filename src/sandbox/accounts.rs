//! A CVU of a world, as the book keeps it and the log writes it.

use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use serde::{Deserialize, Serialize};

/// How many given-up aliases of a CVU are remembered as reserved to its holder.
const PAST_ALIASES_MAX: usize = 100;

/// A CVU of the PSP.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Account {
    pub format: u8,
    pub client_id: u64,
    pub cvu: Cvu,
    pub cuit: Cuit,
    pub name: String,
    pub alias: Option<Alias>,
    /// When the alias was set, in milliseconds since 1970.
    pub alias_at: Option<u64>,
    /// Aliases that the account gave up: reserved to its holder.
    pub past_aliases: Vec<Alias>,
    pub active: bool,
    pub opened_at: u64,
    pub closed_at: Option<u64>,
    /// The collector account to which it belongs; `None` if it was kept before there were worlds.
    #[serde(default)]
    pub collector: Option<Cbu>,
}

impl Account {
    /// Gives up the account's alias, which stays reserved to its holder.
    pub(crate) fn give_up_alias(&mut self) {
        if let Some(alias) = self.alias.take() {
            self.past_aliases.push(alias);
            let over = self.past_aliases.len().saturating_sub(PAST_ALIASES_MAX);
            self.past_aliases.drain(..over);
        }
    }
}
