//! The present figures: the overview begins with them, and its stream sends them.

use caudal_storage::Stats;

use super::page_context::PageContext;
use super::view::{Cell, CellKind, Tile, Tone};
use super::words::Word;
use crate::admin::observed::fit;

/// The present figures.
pub(super) fn tiles(context: &PageContext) -> Vec<Tile> {
    let (locale, point) = (context.locale(), context.console.pulse.last());
    let stats: Stats = context.operators().stats();
    let tile = |word: Word, cell: Cell, hint: String| Tile {
        label: context.say(word),
        cell,
        hint,
    };
    let residency = context.engine().residency();
    let (tone, word) = match fit(&context.admin_state.app) {
        Ok(()) => (Tone::Good, Word::Ready),
        Err(_) => (Tone::Bad, Word::NotReady),
    };
    let ready = Cell::of(CellKind::State(tone), context.say(word));
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
    let soon = |percent: u64| Some(locale.millis(minute.within(percent)?).text);
    let hint = match (soon(50), soon(99)) {
        (Some(half), Some(most)) => {
            let (median, ninety_nine) = (context.say(Word::Median), context.say(Word::NinetyNine));
            format!("{median} {half} · {ninety_nine} {most}")
        }
        _ => context.say(Word::NoRequests).to_owned(),
    };
    Tile {
        label: context.say(Word::RequestsASecond),
        cell: locale.tenths(pulse.last().requests),
        hint,
    }
}

fn backup(context: &PageContext) -> Cell {
    let state = |tone, word| Cell::of(CellKind::State(tone), context.say(word));
    let backup = context.admin_state.backup.as_ref();
    let cell = match backup.map(|backup| backup.progress()) {
        None => state(Tone::Quiet, Word::NoBackup),
        Some(progress) if progress.error.is_some() => state(Tone::Bad, Word::Failing),
        Some(progress) if !progress.ships => Cell::figure(""),
        Some(progress) => context.locale().lasting(progress.lag.as_secs()),
    };
    cell.to("/console/backups")
}
