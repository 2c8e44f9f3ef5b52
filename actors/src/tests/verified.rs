//! The findings of a verification in a wrong index and a wrong journal: the same as when each row is looked up by its
//! key and each account is loaded, on one thread and on two.

use std::collections::BTreeSet;
use std::path::Path;

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Direction;
use caudal_ledger::facts::LedgerFact;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{
    Commit, CommitNo, Differing, Done, DurableStore, Entry, EntryPlace, Fact, Head, Index,
    IndexWriter, Pair, Position, Projection, Row, SortOrder, StoreOptions, StreamId,
};

use super::harness::{Harness, nap, outside};
use super::rules::{journal, rebuilt};
use super::*;
use crate::records::keys::{self, Sorted};
use crate::records::projection::VoucherPlace;
use crate::records::rest::{self, Profile, Stand};
use crate::records::{LEDGER, decode, encode, reads};

type Journal = Vec<(CommitNo, Entry)>;

/// Three accounts. One has sent to another one and to another bank, and has a hold; one is at rest.
async fn story() -> Arc<FaultyStore> {
    let harness = Harness::new(11, 3, 1_000, Arc::<TestBank>::default()).await;
    value(harness.give((1, 2), 70, "given").await);
    value(harness.hold(1, 30, "held", None).await);
    value(harness.send(1, outside(), 10, "sent").await);
    // Enough to fill a block of the realm's list.
    for n in 0..70 {
        value(harness.post(1, "IN", 5, &format!("more-{n}")).await);
    }
    nap().await;
    let target = Target::Account(AccountNo(3));
    assert!(
        harness
            .engine
            .operators()
            .passivate(REALM, target)
            .await
            .unwrap()
    );
    nap().await;
    harness.verified().await;
    copy(harness.store.as_ref())
}

/// A store of its own with the same entries and rows, which nobody writes to.
fn copy(store: &FaultyStore) -> Arc<FaultyStore> {
    let copy = rebuilt(&journal(store), ServiceProjection).unwrap();
    copy.note(vec![at_rest(store)]);
    copy
}

/// The row that the third account has left.
fn at_rest(store: &dyn Index) -> Row {
    let key = keys::rest(REALM, AccountNo(3));
    let value = store.get(&key).unwrap();
    assert!(value.is_some(), "it is at rest");
    Row { key, value }
}

/// The same on a disk, in runs, whose filters are used for each row.
fn on_disk(store: &FaultyStore, path: &Path) -> Arc<DurableStore> {
    let open =
        || DurableStore::open(path, StoreOptions::small(), Arc::new(ServiceProjection)).unwrap();
    let made = open();
    for commit in journal(store).chunk_by(|(one, _), (other, _)| one == other) {
        let entries = commit.iter().map(|(_, entry)| entry.clone()).collect();
        let commit = Commit {
            entries,
            ..Commit::default()
        };
        let done = |done| made.submit(commit, done);
        came(done);
    }
    put(made.as_ref(), at_rest(store));
    made.close().unwrap();
    drop(made);
    open()
}

/// Waits until the store has answered.
fn came(ask: impl FnOnce(Done)) {
    let (sender, done) = std::sync::mpsc::channel();
    ask(Box::new(move |done| sender.send(done).unwrap()));
    done.recv().unwrap().unwrap();
}

/// Writes a row as it is, or deletes it.
fn put(store: &dyn Store, row: Row) {
    store.note(vec![row]);
    came(|done| store.barrier(done));
}

/// The findings in a store, which are the same on one thread and on two.
fn found(store: &dyn Index) -> Result<Vec<String>, StoreError> {
    let (report, histories) = verify::store(store, &mut |_| {})?;
    let (alone, _) = verify::on_one_thread(store)?;
    assert_eq!(report, alone);
    assert_eq!(report.accounts, u64::try_from(histories.len()).unwrap());
    Ok(report.differences)
}

/// The findings in a store that is built from a journal.
fn found_in(journal: &Journal) -> Vec<String> {
    found(rebuilt(journal, ServiceProjection).unwrap().as_ref()).unwrap()
}

fn names(wrong: &[String], what: &str) {
    assert!(
        wrong.iter().any(|it| it.contains(what)),
        "{what}: {wrong:?}"
    );
}

/// All rows, by the kind in their first byte.
fn kinds(store: &dyn Index) -> BTreeMap<u8, Vec<Pair>> {
    let mut kinds = BTreeMap::<u8, Vec<_>>::new();
    let all = store.scan(&[2], &[0xff; 8], SortOrder::Ascending, 1_000_000);
    for (key, row) in all.unwrap() {
        kinds.entry(key[0]).or_default().push((key, row));
    }
    kinds
}

#[actix::test]
async fn whatever_row_is_wrong_is_found_as_when_all_are_looked_for() {
    damaged_row_by_row(story().await.as_ref());
}

#[actix::test]
async fn whatever_row_on_a_disk_is_wrong_is_found_as_when_all_are_looked_for() {
    let dir = tempfile::tempdir().unwrap();
    damaged_row_by_row(on_disk(story().await.as_ref(), dir.path()).as_ref());
}

fn damaged_row_by_row(store: &dyn Store) {
    assert_eq!(found(store).unwrap(), Vec::<String>::new());
    let mut noticed = BTreeSet::new();
    for (kind, rows) in kinds(store) {
        let some = [0, rows.len() / 2, rows.len() - 1];
        for (key, right) in some.map(|nth| rows[nth].clone()) {
            let mut other = right.clone();
            match other.last_mut() {
                Some(last) => *last ^= 1,
                None => other.push(1),
            }
            for wrong in [None, Some(other)] {
                let what = format!("{:02x?} is {wrong:02x?}", &key);
                let put = |value| {
                    let key = key.clone();
                    put(store, Row { key, value });
                };
                put(wrong);
                let (quick, slow) = (found(store), verify::slowly(store));
                if !slow.as_ref().is_ok_and(Vec::is_empty) {
                    noticed.insert(kind);
                }
                match (quick, slow) {
                    (Ok(quick), Ok(slow)) => {
                        let missing = slow.iter().find(|it| !quick.contains(it));
                        assert_eq!(missing, None, "{what}: {quick:?}");
                    }
                    (Err(quick), Err(slow)) => {
                        assert_eq!(quick.to_string(), slow.to_string(), "{what}");
                    }
                    // The other findings are reported with it.
                    (Ok(quick), Err(slow)) => names(&quick, &slow.to_string()),
                    (quick, slow) => panic!("{what}: {quick:?}, and not {slow:?}"),
                }
                put(Some(right.clone()));
            }
        }
    }
    for (name, kinds) in [
        ("external ids", &[0x13][..]),
        ("a realm's own movements", &[0x15, 0x16, 0x4e]),
        ("directory", &[0x17]),
        ("account sets", &[0x32]),
        ("accounts by text", &[0x33]),
        ("accounts by CUIT", &[0x30]),
        ("holds", &[0x1b, 0x1c, 0x1d, 0x4f, 0x50]),
        ("events", &[0x34]),
        ("sums and what waits", &[0x18, 0x28, 0x31, 0x41, 0x52]),
        ("marks and days", &[0x42, 0x43, 0x4b]),
    ] {
        let seen = kinds.iter().any(|kind| noticed.contains(kind));
        assert!(seen, "{name}: {noticed:02x?}");
    }
    assert_eq!(found(store).unwrap(), Vec::<String>::new());
}

/// [`ServiceProjection`] of a program that accepts any row at rest.
struct Trusting;

impl Projection for Trusting {
    fn version(&self) -> u32 {
        ServiceProjection.version()
    }

    fn single(&self) -> &[u8] {
        ServiceProjection.single()
    }

    fn rest_key(&self, stream: StreamId) -> Option<Vec<u8>> {
        ServiceProjection.rest_key(stream)
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        ServiceProjection.project(entry, position, index)
    }

    fn knows(&self, entry: &Entry) -> Result<(), StoreError> {
        ServiceProjection.knows(entry)
    }
}

/// The findings about the third account, which is not one of those that are compared with their streams, when nobody
/// writes and when somebody may.
fn found_of_the_third(store: &dyn Index) -> Vec<String> {
    let wrong = found(store).unwrap();
    assert_eq!(wrong, verify::while_written(store).unwrap().differences);
    wrong
}

#[actix::test]
async fn a_row_at_rest_that_is_ahead_or_of_another_time_or_profile_is_found() {
    let served = story().await;
    let store = rebuilt(&journal(served.as_ref()), Trusting).unwrap();
    let number = AccountNo(3);
    let leave = |change: &dyn Fn(&mut Account)| {
        let loaded = reads::load_in_full(store.as_ref(), REALM, number);
        let mut account = loaded.unwrap().unwrap().account;
        change(&mut account);
        let profile = Profile::of(&account).unwrap();
        let value = rest::row(number, &Stand::of(&account).unwrap(), &profile).unwrap();
        let key = keys::rest(REALM, number);
        let value = Some(value);
        put(store.as_ref(), Row { key, value });
        found_of_the_third(store.as_ref())
    };
    assert_eq!(leave(&|_| {}), Vec::<String>::new());
    let index = "realm 1 account 3: the index disagrees with the journal";
    let ahead = leave(&|account| account.sequence += 2);
    names(&ahead, index);
    let later = leave(&|account| {
        let at = account.last_movement_at.unwrap();
        account.last_movement_at = Some(Timestamp::from_millis(at.millis() + 1));
    });
    assert_eq!(later, [index]);
    let other = leave(&|account| account.phone = Some("of nobody".into()));
    assert_eq!(
        other,
        ["realm 1 account 3: what it left at rest is not what its profile and movements say"]
    );
    assert_eq!(leave(&|_| {}), Vec::<String>::new());
}

#[actix::test]
async fn a_row_that_no_entry_made_is_told_where_nobody_writes() {
    let store = story().await;
    let movement = VoucherPlace {
        account: AccountNo(1),
        sequence: 2,
    };
    let id = ExternalId::parse("of-nobody").unwrap();
    let number = AccountNo(2);
    let by = Sorted::ALL[0];
    let rows = [
        (
            keys::external(REALM, Direction::Credit, &id),
            movement.to_bytes().to_vec(),
        ),
        (keys::sorted_of(REALM, by, b"of nobody", number), Vec::new()),
    ];
    for (key, value) in rows {
        let row = |value| Row {
            key: key.clone(),
            value,
        };
        put(store.as_ref(), row(Some(value)));
        assert_eq!(
            found(store.as_ref()).unwrap(),
            ["realm 1: the index has rows that no entry made"],
            "{key:02x?}"
        );
        assert_eq!(verify::while_written(store.as_ref()).unwrap().count, 0);
        put(store.as_ref(), row(None));
    }
}

#[actix::test]
async fn an_unreadable_item_does_not_hide_the_others() {
    let store = story().await;
    let broken = Row {
        key: keys::directory_of(REALM, AccountNo(2)),
        value: Some(vec![0xc1]),
    };
    put(store.as_ref(), broken);
    let why = found(store.as_ref()).unwrap_err().to_string();
    let id = ExternalId::parse("more-1").unwrap();
    for direction in [Direction::Credit, Direction::Debit] {
        let key = keys::external(REALM, direction, &id);
        put(store.as_ref(), Row { key, value: None });
    }
    let wrong = found(store.as_ref()).unwrap();
    names(&wrong, "is not found by its external id");
    names(&wrong, &format!("not all could be compared: {why}"));
}

fn voucher(entry: &Entry) -> Voucher {
    let LedgerFact::Posted(voucher) = decode(&entry.body).unwrap();
    voucher
}

/// The place in a journal of the movement `sequence` of an account.
fn place(journal: &Journal, account: u64, sequence: u64) -> usize {
    let is = |(_, entry): &(CommitNo, Entry)| {
        (entry.stream.kind, entry.stream.number, entry.seq) == (LEDGER, account, sequence)
    };
    journal.iter().position(is).unwrap()
}

/// The journal with one voucher replaced.
fn changed(
    journal: &Journal,
    account: u64,
    sequence: u64,
    change: impl FnOnce(&mut Voucher),
) -> Journal {
    let mut journal = journal.clone();
    let at = place(&journal, account, sequence);
    let mut changed = voucher(&journal[at].1);
    change(&mut changed);
    journal[at].1.body = encode(&LedgerFact::Posted(changed)).unwrap();
    // The writer had given the old voucher along.
    journal[at].1.fact = Fact::default();
    journal
}

#[actix::test]
async fn whatever_is_wrong_in_a_history_is_named() {
    let journal = journal(story().await.as_ref());
    assert_eq!(found_in(&journal), Vec::<String>::new());
    let balance = changed(&journal, 1, 3, |voucher| {
        let flipped = voucher.after.available.centavos() ^ 1;
        voucher.after.available = Money::from_centavos(flipped);
    });
    names(&found_in(&balance), "account 1: movement 3 says");
    let text = changed(&journal, 2, 1, |voucher| {
        voucher.description = Some("another".into());
    });
    names(
        &found_in(&text),
        "account 2: movement 1 breaks the hash chain",
    );
    let mut gap = journal.clone();
    gap.remove(place(&journal, 1, 4));
    for (_, entry) in &mut gap {
        if (entry.stream.kind, entry.stream.number) == (LEDGER, 1) && entry.seq > 4 {
            entry.seq -= 1;
        }
    }
    names(&found_in(&gap), "account 1: movement 5 follows movement 3");
}

/// A store whose rows already show its last commit, while it does not tell so yet.
#[derive(Debug)]
struct Untold(Arc<FaultyStore>);

impl Index for Untold {
    fn applied(&self) -> CommitNo {
        CommitNo(self.0.applied().0 - 1)
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.0.head(stream)
    }

    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.0.read(stream, from, to, order, limit)
    }

    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.0.seq_at(stream, at)
    }

    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.0.entry(position)
    }

    fn find(&self, entries: &[(StreamId, u64)]) -> Result<Vec<Option<EntryPlace>>, StoreError> {
        self.0.find(entries)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.get(key)
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.0.scan(from, to, order, limit)
    }

    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.0.replay(from, visit)
    }

    fn streams_differ(
        &self,
        commits: (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        self.0.streams_differ(commits, realm, step)
    }
}

#[actix::test]
async fn sums_that_have_a_commit_before_it_is_told_are_no_difference() {
    let harness = Harness::new(11, 2, 1_000, Arc::<TestBank>::default()).await;
    value(harness.give((1, 2), 70, "given").await);
    let untold = Untold(Arc::clone(&harness.store));
    let (report, _) = verify::on_one_thread(&untold).unwrap();
    assert_eq!(report.commit, untold.applied().0);
    let sums = |it: &&String| it.ends_with("of the journal") && !it.contains("account");
    assert_eq!(report.differences.iter().find(sums), None);
}
