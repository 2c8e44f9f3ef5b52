//! The reconciliation of a day: the bank's list beside the ledger's, with what does not agree.

use actix_web::{HttpResponse, web};
use caudal_actors::engine::reconciliation::{Comparison, Wanted};
use caudal_actors::platform::realms;
use caudal_ledger::reconciliation::Agreement;
use caudal_ledger::time::BusinessDay;

use super::view::{Block, Cell, Field, Form, Page, Part, Table, Takes, Tile, Tone};
use super::visit::{Place, Visit};
use super::words::Word;
use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::words::{Mistake, Say as _};
use crate::v1::reconciliation::{ReconciledItem, item, summary};

/// Movements that are shown of a day; the API gives all of them.
const SHOWN_MAX: usize = 200;

/// The realms whose days can be compared.
pub async fn choose(visit: Visit) -> HttpResponse {
    let (tongue, platform) = (visit.tongue(), visit.engine().platform());
    let columns = [
        (Word::Tenant, false),
        (Word::Mode, false),
        (Word::Day, false),
    ];
    let rows = realms(&platform).map(|(tenant, mode)| {
        let place = Place {
            tenant: tenant.id.clone(),
            name: tenant.name.clone(),
            mode,
            realm: tenant.realm(mode),
        };
        vec![
            Cell::text(&tenant.name),
            Cell::text(mode.as_str()),
            Cell::text(visit.say(Word::Today)).to(place.address("reconciliation")),
        ]
    });
    let table = Table::new(tongue, Word::Realms, Word::NoTenants, &columns).with(rows);
    let title = visit.say(Word::Reconciliation);
    visit.show(Ok(visit.page(
        Part::Reconciliation,
        title,
        vec![Block::Table(table)],
    )))
}

/// Compares a day.
pub async fn day(visit: Visit, path: web::Path<(String, String)>) -> HttpResponse {
    let made = compared(&visit, &path).await;
    visit.show(made)
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

async fn compared(visit: &Visit, path: &(String, String)) -> Result<Page, ApiError> {
    let (tongue, place) = (visit.tongue(), visit.place(path)?);
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
        .reconcile_days(place.realm, &wanted, &id)
        .await;
    let mut blocks = vec![Block::Form(form(visit, day, result))];
    match found {
        Ok(found) => blocks.extend(shown(visit, &place, &found)),
        // The form stays, so that another day can be asked for.
        Err(why) => blocks.push(Block::Note(
            Tone::Bad,
            ApiError::of_read(why).text(tongue.0),
        )),
    }
    let title = format!("{} {day}", visit.say(Word::Reconciliation));
    Ok(visit
        .page(Part::Reconciliation, title, blocks)
        .below(place.above(tongue)))
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
