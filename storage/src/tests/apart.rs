//! Large runs have files of their own, which are gone once nothing refers to the run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::support::{History, Rng, open, wait_until};
use crate::conformance::Words;
use crate::{DurableStore, OpenError, Store, StoreOptions};

/// Each run has files of its own.
fn apart(dir: &Path) -> Result<Arc<DurableStore>, OpenError> {
    let options = StoreOptions {
        apart_keys: 1,
        ..StoreOptions::small()
    };
    DurableStore::open(dir, options, Arc::new(Words))
}

fn folders(dir: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dir.join("index")).unwrap();
    let names = names.map(|item| item.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("run-")).collect()
}

#[test]
fn each_run_has_its_files_until_it_is_merged_away_and_all_is_read_as_before() {
    let base = tempfile::tempdir().unwrap();
    let (mut history, mut rng) = (History::default(), Rng(24));
    for round in 0..4 {
        let store = apart(base.path()).unwrap();
        let found = folders(base.path());
        assert!(!found.contains("run-999999"), "round {round}: {found:?}");
        history.check(store.as_ref());
        history.write(store.as_ref(), 500, &mut rng);
        wait_until("each run has its folder and no other is left", || {
            let runs = usize::try_from(store.stats().index_runs).unwrap();
            runs > 0 && folders(base.path()).len() == runs
        });
        history.check(store.as_ref());
        match round % 2 {
            0 => store.close().unwrap(),
            _ => drop(store),
        }
        // What a crash leaves of a run that was being written.
        fs::create_dir(base.path().join("index/run-999999")).unwrap();
        fs::write(base.path().join("index/run-999999/db"), b"half").unwrap();
    }
    let store = open(base.path()).unwrap();
    history.check(store.as_ref());
    history.write(store.as_ref(), 900, &mut rng);
    history.check(store.as_ref());
    store.close().unwrap();
}

#[test]
fn a_run_whose_files_are_gone_or_broken_is_made_anew() {
    let base = tempfile::tempdir().unwrap();
    let (mut history, mut rng) = (History::default(), Rng(25));
    let spoil: [fn(&Path); 3] = [
        |run| fs::remove_dir_all(run).unwrap(),
        |run| fs::remove_file(run.join("db")).unwrap(),
        |run| {
            let db = fs::OpenOptions::new().write(true).open(run.join("db"));
            db.unwrap().set_len(100).unwrap();
        },
    ];
    for (n, spoil) in spoil.into_iter().enumerate() {
        let store = apart(base.path()).unwrap();
        history.write(store.as_ref(), 400, &mut rng);
        store.close().unwrap();
        drop(store);
        // Of some of them nothing may know any more.
        for run in folders(base.path()) {
            spoil(&base.path().join("index").join(run));
        }
        let store = apart(base.path()).unwrap();
        assert!(store.stats().index_rebuilt, "spoilt in way {n}");
        history.check(store.as_ref());
        store.close().unwrap();
    }
}
