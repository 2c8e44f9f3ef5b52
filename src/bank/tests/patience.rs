//! Gateways that give a silent bank up, and what is left of a bank that was late.

use super::*;

/// How long a bank has that will not answer.
pub const HASTY: Duration = Duration::from_millis(250);

/// For banks that do not answer: an attempt is soon given up, and nothing else ends an operation.
pub fn hasty(url: &str) -> HttpGateway {
    let config = Config {
        attempt_timeout: Patience::new(HASTY),
        ..config(url)
    };
    HttpGateway::new(config).unwrap()
}

/// The same, with a login that was waited for.
pub async fn hasty_at_work(url: &str) -> HttpGateway {
    let gateway = gateway(url);
    gateway.log_in().await;
    gateway.config.attempt_timeout.set(HASTY);
    gateway
}

/// More attempts than a busy machine may cost.
pub const MANY: usize = 100;

/// The first attempt got no answer, and the last one did; on a busy machine one between may be late.
pub fn found_again<T>(reply: &BankReply<T>, operation: &str) {
    let calls = operations(reply);
    let (last, before) = calls.split_last().unwrap();
    assert_eq!(*last, (operation, Some(200)));
    assert!(!before.is_empty() && before.iter().all(|call| *call == (operation, None)));
}
