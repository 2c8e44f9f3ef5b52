//! A day of a realm's collector account: the bank's statement with what each movement is, and the equation of the day.

use caudal_http::bodies::collector::{CollectorDayBody, CollectorMovementBody};
use caudal_http::current;
use caudal_http::errors::ApiError;

use super::lists::asked_day;
use super::page_context::{PageContext, TenantRealm};
use super::view::{Block, Cell, CellKind, Field, Page, Part, Takes, Tile, Tone, table};
use super::words::Word;

/// How many movements of a day are shown; the API gives all of them.
const SHOWN_MAX: usize = 500;

/// Shows the day.
pub(super) async fn day(context: &PageContext, path: &(String, String)) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let day = asked_day(context, place.realm)?;
    let field = Field::new(locale, "date", Word::Day, Takes::Day, 10).maybe(day.to_string());
    let form = context.query(Word::Day, Word::Show, vec![field]);
    let mut blocks = vec![Block::Form(form)];
    let queries = context.queries();
    let id = current::request().id;
    match queries.collector_day(place.realm, day, &id).await {
        Ok(report) => {
            let collector = queries.collector(place.realm);
            let body = CollectorDayBody::of(place.realm, collector, &report);
            blocks.extend(shown(context, &place, body));
        }
        Err(why) => blocks.push(context.failed(why.into())?),
    }
    let title = format!("{} {day}", context.say(Word::CollectorDay));
    Ok(context.page_in(&place, Part::Treasury, title, blocks))
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
    let unexplained = Cell {
        kind: CellKind::State(state),
        ..locale.maybe_money(body.unexplained)
    };
    let tiles = [
        (Word::Opening, locale.maybe_money(body.opening)),
        (Word::AmountIn, locale.maybe_money(body.incoming)),
        (Word::AmountOut, locale.maybe_money(body.outgoing)),
        (Word::Closing, locale.maybe_money(body.closing)),
        (Word::Unexplained, unexplained.to(open)),
    ];
    let tiles = tiles.map(|(word, cell)| Tile::of(locale, word, cell));
    // A file has all of them.
    let most = if context.is_page() {
        SHOWN_MAX
    } else {
        usize::MAX
    };
    let more = body.items.len() > most;
    let mut table = table! {
        locale, Word::Movements, Word::NoMovements; it in body.items.into_iter().take(most);
        => let state = if !it.listed {
            context.say(Word::NotListed)
        } else if it.changed {
            context.say(Word::ChangedAtBank)
        } else {
            ""
        };
        Class: locale.state(it.class).leads(page_of(&it));
        At: locale.time_of(&it.at);
        Direction: locale.state(it.direction);
        Amount figure: locale.money(it.amount);
        BankSays: Cell::text(it.text);
        Counterparty: Cell::maybe(it.counterparty.name.or(it.counterparty.cbu));
        BankId: Cell::code(it.bank_id);
        State: Cell::text(state);
    };
    table.note = more.then(|| context.say(Word::MoreByApi).to_owned());
    [Block::Tiles(tiles.into()), Block::Table(table)]
}

/// The page of what a movement is in the ledger.
fn page_of(it: &CollectorMovementBody) -> Option<String> {
    match (&it.matched, &it.case_id) {
        (Some(matched), _) => Some(match matched.kind {
            "transfer" => format!("/console/transfers/{}", matched.id),
            "voucher" => format!("/console/vouchers/{}", matched.id),
            _ => format!("/console/cases/{}", matched.id),
        }),
        (None, Some(case)) => Some(format!("/console/cases/{case}")),
        (None, None) => None,
    }
}
