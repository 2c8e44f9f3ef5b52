//! Measures the durable engine: commits per second, work per entry, opening, reading.
//!
//! `cargo run --release -p caudal-storage --example measure -- FOLDER [ENTRIES] [SUBMITTERS] [STREAMS]`
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::float_arithmetic,
    reason = "a measurement: it prints, and it may stop at the first surprise"
)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use caudal_storage::{
    Commit, DurableStore, Entry, Fact, Head, Index, IndexWriter, Position, Projection, SortOrder,
    Store, StoreError, StoreOptions, StreamId,
};

/// Three small rows per entry: a hash, a counter's row, and the counter itself.
struct Rows;

impl Projection for Rows {
    fn version(&self) -> u32 {
        1
    }

    fn single(&self) -> &[u8] {
        &[]
    }

    fn rest_key(&self, _: StreamId) -> Option<Vec<u8>> {
        None
    }

    fn rests(&self, _: &[u8], _: &[u8]) -> Option<(StreamId, Head)> {
        None
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        let mut key = [0x10; 17];
        key[1..].copy_from_slice(&entry.body[..16]);
        index.put(&key, &position.0.to_be_bytes());
        let realm = entry.stream.realm.to_be_bytes();
        let n = index.next(&[&[0x20], &realm[..]].concat())?;
        let row = [&[0x21], &realm[..], &n.to_be_bytes()[..]].concat();
        index.put(&row, &position.0.to_be_bytes());
        Ok(())
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

fn stream(number: u64) -> StreamId {
    StreamId {
        realm: (number % 50) as u32,
        kind: 1,
        number,
    }
}

fn entry(stream: StreamId, seq: u64, at: u64, state: &mut u64) -> Entry {
    let mut body = Vec::with_capacity(320);
    while body.len() < 320 {
        body.extend_from_slice(&random(state).to_be_bytes());
    }
    Entry {
        stream,
        seq,
        at,
        body,
        fact: Fact::default(),
    }
}

fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn threads() -> Vec<(String, f64)> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let Ok(text) = std::fs::read_to_string(task.unwrap().path().join("stat")) else {
            continue;
        };
        let name = text.split(['(', ')']).nth(1).unwrap().to_owned();
        let fields: Vec<&str> = text
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let time = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
        found.push((name, time / 100.0));
    }
    found
}

fn rss() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|l| l.starts_with("VmRSS")).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}

fn write(store: &Arc<DurableStore>, entries: u64, submitters: u64, streams: u64) {
    let done = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let marks = Arc::new(Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        // few threads keep many commits in flight, as an async service does
        let lanes = submitters.min(4);
        for lane in 0..lanes {
            let (store, done, marks) = (Arc::clone(store), Arc::clone(&done), Arc::clone(&marks));
            scope.spawn(move || {
                let inflight = (submitters / lanes) as usize;
                let (give, take) = sync_channel(inflight);
                (0..inflight).for_each(|_| give.send(()).unwrap());
                let mut state = lane + 1;
                let mut seqs = vec![0u64; (streams / lanes + 1) as usize];
                for n in 0..entries / lanes {
                    let pick = random(&mut state) % (streams / lanes).max(1);
                    let seq = &mut seqs[pick as usize];
                    *seq += 1;
                    let e = entry(stream(pick * lanes + lane), *seq, n, &mut state);
                    take.recv().unwrap();
                    let (give, done, marks) = (give.clone(), Arc::clone(&done), Arc::clone(&marks));
                    let commit = Commit {
                        entries: vec![e],
                        hints: vec![],
                        ..Commit::default()
                    };
                    store.submit(
                        commit,
                        Box::new(move |result| {
                            result.unwrap();
                            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                            if n.is_multiple_of((entries / 10).max(1)) {
                                marks.lock().unwrap().push(start.elapsed().as_secs_f64());
                            }
                            give.send(()).unwrap();
                        }),
                    );
                }
                (0..inflight).for_each(|_| take.recv().unwrap());
            });
        }
    });
    let marks = marks.lock().unwrap();
    let mut last = 0.0;
    let rates: Vec<String> = marks
        .iter()
        .map(|t| {
            let rate = entries as f64 / 10.0 / (t - last);
            last = *t;
            format!("{rate:.0}")
        })
        .collect();
    println!("rates by tenth: {}", rates.join(" "));
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |n: usize, default: u64| args.get(n).map_or(default, |a| a.parse().unwrap());
    let (entries, submitters, streams) = (number(2, 1_000_000), number(3, 256), number(4, 100_000));
    let path = std::path::PathBuf::from(&args[1]);
    let store = DurableStore::open(&path, StoreOptions::default(), Arc::new(Rows)).unwrap();
    let (start, used) = (Instant::now(), cpu());
    write(&store, entries, submitters, streams);
    let took = start.elapsed().as_secs_f64();
    let s = store.stats();
    println!(
        "{entries} entries, {submitters} in flight, {streams} streams: {:.0}/s, {:.1} a group, \
         {:.0} us a flush, {:.1} us of cpu an entry (with the submitters')",
        entries as f64 / took,
        s.commits as f64 / s.flushes as f64,
        s.flush_us as f64 / s.flushes as f64,
        (cpu() - used) * 1e6 / entries as f64
    );
    for (name, time) in threads() {
        println!(
            "  thread {name}: {:.2} us an entry",
            time * 1e6 / entries as f64
        );
    }
    println!("  {s:?}");
    println!("  rss {} MB", rss());
    let clean = std::env::var_os("CRASH").is_none();
    let start = Instant::now();
    if clean {
        store.close().unwrap();
    }
    drop(store);
    println!(
        "close: {:.2} s, rss {} MB",
        start.elapsed().as_secs_f64(),
        rss()
    );
    let start = Instant::now();
    let store = DurableStore::open(&path, StoreOptions::default(), Arc::new(Rows)).unwrap();
    println!(
        "open: {:.2} s, rss {} MB",
        start.elapsed().as_secs_f64(),
        rss()
    );
    reads(&store, streams);
    long_stream(&store);
    store.close().unwrap();
}

fn timed(what: &str, n: u64, mut work: impl FnMut(u64)) {
    let start = Instant::now();
    (0..n).for_each(&mut work);
    println!(
        "{what}: {:.1} us",
        start.elapsed().as_secs_f64() * 1e6 / n as f64
    );
}

fn reads(store: &Arc<DurableStore>, streams: u64) {
    let mut state = 99;
    let count = store
        .scan(&[0x21], &[0x22], SortOrder::Descending, 1)
        .unwrap();
    println!("last counter row {:?}", count.first().map(|r| &r.0));
    timed("head", 100_000, |_| {
        let s = random(&mut state) % streams;
        store.head(stream(s)).unwrap();
    });
    timed("get of a counter row", 100_000, |_| {
        let n = random(&mut state) % 1000 + 1;
        let key = [&[0x21, 0, 0, 0, 7][..], &n.to_be_bytes()[..]].concat();
        store.get(&key).unwrap();
    });
    timed("get of an absent hash", 100_000, |_| {
        let mut key = [0x10; 17];
        key[1..9].copy_from_slice(&random(&mut state).to_be_bytes());
        store.get(&key).unwrap();
    });
    timed("read of the last 20 of a stream", 10_000, |_| {
        let s = random(&mut state) % streams;
        store
            .read(stream(s), 1, u64::MAX, SortOrder::Descending, 20)
            .unwrap();
    });
    let start = Instant::now();
    let rows = store
        .scan(&[0x10], &[0x11], SortOrder::Ascending, 100_000)
        .unwrap()
        .len();
    println!(
        "scan of {rows} rows: {:.0} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
}

fn long_stream(store: &Arc<DurableStore>) {
    let id = StreamId {
        realm: 1,
        kind: 9,
        number: 1,
    };
    let (give, take) = sync_channel(4096);
    let mut state = 5;
    let first = store.head(id).unwrap().map_or(0, |h| h.seq);
    for seq in first + 1..=first + 100_000 {
        let give = give.clone();
        let commit = Commit {
            entries: vec![entry(id, seq, seq * 10, &mut state)],
            hints: vec![],
            ..Commit::default()
        };
        store.submit(commit, Box::new(move |r| give.send(r.unwrap()).unwrap()));
        if seq % 4096 == 0 {
            take.iter().take(4096).for_each(|_| {});
        }
    }
    let (give, take) = sync_channel(1);
    store.barrier(Box::new(move |r| give.send(r).unwrap()));
    take.recv().unwrap().unwrap();
    timed("seq_at over 100k entries", 10_000, |_| {
        let at = random(&mut state) % 1_000_000;
        store.seq_at(id, at).unwrap();
    });
}
