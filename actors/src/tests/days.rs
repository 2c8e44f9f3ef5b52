//! Closed days: a tree of more than one block, proofs of its accounts, and the bank's side.

use caudal_ledger::cvu::Cvu;
use caudal_ledger::days::{BankSide, ClosedDay, SealKey};
use caudal_ledger::money::Sum;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::seal::{BLOCK_LEAVES, TreeBuilder, climb};
use caudal_ledger::time::BusinessDay;

use super::*;
use crate::failure::Failure;
use crate::ports::seals::{DaySigner, SealKeyName};

/// A day in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;
/// The grace of these tests, in milliseconds.
const GRACE: u64 = 600_000;

/// Signs with bytes that prove nothing.
#[derive(Debug)]
pub(super) struct TestSigner;

impl DaySigner for TestSigner {
    fn key(&self, of: &SealKeyName) -> Option<SealKey> {
        Some(SealKey {
            generation: of.generation,
            public: [7; 32],
        })
    }

    fn sign(&self, _: &SealKeyName, _: &[u8]) -> Option<[u8; 64]> {
        Some([8; 64])
    }

    fn salts(&self, _: &SealKeyName) -> Option<[u8; 32]> {
        Some([9; 32])
    }
}

impl World {
    fn today(&self) -> BusinessDay {
        self.clock.now().business_day()
    }

    /// Lets days go by, and closes those that are over; returns the last one.
    async fn days_later(&self, days: u64) -> ClosedDay {
        self.clock.0.fetch_add(days * DAY, Ordering::Relaxed);
        let ledger = self.engine.ledger();
        let mut last = None;
        while let Some(day) = ledger.close_next_day(REALM, GRACE, "d").await.unwrap() {
            last = Some(day);
        }
        let found = self.engine.queries().closed_day(REALM, last.unwrap()).await;
        found.unwrap().unwrap().day
    }

    async fn cvu(&self, account: u64) -> Cvu {
        let target = Target::Account(AccountNo(account));
        let view = self.engine.queries().view(REALM, target).await.unwrap();
        view.account.cvu.unwrap()
    }

    async fn credit(&self, account: u64, centavos: i64, id: &str) {
        let order = adjustment(account, "IN", centavos, id);
        value(self.engine.ledger().order(REALM, order, plain()).await);
    }
}

#[actix::test]
async fn every_account_of_many_blocks_has_a_proof_of_its_day() {
    let world = World::new().await;
    let accounts = u64::try_from(BLOCK_LEAVES).unwrap() + 3;
    for account in 1..=accounts {
        value(world.open(None, None).await);
        if account % 1000 == 7 {
            let centavos = i64::try_from(account).unwrap();
            world
                .credit(account, centavos, &format!("c{account}"))
                .await;
        }
    }
    let date = world.today();
    let day = world.days_later(1).await;
    // What happens later is in no closed day.
    value(world.open(None, None).await);
    world.credit(7, 1, "late").await;
    let figures = &day.figures;
    assert_eq!((figures.date, figures.accounts), (date, accounts));
    assert_eq!(figures.blocks.len(), 2);
    let nodes = figures.blocks.iter().map(|block| block.node);
    assert_eq!(nodes.collect::<TreeBuilder>().root(), figures.root);
    let credited = [7, 1007, 2007, 3007, 4007];
    let sum = Sum::from_centavos(credited.iter().sum());
    assert_eq!((figures.root.available, figures.owed()), (sum, sum));
    for account in [1, 7, 4007, accounts - 3, accounts - 2, accounts] {
        let proof = world
            .engine
            .queries()
            .day_proof(REALM, date, world.cvu(account).await)
            .await
            .unwrap();
        assert_eq!(climb(proof.leaf.node(), &proof.path), figures.root);
        let has = if credited.contains(&account.into()) {
            account
        } else {
            0
        };
        assert_eq!(proof.leaf.available, Sum::from_centavos(has.into()));
        assert_eq!(proof.leaf.sequence, u64::from(has > 0), "{account}");
    }
    let proof = |cvu| world.engine.queries().day_proof(REALM, date, cvu);
    let later = proof(world.cvu(accounts + 1).await).await;
    assert_eq!(later, Err(Failure::Rejected(Rejection::AccountNotFound)));
    let next = world.engine.queries();
    let next = next.day_proof(REALM, date.next(), world.cvu(1).await).await;
    assert_eq!(next, Err(Failure::Rejected(Rejection::DayNotClosed)));
    world.verified().await;
}

#[actix::test]
async fn days_close_in_order_after_their_grace_and_survive_a_crash() {
    let world = World::new().await;
    value(world.open(None, None).await);
    world.credit(1, 100, "a").await;
    let first = world.today();
    let ledger = world.engine.ledger();
    assert_eq!(ledger.close_next_day(REALM, GRACE, "d").await, Ok(None));
    let end = first.end().millis();
    let passed = world.clock.now().millis();
    // Within the grace a movement may still enter the day.
    let within = end - passed + GRACE - 1000;
    world.clock.0.fetch_add(within, Ordering::Relaxed);
    assert_eq!(ledger.close_next_day(REALM, GRACE, "d").await, Ok(None));
    let day = world.days_later(2).await;
    assert_eq!(day.figures.date, first.next());
    let both = [first, first.next()].map(|date| world.engine.queries().closed_day(REALM, date));
    let [one, two] = both.map(|day| async { day.await.unwrap().unwrap().day });
    let (one, two) = (one.await, two.await);
    assert_eq!(one.figures.previous, None);
    assert_eq!(two.figures.previous, Some(one.digest));
    assert_eq!(two.figures.owed(), Sum::from_centavos(100));
    // The fake bank keeps no statements.
    assert_eq!(two.figures.bank, BankSide::Absent);
    let world = world.crash(0);
    let last = world.engine.queries().closed_day(REALM, first.next()).await;
    assert_eq!(last.unwrap().unwrap().day, two);
    let three = world.days_later(1).await;
    assert_eq!(three.figures.previous, Some(two.digest));
    world.verified().await;
}

#[actix::test]
async fn an_account_that_was_unloaded_has_what_it_had_at_the_end_of_the_day() {
    let world = World::new().await;
    for account in 1..=6 {
        value(world.open(None, None).await);
        world.credit(account, 100, &format!("a{account}")).await;
    }
    let unload = async |account: u64| {
        let target = Target::Account(AccountNo(account));
        world.engine.operators().passivate(REALM, target).await
    };
    // One is not moved again, one moves later, one moves later and is unloaded again, one is not unloaded, and two move on
    // the same day: once, and often.
    for account in [1, 2, 3, 5, 6] {
        assert!(unload(account).await.unwrap());
    }
    world.credit(5, 1, "same").await;
    for n in 1..=5 {
        world.credit(6, 1, &format!("same{n}")).await;
    }
    let date = world.today();
    world.clock.0.fetch_add(DAY, Ordering::Relaxed);
    for account in [2, 3] {
        world.credit(account, 1, &format!("b{account}")).await;
    }
    assert!(unload(3).await.unwrap());
    let day = world.days_later(1).await;
    assert_eq!(day.figures.date, date.next());
    for (date, has) in [
        (date, [100, 100, 100, 100, 101, 105]),
        (date.next(), [100, 101, 101, 100, 101, 105]),
    ] {
        for (account, centavos) in (1..).zip(has) {
            let proof = world.engine.queries();
            let proof = proof.day_proof(REALM, date, world.cvu(account).await).await;
            let leaf = proof.unwrap().leaf;
            let sequence = u64::try_from(centavos - 99).unwrap();
            assert_eq!(
                (leaf.available, leaf.sequence),
                (Sum::from_centavos(centavos), sequence),
                "{account} on {date}"
            );
        }
    }
    world.verified().await;
}
