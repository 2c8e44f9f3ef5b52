//! A tenant's order about its webhook applies to every event that happens after the answer, wherever in its turn the
//! courier is when the store writes both.

use std::rc::Rc;
use std::sync::Mutex;

use caudal_ledger::webhooks::{WebhookFormat, WebhookOrder};

use super::full_store::FullStore;
use super::harness::{Harness, later};
use super::*;
use crate::ports::LocalFuture;
use crate::ports::webhooks::{AttemptResult, Parcel, ParcelContents, WebhookSink};
use crate::realms::OrderWebhook;

/// How an event was sent: the address, and the secrets.
type How = (String, Vec<Vec<u8>>);

/// The sent events, by number.
#[derive(Debug, Default)]
struct Sink(Mutex<Vec<(How, u64)>>);

impl WebhookSink for Sink {
    fn send(&self, parcel: Parcel) -> LocalFuture<'_, AttemptResult> {
        if let ParcelContents::Event(event) = parcel.contents {
            let sent = ((parcel.url, parcel.secrets), event.id.number);
            self.0.lock().unwrap().push(sent);
        }
        let sent = AttemptResult {
            result: Ok(200),
            retry_after: None,
            millis: 1,
        };
        Box::pin(async move { sent })
    }
}

const OLD: &str = "https://old.example/";

/// A service with a webhook, whose store writes in the middle of a read on command.
struct Post {
    inner: Arc<FaultyStore>,
    store: Arc<FullStore>,
    sink: Arc<Sink>,
    engine: Rc<Engine>,
    webhook: u64,
}

impl Post {
    async fn new() -> Self {
        let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
        let first = Harness::new(1, 2, 100, Arc::clone(&bank)).await;
        let inner = first.store.crash(0);
        inner.set_automatic(true);
        let store = FullStore::over(Arc::clone(&inner));
        let sink: Arc<Sink> = Arc::default();
        let engine = Engine::carrying(
            Arc::<FullStore>::clone(&store),
            Arc::<harness::HarnessClock>::clone(&first.clock),
            Arc::new(move |_: &Relation| Ok(Arc::clone(&bank))),
            Arc::<Sink>::clone(&sink),
            EngineOptions {
                arbiters: 0,
                ..EngineOptions::default()
            },
        );
        let engine = Rc::new(engine.unwrap());
        let create = WebhookOrder::Create {
            url: OLD.into(),
            types: None,
            description: None,
            format: WebhookFormat::Standard,
            secret: vec![7],
        };
        let made = value(
            engine
                .ledger()
                .order(
                    REALM,
                    OrderWebhook {
                        number: 0,
                        order: create,
                    },
                    plain(),
                )
                .await,
        );
        later(Duration::from_secs(1)).await;
        Self {
            inner,
            store,
            sink,
            engine,
            webhook: made.number,
        }
    }

    /// Posts something; its commit waits.
    async fn post(&self, account: u64, id: &'static str) {
        let engine = Rc::clone(&self.engine);
        let order = adjustment(account, "IN", 1, id);
        actix::spawn(async move { value(engine.ledger().order(REALM, order, plain()).await) });
        later(Duration::from_millis(1)).await;
    }

    /// Gives an order about the webhook; its commit waits.
    async fn order(&self, order: WebhookOrder) {
        let (engine, webhook) = (Rc::clone(&self.engine), self.webhook);
        actix::spawn(async move {
            value(
                engine
                    .ledger()
                    .order(
                        REALM,
                        OrderWebhook {
                            number: webhook,
                            order,
                        },
                        plain(),
                    )
                    .await,
            );
        });
        later(Duration::from_millis(1)).await;
    }
}

/// Gives an order about a webhook, and makes an event happen after it; both are written at the `step`-th read of a turn
/// that the courier has begun before. Returns how the event was sent, and whether the turn had this many reads.
async fn raced(order: WebhookOrder, step: i64) -> (Vec<How>, bool) {
    let post = Post::new().await;
    post.inner.set_automatic(false);
    post.post(1, "wakes").await;
    post.order(order).await;
    post.post(2, "after").await;
    assert_eq!(post.inner.pending(), 3);
    let last = post.engine.queries().last_event(REALM).unwrap();
    post.store.write_at_read(step);
    assert!(post.inner.step());
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    let met = post.store.write_at_read(0) <= 0;
    let sent = || post.sink.0.lock().unwrap().clone();
    assert!(met || !sent().is_empty(), "the courier had no turn");
    post.inner.set_automatic(true);
    later(Duration::from_secs(5)).await;
    assert_eq!(post.engine.queries().last_event(REALM).unwrap(), last + 2);
    let sent = sent().into_iter();
    let of_after = sent.filter(|(_, number)| *number == last + 2);
    (of_after.map(|(how, _)| how).collect(), met)
}

/// Races an order at every read of the courier's turn.
async fn every_read(order: impl Fn() -> WebhookOrder, expected: &[(&str, u8)]) {
    tokio::time::pause();
    let mut met = 0;
    for step in 1..100 {
        let (sent, happened) = raced(order(), step).await;
        if !happened {
            break;
        }
        met = step;
        let right: Vec<_> = expected
            .iter()
            .map(|(url, secret)| ((*url).to_owned(), vec![vec![*secret]]))
            .collect();
        assert_eq!(sent, right, "written at read {step} of the turn");
    }
    assert!((3..99).contains(&met), "{met} reads in a turn");
}

fn change(url: Option<&str>, active: Option<bool>) -> WebhookOrder {
    WebhookOrder::Change {
        url: url.map(Into::into),
        types: None,
        description: None,
        format: None,
        active,
    }
}

#[actix::test]
async fn a_secret_that_was_given_up_signs_no_later_event() {
    let rotate = || WebhookOrder::Rotate {
        secret: vec![9],
        overlap: 0,
    };
    every_read(rotate, &[(OLD, 9)]).await;
}

#[actix::test]
async fn a_webhook_that_was_switched_off_gets_no_later_event() {
    every_read(|| change(None, Some(false)), &[]).await;
}

#[actix::test]
async fn a_webhook_that_was_removed_gets_no_later_event() {
    every_read(|| WebhookOrder::Remove, &[]).await;
}

#[actix::test]
async fn later_events_go_to_the_new_address() {
    let new = "https://new.example/";
    every_read(|| change(Some(new), None), &[(new, 7)]).await;
}
