//! The log of `caudal dev`, for a person at a terminal: a short line for each request; for every other event its level,
//! message and fields.
//!
//! ```text
//! 15:04:05  201  POST   /v1/accounts                                  12.3 ms
//! 15:04:06  400  POST   /v1/accounts/{cvu}/comprobantes                0.8 ms  insufficient_funds
//! 15:04:07  WARN the bank's list could not be read  mode=live
//! ```

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::registry::LookupSpan;

use super::REQUESTS;

/// The time of day within the text of an instant.
const TIME: std::ops::Range<usize> = 11..19;

/// The formatter of these lines; see the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal;

impl<S, N> FormatEvent<S, N> for Terminal
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (mut instant, mut seen) = (String::new(), EventFields::default());
        SystemTime.format_time(&mut Writer::new(&mut instant))?;
        event.record(&mut seen);
        let time = instant.get(TIME).unwrap_or("--:--:--");
        write!(line, "{time}  ")?;
        if event.metadata().target() == REQUESTS {
            seen.request(&mut line)
        } else {
            seen.other(event.metadata().level(), &mut line)
        }
    }
}

/// The message and the other fields of an event.
#[derive(Debug, Default)]
struct EventFields {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl EventFields {
    fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, value)| value)
    }

    fn request(&self, line: &mut Writer<'_>) -> fmt::Result {
        let (status, method) = (self.field("status"), self.field("method"));
        let colour = match status.as_bytes().first() {
            Some(b'2' | b'3') => 32,
            Some(b'4') => 33,
            _ => 31,
        };
        if line.has_ansi_escapes() {
            write!(line, "\x1b[{colour}m{status}\x1b[0m")?
        } else {
            write!(line, "{status}")?
        }
        let micros: u64 = self.field("duration_us").parse().unwrap_or(0);
        let (whole, tenth) = (micros / 1000, micros % 1000 / 100);
        let took = format!("{whole}.{tenth} ms");
        write!(line, "  {method:<6} {:<52} {took:>10}", self.field("route"))?;
        match self.field("code") {
            "" => writeln!(line),
            code => writeln!(line, "  {code}"),
        }
    }

    fn other(&self, level: &tracing::Level, line: &mut Writer<'_>) -> fmt::Result {
        write!(line, "{level} {}", self.message)?;
        for (name, value) in &self.fields {
            write!(line, "  {name}={value}")?;
        }
        writeln!(line)
    }
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        if write!(text, "{value:?}").is_err() {
            return;
        }
        match field.name() {
            "message" => self.message = text,
            name => self.fields.push((name, text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct TerminalSpan(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for TerminalSpan {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_request_is_one_short_line_and_all_else_says_what_it_is() {
        let kept = TerminalSpan::default();
        let writer = kept.clone();
        let log = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .event_format(Terminal)
            .finish();
        tracing::subscriber::with_default(log, || {
            let (tenant, code): (Option<&str>, Option<&str>) = (Some("demo"), None);
            tracing::info!(target: REQUESTS, tenant, method = "GET", route = "/v1/accounts", status = 200_u16, code, duration_us = Some(12_345_u64), "request");
            tracing::warn!(target: REQUESTS, method = "POST", route = "/v1/transfers", status = 503_u16, code = "overloaded", duration_us = 40_u64, "request");
            tracing::warn!(mode = "live", "the list could not be read");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<_> = text.lines().map(|line| line.split_at(10).1).collect();
        let gap = " ".repeat(40);
        assert_eq!(
            lines,
            [
                format!("200  GET    /v1/accounts {gap}   12.3 ms"),
                format!("503  POST   /v1/transfers{gap}    0.0 ms  overloaded"),
                "WARN the list could not be read  mode=live".to_owned(),
            ]
        );
    }
}
