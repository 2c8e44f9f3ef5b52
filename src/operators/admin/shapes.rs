//! How tenants, the platform and keys are shown: policy, limits, fee schedule.

use caudal_http::AppState;
use caudal_http::bodies::limits::LimitsBody;
use caudal_http::bodies::words::RealmStateWord;
use caudal_http::keys;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::fees::FeeRule;
use caudal_ledger::money::Money;
use caudal_ledger::tenants::orders::TenantChange;
use caudal_ledger::tenants::scopes::{Network, Scope};
use caudal_ledger::tenants::{ApiKey, Mode, Platform, Serving, Tenant};
use serde::Serialize;
use utoipa::ToSchema;

use super::relations::RelationsBody;

/// A whole list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct List<T> {
    items: Vec<T>,
    total: usize,
}

impl<T> List<T> {
    /// A page with all items.
    pub(super) fn of(items: Vec<T>) -> Self {
        let total = items.len();
        Self { items, total }
    }
}

/// A tenant's policy.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Policy)]
struct PolicyBody {
    close_requires_zero_balance: bool,
    relaxed_test_cuit: bool,
    four_eyes: FourEyesBody,
}

/// What operators do for a tenant that takes a second person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FourEyes)]
struct FourEyesBody {
    /// Decisions about cases above this amount; null is none.
    decisions_above: Option<String>,
    /// Limits that let more pass than before.
    limit_raises: bool,
}

/// One entry of a fee schedule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Fee)]
struct FeeBody {
    voucher_type_code: String,
    percentage: String,
    fixed: String,
    minimum: Option<String>,
    maximum: Option<String>,
    charge: bool,
    tax_rate: String,
}

impl From<&FeeRule> for FeeBody {
    fn from(rule: &FeeRule) -> Self {
        Self {
            voucher_type_code: rule.code.to_string(),
            percentage: rule.percentage.normalize().to_string(),
            fixed: rule.fixed.to_string(),
            minimum: rule.minimum.map(|money| money.to_string()),
            maximum: rule.maximum.map(|money| money.to_string()),
            charge: rule.charge,
            tax_rate: rule.tax_rate.normalize().to_string(),
        }
    }
}

/// The fee schedule of an account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FeeSchedule)]
pub(super) struct ScheduleBody {
    cvu: String,
    fee_schedule: Vec<FeeBody>,
}

impl ScheduleBody {
    /// The schedule of a CVU.
    pub(super) fn of(cvu: Cvu, rules: &[FeeRule]) -> Self {
        Self {
            cvu: cvu.to_string(),
            fee_schedule: rules.iter().map(FeeBody::from).collect(),
        }
    }
}

/// A tenant.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Tenant)]
pub(super) struct TenantBody {
    id: String,
    name: String,
    policy: PolicyBody,
    limits: TenantLimitsBody,
    fee_schedule: Vec<FeeBody>,
    bank: RelationsBody,
    /// What its statements state of it besides its name.
    provider: ProviderBody,
    /// Whether its realms are served.
    realms: RealmStatesBody,
    created_at: String,
}

/// What the statements of a tenant state of it besides its name.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Provider)]
struct ProviderBody {
    /// Its CUIT.
    cuit: Option<String>,
    /// Its registered address.
    address: Option<String>,
}

/// How a tenant's realms stand.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RealmStates)]
struct RealmStatesBody {
    /// The realm of live keys.
    #[schema(value_type = RealmStateWord)]
    live: &'static str,
    /// The realm of test keys.
    #[schema(value_type = RealmStateWord)]
    test: &'static str,
}

impl RealmStatesBody {
    fn of(platform: &Platform, tenant: &Tenant) -> Self {
        let state = |mode| platform.state(tenant.realm(mode)).as_str();
        Self {
            live: state(Mode::Live),
            test: state(Mode::Test),
        }
    }
}

impl TenantBody {
    /// A tenant as it would be after a change.
    pub(super) fn after(app: &AppState, tenant: &Tenant, change: TenantChange) -> Self {
        let serving = |mode| change.serving(mode).map(Serving::as_str);
        let (live, test) = (serving(Mode::Live), serving(Mode::Test));
        let mut body = Self::of(app, &change.over(tenant));
        body.realms = RealmStatesBody {
            live: live.unwrap_or(body.realms.live),
            test: test.unwrap_or(body.realms.test),
        };
        body
    }

    /// A tenant in its current state.
    pub(super) fn of(app: &AppState, tenant: &Tenant) -> Self {
        let four_eyes = tenant.policy.four_eyes;
        Self {
            id: tenant.id.clone(),
            name: tenant.name.clone(),
            policy: PolicyBody {
                close_requires_zero_balance: tenant.policy.close_requires_zero_balance,
                relaxed_test_cuit: tenant.policy.relaxed_test_cuit,
                four_eyes: FourEyesBody {
                    decisions_above: four_eyes.decisions_above.map(|it| it.to_string()),
                    limit_raises: four_eyes.limit_raises,
                },
            },
            limits: TenantLimitsBody::of(tenant),
            fee_schedule: tenant.fees.iter().map(FeeBody::from).collect(),
            bank: RelationsBody::of(app, tenant),
            provider: ProviderBody {
                cuit: tenant.provider.cuit.map(|cuit| cuit.to_string()),
                address: tenant.provider.address.clone(),
            },
            realms: RealmStatesBody::of(&app.engine.platform(), tenant),
            created_at: tenant.created_at.to_string(),
        }
    }
}

/// The limits of a tenant: those that its accounts inherit, and those over their sum.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TenantLimits)]
struct TenantLimitsBody {
    #[serde(flatten)]
    inherited: LimitsBody,
    daily_outgoing_total: Option<String>,
    monthly_outgoing_total: Option<String>,
    per_minute_count: Option<u64>,
}

impl TenantLimitsBody {
    fn of(tenant: &Tenant) -> Self {
        let text = |money: Option<Money>| money.map(|m| m.to_string());
        let total = &tenant.total_limits;
        Self {
            inherited: LimitsBody::from(&tenant.limits),
            daily_outgoing_total: text(total.daily_outgoing),
            monthly_outgoing_total: text(total.monthly_outgoing),
            per_minute_count: total.per_minute,
        }
    }
}

/// A key as it is listed: never its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ApiKey)]
pub(super) struct KeyBody {
    /// Its public id.
    pub id: String,
    prefix: String,
    mode: &'static str,
    label: Option<String>,
    /// The whole key; only in the answer that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// `active`, `ending` (it was rotated, and works until `expiresAt`), `expired` or `revoked`.
    status: &'static str,
    /// What it may do; `null` is everything.
    #[schema(value_type = Option<Vec<String>>)]
    scopes: Option<Vec<Scope>>,
    /// From where it may be used; `null` is everywhere.
    #[schema(value_type = Option<Vec<String>>)]
    ip_allow: Option<Vec<Network>>,
    created_at: String,
    expires_at: Option<String>,
    /// When it was last shown, to the second; `null` when not since this service started.
    last_used_at: Option<String>,
    /// Whether it needs a pepper that is being replaced: rotate it before that one is removed.
    older_pepper: bool,
}

impl KeyBody {
    /// A key; with its text only in the answer that made it.
    pub(super) fn of(app: &AppState, key: &ApiKey, text: Option<String>) -> Self {
        let status = match key.revoked {
            true => "revoked",
            false if !key.works_at(app.engine.now()) => "expired",
            false if key.ends_as_issued() => "active",
            false => "ending",
        };
        let used = app.engine.key(&key.id).and_then(|known| known.used.at());
        Self {
            id: key.id.clone(),
            prefix: keys::prefix(key),
            mode: key.mode.as_str(),
            label: key.label.clone(),
            key: text,
            status,
            scopes: key.scopes.clone(),
            ip_allow: Some(key.networks.clone()).filter(|networks| !networks.is_empty()),
            created_at: key.created_at.to_string(),
            expires_at: key.ends_at.map(|end| end.to_string()),
            last_used_at: used.map(|used| used.to_string()),
            older_pepper: app.keyring.needs_older(key.pepper),
        }
    }
}

/// What the platform sets for tenants that set nothing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Platform)]
pub(super) struct PlatformBody {
    limits: LimitsBody,
    fee_schedule: Vec<FeeBody>,
}

impl From<&Platform> for PlatformBody {
    fn from(platform: &Platform) -> Self {
        Self {
            limits: LimitsBody::from(&platform.limits),
            fee_schedule: platform.fees.iter().map(FeeBody::from).collect(),
        }
    }
}
