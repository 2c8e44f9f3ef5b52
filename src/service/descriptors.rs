//! How many connections the process has descriptors for.
//!
//! **Shape.** At the start the service raises the soft limit of descriptors to the hard one. The constants below are
//! kept back for everything except the public listener, whose connections get the rest.
//!
//! **Failure.** With too few descriptors the service does not start, and reports how many it needs. The store also
//! reserves some of its own for unforeseen needs.

use caudal_operators::admin;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::StartError;

/// Threads, listeners, timers, signals, standard streams, the log.
const PROCESS: usize = 64;
/// 128 journal segments open for reading, and two for each large run of the index: at most 41 runs are listed, and
/// about a dozen are being written, or were merged away and are still read. A dozen files of the folder. A run that
/// gets no descriptor of its own is written to a file that is open already.
const STORE: usize = 256;
/// Requests to the banks.
const BANKS: usize = 64;
/// Attempts at webhooks, and looking up where they go.
const WEBHOOKS: usize = 96;
/// Descriptors kept back for everything except the public listener.
pub(crate) const KEPT_BACK: usize = PROCESS + STORE + BANKS + WEBHOOKS + admin::CONNECTIONS;
/// The fewest connections with which the service starts.
pub(crate) const CONNECTIONS_MIN: usize = 32;

/// Raises the limit as far as the process may, and returns how many connections that leaves.
pub(super) fn raise() -> Result<usize, StartError> {
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
    left(getrlimit(Resource::Nofile).current, KEPT_BACK)
}

/// The connections that a limit leaves after `kept` descriptors; `None` is no limit.
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
    fn free_space_below_the_limit_is_reported() {
        assert_eq!(left(None, KEPT_BACK).unwrap(), usize::MAX - KEPT_BACK);
        assert_eq!(left(Some(1024), KEPT_BACK).unwrap(), 1024 - KEPT_BACK);
        let few = left(Some(40), KEPT_BACK).unwrap_err().to_string();
        assert!(few.contains("40") && few.contains("LimitNOFILE"), "{few}");
        assert!(raise().unwrap() >= CONNECTIONS_MIN);
    }
}
