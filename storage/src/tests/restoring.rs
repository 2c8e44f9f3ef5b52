//! Stores restored from the records of others.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::conformance::{Words, commit, entry, stream};
use crate::files::Faults;
use crate::log::{Sealed, Tail};
use crate::tests::support::{History, Rng, open, segments};
use crate::{CommitNo, DurableStore, OpenError, Records, Restore, Store, StoreOptions};

/// A store with several segments, and its history.
fn made(path: &Path) -> (Arc<DurableStore>, History) {
    let store = DurableStore::open(path, StoreOptions::small(), Arc::new(Words)).unwrap();
    let (mut history, mut rng) = (History::default(), Rng(7));
    history.write(store.as_ref(), 3000, &mut rng);
    while store.check_step() {}
    (store, history)
}

fn is_unfinished(path: &Path) -> bool {
    path.join("RESTORE").is_file()
}

/// All records with their bytes as in the journal.
fn copied(records: &Records) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut take = |record: &Sealed<'_>| {
        all.push(record.bytes().to_vec());
        true
    };
    records.read(&records.beginning(), &mut take).unwrap();
    all
}

fn restored(path: &Path, from: &Records, options: &StoreOptions) -> Result<Tail, OpenError> {
    let history = Some(from.history());
    let mut restore = Restore::begin(path, options, from.log(), history)?;
    for bytes in copied(from) {
        restore.put(&Sealed::parse(&bytes).unwrap())?;
    }
    let tail = restore.tail();
    restore.finish()?;
    Ok(tail)
}

#[test]
fn a_restored_store_is_the_same_record_by_record_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (path, to) = (dir.path().join("a"), dir.path().join("b"));
    let (store, mut history) = made(&path);
    assert!(segments(&path).len() > 1, "several segments");
    let tail = restored(&to, &store.records(), &StoreOptions::small()).unwrap();
    assert_eq!(tail.commit, CommitNo(history.commits));
    let (all, id) = (copied(&store.records()), store.id());
    store.close().unwrap();
    let again = open(&to).unwrap();
    assert_eq!(again.id(), id);
    assert!(copied(&again.records()) == all, "byte by byte");
    history.check(again.as_ref());
    history.write(again.as_ref(), 300, &mut Rng(8));
    again.close().unwrap();
    drop(again);
    history.check(open(&to).unwrap().as_ref());
}

#[test]
fn a_place_is_found_by_its_hash_and_tells_what_is_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, history) = made(&dir.path().join("a"));
    let records = store.records();
    let beginning = records.beginning();
    assert_eq!(records.find(&beginning.tail()).unwrap(), Some(beginning));
    let (mut seen, mut at) = (0, beginning);
    while records.behind(&at) > 0 {
        let mut left = 500;
        let next = records.read(&at, &mut |record| {
            seen += record.commits();
            left -= 1;
            left > 0
        });
        let next = next.unwrap();
        assert!(records.between(&at, &next) > 0);
        assert_eq!(records.find(&next.tail()).unwrap(), Some(next));
        let other = Tail {
            hash: [0; 32],
            ..next.tail()
        };
        assert_eq!(records.find(&other).unwrap(), None);
        at = next;
    }
    assert_eq!(
        (u64::from(seen), at.tail().commit.0),
        (history.commits, history.commits)
    );
    let beyond = Tail {
        commit: CommitNo(history.commits + 1),
        hash: at.tail().hash,
    };
    assert_eq!(records.find(&beyond).unwrap(), None);
}

#[test]
fn a_history_of_its_own_is_another_store_on_the_same_chain() {
    let dir = tempfile::tempdir().unwrap();
    let (path, to) = (dir.path().join("a"), dir.path().join("b"));
    let (store, history) = made(&path);
    let records = store.records();
    let mut restore = Restore::begin(&to, &StoreOptions::small(), records.log(), None).unwrap();
    let all = copied(&records);
    for bytes in all.iter().take(100) {
        restore.put(&Sealed::parse(bytes).unwrap()).unwrap();
    }
    // the record after the next does not follow
    let gap = restore.put(&Sealed::parse(&all[101]).unwrap());
    assert!(matches!(gap, Err(OpenError::Corrupt(_))), "{gap:?}");
    restore.finish().unwrap();
    let again = open(&to).unwrap();
    assert_ne!(again.id(), store.id());
    assert_eq!(again.records().log(), records.log());
    assert_eq!(
        again
            .records()
            .history()
            .map(|b| format!("{b:02x}"))
            .concat(),
        again.id()
    );
    let mut went = History::default();
    for number in 1..=again
        .records()
        .read(&records.beginning(), &mut |_| true)
        .unwrap()
        .tail()
        .commit
        .0
    {
        let of = history.entries.iter().filter(|(it, _)| it.0 == number);
        let entries = of.map(|(_, entry)| entry.clone()).collect();
        went.took(CommitNo(number), commit(entries));
    }
    went.check(again.as_ref());
    went.write(again.as_ref(), 200, &mut Rng(9));
    assert_eq!(DurableStore::id_of(&to).unwrap(), Some(again.id()));
    again.close().unwrap();
    drop(again);
    went.check(open(&to).unwrap().as_ref());
}

#[test]
fn a_restore_that_was_cut_off_is_no_store_and_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (store, history) = made(&dir.path().join("a"));
    let records = store.records();
    let mut cut = 0;
    for nth in (1..).step_by(3) {
        let to = dir.path().join(format!("b{nth}"));
        let options = StoreOptions {
            faults: Some(Faults::at(nth, u64::MAX)),
            ..StoreOptions::small()
        };
        if restored(&to, &records, &options).is_ok() {
            break;
        }
        cut += 1;
        let begun = to.exists() && fs::read_dir(&to).unwrap().count() > 1;
        if DurableStore::id_of(&to).unwrap().is_some() {
            // it failed after it had its name: everything is there
            history.check(open(&to).unwrap().as_ref());
        } else {
            assert!(!begun || open(&to).is_err(), "{nth}: no store in its place");
            restored(&to, &records, &StoreOptions::small()).unwrap();
            history.check(open(&to).unwrap().as_ref());
        }
        fs::remove_dir_all(&to).unwrap();
    }
    assert!(cut > 5, "{cut}");
}

#[test]
fn a_folder_with_anything_in_it_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = made(&dir.path().join("a"));
    let records = store.records();
    for name in ["note.txt", "IDENTITY", "journal/0000000001.segment"] {
        let to = dir.path().join("b");
        fs::create_dir_all(to.join("journal")).unwrap();
        fs::write(to.join(name), "mine").unwrap();
        let refused = restored(&to, &records, &StoreOptions::small());
        assert!(
            matches!(refused, Err(OpenError::NotAStore(_))),
            "{refused:?}"
        );
        assert_eq!(fs::read_to_string(to.join(name)).unwrap(), "mine");
        fs::remove_dir_all(&to).unwrap();
    }
    let taken = restored(&dir.path().join("a"), &records, &StoreOptions::small());
    assert!(matches!(
        taken,
        Err(OpenError::NotAStore(_) | OpenError::Busy(_))
    ));
}

#[test]
fn a_restore_adds_a_commit_of_its_own_behind_what_was_put() {
    let dir = tempfile::tempdir().unwrap();
    let (path, to) = (dir.path().join("a"), dir.path().join("b"));
    let (store, mut history) = made(&path);
    let records = store.records();
    let mut restore = Restore::begin(&to, &StoreOptions::small(), records.log(), None).unwrap();
    assert!(is_unfinished(&to));
    for bytes in copied(&records) {
        restore.put(&Sealed::parse(&bytes).unwrap()).unwrap();
    }
    let own = commit(vec![entry(stream(0x0999), 1, b"+own=1")]);
    restore.say(&own).unwrap();
    restore.finish().unwrap();
    assert!(!is_unfinished(&to));
    history.took(CommitNo(history.commits + 1), own);
    let again = open(&to).unwrap();
    history.check(again.as_ref());
    history.write(again.as_ref(), 100, &mut Rng(5));
    history.check(again.as_ref());
}

#[test]
fn records_are_taken_up_to_an_end_and_as_long_as_they_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut history) = made(&dir.path().join("a"));
    let records = store.records();
    let (beginning, end) = (records.beginning(), records.end());
    let commits = history.commits;
    history.write(store.as_ref(), 10, &mut Rng(4));
    let all = records.take(&beginning, end, &mut |_| true).unwrap();
    assert_eq!(
        all.tail().commit,
        CommitNo(commits),
        "nothing behind the end"
    );
    let wanted = &mut |record: &Sealed<'_>| record.tail().commit.0 <= 1000;
    let some = records.take(&beginning, end, wanted).unwrap();
    assert!(some.tail().commit.0 <= 1000 && some.tail().commit.0 > 900);
    let none = records.take(&some, end, &mut |_| false).unwrap();
    assert_eq!(none, some);
}
