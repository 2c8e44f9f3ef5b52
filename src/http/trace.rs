//! One line for each request, and the trace that it belongs to.
//!
//! **Shape.** [`RequestSpans`] is the outermost layer of both listeners. It gives the request its id (the client's own,
//! the trace's, or a new one), opens its span, and writes its line when the answer is there: request id, tenant,
//! mode, method, the pattern of its route, status, our code of a refusal, and how long it took. Log lines of handlers
//! carry the id by the span; those of actors, the bank's gateway and the courier on behalf of the request name the id
//! themselves, since they work elsewhere.
//!
//! Every answer is counted by its route ([`super::routes`]), whether it has a line or not.
//!
//! **Order.** A refusal always has its line; of successes only one in so many may have one
//! ([`AppState::log_every`](super::Door)). A server error is a WARN, everything else INFO.
//!
//! **Traces.** The trace of a request that continues one is remembered ([`crate::traces`]).

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, StatusCode};
use actix_web::{Error, HttpMessage as _, web};
use tracing::Span;
use tracing_actix_web::RootSpanBuilder;

use super::AppState;
use super::current::{self, Language, Request};
use super::cursors;
use super::paths::is_wallet;
use super::routes::Routes;
use crate::keys::Identity;
use crate::log::REQUESTS;
use crate::traces::{Trace, remember};

/// The stable word of a refusal, attached to the answer for its line in the log.
#[derive(Clone, Debug)]
pub struct Code(pub std::borrow::Cow<'static, str>);

/// When a request came, and its method.
#[derive(Clone, Debug)]
struct Began {
    at: Instant,
    method: Method,
    /// The trace, where spans of it are sent, and when the request came by the clock of the machine.
    trace: Option<(Trace, SystemTime)>,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct RequestSpans;

impl RootSpanBuilder for RequestSpans {
    fn on_request_start(call: &ServiceRequest) -> Span {
        let given = Trace::of(call.headers());
        let id = current::request_id(call.headers(), given);
        let trace = given.or_else(Trace::begun);
        let span = tracing::info_span!(
            target: REQUESTS,
            "request",
            request_id = id,
            trace_id = tracing::field::Empty
        );
        if let Some(trace) = trace {
            span.record("trace_id", trace.id());
            remember(&id, trace);
        }
        let language = if is_wallet(call.path()) {
            Language::Spanish
        } else {
            Language::English
        };
        let mut extensions = call.extensions_mut();
        let list = match *call.method() {
            Method::GET | Method::HEAD => cursors::list(call.path(), call.query_string()),
            _ => 0,
        };
        extensions.insert(Request { id, language, list });
        extensions.insert(Began {
            at: Instant::now(),
            method: call.method().clone(),
            trace: trace
                .filter(|trace| trace.is_sent())
                .map(|trace| (trace, SystemTime::now())),
        });
        span
    }

    fn on_request_end<B: MessageBody>(_: Span, outcome: &Result<ServiceResponse<B>, Error>) {
        match outcome {
            Ok(answer) => {
                let began = answer.request().extensions().get::<Began>().cloned();
                let took = began.as_ref().map(|began| began.at.elapsed());
                if let (Some(took), Some(routes)) =
                    (took, answer.request().app_data::<web::Data<Routes>>())
                {
                    let request = answer.request();
                    routes.count((request.method(), request.path()), answer.status(), took);
                }
                line(answer, took);
                if let Some((trace, at)) = began.and_then(|began| began.trace) {
                    answered(answer, trace, at);
                }
            }
            // Every error of ours is an answer by this layer.
            Err(why) => {
                let status = why.as_response_error().status_code().as_u16();
                tracing::warn!(target: REQUESTS, status, "request");
            }
        }
    }
}

/// Sends the span of a request.
fn answered<B: MessageBody>(answer: &ServiceResponse<B>, trace: Trace, at: SystemTime) {
    let (request, status) = (answer.request(), answer.status());
    let pattern = request.match_pattern();
    let route = pattern.as_deref().map_or("none", |route| route);
    let method = request.method().as_str();
    let extensions = request.extensions();
    let id = extensions
        .get::<Request>()
        .map(|request| request.id.clone());
    let tenant = extensions.get::<Identity>().map(|it| it.tenant.clone());
    let mut about = vec![
        ("http.request.method", method.to_owned()),
        ("http.route", route.to_owned()),
        ("http.response.status_code", status.as_u16().to_string()),
    ];
    about.extend(id.map(|id| ("caudal.request_id", id)));
    about.extend(tenant.map(|tenant| ("caudal.tenant", tenant)));
    let name = format!("{method} {route}");
    trace.answered(name, at, about, status.is_server_error());
}

/// Whether a success has its line: one in `every` of each thread, none if that is 0.
fn chosen(every: u32) -> bool {
    thread_local!(static COUNT: Cell<u32> = const { Cell::new(0) });
    COUNT.with(|count| {
        let next = count.get().wrapping_add(1);
        count.set(next);
        next.checked_rem(every) == Some(0)
    })
}

fn line<B: MessageBody>(answer: &ServiceResponse<B>, took: Option<Duration>) {
    if !tracing::enabled!(target: REQUESTS, tracing::Level::INFO) {
        return;
    }
    let (request, status) = (answer.request(), answer.status());
    if status.is_success() {
        let app = request.app_data::<web::Data<AppState>>();
        if !chosen(app.map_or(1, |app| app.log_every)) {
            return;
        }
    }
    let extensions = request.extensions();
    let identity = extensions.get::<Identity>();
    let tenant = identity.map(|identity| identity.tenant.as_str());
    let mode = identity.map(|identity| identity.mode.as_str());
    let began = extensions.get::<Began>();
    let method = began.map(|began| began.method.as_str());
    let duration_us = took.map(micros);
    let (pattern, said) = (request.match_pattern(), answer.response().extensions());
    let route = pattern.as_deref().unwrap_or("none");
    let code = said.get::<Code>().map(|Code(code)| code.as_ref());
    let number = status.as_u16();
    if status.is_server_error() {
        tracing::warn!(target: REQUESTS, tenant, mode, method, route, status = number, code, duration_us, "request");
    } else {
        tracing::info!(target: REQUESTS, tenant, mode, method, route, status = number, code, duration_us, "request");
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}

/// The code of a refusal that was kept as text.
pub fn code_of(status: StatusCode, body: &str) -> Option<Code> {
    #[derive(serde::Deserialize)]
    struct Coded {
        code: String,
    }
    let refused = status.is_client_error() || status.is_server_error();
    let read = refused.then(|| serde_json::from_str::<Coded>(body).ok());
    read.flatten().map(|body| Code(body.code.into()))
}
