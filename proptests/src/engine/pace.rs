//! Where the actors of a story live, how long the story waits for them, and who brings them the bank's notices.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use caudal_actors::engine::{Engine, EngineOptions};
use caudal_actors::settings::Pauses;
use tokio::task::JoinHandle;

use super::RESIDENT;
use super::ask::{self, is_open};
use super::bank::Bank;

/// How often the story yields the thread before everything has come to rest.
const TURNS: usize = 200;
/// How long a story may take to come to rest, by its own clock.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// How long a story may take to come to rest by the clock of the machine, where one takes a second.
pub(super) const HALT: Duration = Duration::from_secs(120);

/// Where the actors of a story live, and by which clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// On one thread, whose clock stands still while there is anything to do.
    Still,
    /// On this many threads, by the clock of the machine.
    Threads(usize),
}

impl Pace {
    pub(super) fn options(self) -> EngineOptions {
        let options = EngineOptions {
            resident: RESIDENT,
            ..EngineOptions::default()
        };
        match self {
            Self::Still => EngineOptions {
                arbiters: 0,
                ..options
            },
            Self::Threads(arbiters) => EngineOptions {
                arbiters,
                pauses: Pauses {
                    first: Duration::from_millis(1),
                    last: Duration::from_millis(20),
                },
                ..options
            },
        }
    }

    /// The pause before something is asked again.
    pub(super) fn pause(self, still: Duration) -> Duration {
        match self {
            Self::Still => still,
            Self::Threads(_) => Duration::from_millis(5),
        }
    }

    /// How long a story may take to come to rest, by its own clock.
    pub(super) fn patience(self) -> Duration {
        match self {
            Self::Still => PATIENCE,
            Self::Threads(_) => HALT,
        }
    }

    /// Lets everybody do what can be done without the disk. With several threads this only gives them a chance: the
    /// story has to wait for what it needs to know at its end.
    pub(super) async fn come_to_rest(self) {
        for _ in 0..TURNS {
            if self != Self::Still {
                std::thread::yield_now();
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Brings the bank's notices until each was heard.
pub(super) struct Postman {
    pub(super) task: JoinHandle<()>,
    last: Rc<Cell<bool>>,
}

impl Postman {
    pub(super) fn start(engine: &Rc<Engine>, bank: &Arc<Bank>) -> Self {
        let last = Rc::new(Cell::new(false));
        let task = bring(Rc::clone(engine), Arc::clone(bank), Rc::clone(&last));
        Self {
            task: actix::spawn(task),
            last,
        }
    }

    /// Stops between two notices.
    pub(super) async fn stop(self) {
        self.last.set(true);
        self.task.await.unwrap();
    }
}

async fn bring(engine: Rc<Engine>, bank: Arc<Bank>, last: Rc<Cell<bool>>) {
    while !last.get() {
        let Some(notice) = bank.notice() else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        if let Err(why) = ask::hear(&engine, notice.clone()).await {
            assert!(is_open(&why), "{why}");
            bank.keep(notice);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
