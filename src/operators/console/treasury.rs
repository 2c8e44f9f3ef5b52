//! The treasury: the clients' money beside the bank's balance of their collector accounts, also client by client.
//!
//! The equation: the bank's balance = the clients' money + money in suspense + fees taken + the free rest.

use actix_web::{HttpResponse, web};
use caudal_actors::engine::treasury::{PositionFilter, Snapshot};
use caudal_http::bodies::treasury::Treasury;
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_ledger::time::BusinessDay;

use super::lists::{after, asked_page, note};
use super::places::address;
use super::view::{Block, Cell, Field, Form, Kind, Page, Part, ROWS, Table, Takes, Tile, Tone};
use super::visit::{Place, Visit};
use super::words::Word;

/// How many collector accounts are shown.
const COLLECTORS_MAX: usize = 64;
/// The longest text to search for, in characters.
const TEXT_MAX: usize = 100;

/// A collector account with the realms on it.
struct OnAccount {
    places: Vec<Place>,
    snapshot: Snapshot,
}

async fn collectors(visit: &Visit) -> Result<Vec<OnAccount>, ApiError> {
    let (engine, id) = (visit.engine(), current::request().id);
    let all: Vec<_> = engine
        .queries()
        .collectors()
        .values()
        .take(COLLECTORS_MAX)
        .cloned()
        .collect();
    let asked = all
        .iter()
        .map(|on| engine.queries().treasury_of(on.clone(), &id));
    let taken = futures_util::future::join_all(asked).await;
    let both = all.iter().zip(taken).map(|(on, snapshot)| {
        Ok(OnAccount {
            places: on
                .realms
                .iter()
                .filter_map(|realm| visit.realm(*realm))
                .collect(),
            snapshot: snapshot?,
        })
    });
    both.collect()
}

/// Shows the collector accounts.
pub(super) async fn page(visit: Visit) -> HttpResponse {
    let made = made(&visit).await;
    visit.show(made)
}

async fn made(visit: &Visit) -> Result<Page, ApiError> {
    let mut blocks = Vec::new();
    for on in collectors(visit).await? {
        blocks.extend(shown(visit, &on));
    }
    if blocks.is_empty() {
        blocks.push(Block::Note(
            Tone::Quiet,
            visit.say(Word::NoCollectors).to_owned(),
        ));
    }
    Ok(visit.page(Part::Treasury, visit.say(Word::Treasury), blocks))
}

/// The equation of every collector account, for the overview.
pub(super) async fn equation(visit: Visit) -> HttpResponse {
    let made = lines(&visit).await;
    visit.show_part(made)
}

async fn lines(visit: &Visit) -> Result<Vec<Block>, ApiError> {
    let columns = [
        (Word::Collector, false),
        (Word::BankHas, true),
        (Word::ClientsHave, true),
        (Word::InSuspense, true),
        (Word::Outgoing, true),
        (Word::Free, true),
        (Word::State, false),
    ];
    let tongue = visit.tongue();
    let rows = collectors(visit).await?.into_iter().map(|on| {
        let (it, totals) = (Treasury::from(&on.snapshot), &on.snapshot.totals);
        vec![
            Cell::code(it.collector.cbu).to("/console/treasury"),
            tongue.maybe_money(it.bank_balance),
            tongue.money(it.client_funds.total),
            tongue.money(totals.incoming),
            tongue.money(totals.outgoing),
            tongue.maybe_money(it.free_balance),
            covered(visit, it.covered),
        ]
    });
    let table = Table::new(tongue, Word::Equation, Word::NoCollectors, &columns).with(rows);
    Ok(vec![Block::Table(table)])
}

fn covered(visit: &Visit, covered: Option<bool>) -> Cell {
    let (tone, word) = match covered {
        Some(true) => (Tone::Good, Word::Covered),
        Some(false) => (Tone::Bad, Word::NotCovered),
        None => (Tone::Warn, Word::BankSilent),
    };
    Cell::of(Kind::State(tone), visit.say(word))
}

fn shown(visit: &Visit, on: &OnAccount) -> Vec<Block> {
    let (tongue, it) = (visit.tongue(), Treasury::from(&on.snapshot));
    let tile = |word: Word, cell: Cell| Tile {
        label: visit.say(word),
        cell,
        hint: String::new(),
    };
    let tiles = vec![
        tile(Word::BankHas, tongue.maybe_money(it.bank_balance.as_ref())),
        tile(Word::ClientsHave, tongue.money(&it.client_funds.total)),
        tile(Word::Free, tongue.maybe_money(it.free_balance.as_ref())),
        tile(Word::State, covered(visit, it.covered)),
    ];
    let names: Vec<_> = on.places.iter().map(Place::title).collect();
    let ratio = it
        .coverage_ratio
        .as_ref()
        .map(|ratio| tongue.grouped(ratio));
    let facts = vec![
        (visit.say(Word::Bank), Cell::text(&it.collector.bank)),
        (visit.say(Word::Realms), Cell::text(names.join(", "))),
        (visit.say(Word::AsOf), tongue.time_of(&it.as_of)),
        (visit.say(Word::Coverage), Cell::maybe(ratio)),
        (visit.say(Word::Vouchers), tongue.count(it.sequence)),
    ];
    let title = format!("{} {}", visit.say(Word::Collector), it.collector.cbu);
    let mut blocks = vec![Block::Facts(title, facts), Block::Tiles(tiles)];
    if let Some(why) = &it.bank_error {
        let text = format!(
            "{}: {}",
            visit.say(Word::BankSilent),
            tongue.state(why.code).text
        );
        blocks.push(Block::Note(Tone::Warn, text));
    }
    blocks.push(Block::Table(terms(visit, on, &it)));
    blocks
}

/// The terms of the equation, each with a link to its parts.
fn terms(visit: &Visit, on: &OnAccount, it: &Treasury) -> Table {
    let (tongue, totals) = (visit.tongue(), &on.snapshot.totals);
    let columns = [
        (Word::Term, false),
        (Word::Amount, true),
        (Word::MadeOf, false),
    ];
    let first = on.places.first();
    let link = |what: &str| first.map(|place| place.address(what));
    let cases = Some("/console/cases".to_owned());
    let open = link("transfers?status=in_progress");
    let rows = [
        (
            Word::Available,
            tongue.money(&it.client_funds.available),
            Word::Positions,
            link("positions"),
        ),
        (
            Word::Held,
            tongue.money(&it.client_funds.held),
            Word::Positions,
            link("positions"),
        ),
        (
            Word::Outgoing,
            tongue.money(totals.outgoing),
            Word::TransfersOpen,
            open,
        ),
        (
            Word::InSuspense,
            tongue.money(totals.incoming),
            Word::Cases,
            cases,
        ),
        (
            Word::Fees,
            tongue.money(totals.fees),
            Word::Vouchers,
            link("vouchers"),
        ),
    ];
    let rows = rows.map(|(word, cell, made, place)| {
        vec![
            Cell::text(visit.say(word)),
            cell,
            Cell::text(visit.say(made)).leads(place),
        ]
    });
    Table::new(tongue, Word::Terms, Word::NothingHere, &columns).with(rows)
}

/// The position of each client of a realm.
pub(super) async fn positions(visit: Visit, path: web::Path<(String, String)>) -> HttpResponse {
    let made = listed(&visit, &path).await;
    visit.show(made)
}

async fn listed(visit: &Visit, path: &(String, String)) -> Result<Page, ApiError> {
    let (tongue, place) = (visit.tongue(), visit.place(path)?);
    visit.looks("listPositions", &place.tenant).await?;
    let text = visit
        .asks("text")
        .filter(|text| text.chars().count() <= TEXT_MAX);
    let day = visit.asks("date").and_then(BusinessDay::parse);
    let filter = PositionFilter {
        text: text.map(str::to_owned),
        at: day.map(|day| day.end()),
        ..PositionFilter::default()
    };
    let page = asked_page(visit, ROWS);
    let listing = visit
        .engine()
        .queries()
        .positions(place.realm, filter, page)
        .await?;
    let columns = [
        (Word::Cvu, false),
        (Word::Holder, false),
        (Word::State, false),
        (Word::Available, true),
        (Word::Held, true),
        (Word::Total, true),
        (Word::LastMovement, false),
    ];
    let rows = listing.items.iter().map(|it| {
        vec![
            Cell::maybe_code(it.account.cvu).to(address(place.realm, &it.account)),
            Cell::text(&it.account.holder.name),
            tongue.state(it.account.status.as_str()),
            tongue.money(it.balance.available),
            tongue.money(it.balance.held),
            tongue.money(it.balance.total()),
            tongue.maybe_time(it.last_movement_at),
        ]
    });
    let mut table = Table::new(tongue, Word::Positions, Word::NoAccounts, &columns).with(rows);
    table.note = Some(note(tongue, &listing));
    table.next = after(visit, &listing);
    let form = Form {
        title: visit.say(Word::Filter).to_owned(),
        action: visit.path.clone(),
        asks: true,
        fields: vec![
            Field::new(tongue, "text", Word::TextInAccount, Takes::Line, TEXT_MAX)
                .maybe(text.map_or("", |text| text)),
            Field::new(tongue, "date", Word::EndOfDay, Takes::Day, 10)
                .maybe(day.map_or_else(String::new, |day| day.to_string())),
        ],
        submit: visit.say(Word::Filter),
        grave: false,
    };
    let blocks = vec![Block::Form(form), Block::Table(table)];
    let page = visit.page(Part::Treasury, visit.say(Word::Positions), blocks);
    Ok(page.below(place.above(tongue)))
}
