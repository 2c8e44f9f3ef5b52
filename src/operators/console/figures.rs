//! The present figures: the overview begins with them, and its stream sends them.

use caudal_storage::Stats;

use super::view::{Cell, Kind, Tile, Tone};
use super::visit::Visit;
use super::words::Word;

/// The present figures.
pub(super) fn tiles(visit: &Visit) -> Vec<Tile> {
    let (tongue, engine, point) = (visit.tongue(), visit.engine(), visit.console.pulse.last());
    let stats: Stats = engine.operators().stats();
    let tile = |word: Word, cell: Cell, hint: String| Tile {
        label: visit.say(word),
        cell,
        hint,
    };
    let residency = engine.residency();
    let ready = if visit.desk.door.ready().is_ok() && visit.desk.door.gate.is_open() {
        Cell::of(Kind::State(Tone::Good), visit.say(Word::Ready))
    } else {
        Cell::of(Kind::State(Tone::Bad), visit.say(Word::NotReady))
    };
    let up = tongue.lasting(visit.desk.uptime_seconds()).text;
    let place = |word: Word, text: String| format!("{} {text}", visit.say(word));
    vec![
        tile(Word::Node, ready, place(Word::Up, up)),
        requests(visit),
        tile(
            Word::CommitsASecond,
            tongue.tenths(point.commits),
            place(Word::LastCommit, tongue.count(stats.last_commit).text),
        ),
        tile(
            Word::FlushMicros,
            tongue.count(point.flush),
            place(Word::LastFlush, tongue.count(stats.last_flush_us).text),
        ),
        tile(Word::GroupSize, tongue.tenths(point.group), String::new()),
        tile(
            Word::QueuedCommits,
            tongue.count(stats.queued),
            place(Word::IndexLag, tongue.count(stats.index_lag()).text),
        ),
        tile(
            Word::Residents,
            tongue.count(residency.living()),
            place(Word::AtMost, tongue.count(residency.most()).text),
        ),
        tile(
            Word::JournalOnDisk,
            tongue.bytes(stats.journal_disk_bytes),
            place(Word::IndexOnDisk, tongue.bytes(stats.index_disk_bytes).text),
        ),
        tile(Word::Backup, backup(visit), String::new()),
    ]
}

/// The rate of clients' requests, and how quickly they are answered.
fn requests(visit: &Visit) -> Tile {
    let (tongue, pulse) = (visit.tongue(), &visit.console.pulse);
    let minute = pulse.requests();
    let soon = |percent: u64| {
        minute
            .within(percent)
            .map(|within| tongue.millis(within).text)
    };
    let hint = match (soon(50), soon(99)) {
        (Some(half), Some(most)) => format!(
            "{} {half} · {} {most}",
            visit.say(Word::Median),
            visit.say(Word::NinetyNine)
        ),
        _ => visit.say(Word::NoRequests).to_owned(),
    };
    Tile {
        label: visit.say(Word::RequestsASecond),
        cell: tongue.tenths(pulse.last().requests),
        hint,
    }
}

fn backup(visit: &Visit) -> Cell {
    let progress = visit.desk.backup.as_ref().map(|backup| backup.progress());
    let cell = match progress {
        None => Cell::of(Kind::State(Tone::Quiet), visit.say(Word::NoBackup)),
        Some(progress) if progress.error.is_some() => {
            Cell::of(Kind::State(Tone::Bad), visit.say(Word::Failing))
        }
        Some(progress) if !progress.ships => Cell::figure(""),
        Some(progress) => visit.tongue().lasting(progress.lag.as_secs()),
    };
    cell.to("/console/backups")
}
