//! The bank's memory of transfers: the records as they are on disk, and the ways to find them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::money::Amount;
use serde::{Deserialize, Serialize};

use super::behaviours::Mode;

/// The state of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum TransferStatus {
    Completed,
    Pending,
    InProgress,
    Unknown,
    Failed,
    UnknownForever,
}

impl TransferStatus {
    const ALL: [Self; 6] = [
        Self::Completed,
        Self::Pending,
        Self::InProgress,
        Self::Unknown,
        Self::Failed,
        Self::UnknownForever,
    ];

    /// The word on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "COMPLETED",
            Self::Pending => "PENDING",
            Self::InProgress => "IN_PROGRESS",
            Self::Unknown => "UNKNOWN",
            Self::Failed => "FAILED",
            Self::UnknownForever => "UNKNOWN_FOREVER",
        }
    }

    /// Reads the word on the wire.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// Whether the state is final.
    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// The direction of the money.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// From a CVU of the PSP to anybody.
    Out,
    /// To a CVU of the PSP.
    In,
    /// A transfer that comes back to its CVU.
    Reversal,
    /// Into the collector account, for no CVU.
    OwnIn,
    /// Out of the collector account, for no CVU, and no transfer.
    OwnOut,
}

impl Kind {
    /// Whether it is a movement of the collector account itself, on no list of transfers.
    const fn is_own(self) -> bool {
        matches!(self, Self::OwnIn | Self::OwnOut)
    }
}

/// The next thing that happens to a transfer by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum NextStep {
    Complete,
    Reverse,
}

/// The next thing that happens to a transfer by itself, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Due {
    /// In milliseconds since 1970.
    pub at: u64,
    pub next: NextStep,
}

/// The other side of a transfer. All fields are texts: a bank may know them only as `UNAVAILABLE`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Party {
    pub cbu: String,
    pub label: String,
    pub cuit: String,
    pub name: String,
    pub bank_code: String,
    pub bank_name: String,
}

/// A transfer, seen from the CVU of the PSP.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Transfer {
    /// Its number in the order of all transfers; not less than the instant in which it began.
    pub number: u64,
    pub kind: Kind,
    /// The service's own id of an outgoing transfer.
    pub origin_id: Option<String>,
    /// The rail's id; empty until the rail has it.
    pub coelsa_id: String,
    pub status: TransferStatus,
    pub reject_reason: Option<String>,
    pub amount: Amount,
    pub concept: String,
    pub description: String,
    /// The CVU; `None` when the collector account itself sends.
    #[serde(default)]
    pub cvu: Option<Cvu>,
    /// The holder of the CVU.
    pub cuit: String,
    pub name: String,
    pub other: Party,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// How many centavos of it came back.
    pub returned: i64,
    /// For a reversal: the origin id of the transfer that comes back.
    pub reverses: Option<String>,
    /// The behaviour of its notices, as ordered when it was sent.
    pub notices: Option<Mode>,
    pub due: Option<Due>,
    /// The collector account that it moves; `None` if it was kept before there were worlds.
    #[serde(default)]
    pub collector: Option<Cbu>,
    /// When the bank posted it on the statement, if that was not when it began.
    #[serde(default)]
    pub posted: Option<u64>,
    /// Whether the statement leaves it out.
    #[serde(default)]
    pub hidden: bool,
}

impl Transfer {
    /// The bank's id.
    pub(crate) fn id(&self) -> String {
        if self.kind.is_own() {
            return format!("M{}", self.number);
        }
        let known = self.cuit.bytes().all(|b| b.is_ascii_digit());
        let cuit = if known { &self.cuit } else { "00000000000" };
        format!("1-{cuit}-{}-0", self.number)
    }

    /// Whether the money comes to the PSP.
    pub(crate) fn incoming(&self) -> bool {
        !matches!(self.kind, Kind::Out | Kind::OwnOut)
    }

    /// When the bank posted it, in milliseconds since 1970.
    pub(crate) fn posted_at(&self) -> u64 {
        self.posted.unwrap_or(self.at)
    }

    /// Its effect on the balance of the collector account, in centavos.
    pub(crate) fn moves(&self) -> i128 {
        let amount = i128::from(self.amount.centavos());
        match (self.kind, self.status) {
            (Kind::In | Kind::Reversal, _) | (Kind::OwnIn, TransferStatus::Completed) => amount,
            (Kind::Out | Kind::OwnOut, TransferStatus::Completed) => amount.saturating_neg(),
            (Kind::Out | Kind::OwnOut | Kind::OwnIn, _) => 0,
        }
    }
}

/// Selects transfers for a list: all that fit, from `offset` on, at most `limit`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Query {
    pub limit: usize,
    pub offset: usize,
    /// Only those of this collector account.
    pub collector: Option<Cbu>,
    /// The first and the last instant, in milliseconds since 1970.
    pub from: Option<u64>,
    pub to: Option<u64>,
    pub incoming: Option<bool>,
    pub status: Option<TransferStatus>,
}

impl Query {
    fn fits(&self, transfer: &Transfer) -> bool {
        self.collector == transfer.collector
            && !transfer.kind.is_own()
            && self.from.is_none_or(|from| transfer.at >= from)
            && self.to.is_none_or(|to| transfer.at <= to)
            && self.incoming.is_none_or(|it| transfer.incoming() == it)
            && self.status.is_none_or(|it| transfer.status == it)
    }
}

/// All transfers, in the order in which they began.
#[derive(Default, Debug)]
pub(super) struct Transfers {
    pub all: BTreeMap<u64, Transfer>,
    by_origin: HashMap<(Option<Cbu>, String), u64>,
    received: HashMap<String, u64>,
    due: BTreeSet<(u64, u64)>,
    balances: HashMap<Option<Cbu>, i128>,
    /// The balance of each collector account before any transfer, in centavos.
    pub endowment: u64,
}

impl Transfers {
    /// The number for a transfer that begins now: no earlier transfer has it, nor one of another sandbox.
    pub(crate) fn number(&self, now: u64) -> u64 {
        let last = self.all.last_key_value().map_or(0, |(number, _)| *number);
        now.max(last.saturating_add(1))
    }

    /// Stores the present state of a transfer.
    pub(crate) fn put(&mut self, transfer: Transfer) {
        let number = transfer.number;
        if let Some(before) = self.all.get(&number) {
            let balance = self.balances.entry(before.collector).or_default();
            *balance = balance.saturating_sub(before.moves());
            if let Some(origin_id) = &before.origin_id {
                self.by_origin
                    .remove(&(before.collector, origin_id.clone()));
            }
            if let Some(due) = before.due {
                self.due.remove(&(due.at, number));
            }
        }
        let balance = self.balances.entry(transfer.collector).or_default();
        *balance += transfer.moves();
        if let Some(due) = transfer.due {
            self.due.insert((due.at, number));
        }
        if let Some(origin_id) = &transfer.origin_id {
            let key = (transfer.collector, origin_id.clone());
            self.by_origin.insert(key, number);
        }
        if transfer.kind == Kind::In {
            self.received.insert(transfer.coelsa_id.clone(), number);
        }
        self.all.insert(number, transfer);
    }

    /// A transfer of a collector account by the service's id or the bank's.
    pub(crate) fn find(&self, collector: Cbu, id: &str) -> Option<&Transfer> {
        let known = self.by_origin(collector, id);
        known.or_else(|| {
            self.by_number(id)
                .filter(|it| it.collector == Some(collector))
        })
    }

    /// Like [`Self::find`], in any collector account.
    pub(crate) fn find_anywhere(&self, id: &str) -> Option<&Transfer> {
        let mut all = self.balances.keys();
        let key = |collector: &Option<Cbu>| (*collector, id.to_owned());
        let known = all.find_map(|collector| self.by_origin.get(&key(collector)));
        let known = known.and_then(|number| self.all.get(number));
        known.or_else(|| self.by_number(id))
    }

    fn by_number(&self, id: &str) -> Option<&Transfer> {
        let number: u64 = id.split('-').nth(2)?.parse().ok()?;
        self.all.get(&number).filter(|found| found.id() == id)
    }

    /// An outgoing transfer of a collector account by the service's id.
    pub(crate) fn by_origin(&self, collector: Cbu, origin_id: &str) -> Option<&Transfer> {
        let key = (Some(collector), origin_id.to_owned());
        self.all.get(self.by_origin.get(&key)?)
    }

    /// A movement of a collector account itself by the bank's id.
    pub(crate) fn own(&self, id: &str) -> Option<&Transfer> {
        let number: u64 = id.strip_prefix('M')?.parse().ok()?;
        self.all.get(&number).filter(|found| found.kind.is_own())
    }

    /// An incoming transfer by the rail's id.
    pub(crate) fn received(&self, coelsa_id: &str) -> Option<&Transfer> {
        self.all.get(self.received.get(coelsa_id)?)
    }

    /// A page of the transfers that fit, oldest first.
    pub(crate) fn list(&self, query: &Query) -> impl Iterator<Item = &Transfer> {
        // A number is never less than the instant in which its transfer began.
        self.all
            .range(query.from.unwrap_or(0)..)
            .map(|(_, transfer)| transfer)
            .filter(|transfer| query.fits(transfer))
            .skip(query.offset)
            .take(query.limit)
    }

    /// When the next thing happens by itself.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// A transfer to which something is due now.
    pub(crate) fn due(&self, now: u64) -> Option<&Transfer> {
        let (at, number) = self.due.first()?;
        self.all.get(number).filter(|_| *at <= now)
    }

    /// The balance of a collector account, with two decimals.
    pub(crate) fn balance(&self, collector: Cbu) -> String {
        let moved = self.balances.get(&Some(collector)).copied();
        written(i128::from(self.endowment).saturating_add(moved.unwrap_or_default()))
    }

    /// The sum that transfers have moved on all collector accounts, with two decimals.
    pub(crate) fn balance_of_all(&self) -> String {
        let all = self.balances.values();
        written(all.fold(0, |sum, more| i128::saturating_add(sum, *more)))
    }
}

/// A sum of centavos with two decimals.
pub(super) fn written(balance: i128) -> String {
    let sign = if balance < 0 { "-" } else { "" };
    let centavos = balance.unsigned_abs();
    format!("{sign}{}.{:02}", centavos / 100, centavos % 100)
}
