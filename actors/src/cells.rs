//! Where a realm is: realm → cell → store. Only this module answers that.
//!
//! **Shape.** A cell is one log with the rows that are derived from it. The platform's own facts are in the first cell,
//! and tell in which cell each realm is ([`caudal_ledger::tenants::cells`]). This process has all cells; every read
//! or write names its realm.
//!
//! **Order.** A realm never leaves its cell.
//!
//! **Failure.** A realm in a cell that this process does not have cannot be found: a node that follows the platform
//! gets an error and applies nothing of that state.

use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_storage::{Checks, Index, Stats, Store, StoreError};
use dashmap::DashMap;

/// The number of the cell with the platform's own facts.
pub const FIRST: u32 = 0;

/// The most findings of the background checks that are listed.
const FINDINGS_MAX: usize = 100;

fn together(one: Checks, other: Checks) -> Checks {
    Checks {
        bytes_per_second: one.bytes_per_second.strict_add(other.bytes_per_second),
        round: one.round.min(other.round),
        rounds: one.rounds.min(other.rounds),
        ended_at: one.ended_at.min(other.ended_at),
        done_bytes: one.done_bytes.strict_add(other.done_bytes),
        total_bytes: one.total_bytes.strict_add(other.total_bytes),
        findings: one.findings.into_iter().chain(other.findings).collect(),
        found: one.found.strict_add(other.found),
        opening_journal_bytes: one
            .opening_journal_bytes
            .strict_add(other.opening_journal_bytes),
        opening_index_bytes: one
            .opening_index_bytes
            .strict_add(other.opening_index_bytes),
    }
}

fn sum(one: Stats, other: Stats) -> Stats {
    let add = |of: fn(&Stats) -> u64| of(&one).strict_add(of(&other));
    Stats {
        commits: add(|it| it.commits),
        entries: add(|it| it.entries),
        flushes: add(|it| it.flushes),
        journal_bytes: add(|it| it.journal_bytes),
        journal_disk_bytes: add(|it| it.journal_disk_bytes),
        compressed_segments: add(|it| it.compressed_segments),
        compressed_saved_bytes: add(|it| it.compressed_saved_bytes),
        frame_cache_bytes_max: add(|it| it.frame_cache_bytes_max),
        frame_cache_bytes: add(|it| it.frame_cache_bytes),
        index_disk_bytes: add(|it| it.index_disk_bytes),
        index_runs: add(|it| it.index_runs),
        index_blocks_read: add(|it| it.index_blocks_read),
        index_blocks_cached: add(|it| it.index_blocks_cached),
        index_blocks_vain: add(|it| it.index_blocks_vain),
        index_runs_opened: add(|it| it.index_runs_opened),
        index_gets: add(|it| it.index_gets),
        block_cache_bytes_max: add(|it| it.block_cache_bytes_max),
        block_cache_bytes: add(|it| it.block_cache_bytes),
        index_table_bytes: add(|it| it.index_table_bytes),
        index_filter_bytes: add(|it| it.index_filter_bytes),
        queued: add(|it| it.queued),
        last_flush_us: one.last_flush_us.max(other.last_flush_us),
        flush_us: add(|it| it.flush_us),
        index_rebuilt: one.index_rebuilt || other.index_rebuilt,
        ..one
    }
}

/// The stores of this process.
#[derive(Clone, Debug)]
pub struct Cells {
    first: Arc<dyn Store>,
    /// The stores of the cells from number 1 on.
    others: Arc<[Arc<dyn Store>]>,
    /// The cells of the realms that are not in the first one.
    placed: Arc<DashMap<RealmId, u32>>,
}

impl Cells {
    /// One cell with everything.
    pub fn one(first: Arc<dyn Store>) -> Self {
        Self::several(first, Vec::new())
    }

    /// The first cell, and the cells from number 1 on. Until a platform is followed, every realm is in the first cell.
    pub fn several(first: Arc<dyn Store>, others: Vec<Arc<dyn Store>>) -> Self {
        Self {
            first,
            others: others.into(),
            placed: Arc::default(),
        }
    }

    /// Whether this process has all cells that the platform knows.
    ///
    /// # Errors
    /// `Invalid` if it lacks one.
    pub fn all_here(&self, platform: &Platform) -> Result<(), StoreError> {
        let mut known = platform.cells();
        match known.find(|(cell, _)| self.cell(*cell).is_none()) {
            None => Ok(()),
            Some((cell, _)) => Err(StoreError::Invalid(format!(
                "there is a cell {cell}, which is not here: set storage.cells to as many as there are"
            ))),
        }
    }

    /// Takes up in which cell each realm is.
    ///
    /// # Errors
    /// `Invalid` if there is a cell that this process does not have.
    pub fn follow(&self, platform: &Platform) -> Result<(), StoreError> {
        self.all_here(platform)?;
        for (realm, cell) in platform.placements() {
            self.placed.insert(realm, cell);
        }
        Ok(())
    }

    /// The store with the platform's facts: tenants, keys, settings.
    pub fn platform(&self) -> &Arc<dyn Store> {
        &self.first
    }

    /// The store of a cell, if this process has the cell.
    pub fn cell(&self, cell: u32) -> Option<&Arc<dyn Store>> {
        let mut all = self.all();
        all.nth(usize::try_from(cell).ok()?)
    }

    /// The store of a realm.
    pub fn of(&self, realm: RealmId) -> Arc<dyn Store> {
        let store = self.cell(self.cell_of(realm)).unwrap_or(&self.first);
        Arc::clone(store)
    }

    /// The number of the cell of a realm.
    pub fn cell_of(&self, realm: RealmId) -> u32 {
        self.placed.get(&realm).map_or(FIRST, |cell| *cell)
    }

    /// Every store, in the order of the cells, for work that concerns no single realm.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Store>> {
        std::iter::once(&self.first).chain(self.others.iter())
    }

    /// Every store, with the number of its cell.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &Arc<dyn Store>)> {
        (0..).zip(self.all())
    }

    /// Searches all cells for something whose realm is not known yet.
    ///
    /// # Errors
    /// The first error of `find`.
    pub fn find<T>(
        &self,
        find: impl Fn(&dyn Index) -> Result<Option<(RealmId, T)>, StoreError>,
    ) -> Result<Option<(RealmId, T)>, StoreError> {
        for store in self.all() {
            let found = find(store.as_ref())?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Lets the caches of the index's blocks take at most this many bytes from now on, each an equal part.
    pub fn keep_cached(&self, bytes: u64) {
        let last = self.numbered().last().map_or(0, |(cell, _)| cell);
        let part = bytes.strict_div(u64::from(last) + 1);
        for store in self.all() {
            store.keep_cached(part);
        }
    }

    /// The figures of all stores together. A commit number among them is the first store's.
    pub fn stats(&self) -> Stats {
        let others = self.others.iter().map(|store| store.stats());
        others.fold(self.first.stats(), sum)
    }

    /// The state and findings of the background checks of all stores together: a round is over when it is over in all
    /// of them.
    pub fn checks(&self) -> Checks {
        let others = self.others.iter().map(|store| store.checks());
        let mut all = others.fold(self.first.checks(), together);
        all.findings.truncate(FINDINGS_MAX);
        all
    }

    /// Whether any store takes commits: a cell that another node owns takes none here.
    pub fn takes_any(&self) -> bool {
        self.all().any(|store| store.ready().is_ok())
    }

    /// Makes everything durable and closes all stores. All of them are closed before the first error is returned.
    ///
    /// # Errors
    /// When one of them cannot be closed in order.
    pub fn close(&self) -> Result<(), StoreError> {
        let ends: Vec<_> = self.all().map(|store| store.close()).collect();
        ends.into_iter().collect()
    }
}
