//! Accounts on threads of their own: the stories of other files once more, and storms in which actors die, are sent
//! away and are replaced while their desks are lent across threads.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Instant;

use caudal_ledger::limits::Quantity;

use tokio::task::JoinHandle;

use super::crowds::crowd;
use super::harness::{Dice, Harness, again, mode, nap};
use super::*;
use crate::mailbox::CROWD_MAX;

thread_local! {
    static THREADS: Cell<usize> = const { Cell::new(0) };
}

/// The actors' threads where a test has several: the supervisor's, and two for the accounts.
const SOME: usize = 3;

/// How many threads the actors of this thread's test have; with none they live on the test's own.
pub fn threads() -> usize {
    THREADS.get()
}

/// Runs tests of other files with accounts on threads of their own.
macro_rules! on_threads {
    ($($file:ident: $($test:ident),+;)+) => {$($(
        #[test]
        fn $test() {
            THREADS.set(SOME);
            super::$file::$test();
        }
    )+)+};
}

on_threads! {
    storms: as_many_as_the_mailbox_holds_are_all_answered,
        batches_over_fifty_accounts_and_transfers_between_them,
        exactly_what_a_limit_lets_pass_passes;
    totals: orders_of_many_accounts_at_once_never_pass_the_sum_together,
        what_stays_with_the_tenant_does_not_count_and_what_comes_back_counts_no_more,
        what_is_refused_undone_or_only_asked_takes_nothing;
    crashes: no_crash_and_no_step_shows_half_a_transfer,
        a_batch_that_repeats_what_is_in_flight_waits_for_it;
    lives: a_realm_on_a_thread_of_its_own_is_retired_and_goes_on;
}

/// Makes account 1 take 10 centavos out, and stand still in that turn until the sender is dropped.
async fn in_a_turn(
    harness: &Rc<Harness>,
) -> (JoinHandle<Answered<Outcome<Placed>>>, mpsc::Sender<()>) {
    let (here, reached) = mpsc::channel();
    let (open, opened) = mpsc::channel();
    harness.clock.shut((here, opened));
    // When the supervisor forwards an order without a key it does not ask for the time: the account does.
    let posting = Rc::clone(harness);
    let posting = actix::spawn(async move { posting.post(1, "OUT", 10, "in-a-turn").await });
    wait_until(|| reached.try_recv().is_ok()).await;
    (posting, open)
}

/// A thread that stands still gets a bounded number of messages, and the waiting orders are done in the end: the lane
/// never gets more at once than it takes.
#[actix::test]
async fn what_a_thread_has_not_come_round_to_waits_with_the_supervisor() {
    THREADS.set(SOME);
    let harness = Harness::new(1, 8, EACH, Arc::<TestBank>::default()).await;
    let (posting, open) = in_a_turn(&harness).await;
    // Every other account lives on that thread.
    let (orders, refused) = crowd(1_500, |n| {
        let harness = &harness;
        let account = 1 + 2 * (u64::try_from(n).unwrap() % 4);
        Box::pin(async move {
            let posted = harness.post(account, "IN", 1, &format!("c{n}")).await;
            posted.map(drop)
        })
    });
    assert_eq!((orders.len(), refused), (1_500, 0));
    // The question is behind all of them.
    let report = tokio::time::timeout(HALT, harness.engine.report(REALM)).await;
    let report = report.expect("the supervisor answers").unwrap();
    assert_eq!(report.queued, CROWD_MAX);
    // Other accounts go on, and an order whose caller leaves meanwhile is not done.
    assert_eq!(harness.balance(2).await.total().centavos(), EACH);
    let mut orders = orders;
    let staying = orders.split_off(1_000);
    drop(orders);
    drop(open);
    value(posting.await.unwrap());
    for order in staying {
        order.await.unwrap();
    }
    let mut sum = 0;
    for account in [1, 3, 5, 7] {
        sum += harness.balance(account).await.total().centavos() - EACH;
    }
    assert_eq!(sum, 500 - 10);
    harness.verified().await;
}

/// An account is in a turn, on its own thread, when its supervisor is asked to send it away.
#[actix::test]
async fn an_actor_that_takes_a_turn_is_not_sent_away() {
    THREADS.set(SOME);
    let harness = Harness::new(1, 2, EACH, Arc::<TestBank>::default()).await;
    let target = Target::Account(AccountNo(1));
    let (posting, open) = in_a_turn(&harness).await;
    let stays = tokio::time::timeout(HALT, harness.engine.passivate(REALM, target)).await;
    assert_eq!(stays.expect("the supervisor answers"), Ok(false));
    drop(open);
    value(posting.await.unwrap());
    assert_eq!(harness.disk(1), EACH - 10);
    // Once it is idle it goes.
    let since = Instant::now();
    while harness.engine.passivate(REALM, target).await != Ok(true) {
        assert!(since.elapsed() < HALT, "it stays");
        nap().await;
    }
    assert_eq!(harness.balance(1).await.total().centavos(), EACH - 10);
    harness.verified().await;
}

/// Accounts of a storm; with two threads for them, neighbours live apart.
const ACCOUNTS: u64 = 6;
/// The money of each at the beginning, in centavos.
const EACH: i64 = 1_000;
/// The most that may leave the tenant, in centavos: about half of what a storm's orders ask for.
const DAILY: i64 = 600;
/// Orders of a storm.
const ORDERS: u64 = 240;
/// Orders that are under way at the same time.
const AT_ONCE: u64 = 24;
/// A storm takes a second; one that takes this long is stuck.
const HALT: Duration = Duration::from_secs(120);

/// Writes commits on a thread of its own until it is dropped.
struct Disk {
    stop: Arc<AtomicBool>,
    writer: Option<std::thread::JoinHandle<()>>,
}

impl Disk {
    fn of(store: &Arc<FaultyStore>) -> Self {
        store.set_automatic(false);
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, store) = (Arc::clone(&stop), Arc::clone(store));
        let writer = std::thread::spawn(move || {
            while !stopped.load(Ordering::Acquire) {
                if !store.step() {
                    std::thread::park_timeout(Duration::from_micros(100));
                }
            }
            store.set_automatic(true);
        });
        Self {
            stop,
            writer: Some(writer),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(writer) = self.writer.take() {
            writer.join().unwrap();
        }
    }
}

/// What an order of a storm adds to the sum of all accounts, and takes out of the tenant.
#[derive(Clone, Copy, Default)]
struct Moved {
    sum: i64,
    out: i64,
}

/// Repeats one order until its outcome is known.
async fn order(harness: Rc<Harness>, n: u64, mut dice: Dice, since: Instant) -> Moved {
    let id = format!("s{n}");
    let account = 1 + dice.roll(ACCOUNTS);
    let other = 1 + (account + dice.roll(ACCOUNTS - 1)) % ACCOUNTS;
    let kind = dice.roll(5);
    loop {
        assert!(
            since.elapsed() < HALT,
            "order {n} of kind {kind} stands still"
        );
        let (asked, moved) = match kind {
            0 => {
                let posted = harness.post(account, "IN", 3, &id).await;
                (posted.map(drop), Moved { sum: 3, out: 0 })
            }
            1 => {
                let posted = harness.post(account, "OUT", 10, &id).await;
                (posted.map(drop), Moved { sum: -10, out: 10 })
            }
            2 => {
                let held = harness.hold(account, 7, &id, None).await;
                (held.map(drop), Moved { sum: 0, out: 7 })
            }
            3 => {
                let items = [(account, "OUT"), (other, "OUT"), (account, "IN")];
                let items = items
                    .iter()
                    .enumerate()
                    .map(|(at, (of, code))| adjustment(*of, code, 4, &format!("{id}-{at}")));
                let (items, as_one) = (items.collect(), mode(true));
                let given = harness.engine.batch(REALM, items, as_one, plain()).await;
                let all = given
                    .and_then(|given| value(Ok(given)).into_iter().try_for_each(|it| it.map(drop)));
                (all, Moved { sum: -4, out: 8 })
            }
            _ => {
                let given = harness.give((account, other), 5, &id).await;
                (given.map(drop), Moved::default())
            }
        };
        match asked {
            Ok(()) => return moved,
            Err(Failure::Rejected(Rejection::LimitExceeded(breach))) => {
                assert_eq!(breach.limit, "dailyOutgoingTotal");
                return Moved::default();
            }
            Err(why) => assert!(again(&why), "{why}"),
        }
        nap().await;
    }
}

/// Sends actors away, has the store refuse commits, and has actors panic in their turns.
async fn hazards(harness: Rc<Harness>, mut dice: Dice, calm: Rc<Cell<bool>>) -> u64 {
    let mut hazards = 0;
    while !calm.get() {
        match dice.roll(4) {
            0 => harness.store.refuse_next(StoreError::Overloaded),
            1 => harness.clock.arm(1 + i64::try_from(dice.roll(20)).unwrap()),
            _ => {
                let target = Target::Account(AccountNo(1 + dice.roll(ACCOUNTS)));
                // A busy account stays, and one with a busy supervisor is left alone.
                harness.engine.passivate(REALM, target).await.ok();
            }
        }
        hazards += 1;
        nap().await;
    }
    harness.clock.arm(0);
    hazards
}

async fn storm(seed: u64) {
    let harness = Harness::new(seed, ACCOUNTS, EACH, Arc::<TestBank>::default()).await;
    let change = TenantChange {
        total_limits: Some(TotalLimits {
            daily_outgoing: Some(Money::from_centavos(DAILY)),
            ..TotalLimits::default()
        }),
        ..TenantChange::default()
    };
    let order_of = PlatformOrder::ChangeTenant(TENANT.into(), change);
    harness.engine.administer(order_of).await.unwrap();
    let disk = Disk::of(&harness.store);
    let calm = Rc::new(Cell::new(false));
    let danger = hazards(Rc::clone(&harness), Dice(seed), Rc::clone(&calm));
    let danger = actix::spawn(danger);
    let (mut dice, mut moved, since) = (Dice(seed), Moved::default(), Instant::now());
    for first in (0..ORDERS).step_by(usize::try_from(AT_ONCE).unwrap()) {
        let asked = (first..first + AT_ONCE)
            .map(|n| order(Rc::clone(&harness), n, Dice(dice.roll(u64::MAX)), since));
        for came in super::storms::all(asked).await {
            moved.sum += came.sum;
            moved.out += came.out;
        }
    }
    calm.set(true);
    let hazards = danger.await.unwrap();
    drop(disk);
    let mut sum = 0;
    for account in 1..=ACCOUNTS {
        let live = harness.balance(account).await.total().centavos();
        assert_eq!(live, harness.disk(account), "seed {seed}");
        sum += live;
    }
    let at_first = EACH * i64::try_from(ACCOUNTS).unwrap();
    assert_eq!(sum, at_first + moved.sum, "seed {seed}");
    assert!(moved.out <= DAILY, "seed {seed}: {} have left", moved.out);
    assert_eq!(
        harness.left().await,
        Quantity::Money(Money::from_centavos(DAILY - moved.out))
    );
    harness.verified().await;
    assert_eq!(harness.engine.claims_of(REALM), 0, "something is claimed");
    let report = harness.engine.report(REALM).await.unwrap();
    assert_eq!((report.queued, report.in_flight), (0, 0));
    println!(
        "storm {seed}: {hazards} hazards, {} replaced, {} sent away, {} left",
        report.restarts, report.passivations, moved.out
    );
}

#[actix::test]
async fn storms_over_threads_keep_every_centavo_and_never_pass_the_sum() {
    for threads in [SOME, 2] {
        THREADS.set(threads);
        storm(u64::try_from(threads).unwrap()).await;
    }
}

#[actix::test]
async fn a_storm_on_one_thread_is_the_same() {
    storm(1).await;
}
