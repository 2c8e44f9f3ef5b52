//! How answers are rendered, and how an idempotency key keeps them.

use std::marker::PhantomData;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::StatusCode;
use actix_web::http::header::{ContentType, HeaderName};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use caudal_actors::accounts::Versions;
use caudal_actors::engine::Requester;
use caudal_actors::engine::lists::{Listing, ScannedPart};
use caudal_actors::failure::Failure;
use caudal_actors::reply::{Answered, Given, Keyed, Rendered, Scope};
use caudal_ledger::vouchers::Outcome;
use futures_util::TryFutureExt as _;
use futures_util::future::MapOk;
use serde::Serialize;

use super::body::{Body, Fingerprint, OptionalBody};
use super::caller::{self, Caller};
use super::current;
use super::errors::{ApiError, HandlerResult};
use super::params::DryRun;
use super::query::Query;
use super::text;
use super::trace::code_of;
use super::words::Mistake;
use super::{cursors, query};

/// The header with which a request can be repeated safely.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that marks a repeated answer.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const TOTAL: HeaderName = HeaderName::from_static("x-total-count");
const NEXT: HeaderName = HeaderName::from_static("x-next-cursor");
const LOOKED_ROWS: HeaderName = HeaderName::from_static("x-looked-rows");
const LOOKED_UNTIL: HeaderName = HeaderName::from_static("x-looked-until");
const KEY_CHARS_MAX: usize = 255;

/// An answer with a JSON body.
pub fn json<T: Serialize>(status: StatusCode, body: &T) -> HttpResponse {
    raw(status, text::json(body))
}

/// The answer of a service that is ready and has nothing to add.
pub fn ready() -> HttpResponse {
    json(StatusCode::OK, &serde_json::json!({"status": "ready"}))
}

/// An answer whose JSON is written already.
pub fn raw(status: StatusCode, body: String) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header(ContentType::json())
        .body(body)
}

/// A list as a plain array, with its total and its next page in headers.
pub fn array<T, R: Serialize>(listing: &Listing<T>, render: impl Fn(&T) -> R) -> HttpResponse {
    let items: Vec<R> = listing.items.iter().map(render).collect();
    paged(listing, json(StatusCode::OK, &items))
}

/// Adds the headers of a page: its total, or, where only a part of the list was read, how far that went.
pub fn paged<T>(listing: &Listing<T>, mut answer: HttpResponse) -> HttpResponse {
    let headers = answer.headers_mut();
    match listing.looked {
        None => {
            headers.insert(TOTAL, listing.total.into());
        }
        Some(ScannedPart { rows, until }) => {
            headers.insert(LOOKED_ROWS, rows.into());
            if let Some(until) = until.and_then(|at| at.to_string().try_into().ok()) {
                headers.insert(LOOKED_UNTIL, until);
            }
        }
    }
    next(listing, answer)
}

/// Like [`paged`], for a list with cursors of its own.
pub fn walked(total: usize, next: Option<String>, mut answer: HttpResponse) -> HttpResponse {
    let headers = answer.headers_mut();
    headers.insert(TOTAL, total.into());
    if let Some(cursor) = next.and_then(|cursor| cursor.try_into().ok()) {
        headers.insert(NEXT, cursor);
    }
    answer
}

/// Adds the header with the cursor of the next page, for a list that does not know its total.
pub fn next<T>(listing: &Listing<T>, mut answer: HttpResponse) -> HttpResponse {
    let headers = answer.headers_mut();
    if let Some(cursor) = cursors::written(listing).and_then(|c| c.try_into().ok()) {
        headers.insert(NEXT, cursor);
    }
    answer
}

/// The idempotency key of a request: absent, or 1–255 visible ASCII characters.
///
/// # Errors
/// 400 when it is repeated or malformed.
pub fn idempotency_key(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    if !request.headers().contains_key(&IDEMPOTENCY_KEY) {
        return Ok(None);
    }
    let wrong = || ApiError::field("Idempotency-Key", Mistake::IdempotencyHeader);
    let key = caller::only(request, &IDEMPOTENCY_KEY).ok_or_else(wrong)?;
    // The draft standard writes it as a quoted string; nearly all clients send it bare.
    let quoted = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
    let key = quoted.unwrap_or(key);
    let good =
        (1..=KEY_CHARS_MAX).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    if good {
        Ok(Some(key.to_owned()))
    } else {
        Err(wrong())
    }
}

/// A request that orders something. `B` is how its body is read: [`Body`], [`OptionalBody`], or `()` where the operation
/// has none.
#[derive(Debug)]
pub struct ApiCall<B = Body> {
    /// The request.
    pub request: HttpRequest,
    /// Who makes it.
    pub caller: Caller,
    /// Its parameters.
    pub query: Query,
    /// Its body.
    pub body: Body,
    sent: PhantomData<B>,
}

/// Whether it is a dry run, the requester of an order that makes something, and how its success is answered.
type Making<T, F> = (bool, Requester<Outcome<T>>, Success<F>);

type CallParts<B> = (HttpRequest, Caller, Query, B);

impl<B: FromRequest + Into<Body> + 'static> FromRequest for ApiCall<B> {
    type Error = actix_web::Error;
    type Future = MapOk<<CallParts<B> as FromRequest>::Future, fn(CallParts<B>) -> Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        CallParts::from_request(request, payload).map_ok(|(request, caller, query, body)| Self {
            request,
            caller,
            query,
            body: body.into(),
            sent: PhantomData,
        })
    }
}

impl From<OptionalBody> for Body {
    fn from(OptionalBody(body): OptionalBody) -> Self {
        body
    }
}

impl From<()> for Body {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl<B> ApiCall<B> {
    /// The body, of which nothing is left.
    pub fn take_body(&mut self) -> Body {
        std::mem::take(&mut self.body)
    }

    /// Whether only what would happen is asked for. Ends the reading of the parameters.
    ///
    /// # Errors
    /// 400 with every mistake.
    pub fn dry_run(&mut self) -> Result<bool, ApiError> {
        let DryRun { dry_run } = DryRun::read(std::mem::take(&mut self.query))?;
        Ok(dry_run)
    }

    /// The requester of an order, with the idempotency key of the request if it has one. `render` gives the status and body
    /// of a success; failures are rendered as everywhere.
    ///
    /// # Errors
    /// 400 when the key is malformed.
    pub fn requester<T: 'static>(
        &self,
        render: impl FnOnce(&T) -> (StatusCode, String) + Send + 'static,
    ) -> Result<Requester<T>, ApiError> {
        self.requester_of(|_| false, render)
    }

    /// Like [`Self::requester`]; `again` tells whether a success had already been recorded before.
    ///
    /// # Errors
    /// 400 when the key is malformed.
    pub fn requester_of<T: 'static>(
        &self,
        again: fn(&T) -> bool,
        render: impl FnOnce(&T) -> (StatusCode, String) + Send + 'static,
    ) -> Result<Requester<T>, ApiError> {
        let fields = || Ok(self.body.fingerprint());
        requester_for(&self.request, &self.caller, fields, again, render)
    }

    /// The requester of an order, and how its success is answered: `render` makes the body both of the present answer and of
    /// the one that an idempotency key keeps.
    ///
    /// # Errors
    /// 400 when the key is malformed.
    pub fn order<T: 'static, R: Serialize, F: Fn(&T) -> R + Clone + Send + 'static>(
        &self,
        status: StatusCode,
        render: F,
    ) -> Result<(Requester<T>, Success<F>), ApiError> {
        let kept = render.clone();
        let requester = self.requester(move |value| (status, text::json(&kept(value))))?;
        Ok((requester, Success { status, render }))
    }

    /// Like [`Self::order`], for something that is made once under its external id, with whether it is a dry run: 201 when
    /// it is made, and when it had been made before; 200 with what a dry run would make.
    ///
    /// # Errors
    /// 400 when a parameter is wrong, or the key is malformed.
    pub fn making<T: 'static, R: Serialize, F: Fn(&T) -> R + Clone + Send + 'static>(
        &mut self,
        render: F,
    ) -> Result<Making<T, F>, ApiError> {
        self.making_as(StatusCode::CREATED, render)
    }

    /// Like [`Self::making`], with another status than 201.
    ///
    /// # Errors
    /// As [`Self::making`].
    pub fn making_as<T: 'static, R: Serialize, F: Fn(&T) -> R + Clone + Send + 'static>(
        &mut self,
        made: StatusCode,
        render: F,
    ) -> Result<Making<T, F>, ApiError> {
        let dry_run = self.dry_run()?;
        let kept = render.clone();
        let again = |outcome: &Outcome<T>| matches!(outcome, Outcome::Replayed(_));
        let requester = self.requester_of(again, move |outcome| {
            let (Outcome::Recorded(value) | Outcome::Replayed(value)) = outcome;
            (made, text::json(&kept(value)))
        })?;
        // A dry run leaves nothing behind, not even a kept answer.
        let status = if dry_run { StatusCode::OK } else { made };
        Ok((dry_run, requester, Success { status, render }))
    }
}

/// Like [`ApiCall::requester_of`], for a body whose fingerprint is worth taking only when there is a key.
///
/// Every order passes here, so a dry run loses its key here: the key is neither looked up nor used up, and no later
/// layer has to check again.
///
/// # Errors
/// 400 when the key is malformed, and the errors of `fields`.
pub fn requester_for<T: 'static>(
    request: &HttpRequest,
    caller: &Caller,
    fields: impl FnOnce() -> Result<Fingerprint, ApiError>,
    again: fn(&T) -> bool,
    render: impl FnOnce(&T) -> (StatusCode, String) + Send + 'static,
) -> Result<Requester<T>, ApiError> {
    let request_id = caller.request_id.clone();
    let admitted = Some(Arc::clone(&caller.admitted));
    let key = idempotency_key(request)?;
    let Some(key) = key.filter(|_| !query::is_dry(request)) else {
        return Ok(Requester {
            keyed: None,
            request_id,
            admitted,
        });
    };
    let fields = fields()?;
    let scope = Scope {
        key,
        method: request.method().to_string(),
        path: request.path().to_owned(),
        fields,
    };
    // The actor renders the answer in its turn, on another thread: so the request's context goes along.
    let shown = current::request();
    let render = Box::new(move |outcome: Result<&T, &Failure>| match outcome {
        Ok(value) => {
            let (status, body) = render(value);
            Rendered {
                status: status.as_u16(),
                body,
                again: again(value),
            }
        }
        Err(failure) => {
            let error = ApiError::from(failure);
            let body = error.body(&shown, crate::clock::now());
            Rendered {
                status: error.status.as_u16(),
                body: text::json(&body),
                again: false,
            }
        }
    });
    Ok(Requester {
        keyed: Some(Keyed { scope, render }),
        request_id,
        admitted,
    })
}

/// How the success of an order is answered.
#[derive(Clone, Copy, Debug)]
pub struct Success<F> {
    status: StatusCode,
    render: F,
}

impl<F> Success<F> {
    /// Answers an order.
    ///
    /// # Errors
    /// The failure, as an error of the API.
    pub fn give<T, R: Serialize>(self, answered: Answered<T>) -> HandlerResult
    where
        F: Fn(&T) -> R,
    {
        let Self { status, render } = self;
        give(answered, |value| json(status, &render(&value)))
    }

    /// Answers an order that makes something once: the header of a repeat says that it had been made before.
    ///
    /// # Errors
    /// The failure, as an error of the API.
    pub fn give_made<T, R: Serialize>(self, answered: Answered<Outcome<T>>) -> HandlerResult
    where
        F: Fn(&T) -> R,
    {
        let Self { status, render } = self;
        give(answered, |outcome| {
            let again = matches!(outcome, Outcome::Replayed(_));
            let mut answer = json(status, &render(&outcome.into_inner()));
            if again {
                mark_replayed(&mut answer);
            }
            answer
        })
    }
}

/// A requester without an idempotency key.
pub fn plain<T>(caller: &Caller) -> Requester<T> {
    Requester {
        keyed: None,
        request_id: caller.request_id.clone(),
        admitted: Some(Arc::clone(&caller.admitted)),
    }
}

/// Renders the result of an order: a value by `render`, a kept answer as it is.
///
/// # Errors
/// The failure, as an error of the API.
pub fn give<T>(
    answered: Answered<T>,
    render: impl FnOnce(T) -> HttpResponse,
) -> Result<HttpResponse, ApiError> {
    match answered? {
        Given::Value(value) => Ok(render(value)),
        Given::Kept {
            status,
            body,
            again,
        } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            let code = code_of(status, &body);
            let mut answer = raw(status, body);
            if let Some(code) = code {
                answer.extensions_mut().insert(code);
            }
            if again {
                mark_replayed(&mut answer);
            }
            Ok(answer)
        }
    }
}

/// Marks an answer as one that was given before.
pub fn mark_replayed(answer: &mut HttpResponse) {
    let yes = actix_web::http::header::HeaderValue::from_static("true");
    answer.headers_mut().insert(REPLAYED, yes);
}

/// The version of an account as an entity tag: it covers the profile, limits and state, and no movement changes it.
pub fn etag(profile: u64) -> String {
    format!("\"{profile}\"")
}

/// The versions that `If-Match` accepts: `None` when it is absent or `*`.
pub fn if_match(request: &HttpRequest) -> Option<Versions> {
    let header = actix_web::http::header::IF_MATCH;
    if !request.headers().contains_key(&header) {
        return None;
    }
    let tags = tags(request, &header);
    let any = tags.iter().any(|tag| tag == "*");
    let version = |tag: &String| {
        let version = tag.strip_prefix('"')?.strip_suffix('"')?;
        version.parse().ok()
    };
    (!any).then(|| tags.iter().filter_map(version).collect())
}

/// Whether `If-None-Match` names this version.
pub fn unchanged(request: &HttpRequest, etag: &str) -> bool {
    let header = actix_web::http::header::IF_NONE_MATCH;
    let same = |tag: &String| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag;
    tags(request, &header).iter().any(same)
}

fn tags(request: &HttpRequest, header: &HeaderName) -> Vec<String> {
    let values = request
        .headers()
        .get_all(header)
        .filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(|tag| tag.trim().to_owned())
        .collect()
}
