//! Nodes of one cell: each follows, takes the cell when it is free and the node is allowed to, and
//! follows again.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::api::CommitNo;
use crate::conformance::{Words, commit, entry, stream, submit};
use crate::log::memory::MemoryLog;
use crate::log::nodes::NAME_KEPT;
use crate::sync::lock;
use crate::tests::support::{HANG, History, Rng};
use crate::{DurableStore, Index as _, NodePart, RoleChange, Store as _, StoreError, StoreOptions};

/// Longer than any test: a lease ends only when a test lets time pass.
const LEASE: Duration = Duration::from_secs(600);

struct Node {
    store: Arc<DurableStore>,
    turns: Arc<Mutex<Vec<RoleChange>>>,
}

impl Node {
    fn join(dir: &Path, name: &str, log: &MemoryLog) -> Self {
        let turns: Arc<Mutex<Vec<RoleChange>>> = Arc::default();
        let told = Arc::clone(&turns);
        let options = StoreOptions {
            turned: Some(Arc::new(move |turn| lock(&told).push(turn))),
            ..StoreOptions::small()
        };
        let part = NodePart::Node {
            name: Arc::from(name),
            url: Arc::from(format!("http://{name}")),
            lease: LEASE,
        };
        let log = Box::new(log.handle());
        let store = DurableStore::join(dir.join(name), options, Arc::new(Words), log, &part);
        let store = store.unwrap();
        Self { store, turns }
    }

    /// Waits until the node has had this many turns; returns the last one.
    fn turn(&self, count: usize) -> RoleChange {
        wait("a turn", || lock(&self.turns).get(count - 1).copied())
    }

    fn owns(&self, count: usize) {
        assert!(matches!(self.turn(count), RoleChange::Owns(_)));
        assert!(self.store.member().is_sure());
        self.store.ready().unwrap();
    }

    fn follows(&self, count: usize) {
        assert_eq!(self.turn(count), RoleChange::Follows);
        assert!(!self.store.member().is_sure());
        let refused = self.store.ready();
        assert!(matches!(refused, Err(StoreError::NotOwner { .. })));
    }

    fn has(&self, history: &mut History) {
        let commit = CommitNo(history.commits);
        wait("it is applied", || {
            (self.store.applied() >= commit).then_some(())
        });
        history.check(self.store.as_ref());
    }
}

fn wait<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < HANG, "not in time: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_node_takes_a_free_cell_when_it_may_and_gives_it_to_the_one_that_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([21; 16]);
    let (mut history, mut rng) = (History::default(), Rng(31));
    let [one, two, three] = ["one", "two", "three"].map(|name| Node::join(dir.path(), name, &log));
    let early = submit(one.store.as_ref(), history.make(&mut rng));
    assert!(matches!(early, Err(StoreError::NotOwner { .. })));
    history = History::default();
    rng = Rng(31);
    one.store.member().willing(true);
    one.owns(1);
    for other in [&two, &three] {
        other.store.member().willing(true);
    }
    history.write(one.store.as_ref(), 120, &mut rng);
    for node in [&two, &three] {
        node.has(&mut history);
        let gives = node.store.member().hand_over("one");
        assert!(matches!(gives, Err(StoreError::NotOwner { .. })));
    }
    let known = wait("all are seen", || {
        let (cluster_view, _) = two.store.member().cluster_view()?;
        (cluster_view.nodes.len() == 3).then_some(cluster_view)
    });
    assert_eq!(known.owner.as_deref(), Some("one"));
    assert_eq!(
        known.url_after(Duration::ZERO).map(AsRef::as_ref),
        Some("http://one")
    );
    // Back and forth, each time with everything written before.
    let nodes = [&one, &two, &three];
    let (mut turns, mut owner) = ([1, 0, 0], 0);
    for step in 0..9 {
        let next = (owner + 1 + step % 2) % 3;
        let name = ["one", "two", "three"][next];
        nodes[owner].store.member().hand_over(name).unwrap();
        turns[owner] += 1;
        nodes[owner].follows(turns[owner]);
        turns[next] += 1;
        nodes[next].owns(turns[next]);
        nodes[owner].store.member().willing(true);
        history.write(nodes[next].store.as_ref(), 20, &mut rng);
        owner = next;
    }
    for node in nodes {
        node.has(&mut history);
        node.store.close().unwrap();
    }
}

#[test]
fn a_second_node_of_one_name_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([26; 16]);
    let one = Node::join(&dir.path().join("a folder"), "one", &log);
    let part = NodePart::Node {
        name: Arc::from("one"),
        url: Arc::from("http://elsewhere"),
        lease: LEASE,
    };
    let place = dir.path().join("another folder");
    let join = || {
        let (options, log) = (StoreOptions::small(), Box::new(log.handle()));
        DurableStore::join(&place, options, Arc::new(Words), log, &part)
    };
    let refused = join().unwrap_err().to_string();
    assert!(refused.contains("under the name one"), "{refused}");
    // Once the first one has ended, its name is free.
    one.store.close().unwrap();
    log.pass(NAME_KEPT);
    join().unwrap().close().unwrap();
}

#[test]
fn a_node_that_is_deposed_follows_and_does_not_own_before_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([22; 16]);
    let (mut history, mut rng) = (History::default(), Rng(32));
    let [one, two] = ["one", "two"].map(|name| Node::join(dir.path(), name, &log));
    one.store.member().willing(true);
    one.owns(1);
    history.write(one.store.as_ref(), 50, &mut rng);
    two.store.member().willing(true);
    // The first owner renews its lease now and then, but time passes faster than that.
    wait("the lease ends", || {
        log.pass(LEASE);
        (!lock(&two.turns).is_empty()).then_some(())
    });
    two.owns(1);
    history.write(two.store.as_ref(), 50, &mut rng);
    let late = commit(vec![entry(stream(9_999), 1, b"late")]);
    let refused = submit(one.store.as_ref(), late);
    let told = matches!(
        refused,
        Err(StoreError::Deposed | StoreError::NotOwner { .. })
    );
    assert!(told, "{refused:?}");
    one.follows(2);
    one.has(&mut history);
    // It may not take the cell even when that is free: whoever acted for it as owner may still act.
    two.store.close().unwrap();
    wait("it is free", || {
        let (cluster_view, _) = one.store.member().cluster_view()?;
        (cluster_view.left.is_none() && cluster_view.owner.is_none()).then_some(())
    });
    assert_eq!(lock(&one.turns).len(), 2);
    one.store.member().willing(true);
    one.owns(3);
    history.write(one.store.as_ref(), 10, &mut rng);
    one.has(&mut history);
    one.store.close().unwrap();
}

#[test]
fn an_append_with_unknown_outcome_is_found_by_the_follower() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([23; 16]);
    let (mut history, mut rng) = (History::default(), Rng(33));
    let [one, two] = ["one", "two"].map(|name| Node::join(dir.path(), name, &log));
    one.store.member().willing(true);
    one.owns(1);
    for turn in 0..6 {
        log.lose_answers(1);
        let (from, to, name) = match turn % 2 {
            0 => (&one, &two, "two"),
            _ => (&two, &one, "one"),
        };
        history.write(from.store.as_ref(), 3, &mut rng);
        from.store.member().hand_over(name).unwrap();
        to.store.member().willing(true);
        wait("it owns the cell", || {
            to.store.member().is_sure().then_some(())
        });
    }
    for node in [one, two] {
        node.has(&mut history);
    }
}

#[test]
fn an_owner_asked_to_hand_over_follows_even_without_an_answer_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([24; 16]);
    let (mut history, mut rng) = (History::default(), Rng(34));
    let [one, two] = ["one", "two"].map(|name| Node::join(dir.path(), name, &log));
    one.store.member().willing(true);
    one.owns(1);
    history.write(one.store.as_ref(), 20, &mut rng);
    log.lose_offers(1);
    let told = one.store.member().hand_over("two");
    assert!(matches!(told, Err(StoreError::Unreachable(_))), "{told:?}");
    one.follows(2);
    assert!(!one.store.member().owns());
    let again = one.store.member().hand_over("two");
    assert!(
        matches!(again, Err(StoreError::NotOwner { .. })),
        "{again:?}"
    );
    two.store.member().willing(true);
    two.owns(1);
    history.write(two.store.as_ref(), 20, &mut rng);
    for node in [one, two] {
        node.has(&mut history);
        node.store.close().unwrap();
    }
}
