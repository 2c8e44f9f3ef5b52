//! What the service does at intervals without anybody's request, on the node that owns the log.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::task::JoinHandle;
use caudal_http::AppState;

use super::days::DayClosing;
use super::{ServiceOptions, catch_up, coverage, days, resealing};

/// How often it is done; `None` is never.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    catch_up: Option<Duration>,
    coverage: Option<Duration>,
    closing: Option<DayClosing>,
}

impl Timers {
    /// As the options say.
    pub(super) const fn of(options: &ServiceOptions) -> Self {
        Self {
            catch_up: options.catch_up,
            coverage: options.coverage_check,
            closing: options.day_closing,
        }
    }

    /// Starts all of it, until the handles are aborted.
    pub(super) fn start(self, app: &AppState) -> Vec<JoinHandle<()>> {
        let engine = &app.engine;
        let lists = self
            .catch_up
            .map(|every| catch_up::start(Arc::clone(engine), every));
        let checks = self
            .coverage
            .map(|every| coverage::start(Arc::clone(engine), every));
        let closes = self
            .closing
            .map(|closing| days::start(Arc::clone(engine), closing));
        let seals = resealing::start(app);
        let all = lists.into_iter().chain(checks).chain(closes).chain(seals);
        all.collect()
    }
}
