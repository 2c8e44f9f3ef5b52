//! The search: one field for CVU, alias, CUIT, name, the tenant's own ids, vouchers, transfers, cases, webhooks and
//! requests.
//!
//! **Shape.** A text that names one thing leads right to it. Any other text is searched for in every realm: as the
//! tenant's own id, by its row; as a text in accounts, by the bounded search of the accounts list; as the id of a
//! request, by the records that keep it.
//!
//! **Bounds.** [`REALMS_MAX`] realms, [`BRIEF`] accounts of each, and one bound for the search in all of them
//! ([`Queries::find_accounts`](caudal_actors::engine::Queries::find_accounts)): the page says so if that did not cover
//! everything.

use std::collections::BTreeSet;

use actix_web::HttpResponse;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_http::errors::ApiError;
use caudal_ledger::cases::{SuspenseId, UnbookedId};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{TransferId, VoucherId};
use caudal_ledger::text::ExternalId;
use caudal_ledger::webhooks::WebhookId;

use super::accounts;
use super::requests;
use super::show::seen;
use super::view::{BRIEF, Block, Cell, Page, Part, Table, Tone};
use super::visit::{Place, Visit};
use super::words::Word;

/// How many realms are searched for a text.
pub(super) const REALMS_MAX: usize = 32;

/// Shows the results of a search.
pub(super) async fn page(visit: Visit) -> HttpResponse {
    let text = visit
        .asks("q")
        .filter(|text| text.chars().count() <= accounts::TEXT_MAX);
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

/// The page of the one thing that a text names.
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
    let count = realms(&platform).count();
    let all: Vec<_> = realms(&platform)
        .take(REALMS_MAX)
        .map(|(tenant, mode)| Place::of(tenant, mode))
        .collect();
    let mut blocks = Vec::new();
    let mut whole = count == all.len();
    for place in &all {
        blocks.extend(by_external(visit, place, text).await?);
    }
    if requests::is_sure(text) {
        // No account has such a name.
        blocks.extend(requests::found(visit, &all, text).await?);
    } else {
        whole &= by_text(visit, &all, text, &mut blocks).await?;
    }
    if blocks.is_empty() {
        // Clients choose ids of their requests themselves, too.
        blocks = requests::found(visit, &all, text).await?;
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
    if !whole {
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

/// The things that a tenant knows under an id of its own.
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
    match engine
        .queries()
        .voucher_by_external(place.realm, &id, None)
        .await
    {
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
    match engine.queries().transfer_by_external(place.realm, id).await {
        Ok(transfer) => {
            let (view, _) = engine.queries().transfer_of(place.realm, transfer).await?;
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

/// Adds accounts in which a text occurs; returns whether all accounts were searched.
async fn by_text(
    visit: &Visit,
    all: &[Place],
    text: &str,
    blocks: &mut Vec<Block>,
) -> Result<bool, ApiError> {
    let realms = all.iter().map(|place| place.realm).collect();
    let found = visit
        .engine()
        .queries()
        .find_accounts(realms, text, BRIEF)
        .await?;
    let whole = found.iter().all(|of| !of.more || !of.accounts.is_empty());
    let (mut shown, mut tables) = (BTreeSet::new(), Vec::new());
    for place in all {
        let of = found.iter().find(|of| of.realm == place.realm);
        let Some(of) = of.filter(|of| !of.accounts.is_empty()) else {
            continue;
        };
        shown.insert(place.tenant.as_str());
        let tongue = visit.tongue();
        let mut table = accounts::table(tongue, Word::Accounts, place.realm, &of.accounts);
        table.title = format!("{} · {}", table.title, place.title());
        let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let list = format!("{}?text={text}", place.address("accounts"));
        tables.push(Block::Table(table.next(of.more.then_some(list))));
    }
    for tenant in shown {
        // The tenant whose accounts were shown, and not the text: that may name a person.
        visit.looks("listAccounts", tenant).await?;
    }
    blocks.extend(tables);
    Ok(whole)
}
