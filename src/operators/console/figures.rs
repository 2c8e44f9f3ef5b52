//! The present figures: the overview begins with them, and its stream sends them.

use caudal_storage::Stats;

use super::page_context::PageContext;
use super::view::{Cell, CellKind, Tile, Tone};
use super::words::Word;

/// The present figures.
pub(super) fn tiles(context: &PageContext) -> Vec<Tile> {
    let (locale, engine, point) = (
        context.locale(),
        context.engine(),
        context.console.pulse.last(),
    );
    let stats: Stats = engine.operators().stats();
    let tile = |word: Word, cell: Cell, hint: String| Tile {
        label: context.say(word),
        cell,
        hint,
    };
    let residency = engine.residency();
    let ready = if context.admin_state.app.ready().is_ok() && context.admin_state.app.gate.is_open()
    {
        Cell::of(CellKind::State(Tone::Good), context.say(Word::Ready))
    } else {
        Cell::of(CellKind::State(Tone::Bad), context.say(Word::NotReady))
    };
    let up = locale.lasting(context.admin_state.uptime_seconds()).text;
    let place = |word: Word, text: String| format!("{} {text}", context.say(word));
    vec![
        tile(Word::Node, ready, place(Word::Up, up)),
        requests(context),
        tile(
            Word::CommitsASecond,
            locale.tenths(point.commits),
            place(Word::LastCommit, locale.count(stats.last_commit).text),
        ),
        tile(
            Word::FlushMicros,
            locale.count(point.flush),
            place(Word::LastFlush, locale.count(stats.last_flush_us).text),
        ),
        tile(
            Word::QueuedCommits,
            locale.count(stats.queued),
            place(Word::IndexLag, locale.count(stats.index_lag()).text),
        ),
        tile(
            Word::Residents,
            locale.count(residency.living()),
            place(Word::AtMost, locale.count(residency.most()).text),
        ),
        tile(
            Word::JournalOnDisk,
            locale.bytes(stats.journal_disk_bytes),
            place(Word::IndexOnDisk, locale.bytes(stats.index_disk_bytes).text),
        ),
        tile(Word::Backup, backup(context), String::new()),
    ]
}

/// The rate of clients' requests, and how quickly they are answered.
fn requests(context: &PageContext) -> Tile {
    let (locale, pulse) = (context.locale(), &context.console.pulse);
    let minute = pulse.requests();
    let soon = |percent: u64| {
        minute
            .within(percent)
            .map(|within| locale.millis(within).text)
    };
    let hint = match (soon(50), soon(99)) {
        (Some(half), Some(most)) => format!(
            "{} {half} · {} {most}",
            context.say(Word::Median),
            context.say(Word::NinetyNine)
        ),
        _ => context.say(Word::NoRequests).to_owned(),
    };
    Tile {
        label: context.say(Word::RequestsASecond),
        cell: locale.tenths(pulse.last().requests),
        hint,
    }
}

fn backup(context: &PageContext) -> Cell {
    let progress = context
        .admin_state
        .backup
        .as_ref()
        .map(|backup| backup.progress());
    let cell = match progress {
        None => Cell::of(CellKind::State(Tone::Quiet), context.say(Word::NoBackup)),
        Some(progress) if progress.error.is_some() => {
            Cell::of(CellKind::State(Tone::Bad), context.say(Word::Failing))
        }
        Some(progress) if !progress.ships => Cell::figure(""),
        Some(progress) => context.locale().lasting(progress.lag.as_secs()),
    };
    cell.to("/console/backups")
}
