//! A day of a realm's collector account: the bank's statement with what each movement is, and the equation of the day.

use actix_web::{HttpResponse, web};
use caudal_http::bodies::collector::{CollectorDayBody, CollectorMovementBody};
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_http::words::Say as _;

use super::lists::asked_day;
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, CellKind, Field, Form, Page, Part, Table, Takes, Tile, Tone};
use super::words::Word;

/// How many movements of a day are shown; the API gives all of them.
const SHOWN_MAX: usize = 500;

/// Shows the day.
pub(super) async fn day(context: PageContext, path: web::Path<(String, String)>) -> HttpResponse {
    context.answer(path.into_inner(), page).await
}

async fn page(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let day = asked_day(context)?;
    let mut blocks = vec![Block::Form(Form {
        title: context.say(Word::Day).to_owned(),
        action: context.path.clone(),
        asks: true,
        fields: vec![Field::new(locale, "date", Word::Day, Takes::Day, 10).maybe(day.to_string())],
        submit: context.say(Word::Show),
        grave: false,
    })];
    let queries = context.engine().queries();
    let id = current::request().id;
    match queries.collector_day(place.realm, day, &id).await {
        Ok(report) => {
            let collector = queries.collector(place.realm);
            let body = CollectorDayBody::of(place.realm, collector, &report);
            blocks.extend(shown(context, &place, body));
        }
        Err(why) if !context.is_page() => return Err(why.into()),
        // The form stays, so that another day can be asked for.
        Err(why) => {
            let text = ApiError::from(why).text(locale.0);
            blocks.push(Block::Note(Tone::Bad, text));
        }
    }
    let title = format!("{} {day}", context.say(Word::CollectorDay));
    Ok(context
        .page(Part::Treasury, title, blocks)
        .below(place.above(locale)))
}

fn shown(context: &PageContext, place: &TenantRealm, body: CollectorDayBody) -> [Block; 2] {
    let locale = context.locale();
    let unexplained = body.unexplained.as_ref().map(|it| it.to_string() != "0.00");
    let state = match unexplained {
        Some(false) => Tone::Good,
        Some(true) => Tone::Bad,
        None => Tone::Warn,
    };
    let open = place.address("reconciliation");
    let tiles = [
        (Word::Opening, locale.maybe_money(body.opening)),
        (Word::AmountIn, locale.maybe_money(body.incoming)),
        (Word::AmountOut, locale.maybe_money(body.outgoing)),
        (Word::Closing, locale.maybe_money(body.closing)),
    ];
    let mut tiles: Vec<_> = tiles.map(|(word, cell)| tile(context, word, cell)).into();
    let unexplained = Cell {
        kind: CellKind::State(state),
        ..locale.maybe_money(body.unexplained)
    };
    tiles.push(tile(context, Word::Unexplained, unexplained.to(open)));
    // A file has all of them.
    let most = if context.is_page() {
        SHOWN_MAX
    } else {
        usize::MAX
    };
    let more = body.items.len() > most;
    let rows = body.items.into_iter().take(most);
    let columns = [
        (Word::Class, false),
        (Word::At, false),
        (Word::Direction, false),
        (Word::Amount, true),
        (Word::BankSays, false),
        (Word::Counterparty, false),
        (Word::BankId, false),
        (Word::State, false),
    ];
    let rows = rows.map(|it| row(context, it));
    let mut table = Table::new(locale, Word::Movements, Word::NoMovements, &columns).with(rows);
    table.note = more.then(|| context.say(Word::MoreByApi).to_owned());
    [Block::Tiles(tiles), Block::Table(table)]
}

fn tile(context: &PageContext, word: Word, cell: Cell) -> Tile {
    Tile {
        label: context.say(word),
        cell,
        hint: String::new(),
    }
}

fn row(context: &PageContext, it: CollectorMovementBody) -> Vec<Cell> {
    let locale = context.locale();
    let place = match (&it.matched, &it.case_id) {
        (Some(matched), _) => Some(match matched.kind {
            "transfer" => format!("/console/transfers/{}", matched.id),
            "voucher" => format!("/console/vouchers/{}", matched.id),
            _ => format!("/console/cases/{}", matched.id),
        }),
        (None, Some(case)) => Some(format!("/console/cases/{case}")),
        (None, None) => None,
    };
    let state = if !it.listed {
        context.say(Word::NotListed)
    } else if it.changed {
        context.say(Word::ChangedAtBank)
    } else {
        ""
    };
    let other = it.counterparty;
    vec![
        locale.state(it.class).leads(place),
        locale.time_of(&it.at),
        locale.state(it.direction),
        locale.money(it.amount),
        Cell::text(it.text),
        Cell::maybe(other.name.or(other.cbu)),
        Cell::code(it.bank_id),
        Cell::text(state),
    ]
}
