//! How tenants, the platform and keys are shown: policy, limits, fee schedule.

use caudal_http::AppState;
use caudal_http::bodies::body;
use caudal_http::bodies::limits::LimitsBody;
use caudal_http::bodies::words::RealmStateWord;
use caudal_http::keys;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::fees::FeeRule;
use caudal_ledger::money::Money;
use caudal_ledger::tenants::orders::TenantChange;
use caudal_ledger::tenants::scopes::{Network, Scope};
use caudal_ledger::tenants::{ApiKey, FourEyes, Mode, Platform, Policy, Provider, Serving, Tenant};
use caudal_ledger::time::Timestamp;
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

body! {
    /// A tenant's policy.
    pub(super) struct PolicyBody as Policy from policy: &Policy {
        close_requires_zero_balance: bool = policy.close_requires_zero_balance;
        relaxed_test_cuit: bool = policy.relaxed_test_cuit;
        four_eyes: FourEyesBody = policy.four_eyes.into();
    }
}

body! {
    /// What operators do for a tenant that takes a second person.
    pub(super) struct FourEyesBody as FourEyes from four_eyes: FourEyes {
        /// Decisions about cases above this amount; null is none.
        decisions_above: Option<String> = four_eyes.decisions_above.map(|it| it.to_string());
        /// Limits that let more pass than before.
        limit_raises: bool = four_eyes.limit_raises;
    }
}

body! {
    /// One entry of a fee schedule.
    pub(super) struct FeeBody as Fee from rule: &FeeRule {
        voucher_type_code: String = rule.code.to_string();
        percentage: String = rule.percentage.normalize().to_string();
        fixed: String = rule.fixed.to_string();
        minimum: Option<String> = rule.minimum.map(|money| money.to_string());
        maximum: Option<String> = rule.maximum.map(|money| money.to_string());
        charge: bool = rule.charge;
        tax_rate: String = rule.tax_rate.normalize().to_string();
    }
}

body! {
    /// The fee schedule of an account.
    pub(super) struct ScheduleBody as FeeSchedule of(cvu: Cvu, rules: &[FeeRule]) {
        cvu: String = cvu.to_string();
        fee_schedule: Vec<FeeBody> = rules.iter().map(FeeBody::from).collect();
    }
}

body! {
    /// A tenant.
    pub(super) struct TenantBody as Tenant of(app: &AppState, tenant: &Tenant) {
        id: String = tenant.id.clone();
        name: String = tenant.name.clone();
        policy: PolicyBody = (&tenant.policy).into();
        limits: TenantLimitsBody = TenantLimitsBody::of(tenant);
        fee_schedule: Vec<FeeBody> = tenant.fees.iter().map(FeeBody::from).collect();
        bank: RelationsBody = RelationsBody::of(app, tenant);
        /// What its statements state of it besides its name.
        provider: ProviderBody = (&tenant.provider).into();
        /// Whether its realms are served.
        realms: RealmStatesBody = RealmStatesBody::of(&app.engine.platform(), tenant);
        created_at: String = tenant.created_at.to_string();
    }
}

body! {
    /// What the statements of a tenant state of it besides its name.
    pub(super) struct ProviderBody as Provider from provider: &Provider {
        /// Its CUIT.
        cuit: Option<String> = provider.cuit.map(|cuit| cuit.to_string());
        /// Its registered address.
        address: Option<String> = provider.address.clone();
    }
}

body! {
    /// How a tenant's realms stand.
    pub(super) struct RealmStatesBody as RealmStates of(platform: &Platform, tenant: &Tenant) {
        => let state = |mode| platform.state(tenant.realm(mode)).as_str();
        /// The realm of live keys.
        live: &'static str as RealmStateWord = state(Mode::Live);
        /// The realm of test keys.
        test: &'static str as RealmStateWord = state(Mode::Test);
        /// How many days the test realm's clock is ahead (`POST /v1/simulations/clock`).
        test_days_ahead: u32 = platform.test_clock(tenant.test).days_ahead();
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
            ..body.realms
        };
        body
    }
}

body! {
    /// The limits of a tenant: those that its accounts inherit, and those over their sum.
    pub(super) struct TenantLimitsBody as TenantLimits of(tenant: &Tenant) {
        => let text = |money: Option<Money>| money.map(|m| m.to_string());
        => let total = &tenant.total_limits;
        #[serde(flatten)]
        inherited: LimitsBody = LimitsBody::from(&tenant.limits);
        daily_outgoing_total: Option<String> = text(total.daily_outgoing);
        monthly_outgoing_total: Option<String> = text(total.monthly_outgoing);
        per_minute_count: Option<u64> = total.per_minute;
    }
}

/// The word for how a key stands.
pub(crate) fn key_status(key: &ApiKey, now: Timestamp) -> &'static str {
    match key.revoked {
        true => "revoked",
        false if !key.works_at(now) => "expired",
        false if key.ends_as_issued() => "active",
        false => "ending",
    }
}

body! {
    /// A key as it is listed: never its secret.
    pub(super) struct KeyBody as ApiKey of(app: &AppState, key: &ApiKey, text: Option<String>) {
        => let used = app.engine.key(&key.id).and_then(|known| known.used.at());
        /// Its public id.
        id: String = key.id.clone();
        prefix: String = keys::prefix(key);
        mode: &'static str = key.mode.as_str();
        label: Option<String> = key.label.clone();
        /// The whole key; only in the answer that made it.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String> = text;
        /// `active`, `ending` (it was rotated, and works until `expiresAt`), `expired` or `revoked`.
        status: &'static str = key_status(key, app.engine.now());
        /// What it may do; `null` is everything.
        scopes: Option<Vec<Scope>> as Option<Vec<String>> = key.scopes.clone();
        /// From where it may be used; `null` is everywhere.
        ip_allow: Option<Vec<Network>> as Option<Vec<String>>
            = Some(key.networks.clone()).filter(|networks| !networks.is_empty());
        created_at: String = key.created_at.to_string();
        expires_at: Option<String> = key.ends_at.map(|end| end.to_string());
        /// When it was last shown, to the second; `null` when not since this service started.
        last_used_at: Option<String> = used.map(|used| used.to_string());
        /// Whether it needs a pepper that is being replaced: rotate it before that one is removed.
        older_pepper: bool = app.keyring.needs_older(key.pepper);
    }
}

body! {
    /// What the platform sets for tenants that set nothing.
    pub(super) struct PlatformBody as Platform from platform: &Platform {
        limits: LimitsBody = LimitsBody::from(&platform.limits);
        fee_schedule: Vec<FeeBody> = platform.fees.iter().map(FeeBody::from).collect();
    }
}
