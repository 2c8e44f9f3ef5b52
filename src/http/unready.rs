//! Why a node is not ready.

use caudal_actors::failure::Failure;
use caudal_storage::StoreError;

/// Why a node cannot do a part of its work. As text it is for operators: it may name other nodes.
#[derive(Debug, thiserror::Error)]
pub enum Unready {
    /// The machine's clock is not believed.
    #[error("{}", Failure::ClockInDoubt)]
    Clock,
    /// A store takes no writes.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Requests wait, see [`super::AppState::waits`].
    #[error("{0}")]
    Waits(String),
}

impl From<Unready> for Failure {
    fn from(why: Unready) -> Self {
        match why {
            Unready::Clock => Self::ClockInDoubt,
            Unready::Store(why) => why.into(),
            Unready::Waits(_) => Self::ShuttingDown,
        }
    }
}
