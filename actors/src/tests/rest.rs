//! Accounts at rest: two rows are left when an actor goes away, the next load mostly reads nothing
//! else, and what is loaded by them is what the streams say, whatever the rows are.

use std::rc::Rc;

use caudal_ledger::accounts::Account;
use caudal_storage::{Row, Store as _};

use super::full_store::FullStore;
use super::harness::{Dice, Harness, again, nap};
use super::*;
use crate::records::rest::Stand;
use crate::records::{encode, keys, reads};

const ACCOUNTS: u64 = 4;

fn row_of(store: &dyn caudal_storage::Store, account: u64) -> Option<Vec<u8>> {
    let key = keys::snapshot(REALM, AccountNo(account));
    store.get(&key).unwrap()
}

fn stand_of(store: &dyn caudal_storage::Store, account: u64) -> Option<Vec<u8>> {
    let key = keys::stand(REALM, AccountNo(account));
    store.get(&key).unwrap()
}

/// Loads by the row and from the streams alone; gives how many movements the row spared.
fn same(store: &dyn caudal_storage::Store, account: u64) -> u64 {
    let full = reads::load_in_full(store, REALM, AccountNo(account)).unwrap();
    let quick = reads::load(store, REALM, AccountNo(account)).unwrap();
    let (full, quick) = (full.unwrap(), quick.unwrap());
    assert_eq!(quick.account, full.account);
    assert_eq!((full.row, full.replayed), (None, full.account.sequence));
    full.replayed - quick.replayed
}

/// Replaces a row by what a disk, an older program or a mistake may leave, and loads by it.
fn spoil(store: &FaultyStore, account: u64, dice: &mut Dice) {
    let key = keys::snapshot(REALM, AccountNo(account));
    let good = row_of(store, account);
    let ahead = || {
        let loaded = reads::load_in_full(store, REALM, AccountNo(account)).unwrap();
        let mut ahead = loaded.unwrap().account;
        ahead.sequence += 1 + dice.0 % 3;
        encode(&ahead).unwrap()
    };
    let other = || row_of(store, 1 + account % ACCOUNTS);
    let half = |row: &Vec<u8>| row[..row.len() / 2].to_vec();
    let bad = [
        None,
        Some(Vec::new()),
        Some(b"\x01nonsense".to_vec()),
        good.as_ref().map(half),
        Some(ahead()),
        other(),
    ];
    for value in bad {
        let key = key.clone();
        store.note(vec![Row { key, value }]);
        same(store, account);
    }
    store.note(vec![Row { key, value: good }]);
    spoil_stand(store, account, dice);
}

/// The same with where it stood.
fn spoil_stand(store: &FaultyStore, account: u64, dice: &mut Dice) {
    let key = keys::stand(REALM, AccountNo(account));
    let good = stand_of(store, account);
    let ahead = || {
        let number = AccountNo(account);
        let loaded = reads::load_in_full(store, REALM, number).unwrap();
        let mut ahead = loaded.unwrap().account;
        ahead.sequence += 1 + dice.0 % 3;
        Stand::of(&ahead).map(|stand| stand.row(number).unwrap())
    };
    let half = |row: &Vec<u8>| row[..row.len() / 2].to_vec();
    let bad = [
        None,
        Some(Vec::new()),
        Some(b"\x01nonsense".to_vec()),
        good.as_ref().map(half),
        ahead(),
        stand_of(store, 1 + account % ACCOUNTS),
    ];
    for value in bad {
        let key = key.clone();
        store.note(vec![Row { key, value }]);
        same(store, account);
    }
    store.note(vec![Row { key, value: good }]);
}

async fn step(harness: &Harness, n: u64, dice: &mut Dice) {
    let account = 1 + dice.roll(ACCOUNTS);
    let target = Target::Account(AccountNo(account));
    let id = format!("n{n}");
    let centavos = 1 + i64::try_from(dice.roll(50)).unwrap();
    let engine = &harness.engine;
    let failed = match dice.roll(12) {
        0..=3 => harness.post(account, "IN", centavos, &id).await.err(),
        4 => harness.post(account, "OUT", centavos, &id).await.err(),
        5 => harness.hold(account, centavos, &id, None).await.err(),
        6 => {
            let to = 1 + account % ACCOUNTS;
            harness.give((account, to), centavos, &id).await.err()
        }
        7 => {
            let way = harness::outside();
            harness.send(account, way, centavos, &id).await.err()
        }
        8 => {
            let order = match dice.chance(50) {
                true => ProfileOrder::Reactivate,
                false => ProfileOrder::Suspend {
                    reason: "of the test".into(),
                    code: SuspensionCode::Other,
                },
            };
            let changed = engine.change(REALM, target, order, None, plain());
            changed.await.err()
        }
        _ => engine.passivate(REALM, target).await.err(),
    };
    if let Some(why) = failed {
        let refused = matches!(why, Failure::Rejected(_));
        assert!(refused || again(&why), "{why}");
    }
}

#[actix::test]
async fn an_account_is_the_same_by_its_row_and_by_its_streams() {
    let (mut spared, mut rows, mut later) = (0, 0, 0);
    for seed in 0..12 {
        let bank = Arc::<TestBank>::default();
        let mut harness = Harness::new(seed, ACCOUNTS, 1_000, bank.clone()).await;
        let mut dice = Dice(seed);
        for n in 0..120 {
            step(&harness, n, &mut dice).await;
            if n % 40 == 39 {
                harness = harness.crash(0, bank.clone());
            }
            if n % 10 == 9 {
                nap().await;
                for account in 1..=ACCOUNTS {
                    spared += same(harness.store.as_ref(), account);
                    let (row, stand) = (
                        row_of(harness.store.as_ref(), account),
                        stand_of(harness.store.as_ref(), account),
                    );
                    rows += u64::from(row.is_some());
                    let number = AccountNo(account);
                    let stand = stand.and_then(|row| Stand::parse(number, &row));
                    let whole = row.map(|row| crate::records::decode::<Account>(&row).unwrap());
                    let ahead = stand
                        .zip(whole)
                        .is_some_and(|(stand, whole)| stand.sequence > whole.sequence);
                    later += u64::from(ahead);
                    spoil(&harness.store, account, &mut dice);
                }
            }
        }
        harness.verified().await;
    }
    assert!(rows > 100 && spared > 500, "{rows} rows, {spared} spared");
    assert!(later > 100, "{later} stand beyond the whole row");
}

#[actix::test]
async fn what_is_not_durable_is_never_at_rest() {
    let bank = Arc::<TestBank>::default();
    let harness = Harness::new(3, 1, 1_000, bank.clone()).await;
    let target = || Target::Account(AccountNo(1));
    harness.post(1, "IN", 5, "first").await.unwrap();
    nap().await;
    assert!(harness.engine.passivate(REALM, target()).await.unwrap());
    nap().await;
    let rows = |harness: &Harness| {
        let store = harness.store.as_ref();
        [row_of(store, 1), stand_of(store, 1)].map(|row| row.expect("a row at rest"))
    };
    let before = rows(&harness);
    harness.store.set_automatic(false);
    let own = Rc::clone(&harness);
    let posted = actix::spawn(async move { own.post(1, "IN", 5, "late").await });
    while harness.store.pending() == 0 {
        nap().await;
    }
    // Its supervisor does not send it away, and it would leave no row if it went.
    assert!(!harness.engine.passivate(REALM, target()).await.unwrap());
    assert_eq!(rows(&harness), before);
    let after = harness.crash(0, bank.clone());
    assert_eq!(same(after.store.as_ref(), 1), 2);
    assert_eq!(after.disk(1), 1_005);
    posted.abort();
}

#[actix::test]
async fn an_account_that_moved_leaves_where_it_stands_and_the_whole_only_when_its_profile_changed()
{
    let bank = Arc::<TestBank>::default();
    let harness = Harness::new(5, 2, 0, bank.clone()).await;
    let store = harness.store.as_ref();
    let away = async |account: u64| {
        nap().await;
        let target = Target::Account(AccountNo(account));
        assert!(harness.engine.passivate(REALM, target).await.unwrap());
        nap().await;
        (row_of(store, account), stand_of(store, account))
    };
    harness.balance(2).await;
    assert_eq!(away(2).await, (None, None), "it has never moved");
    harness.post(1, "IN", 5, "first").await.unwrap();
    let (whole, first) = away(1).await;
    assert!(whole.is_some() && first.is_some());
    harness.balance(1).await;
    assert_eq!(away(1).await, (whole.clone(), first.clone()), "only read");
    harness.post(1, "IN", 5, "second").await.unwrap();
    let (same_whole, second) = away(1).await;
    assert_eq!(same_whole, whole);
    assert_ne!(second, first);
    let loaded = reads::load(store, REALM, AccountNo(1)).unwrap().unwrap();
    assert_eq!((loaded.replayed, loaded.account.sequence), (0, 2));
    let order = ProfileOrder::SetEnabled(false);
    let target = Target::Account(AccountNo(1));
    let changed = harness.engine.change(REALM, target, order, None, plain());
    changed.await.unwrap();
    let (changed, third) = away(1).await;
    assert!(changed != whole && third == second);
    same(store, 1);
}

/// A field that an older program did not know would be missing in the row of an account that rests for years.
#[actix::test]
async fn a_verification_finds_rows_at_rest_that_say_otherwise_than_the_streams() {
    let harness = Harness::new(7, 1, 0, Arc::<TestBank>::default()).await;
    let store = harness.store.as_ref();
    harness.post(1, "IN", 5, "first").await.unwrap();
    nap().await;
    let target = Target::Account(AccountNo(1));
    assert!(harness.engine.passivate(REALM, target).await.unwrap());
    nap().await;
    let good = row_of(store, 1).unwrap();
    let found = |value: Vec<u8>| {
        let key = keys::snapshot(REALM, AccountNo(1));
        let value = Some(value);
        store.note(vec![Row { key, value }]);
        let (report, _) = crate::verify::store(store, &mut |_| {}).unwrap();
        report.differences
    };
    assert_eq!(found(good.clone()), Vec::<String>::new());
    let mut other: Account = crate::records::decode(&good).unwrap();
    other.phone = Some("of nobody".into());
    let wrong = found(encode(&other).unwrap());
    assert!(
        matches!(&wrong[..], [only] if only.ends_with("not what its profile and movements say")),
        "{wrong:?}"
    );
    assert_eq!(found(good), Vec::<String>::new());
}

#[actix::test]
async fn an_account_that_was_never_written_leaves_nothing_that_counts() {
    let harness = Harness::new(4, 1, 0, Arc::<TestBank>::default()).await;
    let refused = StoreError::Full("says the test".into());
    harness.store.refuse_next(refused);
    let opened = harness
        .engine
        .register(REALM, registration(), true, None, plain());
    assert!(opened.await.is_err());
    nap().await;
    let store = harness.store.as_ref();
    assert_eq!(reads::load(store, REALM, AccountNo(2)).unwrap(), None);
    for number in [2, 3, u64::MAX] {
        let target = Target::Account(AccountNo(number));
        let seen = harness.engine.balance(REALM, target).await;
        let none = Failure::Rejected(Rejection::AccountNotFound);
        assert_eq!(seen.unwrap_err(), none, "{number}");
    }
}

#[actix::test]
async fn accounts_are_read_side_by_side_and_what_is_sent_to_them_waits_in_order() {
    let bank = Arc::<TestBank>::default();
    let harness = Harness::new(6, 4, 1_000, bank.clone()).await;
    let inner = harness.store.crash(0);
    inner.set_automatic(true);
    let store = FullStore::over(Arc::clone(&inner));
    let engine = Rc::new(store.engine(&harness.clock, &bank));
    let post = |account, id: String| {
        let engine = Rc::clone(&engine);
        actix::spawn(async move {
            let order = adjustment(account, "IN", 1, &id);
            value(engine.post(REALM, order, plain()).await)
        })
    };
    post(4, "resident".into()).await.unwrap();
    store.hold_reads(true);
    let first: Vec<_> = (0..5).map(|n| post(1, format!("sent-{n}"))).collect();
    let others = [post(2, "second".into()), post(3, "third".into())];
    while store.held() < 3 {
        nap().await;
    }
    // Nothing waits for them but what is sent to them.
    post(4, "meanwhile".into()).await.unwrap();
    assert!(first.iter().chain(&others).all(|one| !one.is_finished()));
    let target = Target::Account(AccountNo(1));
    assert!(
        !engine.passivate(REALM, target).await.unwrap(),
        "it is sent away"
    );
    store.hold_reads(false);
    for one in others {
        one.await.unwrap();
    }
    for one in first {
        one.await.unwrap();
    }
    let posted = reads::vouchers(
        inner.as_ref(),
        REALM,
        AccountNo(1),
        (2, u64::MAX),
        caudal_storage::SortOrder::Ascending,
        10,
    );
    let ids = posted.unwrap().into_iter().filter_map(|v| v.external_id);
    let ids: Vec<_> = ids.map(|id| id.as_str().to_owned()).collect();
    let sent: Vec<_> = (0..5).map(|n| format!("sent-{n}")).collect();
    assert_eq!(ids, sent);
}
