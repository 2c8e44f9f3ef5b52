//! A request as it is sent to another node, and that node's answer as it is passed back.
//!
//! **Bounds.** A body is read whole, within its time and [`BODY_BYTES`], so that it can be sent again. An answer of a
//! known length up to [`WHOLE_BYTES`] is read whole, too; any other is streamed as it comes.
//!
//! **Paths.** A client chooses the path, and this node sends it with the secret of the nodes. A URL resolves `..`, encoded
//! or not, and reads `\` as `/`. A path that this would change could leave the families that clients may ask for, so it is
//! refused ([`is_sent_as_it_is`]).

use std::time::Duration;

use actix_web::body::{BoxBody, SizedStream};
use actix_web::dev::ServiceRequest;
use actix_web::http::{Method, StatusCode};
use actix_web::web::Bytes;
use actix_web::{FromRequest as _, HttpResponse};
use caudal_actors::failure::Failure;
use futures_util::stream::unfold;
use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;
use url::Url;

use super::Node;
use crate::http::bytes;
use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::words::Refusal;

/// The largest body, in bytes: that of a batch.
pub(super) const BODY_BYTES: usize = 1024 * 1024;
/// How long another node may take to answer: longer than a bank's list of a day may take.
pub const ANSWER: Duration = Duration::from_secs(150);
/// The largest answer that is read whole, in bytes.
const WHOLE_BYTES: u64 = 1024 * 1024;

/// The path under which banks send notices.
pub(super) const NOTICES: &str = "/bank/";
const REQUEST_ID: &str = "x-request-id";
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Carries the secret that shows that a node asks.
pub(super) const SECRET: &str = "x-caudal-node";
/// The address of the client for which a node asks.
pub(super) const PEER: &str = "x-caudal-peer";
/// The cell or realm that an errand is about: its owner has to do it.
pub const FOR: &str = "x-caudal-for";
/// On whose behalf an errand is done, percent-encoded.
pub const ACTING: &str = "x-caudal-acting";
/// The paths of errands begin with one of these: that of nodes, or that of the admin API.
const ERRANDS: [&str; 2] = ["/node/", "/admin/"];
/// How the other node reports what became of a request, besides its answer. An answer without this header comes from
/// no node of this cell, or from one with another secret.
pub(super) const MOVED: &str = "x-caudal-moved";
/// The request was served: the answer is the owner's.
pub(super) const SERVED: &str = "served";
/// Nothing was done.
pub(super) const NOTHING: &str = "nothing";
/// The outcome is unknown.
pub(super) const PERHAPS: &str = "perhaps";

/// Headers of a connection and not of the message that it carries; and headers that are made anew.
const NOT_SENT: [&str; 14] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "content-length",
    // The node that the client reached does the compressing.
    "accept-encoding",
    SECRET,
    PEER,
    FOR,
    ACTING,
];

/// Whether a path is that of an errand of a node.
pub(super) fn is_errand(path: &str) -> bool {
    ERRANDS.iter().any(|start| path.starts_with(start))
}

/// Whether the other node receives this path, which may have a query, with the segments that it has here.
pub fn is_sent_as_it_is(path: &str) -> bool {
    // the host's name changes no path
    let sent = Url::parse(&format!("http://node{path}"));
    let own = path.split_once('?').map_or(path, |(own, _)| own);
    sent.is_ok_and(|sent| {
        sent.host_str() == Some("node")
            && percent_decode_str(sent.path()).eq(percent_decode_str(own))
    })
}

/// A request, ready to be sent as often as necessary.
pub(super) struct Parcel {
    method: reqwest::Method,
    path: String,
    headers: HeaderMap,
    /// Its body.
    pub(super) body: Bytes,
    /// Whether it may be sent again when its outcome is unknown.
    pub(super) repeats: bool,
    /// How long each try waits for an answer.
    pub(super) answer: Duration,
}

impl Parcel {
    /// Reads a request whole.
    ///
    /// # Errors
    /// When its body is too large or too slow, its method is invalid, or sending would change its path.
    pub(super) async fn of(call: &mut ServiceRequest, node: &Node) -> Result<Self, ApiError> {
        let (request, payload) = call.parts_mut();
        let path = request.uri().path_and_query();
        let path = path.map_or_else(|| request.path().to_owned(), ToString::to_string);
        if !is_sent_as_it_is(&path) {
            return Err(Refusal::NoRoute.into());
        }
        let body = bytes::Bytes::<BODY_BYTES>::from_request(request, payload);
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers() {
            let name = name.as_str();
            if !NOT_SENT.contains(&name) {
                copy(name, value.as_bytes(), &mut headers);
            }
        }
        let secret = node.membership.secret.expose_secret();
        copy(SECRET, secret.as_bytes(), &mut headers);
        if let Some(peer) = request.peer_addr() {
            copy(PEER, peer.to_string().as_bytes(), &mut headers);
        }
        headers.remove(REQUEST_ID);
        copy(REQUEST_ID, current::request().id.as_bytes(), &mut headers);
        let safe = matches!(*request.method(), Method::GET | Method::OPTIONS);
        // A notice takes effect once, however often it comes.
        let repeats = safe
            || request.headers().contains_key(IDEMPOTENCY_KEY)
            || request.match_info().as_str().starts_with(NOTICES);
        let method = request.method().as_str().as_bytes();
        let method = reqwest::Method::from_bytes(method).map_err(|_| Failure::Bug)?;
        Ok(Self {
            method,
            path,
            headers,
            body: body.await?.0,
            repeats,
            answer: ANSWER,
        })
    }

    /// An errand of this node, with the headers that make it one.
    ///
    /// # Errors
    /// When its method is invalid, or sending would change its path.
    pub(super) fn errand(
        node: &Node,
        (method, path): (&Method, String),
        own: [(&str, Option<String>); 2],
        (body, repeats): (Bytes, bool),
        most: Option<Duration>,
    ) -> Result<Self, Failure> {
        let mut headers = HeaderMap::new();
        let secret = node.membership.secret.expose_secret();
        copy(SECRET, secret.as_bytes(), &mut headers);
        copy(REQUEST_ID, current::request().id.as_bytes(), &mut headers);
        if !body.is_empty() {
            copy("content-type", b"application/json", &mut headers);
        }
        for (name, value) in own {
            if let Some(value) = value {
                copy(name, value.as_bytes(), &mut headers);
            }
        }
        if !is_sent_as_it_is(&path) {
            return Err(Failure::Bug);
        }
        let method = reqwest::Method::from_bytes(method.as_str().as_bytes());
        Ok(Self {
            method: method.map_err(|_| Failure::Bug)?,
            path,
            headers,
            body,
            repeats,
            answer: most.map_or(ANSWER, |most| most.min(ANSWER)),
        })
    }

    /// The request to the node at `address`.
    pub(super) fn to(&self, node: &Node, address: &str) -> reqwest::RequestBuilder {
        let scheme = if node.tls().is_some() {
            "https"
        } else {
            "http"
        };
        let url = format!("{scheme}://{address}{}", self.path);
        let request = node.client().request(self.method.clone(), url);
        let request = request.headers(self.headers.clone());
        match self.body.is_empty() && self.method != reqwest::Method::POST {
            true => request,
            false => request.body(self.body.clone()),
        }
    }
}

/// Copies a header, if its name and value are valid.
fn copy(name: &str, value: &[u8], headers: &mut HeaderMap) {
    let name = HeaderName::from_bytes(name.as_bytes());
    if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
        headers.append(name, value);
    }
}

/// What became of a request at the other node, by [`MOVED`].
pub(super) enum Says {
    Served,
    Nothing,
    Perhaps,
    /// The answer comes from no node of this cell.
    Stranger,
}

/// Reads from an answer what became of the request.
pub(super) fn says(answer: &reqwest::Response) -> Says {
    let says = answer.headers().get(MOVED);
    match says.and_then(|says| says.to_str().ok()) {
        Some(SERVED) => Says::Served,
        Some(NOTHING) => Says::Nothing,
        Some(PERHAPS) => Says::Perhaps,
        Some(_) | None => Says::Stranger,
    }
}

/// An answer as it is passed back.
///
/// # Errors
/// When the other node did not send all of a short answer, or not the first piece of a long one.
pub(super) async fn answer(mut from: reqwest::Response) -> reqwest::Result<HttpResponse<BoxBody>> {
    let status = StatusCode::from_u16(from.status().as_u16());
    let mut answer = HttpResponse::build(status.unwrap_or(StatusCode::BAD_GATEWAY));
    for (name, value) in from.headers() {
        if !NOT_SENT.contains(&name.as_str()) && name.as_str() != MOVED {
            answer.append_header((name.as_str(), value.as_bytes()));
        }
    }
    let length = from.content_length();
    if length.is_some_and(|length| length <= WHOLE_BYTES) {
        return Ok(answer.body(from.bytes().await?));
    }
    // The first piece shows whether the other node is still there.
    let first = from.chunk().await?;
    let rest = unfold((first, from), |(next, mut from)| async move {
        let piece = next?;
        match from.chunk().await {
            Ok(next) => Some((Ok(piece), (next, from))),
            Err(why) => Some((Err(why), (None, from))),
        }
    });
    Ok(match length {
        Some(length) => answer.body(SizedStream::new(length, rest)),
        None => answer.streaming(rest),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_elsewhere_than_it_says_is_not_sent() {
        for same in [
            "/v1/accounts",
            "/v1/accounts/0000000000000000000000?limit=1&q=a/../b",
            "/v1/comprobantes/by-external/a%2Fb%20c",
            "/v1/comprobantes/by-external/..a",
            "/v1/lookup/alias/a|b\"c",
            "/wallet/v1/Cuentas?q=%2e%2e",
        ] {
            assert!(is_sent_as_it_is(same), "{same}");
        }
        for other in [
            "/v1/../node/audit",
            "/v1/%2e%2e/node/audit",
            "/v1/.%2E/node/audit",
            "/v1/./accounts",
            "/v1/a/..",
            "/v1\\..\\node\\audit",
            "/v1\\accounts",
            "@elsewhere/v1",
            ":1/v1",
            "",
        ] {
            assert!(!is_sent_as_it_is(other), "{other}");
        }
    }
}
