//! The state of the backup: how far the journal is shipped.

use actix_web::HttpResponse;
use caudal_backup::run::Progress;
use caudal_http::bodies::body;

use super::{AdminState, State, ok};

body! {
    /// The backup of the journal, and how far it is behind. Figures count since the start of the process.
    pub(super) struct BackupBody as Backup
        of(admin_state: &AdminState, progress: Option<&Progress>)
    {
        => let shipping = progress.filter(|it| it.ships);
        /// The setting `backup.to`; null when nothing is shipped.
        to: Option<String> = progress.map(|it| it.place.clone());
        /// The id of the store, under which its objects are there.
        store: Option<String> = progress.map(|it| it.store.clone());
        /// How often the tail is shipped, in seconds.
        tail_seconds: Option<u64> = progress.map(|it| it.every.as_secs());
        /// The node that ships, which is the owner of the log; null where there are no other nodes, or none is known to own
        /// it. On any other node what follows is null but for what that node did itself.
        shipped_by: Option<String> = progress.and_then(|it| it.shipper.clone());
        /// The last commit that is there; null until that is known.
        commit: Option<u64> = progress.and_then(|it| it.commit);
        /// The last durable commit of the service.
        last_commit: u64 = admin_state.operators().stats().last_commit;
        /// How old the oldest commit is that is not there, in seconds at most; 0 when all are.
        lag_seconds: Option<u64> = shipping.map(|it| it.lag.as_secs());
        /// How many bytes of the journal are not there, roughly.
        lag_bytes: Option<u64> = shipping.map(|it| it.lag_bytes);
        /// How long ago every commit was there; null when that was not since the start.
        complete_seconds_ago: Option<u64> = shipping.and_then(|it| it.complete).map(|ago| ago.as_secs());
        /// Objects that were written, and their bytes.
        objects: Option<u64> = progress.map(|it| it.shipped.objects);
        bytes: Option<usize> = progress.map(|it| it.shipped.bytes);
        /// How many rounds failed.
        failures: Option<u64> = progress.map(|it| it.failures);
        /// Why the last round failed; null when it did not. It is tried again by itself.
        error: Option<String> = progress.and_then(|it| it.error.clone());
    }
}

impl BackupBody {
    /// The current state.
    pub(super) fn now(admin_state: &AdminState) -> Self {
        let progress = admin_state.backup.as_ref().map(|backup| backup.progress());
        Self::of(admin_state, progress.as_ref())
    }
}

/// Shows where the journal is kept besides, and how far that is behind.
#[utoipa::path(
    get,
    path = "/admin/backup",
    responses((status = 200, body = BackupBody))
)]
pub(super) async fn show(admin_state: State) -> HttpResponse {
    ok(&BackupBody::now(&admin_state))
}

/// Ships what is new now, and answers when that has ended; `error` says whether it went well.
#[utoipa::path(
    post,
    path = "/admin/backup",
    responses((status = 200, body = BackupBody))
)]
pub(super) async fn ship(admin_state: State) -> HttpResponse {
    let body = match &admin_state.backup {
        Some(backup) => BackupBody::of(&admin_state, Some(&backup.now().await)),
        None => BackupBody::now(&admin_state),
    };
    ok(&body)
}
