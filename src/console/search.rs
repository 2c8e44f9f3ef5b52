//! The search: one field for CVU, alias, CUIT, name, the tenant's own ids, vouchers, transfers, cases and webhooks.
//!
//! **Shape.** What names one thing leads right to it. Anything else is looked for in every realm: as the tenant's own id,
//! by its row; as a text in accounts, by the bounded look of the accounts list.
//!
//! **Bounds.** [`REALMS_MAX`] realms, [`BRIEF`] accounts of each; the look of a realm has the bound of its list, and no
//! further realm is begun after [`PATIENCE`]: the page says so then.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use caudal_actors::engine::lists::{AccountFilter, AccountScope, AccountSort, ListPage};
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_ledger::cases::{SuspenseId, UnbookedId};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{TransferId, VoucherId};
use caudal_ledger::text::ExternalId;
use caudal_ledger::webhooks::WebhookId;
use caudal_storage::SortOrder;

use super::accounts;
use super::show::seen;
use super::view::{BRIEF, Block, Cell, Page, Part, Table, Tone};
use super::visit::{Place, Visit};
use super::words::Word;
use crate::http::errors::ApiError;

/// How many realms are looked through for a text.
pub const REALMS_MAX: usize = 32;
/// How many of them in any case, however busy the machine is.
pub const REALMS_MIN: usize = 4;
/// After so long no further realm is looked through for a text.
pub const PATIENCE: Duration = Duration::from_millis(200);
/// The longest text that is looked for, in characters.
const TEXT_MAX: usize = 200;

/// Finds it.
pub async fn page(visit: Visit) -> HttpResponse {
    let text = visit
        .asks("q")
        .filter(|text| text.chars().count() <= TEXT_MAX);
    let Some(text) = text else {
        let note = Block::Note(Tone::Quiet, visit.say(Word::SearchHelp).to_owned());
        let page = visit.page(Part::Search, visit.say(Word::Search), vec![note]);
        return visit.show(Ok(page));
    };
    if let Some(place) = leads(text) {
        return seen(&place);
    }
    let made = looked(&visit, text).await;
    visit.show(made)
}

/// The page of what a text names by itself.
fn leads(text: &str) -> Option<String> {
    let cvu = Cvu::parse(text)
        .ok()
        .map(|cvu| format!("/console/accounts/{cvu}"));
    let transfer = || TransferId::parse(text).map(|id| format!("/console/transfers/{id}"));
    let suspense = || SuspenseId::parse(text).map(|id| format!("/console/cases/{id}"));
    let unbooked = || UnbookedId::parse(text).map(|id| format!("/console/cases/{id}"));
    let webhook = || WebhookId::parse(text).map(|id| format!("/console/webhooks/{id}"));
    let voucher = || VoucherId::parse(text).map(|id| format!("/console/vouchers/{id}"));
    cvu.or_else(transfer)
        .or_else(suspense)
        .or_else(unbooked)
        .or_else(webhook)
        .or_else(voucher)
}

async fn looked(visit: &Visit, text: &str) -> Result<Page, ApiError> {
    let platform = visit.engine().platform();
    let all: Vec<_> = realms(&platform)
        .map(|(tenant, mode)| Place {
            tenant: tenant.id.clone(),
            name: tenant.name.clone(),
            mode,
            realm: tenant.realm(mode),
        })
        .collect();
    let (mut blocks, mut looked, begun) = (Vec::new(), 0, Instant::now());
    let mut shown = BTreeSet::new();
    for place in all.iter().take(REALMS_MAX) {
        blocks.extend(by_external(visit, place, text).await?);
        if looked < REALMS_MIN || begun.elapsed() < PATIENCE {
            let found = by_text(visit, place, text).await?;
            if found.is_some() {
                shown.insert(place.tenant.as_str());
            }
            blocks.extend(found);
            looked += 1;
        }
    }
    if !shown.is_empty() {
        // Whose people were shown, and not what was asked for: that may name one.
        let tenants: Vec<_> = shown.into_iter().collect();
        visit.looks("listAccounts", &tenants.join(" ")).await?;
    }
    if blocks.is_empty() {
        blocks.push(Block::Note(
            Tone::Warn,
            visit.say(Word::NothingFound).to_owned(),
        ));
        blocks.push(Block::Note(
            Tone::Quiet,
            visit.say(Word::SearchHelp).to_owned(),
        ));
    }
    if looked < all.len() {
        blocks.push(Block::Note(
            Tone::Warn,
            visit.say(Word::NotAllRealms).to_owned(),
        ));
    }
    Ok(visit.page(
        Part::Search,
        format!("{}: {text}", visit.say(Word::Search)),
        blocks,
    ))
}

/// What a tenant knows under an id of its own.
async fn by_external(visit: &Visit, place: &Place, text: &str) -> Result<Option<Block>, ApiError> {
    let Ok(id) = ExternalId::parse(text) else {
        return Ok(None);
    };
    let (engine, tongue) = (visit.engine(), visit.tongue());
    let columns = [
        (Word::Kind, false),
        (Word::Id, false),
        (Word::Amount, true),
        (Word::At, false),
    ];
    let mut table = Table::new(tongue, Word::ByExternalId, Word::NothingFound, &columns);
    match engine.voucher_by_external(place.realm, &id, None).await {
        Ok(placed) => {
            let voucher = placed.voucher.id(place.realm, placed.account).to_string();
            table.rows.push(vec![
                Cell::text(visit.say(Word::Voucher)),
                Cell::code(&voucher).to(format!("/console/vouchers/{voucher}")),
                tongue.money(placed.voucher.amount),
                tongue.time(placed.voucher.at),
            ]);
        }
        Err(Failure::Rejected(_)) => {}
        Err(why) => return Err(why.into()),
    }
    match engine.transfer_by_external(place.realm, id).await {
        Ok(transfer) => {
            let (view, _) = engine.transfer_of(place.realm, transfer).await?;
            table.rows.push(vec![
                Cell::text(visit.say(Word::Transfer)),
                Cell::code(transfer).to(format!("/console/transfers/{transfer}")),
                tongue.money(view.transfer.amount),
                tongue.time(view.transfer.created_at),
            ]);
        }
        Err(Failure::Rejected(_)) => {}
        Err(why) => return Err(why.into()),
    }
    table.title = format!("{} · {}", table.title, place.title());
    Ok((!table.rows.is_empty()).then_some(Block::Table(table)))
}

/// Accounts that have a text in alias, CUIT, name, e-mail or code.
async fn by_text(visit: &Visit, place: &Place, text: &str) -> Result<Option<Block>, ApiError> {
    let page = ListPage {
        order: SortOrder::Descending,
        limit: BRIEF,
        offset: 0,
        cursor: None,
    };
    let mut found = Vec::new();
    let mut more = false;
    for scope in [AccountScope::WithCvu, AccountScope::Everyone] {
        let filter = AccountFilter {
            text: Some(text.to_owned()),
            scope,
            ..AccountFilter::default()
        };
        let listing = visit
            .engine()
            .accounts(place.realm, filter, AccountSort::CreatedAt, page)
            .await?;
        more |= listing.next.is_some();
        for account in listing.items {
            if found
                .iter()
                .all(|known: &caudal_ledger::accounts::Account| known.number != account.number)
            {
                found.push(account);
            }
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut table = accounts::table(visit.tongue(), Word::Accounts, place.realm, &found);
    table.title = format!("{} · {}", table.title, place.title());
    let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    let whole = format!("{}?text={text}", place.address("accounts"));
    Ok(Some(Block::Table(table.next(more.then_some(whole)))))
}
