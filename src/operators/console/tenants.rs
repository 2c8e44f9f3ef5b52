//! Tenants: their data, their keys, and links to the contents of each realm.

use std::collections::BTreeMap;

use caudal_http::errors::ApiError;
use caudal_ledger::limits::{LimitKind, Limits};
use caudal_ledger::tenants::{ApiKey, Mode, Tenant};
use serde_json::Value;

use super::lists::cut;
use super::operations::{OperationForm, form, of_subjects};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Page, Part, Table, Tone, facts, table};
use super::words::Word;
use crate::admin::{key_status, keys_of_tenant, state_of_platform, tenant_state};

/// Lists the tenants.
pub(super) async fn list(context: &PageContext) -> Result<Page, ApiError> {
    let (locale, platform) = (context.locale(), context.engine().platform());
    let mut keys: BTreeMap<&str, u64> = BTreeMap::new();
    for key in platform.keys.values() {
        *keys.entry(&key.tenant).or_default() += 1;
    }
    let mut found: Vec<_> = platform.tenants.values().collect();
    found.sort_by_key(|tenant| (tenant.created_at, tenant.live));
    let (found, note, next) = cut(context, found);
    let table = table! {
        locale, Word::Tenants, Word::NoTenants; tenant in found.into_iter();
        Name: Cell::text(&tenant.name).to(format!("/console/tenants/{}", tenant.id));
        Id: Cell::code(&tenant.id);
        Keys figure: locale.count(keys.get(tenant.id.as_str()).map_or(0, |count| *count));
        CreatedAt: locale.time(tenant.created_at);
    }
    .part(note, next);
    let blocks = vec![Block::Table(table)];
    Ok(context.page(Part::Tenants, context.say(Word::Tenants), blocks))
}

/// Shows a tenant.
pub(super) async fn one(context: &PageContext, id: &str) -> Result<Page, ApiError> {
    let (locale, platform) = (context.locale(), context.engine().platform());
    let found = platform.tenant(id)?;
    let keys = keys_of_tenant(&platform, &found.id);
    let facts = facts! {
        context, Tenant;
        Id: Cell::code(&found.id);
        CreatedAt: locale.time(found.created_at);
        CloseNeedsZero: locale.is(found.policy.close_requires_zero_balance, Tone::Quiet);
        RelaxedCuit: locale.is(found.policy.relaxed_test_cuit, Tone::Quiet);
    };
    let now = context.engine().now();
    let working = keys.iter().filter(|key| key.works_at(now));
    let working: Vec<String> = working.map(|key| key.id.clone()).collect();
    let mut blocks = vec![
        Block::Table(realms(context, found)),
        facts,
        Block::Table(limits(context, &found.limits)),
        Block::Table(shown_keys(context, keys)),
    ];
    blocks.extend(forms(context, id, working)?);
    let page = context.page(Part::Tenants, &found.name, blocks);
    Ok(page.under(context.say(Word::Tenants), "/console/tenants"))
}

/// What operators do about a tenant and its keys.
fn forms(context: &PageContext, id: &str, working: Vec<String>) -> Result<Vec<Block>, ApiError> {
    let current = tenant_state(&context.admin_state.app, id)?;
    let mut forms = vec![form(context, OperationForm::IssueKey, id, &Value::Null)];
    if !working.is_empty() {
        let of_keys = [OperationForm::RotateKey, OperationForm::RevokeKey];
        let of_keys =
            of_keys.map(|which| of_subjects(context, which, "", &Value::Null, working.clone()));
        forms.extend(of_keys);
    }
    let of_tenant = [
        OperationForm::TenantLimits,
        OperationForm::TenantFees,
        OperationForm::TenantPolicy,
    ];
    forms.extend(of_tenant.map(|which| form(context, which, id, &current)));
    Ok(forms.into_iter().flatten().collect())
}

/// Shows what the platform sets for tenants that set nothing.
pub(super) async fn platform(context: &PageContext) -> Result<Page, ApiError> {
    let current = state_of_platform(&context.admin_state.app);
    let platform = context.engine().platform();
    let mut blocks = vec![Block::Table(limits(context, &platform.limits))];
    let both = [OperationForm::PlatformLimits, OperationForm::PlatformFees];
    let both = both.into_iter();
    blocks.extend(both.filter_map(|which| form(context, which, "", &current)));
    Ok(context.page(Part::Settings, context.say(Word::Settings), blocks))
}

/// The two realms with links to the contents of each.
fn realms(context: &PageContext, tenant: &Tenant) -> Table {
    table! {
        context.locale(), Word::Realms, Word::NoTenants; mode in [Mode::Live, Mode::Test];
        => let place = TenantRealm::of(tenant, mode);
        => let clock = context.engine().platform().test_clock(place.realm);
        => let link = |what: &str| Cell::text(context.say(Word::Open)).to(place.address(what));
        Mode: context.locale().mode(mode.as_str());
        Realm: Cell::code(place.realm.0);
        DaysAhead figure: context.locale().count(clock.days_ahead());
        Accounts: link("accounts");
        Vouchers: link("vouchers");
        Transfers: link("transfers");
        Events: link("events");
        Positions: link("positions");
        Reconciliation: link("reconciliation");
        Books: link("books");
        ClosedDays: link("days");
    }
}

fn limits(context: &PageContext, limits: &Limits) -> Table {
    let locale = context.locale();
    let kinds = LimitKind::ALL.into_iter();
    let kinds = kinds.filter(|kind| kind.is_always_shown() || limits.get(*kind).is_some());
    table! {
        locale, Word::LimitsOfTenant, Word::NothingHere; kind in kinds;
        => let value = locale.maybe_quantity(limits.get(kind));
        Limit: Cell::text(context.say(Word::limit(kind)));
        Value figure: value;
    }
}

/// The keys, without their secrets.
fn shown_keys(context: &PageContext, keys: Vec<&ApiKey>) -> Table {
    let (locale, now) = (context.locale(), context.engine().now());
    let (keys, note, next) = cut(context, keys);
    let table = table! {
        locale, Word::Keys, Word::NoKeys; key in keys.into_iter();
        => let used = context.engine().key(&key.id).and_then(|known| known.used.at());
        Id: Cell::code(&key.id);
        Label: Cell::maybe(key.label.as_ref());
        Mode: locale.mode(key.mode.as_str());
        State: locale.state(key_status(key, now));
        CreatedAt: locale.time(key.created_at);
        EndsAt: locale.maybe_time(key.ends_at);
        LastUsed: locale.maybe_time(used);
    };
    table.part(note, next)
}
