//! One account: its data on disk, and what its actor has in memory besides.

use caudal_actors::accounts::{AccountView, BalanceView, Observe, Observed, ReadBalanceAt};
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

use super::super::lists::{asked_page, whole};
use super::super::locale::Locale;
use super::super::movements;
use super::super::page_context::{PageContext, TenantRealm};
use super::super::places::found;
use super::super::realms;
use super::super::transfers::bank_calls;
use super::super::view::{
    BRIEF, Block, Cell, CellKind, Page, Part, Table, Takes, Tile, Tone, facts, table,
};
use super::super::words::Word;
use super::{orders, statements};

/// The longest text of an instant, in characters.
const INSTANT_MAX: usize = 40;

/// Shows an account.
pub(crate) async fn one(context: &PageContext, key: &str) -> Result<Page, ApiError> {
    let (place, target, key) = found(context, key).await?;
    let key = key.as_str();
    let view = context.queries().view(place.realm, target).await?;
    let account = &view.account;
    let tab = |what: &str, word: Word| {
        let place = format!("/console/accounts/{key}/{what}");
        (place, context.say(word), false)
    };
    let mut blocks = vec![Block::Tiles(balances(context, &view))];
    if account.cvu.is_some() {
        blocks.push(Block::Tabs(vec![
            tab("movements", Word::Movements),
            tab("transfers", Word::Transfers),
        ]));
    }
    blocks.push(holder(context, account));
    blocks.extend(orders::forms(context, key, account));
    if account.cvu.is_some() {
        blocks.extend(past(context, &place, target).await?);
        blocks.push(statements::form(context, place.realm, key));
        blocks.push(Block::Table(latest(context, &place, target, key).await?));
        blocks.push(Block::Table(holds(context, &place, target).await?));
    }
    blocks.push(Block::Table(limits(context, &view)));
    blocks.push(Block::Table(events(context, &place, account).await?));
    let technical = context.say(Word::TechnicalState);
    blocks.push(Block::FoldBegins(technical));
    blocks.extend(actor(context, &place, account).await?);
    blocks.push(Block::FoldEnds);
    Ok(context.page_in(&place, Part::Tenants, &account.holder.name, blocks))
}

/// The newest events of an account.
async fn events(
    context: &PageContext,
    place: &TenantRealm,
    account: &Account,
) -> Result<Table, ApiError> {
    let (queries, realm, rows) = (context.queries(), place.realm, context.rows(BRIEF));
    let (items, more) = queries.account_events(realm, account.number, rows).await?;
    let mut table = realms::table(context, Word::Events, realm, items.iter());
    if more && items.len() < rows {
        // They come from the newest events of the realm, which are not searched to the end.
        table.title = format!("{} · {}", table.title, context.say(Word::NewestOfRealm));
    }
    Ok(table)
}

fn balances(context: &PageContext, view: &AccountView) -> Vec<Tile> {
    let (locale, account) = (context.locale(), &view.account);
    let tile = |word: Word, cell: Cell| Tile::of(locale, word, cell);
    vec![
        tile(Word::State, locale.state(account.status.as_str())),
        tile(Word::Available, locale.money(account.balance.available)),
        tile(Word::Held, locale.money(account.balance.held)),
        tile(Word::Total, locale.money(account.balance.total())),
        tile(Word::Movements, locale.count(account.sequence)),
    ]
}

/// The balance at an instant, and the form that asks for one.
async fn past(
    context: &PageContext,
    place: &TenantRealm,
    target: Target,
) -> Result<Vec<Block>, ApiError> {
    let (locale, asked) = (context.locale(), context.asks("at"));
    let mut blocks = Vec::new();
    if let Some(text) = asked {
        let day = BusinessDay::parse(text).map(|day| day.end());
        let at = day.or_else(|| Timestamp::parse(text));
        let at = at.ok_or_else(|| ApiError::field("at", Mistake::NotAnInstant))?;
        let asked = ReadBalanceAt(target, at);
        let then: BalanceView = context.queries().ask(place.realm, asked).await?;
        let facts = facts! {
            context;
            Available: locale.money(then.balance.available);
            Held: locale.money(then.balance.held);
            Total: locale.money(then.balance.total());
            Movements: locale.count(then.sequence);
            LastMovement: locale.maybe_time(then.last_movement_at);
        };
        let title = format!("{} {}", context.say(Word::BalanceAt), locale.time(at).text);
        blocks.push(Block::Facts(title, facts));
    }
    let field = context.asked_field("at", Word::DayOrInstant, Takes::Line, INSTANT_MAX);
    let form = context.query(Word::BalanceAt, Word::Show, vec![field]);
    blocks.push(Block::Form(form));
    Ok(blocks)
}

fn holder(context: &PageContext, account: &Account) -> Block {
    let locale = context.locale();
    let others = account.holders.iter().skip(1);
    let others = others.map(|it| format!("{} ({})", it.name, it.cuit));
    let others: Vec<_> = others.collect();
    let mut facts = facts! {
        context;
        Holder: Cell::text(&account.holder.name);
        Cuit: Cell::code(account.holder.cuit);
        Kind: locale.state(account.holder.person_type.as_str());
        OtherHolders: Cell::text(others.join(", "));
        Cvu: Cell::maybe_code(account.cvu);
        Alias: Cell::maybe(account.alias.as_ref());
        Number: Cell::figure(account.number);
        Code: Cell::maybe_code(account.code.as_ref());
        Email: Cell::maybe(account.email.as_ref());
        Phone: Cell::maybe(account.phone.as_ref());
        Enabled: locale.is(account.enabled, Tone::Warn);
        WaitsForBank: locale.is(account.pending.is_some(), Tone::Quiet);
        CreatedAt: locale.time(account.created_at);
        UpdatedAt: locale.time(account.updated_at);
        ClosedAt: locale.maybe_time(account.closed_at);
    };
    if let Some(suspension) = &account.suspension {
        let why = format!(
            "{} ({})",
            suspension.reason,
            locale.state(suspension.code.as_str()).text
        );
        facts.push((context.say(Word::Suspended), Cell::text(why)));
        facts.push((context.say(Word::SuspendedAt), locale.time(suspension.at)));
    }
    let kept = account.metadata.iter();
    let kept: Vec<_> = kept
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    facts.push((context.say(Word::Metadata), Cell::text(kept.join(", "))));
    context.facts(Word::Holder, facts)
}

fn limits(context: &PageContext, view: &AccountView) -> Table {
    let (locale, it) = (context.locale(), LimitsSnapshot::from(view));
    let kinds = LimitKind::ALL.into_iter();
    let kinds = kinds.filter(|kind| kind.is_always_shown() || it.effective.0.get(*kind).is_some());
    let mut table = table! {
        locale, Word::Limits, Word::NothingHere; kind in kinds;
        => let used = *it.usage.0.get(kind);
        => let left = it
            .remaining
            .0
            .get(kind)
            .filter(|_| kind.window() != Window::Transaction);
        Limit: Cell::text(context.say(Word::limit(kind)));
        Value figure: locale.maybe_quantity(*it.effective.0.get(kind));
        Source: locale.state(it.source.0.get(kind).as_str());
        Used figure: locale.maybe_quantity(used);
        Left figure: locale.maybe_quantity(left);
    };
    let temporary = view.account.temporary_limits.as_deref();
    if let Some(temporary) = temporary.filter(|it| it.apply_at(view.as_of)) {
        let (until, end) = (
            Word::TemporaryLimitsUntil,
            locale.time(temporary.until).text,
        );
        table.title = format!("{} · {} {end}", table.title, context.say(until));
    }
    table
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
    context: &PageContext,
    place: &TenantRealm,
    target: Target,
    key: &str,
) -> Result<Table, ApiError> {
    let (queries, page) = (context.queries(), newest(BRIEF));
    let (filter, sort) = (VoucherFilter::default(), VoucherSort::default());
    let listing = queries
        .movements(place.realm, target, filter, sort, page)
        .await?;
    let (title, locale) = (Word::LatestMovements, context.locale());
    let table = movements::table(locale, title, place.realm, &listing.items, false);
    let more = listing.next.is_some();
    Ok(table.next(more.then(|| format!("/console/accounts/{key}/movements"))))
}

async fn holds(
    context: &PageContext,
    place: &TenantRealm,
    target: Target,
) -> Result<Table, ApiError> {
    let (locale, queries) = (context.locale(), context.queries());
    let page = asked_page(context, BRIEF);
    let listing = queries.holds(place.realm, target, None, page).await?;
    let table = table! {
        locale, Word::Holds, Word::NoHolds; view in listing.items.iter();
        => let body = hold(place.realm, view);
        CreatedAt: locale.time(view.hold.created_at);
        Id: Cell::code(body.id);
        State: locale.state(body.status);
        Amount figure: locale.money(body.amount);
        Confirmed figure: locale.money(body.confirmed);
        Released figure: locale.money(body.released);
        Left figure: locale.money(body.remaining);
        EndsAt: locale.maybe_time(view.hold.expires_at);
        ExternalId: Cell::maybe_code(body.id_externo);
    };
    Ok(whole(context, table, &listing))
}

/// The actor's state in memory, next to the state on disk, with the last calls to the bank.
async fn actor(
    context: &PageContext,
    place: &TenantRealm,
    account: &Account,
) -> Result<Vec<Block>, ApiError> {
    let (operators, realm) = (context.operators(), place.realm);
    let target = Target::Account(account.number);
    let live = context.queries().ask(realm, Observe(target)).await?;
    let (disk, calls) = operators.on_disk(realm, account.number).await?;
    let mut blocks = vec![
        observed(context, live.as_ref(), &disk),
        Block::Table(beside(context, live.as_ref(), &disk)),
    ];
    let calls = calls.into_iter().map(|call| (Timestamp::default(), call));
    let calls: Vec<_> = calls.map(|call| BankCallBody::from(&call)).collect();
    blocks.extend(undated(bank_calls(context, &calls)));
    Ok(blocks)
}

/// Whether the account is in memory, and what its actor has to do.
fn observed(context: &PageContext, live: Option<&Observed>, disk: &Account) -> Block {
    let locale = context.locale();
    let agrees = match live {
        Some(observed) if observed.pending_commits > 0 => Cell::text(context.say(Word::OnItsWay)),
        Some(observed) => locale.is(same(&observed.account, disk), Tone::Bad),
        None => Cell::text(""),
    };
    let resident = match live {
        Some(_) => Cell::of(CellKind::State(Tone::Good), context.say(Word::Resident)),
        None => Cell::of(CellKind::State(Tone::Quiet), context.say(Word::NotResident)),
    };
    let count = |n: Option<usize>| locale.maybe_count(n);
    facts! {
        context, Actor;
        Actor: resident;
        Mailbox: count(live.map(|it| it.mailbox));
        InFlight: count(live.map(|it| it.pending_commits));
        LastActive: locale.maybe_time(live.map(|it| it.active_at));
        MemoryAgrees: agrees;
    }
}

/// Renders one value of an account.
type CellOfAccount = fn(Locale, &Account) -> Cell;

/// The states in memory and on disk, next to each other.
fn beside(context: &PageContext, live: Option<&Observed>, disk: &Account) -> Table {
    let locale = context.locale();
    let both: [(Word, CellOfAccount); 5] = [
        (Word::Movements, |locale, it| locale.count(it.sequence)),
        (Word::ProfileVersion, |locale, it| {
            locale.count(it.profile_seq)
        }),
        (Word::Available, |locale, it| {
            locale.money(it.balance.available)
        }),
        (Word::Held, |locale, it| locale.money(it.balance.held)),
        // The column has figures, so the hash is written as one.
        (Word::Chain, |_, it| {
            Cell::figure(Cell::hash(it.hash.0).text)
        }),
    ];
    table! {
        locale, Word::MemoryBesideDisk, Word::NothingHere; (word, of) in both;
        What: Cell::text(context.say(word));
        InMemory figure: live.map_or_else(|| Cell::figure(""), |it| of(locale, &it.account));
        OnDisk figure: of(locale, disk);
    }
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
            table.remove(0);
            Some(Block::Table(table))
        }
        _ => None,
    })
}
