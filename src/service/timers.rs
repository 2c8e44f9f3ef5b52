//! What the service does at intervals without anybody's request, on the node that owns the log.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt;
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
        let engine = || Arc::clone(&app.engine);
        let mut tasks = Vec::new();
        if let Some(every) = self.catch_up {
            tasks.push(rt::spawn(catch_up::run(engine(), every)));
        }
        if let Some(every) = self.coverage {
            tasks.push(rt::spawn(coverage::run(engine(), every)));
        }
        if let Some(closing) = self.closing {
            tasks.push(rt::spawn(days::run(engine(), closing)));
        }
        if app.keyring.older_peppers() > 0 {
            let hooks = Arc::clone(&app.hooks);
            tasks.push(rt::spawn(resealing::run(engine(), hooks)));
        }
        tasks
    }
}
