//! The engines, each with its ways to end.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;

use caudal_storage::{DurableStore, Faults, FaultyStore, Store, StoreError, StoreOptions};

use super::cents::Cents;
use super::ops::Rebuild;

/// An engine under test.
pub trait Rig: std::fmt::Debug {
    /// The store that is open now.
    fn store(&self) -> Arc<dyn Store>;
    /// Works until everything submitted has been answered.
    fn settle(&mut self);
    /// Works on up to so many commits, if the engine allows that.
    fn work(&mut self, _count: usize) {}
    /// Closes and opens the store; false if this store cannot survive that, and then nothing is
    /// done.
    fn restart(&mut self) -> bool;
    /// Ends the store without closing, and opens it; false as for [`Rig::restart`]. Up to `keep`
    /// waiting commits may survive.
    fn crash(&mut self, keep: usize) -> bool;
    /// Opens the store with its index lost; false as for [`Rig::restart`].
    fn rebuild(&mut self, _how: Rebuild) -> bool {
        false
    }
    /// Makes the n-th change to files from now on fail; `None` if the engine cannot do that, and
    /// otherwise the state of the store.
    fn sabotage(&mut self, _change: u64) -> Option<Sabotaged> {
        None
    }
    /// The other half of [`Sabotaged::Reopened`]: opens on the disk that will fail.
    fn sabotage_now(&mut self, _change: u64) {}
    /// Has the next submission refused with `Overloaded`; false if the engine cannot do that.
    fn refuse_next(&mut self) -> bool {
        false
    }
    /// Makes the disk full or not; false if the engine cannot do that.
    fn set_full(&mut self, _full: bool) -> bool {
        false
    }
}

/// The state of a store after sabotage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotaged {
    /// The store was ended and opened again; [`Rig::sabotage_now`] then makes it fail.
    Reopened,
    /// The open store is lost from now on.
    Lost,
}

fn barrier(store: &dyn Store) -> Result<(), StoreError> {
    let (reply, answer) = channel();
    store.barrier(Box::new(move |result| {
        let _gone = reply.send(result);
    }));
    answer.recv().expect("a barrier is answered").map(drop)
}

/// The engine for simulations, driven by hand.
#[derive(Debug)]
pub struct Faulty(pub Arc<FaultyStore>);

impl Faulty {
    /// An empty store.
    pub fn new() -> Self {
        Self(FaultyStore::new(Arc::new(Cents(1)), 1))
    }
}

impl Default for Faulty {
    fn default() -> Self {
        Self::new()
    }
}

impl Rig for Faulty {
    fn store(&self) -> Arc<dyn Store> {
        Arc::<FaultyStore>::clone(&self.0)
    }
    fn settle(&mut self) {
        self.0.step_all();
    }
    fn work(&mut self, count: usize) {
        for _ in 0..count {
            self.0.step();
        }
    }
    fn restart(&mut self) -> bool {
        self.0.step_all();
        self.0 = self.0.crash(0);
        true
    }
    fn crash(&mut self, keep: usize) -> bool {
        self.0 = self.0.crash(keep);
        true
    }
    fn sabotage(&mut self, change: u64) -> Option<Sabotaged> {
        self.0
            .poison("sabotage", usize::try_from(change).unwrap() % 4);
        Some(Sabotaged::Lost)
    }
    fn refuse_next(&mut self) -> bool {
        self.0.refuse_next(StoreError::Overloaded);
        true
    }
    fn set_full(&mut self, full: bool) -> bool {
        self.0.set_full(full);
        true
    }
}

/// The production engine in a folder of its own, with the smallest limits that it accepts.
#[derive(Debug)]
pub struct Durable {
    root: tempfile::TempDir,
    /// How often the store was moved; names its present folder.
    moves: u32,
    version: u32,
    store: Option<Arc<DurableStore>>,
}

impl Durable {
    /// An empty store.
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let mut rig = Self {
            root,
            moves: 0,
            version: 1,
            store: None,
        };
        rig.open();
        rig
    }

    fn path(&self) -> PathBuf {
        self.root.path().join(format!("store-{}", self.moves))
    }

    fn options() -> StoreOptions {
        StoreOptions {
            segment_bytes: 64 << 10,
            table_bytes: 2 << 10,
            merge_fan_in: 2,
            // some runs have files of their own, and most have not
            file_keys: 64,
            heads_max: 3,
            group_commits: 3,
            group_bytes: 8 << 10,
            ..StoreOptions::small()
        }
    }

    fn open(&mut self) {
        let projection = Arc::new(Cents(self.version));
        let store = DurableStore::open(self.path(), Self::options(), projection);
        self.store = Some(store.expect("the store opens"));
    }

    /// Drops the store. Nobody else may hold it, or it would not end.
    fn end(&mut self) {
        let store = self.store.take().expect("an open store");
        drop(Arc::try_unwrap(store).expect("the only owner of the store"));
    }
}

impl Default for Durable {
    fn default() -> Self {
        Self::new()
    }
}

impl Rig for Durable {
    fn store(&self) -> Arc<dyn Store> {
        Arc::<DurableStore>::clone(self.store.as_ref().expect("an open store"))
    }
    fn settle(&mut self) {
        // A lost store refuses the barrier at once.
        drop(barrier(&*self.store()));
    }
    fn restart(&mut self) -> bool {
        // A lost store cannot close; this is then a crash.
        drop(self.store().close());
        self.end();
        self.open();
        true
    }
    fn crash(&mut self, _keep: usize) -> bool {
        self.end();
        self.open();
        true
    }
    fn rebuild(&mut self, how: Rebuild) -> bool {
        drop(self.store().close());
        self.end();
        match how {
            Rebuild::Gone => fs::remove_dir_all(self.path().join("index")).expect("an index"),
            Rebuild::NewVersion => self.version += 1,
            Rebuild::Elsewhere => {
                let from = self.path();
                self.moves += 1;
                copy(&from.join("journal"), &self.path().join("journal"));
                fs::copy(from.join("IDENTITY"), self.path().join("IDENTITY")).expect("an identity");
                fs::remove_dir_all(from).expect("the old folder");
            }
        }
        self.open();
        true
    }
    fn sabotage(&mut self, _change: u64) -> Option<Sabotaged> {
        self.end();
        self.open();
        Some(Sabotaged::Reopened)
    }
    fn sabotage_now(&mut self, change: u64) {
        self.end();
        let options = StoreOptions {
            faults: Some(Faults::at(change, u64::MAX)),
            ..Self::options()
        };
        match DurableStore::open(self.path(), options, Arc::new(Cents(self.version))) {
            Ok(store) => self.store = Some(store),
            // It failed during the opening; the next opening finds a sound disk.
            Err(_) => self.open(),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for file in fs::read_dir(from).expect("a folder") {
        let file = file.expect("a file");
        fs::copy(file.path(), to.join(file.file_name())).expect("a copy");
    }
}
