//! The collector accounts that need a person: clients' money is missing, or the bank is not reachable.

use caudal_actors::engine::Engine;
use caudal_actors::engine::coverage::WatchedCollector;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_ledger::tenants::Platform;
use serde::Serialize;
use utoipa::ToSchema;

use super::treasury::RealmBody;

/// How many accounts are named at most.
const NAMED_MAX: usize = 100;

/// The collector accounts of all realms.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StatusOfTreasury)]
pub(super) struct CoverageFigures {
    /// How many there are.
    collectors: usize,
    /// For how many of them the bank has reported the balance since the service started.
    checked: usize,
    /// For how many of them clients' money is missing.
    uncovered: usize,
    /// For how many of them the bank is not reachable.
    unreachable: usize,
    /// The latter two kinds, first those where money is missing; at most 100.
    items: Vec<WatchedBody>,
}

/// A collector account where money is missing, or whose bank is not reachable.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatusOfCollector)]
struct WatchedBody {
    /// The realms whose money is on it.
    realms: Vec<RealmBody>,
    /// Its CBU.
    collector_cbu: String,
    /// Since when clients' money is missing; null while it is covered.
    uncovered_since: Option<String>,
    /// How much is missing, in ARS; null while it is covered.
    missing: Option<String>,
    /// Since when the bank is not reachable; null while it answers.
    bank_unreachable_since: Option<String>,
    /// Transfers that wait for the bank; of each realm 10000 are counted at most.
    waiting_transfers: usize,
    /// Their sum, in ARS.
    waiting_amount: String,
}

impl WatchedBody {
    fn of(platform: &Platform, it: &WatchedCollector) -> Self {
        let on_it =
            realms(platform).filter(|(tenant, mode)| it.on.realms.contains(&tenant.realm(*mode)));
        Self {
            realms: on_it
                .map(|(tenant, mode)| RealmBody::of(tenant, mode))
                .collect(),
            collector_cbu: it.on.collector.cbu.clone(),
            uncovered_since: it.uncovered.map(|fact| fact.at.to_string()),
            missing: it.shortfall().map(|fact| fact.missing().to_string()),
            bank_unreachable_since: it.unreachable_since().map(|at| at.to_string()),
            waiting_transfers: it.waiting.count,
            waiting_amount: it.waiting.amount.to_string(),
        }
    }
}

impl CoverageFigures {
    /// The present figures.
    ///
    /// # Errors
    /// As [`caudal_actors::engine::Operators::watched_collectors`].
    pub(super) async fn now(engine: &Engine) -> Result<Self, Failure> {
        let platform = engine.platform();
        let all = engine.operators().watched_collectors().await?;
        let count = |is: fn(&WatchedCollector) -> bool| all.iter().filter(|it| is(it)).count();
        let uncovered = all.iter().filter(|it| it.uncovered.is_some());
        let others = all.iter().filter(|it| it.uncovered.is_none());
        let named = uncovered.chain(others.filter(|it| it.unreachable_since().is_some()));
        let named = named.take(NAMED_MAX);
        Ok(Self {
            collectors: all.len(),
            checked: count(|it| it.check.as_ref().is_some_and(|check| check.last.is_some())),
            uncovered: count(|it| it.uncovered.is_some()),
            unreachable: count(|it| it.unreachable_since().is_some()),
            items: named.map(|it| WatchedBody::of(&platform, it)).collect(),
        })
    }
}
