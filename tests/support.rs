//! The parts that all tests of the service share: a service in a folder of its own, two tenants
//! with keys, and a client that checks the answers it expects.
//!
//! Nothing here sleeps: a test that has to wait uses [`wait_until`].

pub mod bank;
pub mod canary;
pub mod client;
mod clock;
mod journals;
pub mod processes;
pub mod service;
pub mod sheets;

use std::time::{Duration, Instant};

pub use client::{Answer, Call, Client};
pub use serde_json::{Value, json};
pub use service::{Setup, TestClock, TestService};

/// After this time a test gives up waiting, because it hangs. No test judges how much sooner the
/// condition held.
pub const SOON: Duration = Duration::from_secs(120);

/// Asks again and again until there is an answer, and fails if none comes within `timeout`.
pub async fn wait_until<T>(
    what: &str,
    timeout: Duration,
    mut condition: impl AsyncFnMut() -> Option<T>,
) -> T {
    let since = Instant::now();
    loop {
        let left = timeout.saturating_sub(since.elapsed());
        let looked = tokio::time::timeout(left, condition()).await;
        if let Ok(Some(found)) = looked {
            return found;
        }
        let late = looked.is_err() || since.elapsed() >= timeout;
        assert!(!late, "not within {timeout:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A person's CUIT with a valid check digit, a different one for each number.
pub fn cuit(number: u32) -> String {
    let body = format!("20{number:08}");
    let weights = [5, 4, 3, 2, 7, 6, 5, 4, 3, 2];
    let sum: u32 = body
        .bytes()
        .zip(weights)
        .map(|(digit, weight)| u32::from(digit - b'0') * weight)
        .sum();
    let check = match 11 - sum % 11 {
        11 => 0,
        10 => 9,
        other => other,
    };
    format!("{body}{check}")
}

/// The fields that the errors of an error body name.
pub fn named(body: &Value) -> Vec<&str> {
    let errors = body["errors"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    errors
        .iter()
        .map(|error| error["field"].as_str().unwrap())
        .collect()
}
