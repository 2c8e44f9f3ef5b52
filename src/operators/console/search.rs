//! The search: one field for CVU, alias, CUIT, name, the tenant's own ids and the bank's, vouchers, holds, transfers, cases,
//! webhooks and requests.
//!
//! **Shape.** A text that names one thing leads right to it, and so does an id of the bank or of the rail. Any other text is
//! searched for in every realm: as the tenant's own id, by its row; as a text in accounts, by the bounded search of the
//! accounts list; as the id of a request, by the records that keep it.
//!
//! **Bounds.** [`REALMS_MAX`] realms, [`BRIEF`] accounts of each, and one bound for the search in all of them
//! ([`Queries::find_accounts`](caudal_actors::engine::Queries::find_accounts)): the page says so if that did not cover
//! everything.

use actix_web::HttpResponse;
use caudal_actors::engine::find::{Found, FoundSummary};
use caudal_actors::platform::realms;
use caudal_http::errors::ApiError;
use caudal_ledger::cases::{SuspenseId, UnbookedId};
use caudal_ledger::collector::CollectorId;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{HoldId, TransferId, VoucherId};
use caudal_ledger::text::ExternalId;
use caudal_ledger::webhooks::WebhookId;

use super::accounts;
use super::page_context::{PageContext, TenantRealm};
use super::requests;
use super::show::seen;
use super::view::{BRIEF, Block, Cell, Page, Part, Tone, table};
use super::words::Word;

/// How many realms are searched for a text.
pub(super) const REALMS_MAX: usize = 32;

/// Shows the results of a search.
pub(super) async fn page(context: PageContext) -> HttpResponse {
    let text = context
        .asks("q")
        .filter(|text| text.chars().count() <= accounts::TEXT_MAX);
    let Some(text) = text else {
        let note = context.note(Tone::Quiet, Word::SearchHelp);
        let page = context.page(Part::Search, context.say(Word::Search), vec![note]);
        return context.show(Ok(page));
    };
    if let Some(place) = leads(text) {
        return seen(&place);
    }
    let text = text.to_owned();
    let (places, _) = covered(&context);
    match find(&context, &places, &text).await {
        Ok(found) => {
            if let Some(place) = only(&found, &text) {
                return seen(&place);
            }
        }
        Err(why) => return context.show(Err(why)),
    }
    let made = async |context: &PageContext, text: &String| looked(context, text).await;
    context.answer(text, made).await
}

/// The page of the one thing that a text names.
fn leads(text: &str) -> Option<String> {
    let cvu = Cvu::parse(text).ok();
    let cvu = cvu.map(|cvu| format!("/console/accounts/{cvu}"));
    let transfer = || TransferId::parse(text).map(|id| format!("/console/transfers/{id}"));
    let suspense = || SuspenseId::parse(text).map(|id| format!("/console/cases/{id}"));
    let collector = || CollectorId::parse(text).map(|id| format!("/console/cases/{id}"));
    let unbooked = || UnbookedId::parse(text).map(|id| format!("/console/cases/{id}"));
    let webhook = || WebhookId::parse(text).map(|id| format!("/console/webhooks/{id}"));
    let voucher = || VoucherId::parse(text).map(|id| format!("/console/vouchers/{id}"));
    // A hold is on the page of the voucher that opened it.
    let hold = || HoldId::parse(text).map(|HoldId(id)| format!("/console/vouchers/{id}"));
    cvu.or_else(transfer)
        .or_else(suspense)
        .or_else(unbooked)
        .or_else(collector)
        .or_else(webhook)
        .or_else(voucher)
        .or_else(hold)
}

/// The realms that a search covers, and whether they are all.
fn covered(context: &PageContext) -> (Vec<TenantRealm>, bool) {
    let platform = context.engine().platform();
    let count = realms(&platform).count();
    let all = realms(&platform).take(REALMS_MAX);
    let all = all.map(|(tenant, mode)| TenantRealm::of(tenant, mode));
    let all: Vec<_> = all.collect();
    let whole = count == all.len();
    (all, whole)
}

/// What an id names in realms.
async fn find<'a>(
    context: &PageContext,
    realms: &'a [TenantRealm],
    id: &str,
) -> Result<Vec<(&'a TenantRealm, Vec<Found>)>, ApiError> {
    let mut all = Vec::new();
    for place in realms {
        let found = context.queries().find(place.realm, id).await?;
        all.push((place, found));
    }
    Ok(all)
}

async fn looked(context: &PageContext, text: &str) -> Result<Page, ApiError> {
    let (all, mut whole) = covered(context);
    let mut blocks = Vec::new();
    for (place, found) in find(context, &all, text).await? {
        blocks.extend(named(context, place, &found));
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
        blocks.push(context.note(Tone::Warn, Word::NothingFound));
        blocks.push(context.note(Tone::Quiet, Word::SearchHelp));
    }
    if !whole {
        blocks.push(context.note(Tone::Warn, Word::NotAllRealms));
    }
    let title = format!("{}: {text}", context.say(Word::Search));
    Ok(context.page(Part::Search, title, blocks))
}

/// The things in a realm that an id names: the tenant's own id, or one of the bank's.
fn named(context: &PageContext, place: &TenantRealm, found: &[Found]) -> Option<Block> {
    let locale = context.locale();
    let table = table! {
        locale, Word::ByAnId, Word::NothingFound; found in found;
        => let kind = match found {
            Found::Voucher(_) => Word::Voucher,
            Found::Transfer(_) => Word::Transfer,
            Found::Case(_) => Word::Case,
        };
        => let it = found.summary(place.realm);
        Kind: Cell::text(context.say(kind));
        Id: Cell::code(&it.id).to(address(&it));
        Cvu: Cell::code(it.cvu).to(format!("/console/accounts/{}", it.cvu));
        Amount figure: locale.money(it.amount);
        At: locale.time(it.at);
    };
    let table = table.of(&place.title(locale), place.realm.0);
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// The address of the page of something found.
fn address(of: &FoundSummary) -> String {
    format!("/console/{}s/{}", of.kind, of.id)
}

/// The page of the one transfer or case that an id of the bank names, or of the one voucher that it moved money by.
fn only(all: &[(&TenantRealm, Vec<Found>)], text: &str) -> Option<String> {
    let own = |found: &Found| match found {
        Found::Voucher(it) => it.voucher.external_id.as_ref().map(ExternalId::as_str) == Some(text),
        Found::Transfer(it) => it.transfer.external_id.as_str() == text,
        Found::Case(_) => false,
    };
    let mut found = all
        .iter()
        .flat_map(|(place, found)| found.iter().map(move |it| (*place, it)));
    let (place, first) = found.next()?;
    // The vouchers of a transfer are on its page.
    let belongs = |(of, it): (&TenantRealm, &Found)| match (first, it) {
        (Found::Transfer(whole), Found::Voucher(it)) => {
            let id = whole.transfer.id(place.realm, whole.account).to_string();
            of.realm == place.realm && it.voucher.reference_id.as_ref() == Some(&id)
        }
        _ => false,
    };
    (!own(first) && found.all(belongs)).then(|| address(&first.summary(place.realm)))
}

/// Adds accounts in which a text occurs; returns whether all accounts were searched.
async fn by_text(
    context: &PageContext,
    all: &[TenantRealm],
    text: &str,
    blocks: &mut Vec<Block>,
) -> Result<bool, ApiError> {
    let realms = all.iter().map(|place| place.realm).collect();
    let found = context.queries().find_accounts(realms, text, BRIEF).await?;
    let whole = found.iter().all(|of| !of.more || !of.accounts.is_empty());
    for place in all {
        let of = found.iter().find(|of| of.realm == place.realm);
        let Some(of) = of.filter(|of| !of.accounts.is_empty()) else {
            continue;
        };
        let locale = context.locale();
        let table = accounts::table(locale, Word::Accounts, place.realm, &of.accounts);
        let table = table.of(&place.title(locale), place.realm.0);
        let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let list = format!("{}?text={text}", place.address("accounts"));
        blocks.push(Block::Table(table.next(of.more.then_some(list))));
    }
    Ok(whole)
}
