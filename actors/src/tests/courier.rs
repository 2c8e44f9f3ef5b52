//! A courier among receivers that fail, hang, lie and come back, with crashes in between: every event arrives, in the
//! order of its account, and no webhook waits for another one's receiver.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use caudal_ledger::balance::Balance;
use caudal_ledger::deliveries::{Ending, StopReason};
use caudal_ledger::events::{EventKind, Subject};
use caudal_ledger::ids::Tag;
use caudal_ledger::webhooks::{DeliveryId, WebhookFormat, WebhookId, WebhookOrder};

use super::harness::{Dice, Harness, HarnessClock, later};
use super::*;
use crate::accounts::ChangeProfile;
use crate::ports::LocalFuture;
use crate::ports::webhooks::{AttemptResult, NoResponse, Parcel, ParcelContents, WebhookSink};
use crate::realms::{OrderWebhook, TRIES_AT_ONCE, TryWebhook};
use crate::records::reads;

const ACCOUNTS: u64 = 5;
const HEALTHY: &str = "https://healthy.example/";
const FICKLE: &str = "https://fickle.example/";
const DEAD: &str = "https://dead.example/";
const GONE: &str = "https://gone.example/";

/// The events that the receivers have got, over all generations of the service.
#[derive(Debug)]
struct Receivers {
    dice: Mutex<Dice>,
    calm: AtomicBool,
    got: Mutex<BTreeMap<String, Vec<Got>>>,
    under_way: Mutex<BTreeSet<(String, AccountNo)>>,
    tries: AtomicU64,
}

#[derive(Clone, Debug)]
struct Got {
    number: u64,
    account: AccountNo,
    moved: Option<(u64, Balance)>,
}

/// The way to the receivers of one generation; a crash cuts it.
#[derive(Debug)]
struct Way {
    receivers: Arc<Receivers>,
    alive: Arc<AtomicBool>,
}

impl Receivers {
    fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            dice: Mutex::new(Dice(seed)),
            calm: AtomicBool::new(false),
            got: Mutex::default(),
            under_way: Mutex::default(),
            tries: AtomicU64::new(0),
        })
    }

    fn of(&self, url: &str) -> Vec<Got> {
        self.got
            .lock()
            .unwrap()
            .get(url)
            .cloned()
            .unwrap_or_default()
    }

    /// Whether the receiver takes the event, its answer, and how long it takes.
    fn fate(&self, url: &str) -> (bool, Result<u16, NoResponse>, u64) {
        let mut dice = self.dice.lock().unwrap();
        match url {
            HEALTHY => (true, Ok(200), dice.roll(20)),
            DEAD => (false, Err(NoResponse::TimedOut), 10_000),
            GONE => (false, Ok(410), 1),
            _ if self.calm.load(Ordering::Relaxed) => (true, Ok(204), dice.roll(5)),
            _ => match dice.roll(8) {
                0 => (false, Ok(500), dice.roll(50)),
                1 => (false, Err(NoResponse::TimedOut), 10_000),
                // The receiver took it, and the answer was lost.
                2 => (true, Err(NoResponse::Broken), dice.roll(2_000)),
                3 => (false, Ok(302), 1),
                4 => (false, Ok(429), 1),
                _ => (true, Ok(200), dice.roll(300)),
            },
        }
    }
}

impl WebhookSink for Way {
    fn send(&self, parcel: Parcel) -> LocalFuture<'_, AttemptResult> {
        let ParcelContents::Event(event) = parcel.contents else {
            let (_, result, millis) = self.receivers.fate(&parcel.url);
            return Box::pin(async move {
                later(Duration::from_millis(millis)).await;
                let retry_after = None;
                AttemptResult {
                    result,
                    retry_after,
                    millis,
                }
            });
        };
        let to = (parcel.url.clone(), event.account);
        let receivers = Arc::clone(&self.receivers);
        let alive = Arc::clone(&self.alive);
        Box::pin(async move {
            receivers.tries.fetch_add(1, Ordering::Relaxed);
            let (takes, result, millis) = receivers.fate(&to.0);
            if alive.load(Ordering::Relaxed) {
                let first = receivers.under_way.lock().unwrap().insert(to.clone());
                assert!(first, "two events of one account under way at {}", to.0);
            }
            later(Duration::from_millis(millis)).await;
            if !alive.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            receivers.under_way.lock().unwrap().remove(&to);
            if takes {
                let moved = match &event.subject {
                    Subject::Voucher(voucher) => Some((voucher.sequence, voucher.after)),
                    _ => None,
                };
                let got = Got {
                    number: event.id.number,
                    account: event.account,
                    moved,
                };
                receivers
                    .got
                    .lock()
                    .unwrap()
                    .entry(to.0)
                    .or_default()
                    .push(got);
            }
            let retry_after = (result == Ok(429)).then_some(Duration::from_secs(7));
            AttemptResult {
                result,
                retry_after,
                millis,
            }
        })
    }
}

/// A service with its receivers; the service may die.
struct Town {
    harness: Rc<Harness>,
    receivers: Arc<Receivers>,
    alive: Arc<AtomicBool>,
}

impl Town {
    async fn new(seed: u64) -> Self {
        let bank: Arc<TestBank> = Arc::default();
        let first = Harness::new(seed, ACCOUNTS, 100_000, bank).await;
        let store = first.store.crash(0);
        let receivers = Receivers::new(seed);
        Self::over(store, Arc::clone(&first.clock), receivers)
    }

    fn over(store: Arc<FaultyStore>, clock: Arc<HarnessClock>, receivers: Arc<Receivers>) -> Self {
        store.set_automatic(true);
        let alive = Arc::new(AtomicBool::new(true));
        let way = Way {
            receivers: Arc::clone(&receivers),
            alive: Arc::clone(&alive),
        };
        let bank: Arc<TestBank> = Arc::default();
        let harness = Harness::carried(store, clock, bank, Arc::new(way));
        Self {
            harness,
            receivers,
            alive,
        }
    }

    /// The process dies, and starts again.
    fn crash(self) -> Self {
        self.alive.store(false, Ordering::Relaxed);
        self.receivers.under_way.lock().unwrap().clear();
        let store = self.harness.store.crash(0);
        Self::over(store, Arc::clone(&self.harness.clock), self.receivers)
    }

    async fn webhook(&self, url: &str, types: Option<&[&str]>) -> u64 {
        let order = WebhookOrder::Create {
            url: url.into(),
            types: types.map(|types| types.iter().map(ToString::to_string).collect()),
            description: None,
            format: WebhookFormat::Standard,
            secret: vec![7],
        };
        let made = self
            .harness
            .engine
            .ledger()
            .order(REALM, OrderWebhook { number: 0, order }, plain())
            .await;
        value(made).number
    }

    /// Makes events happen, step by step.
    async fn life(&self, dice: &mut Dice, steps: u64, name: &str) {
        for step in 0..steps {
            let account = 1 + dice.roll(ACCOUNTS);
            let id = format!("{name}-{step}");
            match dice.roll(6) {
                0 => drop(self.harness.hold(account, 5, &id, None).await),
                1 => {
                    let to = 1 + account % ACCOUNTS;
                    drop(self.harness.give((account, to), 3, &id).await);
                }
                2 => {
                    let order = if dice.chance(50) {
                        ProfileOrder::Reactivate
                    } else {
                        ProfileOrder::Suspend {
                            reason: "a doubt".into(),
                            code: SuspensionCode::Other,
                        }
                    };
                    let target = Target::Account(AccountNo(account));
                    let changing = self.harness.engine.ledger().order(
                        REALM,
                        ChangeProfile::new(target, order),
                        plain(),
                    );
                    drop(changing.await);
                }
                _ => drop(self.harness.post(account, "IN", 10, &id).await),
            }
            if dice.chance(20) {
                later(Duration::from_millis(dice.roll(3_000))).await;
            }
        }
    }

    fn last(&self) -> u64 {
        self.harness.engine.queries().last_event(REALM).unwrap()
    }

    /// Waits until a webhook has sent everything.
    async fn caught_up(&self, number: u64) {
        for _ in 0..20_000 {
            let view = self
                .harness
                .engine
                .queries()
                .webhook(REALM, number)
                .await
                .unwrap();
            let main = view.progress.cursors.first().unwrap();
            if view.progress.cursors.len() == 1 && main.lanes.is_empty() && main.next > self.last()
            {
                return;
            }
            later(Duration::from_secs(30)).await;
        }
        panic!("webhook {number} does not catch up");
    }

    /// Checks that the receiver got every event after `from` that `wanted` accepts at least once, and, for each
    /// account, the first copies in order.
    fn complete(&self, url: &str, from: u64, wanted: impl Fn(EventKind) -> bool) {
        let got = self.receivers.of(url);
        let store = self.harness.engine.store().as_ref();
        let rows = reads::events::rows_after(store, REALM, from, usize::MAX).unwrap();
        let right: Vec<_> = rows.iter().filter(|(_, row)| wanted(row.kind)).collect();
        let mut seen = BTreeSet::new();
        let mut last: BTreeMap<AccountNo, u64> = BTreeMap::new();
        for got in &got {
            if seen.insert(got.number) {
                let before = last.insert(got.account, got.number).unwrap_or(0);
                assert!(before < got.number, "{url}: {before} before {}", got.number);
            }
        }
        let right: BTreeSet<_> = right.iter().map(|(number, _)| *number).collect();
        assert_eq!(seen, right, "{url}");
    }
}

#[actix::test]
async fn every_event_arrives_in_the_order_of_its_account_whatever_fails() {
    tokio::time::pause();
    let mut repeated = 0;
    for seed in 1..=12 {
        let mut dice = Dice(seed);
        let mut town = Town::new(seed).await;
        let from = town.last();
        let healthy = town
            .webhook(HEALTHY, Some(&["voucher.created", "hold.*"]))
            .await;
        let fickle = town.webhook(FICKLE, None).await;
        let dead = town.webhook(DEAD, None).await;
        for part in 0..4 {
            town.life(&mut dice, 40, &format!("p{part}")).await;
            if part % 2 == 1 {
                town = town.crash();
            }
        }
        // The dead one and the fickle one hold nobody up.
        later(Duration::from_secs(2)).await;
        let view = town
            .harness
            .engine
            .queries()
            .webhook(REALM, healthy)
            .await
            .unwrap();
        assert_eq!(view.progress.cursors[0].next, town.last() + 1);
        town.receivers.calm.store(true, Ordering::Relaxed);
        town.caught_up(fickle).await;
        town.caught_up(healthy).await;
        town.complete(FICKLE, from, |_| true);
        town.complete(HEALTHY, from, |kind| {
            kind == EventKind::VoucherCreated || kind.as_str().starts_with("hold.")
        });
        assert!(town.receivers.of(DEAD).is_empty());
        let view = town
            .harness
            .engine
            .queries()
            .webhook(REALM, dead)
            .await
            .unwrap();
        assert_eq!((view.progress.delivered, view.progress.parked), (0, 0));
        rebuilt(&town).await;
        let got = u64::try_from(town.receivers.of(FICKLE).len()).unwrap();
        repeated += got - (town.last() - from);
        town.harness.verified().await;
    }
    assert!(repeated > 0, "what was lost on the way back was sent again");
}

/// The book that a consumer builds only from the events equals the ledger.
async fn rebuilt(town: &Town) {
    let mut book: BTreeMap<AccountNo, (u64, Balance)> = BTreeMap::new();
    for got in town.receivers.of(FICKLE) {
        if let Some((sequence, after)) = got.moved {
            let known = book.entry(got.account).or_insert((sequence, after));
            if sequence > known.0 {
                assert_eq!(sequence, known.0 + 1, "a gap in what was told");
                *known = (sequence, after);
            }
        }
    }
    for (account, (_, balance)) in book {
        assert_eq!(town.harness.balance(account.0).await, balance);
    }
}

#[actix::test]
async fn a_receiver_that_says_gone_is_left_alone_until_its_tenant_says_otherwise() {
    tokio::time::pause();
    let town = Town::new(1).await;
    let number = town.webhook(GONE, None).await;
    value(town.harness.post(1, "IN", 1, "a").await);
    later(Duration::from_secs(2)).await;
    let view = town
        .harness
        .engine
        .queries()
        .webhook(REALM, number)
        .await
        .unwrap();
    assert_eq!(view.progress.stopped.unwrap().reason, StopReason::Gone);
    let tries = town.receivers.tries.load(Ordering::Relaxed);
    value(town.harness.post(1, "IN", 1, "b").await);
    later(Duration::from_hours(100)).await;
    assert_eq!(town.receivers.tries.load(Ordering::Relaxed), tries);
    let order = WebhookOrder::Change {
        url: Some(HEALTHY.into()),
        types: None,
        description: None,
        format: None,
        active: Some(true),
    };
    let changed =
        town.harness
            .engine
            .ledger()
            .order(REALM, OrderWebhook { number, order }, plain());
    value(changed.await);
    town.caught_up(number).await;
    assert_eq!(
        town.receivers.of(HEALTHY).len(),
        2,
        "nothing was lost meanwhile"
    );
}

#[actix::test]
async fn a_dead_receiver_is_tried_less_and_less_and_stops_after_three_days() {
    tokio::time::pause();
    let town = Town::new(1).await;
    let number = town.webhook(DEAD, None).await;
    for n in 0..400 {
        value(
            town.harness
                .post(1 + n % ACCOUNTS, "IN", 1, &format!("x{n}"))
                .await,
        );
    }
    later(Duration::from_mins(1)).await;
    let first = town.receivers.tries.load(Ordering::Relaxed);
    assert!((1..=40).contains(&first), "{first} tries in a minute");
    later(Duration::from_hours(24)).await;
    let day = town.receivers.tries.load(Ordering::Relaxed) - first;
    assert!((10..=400).contains(&day), "{day} tries in a day");
    later(Duration::from_hours(60)).await;
    let view = town
        .harness
        .engine
        .queries()
        .webhook(REALM, number)
        .await
        .unwrap();
    assert_eq!(
        view.progress.stopped.unwrap().reason,
        StopReason::Unreachable
    );
    let delivery = town
        .harness
        .engine
        .queries()
        .delivery(delivery_id(&town, number, view.webhook.after + 1))
        .await
        .unwrap();
    assert_eq!(delivery.delivery.ending(), Some(Ending::Failed));
    assert!(delivery.delivery.tries > 5);
}

#[actix::test]
async fn what_was_delivered_is_delivered_again_when_its_tenant_asks() {
    tokio::time::pause();
    let mut town = Town::new(1).await;
    let from = town.last();
    let number = town.webhook(HEALTHY, None).await;
    for n in 0..30 {
        value(
            town.harness
                .post(1 + n % 3, "IN", 1, &format!("x{n}"))
                .await,
        );
    }
    town.caught_up(number).await;
    assert_eq!(town.receivers.of(HEALTHY).len(), 30);
    let order = WebhookOrder::Replay {
        from: from + 11,
        to: from + 20,
        every_kind: false,
    };
    let ordered =
        town.harness
            .engine
            .ledger()
            .order(REALM, OrderWebhook { number, order }, plain());
    value(ordered.await);
    // The order is on disk: a crash does not lose it.
    town = town.crash();
    later(Duration::from_secs(5)).await;
    town.caught_up(number).await;
    let again: Vec<_> = town.receivers.of(HEALTHY)[30..]
        .iter()
        .map(|got| got.number)
        .collect();
    let mut numbers = again.clone();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers, (from + 11..=from + 20).collect::<Vec<_>>());
    let delivery = town
        .harness
        .engine
        .queries()
        .delivery(delivery_id(&town, number, from + 11))
        .await
        .unwrap();
    assert!(delivery.delivery.tries >= 2);
    // The id of another event at the same place, as a lost history may have had one.
    let other = DeliveryId {
        tag: Tag::NONE,
        ..delivery_id(&town, number, from + 11)
    };
    let unknown = town
        .harness
        .engine
        .queries()
        .delivery(other)
        .await
        .unwrap_err();
    assert_eq!(unknown, Rejection::DeliveryNotFound.into());
}

/// The id of the delivery of an event to a webhook.
fn delivery_id(town: &Town, number: u64, event: u64) -> DeliveryId {
    let found = town
        .harness
        .engine
        .queries()
        .event_id(REALM, event)
        .unwrap();
    DeliveryId {
        webhook: WebhookId {
            realm: REALM,
            number,
        },
        event,
        tag: found.unwrap().tag,
    }
}

#[actix::test]
async fn concurrent_attempts_of_a_realm_are_bounded() {
    let town = Town::new(3).await;
    let number = town.webhook(DEAD, None).await;
    let of = |n: usize| {
        let harness = Rc::clone(&town.harness);
        let id = format!("evt_test_{n}");
        actix::spawn(async move {
            harness
                .engine
                .ledger()
                .order(REALM, TryWebhook { number, id }, plain())
                .await
        })
    };
    let under_way: Vec<_> = (0..=TRIES_AT_ONCE).map(of).collect();
    let mut all = Vec::new();
    for asked in under_way {
        all.push(asked.await.unwrap());
    }
    let (done, refused): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
    assert_eq!(done.len(), TRIES_AT_ONCE);
    assert!(
        refused
            .iter()
            .all(|it| matches!(it, Err(Failure::Overloaded)))
    );
    let sent = value(of(99).await.unwrap());
    assert_eq!(sent.result, Err(NoResponse::TimedOut));
}
