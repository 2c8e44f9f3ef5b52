//! Large runs have files of their own, which are removed once nothing refers to the run.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::passing::loop_at;
use super::support::{History, Rng, open, open_apart, runs_apart as names, wait_until};
use crate::conformance::{commit, entry, stream, submit};
use crate::{DurableStore, OpenError, Store};

/// Each run has a file of its own.
fn apart(dir: &Path) -> Result<Arc<DurableStore>, OpenError> {
    open_apart(dir, 1)
}

#[test]
fn each_run_has_its_files_until_it_is_merged_away_and_all_is_read_as_before() {
    let base = tempfile::tempdir().unwrap();
    let (mut history, mut rng) = (History::default(), Rng(24));
    for round in 0..4 {
        let store = apart(base.path()).unwrap();
        let found = names(base.path());
        assert!(
            !found.contains("run-999999.blocks"),
            "round {round}: {found:?}"
        );
        history.check(store.as_ref());
        history.write(store.as_ref(), 500, &mut rng);
        wait_until("each run has its file and no other is left", || {
            let runs = usize::try_from(store.stats().index_runs).unwrap();
            runs > 0 && names(base.path()).len() == runs
        });
        history.check(store.as_ref());
        match round % 2 {
            0 => store.close().unwrap(),
            _ => drop(store),
        }
        // The remains of a run that was being written at a crash.
        fs::write(base.path().join("index/run-999999.blocks"), b"half").unwrap();
    }
    let store = open(base.path()).unwrap();
    history.check(store.as_ref());
    history.write(store.as_ref(), 900, &mut rng);
    history.check(store.as_ref());
    store.close().unwrap();
}

#[test]
fn a_run_whose_file_is_gone_or_broken_is_made_anew() {
    let base = tempfile::tempdir().unwrap();
    let (mut history, mut rng) = (History::default(), Rng(25));
    let cut = |run: &Path, length| {
        let file = fs::OpenOptions::new().write(true).open(run);
        file.unwrap().set_len(length).unwrap();
    };
    let spoil: [&dyn Fn(&Path); 4] = [
        &|run| fs::remove_file(run).unwrap(),
        &|run| cut(run, 0),
        &|run| cut(run, 100),
        &|run| cut(run, fs::metadata(run).unwrap().len().max(1) - 1),
    ];
    for (n, spoil) in spoil.into_iter().enumerate() {
        let store = apart(base.path()).unwrap();
        history.write(store.as_ref(), 400, &mut rng);
        store.close().unwrap();
        drop(store);
        // Some of them may not be referred to any more.
        for run in names(base.path()) {
            spoil(&base.path().join("index").join(run));
        }
        let store = apart(base.path()).unwrap();
        assert!(store.stats().index_rebuilt, "spoilt in way {n}");
        history.check(store.as_ref());
        store.close().unwrap();
    }
}

#[test]
fn a_run_whose_file_cannot_be_opened_now_is_kept() {
    let base = tempfile::tempdir().unwrap();
    let (mut history, mut rng) = (History::default(), Rng(26));
    let store = apart(base.path()).unwrap();
    history.write(store.as_ref(), 400, &mut rng);
    store.close().unwrap();
    drop(store);
    // All of them: the newest may be one that a merge had not finished, which nobody opens.
    let runs = names(base.path()).into_iter();
    let runs: Vec<_> = runs
        .map(|run| base.path().join("index").join(run))
        .collect();
    let aside = |n: usize| base.path().join(format!("aside-{n}"));
    for (n, run) in runs.iter().enumerate() {
        fs::rename(run, aside(n)).unwrap();
        loop_at(run);
    }
    for _ in 0..2 {
        let error = apart(base.path()).unwrap_err();
        assert!(
            matches!(error, OpenError::Io { .. }) && error.passes(),
            "{error}"
        );
    }
    for (n, run) in runs.iter().enumerate() {
        // such a one is gone by now
        if run.symlink_metadata().is_ok() {
            fs::remove_file(run).unwrap();
            fs::rename(aside(n), run).unwrap();
        }
    }
    let store = apart(base.path()).unwrap();
    assert!(!store.stats().index_rebuilt);
    history.check(store.as_ref());
}

/// A closed store with one run; only the values depend on the seed.
fn one_run(dir: &Path, seed: u64) -> History {
    let (mut history, mut rng) = (History::default(), Rng(seed));
    let store = apart(dir).unwrap();
    for seq in 1..=90 {
        let body = format!("+key{seq:03}={:016x}", rng.next());
        let made = commit(vec![entry(stream(1), seq, body.as_bytes())]);
        let number = submit(store.as_ref(), made.clone()).unwrap();
        history.took(number, made);
    }
    store.close().unwrap();
    history
}

#[test]
fn files_of_another_run_of_the_same_number_and_shape_are_not_believed() {
    let base = tempfile::tempdir().unwrap();
    let (one, other) = (base.path().join("one"), base.path().join("other"));
    let history = one_run(&one, 1);
    one_run(&other, 2);
    assert_eq!(names(&one).len(), 1);
    assert_eq!(names(&one), names(&other));
    for name in names(&one) {
        let its = other.join("index").join(&name);
        fs::copy(its, one.join("index").join(&name)).unwrap();
    }
    let store = apart(&one).unwrap();
    assert!(store.stats().index_rebuilt);
    history.check(store.as_ref());
}

#[test]
fn a_foreign_file_with_the_name_of_a_run_hides_no_run_in_sled() {
    let base = tempfile::tempdir().unwrap();
    let (mut history, mut rng) = (History::default(), Rng(27));
    let open = || apart(base.path()).unwrap();
    let in_the_way = || {
        let index = base.path().join("index");
        (1..200).map(move |run| index.join(format!("run-{run}.blocks")))
    };
    let store = open();
    // No file can be created under these names.
    in_the_way().for_each(|path| fs::write(path, b"").unwrap());
    history.write(store.as_ref(), 400, &mut rng);
    history.check(store.as_ref());
    store.close().unwrap();
    drop(store);
    let ways: [fn(&Path); 2] = [
        |path| fs::write(path, b"").unwrap(),
        |path| fs::create_dir(path).unwrap(),
    ];
    for way in ways {
        in_the_way().for_each(|path| drop(fs::remove_file(path)));
        in_the_way().for_each(|path| way(&path));
        let store = open();
        assert!(!store.stats().index_rebuilt);
        assert!(store.stats().index_runs > 0);
        history.check(store.as_ref());
        wait_until("what lay there is removed", || {
            names(base.path()).len() <= usize::try_from(store.stats().index_runs).unwrap()
        });
        store.close().unwrap();
    }
}
