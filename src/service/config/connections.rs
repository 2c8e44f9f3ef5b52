//! Settings of the public listener: the number of connections, and how long it waits for clients.

use std::time::Duration;

use caudal_http::bytes::Deadlines;
use caudal_http::wire;
use serde::Deserialize;

use super::Mistakes;

/// The largest number of connections that can be set.
const CONNECTIONS_MAX: usize = 1_000_000;

/// The settings of the section.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Connections {
    most: usize,
    per_peer: usize,
    trusted_proxies: Vec<String>,
    head_ms: u64,
    answer_ms: u64,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Default for Connections {
    fn default() -> Self {
        let limits = wire::ConnectionLimits::default();
        Self {
            most: limits.connections,
            per_peer: limits.per_peer,
            trusted_proxies: limits.proxies.iter().map(ToString::to_string).collect(),
            head_ms: millis(Deadlines::default().head),
            answer_ms: millis(wire::ANSWER_PATIENCE),
        }
    }
}

impl Connections {
    pub(super) fn limits(&self, wrong: &mut Mistakes) -> wire::ConnectionLimits {
        wrong.range("connections.most", self.most, 32, CONNECTIONS_MAX);
        wrong.range("connections.per_peer", self.per_peer, 0, CONNECTIONS_MAX);
        wrong.range("connections.head_ms", self.head_ms, 100, 60_000);
        wrong.range("connections.answer_ms", self.answer_ms, 1_000, 60_000);
        wire::ConnectionLimits {
            connections: self.most,
            per_peer: self.per_peer,
            proxies: wrong.networks("connections.trusted_proxies", &self.trusted_proxies),
        }
    }

    /// How long the parts of a request may take to arrive.
    pub(super) fn deadlines(&self) -> Deadlines {
        Deadlines {
            head: Duration::from_millis(self.head_ms),
            ..Deadlines::default()
        }
    }

    /// How long a client may leave an answer unread.
    pub(super) const fn answer(&self) -> Duration {
        Duration::from_millis(self.answer_ms)
    }
}
