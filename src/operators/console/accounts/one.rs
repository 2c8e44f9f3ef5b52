//! One account: its data on disk, and what its actor has in memory besides.

use actix_web::{HttpResponse, web};
use caudal_actors::accounts::{AccountView, BalanceView, Observed};
use caudal_actors::engine::lists::{ListPage, VoucherFilter, VoucherSort};
use caudal_actors::realms::Target;
use caudal_http::bodies::accounts::LimitsSnapshot;
use caudal_http::bodies::holds::hold;
use caudal_http::bodies::transfers::BankCallBody;
use caudal_http::errors::ApiError;
use caudal_http::words::Mistake;
use caudal_ledger::accounts::Account;
use caudal_ledger::limits::{LimitKind, Window};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_storage::SortOrder;

use super::super::movements;
use super::super::places::found;
use super::super::realms::{COLUMNS, row};
use super::super::tongue::Tongue;
use super::super::transfers::bank_calls;
use super::super::view::{
    BRIEF, Block, Cell, Field, Form, Kind, Page, Part, Table, Takes, Tile, Tone,
};
use super::super::visit::{Place, Visit};
use super::super::words::Word;
use super::{orders, statements};

/// The longest text of an instant, in characters.
const INSTANT_MAX: usize = 40;

/// Shows an account.
pub(crate) async fn one(visit: Visit, path: web::Path<String>) -> HttpResponse {
    let made = made(&visit, &path).await;
    visit.show(made)
}

async fn made(visit: &Visit, key: &str) -> Result<Page, ApiError> {
    let (place, target, key) = found(visit, key).await?;
    let key = key.as_str();
    visit.looks("readActor", key).await?;
    let view = visit.engine().queries().view(place.realm, target).await?;
    let account = &view.account;
    let tab = |what: &str, word: Word| {
        (
            format!("/console/accounts/{key}/{what}"),
            visit.say(word),
            false,
        )
    };
    let mut blocks: Vec<Block> = visit.done_note().into_iter().collect();
    blocks.push(Block::Tiles(balances(visit, &view)));
    if account.cvu.is_some() {
        blocks.push(Block::Tabs(vec![
            tab("movements", Word::Movements),
            tab("transfers", Word::Transfers),
        ]));
        blocks.extend(past(visit, &place, target).await?);
        blocks.push(statements::form(visit, key));
    }
    blocks.push(holder(visit, account));
    blocks.push(Block::Table(limits(visit, &view)));
    if account.cvu.is_some() {
        blocks.push(Block::Table(latest(visit, &place, target, key).await?));
        blocks.push(Block::Table(holds(visit, &place, target).await?));
    }
    blocks.push(Block::Table(events(visit, &place, account).await?));
    blocks.extend(actor(visit, &place, account).await?);
    blocks.extend(orders::forms(visit, key, account));
    let title = account.cvu.map_or_else(
        || format!("{} {}", visit.say(Word::Account), account.number),
        |cvu| cvu.to_string(),
    );
    Ok(visit
        .page(Part::Tenants, title, blocks)
        .below(place.above(visit.tongue())))
}

/// The newest events of an account.
async fn events(visit: &Visit, place: &Place, account: &Account) -> Result<Table, ApiError> {
    let (engine, realm) = (visit.engine(), place.realm);
    let found = engine
        .queries()
        .account_events(realm, account.number, BRIEF);
    let (items, more) = found.await?;
    let rows = items.iter().map(|event| row(visit, realm, event));
    let mut table = Table::new(visit.tongue(), Word::Events, Word::NoEvents, &COLUMNS).with(rows);
    if more && items.len() < BRIEF {
        // They come from the newest events of the realm, which are not searched to the end.
        table.title = format!("{} · {}", table.title, visit.say(Word::NewestOfRealm));
    }
    Ok(table)
}

fn balances(visit: &Visit, view: &AccountView) -> Vec<Tile> {
    let (tongue, account) = (visit.tongue(), &view.account);
    let tile = |word: Word, cell: Cell| Tile {
        label: visit.say(word),
        cell,
        hint: String::new(),
    };
    vec![
        tile(Word::State, tongue.state(account.status.as_str())),
        tile(Word::Available, tongue.money(account.balance.available)),
        tile(Word::Held, tongue.money(account.balance.held)),
        tile(Word::Total, tongue.money(account.balance.total())),
        tile(Word::Movements, tongue.count(account.sequence)),
    ]
}

/// The balance at an instant, and the form that asks for one.
async fn past(visit: &Visit, place: &Place, target: Target) -> Result<Vec<Block>, ApiError> {
    let (tongue, asked) = (visit.tongue(), visit.asks("at"));
    let mut blocks = Vec::new();
    if let Some(text) = asked {
        let day = BusinessDay::parse(text).map(|day| day.end());
        let at = day.or_else(|| Timestamp::parse(text));
        let at = at.ok_or_else(|| ApiError::field("at", Mistake::NotAnInstant))?;
        let then: BalanceView = visit
            .engine()
            .queries()
            .balance_at(place.realm, target, at)
            .await?;
        let facts = vec![
            (
                visit.say(Word::Available),
                tongue.money(then.balance.available),
            ),
            (visit.say(Word::Held), tongue.money(then.balance.held)),
            (visit.say(Word::Total), tongue.money(then.balance.total())),
            (visit.say(Word::Movements), tongue.count(then.sequence)),
            (
                visit.say(Word::LastMovement),
                tongue.maybe_time(then.last_movement_at),
            ),
        ];
        let title = format!("{} {}", visit.say(Word::BalanceAt), tongue.time(at).text);
        blocks.push(Block::Facts(title, facts));
    }
    let field = Field::new(tongue, "at", Word::DayOrInstant, Takes::Line, INSTANT_MAX);
    blocks.push(Block::Form(Form {
        title: visit.say(Word::BalanceAt).to_owned(),
        action: visit.path.clone(),
        asks: true,
        fields: vec![field.maybe(asked.map_or("", |text| text))],
        submit: visit.say(Word::Show),
        grave: false,
    }));
    Ok(blocks)
}

fn holder(visit: &Visit, account: &Account) -> Block {
    let tongue = visit.tongue();
    let others = account.holders.iter().skip(1);
    let others: Vec<_> = others
        .map(|it| format!("{} ({})", it.name, it.cuit))
        .collect();
    let mut facts = vec![
        (visit.say(Word::Holder), Cell::text(&account.holder.name)),
        (visit.say(Word::Cuit), Cell::code(account.holder.cuit)),
        (
            visit.say(Word::Kind),
            tongue.state(account.holder.person_type.as_str()),
        ),
        (visit.say(Word::OtherHolders), Cell::text(others.join(", "))),
        (visit.say(Word::Cvu), Cell::maybe_code(account.cvu)),
        (visit.say(Word::Alias), Cell::maybe(account.alias.as_ref())),
        (visit.say(Word::Number), Cell::figure(account.number)),
        (
            visit.say(Word::Code),
            Cell::maybe_code(account.code.as_ref()),
        ),
        (visit.say(Word::Email), Cell::maybe(account.email.as_ref())),
        (visit.say(Word::Phone), Cell::maybe(account.phone.as_ref())),
        (
            visit.say(Word::Enabled),
            tongue.is(account.enabled, Tone::Warn),
        ),
        (
            visit.say(Word::WaitsForBank),
            tongue.is(account.pending.is_some(), Tone::Quiet),
        ),
        (visit.say(Word::CreatedAt), tongue.time(account.created_at)),
        (visit.say(Word::UpdatedAt), tongue.time(account.updated_at)),
        (
            visit.say(Word::ClosedAt),
            tongue.maybe_time(account.closed_at),
        ),
    ];
    if let Some(suspension) = &account.suspension {
        let why = format!(
            "{} ({})",
            suspension.reason,
            tongue.state(suspension.code.as_str()).text
        );
        facts.push((visit.say(Word::Suspended), Cell::text(why)));
        facts.push((visit.say(Word::SuspendedAt), tongue.time(suspension.at)));
    }
    let kept = account.metadata.iter();
    let kept: Vec<_> = kept
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    facts.push((visit.say(Word::Metadata), Cell::text(kept.join(", "))));
    Block::Facts(visit.say(Word::Holder).to_owned(), facts)
}

fn limits(visit: &Visit, view: &AccountView) -> Table {
    let (tongue, it) = (visit.tongue(), LimitsSnapshot::from(view));
    let columns = [
        (Word::Limit, false),
        (Word::Value, true),
        (Word::Source, false),
        (Word::Used, true),
        (Word::Left, true),
    ];
    let rows = LimitKind::ALL.map(|kind| {
        let used = kind.is_counted().then(|| *it.usage.0.get(kind));
        let left = it
            .remaining
            .0
            .get(kind)
            .filter(|_| kind.window() != Window::Transaction);
        vec![
            Cell::text(visit.say(Word::limit(kind))),
            tongue.maybe_quantity(*it.effective.0.get(kind)),
            tongue.state(it.source.0.get(kind).as_str()),
            tongue.maybe_quantity(used),
            tongue.maybe_quantity(left),
        ]
    });
    Table::new(tongue, Word::Limits, Word::NothingHere, &columns).with(rows)
}

const fn newest(limit: usize) -> ListPage {
    ListPage {
        order: SortOrder::Descending,
        limit,
        offset: 0,
        cursor: None,
    }
}

async fn latest(
    visit: &Visit,
    place: &Place,
    target: Target,
    key: &str,
) -> Result<Table, ApiError> {
    let (filter, sort) = (VoucherFilter::default(), VoucherSort::default());
    let listing = visit
        .engine()
        .queries()
        .movements(place.realm, target, filter, sort, newest(BRIEF))
        .await?;
    let table = movements::table(
        visit.tongue(),
        Word::LatestMovements,
        place.realm,
        &listing.items,
        false,
    );
    let more = listing.next.is_some();
    Ok(table.next(more.then(|| format!("/console/accounts/{key}/movements"))))
}

async fn holds(visit: &Visit, place: &Place, target: Target) -> Result<Table, ApiError> {
    let tongue = visit.tongue();
    let listing = visit
        .engine()
        .queries()
        .holds(place.realm, target, None, newest(BRIEF))
        .await?;
    let columns = [
        (Word::CreatedAt, false),
        (Word::Id, false),
        (Word::State, false),
        (Word::Amount, true),
        (Word::Confirmed, true),
        (Word::Released, true),
        (Word::Left, true),
        (Word::EndsAt, false),
        (Word::ExternalId, false),
    ];
    let rows = listing.items.iter().map(|view| {
        let body = hold(place.realm, view);
        vec![
            tongue.time(view.hold.created_at),
            Cell::code(body.id),
            tongue.state(body.status),
            tongue.money(body.amount),
            tongue.money(body.confirmed),
            tongue.money(body.released),
            tongue.money(body.remaining),
            tongue.maybe_time(view.hold.expires_at),
            Cell::maybe_code(body.id_externo),
        ]
    });
    Ok(Table::new(tongue, Word::Holds, Word::NoHolds, &columns).with(rows))
}

/// The actor's state in memory, beside the state on disk, with the last calls to the bank.
async fn actor(visit: &Visit, place: &Place, account: &Account) -> Result<Vec<Block>, ApiError> {
    let engine = visit.engine();
    let target = Target::Account(account.number);
    let live = engine.operators().observe(place.realm, target).await?;
    let (disk, calls) = engine
        .operators()
        .on_disk(place.realm, account.number)
        .await?;
    let mut blocks = vec![
        observed(visit, live.as_ref(), &disk),
        Block::Table(beside(visit, live.as_ref(), &disk)),
    ];
    let calls = calls.into_iter();
    let calls: Vec<_> = calls
        .map(|call| BankCallBody::from(&(Timestamp::default(), call)))
        .collect();
    blocks.extend(undated(bank_calls(visit, &calls)));
    Ok(blocks)
}

/// Whether the account is in memory, and what its actor has to do.
fn observed(visit: &Visit, live: Option<&Observed>, disk: &Account) -> Block {
    let tongue = visit.tongue();
    let agrees = match live {
        Some(observed) if observed.pending_commits > 0 => Cell::text(visit.say(Word::OnItsWay)),
        Some(observed) => tongue.is(same(&observed.account, disk), Tone::Bad),
        None => Cell::text(""),
    };
    let resident = match live {
        Some(_) => Cell::of(Kind::State(Tone::Good), visit.say(Word::Resident)),
        None => Cell::of(Kind::State(Tone::Quiet), visit.say(Word::NotResident)),
    };
    let count = |n: Option<usize>| tongue.maybe_count(n);
    let facts = vec![
        (visit.say(Word::Actor), resident),
        (visit.say(Word::Mailbox), count(live.map(|it| it.mailbox))),
        (
            visit.say(Word::InFlight),
            count(live.map(|it| it.pending_commits)),
        ),
        (
            visit.say(Word::LastActive),
            tongue.maybe_time(live.map(|it| it.active_at)),
        ),
        (visit.say(Word::MemoryAgrees), agrees),
    ];
    Block::Facts(visit.say(Word::Actor).to_owned(), facts)
}

/// The states in memory and on disk, next to each other.
fn beside(visit: &Visit, live: Option<&Observed>, disk: &Account) -> Table {
    let tongue = visit.tongue();
    let columns = [
        (Word::What, false),
        (Word::InMemory, true),
        (Word::OnDisk, true),
    ];
    let row = |word: Word, of: fn(Tongue, &Account) -> Cell| {
        let memory = live.map_or_else(|| Cell::figure(""), |it| of(tongue, &it.account));
        vec![Cell::text(visit.say(word)), memory, of(tongue, disk)]
    };
    let rows = [
        row(Word::Movements, |tongue, it| tongue.count(it.sequence)),
        row(Word::ProfileVersion, |tongue, it| {
            tongue.count(it.profile_seq)
        }),
        row(Word::Available, |tongue, it| {
            tongue.money(it.balance.available)
        }),
        row(Word::Held, |tongue, it| tongue.money(it.balance.held)),
        // The column has figures, so the hash is written as one.
        row(Word::Chain, |_, it| {
            Cell::figure(Cell::hash(it.hash.0).text)
        }),
    ];
    Table::new(tongue, Word::MemoryBesideDisk, Word::NothingHere, &columns).with(rows)
}

/// Whether both sides agree about everything that a movement changes.
fn same(live: &Account, disk: &Account) -> bool {
    let key = |it: &Account| (it.sequence, it.profile_seq, it.balance, it.hash);
    key(live) == key(disk)
}

/// Removes the column of times: the calls of an account are kept without theirs, so it would only mislead.
pub(crate) fn undated(blocks: Vec<Block>) -> impl Iterator<Item = Block> {
    blocks.into_iter().filter_map(|block| match block {
        Block::Table(mut table) => {
            table.columns.remove(0);
            for row in &mut table.rows {
                row.remove(0);
            }
            Some(Block::Table(table))
        }
        _ => None,
    })
}
