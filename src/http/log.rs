//! The log: one line per event, as text or as JSON, written by a thread of its own.
//!
//! **Shape.** A filter, a formatter, and a queue in front of standard error. A JSON line is one flat object: time,
//! level, target, the fields of the event, and those of the span around it. So every line about the handling of a
//! request has its `request_id`.
//!
//! **Bounds.** [`LINES_MAX`] lines wait for a slow reader; further lines are dropped and counted ([`dropped`]), so that
//! no request waits for the reader of the log. Errors of the store are written at once instead, because the process may
//! end with them.
//!
//! **Changes.** The level can be changed temporarily ([`level`]).
//!
//! **Order.** Call [`begin`] once, and [`end`] before the process ends: it writes the queued lines, within a second.
//!
//! **Never in a line:** names, CUITs, keys, aliases, emails, amounts, and of CBUs and CVUs more than the last four
//! digits. A line names a route by its pattern, which contains none of these.

pub mod level;
mod terminal;

use std::fmt;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Deserialize;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::writer::MakeWriterExt as _;
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How the log is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object per line.
    #[default]
    Json,
    /// A line of words, for people at a terminal.
    Text,
    /// For people at the terminal of `caudal dev`: short, and requests in columns.
    #[serde(skip)]
    Terminal,
}

/// The target of the lines about requests, for filters.
pub const REQUESTS: &str = "caudal::request";
/// The most queued lines; further ones are dropped and counted.
pub const LINES_MAX: usize = 32_768;
/// The most bytes of one write.
const WRITE_BYTES: usize = 64 * 1024;
/// The crate whose errors are written at once.
const AT_ONCE: &str = "caudal_storage";

/// The state that [`begin`] leaves for [`end`], [`dropped`] and [`fatal`].
struct Begun {
    format: LogFormat,
    lost: ErrorCounter,
    guard: Mutex<Option<WorkerGuard>>,
}

static BEGUN: OnceLock<Begun> = OnceLock::new();

/// Begins to write the log on standard error.
///
/// # Errors
/// When a log was begun before.
pub fn begin(format: LogFormat, filter: Targets) -> Result<(), String> {
    let buffered = io::BufWriter::with_capacity(WRITE_BYTES, io::stderr());
    let (queue, guard) = queue(LINES_MAX, buffered);
    let lost = queue.error_counter();
    let usual = filter.to_string();
    let (filter, handle) = reload::Layer::new(filter);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(io::IsTerminal::is_terminal(&io::stderr()))
        .with_writer(io::stderr.with_filter(is_at_once).or_else(queue));
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Terminal => lines.event_format(terminal::Terminal).boxed(),
        LogFormat::Json => lines
            .fmt_fields(MemberWriter)
            .event_format(JsonLine)
            .boxed(),
    };
    let log = tracing_subscriber::registry().with(filter).with(lines);
    log.try_init().map_err(|why| why.to_string())?;
    let apply = move |filter| handle.reload(filter).map_err(|why| why.to_string());
    level::changeable(usual, Box::new(apply));
    let guard = Mutex::new(Some(guard));
    let begun = Begun {
        format,
        lost,
        guard,
    };
    BEGUN
        .set(begun)
        .map_err(|_| "it was begun before".to_owned())
}

/// A queue of this many lines in front of a writer.
fn queue(lines: usize, to: impl io::Write + Send + 'static) -> (NonBlocking, WorkerGuard) {
    NonBlockingBuilder::default()
        .buffered_lines_limit(lines)
        .lossy(true)
        .thread_name("log")
        .finish(to)
}

/// Writes the queued lines; for the end of the process.
pub fn end() {
    if let Some(begun) = BEGUN.get() {
        drop(lock(&begun.guard).take());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of lines dropped since the start because the queue was full.
pub fn dropped() -> usize {
    BEGUN.get().map_or(0, |begun| begun.lost.dropped_lines())
}

/// Logs why the process ends, if the log is JSON and its filter lets errors pass. Otherwise returns false without
/// writing anything.
pub fn fatal(why: &str) -> bool {
    let json = BEGUN.get().map(|begun| begun.format) == Some(LogFormat::Json);
    // A filter may hide this line, and then nobody would ever learn why the process ended.
    if !json || !tracing::enabled!(Level::ERROR) {
        return false;
    }
    tracing::error!(why, "the process ends");
    true
}

/// Whether a line is written at once, past the queue.
fn is_at_once(meta: &Metadata<'_>) -> bool {
    *meta.level() == Level::ERROR && meta.target().starts_with(AT_ONCE)
}

/// The formatter of JSON lines.
#[derive(Clone, Copy, Debug)]
struct JsonLine;

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let meta = event.metadata();
        line.write_str("{\"timestamp\":\"")?;
        SystemTime.format_time(&mut line)?;
        write!(line, "\",\"level\":\"{}\",\"target\":", meta.level())?;
        quote(&mut line, meta.target())?;
        let mut members = Visitor::new(line.by_ref());
        event.record(&mut members);
        members.result?;
        for span in context.event_scope().into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                line.write_str(&fields.fields)?;
            }
        }
        line.write_str("}\n")
    }
}

/// Writes fields as members of an object, each after a comma.
#[derive(Clone, Copy, Debug)]
struct MemberWriter;

impl<'w> FormatFields<'w> for MemberWriter {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut members = Visitor::new(writer);
        fields.record(&mut members);
        members.result
    }
}

struct Visitor<'w> {
    line: Writer<'w>,
    result: fmt::Result,
}

impl<'w> Visitor<'w> {
    fn new(line: Writer<'w>) -> Self {
        let result = Ok(());
        Self { line, result }
    }

    fn member(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'w>) -> fmt::Result) {
        if self.result.is_ok() {
            // The names of fields come from our own code.
            self.result =
                write!(self.line, ",\"{}\":", field.name()).and_then(|()| value(&mut self.line));
        }
    }
}

impl Visit for Visitor<'_> {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.member(field, |line| write!(line, "{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.member(field, |line| write!(line, "{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.member(field, |line| write!(line, "{value}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.member(field, |line| quote(line, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.member(field, |line| {
            line.write_char('"')?;
            fmt::Write::write_fmt(&mut Escaped(line), format_args!("{value:?}"))?;
            line.write_char('"')
        });
    }
}

fn quote(line: &mut Writer<'_>, text: &str) -> fmt::Result {
    line.write_char('"')?;
    fmt::Write::write_str(&mut Escaped(line), text)?;
    line.write_char('"')
}

/// Writes text as the inside of a JSON string.
struct Escaped<'a, 'w>(&'a mut Writer<'w>);

impl fmt::Write for Escaped<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        let special = |c: char| matches!(c, '"' | '\\') || c.is_control();
        while let Some((before, after)) =
            rest.find(special).and_then(|at| rest.split_at_checked(at))
        {
            self.0.write_str(before)?;
            let mut after = after.chars();
            match after.next() {
                Some(c @ ('"' | '\\')) => write!(self.0, "\\{c}")?,
                Some('\n') => self.0.write_str("\\n")?,
                Some(c) => write!(self.0, "\\u{:04x}", u32::from(c))?,
                None => {}
            }
            rest = after.as_str();
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::{Arc, mpsc};

    use super::*;

    #[derive(Clone, Default)]
    struct SpanFields(Arc<Mutex<Vec<u8>>>);

    impl io::Write for SpanFields {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(what: impl FnOnce()) -> Vec<serde_json::Value> {
        let kept = SpanFields::default();
        let writer = kept.clone();
        let log = tracing_subscriber::fmt()
            .with_max_level(Level::TRACE)
            .with_writer(move || writer.clone())
            .fmt_fields(MemberWriter)
            .event_format(JsonLine)
            .finish();
        tracing::subscriber::with_default(log, what);
        let text = String::from_utf8(lock(&kept.0).clone()).unwrap();
        let read = |line| serde_json::from_str(line).unwrap();
        text.lines().map(read).collect()
    }

    /// A writer that takes a line when it is allowed to.
    struct Slow {
        comes: mpsc::Sender<()>,
        may: mpsc::Receiver<()>,
        kept: SpanFields,
    }

    impl io::Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.comes.send(()).unwrap();
            self.may.recv().unwrap();
            self.kept.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn log_lines_beyond_the_queue_are_dropped_and_counted() {
        let (comes, came) = mpsc::channel();
        let (let_go, may) = mpsc::channel();
        let kept = SpanFields::default();
        let slow = Slow {
            comes,
            may,
            kept: kept.clone(),
        };
        let (mut queue, guard) = queue(4, slow);
        let say = |queue: &mut NonBlocking, n: usize| {
            queue.write_all(format!("{n}\n").as_bytes()).unwrap();
        };
        say(&mut queue, 0);
        // One line is being written, and four more may wait.
        came.recv().unwrap();
        (1..10).for_each(|n| say(&mut queue, n));
        assert_eq!(queue.error_counter().dropped_lines(), 5);
        for _ in 1..5 {
            let_go.send(()).unwrap();
            came.recv().unwrap();
        }
        let_go.send(()).unwrap();
        drop(guard);
        while lock(&kept.0).len() < 10 {
            std::thread::yield_now();
        }
        assert_eq!(*lock(&kept.0), b"0\n1\n2\n3\n4\n");
    }

    #[test]
    fn a_line_is_one_flat_object_with_the_fields_of_its_spans() {
        let lines = lines(|| {
            let span = tracing::info_span!(
                "request",
                request_id = "req_1",
                later = tracing::field::Empty
            );
            span.record("later", 7);
            let _inside = span.enter();
            let odd = "a \"quote\", a \\ and a\nline\u{1}";
            tracing::warn!(odd, number = -3, yes = true, debug = ?Some("x\"y"), "what {}", "happened");
        });
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        assert_eq!(line["level"], "WARN");
        assert_eq!(line["message"], "what happened");
        assert_eq!(line["odd"], "a \"quote\", a \\ and a\nline\u{1}");
        assert_eq!(
            (&line["number"], &line["yes"]),
            (&(-3).into(), &true.into())
        );
        assert_eq!(line["debug"], "Some(\"x\\\"y\")");
        assert_eq!(
            (&line["request_id"], &line["later"]),
            (&"req_1".into(), &7.into())
        );
        assert!(line["timestamp"].is_string() && line["target"].is_string());
    }
}
