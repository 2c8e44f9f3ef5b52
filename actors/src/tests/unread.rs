//! A courier whose store fails to read: no event is lost or stuck.

use std::rc::Rc;

use caudal_ledger::deliveries::{Ended, Response, Schedule};
use caudal_ledger::webhooks::{Webhook, WebhookFormat, WebhookOrder};

use super::full_store::FullStore;
use super::harness::Harness;
use super::*;
use crate::courier::endpoint::Endpoint;
use crate::records::reads;

const ACCOUNTS: u64 = 5;

fn create() -> WebhookOrder {
    WebhookOrder::Create {
        url: "https://psp.example/".into(),
        types: None,
        description: None,
        format: WebhookFormat::Standard,
        secret: vec![7],
    }
}

/// A realm with two events of each account after its webhook, and that webhook.
async fn told() -> (Rc<Harness>, Webhook) {
    let bank: Arc<TestBank> = Arc::default();
    let harness = Harness::new(1, ACCOUNTS, 1000, bank).await;
    let made = harness
        .engine
        .order_webhook(REALM, 0, create(), plain())
        .await;
    for n in 0..2 * ACCOUNTS {
        let id = format!("e{n}");
        value(harness.post(1 + n % ACCOUNTS, "IN", 1, &id).await);
    }
    (harness, value(made))
}

#[actix::test]
async fn events_that_were_found_before_a_read_fails_are_sent_and_nothing_stays_under_way() {
    let (harness, webhook) = told().await;
    let store = FullStore::over(Arc::clone(&harness.store));
    let last = reads::totals(store.as_ref(), REALM).unwrap().events;
    let now = harness.clock.peek();
    let accepted = |replay, account, event| Ended {
        replay,
        account,
        event,
        at: now,
        millis: 1,
        response: Response::Status(200),
        retry_after: None,
    };
    let mut early = 0;
    for nth in 1.. {
        let mut endpoint = Endpoint::load(store.as_ref(), REALM, webhook.clone(), now).unwrap();
        let before = store.failed();
        let mut left = nth;
        store.break_reads(move |_| {
            left -= 1;
            left == 0
        });
        let mut got = Vec::new();
        loop {
            let pumped = endpoint.pump(store.as_ref(), REALM, last, now);
            if let Some(why) = &pumped.failed {
                assert!(matches!(why, StoreError::Unreadable(_)), "{why}");
                early += pumped.jobs.len();
            } else if pumped.jobs.is_empty() {
                break;
            }
            for job in pumped.jobs {
                got.push(job.number);
                let ended = accepted(job.replay, job.account, job.number);
                endpoint.settle(ended, &Schedule::default(), now);
            }
        }
        got.sort_unstable();
        let all: Vec<_> = (webhook.after + 1..=last).collect();
        assert_eq!(got, all, "read {nth} failed");
        if store.failed() == before {
            break;
        }
    }
    assert!(early > 0, "no event was found before a read that failed");
}
