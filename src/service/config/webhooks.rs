//! Settings of webhooks: where they may be sent, how long an attempt may take, and the pauses between attempts.

use std::time::Duration;

use caudal_http::webhooks::{AllowedAddresses, AttemptLimits};
use caudal_ledger::deliveries::Schedule;

use super::{Mistakes, Settings};

/// The shortest pause, in milliseconds: a shorter one would not be a pause.
const PAUSE_MIN: u64 = 10;
/// The longest pause, in milliseconds: a day.
const PAUSE_MAX: u64 = 24 * 60 * 60 * 1000;

impl Settings {
    pub(super) fn reach(&self, wrong: &mut Mistakes) -> AllowedAddresses {
        let networks = wrong.networks("webhook_networks", &self.webhook_networks);
        AllowedAddresses::public(networks)
    }

    pub(super) fn attempt(&self, wrong: &mut Mistakes) -> AttemptLimits {
        let millis = self.webhook_timeout_ms;
        wrong.range("webhook_timeout_ms", millis, 100, 20_000);
        AttemptLimits::within(Duration::from_millis(millis))
    }

    pub(super) fn schedule(&self, wrong: &mut Mistakes) -> Schedule {
        let usual = Schedule::default();
        Schedule {
            pauses: pauses(
                "webhook_retry_ms",
                &self.webhook_retry_ms,
                usual.pauses,
                wrong,
            ),
            brake: pauses(
                "webhook_brake_ms",
                &self.webhook_brake_ms,
                usual.brake,
                wrong,
            ),
        }
    }
}

/// Pauses from a list; its last one fills the rest.
fn pauses<const N: usize>(
    setting: &str,
    set: &[u64],
    usual: [u64; N],
    wrong: &mut Mistakes,
) -> [u64; N] {
    let Some(last) = set.last() else {
        wrong.add(setting, "is empty: name one pause at least");
        return usual;
    };
    if set.len() > N {
        let why = format_args!("has {} entries; it may have {N}", set.len());
        wrong.add(setting, why);
    }
    for pause in set {
        wrong.range(setting, *pause, PAUSE_MIN, PAUSE_MAX);
    }
    std::array::from_fn(|at| *set.get(at).unwrap_or(last))
}
