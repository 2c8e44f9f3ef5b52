//! Looks: who was shown a person's affairs, where, and whose.
//!
//! **Shape.** Every answer of the admin API and of the console passes one place, which knows what the answer shows
//! ([`caudal_http::shown`]). So no list and no page can forget its entry. An entry has the page with its query, as it was
//! sent, and the CVUs that were shown.
//!
//! **Order.** The entry is durable before the answer leaves.
//!
//! **Bounds.** One entry of an operator, a page and a minute, and only so many pages
//! ([`caudal_http::audit_rate::AuditRate::look`]).
//!
//! **Failure.** What cannot be recorded is not shown.

use std::collections::BTreeMap;

use caudal_http::AppState;
use caudal_http::errors::ApiError;
use caudal_http::shown::Shown;
use caudal_ledger::people::audit::AuditDetails;

use super::people::{self, AuditOutcome, Operator};

/// What an answer shows besides what its bytes say: an extension of an answer that is compressed.
#[derive(Clone, Debug)]
pub(crate) struct AlsoShown(pub BTreeMap<String, u64>);

/// What an answer shows, as the audit log names it.
pub(crate) fn named(shown: &Shown) -> BTreeMap<String, u64> {
    let cvus = shown.cvus.iter().map(|cvu| (cvu.to_string(), 1));
    cvus.collect()
}

/// Records that an operator was shown something.
///
/// # Errors
/// When the store takes no writes, or the operator opens too many pages: then nothing may be shown.
pub(crate) async fn record(
    app: &AppState,
    operator: &Operator,
    (action, page): (&str, &str),
    shown: BTreeMap<String, u64>,
) -> Result<(), ApiError> {
    let asked = format!("{action} {page}");
    let look = app
        .audit_rate
        .look(&operator.name, &asked, app.engine.now())?;
    let Some(look) = look else { return Ok(()) };
    let details = AuditDetails {
        shown,
        ..AuditDetails::default()
    };
    let outcome = AuditOutcome::Looked;
    people::write(app, operator, (action, page), "", outcome, details).await?;
    app.audit_rate.wrote(&look);
    Ok(())
}
