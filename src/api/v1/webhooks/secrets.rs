//! Secrets that are shown once: the answer that an idempotency key keeps is in the journal and can be read again, so
//! it has no secret.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use caudal_actors::engine::Requester;
use caudal_actors::failure::Failure;
use caudal_actors::reply::{Answered, Given};
use caudal_http::bodies::webhooks::WithSecret;
use caudal_http::caller::Caller;
use caudal_http::errors::ApiError;
use caudal_http::respond;
use caudal_http::respond::ApiCall;
use caudal_http::text;
use caudal_http::webhooks::SigningSecret;
use caudal_http::webhooks::seal::SealError;
use caudal_ledger::webhooks::Webhook;
use secrecy::{ExposeSecret as _, SecretString};

use super::{HandlerResult, ordered};
use caudal_actors::engine::webhooks::WebhookView;

/// The end of a rendered answer without a secret: the field is the last one.
const NONE: &str = "\"secret\":null}";

/// A new secret.
pub(super) struct NewSecret {
    text: SecretString,
    /// The secret as the store keeps it.
    pub sealed: Vec<u8>,
}

impl NewSecret {
    /// Makes one for the caller's tenant.
    pub(super) fn make(caller: &Caller) -> Result<Self, ApiError> {
        let make = || {
            let secret = SigningSecret::new()?;
            let sealer = &caller.app.hooks.sealer;
            let sealed = sealer.seal(&caller.identity.tenant, &secret)?;
            let text = secret.text();
            Ok::<_, SealError>(Self { text, sealed })
        };
        make().map_err(|why| {
            tracing::error!(%why, "a secret cannot be made");
            Failure::Bug.into()
        })
    }

    /// The requester of an order; the answer that its key keeps has no secret. `known` is how far the webhook has come.
    pub(super) fn requester<B>(
        &self,
        status: StatusCode,
        call: &ApiCall<B>,
        known: Option<WebhookView>,
    ) -> Result<Requester<Webhook>, ApiError> {
        let owned = call.caller.clone();
        call.requester(move |made: &Webhook| {
            let webhook = ordered(&owned, made, known);
            let shown = WithSecret {
                webhook,
                secret: None,
            };
            (status, text::json(&shown))
        })
    }

    /// The answer; the first one has the secret.
    pub(super) fn give(
        self,
        status: StatusCode,
        caller: &Caller,
        answered: Answered<Webhook>,
        known: Option<WebhookView>,
    ) -> HandlerResult {
        let text = self.text.expose_secret();
        let answered = answered.map(|given| match given {
            Given::Kept {
                status,
                body,
                again: false,
            } => Given::Kept {
                body: reveal(body, text),
                status,
                again: false,
            },
            other => other,
        });
        respond::give(answered, |made| -> HttpResponse {
            let shown = WithSecret {
                webhook: ordered(caller, &made, known),
                secret: Some(text.to_owned()),
            };
            respond::json(status, &shown)
        })
    }
}

/// Puts the secret into an answer; one without a place for it, such as an error, stays as it is.
fn reveal(body: String, secret: &str) -> String {
    match body.strip_suffix(NONE) {
        Some(before) => format!("{before}\"secret\":\"{secret}\"}}"),
        None => body,
    }
}
