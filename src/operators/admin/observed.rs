//! What the service knows of its collector accounts, webhooks and cases, read once for whoever shows it: status, metrics,
//! problems, the overview.
//!
//! **Failure.** Each part is read for itself, so that one which cannot be read does not hide the others.

use caudal_actors::engine::cases::CaseFigures;
use caudal_actors::engine::coverage::WatchedCollector;
use caudal_actors::failure::Failure;
use caudal_actors::platform::realms;
use caudal_http::AppState;
use caudal_http::errors::ApiError;
use caudal_ledger::ids::RealmId;

use super::{AdminState, webhooks};

/// The cases of a realm that wait for a person.
#[derive(Clone, Debug)]
pub(crate) struct RealmCases {
    /// The realm.
    pub realm: RealmId,
    /// Its tenant's id.
    pub tenant: String,
    /// Its tenant's name.
    pub name: String,
    /// Live or test.
    pub mode: &'static str,
    /// How many wait, and since when.
    pub figures: CaseFigures,
}

/// What was read at one moment.
#[derive(Debug)]
pub(crate) struct Observed {
    /// Every collector account.
    pub collectors: Result<Vec<WatchedCollector>, Failure>,
    /// The webhooks of every realm.
    pub webhooks: Result<Vec<webhooks::Row>, Failure>,
    /// The cases of every realm.
    pub cases: Result<Vec<RealmCases>, Failure>,
}

impl Observed {
    /// Reads everything.
    pub(crate) async fn now(admin_state: &AdminState) -> Self {
        Self {
            collectors: admin_state.operators().watched_collectors().await,
            webhooks: webhooks::all(admin_state).await,
            cases: cases(admin_state),
        }
    }
}

/// Whether this process does its part: it takes requests, or follows their owner.
///
/// # Errors
/// The reason why it does not.
pub(crate) fn fit(app: &AppState) -> Result<(), ApiError> {
    if !app.gate.is_open() {
        return Err(Failure::ShuttingDown.into());
    }
    app.ready().map_err(ApiError::not_ready)
}

/// The cases of every realm.
fn cases(admin_state: &AdminState) -> Result<Vec<RealmCases>, Failure> {
    let engine = &admin_state.app.engine;
    let platform = engine.platform();
    let all = realms(&platform).map(|(tenant, mode)| {
        let realm = tenant.realm(mode);
        Ok(RealmCases {
            realm,
            tenant: tenant.id.clone(),
            name: tenant.name.clone(),
            mode: mode.as_str(),
            figures: engine.operators().case_figures(realm)?,
        })
    });
    all.collect()
}
