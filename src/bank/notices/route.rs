//! Handles notices from the bank: money that arrived, transfers that ended or came back.
//!
//! **Authentication.** The gateway of a bank tells whether the bank sent a notice
//! ([`caudal_actors::ports::BankGateway::verify`]), and reads it. The notice counts for the realms whose gateway says so,
//! and for no others; no API key is needed, and a notice that no bank sent is not read.
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

use crate::notices::NoticeBody;
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderName;
use actix_web::{HttpRequest, HttpResponse, web};
use caudal_actors::banks::NoticeAuthority;
use caudal_actors::engine::money::NoticeOutcome;
use caudal_actors::failure::Failure;
use caudal_actors::ports::{BankGateway as _, Notice, RawNotice, UnreadNotice};
use caudal_http::bodies::words::HeardWord;
use caudal_http::bytes::{BODY_BYTES_MAX, Bytes};
use caudal_http::caller::only;
use caudal_http::declared::declared;
use caudal_http::errors::ApiError;
use caudal_http::problems::NoticeProblems;
use caudal_http::respond::json;
use caudal_http::words::Refusal;
use caudal_http::{AppState, current};
use serde::Serialize;
use utoipa::ToSchema;

/// The path that the bank is given.
pub const PATH: &str = "/bank/v1/notifications";

/// What became of a notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = BankNoticeResult)]
pub struct HeardBody {
    /// `done` or `known` (it came before); `suspended` when no account could take the money; `ignored` when
    /// it is about nothing here.
    #[schema(value_type = HeardWord)]
    result: &'static str,
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

declared! {
    /// the id of the notice
    NoticeId = Header "webhook-id" as String;
    /// when it was signed, in seconds since 1970
    NoticeTimestamp = Header "webhook-timestamp" as String;
    /// `v1,` and the signature in base64; several with spaces between
    NoticeSignature = Header "webhook-signature" as String;
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
        NoticeId,
        NoticeTimestamp,
        NoticeSignature
    ),
    request_body(content = NoticeBody),
    responses((status = 200, body = HeardBody), NoticeProblems),
    security(("bank-signature" = []))
)]
pub async fn hear(
    request: HttpRequest,
    app: web::Data<AppState>,
    Bytes(body): Bytes<BODY_BYTES_MAX>,
) -> Result<HttpResponse, ApiError> {
    if !app.gate.is_open() {
        return Err(Failure::ShuttingDown.into());
    }
    let admitted = app.engine.in_flight().notice();
    let _admitted = admitted.map_err(|_| again(Failure::Overloaded))?;
    let (authority, notice) = received(&request, &app, &body)?;
    let request_id = current::request().id;
    let answer = app
        .engine
        .ledger()
        .notice(authority, notice.clone(), &request_id);
    let heard = answer.await.map_err(again)?;
    if heard == NoticeOutcome::Ignored {
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
                tracing::warn!(%origin, "the bank reported a transfer that is not ours");
            }
        }
    }
    let result = match heard {
        NoticeOutcome::Done => "done",
        NoticeOutcome::Known => "known",
        NoticeOutcome::Suspended => "suspended",
        NoticeOutcome::Ignored => "ignored",
    };
    Ok(json(StatusCode::OK, &HeardBody { result }))
}

/// Reads a notice if a bank of ours sent it, with the realms for which it counts: on a machine for a first look, one
/// sandbox is everybody's.
fn received(
    request: &HttpRequest,
    app: &AppState,
    body: &[u8],
) -> Result<(NoticeAuthority, Notice), ApiError> {
    let header = |name: &str| only(request, &HeaderName::try_from(name).ok()?);
    let clocks = [app.engine.now(), caudal_http::clock::now()];
    let raw = RawNotice::new(&header, body, &clocks);
    let Some((bank, authority)) = app.engine.queries().sender(&raw) else {
        if app.wrong_keys.may_report() {
            tracing::warn!(peer = ?request.peer_addr(), "a notice without a right signature");
        }
        return Err(Refusal::NoSignature.into());
    };
    let notice = bank.read_notice(&raw, app.engine.now());
    let notice = notice.map_err(|UnreadNotice(why)| {
        tracing::error!(%why, "a signed notice cannot be read");
        Refusal::NoticeNotUnderstood { why }
    })?;
    Ok((authority, notice))
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
