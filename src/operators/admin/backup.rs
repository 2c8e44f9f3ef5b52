//! The state of the backup: how far the journal is shipped.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use caudal_backup::run::Progress;
use caudal_http::respond::json;
use serde::Serialize;
use utoipa::ToSchema;

use super::{AdminState, State};

/// Where the journal is kept besides, and how far that is behind. Figures count since the start of the process.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Backup)]
pub(super) struct BackupBody {
    /// The setting `backup.to`; null when nothing is shipped.
    to: Option<String>,
    /// The id of the store, under which its objects are there.
    store: Option<String>,
    /// How often the tail is shipped, in seconds.
    tail_seconds: Option<u64>,
    /// The node that ships, which is the owner of the log; null where there are no other nodes, or none is known to own
    /// it. On any other node what follows is null but for what that node did itself.
    shipped_by: Option<String>,
    /// The last commit that is there; null until that is known.
    pub(super) commit: Option<u64>,
    /// The last durable commit of the service.
    last_commit: u64,
    /// How old the oldest commit is that is not there, in seconds at most; 0 when all are.
    pub(super) lag_seconds: Option<u64>,
    /// How many bytes of the journal are not there, roughly.
    pub(super) lag_bytes: Option<u64>,
    /// How long ago every commit was there; null when that was not since the start.
    complete_seconds_ago: Option<u64>,
    /// Objects that were written, and their bytes.
    pub(super) objects: Option<u64>,
    bytes: Option<usize>,
    /// How many rounds failed.
    pub(super) failures: Option<u64>,
    /// Why the last round failed; null when it did not. It is tried again by itself.
    pub(super) error: Option<String>,
}

impl BackupBody {
    /// The current state.
    pub(super) fn now(admin_state: &AdminState) -> Self {
        match &admin_state.backup {
            Some(backup) => Self::of(admin_state, backup.progress()),
            None => Self {
                last_commit: admin_state.operators().stats().last_commit,
                ..Self::default()
            },
        }
    }

    fn of(admin_state: &AdminState, progress: Progress) -> Self {
        let complete = progress.complete.filter(|_| progress.ships);
        Self {
            to: Some(progress.place),
            store: Some(progress.store),
            tail_seconds: Some(progress.every.as_secs()),
            shipped_by: progress.shipper,
            commit: progress.commit,
            last_commit: admin_state.operators().stats().last_commit,
            lag_seconds: progress.ships.then_some(progress.lag.as_secs()),
            lag_bytes: progress.ships.then_some(progress.lag_bytes),
            complete_seconds_ago: complete.map(|it| it.as_secs()),
            objects: Some(progress.shipped.objects),
            bytes: Some(progress.shipped.bytes),
            failures: Some(progress.failures),
            error: progress.error,
        }
    }
}

/// Shows where the journal is kept besides, and how far that is behind.
#[utoipa::path(
    get,
    path = "/admin/backup",
    responses((status = 200, body = BackupBody))
)]
pub(super) async fn show(admin_state: State) -> HttpResponse {
    json(StatusCode::OK, &BackupBody::now(&admin_state))
}

/// Ships what is new now, and answers when that has ended; `error` says whether it went well.
#[utoipa::path(
    post,
    path = "/admin/backup",
    responses((status = 200, body = BackupBody))
)]
pub(super) async fn ship(admin_state: State) -> HttpResponse {
    let body = match &admin_state.backup {
        Some(backup) => BackupBody::of(&admin_state, backup.now().await),
        None => BackupBody::now(&admin_state),
    };
    json(StatusCode::OK, &body)
}
