//! Metrics of the collector accounts: both sides, the bank, and the transfers that wait for it.

use std::collections::BTreeMap;

use caudal_actors::engine::coverage::WatchedCollector;
use caudal_actors::platform::realms;
use caudal_ledger::tenants::Platform;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;

use super::{LabelledTenants, OTHER, Page};

/// A collector account with the labels of its samples: tenant and mode of the oldest realm on it, and its CBU.
type Labelled<'a> = (String, &'a WatchedCollector);

/// The figures of each account. Those of tenants without a label of their own are combined, so that the worst of them
/// shows.
pub(super) fn figures(
    page: &mut Page,
    watched: &[WatchedCollector],
    (platform, named): (&Platform, &LabelledTenants),
) {
    let known: BTreeMap<_, _> = realms(platform)
        .map(|(tenant, mode)| (tenant.realm(mode), (tenant.id.as_str(), mode.as_str())))
        .collect();
    let labelled = watched.iter().filter_map(|it| {
        let (tenant, mode) = known.get(it.on.realms.first()?)?;
        let tenant = named.label(tenant);
        let collector = if tenant == OTHER {
            OTHER
        } else {
            &it.on.collector.cbu
        };
        let labels = format!("{{tenant=\"{tenant}\",mode=\"{mode}\",collector=\"{collector}\"}}");
        Some((labels, it))
    });
    let all: Vec<Labelled<'_>> = labelled.collect();
    sides(page, &all);
    bank(page, &all);
    let waiting = all.iter().map(|(labels, it)| (labels.clone(), it.waiting));
    let name = "treasury_waiting_transfers";
    let help = "Transfers that wait for the bank; of each realm 10000 are counted at most.";
    let counts = waiting.clone().map(|(labels, it)| (labels, it.count));
    page.gauges(name, help, counts, |one, other| one + other);
    let name = "treasury_waiting_pesos";
    let help = "The sum of the transfers that wait for the bank, in ARS.";
    let sums = waiting.clone().map(|(labels, it)| (labels, it.amount));
    page.gauges(name, help, sums, Sum::plus);
    let name = "treasury_waiting_oldest_timestamp_seconds";
    let help = "When the oldest of them that no person has to decide was requested, in seconds since 1970.";
    let oldest = waiting.filter_map(|(labels, it)| Some((labels, it.oldest?.millis() / 1000)));
    page.gauges(name, help, oldest, Ord::min);
}

/// Both sides as of the bank's last answer, and whether money is missing.
fn sides(page: &mut Page, all: &[Labelled<'_>]) {
    let last = || {
        all.iter().filter_map(|(labels, it)| {
            let last = it.check.as_ref()?.last?;
            Some((labels.clone(), last))
        })
    };
    let name = "treasury_bank_balance_pesos";
    let help = "What the collector account had when the bank last reported its balance, in ARS.";
    let balances = last().map(|(labels, it)| (labels, Sum::from(it.bank)));
    page.gauges(name, help, balances, Sum::plus);
    let name = "treasury_client_funds_pesos";
    let help = "What belonged to clients at that instant, in ARS.";
    let owed = last().map(|(labels, it)| (labels, it.owed));
    page.gauges(name, help, owed, Sum::plus);
    let name = "treasury_coverage_ratio";
    let help = "The share of the clients' money that was there; none while nothing is owed.";
    let ratios = last().filter_map(|(labels, it)| Some((labels, it.ratio?)));
    page.gauges(name, help, ratios, Ord::min);
    let name = "treasury_uncovered";
    let help = "1 while clients' money is missing, as recorded in the realm.";
    let uncovered = all.iter();
    let uncovered =
        uncovered.map(|(labels, it)| (labels.clone(), u64::from(it.uncovered.is_some())));
    page.gauges(name, help, uncovered, |one, other| one + other);
}

/// When the bank last reported the balance, and since when it is not reachable.
fn bank(page: &mut Page, all: &[Labelled<'_>]) {
    let seconds = |at: Option<Timestamp>| at.map_or(0, |at| at.millis() / 1000);
    let checks = || {
        all.iter()
            .filter_map(|(labels, it)| Some((labels.clone(), it.check.as_ref()?)))
    };
    let name = "treasury_checked_timestamp_seconds";
    let help =
        "When the bank last reported the balance, in seconds since 1970; 0 if not since the start.";
    let checked = checks().map(|(labels, it)| (labels, seconds(it.last.map(|last| last.at))));
    page.gauges(name, help, checked, Ord::min);
    let name = "treasury_bank_unreachable_since_timestamp_seconds";
    let help = "Since when the bank does not answer, in seconds since 1970; 0 while it does.";
    let since = checks().map(|(labels, it)| (labels, seconds(it.unreachable_since)));
    let earliest = |one: u64, other: u64| match (one, other) {
        (0, some) | (some, 0) => some,
        (one, other) => one.min(other),
    };
    page.gauges(name, help, since, earliest);
}
