//! Many owners of one cell, over a log that loses answers, delivers late and refuses: there is one history, with
//! every acknowledged commit in its place and none that was refused.
//!
//! **Shape.** Each node is a whole store with its folder. A node that is not asked is paused, for as long as the
//! run likes; time passes only for leases, when the run says so.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use caudal_storage::log::memory::MemoryLog;
use caudal_storage::log::{Log as _, LogError};
use caudal_storage::{
    Commit, CommitNo, DurableStore, Entry, Fact, Index as _, IndexWriter, NodePart, OpenError,
    Position, Projection, Store as _, StoreError, StoreOptions, StreamId,
};
use proptest::prelude::*;

use crate::config;

/// The length of a lease, which no run waits for.
const LEASE: Duration = Duration::from_secs(24 * 3600);

/// A projection without rows of its own.
struct Nothing;

impl Projection for Nothing {
    fn version(&self) -> u32 {
        1
    }

    fn project(
        &self,
        _entry: &Entry,
        _position: Position,
        _index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A node writes, whether it owns the cell or only believes so.
    Write(usize),
    /// A node is started, or started again, and wants the cell.
    Own(usize),
    /// A node is started as a follower.
    Follow(usize),
    /// A node gives the cell back.
    Close(usize),
    /// A node dies.
    Crash(usize),
    /// This many eighths of a lease pass.
    Pass(u32),
    /// Answers to appends are lost.
    Lose(u32),
    /// Appends are late.
    HoldBack(u32),
    /// The appends that were held back arrive.
    Arrive,
    /// Appends are refused.
    Refuse(u32),
}

fn step(nodes: usize) -> impl Strategy<Value = Step> {
    prop_oneof![
        24 => (0..nodes).prop_map(Step::Write),
        6 => (0..nodes).prop_map(Step::Own),
        1 => (0..nodes).prop_map(Step::Follow),
        1 => (0..nodes).prop_map(Step::Close),
        2 => (0..nodes).prop_map(Step::Crash),
        4 => (1..12_u32).prop_map(Step::Pass),
        4 => (1..3_u32).prop_map(Step::Lose),
        4 => (1..3_u32).prop_map(Step::HoldBack),
        2 => Just(Step::Arrive),
        2 => (1..3_u32).prop_map(Step::Refuse),
    ]
}

/// The answer that a client got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Done(CommitNo),
    Refused,
    Unknown,
}

fn owner(node: usize) -> NodePart {
    NodePart::Owner {
        name: node.to_string(),
        lease: LEASE,
        patience: Duration::ZERO,
    }
}

struct World {
    root: tempfile::TempDir,
    log: MemoryLog,
    nodes: Vec<Option<Arc<DurableStore>>>,
    told: BTreeMap<u64, Told>,
    /// How many followers were started.
    followers: AtomicU64,
}

impl World {
    fn new(nodes: usize) -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            log: MemoryLog::new([1; 16]),
            nodes: vec![None; nodes],
            told: BTreeMap::new(),
            followers: AtomicU64::new(0),
        }
    }

    /// A node that never takes the cell; two of one name would be refused.
    fn follower(&self) -> NodePart {
        let name = format!(
            "follower {}",
            self.followers.fetch_add(1, Ordering::Relaxed)
        );
        NodePart::Node {
            name: Arc::from(name),
            url: Arc::from("http://here"),
            lease: LEASE,
        }
    }

    fn open(&self, node: &str, part: &NodePart) -> Result<Arc<DurableStore>, OpenError> {
        let place = self.root.path().join(node);
        let log = Box::new(self.log.handle());
        DurableStore::join(place, StoreOptions::small(), Arc::new(Nothing), log, part)
    }

    fn start(&mut self, node: usize, part: &NodePart) {
        self.nodes[node] = None;
        match self.open(&node.to_string(), part) {
            Ok(store) => self.nodes[node] = Some(store),
            Err(OpenError::Log(LogError::Held { .. })) => {}
            Err(e) => panic!("node {node}: {e}"),
        }
    }

    fn write(&mut self, node: usize) {
        let Some(store) = &self.nodes[node] else {
            return;
        };
        let id = u64::try_from(self.told.len()).unwrap();
        // One stream for all, so that a deposed owner's view of it is out of date.
        let stream = StreamId {
            realm: 1,
            kind: 1,
            number: 1,
        };
        let Ok(head) = store.head(stream) else {
            self.told.insert(id, Told::Refused);
            return;
        };
        let entry = Entry {
            stream,
            seq: head.map_or(0, |head| head.seq) + 1,
            at: 0,
            body: id.to_be_bytes().to_vec(),
            fact: Fact::default(),
        };
        let (done, result) = mpsc::channel();
        let commit = Commit {
            entries: vec![entry],
            hints: Vec::new(),
            ..Commit::default()
        };
        let answer = Box::new(move |result| drop(done.send(result)));
        store.submit(commit, answer);
        let told = match result.recv().unwrap() {
            Ok(number) => Told::Done(number),
            Err(StoreError::Deposed | StoreError::Poisoned(_)) => Told::Unknown,
            Err(_) => Told::Refused,
        };
        self.told.insert(id, told);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Write(node) => self.write(node),
            Step::Own(node) => self.start(node, &owner(node)),
            Step::Follow(node) => self.start(node, &self.follower()),
            Step::Close(node) => {
                if let Some(store) = self.nodes[node].take() {
                    // A deposed owner has nothing to close.
                    drop(store.close());
                }
            }
            Step::Crash(node) => self.nodes[node] = None,
            Step::Pass(eighths) => self.log.pass(LEASE / 8 * eighths),
            Step::Lose(count) => self.log.lose_answers(count),
            Step::HoldBack(count) => self.log.hold_back(count),
            Step::Arrive => self.log.arrive(),
            Step::Refuse(count) => self.log.refuse(count),
        }
    }

    /// The history that a new node finds after all others have gone: each commit with the id in it.
    fn history(&mut self) -> Vec<(CommitNo, u64)> {
        self.log.arrive();
        // An owner that lives would renew its lease.
        self.nodes.clear();
        self.log.pass(LEASE);
        let store = self.open("reader", &owner(usize::MAX)).unwrap();
        let mut found = Vec::new();
        store
            .replay(CommitNo(1), &mut |number, entry| {
                let id = u64::from_be_bytes(entry.body.as_slice().try_into().unwrap());
                found.push((number, id));
                true
            })
            .unwrap();
        assert_eq!(self.log.tail().unwrap().commit, store.applied());
        found
    }

    fn check(&mut self) {
        let history = self.history();
        let mut places = BTreeMap::new();
        for (n, (number, id)) in (1..).zip(&history) {
            assert_eq!(number.0, n, "commits have no gap");
            assert!(places.insert(*id, *number).is_none(), "{id} is there twice");
        }
        for (id, told) in &self.told {
            match (told, places.get(id)) {
                (Told::Done(number), found) => assert_eq!(found, Some(number), "{id}"),
                (Told::Refused, found) => assert_eq!(found, None, "{id} was refused"),
                (Told::Unknown, _) => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn there_is_one_history_and_what_was_acknowledged_is_in_it(
        (nodes, steps) in (2..=4_usize).prop_flat_map(|nodes| {
            (Just(nodes), prop::collection::vec(step(nodes), 20..120))
        })
    ) {
        let mut world = World::new(nodes);
        world.start(0, &owner(0));
        for step in steps {
            world.step(step);
        }
        world.check();
    }
}
