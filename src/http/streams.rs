//! How many streams each realm has open, of events and of long answers, and how many it may have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use caudal_actors::engine::BANK_DEADLINE;
use caudal_actors::failure::Failure;
use caudal_ledger::ids::RealmId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::errors::ApiError;
use super::words::Refusal;

/// How many streams of one realm may be open at the same time.
pub const STREAMS_MAX: usize = 64;
/// Of how many long answers of one realm a piece is made at the same time.
pub const LONG_AT_ONCE: usize = 1;
/// The seconds after which a client that found no permit should come back.
const RETRY_FULL: u32 = 5;
/// How long a stream is silent at most. Its key is checked as often, so a stream ends within this time after its key.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// Bounds and pace of streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamOptions {
    /// How many streams of one realm may be open at the same time.
    pub streams_max: usize,
    /// How long a stream is silent at most, and how soon it ends after its key does.
    pub heartbeat: Duration,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            streams_max: STREAMS_MAX,
            heartbeat: HEARTBEAT,
        }
    }
}

type OpenStreams = Arc<Mutex<HashMap<RealmId, usize>>>;

/// The number of open streams of each realm, and the turns of its long answers.
#[derive(Debug, Default)]
pub struct Streams {
    options: StreamOptions,
    permits: OpenStreams,
    turns: Mutex<HashMap<RealmId, Arc<Semaphore>>>,
}

/// One stream, counted as long as it lives.
#[derive(Debug)]
pub struct StreamPermit {
    permits: OpenStreams,
    realm: RealmId,
}

impl Streams {
    /// Permits for streams, none of them taken.
    pub fn new(options: StreamOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Waits for the turn of a piece of a long answer, after those of the same realm that came before.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] when that takes too long.
    pub async fn turn(&self, realm: RealmId) -> Result<OwnedSemaphorePermit, Failure> {
        let new = || Arc::new(Semaphore::new(LONG_AT_ONCE));
        let turns = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(turns.entry(realm).or_insert_with(new))
        };
        let turn = tokio::time::timeout(BANK_DEADLINE, turns.acquire_owned()).await;
        turn.ok().and_then(Result::ok).ok_or(Failure::Overloaded)
    }

    /// The bounds of streams, and how often each sends a sign of life.
    pub fn options(&self) -> StreamOptions {
        self.options
    }

    /// A permit for one more stream of a realm.
    ///
    /// # Errors
    /// 429 while the realm has as many as it may, with the seconds after which to come back.
    pub fn permit(&self, realm: RealmId) -> Result<StreamPermit, ApiError> {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let count = permits.entry(realm).or_default();
        let most = self.options.streams_max;
        if *count >= most {
            return Err(ApiError::from(Refusal::TooManyStreams { most }).later(RETRY_FULL));
        }
        *count += 1;
        Ok(StreamPermit {
            permits: Arc::clone(&self.permits),
            realm,
        })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = permits.get_mut(&self.realm) {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn long_answers_of_a_realm_take_turns_and_those_of_another_realm_wait_for_none() {
        let streams = Streams::default();
        let (one, other) = (RealmId(1), RealmId(2));
        let turn = streams.turn(one).await.unwrap();
        let late = streams.turn(one).await;
        assert_eq!(late.unwrap_err(), Failure::Overloaded);
        drop(streams.turn(other).await.unwrap());
        drop(turn);
        drop(streams.turn(one).await.unwrap());
    }
}
