//! A realm that is retired under load and resumed; a supervisor that falls and is replaced.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Mutex;

use caudal_ledger::events::Subject;
use caudal_ledger::webhooks::{WebhookFormat, WebhookOrder};
use caudal_storage::Store as _;

use super::harness::{Harness, cvu, later, nap, outside};
use super::*;
use crate::ports::LocalFuture;
use crate::ports::webhooks::{AttemptResult, Parcel, ParcelContents, WebhookSink};
use crate::realms::OrderWebhook;

const ACCOUNTS: u64 = 6;
const EACH: i64 = 1_000;

/// Takes every event, and counts the vouchers that it has seen.
#[derive(Debug, Default)]
struct Ear {
    heard: AtomicU64,
    seen: Mutex<BTreeSet<(u64, u64)>>,
}

impl WebhookSink for Ear {
    fn send(&self, parcel: Parcel) -> LocalFuture<'_, AttemptResult> {
        self.heard.fetch_add(1, Ordering::Relaxed);
        if let ParcelContents::Event(event) = parcel.contents
            && let Subject::Voucher(voucher) = &event.subject
        {
            let seen = (event.account.0, voucher.sequence);
            self.seen.lock().unwrap().insert(seen);
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

/// A service with accounts, a bank and a webhook.
struct House {
    harness: Rc<Harness>,
    bank: Arc<TestBank>,
    ear: Arc<Ear>,
}

impl House {
    async fn new() -> Self {
        let bank: Arc<TestBank> = Arc::default();
        let gateway = || -> Arc<dyn BankGateway> { Arc::<TestBank>::clone(&bank) };
        let first = Harness::new(1, ACCOUNTS, EACH, gateway()).await;
        let store = first.store.crash(0);
        store.set_automatic(true);
        let ear: Arc<Ear> = Arc::default();
        let clock = Arc::clone(&first.clock);
        let harness = Harness::carried(store, clock, gateway(), Arc::<Ear>::clone(&ear));
        let house = Self { harness, bank, ear };
        value(house.hook("https://ear.example/").await);
        house
    }

    /// Makes a webhook; for this the supervisor asks the clock, and panics with it.
    async fn hook(&self, url: &str) -> Answered<caudal_ledger::webhooks::Webhook> {
        let create = WebhookOrder::Create {
            url: url.into(),
            types: None,
            description: None,
            format: WebhookFormat::Standard,
            secret: vec![7],
        };
        let engine = &self.harness.engine;
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
            .await
    }

    /// Everything that the realm has done to the outside world.
    fn deeds(&self) -> (u64, usize, u64) {
        let commits = self.harness.store.stats().commits;
        let heard = self.ear.heard.load(Ordering::Relaxed);
        (commits, self.bank.called().len(), heard)
    }

    /// Lets so much time pass that any running part would show.
    async fn still(&self) {
        let before = self.deeds();
        later(Duration::from_hours(2)).await;
        assert_eq!(self.deeds(), before, "something acts for a retired realm");
    }

    async fn total(&self) -> i64 {
        let mut sum = 0;
        for account in 1..=ACCOUNTS {
            sum += self.harness.balance(account).await.total().centavos();
        }
        sum
    }
}

/// The end of an order, and whether this try recorded it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Done now, for the first time.
    Recorded,
    /// Done before.
    Replayed,
    /// Nothing was done.
    Nothing,
    Unknown,
}

fn end<T: std::fmt::Debug>(answered: Answered<Outcome<T>>) -> End {
    match answered {
        Ok(Given::Value(Outcome::Recorded(_))) => End::Recorded,
        Ok(Given::Value(Outcome::Replayed(_))) => End::Replayed,
        Err(Failure::ShuttingDown | Failure::Overloaded) => End::Nothing,
        Err(Failure::OutcomeUnknown) => End::Unknown,
        other => panic!("{other:?}"),
    }
}

/// The `n`-th order of a load: each moves one centavo. Returns also what it adds to the sum of all accounts.
async fn order(harness: Rc<Harness>, n: u64) -> (u64, End, i64) {
    let account = 1 + n % ACCOUNTS;
    let id = format!("load-{n}");
    let (end, adds) = match n % 5 {
        0 => (end(harness.post(account, "OUT", 1, &id).await), -1),
        1 => (end(harness.hold(account, 1, &id, None).await), 0),
        2 => {
            let to = 1 + (n + 1) % ACCOUNTS;
            (end(harness.give((account, to), 1, &id).await), 0)
        }
        3 => (end(harness.send(account, outside(), 1, &id).await), -1),
        _ => (end(harness.post(account, "IN", 1, &id).await), 1),
    };
    (n, end, adds)
}

#[actix::test]
async fn a_realm_that_is_retired_under_load_loses_nothing_and_goes_on() {
    tokio::time::pause();
    for (written, after) in [(0, 0), (3, 40), (25, 40), (120, 200)] {
        let house = House::new().await;
        let harness = &house.harness;
        harness.store.set_automatic(false);
        let load: Vec<_> = (0..200)
            .map(|n| actix::spawn(order(Rc::clone(harness), n)))
            .collect();
        for _ in 0..after {
            tokio::task::yield_now().await;
        }
        for _ in 0..written {
            harness.store.step();
        }
        let retiring = {
            let harness = Rc::clone(harness);
            actix::spawn(async move { harness.engine.lifecycle().retire(REALM).await })
        };
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let late: Vec<_> = (200..240)
            .map(|n| actix::spawn(order(Rc::clone(harness), n)))
            .collect();
        while !retiring.is_finished() {
            harness.store.step();
            nap().await;
        }
        retiring.await.unwrap().unwrap();
        assert_eq!(harness.store.pending(), 0, "a commit is under way");
        assert_eq!(
            harness.engine.queries().claims_of(REALM),
            0,
            "something is claimed"
        );
        harness.store.set_automatic(true);
        house.still().await;
        let refused = harness.post(1, "IN", 1, "later").await;
        assert_eq!(refused.unwrap_err(), Failure::ShuttingDown);
        let bank = harness.engine.queries().lookup(REALM, outside(), "r").await;
        assert_eq!(bank.unwrap_err(), Failure::ShuttingDown);
        let mut ends = Vec::new();
        for asked in load.into_iter().chain(late) {
            ends.push(asked.await.unwrap());
        }
        let nothing = ends
            .iter()
            .filter(|(_, end, _)| *end == End::Nothing)
            .count();
        assert!(nothing >= 40, "those that came later were refused");
        harness.engine.lifecycle().resume(REALM).await.unwrap();
        harness.engine.lifecycle().resume(REALM).await.unwrap();
        let mut sum = i64::try_from(ACCOUNTS).unwrap() * EACH;
        for (n, before, adds) in ends {
            let (_, now, _) = order(Rc::clone(harness), n).await;
            match before {
                End::Recorded => assert_eq!(now, End::Replayed, "order {n} was lost"),
                End::Nothing => assert_eq!(now, End::Recorded, "order {n} was done all the same"),
                End::Unknown => assert!(matches!(now, End::Recorded | End::Replayed)),
                End::Replayed => panic!("order {n} was asked once"),
            }
            sum += adds;
        }
        later(Duration::from_hours(1)).await;
        assert_eq!(house.total().await, sum);
        harness.verified().await;
    }
}

#[actix::test]
async fn bank_tasks_stop_and_resume_with_their_realm() {
    tokio::time::pause();
    let house = House::new().await;
    let harness = &house.harness;
    for _ in 0..1_000 {
        house.bank.will_say(BankError::TimedOut);
    }
    value(harness.send(1, outside(), 10, "slow").await);
    let end = Some(harness.clock.peek().plus_millis(60_000));
    value(harness.hold(2, 10, "short", end).await);
    later(Duration::from_secs(30)).await;
    let asked = house.bank.called().len();
    assert!(asked > 3, "the bank is asked again and again");
    harness.engine.lifecycle().retire(REALM).await.unwrap();
    harness.engine.lifecycle().retire(REALM).await.unwrap();
    house.still().await;
    let arrived = caudal_ledger::transfers::CashIn {
        coelsa_id: "80V1JXON1874QG39Z64EL8".into(),
        bank_id: "1".into(),
        cvu: cvu(1),
        amount: Amount::from_centavos(7).unwrap(),
        from: caudal_ledger::transfers::Counterparty::default(),
        at: harness.clock.peek(),
    };
    let notice = || crate::ports::Notice::Received {
        coelsa_id: arrived.coelsa_id.clone(),
        bank_id: arrived.bank_id.clone(),
        cvu: arrived.cvu,
        amount: arrived.amount,
        from: arrived.from.clone(),
        at: arrived.at,
    };
    let heard = harness
        .engine
        .ledger()
        .notice(REALM.mode(), notice(), "r")
        .await;
    assert_eq!(
        heard.unwrap_err(),
        Failure::ShuttingDown,
        "the bank tells it again"
    );
    harness.engine.lifecycle().resume(REALM).await.unwrap();
    let heard = harness
        .engine
        .ledger()
        .notice(REALM.mode(), notice(), "r")
        .await;
    assert_eq!(heard.unwrap(), crate::engine::money::NoticeOutcome::Done);
    later(Duration::from_hours(1)).await;
    assert!(house.bank.called().len() > asked, "nobody goes on asking");
    assert_eq!(
        harness.balance(2).await.held,
        Money::ZERO,
        "the hold has ended"
    );
    assert_eq!(harness.balance(1).await.total().centavos(), EACH + 7);
    let seen = house.ear.seen.lock().unwrap().len();
    // Those of the transfer, of the hold (two), and of the arrival.
    assert_eq!(seen, 4, "the webhook goes on where it was");
    harness.verified().await;
}

#[actix::test]
async fn a_supervisor_that_panics_is_replaced_and_the_next_order_works() {
    tokio::time::pause();
    let house = House::new().await;
    let harness = &house.harness;
    harness.store.set_automatic(false);
    // One order is decided and not written, one has a claim and is not decided, one waits behind the panic.
    let decided = actix::spawn(order(Rc::clone(harness), 4));
    later(Duration::from_millis(1)).await;
    harness.clock.arm(1);
    let falls = actix::spawn({
        let house = House {
            harness: Rc::clone(harness),
            bank: Arc::clone(&house.bank),
            ear: Arc::clone(&house.ear),
        };
        async move { house.hook("https://other.example/").await }
    });
    tokio::task::yield_now().await;
    let behind = actix::spawn(order(Rc::clone(harness), 9));
    assert_eq!(falls.await.unwrap().unwrap_err(), Failure::OutcomeUnknown);
    assert!(harness.clock.blown());
    assert_eq!(behind.await.unwrap().1, End::Nothing);
    assert!(!decided.is_finished());
    // Nothing is loaded before the old life's last commit has ended.
    let early = harness.post(1, "IN", 1, "early").await;
    assert_eq!(early.unwrap_err(), Failure::ShuttingDown);
    harness.store.set_automatic(true);
    assert_eq!(decided.await.unwrap().1, End::Recorded);
    later(Duration::from_millis(1)).await;
    let [down] = harness.engine.lifecycle().down()[..] else {
        panic!("{:?}", harness.engine.lifecycle().down());
    };
    assert_eq!((down.realm, down.falls, down.served), (REALM, 1, true));
    assert_eq!(order(Rc::clone(harness), 4).await.1, End::Replayed);
    assert_eq!(order(Rc::clone(harness), 9).await.1, End::Recorded);
    value(house.hook("https://other.example/").await);
    later(Duration::from_mins(2)).await;
    assert_eq!(harness.engine.lifecycle().down(), []);
    assert_eq!(house.ear.seen.lock().unwrap().len(), 2);
    harness.verified().await;
}

#[actix::test]
async fn repeated_failures_of_a_realm_back_off_exponentially() {
    tokio::time::pause();
    let house = House::new().await;
    let harness = &house.harness;
    let mut pauses = Vec::new();
    for fall in 1..=12_u32 {
        harness.clock.arm(1);
        let fallen = house.hook("https://other.example/").await;
        assert_eq!(fallen.unwrap_err(), Failure::OutcomeUnknown);
        let since = tokio::time::Instant::now();
        loop {
            match harness.post(1, "IN", 1, &format!("after-{fall}")).await {
                Err(why) => assert_eq!(why, Failure::ShuttingDown),
                Ok(_) => break,
            }
            nap().await;
        }
        assert_eq!(harness.engine.lifecycle().down()[0].falls, fall);
        pauses.push(since.elapsed());
    }
    assert!(pauses[0] < Duration::from_millis(100), "{pauses:?}");
    let longer = pauses[1..].windows(2).all(|two| two[0] < two[1]);
    assert!(longer, "{pauses:?}");
    assert!(pauses[11] >= Duration::from_secs(60), "{pauses:?}");
    // A realm that waits for its next life can be retired, and a retired one waits for nothing.
    harness.clock.arm(1);
    assert!(house.hook("https://other.example/").await.is_err());
    harness.engine.lifecycle().retire(REALM).await.unwrap();
    house.still().await;
    harness.engine.lifecycle().resume(REALM).await.unwrap();
    value(harness.post(1, "IN", 1, "last").await);
    harness.verified().await;
}

#[actix::test]
async fn a_realm_on_a_thread_of_its_own_is_retired_and_goes_on() {
    let bank: Arc<dyn BankGateway> = Arc::<TestBank>::default();
    let first = Harness::new(1, ACCOUNTS, EACH, Arc::clone(&bank)).await;
    let store = first.store.crash(0);
    store.set_automatic(true);
    let engine = Engine::start(
        Arc::<FaultyStore>::clone(&store),
        Arc::<super::harness::HarnessClock>::clone(&first.clock),
        Arc::new(move |_: &Relation| Ok(Arc::clone(&bank))),
        EngineOptions {
            arbiters: 2,
            ..EngineOptions::default()
        },
    );
    let clock = Arc::clone(&first.clock);
    let engine = engine.unwrap();
    let harness = Rc::new(Harness {
        store,
        clock,
        engine,
    });
    for round in 0..3 {
        let from = round * 100;
        let load: Vec<_> = (from..from + 100)
            .map(|n| actix::spawn(order(Rc::clone(&harness), n)))
            .collect();
        tokio::task::yield_now().await;
        harness.engine.lifecycle().retire(REALM).await.unwrap();
        // On another thread the mailbox of an account that has stopped may be dropped a moment later.
        super::wait_until(|| harness.engine.queries().claims_of(REALM) == 0).await;
        let commits = harness.store.stats().commits;
        let refused = harness.post(1, "IN", 1, "later").await;
        assert_eq!(refused.unwrap_err(), Failure::ShuttingDown);
        assert_eq!(harness.store.stats().commits, commits);
        harness.engine.lifecycle().resume(REALM).await.unwrap();
        for asked in load {
            let (n, before, _) = asked.await.unwrap();
            let (_, now, _) = order(Rc::clone(&harness), n).await;
            match before {
                End::Recorded => assert_eq!(now, End::Replayed, "order {n} was lost"),
                End::Nothing => assert_eq!(now, End::Recorded, "order {n} was done all the same"),
                End::Unknown | End::Replayed => {}
            }
        }
        harness.verified().await;
    }
}
