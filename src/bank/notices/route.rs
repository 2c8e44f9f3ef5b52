//! Handles notices from the bank: money that arrived, transfers that ended or came back.
//!
//! **Authentication.** A notice signed with the secret of a bank counts for the realms whose relation
//! has that secret, and for no others; no API key is needed, and an unsigned notice is not read. If
//! the bank of a realm has no secret, no notice counts for it.
//!
//! **Time.** A signature must be recent by the clock that the service trusts, or by the machine's.
//! They differ only while the machine's clock is in doubt: then a notice is answered like any order
//! in that state, and none is rejected as forged because of a wrong clock. An old notice that passes
//! meanwhile has no effect: nothing is done while the clock is in doubt, and afterwards its ids are
//! known.
//!
//! **Bounds.** Notices do not count in a realm's limit; a fixed number of them may be under way at once, of all banks
//! ([`caudal_actors::in_flight::InFlight::notice`]), and a further one gets 503.
//!
//! **Failure.** Only a 200 ends a notice: after any other answer the bank sends it again. A
//! repeated notice takes effect once, by the ids of the rail.

use std::cell::RefCell;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderName};
use actix_web::{HttpRequest, HttpResponse, web};
use caudal_actors::banks::Voice;
use caudal_actors::engine::money::Heard;
use caudal_actors::failure::Failure;
use caudal_actors::ports::Notice;
use caudal_http::bodies::words::HeardWord;
use caudal_http::bytes::{BODY_BYTES_MAX, Bytes};
use caudal_http::caller::only;
use caudal_http::errors::ApiError;
use caudal_http::problems::NoticeProblems;
use caudal_http::respond::json;
use caudal_http::words::Refusal;
use caudal_http::{Door, current};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;
use utoipa::ToSchema;

use crate::notices::{Headers, read, verify};

/// The path that the bank is given.
pub const PATH: &str = "/bank/v1/notifications";
const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What became of a notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = BankNoticeResult)]
pub struct HeardBody {
    /// `done` or `known` (it came before); `suspended` when no account could take the money; `ignored` when
    /// it is about nothing here.
    #[schema(value_type = HeardWord)]
    result: &'static str,
}

/// What the bank reports, as the document has it.
#[derive(ToSchema)]
#[schema(as = BankNotice)]
#[expect(dead_code, reason = "what the document shows is never made")]
pub struct NoticeBody {
    /// Its id.
    id: String,
    /// Always `event`.
    object: String,
    /// When it happened.
    #[schema(format = DateTime)]
    created: String,
    /// What happened: `transfer.cvu.received`, `transfer.cvu.completed`, `transfer.cvu.rejected`,
    /// `transfer.cvu.reversed` or `endpoint.created`; others are answered and ignored.
    #[schema(rename = "type")]
    kind: String,
    /// The transfer, as the bank has it.
    #[schema(value_type = Object, required = false)]
    data: Option<()>,
}

/// The route, and 405 for any other method.
pub fn routes(config: &mut web::ServiceConfig) {
    let refuse = || async {
        let methods = "POST".to_owned();
        Err::<HttpResponse, _>(ApiError::from(Refusal::NoMethod { methods }))
    };
    let resource = web::resource(PATH).post(hear);
    config.service(resource.default_service(web::to(refuse)));
}

/// The realms whose bank signed a notice: on a machine for a first look, one sandbox is everybody's.
/// Each secret is tried once, however many realms have it.
fn signers(request: &HttpRequest, door: &Door, body: &[u8]) -> Option<Voice> {
    let headers = Headers {
        id: only(request, &ID),
        timestamp: only(request, &TIMESTAMP),
        signature: only(request, &SIGNATURE),
    };
    let clocks = [door.engine.now(), caudal_http::clock::now()];
    let tried: RefCell<Vec<(SecretString, bool)>> = RefCell::default();
    let fits = |secret: &str| {
        let mut tried = tried.borrow_mut();
        let known = tried.iter().find(|(it, _)| it.expose_secret() == secret);
        if let Some((_, fits)) = known {
            return *fits;
        }
        let secret = SecretString::from(secret);
        let fresh = |now| verify(&secret, headers, body, now).is_ok();
        let fits = clocks.into_iter().any(fresh);
        tried.push((secret, fits));
        fits
    };
    door.engine.signers(&fits)
}

/// Takes a notice of the bank: money that arrived, or how a transfer ended.
///
/// It is signed as Standard Webhooks specifies, with the secret that the tenant's bank has; no API key is asked
/// for. Only 200 ends a notice: the bank sends it again after any other answer, and it does its work once.
#[utoipa::path(
    post,
    path = "/bank/v1/notifications",
    operation_id = "takeBankNotice",
    tag = "Bank",
    params(
        ("webhook-id" = String, Header, description = "the id of the notice"),
        ("webhook-timestamp" = String, Header, description = "when it was signed, in seconds since 1970"),
        ("webhook-signature" = String, Header, description = "`v1,` and the signature in base64; several with spaces between")
    ),
    request_body(content = NoticeBody),
    responses((status = 200, body = HeardBody), NoticeProblems),
    security(("bank-signature" = []))
)]
pub async fn hear(
    request: HttpRequest,
    door: web::Data<Door>,
    Bytes(body): Bytes<BODY_BYTES_MAX>,
) -> Result<HttpResponse, ApiError> {
    if !door.gate.is_open() {
        return Err(Failure::ShuttingDown.into());
    }
    let admitted = door.engine.in_flight().notice();
    let _admitted = admitted.map_err(|_| again(Failure::Overloaded))?;
    let Some(voice) = signers(&request, &door, &body) else {
        if door.strangers.may_report() {
            tracing::warn!(peer = ?request.peer_addr(), "a notice without a right signature");
        }
        return Err(Refusal::NoSignature.into());
    };
    let kind = only(&request, &CONTENT_TYPE);
    let notice = read(&body, kind, door.engine.now()).map_err(|why| {
        tracing::error!(%why, "a signed notice cannot be read");
        Refusal::NoticeNotUnderstood {
            why: why.to_string(),
        }
    })?;
    let request_id = current::request().id;
    let answer = door.engine.notice(voice, notice.clone(), &request_id);
    let heard = answer.await.map_err(again)?;
    if heard == Heard::Ignored {
        match notice {
            Notice::Created
            | Notice::Other { .. }
            | Notice::Left(_)
            | Notice::Returned { .. }
            | Notice::Unreadable { .. } => {}
            Notice::Received { coelsa_id, .. } => {
                tracing::error!(coelsa_id, "money arrived for a CVU of no tenant");
            }
            Notice::Settled { origin, .. } | Notice::Reversed { origin, .. } => {
                tracing::warn!(%origin, "the bank tells of a transfer that is not ours");
            }
        }
    }
    let result = match heard {
        Heard::Done => "done",
        Heard::Known => "known",
        Heard::Suspended => "suspended",
        Heard::Ignored => "ignored",
    };
    Ok(json(StatusCode::OK, &HeardBody { result }))
}

/// Makes a failure one after which the bank has to send the notice again.
fn again(failure: Failure) -> ApiError {
    let error = ApiError::from(failure);
    ApiError {
        status: StatusCode::SERVICE_UNAVAILABLE,
        retry_after: error.retry_after.or(Some(1)),
        ..error
    }
}
