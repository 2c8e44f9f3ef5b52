//! The JSON of the treasury of a realm.

use caudal_actors::engine::treasury::{Cut, NoBalance, PastTreasury, Snapshot};
use caudal_actors::ports::{BankError, Collector};
use caudal_ledger::books::FreeTerms;
use caudal_ledger::days::DayRecord;
use caudal_ledger::time::BusinessDay;
use serde::Serialize;
use utoipa::ToSchema;

use super::texts::{Day, Instant, Pesos};
use super::words::{CurrencyWord, SilenceWord};

/// The account at the bank that has the money of all clients.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct CollectorBody {
    /// Its CBU.
    pub cbu: String,
    /// The name of its bank.
    pub bank: String,
}

/// Why the bank's balance is not known.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BankSilence {
    /// `bank_refused`, `bank_failed`, `bank_timeout`, `bank_not_yet`, `bank_not_set`, `bank_not_kept`
    /// (of a past day), or `collector_shared`: the collector account is another realm's as well.
    #[schema(value_type = SilenceWord)]
    pub code: &'static str,
    /// A sentence for people.
    pub message: &'static str,
    /// The bank's status, when it answered.
    pub bank_status: Option<u16>,
}

/// What belongs to clients.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct ClientFunds {
    /// What they can spend.
    pub available: Pesos,
    /// What is set apart.
    pub held: Pesos,
    /// The sum of both.
    pub total: Pesos,
}

/// How many accounts are in which state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct AccountCounts {
    /// Active.
    pub active: u64,
    /// Suspended.
    pub suspended: u64,
    /// Closed.
    pub closed: u64,
}

/// Money between bank and ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct InTransit {
    /// Transfers that wait for the bank's word; the clients' funds still hold them.
    pub outgoing: Pesos,
    /// What arrived and no account could take.
    pub incoming: Pesos,
}

/// The treasury of the realm.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Treasury {
    /// When it was taken; of a past day, the end of that day.
    pub as_of: Instant,
    /// The business day that was asked for; absent for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub date: Option<Day>,
    /// The vouchers of the realm that it counts: the ledger's side is as of exactly these.
    pub sequence: u64,
    /// `ARS`.
    #[schema(value_type = CurrencyWord)]
    pub currency: &'static str,
    /// The account that really holds the money.
    pub collector: CollectorBody,
    /// What it has; null when the bank is away.
    pub bank_balance: Option<Pesos>,
    /// When the bank read it.
    pub bank_as_of: Option<Instant>,
    /// Why it is not known.
    pub bank_error: Option<BankSilence>,
    /// What belongs to clients.
    pub client_funds: ClientFunds,
    /// The accounts with a CVU; null for a past day.
    pub accounts: Option<AccountCounts>,
    /// Money between bank and ledger; null for a past day.
    pub in_transit: Option<InTransit>,
    /// Credits that the bank has reported and the ledger could not book: cases that wait for a person. What the ledger
    /// has not heard of yet is in `free.unexplained`. Null for a past day.
    pub uncredited: Option<Pesos>,
    /// Fees and their tax taken from clients so far; they stay on the collector account until the
    /// PSP moves them. Null for a past day.
    pub psp_fees: Option<Pesos>,
    /// What of the bank's balance is the PSP's: `bankBalance` less `clientFunds.total`, `inTransit.incoming`, which no
    /// account could take, and `uncredited`. May be negative, and blocks nothing. Null when the bank is away.
    pub free_balance: Option<Pesos>,
    /// What `freeBalance` is made of; null when the bank is away.
    pub free: Option<FreeTermsBody>,
    /// `bankBalance` by what is not the PSP's, four decimals, rounded down; null when nothing is owed.
    pub coverage_ratio: Option<String>,
    /// Whether `freeBalance` is not negative; null when the bank is away.
    pub covered: Option<bool>,
}

/// What the free balance is made of. The terms add up to `total`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FreeTerms)]
pub struct FreeTermsBody {
    /// The free balance.
    pub total: Pesos,
    /// Fees that were taken from clients.
    pub fees: Pesos,
    /// The tax on them.
    pub fee_tax: Pesos,
    /// What vouchers of the PSP's own types took from clients, less what they gave.
    pub adjustments: Pesos,
    /// The PSP's own money: what came in, less what left.
    pub funding: Pesos,
    /// Interest that the bank paid.
    pub interest: Pesos,
    /// What the bank charged and withheld; negative.
    pub bank_charges: Pesos,
    /// The rest: money on its way into an account or out of one, and movements of the collector account that nobody has
    /// classified.
    pub unexplained: Pesos,
}

impl From<FreeTerms> for FreeTermsBody {
    fn from(terms: FreeTerms) -> Self {
        Self {
            total: terms.total.into(),
            fees: terms.fees.into(),
            fee_tax: terms.fee_tax.into(),
            adjustments: terms.adjustments.into(),
            funding: terms.funding.into(),
            interest: terms.interest.into(),
            bank_charges: terms.bank_charges.into(),
            unexplained: terms.unexplained.into(),
        }
    }
}

fn silence(why: &NoBalance) -> BankSilence {
    let (code, message, bank_status) = match why {
        NoBalance::Shared => (
            "collector_shared",
            "the collector account is another realm's as well; nobody can say whose its money is",
            None,
        ),
        NoBalance::NoBank => ("bank_not_set", "there is no bank that could be asked", None),
        NoBalance::NotYet => ("bank_not_yet", "the bank has not answered yet", None),
        NoBalance::Error(BankError::Refused(refusal)) => (
            "bank_refused",
            "the bank refused to tell the balance",
            Some(refusal.status),
        ),
        NoBalance::Error(BankError::Failed { status, .. }) => {
            ("bank_failed", "the bank failed", *status)
        }
        NoBalance::Error(BankError::TimedOut) => {
            ("bank_timeout", "the bank did not answer in time", None)
        }
    };
    BankSilence {
        code,
        message,
        bank_status,
    }
}

impl From<&Snapshot> for Treasury {
    fn from(snapshot: &Snapshot) -> Self {
        let totals = &snapshot.totals;
        let (bank, coverage) = (snapshot.bank.as_ref(), snapshot.coverage());
        let ratio = coverage.and_then(|coverage| coverage.ratio);
        Self {
            as_of: snapshot.as_of.into(),
            date: None,
            sequence: totals.sequence,
            currency: "ARS",
            collector: CollectorBody {
                cbu: snapshot.collector.cbu.clone(),
                bank: snapshot.collector.bank.clone(),
            },
            bank_balance: bank.ok().map(|(balance, _)| (*balance).into()),
            bank_as_of: bank.ok().map(|(_, at)| (*at).into()),
            bank_error: bank.err().map(silence),
            client_funds: ClientFunds {
                available: totals.available.into(),
                held: totals.held.into(),
                total: totals.owed().into(),
            },
            accounts: Some(AccountCounts {
                active: totals.census.active,
                suspended: totals.census.suspended,
                closed: totals.census.closed,
            }),
            in_transit: Some(InTransit {
                outgoing: totals.outgoing.into(),
                incoming: totals.incoming.into(),
            }),
            uncredited: Some(snapshot.uncredited.into()),
            psp_fees: Some(totals.charged().into()),
            free_balance: coverage.map(|coverage| coverage.free.into()),
            free: coverage.map(|it| FreeTerms::of(it.free, &totals.house).into()),
            coverage_ratio: ratio.map(|ratio| ratio.to_string()),
            covered: coverage.map(|coverage| coverage.covered),
        }
    }
}

impl Treasury {
    /// The treasury at the end of a past day; with the bank's side if the day is closed.
    pub fn past(past: &PastTreasury, day: BusinessDay, collector: Collector) -> Self {
        let known = past.closed.as_ref().and_then(DayRecord::coverage);
        let coverage = known.map(|(_, coverage)| coverage);
        let ratio = coverage.and_then(|coverage| coverage.ratio);
        let cut = &past.cut;
        Self {
            as_of: cut.at.into(),
            date: Some(day.into()),
            sequence: cut.sequence,
            currency: "ARS",
            collector: CollectorBody {
                cbu: collector.cbu,
                bank: collector.bank,
            },
            bank_balance: known.map(|(balance, _)| balance.into()),
            bank_as_of: known.map(|_| cut.at.into()),
            bank_error: known.is_none().then(|| not_kept(past)),
            client_funds: cut.into(),
            accounts: None,
            in_transit: None,
            uncredited: None,
            psp_fees: None,
            free_balance: coverage.map(|coverage| coverage.free.into()),
            free: coverage.map(|it| FreeTerms::of(it.free, &past.house).into()),
            coverage_ratio: ratio.map(|ratio| ratio.to_string()),
            covered: coverage.map(|coverage| coverage.covered),
        }
    }
}

/// Why the bank's side of a past day is not known.
fn not_kept(past: &PastTreasury) -> BankSilence {
    let (code, message) = match &past.closed {
        Some(closed) if closed.waits_for_bank() => {
            ("bank_not_yet", "the bank has not answered yet")
        }
        Some(_) => (
            "bank_not_kept",
            "the bank reported no balance of that day for this account alone",
        ),
        None => (
            "bank_not_kept",
            "the day is not closed, so the bank's balance at its end is not known",
        ),
    };
    BankSilence {
        code,
        message,
        bank_status: None,
    }
}

impl From<&Cut> for ClientFunds {
    fn from(cut: &Cut) -> Self {
        Self {
            available: cut.available.into(),
            held: cut.held.into(),
            total: cut.owed().into(),
        }
    }
}
