//! Writer and checker of the power-cut rig (`tests/rigs/powercut.sh`).
//!
//! `powercut write FOLDER ACKS` writes until it is killed, and appends a line to ACKS for each
//! acknowledged commit. `powercut check FOLDER ACKS` opens the store that a power cut left and
//! looks for each of them.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a rig: it prints, and it stops at the first surprise"
)]

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use caudal_storage::{
    Commit, CommitNo, DurableStore, Entry, Fact, Index, IndexWriter, Position, Projection,
    SortOrder, Store, StoreError, StoreOptions, StreamId,
};

const LANES: u64 = 24;

/// A row for each entry and one counter.
struct Rows;

impl Projection for Rows {
    fn version(&self) -> u32 {
        1
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        let key = row_key(entry.stream.number, entry.seq);
        index.put(&key, &position.0.to_be_bytes());
        index.next(&[0x30])?;
        Ok(())
    }
}

fn row_key(lane: u64, seq: u64) -> Vec<u8> {
    // scattered, so that runs overlap
    let hash = (lane << 32 | seq).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    [
        &[0x20][..],
        &hash.to_be_bytes(),
        &lane.to_be_bytes(),
        &seq.to_be_bytes(),
    ]
    .concat()
}

fn stream(lane: u64) -> StreamId {
    StreamId {
        realm: 1,
        kind: 1,
        number: lane,
    }
}

fn body(lane: u64, seq: u64) -> Vec<u8> {
    format!("{lane}:{seq};")
        .repeat(usize::try_from(5 + seq % 16).unwrap())
        .into_bytes()
}

/// The variable with the number of keys from which a run has files of its own; the rig sets it.
const FILE_KEYS: &str = "POWERCUT_APART_KEYS";

fn options() -> StoreOptions {
    let usual = StoreOptions::default().file_keys;
    StoreOptions {
        file_keys: std::env::var(FILE_KEYS).map_or(usual, |keys| keys.parse().unwrap()),
        segment_bytes: 256 << 10,
        table_bytes: 100_000,
        check_bytes_per_second: 64 << 20,
        merge_fan_in: 3,
        free_space_floor: 0,
        ..StoreOptions::default()
    }
}

fn write(folder: &Path, acks: &Path) {
    let store = DurableStore::open(folder, options(), Arc::new(Rows)).unwrap();
    let file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(acks)
        .unwrap();
    let file = Arc::new(file);
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let (store, file) = (Arc::clone(&store), Arc::clone(&file));
            scope.spawn(move || {
                let mut seq = store.head(stream(lane)).unwrap().map_or(0, |h| h.seq);
                let (give, take) = sync_channel(1);
                // a disk of this size holds about this much; then the rig starts another run
                while store.stats().journal_disk_bytes < 100 << 20 {
                    seq += 1;
                    let (file, give) = (Arc::clone(&file), give.clone());
                    let twin = lane + LANES;
                    let entries = [lane, twin].map(|n| Entry {
                        stream: stream(n),
                        seq,
                        at: seq,
                        body: body(n, seq),
                        fact: Fact::default(),
                    });
                    store.submit(
                        Commit {
                            entries: entries.into(),
                            hints: vec![],
                            ..Commit::default()
                        },
                        Box::new(move |result| {
                            let number: CommitNo = result.unwrap();
                            let line = format!("{} {lane} {seq}\n", number.0);
                            (&*file).write_all(line.as_bytes()).unwrap();
                            give.send(()).unwrap();
                        }),
                    );
                    take.recv().unwrap();
                    // a short pause, so that a run lasts and groups differ in size
                    std::thread::sleep(std::time::Duration::from_millis(4 + lane % 9));
                }
                loop {
                    std::thread::park();
                }
            });
        }
    });
}

/// How many runs with files of their own the power cut left.
fn runs_apart(folder: &Path) -> usize {
    let Ok(names) = std::fs::read_dir(folder.join("index")) else {
        return 0;
    };
    let names = names.map(|item| item.unwrap().file_name());
    let apart = names.filter(|name| name.to_str().unwrap().starts_with("run-"));
    apart.count()
}

fn check(folder: &Path, acks: &Path) {
    let text = std::fs::read_to_string(acks).unwrap();
    if text.is_empty() && !folder.exists() {
        println!("nothing was acknowledged");
        return;
    }
    let apart = runs_apart(folder);
    let store = DurableStore::open(folder, options(), Arc::new(Rows)).unwrap();
    let last = store.stats().last_commit;
    let mut entries = 0;
    for line in text.lines() {
        let numbers: Vec<u64> = line.split(' ').map(|w| w.parse().unwrap()).collect();
        let (commit, lane, seq) = (numbers[0], numbers[1], numbers[2]);
        assert!(
            commit <= last,
            "commit {commit} was acknowledged, the journal ends at {last}"
        );
        for lane in [lane, lane + LANES] {
            let place = store.get(&row_key(lane, seq)).unwrap().unwrap();
            let place = Position(u64::from_be_bytes(place.try_into().unwrap()));
            let entry = store.entry(place).unwrap();
            assert_eq!((entry.stream, entry.seq), (stream(lane), seq));
            assert!(
                entry.body == body(lane, seq),
                "the body of {lane} {seq} differs"
            );
            entries += 1;
        }
    }
    let mut all = 0u64;
    let seen = store.replay(CommitNo(1), &mut |_, e| {
        assert!(e.body == body(e.stream.number, e.seq));
        all += 1;
        true
    });
    assert_eq!(seen.unwrap().0, last);
    let counted = store
        .get(&[0x30])
        .unwrap()
        .map_or(0, |v| u64::from_be_bytes(v.try_into().unwrap()));
    assert_eq!(counted, all, "the counter counts every entry once");
    for lane in 0..LANES {
        let twin = store.head(stream(lane + LANES)).unwrap();
        assert_eq!(store.head(stream(lane)).unwrap(), twin, "half a commit");
    }
    let rows = store
        .scan(&[0x20], &[0x21], SortOrder::Ascending, usize::MAX)
        .unwrap()
        .len();
    assert_eq!(u64::try_from(rows).unwrap(), all);
    store.close().unwrap();
    let rebuilt = std::fs::read_dir(folder).unwrap().any(|i| {
        i.unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .starts_with("index.damaged")
    });
    println!(
        "{entries} of {all} entries, {apart} runs apart{}",
        if rebuilt { ", rebuilt" } else { "" }
    );
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (folder, acks) = (Path::new(&args[2]), Path::new(&args[3]));
    match args[1].as_str() {
        "write" => write(folder, acks),
        "check" => check(folder, acks),
        other => panic!("write or check, not {other}"),
    }
}
