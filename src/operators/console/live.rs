//! The pulse of the service: its activity now and in the last minutes, for viewers of the overview.
//!
//! **Shape.** Every [`EVERY`] a sample of the store's figures is taken and kept; the difference of two of them is a
//! point of the charts. A stream sends each new point with the present figures, as the HTML that the page shows.
//!
//! **Bounds.** [`KEPT`] samples are kept; [`STREAMS_MAX`] streams are open at the same time.
//!
//! **Failure.** A stream ends with its session, its credential and the service; the browser comes back by itself, and
//! is led to the login page when necessary.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use actix_web::web::Bytes;
use actix_web::{HttpResponse, web};
use caudal_http::AppState;
use caudal_http::measures::tally::DurationCounts;
use caudal_ledger::time::Timestamp;
use caudal_storage::Stats;
use futures_util::stream::unfold;

use super::Console;
use super::page_context::PageContext;
use super::view::{Cell, CellKind, Tile, Tone};
use super::words::Word;
use crate::admin::observed::fit;
use crate::admin::people;

/// How often a sample is taken.
pub(super) const EVERY: Duration = Duration::from_secs(2);
/// How many samples are kept: ten minutes.
pub(super) const KEPT: usize = 300;
/// The samples of a minute.
const MINUTE: usize = 31;
/// How many streams may be open at the same time.
pub(super) const STREAMS_MAX: usize = 16;

const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// The activity between two samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Point {
    /// When the period ended.
    pub at: Timestamp,
    /// Commits made durable, in tenths per second.
    pub commits: u64,
    /// The mean duration of a flush, in microseconds.
    pub flush: u64,
    /// Commits that were waiting at its end.
    pub queued: u64,
    /// Requests of clients that were answered, in tenths per second.
    pub requests: u64,
}

#[derive(Debug, Default)]
struct Sample {
    at: Timestamp,
    stats: Stats,
    requests: DurationCounts,
}

impl Sample {
    /// The activity from another sample to this one.
    fn since(&self, before: &Self) -> Point {
        let (now, then) = (&self.stats, &before.stats);
        let commits = now.commits.abs_diff(then.commits);
        let flushes = now.flushes.abs_diff(then.flushes);
        let millis = self.at.millis().abs_diff(before.at.millis());
        let flush = now.flush_us.abs_diff(then.flush_us);
        // Without a flush, or without time between the samples, nothing happened.
        let mean = |sum: u64, count: u64| sum.checked_div(count).map_or(0, |mean| mean);
        let times = |count: u64, times: u64| count.checked_mul(times).map_or(count, |sum| sum);
        Point {
            at: self.at,
            commits: mean(times(commits, 10_000), millis),
            flush: mean(flush, flushes),
            queued: now.queued,
            requests: mean(
                times(self.requests.since(&before.requests).sum(), 10_000),
                millis,
            ),
        }
    }
}

impl Point {
    /// The point as the charts read it: the second, then the figures of the charts in their order.
    pub(super) fn json(&self) -> String {
        let second = self.at.millis() / 1000;
        let tenths = |tenths: u64| format!("{}.{}", tenths / 10, tenths % 10);
        format!(
            "[{second},{},{},{}]",
            tenths(self.commits),
            self.flush,
            self.queued
        )
    }
}

/// The samples of the last minutes, and the number of viewers.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    samples: Mutex<VecDeque<Sample>>,
    streams: Arc<AtomicUsize>,
}

impl Pulse {
    fn take(&self, sample: Sample) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        while samples.len() >= KEPT {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// The points so far, oldest first.
    pub(super) fn points(&self) -> Vec<Point> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let later = samples.iter().skip(1);
        samples
            .iter()
            .zip(later)
            .map(|(before, it)| it.since(before))
            .collect()
    }

    /// The last point; all zero before there is one.
    pub(super) fn last(&self) -> Point {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let mut newest = samples.iter().rev();
        match (newest.next(), newest.next()) {
            (Some(it), Some(before)) => it.since(before),
            _ => Point::default(),
        }
    }

    /// The requests of the last minute by how long they took.
    pub(super) fn requests(&self) -> DurationCounts {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let mut newest = samples.iter().rev().take(MINUTE);
        match (newest.next(), newest.next_back()) {
            (Some(it), Some(before)) => it.requests.since(&before.requests),
            _ => DurationCounts::default(),
        }
    }

    fn permit(&self) -> Option<ViewerPermit> {
        let taken = self.streams.fetch_add(1, Ordering::AcqRel);
        let permit = ViewerPermit(Arc::clone(&self.streams));
        (taken < STREAMS_MAX).then_some(permit)
    }
}

/// One stream, counted as long as it lives.
struct ViewerPermit(Arc<AtomicUsize>);

impl Drop for ViewerPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Takes samples until the service stops.
pub(super) fn take(console: Arc<Console>, app: AppState) {
    actix_web::rt::spawn(async move {
        loop {
            console.pulse.take(Sample {
                at: app.engine.now(),
                stats: app.engine.operators().stats(),
                requests: app.measures.requests.read(),
            });
            tokio::select! {
                () = app.gate.shut() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    });
}

/// A browser that follows the overview.
struct Follower {
    context: PageContext,
    begun: bool,
    _permit: ViewerPermit,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<Bytes, actix_web::Error>, Self)> {
        let gate = Arc::clone(&self.context.admin_state.app.gate);
        if self.begun {
            tokio::select! {
                () = gate.shut() => return None,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
        self.begun = true;
        let (context, now) = (&self.context, Instant::now());
        let lasts = context.console.sessions.lasts(&context.secret, now);
        let still = people::still(&context.admin_state.app, &context.session.who);
        if !gate.is_open() || !lasts || still.is_none() {
            return None;
        }
        let point = context.console.pulse.last();
        let text = match context.now(&tiles(context), &point.json()) {
            Ok(html) => format!("event: now\ndata: {html}\n\n"),
            Err(why) => {
                tracing::error!(%why, "the figures of now could not be written");
                return None;
            }
        };
        Some((Ok(text.into()), self))
    }
}

/// Streams the present figures (server-sent events).
pub(super) async fn stream(context: PageContext) -> HttpResponse {
    let console = web::Data::clone(&context.console);
    let Some(permit) = console.pulse.permit() else {
        // Browsers do not come back after this status: the page stays as it is, and says so.
        return HttpResponse::NoContent().finish();
    };
    let follower = Follower {
        context,
        begun: false,
        _permit: permit,
    };
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((BUFFERING, "no"))
        .streaming(unfold(follower, Follower::next))
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_http::measures::tally::DurationTally;

    #[test]
    fn points_are_what_happened_between_samples() {
        let pulse = Pulse::default();
        assert_eq!(pulse.last(), Point::default());
        let sample = |second: u64, commits: u64, flushes: u64| Sample {
            at: Timestamp::from_millis(second * 1000),
            stats: Stats {
                commits,
                flushes,
                flush_us: flushes * 300,
                queued: 7,
                ..Stats::default()
            },
            requests: DurationCounts::default(),
        };
        pulse.take(sample(10, 100, 10));
        pulse.take(sample(12, 105, 12));
        pulse.take(sample(14, 105, 12));
        let texts: Vec<_> = pulse.points().iter().map(Point::json).collect();
        assert_eq!(texts, ["[12,2.5,300,7]", "[14,0.0,0,7]"]);
        assert_eq!(pulse.last(), pulse.points()[1]);
        for second in 0..2000 {
            pulse.take(sample(second, 0, 0));
        }
        assert_eq!(pulse.points().len(), KEPT - 1);
    }

    #[test]
    fn requests_are_those_of_the_last_minute() {
        let (pulse, tally) = (Pulse::default(), DurationTally::default());
        assert_eq!(pulse.requests(), DurationCounts::default());
        for second in 0..200 {
            let requests = tally.read();
            pulse.take(Sample {
                at: Timestamp::from_millis(second * 2000),
                requests,
                ..Sample::default()
            });
            tally.count(Duration::from_millis(3));
        }
        assert_eq!(pulse.requests().sum(), 30);
        assert_eq!(pulse.last().requests, 5);
    }

    #[test]
    fn permits_are_given_back() {
        let pulse = Pulse::default();
        let taken: Vec<_> = (0..STREAMS_MAX).map(|_| pulse.permit().unwrap()).collect();
        assert!(pulse.permit().is_none());
        drop(taken);
        assert!(pulse.permit().is_some());
    }
}
