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
use caudal_http::words::Say as _;
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::time::BusinessDay;

use super::lists::{asked_day, cut};
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, Field, Form, Page, Part, Table, Takes, Tile, Tone};
use super::words::Word;

/// The parameter for the page with the comparison in it.
const WHOLE: &str = "whole";
/// How many movements of a day are shown; the API gives all of them.
const SHOWN_MAX: usize = 200;

/// The realms whose days can be compared.
pub(super) async fn choose(context: PageContext) -> HttpResponse {
    context
        .answer((), async |context: &PageContext, ()| Ok(chosen(context)))
        .await
}

fn chosen(context: &PageContext) -> Page {
    let (locale, platform) = (context.locale(), context.engine().platform());
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Day, false),
    ];
    let (all, note, next) = cut(context, realms(&platform).collect());
    let rows = all.into_iter().map(|(tenant, mode)| {
        let place = TenantRealm::of(tenant, mode);
        vec![
            Cell::text(&tenant.name),
            locale.mode(mode.as_str()),
            Cell::text(context.say(Word::Today)).to(place.address("reconciliation")),
        ]
    });
    let table = Table::new(locale, Word::Realms, Word::NoTenants, &columns)
        .with(rows)
        .part(note, next);
    let title = context.say(Word::Reconciliation);
    context.page(Part::Reconciliation, title, vec![Block::Table(table)])
}

/// The page of a day; the comparison follows later.
pub(super) async fn day(context: PageContext, path: web::Path<(String, String)>) -> HttpResponse {
    context.answer(path.into_inner(), page).await
}

/// The comparison of a day, as a part by itself.
pub(super) async fn part(context: PageContext, path: web::Path<(String, String)>) -> HttpResponse {
    let made = async |context: &PageContext, path: &_| {
        let (place, asked) = (context.place(path)?, asked(context)?);
        compared(context, &place, asked).await
    };
    context.answer_part(path.into_inner(), made).await
}

fn form(context: &PageContext, day: BusinessDay, result: Option<Agreement>) -> Form {
    let locale = context.locale();
    let any = [(String::new(), context.say(Word::Any).to_owned())];
    let known = Agreement::ALL.map(|it| (it.as_str().to_owned(), locale.state(it.as_str()).text));
    let choices = Takes::Choice(any.into_iter().chain(known).collect());
    let result = result.map_or("", Agreement::as_str);
    Form {
        title: context.say(Word::Day).to_owned(),
        action: context.path.clone(),
        asks: true,
        fields: vec![
            Field::new(locale, "date", Word::Day, Takes::Day, 10).maybe(day.to_string()),
            Field::new(locale, "result", Word::Result, choices, 20).maybe(result),
        ],
        submit: context.say(Word::Show),
        grave: false,
    }
}

/// The day and the result that a visit asks for.
fn asked(context: &PageContext) -> Result<(BusinessDay, Option<Agreement>), ApiError> {
    let day = asked_day(context)?;
    let asked = context.asks("result");
    let result = Agreement::ALL
        .into_iter()
        .find(|it| asked == Some(it.as_str()));
    Ok((day, result))
}

async fn page(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let (day, result) = asked(context)?;
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
    Ok(context
        .page(Part::Reconciliation, title, blocks)
        .below(place.above(locale)))
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
    let found = context
        .engine()
        .queries()
        .reconcile_days(place.realm, &wanted, &id)
        .await;
    Ok(match found {
        Ok(found) => shown(context, place, &found).into(),
        Err(why) if !context.is_page() => return Err(why.into()),
        // The form stays, so that another day can be asked for.
        Err(why) => vec![Block::Note(
            Tone::Bad,
            ApiError::from(why).text(context.locale().0),
        )],
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
    let facts = vec![
        (context.say(Word::AmountIn), locale.money(sums.amount_in)),
        (context.say(Word::AmountOut), locale.money(sums.amount_out)),
        (
            context.say(Word::Contradicted),
            locale.count(sums.contradicted),
        ),
    ];
    let items = found
        .items
        .iter()
        .map(|(day, it)| item(place.realm, *day, it));
    let mut table = table(context, items);
    if found.next.is_some() {
        table.note = Some(context.say(Word::MoreByApi).to_owned());
    }
    [
        Block::Tiles(counts.into()),
        Block::Facts(context.say(Word::BankSays).to_owned(), facts),
        Block::Table(table),
    ]
}

fn table(context: &PageContext, items: impl Iterator<Item = ReconciledItem>) -> Table {
    let locale = context.locale();
    let columns = [
        (Word::Result, false),
        (Word::At, false),
        (Word::Direction, false),
        (Word::Cvu, false),
        (Word::Amount, true),
        (Word::Counterparty, false),
        (Word::CoelsaId, false),
        (Word::Voucher, false),
        (Word::Transfer, false),
    ];
    let link = |kind: &str, id: Option<String>| {
        id.map_or_else(
            || Cell::text(""),
            |id| {
                let place = format!("/console/{kind}/{id}");
                Cell::text(context.say(Word::Open)).to(place).with_raw(id)
            },
        )
    };
    let rows = items.map(|it| {
        let other = it.counterparty;
        let at = it
            .bank_at
            .map_or_else(|| Cell::text(""), |at| locale.time_of(&at));
        vec![
            locale.state(it.class.unwrap_or(it.result)),
            at,
            locale.state(it.direction),
            Cell::code(it.cvu),
            locale.money(it.amount),
            Cell::maybe(other.name.or(other.cbu)),
            Cell::maybe_code(it.coelsa_id),
            link("vouchers", it.voucher.map(|voucher| voucher.id)),
            link("transfers", it.transfer_id),
        ]
    });
    Table::new(locale, Word::Movements, Word::NoMovements, &columns).with(rows)
}
