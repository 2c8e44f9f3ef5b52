//! The misbehaviour of the receiver: random, but the same again for the same seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::webhooks::inbox::{Call, Fate};

/// Numbers from a seed (splitmix64), and the targets of redirects.
pub struct Chaos {
    seed: u64,
    places: Vec<String>,
}

impl Chaos {
    pub fn new(seed: u64, places: Vec<String>) -> Self {
        Self { seed, places }
    }

    fn roll(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.seed ^ self.seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % below
    }

    /// Chooses the fate of the next request.
    pub fn fate(&mut self) -> Fate {
        let say = |head: &str| Fate::Say(head.to_owned());
        match self.roll(1000) {
            0..50 => say("500 Internal Server Error"),
            50..80 => say("404 Not Found"),
            80..130 => {
                let status = [301, 302, 307, 308][usize::try_from(self.roll(4)).unwrap()];
                let last = u64::try_from(self.places.len()).unwrap();
                let place = usize::try_from(self.roll(last)).unwrap();
                Fate::Say(format!("{status} Go\r\nlocation: {}", self.places[place]))
            }
            130..170 => Fate::Hang,
            170..200 => Fate::Drip,
            200..250 => Fate::HangUp,
            250..290 => Fate::HalfHead,
            290..340 => Fate::HalfBody,
            // Around the sender's timeout, on both sides of it.
            340..390 => Fate::Late(Duration::from_millis(300 + self.roll(200))),
            390..393 => say("429 Too Many Requests\r\nretry-after: 1"),
            393..410 => say("503 Service Unavailable\r\nretry-after: 0"),
            _ => Fate::Take,
        }
    }
}

/// How often each fate occurred.
pub fn counts(calls: &[Arc<Call>]) -> String {
    let mut of: BTreeMap<String, usize> = BTreeMap::new();
    for call in calls {
        let name = match &call.fate {
            Fate::Say(head) => head.split(' ').next().unwrap_or_default().to_owned(),
            Fate::Late(_) => "late".to_owned(),
            fate => format!("{fate:?}").to_lowercase(),
        };
        *of.entry(name).or_default() += 1;
    }
    let parts: Vec<_> = of
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    format!("{} requests ({})", calls.len(), parts.join(", "))
}
