//! The JSON of the treasury of a realm.

use caudal_actors::engine::treasury::{Cut, NoBalance, PastTreasury, Snapshot};
use caudal_actors::ports::{BankError, Collector};
use caudal_ledger::books::FreeTerms;
use caudal_ledger::days::DayRecord;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::treasury::Totals;

use super::body;
use super::texts::{Day, Instant, Pesos};
use super::words::{CurrencyWord, SilenceWord};

body! {
    /// The account at the bank that has the money of all clients.
    pub struct CollectorBody from collector: &Collector {
        /// Its CBU.
        cbu: String = collector.cbu.clone();
        /// The name of its bank.
        bank: String = collector.bank.clone();
    }
}

body! {
    /// Why the bank's balance is not known.
    pub struct BankSilence by silence(why: &NoBalance) {
        => let (code, message, bank_status) = match why {
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
        /// `bank_refused`, `bank_failed`, `bank_timeout`, `bank_not_yet`, `bank_not_set`, `bank_not_kept`
        /// (of a past day), or `collector_shared`: the collector account is another realm's as well.
        code: &'static str as SilenceWord = code;
        /// A sentence for people.
        message: &'static str = message;
        /// The bank's status, when it answered.
        bank_status: Option<u16> = bank_status;
    }
}

body! {
    /// What belongs to clients.
    pub struct ClientFunds from cut: &Cut {
        /// What they can spend.
        available: Pesos = cut.available.into();
        /// What is set apart.
        held: Pesos = cut.held.into();
        /// The sum of both.
        total: Pesos = cut.owed().into();
    }
}

body! {
    /// How many accounts are in which state.
    pub struct AccountCounts from totals: &Totals {
        /// Active.
        active: u64 = totals.census.active;
        /// Suspended.
        suspended: u64 = totals.census.suspended;
        /// Closed.
        closed: u64 = totals.census.closed;
    }
}

body! {
    /// Money between bank and ledger.
    pub struct InTransit from totals: &Totals {
        /// Transfers that wait for the bank's word; the clients' funds still hold them.
        outgoing: Pesos = totals.outgoing.into();
        /// What arrived and no account could take.
        incoming: Pesos = totals.incoming.into();
    }
}

body! {
    /// The treasury of the realm.
    pub struct Treasury from snapshot: &Snapshot {
        => let totals = &snapshot.totals;
        => let (bank, coverage) = (snapshot.bank.as_ref(), snapshot.coverage());
        => let ratio = coverage.and_then(|coverage| coverage.ratio);
        /// When it was taken; of a past day, the end of that day.
        as_of: Instant = snapshot.as_of.into();
        /// The business day that was asked for; absent for now.
        date?: Option<Day> = None;
        /// The vouchers of the realm that it counts: the ledger's side is as of exactly these.
        sequence: u64 = totals.sequence;
        /// `ARS`.
        currency: &'static str as CurrencyWord = "ARS";
        /// The account that really holds the money.
        collector: CollectorBody = (&snapshot.collector).into();
        /// What it has; null when the bank is away.
        bank_balance: Option<Pesos> = bank.ok().map(|(balance, _)| (*balance).into());
        /// When the bank read it.
        bank_as_of: Option<Instant> = bank.ok().map(|(_, at)| (*at).into());
        /// Why it is not known.
        bank_error: Option<BankSilence> = bank.err().map(silence);
        /// What belongs to clients.
        client_funds: ClientFunds = ClientFunds {
            available: totals.available.into(),
            held: totals.held.into(),
            total: totals.owed().into(),
        };
        /// The accounts with a CVU; null for a past day.
        accounts: Option<AccountCounts> = Some(totals.into());
        /// Money between bank and ledger; null for a past day.
        in_transit: Option<InTransit> = Some(totals.into());
        /// Credits that the bank has reported and the ledger could not book: cases that wait for a person. What the ledger
        /// has not heard of yet is in `free.unexplained`. Null for a past day.
        uncredited: Option<Pesos> = Some(snapshot.uncredited.into());
        /// Fees and their tax taken from clients so far; they stay on the collector account until the
        /// PSP moves them. Null for a past day.
        psp_fees: Option<Pesos> = Some(totals.charged().into());
        /// What of the bank's balance is the PSP's: `bankBalance` less `clientFunds.total`, `inTransit.incoming`, which no
        /// account could take, and `uncredited`. May be negative, and blocks nothing. Null when the bank is away.
        free_balance: Option<Pesos> = coverage.map(|coverage| coverage.free.into());
        /// What `freeBalance` is made of; null when the bank is away.
        free: Option<FreeTermsBody>
            = coverage.map(|it| FreeTerms::of(it.free, &totals.house).into());
        /// `bankBalance` by what is not the PSP's, four decimals, rounded down; null when nothing is owed.
        coverage_ratio: Option<String> = ratio.map(|ratio| ratio.to_string());
        /// Whether `freeBalance` is not negative; null when the bank is away.
        covered: Option<bool> = coverage.map(|coverage| coverage.covered);
    }
}

body! {
    /// What the free balance is made of. The terms add up to `total`.
    pub struct FreeTermsBody as FreeTerms from terms: FreeTerms {
        /// The free balance.
        total: Pesos = terms.total.into();
        /// Fees that were taken from clients.
        fees: Pesos = terms.fees.into();
        /// The tax on them.
        fee_tax: Pesos = terms.fee_tax.into();
        /// What vouchers of the PSP's own types took from clients, less what they gave.
        adjustments: Pesos = terms.adjustments.into();
        /// The PSP's own money: what came in, less what left.
        funding: Pesos = terms.funding.into();
        /// Interest that the bank paid.
        interest: Pesos = terms.interest.into();
        /// What the bank charged and withheld; negative.
        bank_charges: Pesos = terms.bank_charges.into();
        /// The rest: money on its way into an account or out of one, and movements of the collector account that nobody has
        /// classified.
        unexplained: Pesos = terms.unexplained.into();
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
            collector: (&collector).into(),
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
