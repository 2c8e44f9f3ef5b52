//! How many connections the process has descriptors for.
//!
//! **Shape.** At the start the soft limit of descriptors is raised to the hard one. What this module
//! names is kept back for everything but the public listener, whose connections have the rest.
//!
//! **Failure.** With too few descriptors the service does not start, and says how many it needs.
//! The store reserves some itself, too, for unforeseen needs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::StartError;
use crate::admin;

/// Threads, listeners, timers, signals, standard streams, the log.
const PROCESS: usize = 64;
/// 128 segments of the journal that are read, and two for each large run of the index: 41 are listed at most, and about a
/// dozen are being written, or were merged away and are still read. A dozen files of the folder. A run for which there is
/// none left goes into a file that is open.
const STORE: usize = 256;
/// Requests to the banks.
const BANKS: usize = 64;
/// Attempts at webhooks, and looking up where they go.
const WEBHOOKS: usize = 96;
/// What is kept back for all but the public listener.
pub const KEPT_BACK: usize = PROCESS + STORE + BANKS + WEBHOOKS + admin::CONNECTIONS;
/// The fewest connections with which the service starts.
pub const CONNECTIONS_MIN: usize = 32;

/// Raises the limit as far as the process may, and gives how many connections that leaves beside this many stores.
pub(super) fn raise(stores: u32) -> Result<usize, StartError> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some() && current != maximum {
        let raised = Rlimit {
            current: maximum,
            maximum,
        };
        if let Err(why) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%why, "the limit of descriptors stays at the soft one");
        }
    }
    left(getrlimit(Resource::Nofile).current, kept_back(stores))
}

/// What is kept back with this many stores.
fn kept_back(stores: u32) -> usize {
    // The first one is among the rest.
    let further = (1..stores).map(|_| STORE).sum::<usize>();
    KEPT_BACK.strict_add(further)
}

/// What a limit leaves for connections behind what is kept back; `None` is no limit.
fn left(limit: Option<u64>, kept: usize) -> Result<usize, StartError> {
    let limit = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let left = limit.saturating_sub(kept);
    if left < CONNECTIONS_MIN {
        let needed = kept.saturating_add(CONNECTIONS_MIN);
        return Err(StartError::Setting(format!(
            "the process may open {limit} files and connections; it needs at least {needed}. Raise \
             the limit: LimitNOFILE= in a systemd unit, ulimit -n in a shell"
        )));
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_less_than_the_limit_and_too_little_is_said() {
        assert_eq!(left(None, KEPT_BACK).unwrap(), usize::MAX - KEPT_BACK);
        assert_eq!(left(Some(1024), KEPT_BACK).unwrap(), 1024 - KEPT_BACK);
        assert_eq!(
            (kept_back(1), kept_back(3)),
            (KEPT_BACK, KEPT_BACK + 2 * STORE)
        );
        let few = left(Some(40), KEPT_BACK).unwrap_err().to_string();
        assert!(few.contains("40") && few.contains("LimitNOFILE"), "{few}");
        assert!(raise(1).unwrap() >= CONNECTIONS_MIN);
    }
}
