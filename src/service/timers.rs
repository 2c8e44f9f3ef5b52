//! What the service does at intervals without anybody's request, on the node that owns the log.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::task::JoinHandle;
use caudal_actors::engine::Engine;

use super::{catch_up, coverage};

/// How often it is done; `None` is never.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    catch_up: Option<Duration>,
    coverage: Option<Duration>,
}

impl Timers {
    /// Reads the banks' lists, and checks the collector accounts, this often.
    pub(super) const fn of(catch_up: Option<Duration>, coverage: Option<Duration>) -> Self {
        Self { catch_up, coverage }
    }

    /// Starts all of it, until the handles are aborted.
    pub(super) fn start(self, engine: &Arc<Engine>) -> Vec<JoinHandle<()>> {
        let lists = self
            .catch_up
            .map(|every| catch_up::start(Arc::clone(engine), every));
        let checks = self
            .coverage
            .map(|every| coverage::start(Arc::clone(engine), every));
        lists.into_iter().chain(checks).collect()
    }
}
