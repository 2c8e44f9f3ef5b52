//! Gateways that soon give up on a silent bank, and the calls that a late bank leaves.

use super::*;

/// How long an attempt may take at a bank that will not answer.
pub(super) const HASTY: Duration = Duration::from_millis(250);

/// For banks that do not answer: an attempt is given up soon, and nothing else ends an operation.
pub(super) fn hasty(url: &str) -> HttpGateway {
    let config = Config {
        attempt_timeout: CallTimeout::new(HASTY),
        ..config(url)
    };
    HttpGateway::new(config).unwrap()
}

/// Like [`hasty`], logged in first with full patience.
pub(super) async fn hasty_at_work(url: &str) -> HttpGateway {
    let gateway = gateway(url);
    gateway.log_in().await;
    gateway.config.attempt_timeout.set(HASTY);
    gateway
}

/// More attempts than a busy machine can use up.
pub(super) const MANY: usize = 100;

/// The first attempts got no answer, and the last one did; on a busy machine more than one may be late.
pub(super) fn found_again<T>(reply: &BankReply<T>, operation: &str) {
    let calls = operations(reply);
    let (last, before) = calls.split_last().unwrap();
    assert_eq!(*last, (operation, Some(200)));
    assert!(!before.is_empty() && before.iter().all(|call| *call == (operation, None)));
}
