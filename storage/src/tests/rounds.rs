//! The background check finds damage in parts that a start no longer reads, and continues where it
//! was.

use std::fs;
use std::time::Duration;

use super::checkpoint::{
    SEGMENT, as_if_rotten, filled, flip, name, open, open_with, options, record, round,
};
use super::support::{APART, Rng, contents, segments, wait_until};
use crate::conformance::{commit, entry, stream, submit};
use crate::journal::format::Record;
use crate::{Store, StoreError, StoreOptions};

#[test]
fn the_check_finds_a_flipped_bit_names_it_and_changes_nothing() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    let history = filled(dir, 500);
    let segment = segments(dir)[2].clone();
    let at = record(&segment, 3);
    flip(&segment, at + 90);
    as_if_rotten(dir, 3);
    let rotten = fs::read(&segment).unwrap();
    let store = open(dir);
    assert!(store.checks().opening_journal_bytes <= 3 * SEGMENT);
    store.ready().unwrap();
    let next = history.streams.get(&stream(77)).map_or(0, Vec::len) as u64 + 1;
    submit(store.as_ref(), commit(vec![entry(stream(77), next, b"")])).unwrap();
    round(&store);
    let checks = store.checks();
    assert_eq!((checks.found, checks.findings.len()), (1, 1), "{checks:?}");
    let finding = &checks.findings[0];
    assert_eq!(
        (&finding.place, finding.offset),
        (&name(&segment), Some(at as u64))
    );
    for refused in [
        store.ready(),
        submit(
            store.as_ref(),
            commit(vec![entry(stream(77), next + 1, b"")]),
        )
        .map(drop),
    ] {
        let Err(StoreError::Corrupt(why)) = refused else {
            panic!("{refused:?}");
        };
        let place = format!("{} at offset {at}", name(&segment));
        assert!(why.contains(&place), "{why}");
    }
    // the damage is found once
    round(&store);
    assert_eq!(store.checks().found, 1);
    store.close().unwrap();
    drop(store);
    assert!(fs::read(&segment).unwrap() == rotten, "it was changed");
    let error = open_with(dir, options()).unwrap_err().to_string();
    assert!(
        error.contains(&format!("{} at offset {at}", name(&segment))),
        "{error}"
    );
    flip(&segment, at + 90);
    assert_eq!(open(dir).stats().last_commit, 501);
}

#[test]
fn damage_that_a_read_meets_is_looked_at_at_once_and_told_like_any_other() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    let history = filled(dir, 500);
    let segment = segments(dir)[2].clone();
    let at = record(&segment, 3);
    flip(&segment, at + 90);
    as_if_rotten(dir, 3);
    // the background check does not read on its own
    let store = open(dir);
    store.ready().unwrap();
    let read = || history.read_all(store.as_ref());
    assert!(matches!(read(), Err(StoreError::Corrupt(_))));
    wait_until("the segment is read", || store.checks().found > 0);
    assert!(matches!(read(), Err(StoreError::Corrupt(_))));
    round(&store);
    let checks = store.checks();
    let [finding] = &checks.findings[..] else {
        panic!("{checks:?}");
    };
    assert_eq!(
        (&finding.place, finding.offset),
        (&name(&segment), Some(at as u64))
    );
    let place = format!("{} at offset {at}", name(&segment));
    let refused = store.ready();
    assert!(
        matches!(&refused, Err(StoreError::Corrupt(why)) if why.contains(&place)),
        "{refused:?}"
    );
    store.close().unwrap();
    drop(store);
    let error = open_with(dir, options()).unwrap_err().to_string();
    assert!(error.contains(&place), "{error}");
}

#[test]
fn the_check_finds_whatever_is_wrong_with_a_full_segment() {
    type Harm = fn(&mut Vec<u8>) -> usize;
    fn place(data: &[u8], nth: usize) -> usize {
        (0..nth).fold(4096, |at, _| {
            at + Record::parse(&data[at..]).unwrap().bytes.len()
        })
    }
    let harms: [(&str, Harm); 6] = [
        ("its header", |d| {
            d[20] ^= 1;
            0
        }),
        ("the first record", |d| {
            d[4100] ^= 1;
            4096
        }),
        ("a record emptied", |d| {
            let (from, to) = (place(d, 4), place(d, 5));
            d[from..to].fill(0);
            from
        }),
        ("a record twice", |d| {
            let (a, b) = (place(d, 4), place(d, 5));
            let copy = d[a..b].to_vec();
            let length = copy.len().min(d.len() - b);
            d[b..b + length].copy_from_slice(&copy[..length]);
            b
        }),
        ("noise behind the last record", |d| {
            let last = d.len() - 1;
            d[last] = 5;
            last
        }),
        ("cut", |d| {
            d.truncate(30_000);
            0
        }),
    ];
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    filled(dir, 700);
    let store = open(dir);
    for (n, (what, harm)) in harms.into_iter().enumerate() {
        let segment = &segments(dir)[n];
        let mut data = fs::read(segment).unwrap();
        let at = harm(&mut data) as u64;
        fs::write(segment, data).unwrap();
        round(&store);
        let checks = store.checks();
        assert_eq!(checks.found, n as u64 + 1, "{what}: {checks:?}");
        let last = checks.findings.last().unwrap();
        assert_eq!(
            (&last.place, last.offset),
            (&name(segment), Some(at)),
            "{what}: {last:?}"
        );
    }
}

#[test]
fn a_flipped_bit_in_the_index_is_found_by_a_read_the_check_or_the_start() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    let mut history = filled(dir, 500);
    let (mut found, mut rebuilt, mut harmless) = (0, 0, 0);
    let mut rng = Rng(3);
    let open = |n: usize| {
        let options = StoreOptions {
            file_keys: APART[n / 15 % 2],
            ..options()
        };
        open_with(dir, options).unwrap()
    };
    for n in 0..30 {
        let mut all: Vec<_> = contents(&dir.join("index")).into_iter().collect();
        all.retain(|(file, data)| file.ends_with("db") && data.iter().any(|b| *b != 0));
        let (db, data) = all.swap_remove(rng.below(all.len() as u64) as usize);
        let used = data.iter().rposition(|b| *b != 0).unwrap() as u64;
        let at = rng.below(used) as usize;
        flip(&db, at);
        let store = open(n);
        round(&store);
        // if sled looks for a key in the wrong place, a read by key finds the damage and no scan
        // does
        let checked = store.ready();
        let by_check = checked.is_err();
        if let Err(why) = checked.and_then(|()| history.read_all(store.as_ref())) {
            // a merge may find the damage before the check does, which ends the store as ever
            match why {
                StoreError::Corrupt(_) => {
                    let places = store.checks().findings;
                    let named = places.first().map(|it| it.place.as_str());
                    assert_eq!(named, by_check.then_some("index"), "flip {n}");
                    assert!(store.ready().is_err(), "flip {n}");
                }
                why => assert!(matches!(why, StoreError::Poisoned(_)), "{why}"),
            }
            drop(store);
            let store = open(n);
            assert!(store.stats().index_rebuilt, "flip {n}");
            history.check(store.as_ref());
            store.close().unwrap();
            found += 1;
            continue;
        }
        history.check(store.as_ref());
        if store.stats().index_rebuilt {
            rebuilt += 1;
        } else {
            harmless += 1;
        }
        history.write(store.as_ref(), 5, &mut rng);
        store.close().unwrap();
    }
    println!("{found} found by the check, {rebuilt} at the start, {harmless} harmless");
    assert!(found + rebuilt > 0);
}

#[test]
fn a_round_goes_on_after_a_restart_and_what_it_read_is_not_read_again() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    filled(dir, 800);
    let daily = StoreOptions {
        check_every: Duration::from_secs(86_400),
        ..options()
    };
    let open = || open_with(dir, daily.clone()).unwrap();
    let store = open();
    let total = store.checks().total_bytes;
    assert!(total > 6 * SEGMENT);
    for _ in 0..6 {
        assert!(store.check_step());
    }
    let half = store.checks();
    assert!(half.done_bytes > 0 && half.done_bytes < total, "{half:?}");
    drop(store);
    let store = open();
    let now = store.checks();
    assert_eq!((now.round, now.rounds), (1, 0));
    // a segment that was not read to its end is restarted
    assert!(
        now.done_bytes + SEGMENT >= half.done_bytes,
        "{half:?}, {now:?}"
    );
    round(&store);
    let done = store.checks();
    assert_eq!((done.round, done.rounds, done.found), (1, 1, 0));
    assert_eq!(done.done_bytes, done.total_bytes);
    assert!(done.ended_at > 0);
    store.close().unwrap();
    drop(store);
    let store = open();
    let rested = store.checks();
    assert_eq!((rested.rounds, rested.ended_at), (1, done.ended_at));
    assert!(!store.check_step(), "nothing is due for a day");
    assert_eq!(store.checks().rounds, 1);
}
