//! What a verification finds in an index and in a journal that say something wrong: all that is found where each row is
//! looked for by its key and each account is loaded, on one thread and on two.

use std::collections::BTreeSet;

use caudal_ledger::facts::LedgerFact;
use caudal_ledger::money::Money;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{
    CommitNo, Entry, Fact, Index, Pair, Projection as _, Row, SortOrder, Store as _,
};

use super::harness::{Harness, nap, outside};
use super::rules::{journal, rebuilt};
use super::*;
use crate::records::keys;
use crate::records::{LEDGER, decode, encode};
use crate::verify::Watch;

type Journal = Vec<(CommitNo, Entry)>;

/// Three accounts. One has sent to another one and to somebody outside, and has a hold; one is at rest as two rows.
async fn story() -> Arc<FaultyStore> {
    let harness = Harness::new(11, 3, 1_000, Arc::<TestBank>::default()).await;
    value(harness.give((1, 2), 70, "given").await);
    value(harness.hold(1, 30, "held", None).await);
    value(harness.send(1, outside(), 10, "sent").await);
    // So many that a block of the list of the realm is full.
    for n in 0..70 {
        value(harness.post(1, "IN", 5, &format!("more-{n}")).await);
    }
    nap().await;
    let target = Target::Account(AccountNo(3));
    assert!(harness.engine.passivate(REALM, target).await.unwrap());
    nap().await;
    harness.verified().await;
    copy(harness.store.as_ref())
}

/// A store of its own with the same entries and rows, which nobody writes to.
fn copy(store: &FaultyStore) -> Arc<FaultyStore> {
    let copy = rebuilt(&journal(store), Rows).unwrap();
    let mut rows = Vec::new();
    for number in (1..=3).map(AccountNo) {
        for key in [keys::snapshot(REALM, number), keys::stand(REALM, number)] {
            let value = store.get(&key).unwrap();
            rows.push(Row { key, value });
        }
    }
    assert!(rows.iter().any(|row| row.value.is_some()), "one is at rest");
    copy.note(rows);
    copy
}

/// What is found in a store, which is the same on one thread and on two.
fn found(store: &dyn Index) -> Result<Vec<String>, StoreError> {
    let (report, histories) = verify::store(store, &mut |_| {})?;
    let (alone, _) = verify::on_one_thread(store)?;
    assert_eq!(report, alone);
    assert_eq!(report.accounts, u64::try_from(histories.len()).unwrap());
    let stopped = verify::realm(store, (REALM, CommitNo(1)), &mut || false).unwrap();
    assert_eq!(stopped, None);
    Ok(report.differences)
}

/// What is found in a store that is made of a journal.
fn found_in(journal: &Journal) -> Vec<String> {
    found(rebuilt(journal, Rows).unwrap().as_ref()).unwrap()
}

fn names(wrong: &[String], what: &str) {
    assert!(
        wrong.iter().any(|it| it.contains(what)),
        "{what}: {wrong:?}"
    );
}

/// All rows, by the kind that their first byte says.
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
    let store = story().await;
    assert_eq!(found(store.as_ref()).unwrap(), Vec::<String>::new());
    let mut noticed = BTreeSet::new();
    for (kind, rows) in kinds(store.as_ref()) {
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
                    store.note(vec![Row { key, value }]);
                };
                put(wrong);
                let (quick, slow) = (found(store.as_ref()), verify::slowly(store.as_ref()));
                if !slow.as_ref().is_ok_and(Vec::is_empty) {
                    noticed.extend(keys::kind_of(kind));
                }
                match (quick, slow) {
                    (Ok(quick), Ok(slow)) => {
                        let missing = slow.iter().find(|it| !quick.contains(it));
                        assert_eq!(missing, None, "{what}: {quick:?}");
                    }
                    (Err(quick), Err(slow)) => {
                        assert_eq!(quick.to_string(), slow.to_string(), "{what}");
                    }
                    (quick, slow) => panic!("{what}: {quick:?}, and not {slow:?}"),
                }
                put(Some(right.clone()));
            }
        }
    }
    for kind in [
        "external ids",
        "a realm's own movements",
        "directory",
        "account sets",
        "accounts by text",
        "accounts by CUIT",
        "holds",
        "events",
        "sums and what waits",
        "marks and days",
    ] {
        assert!(noticed.contains(kind), "{kind}: {noticed:?}");
    }
    assert_eq!(found(store.as_ref()).unwrap(), Vec::<String>::new());
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

/// The journal with another voucher in the place of one.
fn changed(
    journal: &Journal,
    (account, sequence): (u64, u64),
    change: impl FnOnce(&mut Voucher),
) -> Journal {
    let mut journal = journal.clone();
    let at = place(&journal, account, sequence);
    let mut changed = voucher(&journal[at].1);
    change(&mut changed);
    journal[at].1.body = encode(&LedgerFact::Posted(changed)).unwrap();
    // The writer gave along what it said before.
    journal[at].1.fact = Fact::default();
    journal
}

#[actix::test]
async fn whatever_is_wrong_in_a_history_is_named() {
    let journal = journal(story().await.as_ref());
    assert_eq!(found_in(&journal), Vec::<String>::new());
    let balance = changed(&journal, (1, 3), |voucher| {
        let flipped = voucher.after.available.centavos() ^ 1;
        voucher.after.available = Money::from_centavos(flipped);
    });
    names(&found_in(&balance), "account 1: movement 3 says");
    let text = changed(&journal, (2, 1), |voucher| {
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

#[actix::test]
async fn a_store_that_was_watched_is_verified_alike_whatever_was_seen_of_it() {
    let store = story().await;
    let journal = journal(store.as_ref());
    let whole = verify::store(store.as_ref(), &mut |_| {}).unwrap();
    let seen = |entries: &[(CommitNo, Entry)]| {
        let watch = Watch::new();
        for (commit, entry) in entries {
            let mut entry = entry.clone();
            watch.recall(*commit, &mut entry);
        }
        watch.verified(store.as_ref(), &mut |_| {}).unwrap()
    };
    // A commit is seen whole or not at all.
    let behind = |commit| journal.partition_point(|(of, _)| *of <= commit);
    let (all, CommitNo(last)) = (journal.len(), store.applied());
    let (first, last) = (behind(CommitNo(1)), behind(CommitNo(last - 1)));
    for part in [0..0, 0..all, first..all, 0..last, all / 2..all] {
        assert_eq!(seen(&journal[part]), whole);
    }
    let twice = [journal.as_slice(), journal.as_slice()].concat();
    assert_eq!(seen(&twice), whole);
    // A row that is wrong is found whether the journal is read once more or not.
    let key = keys::directory_of(REALM, AccountNo(2));
    store.note(vec![Row { key, value: None }]);
    for part in [0..all, first..all] {
        let (report, _) = seen(&journal[part]);
        assert_eq!(
            report.differences,
            ["realm 1 account 2: the directory says otherwise"]
        );
    }
}
