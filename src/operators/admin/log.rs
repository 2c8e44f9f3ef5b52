//! The log's level: the directives in force, and a temporary change of them.

use std::time::Duration;

use actix_web::{HttpResponse, ResponseError as _};
use caudal_http::bodies::body;
use caudal_http::body::Body;
use caudal_http::body::read::{integer, line, text};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::log::level::{self, CHANGED_MAX, CHANGED_USUAL, Directives, Level};
use caudal_http::request::request;
use caudal_http::words::Refusal;

use super::access::{Acting, ActionOutcome};
use super::ok;

/// The longest reason, in characters.
const REASON_MAX: usize = 500;

body! {
    /// How much is logged.
    pub(crate) struct LogBody as Log from now: Level {
        => let (directives, left) = now.changed.unzip();
        /// What was set at the start; null where the log is not this program's.
        usual: Option<String> = now.usual;
        /// What is changed for now; null when nothing is.
        directives: Option<String> = directives.map(|it| it.to_string());
        /// After how many seconds the change ends by itself.
        ends_in_seconds: Option<u64> = left.map(|left| left.as_secs());
        /// Lines that were dropped since the start because whoever reads the log is slow.
        dropped_lines: usize = caudal_http::log::dropped();
    }
}

/// Says how much is logged.
#[utoipa::path(
    get,
    path = "/admin/log",
    responses((status = 200, body = LogBody))
)]
pub(crate) async fn show() -> HttpResponse {
    ok(&LogBody::from(level::now()))
}

request! {
    /// How much is to be logged for a while.
    strict struct ChangeLog as LogChange {
        /// Which targets say how much, laid over what was set at the start: `warn`, `info`, `debug` or `trace` for each.
        /// Absent or null ends a change at once.
        directives: Option<Directives> = optional("directives", text(Directives::parse))
            as Option<String> { max_length = 200, example = "caudal_bank=debug" };
        /// After how many seconds it ends by itself, an hour at most; ten minutes when absent.
        seconds: Option<u64> = optional("seconds", integer(1, CHANGED_MAX.as_secs()))
            as Option<u32> { minimum = 1, maximum = 3600 };
        /// Why.
        reason: Option<String> = optional("reason", line(REASON_MAX))
            as Option<String> { max_length = 500 };
    }
}

/// Logs more or less of some parts of this program for a while; it ends by itself. It is the log of this process alone.
#[utoipa::path(
    put,
    path = "/admin/log",
    request_body(content = ChangeLog),
    responses((status = 200, body = LogBody))
)]
pub(crate) async fn change(_: Acting, sent: Body) -> HandlerResult {
    let ChangeLog {
        directives,
        seconds,
        reason,
    } = ChangeLog::read(sent)?;
    // The audit log has the reason already. The log does not get it, because it may name somebody.
    drop(reason);
    let lasting = seconds.map_or(CHANGED_USUAL, Duration::from_secs);
    let to = directives.map(|it| (it, lasting));
    let came = match &to {
        Some((directives, lasting)) => format!("{directives} for {} s", lasting.as_secs()),
        None => "as it was set at the start".to_owned(),
    };
    let (mut answer, came) = match level::change(to) {
        Ok(()) => {
            tracing::warn!(to = came, "log level changed");
            (ok(&LogBody::from(level::now())), came)
        }
        Err(why) => {
            let refusal = Refusal::LogNotChanged { why: why.clone() };
            (ApiError::from(refusal).error_response(), why)
        }
    };
    // The audit log has what came of it.
    answer.extensions_mut().insert(ActionOutcome(came));
    Ok(answer)
}
