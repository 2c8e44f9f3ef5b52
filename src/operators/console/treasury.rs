//! The treasury: the clients' money next to the bank's balance of their collector accounts, also client by client, and
//! the banks: whether each responds, since when not, and what waits for it.
//!
//! The equation: the bank's balance = the clients' money + money in suspense + credits not booked + what is free.

use actix_web::HttpResponse;
use caudal_actors::engine::treasury::{PositionFilter, Snapshot};
use caudal_http::bodies::treasury::{FreeTermsBody, Treasury};
use caudal_http::current;
use caudal_http::errors::ApiError;
use caudal_ledger::time::BusinessDay;

use super::lists::{asked_page, whole};
use super::page_context::{PageContext, TenantRealm};
use super::places::address;
use super::view::{
    Block, Cell, CellKind, Field, Page, Part, ROWS, Table, Takes, Tile, Tone, facts, table,
};
use super::words::Word;

/// How many collector accounts are shown.
const COLLECTORS_MAX: usize = 64;
/// The longest text to search for, in characters.
const TEXT_MAX: usize = 100;

/// A collector account with the realms on it.
struct OnAccount {
    places: Vec<TenantRealm>,
    snapshot: Snapshot,
}

async fn collectors(context: &PageContext) -> Result<Vec<OnAccount>, ApiError> {
    let (queries, id) = (context.queries(), current::request().id);
    let asked = context.asks("tenant").zip(context.asks("mode"));
    let asked = asked.map(|(tenant, mode)| context.place(&(tenant.to_owned(), mode.to_owned())));
    let one = asked.transpose()?;
    let all = queries.collectors();
    let all = all.values().filter(|on| {
        let wanted = |place: &TenantRealm| on.realms.contains(&place.realm);
        one.as_ref().is_none_or(wanted)
    });
    let all: Vec<_> = all.take(COLLECTORS_MAX).cloned().collect();
    let asked = all.iter().map(|on| queries.treasury_of(on.clone(), &id));
    let taken = futures_util::future::join_all(asked).await;
    let both = all.iter().zip(taken).map(|(on, snapshot)| {
        let places = on.realms.iter().filter_map(|realm| context.realm(*realm));
        Ok(OnAccount {
            places: places.collect(),
            snapshot: snapshot?,
        })
    });
    both.collect()
}

/// Shows the collector accounts, or that of a realm.
pub(super) async fn page(context: &PageContext) -> Result<Page, ApiError> {
    let mut blocks = Vec::new();
    for on in collectors(context).await? {
        blocks.extend(shown(context, &on));
    }
    if blocks.is_empty() {
        blocks.push(context.note(Tone::Quiet, Word::NoCollectors));
    }
    Ok(context.page(Part::Treasury, context.say(Word::Treasury), blocks))
}

/// The equation of every collector account, for the overview.
pub(super) async fn equation(context: PageContext) -> HttpResponse {
    context
        .answer_part((), async |context: &PageContext, ()| lines(context).await)
        .await
}

async fn lines(context: &PageContext) -> Result<Vec<Block>, ApiError> {
    let locale = context.locale();
    let table = table! {
        locale, Word::Equation, Word::NoCollectors; on in collectors(context).await?.into_iter();
        => let (it, totals) = (Treasury::from(&on.snapshot), &on.snapshot.totals);
        Collector: Cell::code(it.collector.cbu).to("/console/treasury");
        BankHas figure: locale.maybe_money(it.bank_balance);
        ClientsHave figure: locale.money(it.client_funds.total);
        InSuspense figure: locale.money(totals.incoming);
        Outgoing figure: locale.money(totals.outgoing);
        Free figure: locale.maybe_money(it.free_balance);
        State: covered(context, it.covered);
    };
    Ok(vec![Block::Table(table)])
}

fn covered(context: &PageContext, covered: Option<bool>) -> Cell {
    let (tone, word) = match covered {
        Some(true) => (Tone::Good, Word::Covered),
        Some(false) => (Tone::Bad, Word::NotCovered),
        None => (Tone::Warn, Word::BankSilent),
    };
    Cell::of(CellKind::State(tone), context.say(word))
}

fn shown(context: &PageContext, on: &OnAccount) -> Vec<Block> {
    let (locale, it) = (context.locale(), Treasury::from(&on.snapshot));
    let tile = |word: Word, cell: Cell| Tile::of(locale, word, cell);
    let tiles = vec![
        tile(Word::BankHas, locale.maybe_money(it.bank_balance.as_ref())),
        tile(Word::ClientsHave, locale.money(&it.client_funds.total)),
        tile(Word::Free, locale.maybe_money(it.free_balance.as_ref())),
        tile(Word::State, covered(context, it.covered)),
    ];
    let names: Vec<_> = on.places.iter().map(|it| it.title(locale)).collect();
    let ratio = it.coverage_ratio.as_ref();
    let ratio = ratio.map(|ratio| locale.grouped(ratio));
    let books = on.places.iter().map(|place| {
        let page = Cell::text(place.title(locale)).to(place.address("books"));
        (context.say(Word::Books), page)
    });
    let mut facts = facts! {
        context;
        Bank: Cell::text(&it.collector.bank);
        Realms: Cell::text(names.join(", "));
        AsOf: locale.time_of(&it.as_of);
        Coverage: Cell::maybe(ratio);
        Vouchers: locale.count(it.sequence);
    };
    facts.extend(books);
    let title = format!("{} {}", context.say(Word::Collector), it.collector.cbu);
    let mut blocks = vec![Block::Facts(title, facts), Block::Tiles(tiles)];
    if let Some(why) = &it.bank_error {
        let (word, why) = (context.say(Word::BankSilent), locale.state(why.code).text);
        blocks.push(Block::Note(Tone::Warn, format!("{word}: {why}")));
    }
    blocks.push(Block::Table(terms(context, on, &it)));
    blocks
}

/// A term of the equation, with what it is made of.
type Term = (Word, Cell, Word, Option<String>);

/// The terms of the equation, each with a link to its parts.
fn terms(context: &PageContext, on: &OnAccount, it: &Treasury) -> Table {
    let (locale, totals) = (context.locale(), &on.snapshot.totals);
    let first = on.places.first();
    let link = |what: &str| first.map(|place| place.address(what));
    let day = link("collector").filter(|_| on.places.len() == 1);
    let bank = locale.maybe_money(it.bank_balance.as_ref());
    let (available, held) = (&it.client_funds.available, &it.client_funds.held);
    let (available, held) = (locale.money(available), locale.money(held));
    let (outgoing, incoming) = (locale.money(totals.outgoing), locale.money(totals.incoming));
    let (positions, cases) = (link("positions"), Some("/console/cases".to_owned()));
    let open = link("transfers?status=in_progress");
    let mut rows = vec![
        (Word::BankHas, bank, Word::CollectorDay, day.clone()),
        (
            Word::Available,
            available,
            Word::Positions,
            positions.clone(),
        ),
        (Word::Held, held, Word::Positions, positions),
        (Word::OutgoingHeld, outgoing, Word::TransfersOpen, open),
        (Word::InSuspense, incoming, Word::Cases, cases.clone()),
    ];
    if let Some(uncredited) = &it.uncredited {
        rows.push((
            Word::Uncredited,
            locale.money(uncredited),
            Word::Cases,
            cases,
        ));
    }
    if let Some(free) = &it.free {
        let places = [link("vouchers"), day, link("reconciliation")];
        rows.extend(free_terms(context, free, places));
    }
    let table = table! {
        locale, Word::Terms, Word::NothingHere; (word, cell, made, place) in rows.into_iter();
        Term: Cell::text(context.say(word));
        Amount figure: cell;
        MadeOf: Cell::text(context.say(made)).leads(place);
    };
    let cbu = &it.collector.cbu;
    table.of(cbu, cbu)
}

/// What the free balance is made of.
fn free_terms(
    context: &PageContext,
    free: &FreeTermsBody,
    [vouchers, day, reconciliation]: [Option<String>; 3],
) -> [Term; 7] {
    let vouchers = (Word::Vouchers, vouchers);
    let day = (Word::CollectorDay, day);
    let terms = [
        (Word::Fees, &free.fees, vouchers.clone()),
        (Word::FeeTax, &free.fee_tax, vouchers.clone()),
        (Word::Adjustments, &free.adjustments, vouchers),
        (Word::OwnFunds, &free.funding, day.clone()),
        (Word::Interest, &free.interest, day.clone()),
        (Word::BankCharges, &free.bank_charges, day),
        (
            Word::Unexplained,
            &free.unexplained,
            (Word::Reconciliation, reconciliation),
        ),
    ];
    terms.map(|(term, amount, (made, place))| (term, context.locale().money(amount), made, place))
}

/// The position of each client of a realm.
pub(super) async fn positions(
    context: &PageContext,
    path: &(String, String),
) -> Result<Page, ApiError> {
    let (locale, place) = (context.locale(), context.place(path)?);
    let text = context
        .asks("text")
        .filter(|text| text.chars().count() <= TEXT_MAX);
    let day = context.asks("date").and_then(BusinessDay::parse);
    let filter = PositionFilter {
        text: text.map(str::to_owned),
        at: day.map(|day| day.end()),
        ..PositionFilter::default()
    };
    let (queries, page) = (context.queries(), asked_page(context, ROWS));
    let listing = queries.positions(place.realm, filter, page).await?;
    let table = table! {
        locale, Word::Positions, Word::NoAccounts; it in listing.items.iter();
        Cvu: Cell::maybe_code(it.account.cvu).to(address(place.realm, &it.account));
        Holder: Cell::text(&it.account.holder.name);
        State: locale.state(it.account.status.as_str());
        Available figure: locale.money(it.balance.available);
        Held figure: locale.money(it.balance.held);
        Total figure: locale.money(it.balance.total());
        LastMovement: locale.maybe_time(it.last_movement_at);
    };
    let table = whole(context, table, &listing);
    let form = context.filter(vec![
        Field::new(locale, "text", Word::TextInAccount, Takes::Line, TEXT_MAX)
            .maybe(text.map_or("", |text| text)),
        Field::new(locale, "date", Word::EndOfDay, Takes::Day, 10)
            .maybe(day.map_or_else(String::new, |day| day.to_string())),
    ]);
    let (title, blocks) = (
        context.say(Word::Positions),
        vec![form, Block::Table(table)],
    );
    Ok(context.page_in(&place, Part::Treasury, title, blocks))
}

/// Shows the banks.
pub(super) async fn banks(context: &PageContext) -> Result<Page, ApiError> {
    let locale = context.locale();
    let watched = context.operators().watched_collectors().await?;
    let table = table! {
        locale, Word::Banks, Word::NoCollectors; it in &watched;
        => let realms = it.on.realms.iter().filter_map(|realm| context.realm(*realm));
        => let places: Vec<TenantRealm> = realms.collect();
        => let titles: Vec<_> = places.iter().map(|it| it.title(locale)).collect();
        => let last = it.check.as_ref().and_then(|check| check.last);
        => let (tone, word) = match (it.unreachable_since(), last) {
            (Some(_), _) => (Tone::Bad, Word::NotResponding),
            (None, Some(_)) => (Tone::Good, Word::Responds),
            (None, None) => (Tone::Quiet, Word::NotAskedYet),
        };
        => let first = places.first();
        => let waiting = first.map(|place| place.address("transfers?status=in_progress"));
        Bank: Cell::text(&it.on.collector.bank);
        Collector: Cell::code(&it.on.collector.cbu).leads(first.map(TenantRealm::treasury));
        Realms: Cell::text(titles.join(", "));
        State: Cell::of(CellKind::State(tone), context.say(word));
        UnreachableSince: locale.maybe_time(it.unreachable_since());
        BalanceReported: locale.maybe_time(last.map(|last| last.at));
        TransfersWaiting figure: locale.count(it.waiting.count).leads(waiting);
        PesosInTransfers figure: locale.money(it.waiting.amount);
        OldestRequested: locale.maybe_time(it.waiting.oldest);
    };
    let blocks = vec![Block::Table(table)];
    Ok(context.page(Part::Banks, context.say(Word::Banks), blocks))
}
