//! Random operations compared with plain maps; a restart and a crash are operations like any other.

use std::sync::Arc;
use std::sync::mpsc::channel;

use proptest::prelude::*;

use super::support::{History, Rng};
use crate::conformance::Words;
use crate::{DurableStore, FaultyStore, SortOrder, Store, StoreOptions};

#[derive(Clone, Debug)]
enum Step {
    /// This many commits, one by one.
    Write(u8),
    /// This many commits at once.
    Burst(u8),
    /// Close and open again.
    Restart,
    /// Drop without closing, and open again.
    Crash,
    /// Compare everything.
    Check,
    /// Compare one scan.
    Scan(u8, u8, bool, u8),
    /// Compare one lookup by time.
    At(u8, u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1u8..30).prop_map(Step::Write),
        3 => (1u8..200).prop_map(Step::Burst),
        1 => Just(Step::Restart),
        1 => Just(Step::Crash),
        1 => Just(Step::Check),
        4 => any::<(u8, u8, bool, u8)>().prop_map(|(a, b, c, d)| Step::Scan(a, b, c, d)),
        3 => any::<(u8, u16)>().prop_map(|(a, b)| Step::At(a, b)),
    ]
}

fn burst(store: &dyn Store, history: &mut History, n: u8, rng: &mut Rng) {
    let (give, take) = channel();
    for _ in 0..n {
        let c = history.make(rng);
        let give = give.clone();
        store.submit(c.clone(), Box::new(move |r| give.send(r).unwrap()));
        let number = crate::CommitNo(history.commits + 1);
        history.took(number, c);
    }
    let first = history.commits - u64::from(n) + 1;
    for expected in first..=history.commits {
        assert_eq!(take.recv().unwrap().unwrap().0, expected);
    }
}

fn ask(store: &dyn Store, history: &History, step: &Step) {
    match step {
        Step::Scan(a, b, up, limit) => {
            let key = |n: &u8| format!("\x40w{n}").into_bytes();
            let (from, to) = (key(a), key(b));
            let order = if *up {
                SortOrder::Ascending
            } else {
                SortOrder::Descending
            };
            let mut rows: Vec<_> = history
                .rows()
                .into_iter()
                .filter(|(k, _)| *k >= from && *k < to)
                .collect();
            if !up {
                rows.reverse();
            }
            rows.truncate(usize::from(*limit));
            assert_eq!(
                store.scan(&from, &to, order, usize::from(*limit)).unwrap(),
                rows
            );
            if *up && *limit > 0 {
                let mut visited = Vec::new();
                let visit = &mut |key: &[u8], value: &[u8]| {
                    visited.push((key.to_vec(), value.to_vec()));
                    visited.len() < usize::from(*limit)
                };
                store.visit(&from, &to, visit).unwrap();
                assert_eq!(visited, rows);
            }
        }
        Step::At(n, at) => {
            let streams = history.streams.len().max(1);
            if let Some((id, entries)) = history.streams.iter().nth(usize::from(*n) % streams) {
                let at = u64::from(*at) % 400;
                let expected = entries.iter().rev().find(|e| e.at <= at).map(|e| e.seq);
                assert_eq!(store.seq_at(*id, at).unwrap(), expected);
            }
        }
        _ => {
            history.check(store);
            find_each(store, history);
        }
    }
}

/// Looks for all entries at once, and for the ones before and after them.
fn find_each(store: &dyn Store, history: &History) {
    let streams = history.streams.iter();
    let (wanted, expected): (Vec<_>, Vec<_>) = streams
        .flat_map(|(id, entries)| {
            let mut entries: Vec<_> = entries.iter().map(Some).collect();
            entries.insert(0, None);
            entries.push(None);
            let each = (0..).zip(entries);
            each.map(|(seq, entry)| ((*id, seq), entry.cloned()))
        })
        .unzip();
    let found = store.find(&wanted).unwrap().into_iter();
    let found = found.map(|place| {
        let place = place?;
        let entry = store.entry(place.position).unwrap();
        assert_eq!(entry.at, place.at);
        Some(entry)
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn durable_is_the_model(
        seed in any::<u64>(),
        table in prop_oneof![Just(500usize), Just(5_000), Just(60_000)],
        fan_in in 2usize..5,
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let base = tempfile::tempdir().unwrap();
        let options =
            StoreOptions { table_bytes: table, merge_fan_in: fan_in, ..StoreOptions::small() };
        let open = || {
            DurableStore::open(base.path(), options.clone(), Arc::new(Words)).unwrap()
        };
        let mut rng = Rng(seed);
        let mut history = History::default();
        let mut store = open();
        for step in &steps {
            match step {
                Step::Write(n) => history.write(store.as_ref(), u64::from(*n), &mut rng),
                Step::Burst(n) => burst(store.as_ref(), &mut history, *n, &mut rng),
                Step::Restart => {
                    store.close().unwrap();
                    drop(store);
                    store = open();
                }
                Step::Crash => {
                    drop(store);
                    store = open();
                }
                asked => ask(store.as_ref(), &history, asked),
            }
        }
        history.check(store.as_ref());
    }

    #[test]
    fn faulty_is_the_model_up_to_what_a_crash_lost(
        seed in any::<u64>(),
        steps in prop::collection::vec((0u8..5, 1u8..20), 1..30),
    ) {
        let mut rng = Rng(seed);
        let mut history = History::default();
        let mut store = FaultyStore::new(Arc::new(Words), seed);
        for (what, n) in steps {
            match what {
                0..=2 => {
                    store.set_automatic(true);
                    burst(store.as_ref(), &mut history, n, &mut rng);
                }
                3 => history.check(store.as_ref()),
                _ => {
                    store.set_automatic(false);
                    let mut waiting = Vec::new();
                    for _ in 0..n {
                        let c = history.make(&mut rng);
                        store.submit(c.clone(), Box::new(|_| {}));
                        let number = crate::CommitNo(history.commits + 1);
                        history.took(number, c.clone());
                        waiting.push(c);
                    }
                    store = store.crash_somewhere();
                    let kept = store.stats().last_commit;
                    forget(&mut history, kept);
                }
            }
        }
        history.check(store.as_ref());
    }
}

/// Takes back the entries that a crash lost.
fn forget(history: &mut History, kept: u64) {
    while let Some((number, e)) = history.entries.last().cloned() {
        if number.0 <= kept {
            break;
        }
        history.entries.pop();
        let stream = history.streams.get_mut(&e.stream).unwrap();
        stream.pop();
        if stream.is_empty() {
            history.streams.remove(&e.stream);
        }
    }
    history.commits = kept;
}
