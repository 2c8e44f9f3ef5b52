//! A courier whose store fails to read: no event is lost or stuck, and it goes on without being told.

use std::rc::Rc;
use std::sync::Mutex;

use caudal_ledger::deliveries::{Ended, Response, Schedule};
use caudal_ledger::webhooks::{Webhook, WebhookFormat, WebhookOrder};

use super::full_store::FullStore;
use super::harness::{Harness, later};
use super::*;
use crate::courier::endpoint::Endpoint;
use crate::ports::LocalFuture;
use crate::ports::webhooks::{AttemptResult, Parcel, ParcelContents, WebhookSink};
use crate::realms::OrderWebhook;
use crate::records::reads;

const ACCOUNTS: u64 = 5;

/// A receiver that takes everything, and remembers the numbers of the events.
#[derive(Debug, Default)]
struct Taker(Mutex<Vec<u64>>);

impl WebhookSink for Taker {
    fn send(&self, parcel: Parcel) -> LocalFuture<'_, AttemptResult> {
        if let ParcelContents::Event(event) = parcel.contents {
            self.0.lock().unwrap().push(event.id.number);
        }
        Box::pin(async {
            AttemptResult {
                result: Ok(200),
                retry_after: None,
                millis: 1,
            }
        })
    }
}

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
        .ledger()
        .order(
            REALM,
            OrderWebhook {
                number: 0,
                order: create(),
            },
            plain(),
        )
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
                assert!(pumped.next.at.is_some(), "it is not looked at again");
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

#[actix::test]
async fn a_webhook_whose_events_could_not_be_read_goes_on_without_being_told() {
    tokio::time::pause();
    let (harness, webhook) = told().await;
    let store = FullStore::over(harness.store.crash(0));
    let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
    let taker = Arc::<Taker>::default();
    let engine = Engine::carrying(
        Arc::<FullStore>::clone(&store),
        Arc::<harness::HarnessClock>::clone(&harness.clock),
        Arc::new(move |_| Ok(Arc::clone(&bank))),
        Arc::<Taker>::clone(&taker),
        EngineOptions {
            arbiters: 0,
            ..EngineOptions::default()
        },
    );
    let engine = engine.unwrap();
    // The realm is loaded, and no actor has had a turn yet.
    store.break_reads(|what| what == "entry");
    wait_until(|| store.failed() > 0).await;
    later(Duration::from_secs(30)).await;
    assert!(store.failed() < 100, "{} reads in 30 s", store.failed());
    assert_eq!(*taker.0.lock().unwrap(), [0; 0]);
    store.break_rows(false);
    later(Duration::from_secs(30)).await;
    let mut got = taker.0.lock().unwrap().clone();
    got.sort_unstable();
    let last = engine.queries().last_event(REALM).unwrap();
    assert_eq!(got, (webhook.after + 1..=last).collect::<Vec<_>>());
}
