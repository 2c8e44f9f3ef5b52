//! Holds rows against the ways by which they are looked for.
//!
//! **Shape.** Whoever walks over rows asks no filter, and whoever looks for one does: what a filter denies that its run has
//! is seen by the one and not by the other. So a verification walks with [`SortedRows::walk`], which asks the filter of a run
//! for each row that it takes from it, and gives what [`SortedRows::get`] would: a row that is only seen by walking is left
//! out, and one that was removed in vain is there. Then whoever adds the rows up finds a difference, and names it by looking
//! for them one by one.
//!
//! **Bounds.** For each row one or two hashes, and an access to memory for each of them.
//!
//! **Failure.** No answer "no" of a filter is ever wrong, so one that denies a row is damaged: the next open makes the index
//! anew.

use std::sync::Arc;

use crate::api::{Head, Pair, SortOrder, StoreError, StreamId};
use crate::index::SortedRows;
use crate::index::bloom::hash;
use crate::index::run::Run;
use crate::index::trouble::Trouble;
use crate::rows::stream_key;
use crate::sync::read;

impl SortedRows {
    /// Rows with `from <= key < to`, the smallest key first, at most `limit`, each as [`Self::get`] finds it.
    ///
    /// # Errors
    /// As [`Self::get`]; also when rows of a run are out of their order.
    pub(crate) fn walk(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.gather((from, to), (SortOrder::Ascending, true), limit)
    }

    /// What [`Self::get`] finds where a walk upwards has found a row in a run behind the `last` one; `None` of a row that is
    /// found by its key and not by its beginning.
    pub(super) fn proven(
        &self,
        (run, runs): (&Run, &[Arc<Run>]),
        last: Option<&[u8]>,
        (key, value): (&[u8], Option<Vec<u8>>),
    ) -> Result<Option<Vec<u8>>, Trouble> {
        let id = run.info.id;
        if last.is_some_and(|last| key <= last) {
            return Err(format!("the rows of run {id} are out of their order").into());
        }
        if run.leads_to(key) {
            return Ok(value);
        }
        let why = format!("the filter of run {id} denies a row that the run has");
        // whoever walks learns it by what is left out
        drop(self.health.damage(&why));
        let hash = hash(key);
        for run in runs {
            if let Some(found) = run.get(&self.store, key, hash)? {
                return Ok(found.filter(|found| value.as_ref() != Some(found)));
            }
        }
        Ok(None)
    }

    /// The last entry of a stream that a row at rest says, where the index may have the row of that entry: nothing is read
    /// for that. Such a row is written behind its entry and never ahead of it, and whoever believed one that is would leave a
    /// gap in the journal. A filter that errs lets one in some hundreds pass; a verification finds all.
    ///
    /// # Errors
    /// `Corrupt` where the index has no such entry: it is made anew at the next open.
    pub(super) fn borne_out(&self, stream: StreamId, said: Head) -> Result<Head, StoreError> {
        if self.may_have(&stream_key(stream, said.seq)) {
            return Ok(said);
        }
        let StreamId {
            realm,
            kind,
            number,
        } = stream;
        Err(self.health.damage(&format!(
            "realm {realm}: a row at rest has entry {} of stream {kind}/{number}, and the stream has not",
            said.seq
        )))
    }

    /// Whether there may be a row under `key`: as far as it is in memory, and as filters say.
    fn may_have(&self, key: &[u8]) -> bool {
        let (frozen, runs) = {
            let state = read(&self.state);
            if let Some(found) = state.active.get(key) {
                return found.is_some();
            }
            (state.frozen.clone(), Arc::clone(&state.runs))
        };
        if let Some(found) = frozen.iter().find_map(|frozen| frozen.table.get(key)) {
            return found.is_some();
        }
        let hash = hash(key);
        runs.iter().any(|run| run.bloom.may_have(hash))
    }
}

#[cfg(test)]
impl SortedRows {
    /// Has the filter of each run deny a key, and others with it.
    pub(crate) fn deny(&self, key: &[u8]) {
        let mut state = crate::sync::write(&self.state);
        let denying = state.runs.iter().map(|run| {
            let mut bloom = run.bloom.clone();
            bloom.deny(hash(key));
            Arc::new(Run {
                info: run.info.clone(),
                fences: run.fences.clone(),
                bloom,
                scopes: run.scopes,
            })
        });
        let denying = denying.collect();
        state.runs = Arc::new(denying);
    }
}
