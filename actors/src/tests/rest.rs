//! Accounts at rest: an actor that goes away leaves one row, the next load reads mostly nothing else, and the loaded
//! account equals its streams, whatever the row holds.

use std::rc::Rc;

use caudal_ledger::accounts::Account;
use caudal_ledger::kyc::Kyc;
use caudal_ledger::particulars::Cleared;
use caudal_storage::Row;

use super::full_store::FullStore;
use super::harness::{Dice, Harness, again, nap};
use super::*;
use crate::accounts::ChangeProfile;
use crate::realms::Register;
use crate::records::rest::{self, Profile, Stand, WrittenPart};
use crate::records::{keys, reads};

const ACCOUNTS: u64 = 4;

type Key = fn(RealmId, AccountNo) -> Vec<u8>;

fn left(store: &dyn caudal_storage::Store, account: u64, key: Key) -> Option<Vec<u8>> {
    store.get(&key(REALM, AccountNo(account))).unwrap()
}

fn row_of(store: &dyn caudal_storage::Store, account: u64) -> Option<Vec<u8>> {
    left(store, account, keys::rest)
}

fn put(store: &dyn caudal_storage::Store, account: u64, key: Key, value: Option<Vec<u8>>) {
    let key = key(REALM, AccountNo(account));
    store.note(vec![Row { key, value }]);
}

/// The row that such an account leaves.
fn row_for(account: &Account) -> Option<Vec<u8>> {
    let profile = Profile::of(account).unwrap();
    let stand = Stand::of(account)?;
    Some(rest::row(account.number, &stand, &profile).unwrap())
}

/// Loads by the row and from the streams only. Returns how many movements the row spared.
fn same(store: &dyn caudal_storage::Store, account: u64) -> u64 {
    let full = reads::load_in_full(store, REALM, AccountNo(account)).unwrap();
    let quick = reads::load(store, REALM, AccountNo(account)).unwrap();
    let (full, quick) = (full.unwrap(), quick.unwrap());
    assert_eq!(quick.account, full.account);
    assert_eq!(full.left, WrittenPart::default());
    assert_eq!(full.replayed, full.account.sequence);
    full.replayed - quick.replayed
}

/// Replaces the row by one that a disk or a mistake may leave, and loads by it.
fn spoil(store: &FaultyStore, account: u64, dice: &mut Dice) {
    let good = row_of(store, account);
    let whole = || {
        let loaded = reads::load_in_full(store, REALM, AccountNo(account)).unwrap();
        loaded.unwrap().account
    };
    let mut ahead = whole();
    ahead.sequence += 1 + dice.0 % 3;
    let half = |row: &Vec<u8>| row[..row.len() / 2].to_vec();
    let other = |key| left(store, 1 + account % ACCOUNTS, key);
    let bad = [
        None,
        Some(Vec::new()),
        Some(b"\x02nonsense".to_vec()),
        good.as_ref().map(half),
        row_for(&ahead),
        other(keys::rest),
    ];
    for value in bad {
        put(store, account, keys::rest, value);
        same(store, account);
    }
    put(store, account, keys::rest, good);
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
            let order = if dice.chance(50) {
                ProfileOrder::Reactivate
            } else {
                ProfileOrder::Suspend {
                    reason: "of the test".into(),
                    code: SuspensionCode::Other,
                }
            };
            let changed = engine
                .ledger()
                .order(REALM, ChangeProfile::new(target, order), plain());
            changed.await.err()
        }
        _ => engine.operators().passivate(REALM, target).await.err(),
    };
    if let Some(why) = failed {
        let refused = matches!(why, Failure::Rejected(_));
        assert!(refused || again(&why), "{why}");
    }
}

#[actix::test]
async fn an_account_is_the_same_by_its_row_and_by_its_streams() {
    let (mut spared, mut rows) = (0, 0);
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
                    rows += u64::from(row_of(harness.store.as_ref(), account).is_some());
                    spoil(&harness.store, account, &mut dice);
                }
            }
        }
        harness.verified().await;
    }
    assert!(rows > 100 && spared > 500, "{rows} rows, {spared} spared");
}

#[actix::test]
async fn an_account_with_pending_commits_writes_no_snapshot() {
    let bank = Arc::<TestBank>::default();
    let harness = Harness::new(3, 1, 1_000, bank.clone()).await;
    let target = || Target::Account(AccountNo(1));
    harness.post(1, "IN", 5, "first").await.unwrap();
    nap().await;
    assert!(
        harness
            .engine
            .operators()
            .passivate(REALM, target())
            .await
            .unwrap()
    );
    nap().await;
    let rows = |harness: &Harness| {
        let row = row_of(harness.store.as_ref(), 1);
        row.expect("a row at rest")
    };
    let before = rows(&harness);
    harness.store.set_automatic(false);
    let own = Rc::clone(&harness);
    let posted = actix::spawn(async move { own.post(1, "IN", 5, "late").await });
    while harness.store.pending() == 0 {
        nap().await;
    }
    // Its supervisor does not send it away, and it would leave no row if it went.
    assert!(
        !harness
            .engine
            .operators()
            .passivate(REALM, target())
            .await
            .unwrap()
    );
    assert_eq!(rows(&harness), before);
    let after = harness.crash(0, bank.clone());
    assert_eq!(same(after.store.as_ref(), 1), 2);
    assert_eq!(after.disk(1), 1_005);
    posted.abort();
}

#[actix::test]
async fn an_account_leaves_a_row_when_it_has_moved_or_its_profile_has_changed() {
    let bank = Arc::<TestBank>::default();
    let harness = Harness::new(5, 2, 0, bank.clone()).await;
    let store = harness.store.as_ref();
    let away = async |account: u64| {
        nap().await;
        let target = Target::Account(AccountNo(account));
        assert!(
            harness
                .engine
                .operators()
                .passivate(REALM, target)
                .await
                .unwrap()
        );
        nap().await;
        row_of(store, account)
    };
    harness.balance(2).await;
    assert_eq!(away(2).await, None, "it has never moved");
    harness.post(1, "IN", 5, "first").await.unwrap();
    let first = away(1).await;
    assert!(first.is_some());
    harness.balance(1).await;
    put(store, 1, keys::rest, None);
    assert_eq!(away(1).await, None, "only read");
    put(store, 1, keys::rest, first.clone());
    harness.post(1, "IN", 5, "second").await.unwrap();
    let second = away(1).await;
    assert_ne!(second, first);
    let loaded = reads::load(store, REALM, AccountNo(1)).unwrap().unwrap();
    assert_eq!((loaded.replayed, loaded.account.sequence), (0, 2));
    let order = ProfileOrder::SetEnabled(false);
    let target = Target::Account(AccountNo(1));
    let changed = harness
        .engine
        .ledger()
        .order(REALM, ChangeProfile::new(target, order), plain());
    changed.await.unwrap();
    assert_ne!(away(1).await, second);
    assert_eq!(same(store, 1), 2);
}

/// What a row lacks would stay missing for as long as the account rests.
#[actix::test]
async fn a_verification_finds_rows_at_rest_that_say_otherwise_than_the_streams() {
    let harness = Harness::new(7, 1, 0, Arc::<TestBank>::default()).await;
    let store = harness.store.as_ref();
    harness.post(1, "IN", 5, "first").await.unwrap();
    nap().await;
    let target = Target::Account(AccountNo(1));
    assert!(
        harness
            .engine
            .operators()
            .passivate(REALM, target)
            .await
            .unwrap()
    );
    nap().await;
    let good = row_of(store, 1).unwrap();
    let found = |value: Vec<u8>| {
        put(store, 1, keys::rest, Some(value));
        let (report, _) = crate::verify::store(store, &mut |_| {}).unwrap();
        report.differences
    };
    assert_eq!(found(good.clone()), Vec::<String>::new());
    let (mut other, _) = rest::parse(AccountNo(1), &good).unwrap();
    other.phone = Some("of nobody".into());
    let wrong = found(row_for(&other).unwrap());
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
    let opened = harness.engine.ledger().order(
        REALM,
        Register {
            registration: registration(),
            open: true,
            alias: None,
        },
        plain(),
    );
    assert!(opened.await.is_err());
    nap().await;
    let store = harness.store.as_ref();
    assert_eq!(reads::load(store, REALM, AccountNo(2)).unwrap(), None);
    for number in [2, 3, u64::MAX] {
        let target = Target::Account(AccountNo(number));
        let seen = harness.engine.queries().balance(REALM, target).await;
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
            value(engine.ledger().order(REALM, order, plain()).await)
        })
    };
    post(4, "resident".into()).await.unwrap();
    store.hold_reads(true);
    let first: Vec<_> = (0..5).map(|n| post(1, format!("sent-{n}"))).collect();
    let others = [post(2, "second".into()), post(3, "third".into())];
    while store.held() < 3 {
        nap().await;
    }
    // Only their own messages wait for them.
    post(4, "meanwhile".into()).await.unwrap();
    assert!(first.iter().chain(&others).all(|one| !one.is_finished()));
    let target = Target::Account(AccountNo(1));
    assert!(
        !engine.operators().passivate(REALM, target).await.unwrap(),
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

/// An account must not need a moment without business to leave its row.
#[actix::test]
async fn an_account_that_is_never_still_leaves_a_row_with_its_new_profile() {
    let harness = Harness::new(9, 1, 0, Arc::<TestBank>::default()).await;
    harness.post(1, "IN", 5, "first").await.unwrap();
    nap().await;
    let store = Arc::clone(&harness.store);
    store.set_automatic(false);
    let mut asked = Vec::new();
    let post = |id: String| {
        let own = Rc::clone(&harness);
        actix::spawn(async move { own.post(1, "IN", 5, &id).await.map(drop) })
    };
    asked.push(post("before".into()));
    let own = Rc::clone(&harness);
    asked.push(actix::spawn(async move {
        let order = ProfileOrder::ChangeKyc {
            kyc: Kyc::default(),
            email: Some("someone@example.com".into()),
            phone: None,
            cleared: Cleared::default(),
        };
        let target = Target::Account(AccountNo(1));
        let changed = own
            .engine
            .ledger()
            .order(REALM, ChangeProfile::new(target, order), plain());
        changed.await.map(drop)
    }));
    for round in 0..20 {
        asked.extend((0..10).map(|n| post(format!("m{round}-{n}"))));
        // At least one of them is always under way.
        while store.pending() < 11 {
            nap().await;
        }
        while store.pending() > 1 {
            assert!(store.step());
        }
    }
    store.step_all();
    store.set_automatic(true);
    for one in asked {
        one.await.unwrap().unwrap();
    }
    let row = row_of(store.as_ref(), 1).expect("a row, though it was never still");
    let (account, profile) = rest::parse(AccountNo(1), &row).unwrap();
    let full = reads::load_in_full(store.as_ref(), REALM, AccountNo(1)).unwrap();
    assert_eq!(profile.seq(), full.unwrap().account.profile_seq);
    assert_eq!(account.email.as_deref(), Some("someone@example.com"));
    assert!(account.sequence >= 128, "{}", account.sequence);
    same(store.as_ref(), 1);
    let (stand, cvu) = rest::stand_in(AccountNo(1), &row).unwrap();
    assert_eq!(Some(stand), Stand::of(&account));
    assert_eq!(Some(cvu), account.cvu);
    // format 2, which has no CVU; and the CVU of another account
    let (start, profile_and_cvu) = row.split_at(2 + usize::from(row[1]));
    let older = [&[2], &start[1..], &profile_and_cvu[22..]].concat();
    assert!(rest::stand_in(AccountNo(1), &older).is_none());
    let parsed = rest::parse(AccountNo(1), &older);
    assert_eq!(parsed, Some((account, profile)));
    let other = [start, b"0000184300000000000017", &profile_and_cvu[22..]].concat();
    assert!(rest::stand_in(AccountNo(1), &other).is_some());
    assert_eq!(rest::parse(AccountNo(1), &other), None);
}
