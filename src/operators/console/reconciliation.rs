//! The reconciliation of a day: the bank's list next to the ledger's, with the differences.
//!
//! **Shape.** The page has the form and is there at once; the comparison follows as a part, because it takes as long
//! as the bank takes to give its list of the day, however many movements that has. Without scripts a link leads to
//! both together.

use actix_web::{HttpResponse, web};
use caudal_actors::engine::reconciliation::{Comparison, RangeQuery};
use caudal_actors::platform::realms;
use caudal_http::bodies::reconciliation::{ReconciledItem, item, summary};
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_ledger::ids::RealmId;
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::time::BusinessDay;

use super::lists::{asked_day, cut};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Field, Form, Page, Part, Table, Takes, Tile, facts, table};
use super::words::Word;

/// The parameter for the page with the comparison in it.
const WHOLE: &str = "whole";
/// How many movements of a day are shown; the API gives all of them.
const SHOWN_MAX: usize = 200;

/// The realms whose days can be compared.
pub(super) async fn choose(context: &PageContext) -> Result<Page, ApiError> {
    let (locale, platform) = (context.locale(), context.engine().platform());
    let (all, note, next) = cut(context, realms(&platform).collect());
    let table = table! {
        locale, Word::Realms, Word::NoTenants; (tenant, mode) in all.into_iter();
        => let place = TenantRealm::of(tenant, mode);
        Tenant: Cell::text(&tenant.name);
        Mode: locale.mode(mode.as_str());
        Day: Cell::text(context.say(Word::Today)).to(place.address("reconciliation"));
    }
    .part(note, next);
    let title = context.say(Word::Reconciliation);
    Ok(context.page(Part::Reconciliation, title, vec![Block::Table(table)]))
}

/// The comparison of a day, as a part by itself.
pub(super) async fn part(context: PageContext, path: web::Path<(String, String)>) -> HttpResponse {
    let made = async |context: &PageContext, path: &_| {
        let place = context.place(path)?;
        let asked = asked(context, place.realm)?;
        compared(context, &place, asked).await
    };
    context.answer_part(path.into_inner(), made).await
}

fn form(context: &PageContext, day: BusinessDay, result: Option<Agreement>) -> Form {
    let locale = context.locale();
    let choices = Takes::any_of(locale, Agreement::ALL.map(Agreement::as_str));
    let result = result.map_or("", Agreement::as_str);
    let fields = vec![
        Field::new(locale, "date", Word::Day, Takes::Day, 10).maybe(day.to_string()),
        Field::new(locale, "result", Word::Result, choices, 20).maybe(result),
    ];
    context.query(Word::Day, Word::Show, fields)
}

/// The day and the result that a visit asks for.
fn asked(
    context: &PageContext,
    realm: RealmId,
) -> Result<(BusinessDay, Option<Agreement>), ApiError> {
    let day = asked_day(context, realm)?;
    let asked = context.asks("result");
    let mut all = Agreement::ALL.into_iter();
    let result = all.find(|it| asked == Some(it.as_str()));
    Ok((day, result))
}

/// The page of a day; the comparison follows later.
pub(super) async fn day(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let place = context.place(path)?;
    let (day, result) = asked(context, place.realm)?;
    let mut blocks = vec![Block::Form(form(context, day, result))];
    if context.asks(WHOLE).is_some() {
        blocks.extend(compared(context, &place, (day, result)).await?);
    } else {
        let query = match result {
            Some(result) => format!("date={day}&result={}", result.as_str()),
            None => format!("date={day}"),
        };
        let (tenant, mode) = (&place.tenant, place.mode.as_str());
        blocks.push(Block::Later {
            part: format!("/console/parts/reconciliation/{tenant}/{mode}?{query}"),
            waiting: context.say(Word::AskingBank),
            instead: (
                format!("{}?{query}&{WHOLE}=yes", context.path),
                context.say(Word::Show),
            ),
        });
    }
    let title = format!("{} {day}", context.say(Word::Reconciliation));
    Ok(context.page_in(&place, Part::Reconciliation, title, blocks))
}

async fn compared(
    context: &PageContext,
    place: &TenantRealm,
    (day, result): (BusinessDay, Option<Agreement>),
) -> Result<Vec<Block>, ApiError> {
    let wanted = RangeQuery {
        from: day,
        to: day,
        result,
        after: None,
        // A file has all of them.
        limit: context.is_page().then_some(SHOWN_MAX),
        counted: None,
    };
    let id = current::request().id;
    let queries = context.queries();
    let found = queries.reconcile_days(place.realm, &wanted, &id).await;
    Ok(match found {
        Ok(found) => shown(context, place, &found).into(),
        Err(why) => vec![context.failed(why.into())?],
    })
}

fn shown(context: &PageContext, place: &TenantRealm, found: &Comparison) -> [Block; 3] {
    let (locale, tally) = (context.locale(), &found.counted.tally);
    let sums = summary(tally);
    let counts = Agreement::ALL.map(|it| Tile {
        label: locale.named(it.as_str()),
        cell: locale.count(tally.of(it)),
        hint: String::new(),
    });
    let facts = facts! {
        context, BankSays;
        AmountIn: locale.money(sums.amount_in);
        AmountOut: locale.money(sums.amount_out);
        Contradicted: locale.count(sums.contradicted);
    };
    let items = found.items.iter();
    let items = items.map(|(day, it)| item(place.realm, *day, it));
    let mut table = table(context, items);
    if found.next.is_some() {
        table.note = Some(context.say(Word::MoreByApi).to_owned());
    }
    [Block::Tiles(counts.into()), facts, Block::Table(table)]
}

fn table(context: &PageContext, items: impl Iterator<Item = ReconciledItem>) -> Table {
    let locale = context.locale();
    let link = |kind: &str, id: Option<String>| {
        id.map_or_else(
            || Cell::text(""),
            |id| {
                let place = format!("/console/{kind}/{id}");
                Cell::text(context.say(Word::Open)).to(place).with_raw(id)
            },
        )
    };
    table! {
        locale, Word::Movements, Word::NoMovements; it in items;
        => let other = it.counterparty;
        Result: locale.state(it.class.unwrap_or(it.result));
        At: it.bank_at.map_or_else(|| Cell::text(""), |at| locale.time_of(&at));
        Direction: locale.state(it.direction);
        Cvu: Cell::code(it.cvu);
        Amount figure: locale.money(it.amount);
        Counterparty: Cell::maybe(other.name.or(other.cbu));
        CoelsaId: Cell::maybe_code(it.coelsa_id);
        Voucher: link("vouchers", it.voucher.map(|voucher| voucher.id));
        Transfer: link("transfers", it.transfer_id);
    }
}
