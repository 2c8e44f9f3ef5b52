//! Tenants: their data, their keys, and links to the contents of each realm.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web};
use caudal_http::errors::ApiError;
use caudal_ledger::limits::{LimitKind, Limits};
use caudal_ledger::tenants::{ApiKey, Mode, Tenant};
use serde_json::Value;

use super::lists::cut;
use super::operations::{OperationForm, form, of_subjects};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Page, Part, Table, Tone};
use super::words::Word;
use crate::admin::{state_of_platform, tenant_state};

/// Lists the tenants.
pub(super) async fn list(context: PageContext) -> HttpResponse {
    context
        .answer((), async |context: &PageContext, ()| Ok(all(context)))
        .await
}

fn all(context: &PageContext) -> Page {
    let (locale, platform) = (context.locale(), context.engine().platform());
    let columns = [
        (Word::Name, false),
        (Word::Id, false),
        (Word::Keys, true),
        (Word::CreatedAt, false),
    ];
    let mut keys: BTreeMap<&str, u64> = BTreeMap::new();
    for key in platform.keys.values() {
        *keys.entry(&key.tenant).or_default() += 1;
    }
    let mut found: Vec<_> = platform.tenants.values().collect();
    found.sort_by_key(|tenant| (tenant.created_at, tenant.live));
    let (found, note, next) = cut(context, found);
    let rows = found.into_iter().map(|tenant| {
        vec![
            Cell::text(&tenant.name).to(format!("/console/tenants/{}", tenant.id)),
            Cell::code(&tenant.id),
            locale.count(keys.get(tenant.id.as_str()).map_or(0, |count| *count)),
            locale.time(tenant.created_at),
        ]
    });
    let table = Table::new(locale, Word::Tenants, Word::NoTenants, &columns)
        .with(rows)
        .part(note, next);
    let blocks = vec![Block::Table(table)];
    context.page(Part::Tenants, context.say(Word::Tenants), blocks)
}

/// Shows a tenant.
pub(super) async fn one(context: PageContext, path: web::Path<String>) -> HttpResponse {
    let made = async |context: &PageContext, id: &String| tenant(context, id).await;
    context.answer(path.into_inner(), made).await
}

async fn tenant(context: &PageContext, id: &str) -> Result<Page, ApiError> {
    let (locale, platform) = (context.locale(), context.engine().platform());
    let found = platform.tenant(id)?;
    let mut keys: Vec<_> = platform
        .keys
        .values()
        .filter(|key| key.tenant == found.id)
        .collect();
    keys.sort_by_key(|key| std::cmp::Reverse((key.created_at, key.id.clone())));
    let facts = vec![
        (context.say(Word::Id), Cell::code(&found.id)),
        (context.say(Word::CreatedAt), locale.time(found.created_at)),
        (
            context.say(Word::CloseNeedsZero),
            locale.is(found.policy.close_requires_zero_balance, Tone::Quiet),
        ),
        (
            context.say(Word::RelaxedCuit),
            locale.is(found.policy.relaxed_test_cuit, Tone::Quiet),
        ),
    ];
    let now = context.engine().now();
    let working = keys.iter().filter(|key| key.works_at(now));
    let working: Vec<String> = working.map(|key| key.id.clone()).collect();
    let mut blocks: Vec<Block> = context.done_note().into_iter().collect();
    blocks.extend([
        Block::Table(realms(context, found)),
        Block::Facts(context.say(Word::Tenant).to_owned(), facts),
        Block::Table(limits(context, &found.limits)),
        Block::Table(shown_keys(context, keys)),
    ]);
    blocks.extend(forms(context, id, working)?);
    let above = vec![(
        context.say(Word::Tenants).to_owned(),
        "/console/tenants".to_owned(),
    )];
    Ok(context
        .page(Part::Tenants, &found.name, blocks)
        .below(above))
}

/// What operators do about a tenant and its keys.
fn forms(context: &PageContext, id: &str, working: Vec<String>) -> Result<Vec<Block>, ApiError> {
    let current = tenant_state(&context.admin_state.app, id)?;
    let mut forms: Vec<Option<Block>> =
        vec![form(context, OperationForm::IssueKey, id, &Value::Null)];
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
pub(super) async fn platform(context: PageContext) -> HttpResponse {
    context
        .answer((), async |context: &PageContext, ()| Ok(set(context)))
        .await
}

fn set(context: &PageContext) -> Page {
    let current = state_of_platform(&context.admin_state.app);
    let platform = context.engine().platform();
    let mut blocks: Vec<Block> = context.done_note().into_iter().collect();
    blocks.push(Block::Table(limits(context, &platform.limits)));
    let both = [OperationForm::PlatformLimits, OperationForm::PlatformFees];
    let both = both.into_iter();
    blocks.extend(both.filter_map(|which| form(context, which, "", &current)));
    context.page(Part::Settings, context.say(Word::Settings), blocks)
}

/// The two realms with links to the contents of each.
fn realms(context: &PageContext, tenant: &Tenant) -> Table {
    let columns = [
        Word::Mode,
        Word::Realm,
        Word::Accounts,
        Word::Vouchers,
        Word::Transfers,
    ];
    let more = [
        Word::Events,
        Word::Positions,
        Word::Reconciliation,
        Word::Books,
        Word::ClosedDays,
    ];
    let columns: Vec<_> = columns
        .into_iter()
        .chain(more)
        .map(|word| (word, false))
        .collect();
    let rows = [Mode::Live, Mode::Test].map(|mode| {
        let place = TenantRealm::of(tenant, mode);
        let link = |word: Word, what: &str| Cell::text(context.say(word)).to(place.address(what));
        vec![
            context.locale().mode(mode.as_str()),
            Cell::code(place.realm.0),
            link(Word::Open, "accounts"),
            link(Word::Open, "vouchers"),
            link(Word::Open, "transfers"),
            link(Word::Open, "events"),
            link(Word::Open, "positions"),
            link(Word::Open, "reconciliation"),
            link(Word::Open, "books"),
            link(Word::Open, "days"),
        ]
    });
    Table::new(context.locale(), Word::Realms, Word::NoTenants, &columns).with(rows)
}

fn limits(context: &PageContext, limits: &Limits) -> Table {
    let locale = context.locale();
    let columns = [(Word::Limit, false), (Word::Value, true)];
    let kinds = LimitKind::ALL.into_iter();
    let kinds = kinds.filter(|kind| kind.is_always_shown() || limits.get(*kind).is_some());
    let rows = kinds.map(|kind| {
        let value = locale.maybe_quantity(limits.get(kind));
        vec![Cell::text(context.say(Word::limit(kind))), value]
    });
    Table::new(locale, Word::LimitsOfTenant, Word::NothingHere, &columns).with(rows)
}

/// The keys, without their secrets.
fn shown_keys(context: &PageContext, keys: Vec<&ApiKey>) -> Table {
    let (locale, now) = (context.locale(), context.engine().now());
    let columns = [
        (Word::Id, false),
        (Word::Label, false),
        (Word::Mode, false),
        (Word::State, false),
        (Word::CreatedAt, false),
        (Word::EndsAt, false),
        (Word::LastUsed, false),
    ];
    let (keys, note, next) = cut(context, keys);
    let rows = keys.into_iter().map(|key| {
        let state = match key.revoked {
            true => "revoked",
            false if !key.works_at(now) => "expired",
            false if key.ends_as_issued() => "active",
            false => "ending",
        };
        let used = context
            .engine()
            .key(&key.id)
            .and_then(|known| known.used.at());
        vec![
            Cell::code(&key.id),
            Cell::maybe(key.label.as_ref()),
            locale.mode(key.mode.as_str()),
            locale.state(state),
            locale.time(key.created_at),
            locale.maybe_time(key.ends_at),
            locale.maybe_time(used),
        ]
    });
    let table = Table::new(locale, Word::Keys, Word::NoKeys, &columns);
    table.with(rows).part(note, next)
}
