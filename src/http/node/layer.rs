//! Requests of clients and of banks, at a node: the owner serves them, any other node returns `not_owner`.
//!
//! **Order.** This is the innermost layer of the public listener: nothing of a request is judged before it is known
//! whether this node serves it. A request that the actors refused because they stop for a hand-over was not done, and is
//! `not_owner`, too. So is a read during which the lease ended: another node may have written meanwhile.

use std::sync::atomic::Ordering;

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error, ResponseError as _, web};
use caudal_actors::failure::Failure;

use super::Node;
use crate::AppState;
use crate::errors::{ApiError, Why};
use crate::words::Refusal;

/// The answers of this layer: its own, or those of the handlers.
pub type Through<B> = ServiceResponse<EitherBody<B, BoxBody>>;

/// The families of paths that only the owner answers: those of clients, and that of banks.
const OWNERS: [&str; 3] = ["/v1", "/wallet", "/bank/"];

/// The layer; see above.
///
/// # Errors
/// The errors of the inner service.
pub async fn layer<B: MessageBody + 'static>(
    call: ServiceRequest,
    next: Next<B>,
) -> Result<Through<B>, Error> {
    let app = call.app_data::<web::Data<AppState>>();
    let node = app.and_then(|app| app.node.clone());
    let path = call.match_info().as_str();
    let node = node.filter(|_| OWNERS.iter().any(|family| path.starts_with(family)));
    let Some(node) = node else {
        return Ok(next.call(call).await?.map_into_left_body());
    };
    let Some(inside) = node.enter() else {
        let refusal = node.refuses().error_response();
        return Ok(call.into_response(refusal).map_into_right_body());
    };
    let reads = matches!(*call.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let answer = next.call(call).await?;
    let answer = if reads && !node.member().is_sure() || is_undone(&node, &answer) {
        let refusal = node.refuses().error_response();
        answer.into_response(refusal).map_into_right_body()
    } else {
        answer.map_into_left_body()
    };
    drop(inside);
    Ok(answer)
}

/// Whether a request was not done because this node gives the log away or has lost it.
fn is_undone<B>(node: &Node, answer: &ServiceResponse<B>) -> bool {
    let why = answer.response().error();
    let why = why.and_then(|why| why.as_error::<ApiError>());
    let stops = why.is_some_and(|why| why.why == Why::Failed(Failure::ShuttingDown));
    stops && !node.serves()
}

impl Node {
    /// The error for a request that is not served here, which is counted.
    pub fn refuses(&self) -> ApiError {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
        self.refusal()
    }

    /// The error for a request that is not served here.
    pub fn refusal(&self) -> ApiError {
        let refusal = match self.owner_url() {
            Some(url) => Refusal::NotOwner {
                url: url.to_string(),
            },
            None => Refusal::NoOwner,
        };
        ApiError::from(refusal).later(0)
    }
}
