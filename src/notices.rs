//! Where the bank tells what it was not asked: money that arrived, transfers that ended or came back.
//!
//! **Who may.** Whoever signs with the secret of a mode speaks for that mode's bank; no API key is
//! asked for, and without a signature nothing is read.
//!
//! **Failure.** Only 200 ends a notice: the bank sends anything else again. A notice is heard as
//! often as it comes and does its work once, by the ids of the rail.

use actix_web::http::StatusCode;
use actix_web::http::header::HeaderName;
use actix_web::{HttpRequest, HttpResponse, web};
use caudal_actors::engine::money::Heard;
use caudal_actors::failure::Failure;
use caudal_actors::ports::Notice;
use caudal_ledger::tenants::Mode;
use secrecy::SecretString;
use serde::Serialize;

use crate::bank::notices::{Headers, read, verify};
use crate::http::bytes::{BODY_BYTES_MAX, Bytes};
use crate::http::caller::only;
use crate::http::errors::ApiError;
use crate::http::respond::json;
use crate::http::{Door, frame};

/// The path that the bank is given.
pub const PATH: &str = "/bank/v1/notifications";
const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What the banks sign their notices with.
#[derive(Clone, Debug)]
pub struct NoticeSecrets {
    /// The sponsor bank's, when there is one.
    pub live: Option<SecretString>,
    /// The sandbox bank's.
    pub test: SecretString,
}

/// The answer to a notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct HeardBody {
    result: &'static str,
}

/// The route, and 405 for any other method.
pub fn routes(config: &mut web::ServiceConfig) {
    let refuse = || async {
        let message = "this path knows POST";
        let status = StatusCode::METHOD_NOT_ALLOWED;
        Err::<HttpResponse, _>(ApiError {
            allow: Some("POST".to_owned()),
            ..ApiError::new(status, "method_not_allowed", message)
        })
    };
    let resource = web::resource(PATH).post(hear);
    config.service(resource.default_service(web::to(refuse)));
}

/// The modes whose bank signed a notice: on a machine for a first look, one sandbox is both.
fn signers(request: &HttpRequest, body: &[u8]) -> Vec<Mode> {
    let Some(secrets) = request.app_data::<web::Data<NoticeSecrets>>() else {
        return Vec::new();
    };
    let headers = Headers {
        id: only(request, &ID),
        timestamp: only(request, &TIMESTAMP),
        signature: only(request, &SIGNATURE),
    };
    let now = crate::clock::now();
    let known = [
        (secrets.live.as_ref(), Mode::Live),
        (Some(&secrets.test), Mode::Test),
    ];
    let fits = |secret: &SecretString| verify(secret, headers, body, now).is_ok();
    let fitting = known
        .into_iter()
        .filter(|(secret, _)| secret.is_some_and(fits));
    fitting.map(|(_, mode)| mode).collect()
}

/// `POST /bank/v1/notifications`
async fn hear(
    request: HttpRequest,
    door: web::Data<Door>,
    Bytes(body): Bytes<BODY_BYTES_MAX>,
) -> Result<HttpResponse, ApiError> {
    if !door.gate.is_open() {
        return Err(Failure::ShuttingDown.into());
    }
    let modes = signers(&request, &body);
    if modes.is_empty() {
        tracing::warn!(peer = ?request.peer_addr(), "a notice without a right signature");
        let message = "no signature of this notice fits, or it is of another time";
        return Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            message,
        ));
    }
    let notice = read(&body).map_err(|why| {
        tracing::error!(%why, "a signed notice cannot be read");
        ApiError::new(
            StatusCode::BAD_REQUEST,
            "notice_not_understood",
            why.to_string(),
        )
    })?;
    let request_id = frame::request().id;
    let mut heard = Heard::Ignored;
    for mode in modes {
        let notice = notice.clone();
        heard = door
            .engine
            .notice(mode, notice, &request_id)
            .await
            .map_err(again)?;
        if heard != Heard::Ignored {
            break;
        }
    }
    if heard == Heard::Ignored {
        match notice {
            Notice::Created | Notice::Other { .. } | Notice::Left(_) => {}
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

/// Whatever kept a notice from being heard, the bank is to send it again.
fn again(failure: Failure) -> ApiError {
    let error = ApiError::from(failure);
    ApiError {
        status: StatusCode::SERVICE_UNAVAILABLE,
        retry_after: error.retry_after.or(Some(1)),
        ..error
    }
}
