//! The settings under which an order is judged: those of tenant and platform; and the realm's pauses at its bank.

use std::time::Duration;

use caudal_ledger::accounts::{Context, Terms};
use caudal_ledger::collector::CollectorRule;
use caudal_ledger::fees::FeeRule;
use caudal_ledger::ids::RealmId;
use caudal_ledger::limits::{Limits, TotalLimits, TotalUsage};
use caudal_ledger::tenants::{Mode, Platform, Policy, Tenant};
use caudal_ledger::time::Timestamp;

/// The settings of a tenant, as one immutable value that travels with each order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The id of the tenant.
    pub tenant: String,
    /// When the tenant was created.
    pub created_at: Timestamp,
    /// Whether the realm is the live or the test one.
    pub mode: Mode,
    /// The tenant's rules for its accounts.
    pub policy: Policy,
    /// The limits that the tenant sets for its accounts.
    pub psp: Limits,
    /// The limits over the sum of its accounts.
    pub total: TotalLimits,
    /// The limits that the platform sets for tenants that set none.
    pub platform: Limits,
    /// The fee schedule that the tenant sets for its accounts.
    pub psp_fees: Vec<FeeRule>,
    /// The fee schedule that the platform sets for tenants that set none.
    pub platform_fees: Vec<FeeRule>,
    /// The tenant's rules for the movements of its collector account.
    pub collector_rules: Vec<CollectorRule>,
}

impl Settings {
    /// A realm's settings from its tenant and the platform.
    pub fn of(platform: &Platform, tenant: &Tenant, mode: Mode) -> Self {
        Self {
            tenant: tenant.id.clone(),
            created_at: tenant.created_at,
            mode,
            policy: tenant.policy,
            psp: tenant.limits,
            total: tenant.total_limits,
            platform: platform.limits,
            psp_fees: tenant.fees.clone(),
            platform_fees: platform.fees.clone(),
            collector_rules: tenant.collector_rules.clone(),
        }
    }

    /// The context in which a movement is judged; `total_usage` is the realm's.
    pub fn context(&self, realm: RealmId, now: Timestamp, total_usage: TotalUsage) -> Context<'_> {
        Context {
            realm,
            now,
            total: self.total,
            total_usage,
            psp: Terms {
                limits: self.psp,
                fees: &self.psp_fees,
            },
            platform: Terms {
                limits: self.platform,
                fees: &self.platform_fees,
            },
        }
    }
}

/// The pauses between tries at the bank: they double from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pauses {
    /// The pause after the first try that brought no answer.
    pub first: Duration,
    /// The longest pause between tries; it is repeated.
    pub last: Duration,
}

impl Default for Pauses {
    /// The last pause is the bank's own wish.
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            last: Duration::from_secs(300),
        }
    }
}
