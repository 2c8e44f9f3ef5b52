//! kill -9 of a child process in a loop: everything that it reported as acknowledged must be there.
//!
//! `CAUDAL_KILLS` sets how often (default 8).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::support::{APART, Rng, runs_apart};
use crate::conformance::{Words, commit, entry, stream};
use crate::{DurableStore, Index, SortOrder, Store as _, StoreOptions};

const CHILD: &str = "CAUDAL_KILL_CHILD";
const KEYS: &str = "CAUDAL_KILL_CHILD_APART";

/// A run has files of its own from `file_keys` keys on.
fn options(file_keys: u64) -> StoreOptions {
    StoreOptions {
        file_keys,
        segment_bytes: 64 << 10,
        table_bytes: 20_000,
        check_bytes_per_second: 1 << 30,
        check_every: Duration::from_secs(86_400),
        ..StoreOptions::small()
    }
}

/// The work of the child until it is killed; it is the same test, started with [`CHILD`].
fn child(path: &str) {
    let keys = std::env::var(KEYS).unwrap().parse().unwrap();
    let store = DurableStore::open(path, options(keys), Arc::new(Words)).unwrap();
    let (give, take) = channel::<(u64, u64)>();
    for lane in 0..32u64 {
        let (store, give) = (Arc::clone(&store), give.clone());
        let mut seq = store.head(stream(lane)).unwrap().map_or(0, |h| h.seq);
        std::thread::spawn(move || {
            loop {
                seq += 1;
                let body = format!("+w{}={lane}.{seq}", seq % 97);
                let c = commit(vec![
                    entry(stream(lane), seq, body.as_bytes()),
                    entry(stream(lane + 100), seq, b"twin"),
                ]);
                crate::conformance::submit(store.as_ref(), c).unwrap();
                give.send((lane, seq)).unwrap();
            }
        });
    }
    let mut out = std::io::stderr().lock();
    for (lane, seq) in take {
        writeln!(out, "ack {lane} {seq}").unwrap();
    }
}

/// When a child is killed.
enum Moment {
    /// Once it has reported this many acknowledgements.
    After(u64),
    /// So early that it may still be opening the store.
    Early(Duration),
}

fn round(path: &Path, moment: &Moment, file_keys: u64, acked: &mut [u64; 32]) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "tests::kill::nothing_acknowledged_is_lost",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, path)
        .env(KEYS, file_keys.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut lines = lines
        .map_while(Result::ok)
        .filter(|l| l.starts_with("ack "));
    let mut read = Vec::new();
    match moment {
        Moment::After(count) => read.extend((0..*count).map_while(|_| lines.next())),
        Moment::Early(time) => std::thread::sleep(*time),
    }
    child.kill().unwrap();
    child.wait().unwrap();
    read.extend(lines);
    let lines = read;
    for line in &lines {
        // the last line may be cut by the kill
        let mut words = line.split(' ').skip(1).map(str::parse::<u64>);
        if let (Some(Ok(lane)), Some(Ok(seq))) = (words.next(), words.next()) {
            let known = &mut acked[lane as usize];
            *known = (*known).max(if line.len() > 6 { seq } else { 0 });
        }
    }
    lines.len() as u64
}

/// The store has everything that was acknowledged, and only whole commits.
fn all_there(store: &DurableStore, acked: &[u64; 32]) {
    for (lane, seq) in (0u64..).zip(*acked) {
        let head = store.head(stream(lane)).unwrap().map_or(0, |h| h.seq);
        let twin = store.head(stream(lane + 100)).unwrap().map_or(0, |h| h.seq);
        assert!(
            head >= seq,
            "lane {lane}: {seq} was acknowledged, {head} is there"
        );
        assert_eq!(head, twin, "half a commit");
        let read = store
            .read(stream(lane), 1, head, SortOrder::Ascending, usize::MAX)
            .unwrap();
        assert!(read.iter().zip(1u64..).all(|(e, n)| e.seq == n));
        assert_eq!(read.len() as u64, head);
    }
}

#[test]
fn nothing_acknowledged_is_lost() {
    if let Ok(path) = std::env::var(CHILD) {
        return child(&path);
    }
    let base = tempfile::tempdir().unwrap();
    let kills: u64 = std::env::var("CAUDAL_KILLS").map_or(8, |v| v.parse().unwrap());
    let mut rng = Rng(std::process::id().into());
    let mut acked = [0; 32];
    let (mut total, mut apart) = (0, 0);
    for n in 0..kills {
        let moment = match n % 4 {
            3 => Moment::Early(Duration::from_millis(rng.below(100))),
            _ => Moment::After(1 + rng.below(400)),
        };
        // Each kind of moment, with each of these.
        let file_keys = APART[usize::from(n / 4 % 2 == 1)];
        total += round(base.path(), &moment, file_keys, &mut acked);
        apart += usize::from(!runs_apart(base.path()).is_empty());
        let options = options(file_keys);
        let store = DurableStore::open(base.path(), options, Arc::new(Words)).unwrap();
        all_there(&store, &acked);
    }
    // the work that the kills interrupted is completed in the end
    let open = || DurableStore::open(base.path(), options(1), Arc::new(Words)).unwrap();
    let store = open();
    for n in 0..40 {
        let more = (1..=16).map(|seq| entry(stream(500), n * 16 + seq, &[7; 600]));
        crate::conformance::submit(store.as_ref(), commit(more.collect())).unwrap();
    }
    store.close().unwrap();
    drop(store);
    let store = open();
    assert!(!runs_apart(base.path()).is_empty());
    all_there(&store, &acked);
    assert!(total > 0, "the child acknowledged nothing");
    println!(
        "{kills} kills, {apart} with runs that had files of their own, {total} acknowledged commits, 0 lost"
    );
}
