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

use actix_web::HttpResponse;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_http::errors::ApiError;
use caudal_ledger::cases::{SuspenseId, UnbookedId};
use caudal_ledger::collector::CollectorId;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{TransferId, VoucherId};
use caudal_ledger::text::ExternalId;
use caudal_ledger::webhooks::WebhookId;

use super::accounts;
use super::page_context::{PageContext, TenantRealm};
use super::requests;
use super::show::seen;
use super::view::{BRIEF, Block, Cell, Page, Part, Table, Tone};
use super::words::Word;

/// How many realms are searched for a text.
pub(super) const REALMS_MAX: usize = 32;

/// Shows the results of a search.
pub(super) async fn page(context: PageContext) -> HttpResponse {
    let text = context
        .asks("q")
        .filter(|text| text.chars().count() <= accounts::TEXT_MAX);
    let Some(text) = text else {
        let note = Block::Note(Tone::Quiet, context.say(Word::SearchHelp).to_owned());
        let page = context.page(Part::Search, context.say(Word::Search), vec![note]);
        return context.show(Ok(page));
    };
    if let Some(place) = leads(text) {
        return seen(&place);
    }
    let text = text.to_owned();
    let made = async |context: &PageContext, text: &String| looked(context, text).await;
    context.answer(text, made).await
}

/// The page of the one thing that a text names.
fn leads(text: &str) -> Option<String> {
    let cvu = Cvu::parse(text)
        .ok()
        .map(|cvu| format!("/console/accounts/{cvu}"));
    let transfer = || TransferId::parse(text).map(|id| format!("/console/transfers/{id}"));
    let suspense = || SuspenseId::parse(text).map(|id| format!("/console/cases/{id}"));
    let collector = || CollectorId::parse(text).map(|id| format!("/console/cases/{id}"));
    let unbooked = || UnbookedId::parse(text).map(|id| format!("/console/cases/{id}"));
    let webhook = || WebhookId::parse(text).map(|id| format!("/console/webhooks/{id}"));
    let voucher = || VoucherId::parse(text).map(|id| format!("/console/vouchers/{id}"));
    cvu.or_else(transfer)
        .or_else(suspense)
        .or_else(unbooked)
        .or_else(collector)
        .or_else(webhook)
        .or_else(voucher)
}

async fn looked(context: &PageContext, text: &str) -> Result<Page, ApiError> {
    let platform = context.engine().platform();
    let count = realms(&platform).count();
    let all: Vec<_> = realms(&platform)
        .take(REALMS_MAX)
        .map(|(tenant, mode)| TenantRealm::of(tenant, mode))
        .collect();
    let mut blocks = Vec::new();
    let mut whole = count == all.len();
    for place in &all {
        blocks.extend(by_external(context, place, text).await?);
    }
    if requests::is_sure(text) {
        // No account has such a name.
        blocks.extend(requests::found(context, &all, text).await?);
    } else {
        whole &= by_text(context, &all, text, &mut blocks).await?;
    }
    if blocks.is_empty() {
        // Clients choose ids of their requests themselves, too.
        blocks = requests::found(context, &all, text).await?;
    }
    if blocks.is_empty() {
        blocks.push(Block::Note(
            Tone::Warn,
            context.say(Word::NothingFound).to_owned(),
        ));
        blocks.push(Block::Note(
            Tone::Quiet,
            context.say(Word::SearchHelp).to_owned(),
        ));
    }
    if !whole {
        blocks.push(Block::Note(
            Tone::Warn,
            context.say(Word::NotAllRealms).to_owned(),
        ));
    }
    Ok(context.page(
        Part::Search,
        format!("{}: {text}", context.say(Word::Search)),
        blocks,
    ))
}

/// A CVU, with a link to its account.
fn account(cvu: Cvu) -> Cell {
    Cell::code(cvu).to(format!("/console/accounts/{cvu}"))
}

/// The things that a tenant knows under an id of its own.
async fn by_external(
    context: &PageContext,
    place: &TenantRealm,
    text: &str,
) -> Result<Option<Block>, ApiError> {
    let Ok(id) = ExternalId::parse(text) else {
        return Ok(None);
    };
    let (engine, locale) = (context.engine(), context.locale());
    let columns = [
        (Word::Kind, false),
        (Word::Id, false),
        (Word::Cvu, false),
        (Word::Amount, true),
        (Word::At, false),
    ];
    let mut table = Table::new(locale, Word::ByExternalId, Word::NothingFound, &columns);
    match engine
        .queries()
        .voucher_by_external(place.realm, &id, None)
        .await
    {
        Ok(placed) => {
            let voucher = placed.voucher.id(place.realm, placed.account).to_string();
            table.rows.push(vec![
                Cell::text(context.say(Word::Voucher)),
                Cell::code(&voucher).to(format!("/console/vouchers/{voucher}")),
                account(placed.voucher.cvu),
                locale.money(placed.voucher.amount),
                locale.time(placed.voucher.at),
            ]);
        }
        Err(Failure::Rejected(_)) => {}
        Err(why) => return Err(why.into()),
    }
    match engine.queries().transfer_by_external(place.realm, id).await {
        Ok(transfer) => {
            let (view, _) = engine.queries().transfer_of(place.realm, transfer).await?;
            table.rows.push(vec![
                Cell::text(context.say(Word::Transfer)),
                Cell::code(transfer).to(format!("/console/transfers/{transfer}")),
                account(view.transfer.from),
                locale.money(view.transfer.amount),
                locale.time(view.transfer.created_at),
            ]);
        }
        Err(Failure::Rejected(_)) => {}
        Err(why) => return Err(why.into()),
    }
    table = table.of(&place.title(), place.realm.0);
    Ok((!table.rows.is_empty()).then_some(Block::Table(table)))
}

/// Adds accounts in which a text occurs; returns whether all accounts were searched.
async fn by_text(
    context: &PageContext,
    all: &[TenantRealm],
    text: &str,
    blocks: &mut Vec<Block>,
) -> Result<bool, ApiError> {
    let realms = all.iter().map(|place| place.realm).collect();
    let found = context
        .engine()
        .queries()
        .find_accounts(realms, text, BRIEF)
        .await?;
    let whole = found.iter().all(|of| !of.more || !of.accounts.is_empty());
    for place in all {
        let of = found.iter().find(|of| of.realm == place.realm);
        let Some(of) = of.filter(|of| !of.accounts.is_empty()) else {
            continue;
        };
        let locale = context.locale();
        let table = accounts::table(locale, Word::Accounts, place.realm, &of.accounts);
        let table = table.of(&place.title(), place.realm.0);
        let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let list = format!("{}?text={text}", place.address("accounts"));
        blocks.push(Block::Table(table.next(of.more.then_some(list))));
    }
    Ok(whole)
}
