//! The cases side by side: each at each number of connections, in rounds that each begin with another case, so that a
//! machine that gets slower or faster does not favour one of them.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::audit::{self, Audit};
use super::case::{Bulk, Case};
use super::draw::{Mix, Over};
use super::figures::{Thousandths, median};
use super::load::{self, End, Job, Way};
use super::rows::{Round, Row};
use super::site::{Layout, Site};
use super::tally::Tally;

/// How many accounts are funded concurrently.
const FUNDING: usize = 512;

/// The cases and their load.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cases.
    pub cases: Vec<Case>,
    /// The numbers of concurrent clients, with one row of the table for each.
    pub connections: Vec<usize>,
    /// How often each is run.
    pub rounds: usize,
    /// How long each run lasts, before and while it counts.
    pub time: (Duration, Duration),
    /// The number of accounts over which vouchers and balances are spread.
    pub accounts: u64,
    /// The sizes of bulks.
    pub bulk: Bulk,
    /// Threads.
    pub layout: Layout,
}

/// The results of all cases.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    /// The rows.
    pub rows: Vec<Row>,
    /// The rate on one CVU divided by that on many, in the same round, at the most connections.
    pub hot_to_spread: Option<Thousandths>,
    /// The rate of vouchers in bulk over many CVUs divided by that of single ones, likewise.
    pub bulk_to_spread: Option<Thousandths>,
    /// The rate of transfers divided by that of single vouchers, likewise; a transfer makes two vouchers.
    pub transfer_to_spread: Option<Thousandths>,
    /// The number of wrong answers.
    pub wrong_answers: u64,
    /// The first wrong answer.
    pub first_wrong: Option<String>,
    /// The audit of the ledger.
    pub audit: Audit,
}

impl Compared {
    /// The row of a case at the most connections.
    pub fn at_most_connections(&self, case: Case) -> Option<&Row> {
        let rows = self.rows.iter().filter(|row| row.case == case);
        rows.max_by_key(|row| row.connections)
    }

    /// The highest rate of vouchers in a large bulk, at any number of connections.
    pub fn best_bulk(&self) -> Option<u64> {
        let large = |row: &&Row| matches!(row.case, Case::BulkLarge | Case::BulkHot);
        let rates = self.rows.iter().filter(large);
        rates.map(|row| row.vouchers_per_second).max()
    }
}

type Run = (Case, usize, Round);

/// Runs all cases on a new store in a folder.
///
/// # Errors
/// When the service fails.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Compared> {
    let all = plan.accounts.saturating_add(1);
    super::say(&format!("opening {all} accounts"));
    let site = Site::build(folder, plan.layout, all).await?;
    let mut tally = fund(&site, plan, all).await?;
    let (mut wrong_answers, mut first_wrong) = (0_u64, None);
    let mut runs: Vec<Run> = Vec::new();
    for round in 0..plan.rounds {
        for connections in &plan.connections {
            let mut cases = plan.cases.clone();
            let begin = round.checked_rem(cases.len()).unwrap_or(0);
            cases.rotate_left(begin);
            let from = runs.len();
            for case in cases {
                let of = plan.rounds;
                let title = case.title(plan.bulk);
                let round = round.saturating_add(1);
                super::say(&format!("round {round} of {of}: {title} × {connections}"));
                let job = Job {
                    way: Way::Http(site.addr),
                    connections: *connections,
                    mix: mix(case, plan),
                    end: End::After(plan.time.0, plan.time.1),
                };
                let (measured, known) = load::run(&site, job, tally).await?;
                tally = known;
                wrong_answers += measured.wrong;
                runs.push((case, *connections, Round::of(case, &measured)));
                first_wrong = first_wrong.or(measured.first_wrong);
            }
            compare(runs.get_mut(from..).unwrap_or_default());
        }
    }
    super::say("checking the ledger");
    let (store, realm) = (std::sync::Arc::clone(site.engine.store()), site.realm);
    let checked = actix_web::web::block(move || audit::ledger(store.as_ref(), realm, &tally));
    let audit = checked.await??;
    let held = site.close().await?;
    drop(held);
    Ok(Compared {
        hot_to_spread: to_spread(Case::Hot, &runs),
        bulk_to_spread: to_spread(Case::BulkLarge, &runs),
        transfer_to_spread: to_spread(Case::Transfer, &runs),
        rows: rows(plan, &runs),
        wrong_answers,
        first_wrong,
        audit,
    })
}

/// Funds the accounts, if there is a case of transfers.
async fn fund(site: &Site, plan: &Plan, accounts: u64) -> anyhow::Result<Tally> {
    let tally = Tally::new(accounts);
    if !plan.cases.contains(&Case::Transfer) {
        return Ok(tally);
    }
    let job = Job {
        way: Way::Engine(site.realm),
        connections: FUNDING,
        mix: Mix::Fund,
        end: End::Answers {
            warm_up: 0,
            of: accounts,
        },
    };
    let (measured, tally) = load::run(site, job, tally).await?;
    let wrong = measured.first_wrong;
    anyhow::ensure!(wrong.is_none(), "funding an account: {wrong:?}");
    Ok(tally)
}

fn mix(case: Case, plan: &Plan) -> Mix {
    let accounts = usize::try_from(plan.accounts).unwrap_or(usize::MAX);
    let Bulk { small, large } = plan.bulk;
    match case {
        Case::Noop => Mix::Noop,
        Case::Spread => Mix::Spread(accounts),
        Case::Hot => Mix::Hot(accounts),
        Case::Bulk => Mix::Bulk(small, Over::Many(accounts)),
        Case::BulkLarge => Mix::Bulk(large, Over::Many(accounts)),
        Case::BulkHot => Mix::Bulk(large, Over::One(accounts)),
        Case::Balance => Mix::Balances(accounts),
        Case::Mix => Mix::Mixed(accounts),
        // Includes the CVU of the hot cases, so that there are always two accounts.
        Case::Transfer => Mix::Transfers(accounts.saturating_add(1)),
    }
}

/// Sets the ratios of the runs with one round and one number of connections.
fn compare(runs: &mut [Run]) {
    let noop = runs.iter().find(|(case, ..)| *case == Case::Noop);
    let noop = noop.map_or(0, |(_, _, round)| round.rate);
    for (_, _, round) in runs {
        round.ratio = Thousandths::ratio(round.rate, noop);
    }
}

fn rows(plan: &Plan, runs: &[Run]) -> Vec<Row> {
    let mut rows = Vec::new();
    for case in &plan.cases {
        for connections in &plan.connections {
            let same = runs
                .iter()
                .filter(|(c, n, _)| c == case && n == connections);
            let rounds: Vec<&Round> = same.map(|(_, _, round)| round).collect();
            let name = case.title(plan.bulk);
            rows.push(Row::of((*case, name), *connections, &rounds));
        }
    }
    rows
}

/// The rate of a case divided by that of single vouchers in the same round, at the most connections.
fn to_spread(case: Case, runs: &[Run]) -> Option<Thousandths> {
    let most = runs.iter().map(|(_, connections, _)| *connections).max()?;
    let rates = |of: Case| {
        let same = runs.iter().filter(move |(c, n, _)| *c == of && *n == most);
        same.map(|(_, _, round)| round.rate)
    };
    let ratios = rates(case)
        .zip(rates(Case::Spread))
        .map(|(rate, spread)| Thousandths::ratio(rate, spread).0);
    let ratios: Vec<u64> = ratios.collect();
    (!ratios.is_empty()).then(|| Thousandths(median(ratios)))
}
