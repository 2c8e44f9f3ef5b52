//! Tenants: their data, their keys, and links to the contents of each realm.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web};
use caudal_http::errors::ApiError;
use caudal_ledger::limits::LimitKind;
use caudal_ledger::tenants::{ApiKey, Mode, Tenant};

use super::lists::cut;
use super::view::{Block, Cell, Page, Part, Table, Tone};
use super::visit::{Place, Visit};
use super::words::Word;

/// Lists the tenants.
pub(super) async fn list(visit: Visit) -> HttpResponse {
    let made = Ok(all(&visit));
    visit.show(made)
}

fn all(visit: &Visit) -> Page {
    let (tongue, platform) = (visit.tongue(), visit.engine().platform());
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
    let (found, note, next) = cut(visit, found);
    let rows = found.into_iter().map(|tenant| {
        vec![
            Cell::text(&tenant.name).to(format!("/console/tenants/{}", tenant.id)),
            Cell::code(&tenant.id),
            tongue.count(keys.get(tenant.id.as_str()).map_or(0, |count| *count)),
            tongue.time(tenant.created_at),
        ]
    });
    let table = Table::new(tongue, Word::Tenants, Word::NoTenants, &columns)
        .with(rows)
        .part(note, next);
    let blocks = vec![Block::Table(table)];
    visit.page(Part::Tenants, visit.say(Word::Tenants), blocks)
}

/// Shows a tenant.
pub(super) async fn one(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = tenant(&visit, &path).await;
    visit.show(made)
}

async fn tenant(visit: &Visit, id: &str) -> Result<Page, ApiError> {
    let (tongue, platform) = (visit.tongue(), visit.engine().platform());
    let found = platform.tenant(id)?;
    let mut keys: Vec<_> = platform
        .keys
        .values()
        .filter(|key| key.tenant == found.id)
        .collect();
    keys.sort_by_key(|key| std::cmp::Reverse((key.created_at, key.id.clone())));
    let facts = vec![
        (visit.say(Word::Id), Cell::code(&found.id)),
        (visit.say(Word::CreatedAt), tongue.time(found.created_at)),
        (
            visit.say(Word::CloseNeedsZero),
            tongue.is(found.policy.close_requires_zero_balance, Tone::Quiet),
        ),
        (
            visit.say(Word::RelaxedCuit),
            tongue.is(found.policy.relaxed_test_cuit, Tone::Quiet),
        ),
    ];
    let blocks = vec![
        Block::Table(realms(visit, found)),
        Block::Facts(visit.say(Word::Tenant).to_owned(), facts),
        Block::Table(limits(visit, found)),
        Block::Table(shown_keys(visit, keys)),
    ];
    let above = vec![(
        visit.say(Word::Tenants).to_owned(),
        "/console/tenants".to_owned(),
    )];
    Ok(visit.page(Part::Tenants, &found.name, blocks).below(above))
}

/// The two realms with links to the contents of each.
fn realms(visit: &Visit, tenant: &Tenant) -> Table {
    let columns = [
        Word::Mode,
        Word::Realm,
        Word::Accounts,
        Word::Vouchers,
        Word::Transfers,
    ];
    let more = [Word::Events, Word::Positions, Word::Reconciliation];
    let columns: Vec<_> = columns
        .into_iter()
        .chain(more)
        .map(|word| (word, false))
        .collect();
    let rows = [Mode::Live, Mode::Test].map(|mode| {
        let place = Place::of(tenant, mode);
        let link = |word: Word, what: &str| Cell::text(visit.say(word)).to(place.address(what));
        vec![
            Cell::text(mode.as_str()),
            Cell::code(place.realm.0),
            link(Word::Open, "accounts"),
            link(Word::Open, "vouchers"),
            link(Word::Open, "transfers"),
            link(Word::Open, "events"),
            link(Word::Open, "positions"),
            link(Word::Open, "reconciliation"),
        ]
    });
    Table::new(visit.tongue(), Word::Realms, Word::NoTenants, &columns).with(rows)
}

fn limits(visit: &Visit, tenant: &Tenant) -> Table {
    let (tongue, limits) = (visit.tongue(), &tenant.limits);
    let columns = [(Word::Limit, false), (Word::Value, true)];
    let rows = LimitKind::ALL.map(|kind| {
        let value = tongue.maybe_quantity(limits.get(kind));
        vec![Cell::text(visit.say(Word::limit(kind))), value]
    });
    Table::new(tongue, Word::LimitsOfTenant, Word::NothingHere, &columns).with(rows)
}

/// The keys, without their secrets.
fn shown_keys(visit: &Visit, keys: Vec<&ApiKey>) -> Table {
    let (tongue, now) = (visit.tongue(), visit.engine().now());
    let columns = [
        (Word::Id, false),
        (Word::Label, false),
        (Word::Mode, false),
        (Word::State, false),
        (Word::CreatedAt, false),
        (Word::EndsAt, false),
        (Word::LastUsed, false),
    ];
    let (keys, note, next) = cut(visit, keys);
    let rows = keys.into_iter().map(|key| {
        let state = match key.revoked {
            true => "revoked",
            false if !key.works_at(now) => "expired",
            false if key.ends_as_issued() => "active",
            false => "ending",
        };
        let used = visit
            .engine()
            .key(&key.id)
            .and_then(|known| known.used.at());
        vec![
            Cell::code(&key.id),
            Cell::maybe(key.label.as_ref()),
            Cell::text(key.mode.as_str()),
            tongue.state(state),
            tongue.time(key.created_at),
            tongue.maybe_time(key.ends_at),
            tongue.maybe_time(used),
        ]
    });
    let table = Table::new(tongue, Word::Keys, Word::NoKeys, &columns);
    table.with(rows).part(note, next)
}
