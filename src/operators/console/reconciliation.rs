//! The reconciliation of a day: the bank's list beside the ledger's, with the differences.
//!
//! **Shape.** The page has the form and is there at once; the comparison follows as a part, because it takes as long
//! as the bank takes to give its list of the day, however many movements that has. Without scripts a link leads to
//! both together.

use actix_web::{HttpResponse, web};
use caudal_actors::engine::reconciliation::{Comparison, Wanted};
use caudal_actors::platform::realms;
use caudal_http::bodies::reconciliation::{ReconciledItem, item, summary};
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_http::words::{Mistake, Say as _};
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::time::BusinessDay;

use super::lists::cut;
use super::view::{Block, Cell, Field, Form, Page, Part, Table, Takes, Tile, Tone};
use super::visit::{Place, Visit};
use super::words::Word;

/// The parameter for the page with the comparison in it.
const WHOLE: &str = "whole";
/// How many movements of a day are shown; the API gives all of them.
const SHOWN_MAX: usize = 200;

/// The realms whose days can be compared.
pub(super) async fn choose(visit: Visit) -> HttpResponse {
    let (tongue, platform) = (visit.tongue(), visit.engine().platform());
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Day, false),
    ];
    let (all, note, next) = cut(&visit, realms(&platform).collect());
    let rows = all.into_iter().map(|(tenant, mode)| {
        let place = Place::of(tenant, mode);
        vec![
            Cell::text(&tenant.name),
            Cell::text(mode.as_str()),
            Cell::text(visit.say(Word::Today)).to(place.address("reconciliation")),
        ]
    });
    let table = Table::new(tongue, Word::Realms, Word::NoTenants, &columns)
        .with(rows)
        .part(note, next);
    let title = visit.say(Word::Reconciliation);
    visit.show(Ok(visit.page(
        Part::Reconciliation,
        title,
        vec![Block::Table(table)],
    )))
}

/// The page of a day; the comparison follows later.
pub(super) async fn day(visit: Visit, path: web::Path<(String, String)>) -> HttpResponse {
    let made = page(&visit, &path).await;
    visit.show(made)
}

/// The comparison of a day, as a part by itself.
pub(super) async fn part(visit: Visit, path: web::Path<(String, String)>) -> HttpResponse {
    let made = async {
        let (place, asked) = (visit.place(&path)?, asked(&visit)?);
        compared(&visit, &place, asked).await
    };
    let made = made.await;
    visit.show_part(made)
}

fn form(visit: &Visit, day: BusinessDay, result: Option<Agreement>) -> Form {
    let tongue = visit.tongue();
    let any = [(String::new(), visit.say(Word::Any).to_owned())];
    let known = Agreement::ALL.map(|it| (it.as_str().to_owned(), tongue.state(it.as_str()).text));
    let choices = Takes::Choice(any.into_iter().chain(known).collect());
    let result = result.map_or("", Agreement::as_str);
    Form {
        title: visit.say(Word::Day).to_owned(),
        action: visit.path.clone(),
        asks: true,
        fields: vec![
            Field::new(tongue, "date", Word::Day, Takes::Day, 10).maybe(day.to_string()),
            Field::new(tongue, "result", Word::Result, choices, 20).maybe(result),
        ],
        submit: visit.say(Word::Show),
        grave: false,
    }
}

/// The day and the result that a visit asks for.
fn asked(visit: &Visit) -> Result<(BusinessDay, Option<Agreement>), ApiError> {
    let today = visit.engine().now().business_day();
    let day = match visit.asks("date") {
        None => today,
        Some(text) => {
            BusinessDay::parse(text).ok_or_else(|| ApiError::field("date", Mistake::NotADate))?
        }
    };
    if day > today {
        return Err(ApiError::field("date", Mistake::InTheFuture));
    }
    let asked = visit.asks("result");
    let result = Agreement::ALL
        .into_iter()
        .find(|it| asked == Some(it.as_str()));
    Ok((day, result))
}

async fn page(visit: &Visit, path: &(String, String)) -> Result<Page, ApiError> {
    let (tongue, place) = (visit.tongue(), visit.place(path)?);
    let (day, result) = asked(visit)?;
    let mut blocks = vec![Block::Form(form(visit, day, result))];
    if visit.asks(WHOLE).is_some() {
        blocks.extend(compared(visit, &place, (day, result)).await?);
    } else {
        let query = match result {
            Some(result) => format!("date={day}&result={}", result.as_str()),
            None => format!("date={day}"),
        };
        let (tenant, mode) = (&place.tenant, place.mode.as_str());
        blocks.push(Block::Later {
            part: format!("/console/parts/reconciliation/{tenant}/{mode}?{query}"),
            waiting: visit.say(Word::AskingBank),
            instead: (
                format!("{}?{query}&{WHOLE}=yes", visit.path),
                visit.say(Word::Show),
            ),
        });
    }
    let title = format!("{} {day}", visit.say(Word::Reconciliation));
    Ok(visit
        .page(Part::Reconciliation, title, blocks)
        .below(place.above(tongue)))
}

async fn compared(
    visit: &Visit,
    place: &Place,
    (day, result): (BusinessDay, Option<Agreement>),
) -> Result<Vec<Block>, ApiError> {
    visit.looks("reconcile", &place.tenant).await?;
    let wanted = Wanted {
        from: day,
        to: day,
        result,
        after: None,
        limit: Some(SHOWN_MAX),
        counted: None,
    };
    let id = current::request().id;
    let found = visit
        .engine()
        .queries()
        .reconcile_days(place.realm, &wanted, &id)
        .await;
    Ok(match found {
        Ok(found) => shown(visit, place, &found).into(),
        // The form stays, so that another day can be asked for.
        Err(why) => vec![Block::Note(
            Tone::Bad,
            ApiError::from(why).text(visit.tongue().0),
        )],
    })
}

fn shown(visit: &Visit, place: &Place, found: &Comparison) -> [Block; 3] {
    let (tongue, tally) = (visit.tongue(), &found.counted.tally);
    let sums = summary(tally);
    let counts = Agreement::ALL.map(|it| Tile {
        label: tongue.named(it.as_str()),
        cell: tongue.count(tally.of(it)),
        hint: String::new(),
    });
    let facts = vec![
        (visit.say(Word::AmountIn), tongue.money(sums.amount_in)),
        (visit.say(Word::AmountOut), tongue.money(sums.amount_out)),
        (
            visit.say(Word::Contradicted),
            tongue.count(sums.contradicted),
        ),
    ];
    let items = found
        .items
        .iter()
        .map(|(day, it)| item(place.realm, *day, it));
    let mut table = table(visit, items);
    if found.next.is_some() {
        table.note = Some(visit.say(Word::MoreByApi).to_owned());
    }
    [
        Block::Tiles(counts.into()),
        Block::Facts(visit.say(Word::BankSays).to_owned(), facts),
        Block::Table(table),
    ]
}

fn table(visit: &Visit, items: impl Iterator<Item = ReconciledItem>) -> Table {
    let tongue = visit.tongue();
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
        let place = id.as_ref().map(|id| format!("/console/{kind}/{id}"));
        let open = id.map_or("", |_| visit.say(Word::Open));
        Cell::text(open).leads(place)
    };
    let rows = items.map(|it| {
        let other = it.counterparty;
        let at = it
            .bank_at
            .map_or_else(|| Cell::text(""), |at| tongue.time_of(&at));
        vec![
            tongue.state(it.result),
            at,
            tongue.state(it.direction),
            Cell::code(it.cvu),
            tongue.money(it.amount),
            Cell::maybe(other.name.or(other.cbu)),
            Cell::maybe_code(it.coelsa_id),
            link("vouchers", it.voucher.map(|voucher| voucher.id)),
            link("transfers", it.transfer_id),
        ]
    });
    Table::new(tongue, Word::Movements, Word::NoMovements, &columns).with(rows)
}
