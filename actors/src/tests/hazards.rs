//! Storms: orders of every kind while actors die, are sent away and are replaced while their account states are lent.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use caudal_ledger::limits::Quantity;

use super::harness::{Dice, Harness, again, mode, nap};
use super::*;
use crate::realms::Batch;

/// Accounts of a storm.
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
                let given = harness
                    .engine
                    .ledger()
                    .order(
                        REALM,
                        Batch {
                            items,
                            mode: as_one,
                        },
                        plain(),
                    )
                    .await;
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
                harness
                    .engine
                    .operators()
                    .passivate(REALM, target)
                    .await
                    .ok();
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
    harness
        .engine
        .operators()
        .administer(order_of)
        .await
        .unwrap();
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
    assert_eq!(
        harness.engine.queries().claims_of(REALM),
        0,
        "something is claimed"
    );
    let report = harness.engine.operators().report(REALM).await.unwrap();
    assert_eq!((report.queued, report.in_flight), (0, 0));
    println!(
        "storm {seed}: {hazards} hazards, {} replaced, {} sent away, {} left",
        report.restarts, report.passivations, moved.out
    );
}

#[actix::test]
async fn a_storm_keeps_every_centavo_and_never_passes_the_sum() {
    for seed in 1..=3 {
        storm(seed).await;
    }
}
