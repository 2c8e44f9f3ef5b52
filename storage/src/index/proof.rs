//! Compares rows found by walking with rows found by their key.
//!
//! **Shape.** A walk asks no filter, and a lookup does: if a filter denies a row that its run has, the walk sees the
//! row and the lookup does not. So a verification walks with [`SortedRows::walk`], which asks the run's filter about
//! each row that it takes, and returns what [`SortedRows::get`] would: a row that only a walk sees is
//! left out, and a row whose removal only a walk sees is included. The verification's sum then differs, and it names
//! the rows by looking them up one by one.
//!
//! **Bounds.** One or two hashes per row, each with one memory access.
//!
//! **Failure.** A filter's "no" is never wrong, so a filter that denies an existing row is damaged: the next open
//! rebuilds the index.

use std::sync::Arc;

use crate::api::{Head, Pair, StoreError, StreamId};
use crate::index::SortedRows;
use crate::index::bloom::hash;
use crate::index::error::IndexError;
use crate::index::merge::{FoundRow, ScanWay};
use crate::index::run::Run;
use crate::rows::stream_key;
use crate::sync::read;

impl SortedRows {
    /// Rows with `from <= key < to`, smallest key first, at most `limit`, each as [`Self::get`] finds it.
    ///
    /// # Errors
    /// As [`Self::get`]; also when rows of a run are out of order.
    pub(crate) fn walk(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        let way = ScanWay {
            proves: true,
            ..ScanWay::PASSING
        };
        self.gather(from, to, way, limit)
    }

    /// The value that [`Self::get`] finds for a row that an ascending walk has found in a run after the key `last`;
    /// `None` for a row that is found by its key but not by its prefix.
    pub(super) fn proven(
        &self,
        found: FoundRow<'_>,
        runs: &[Arc<Run>],
        last: Option<&[u8]>,
        key: &[u8],
        value: Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, IndexError> {
        let id = found.run.info.id;
        if last.is_some_and(|last| key <= last) {
            return Err(format!("the rows of run {id} are out of their order").into());
        }
        if found.led_to {
            return Ok(value);
        }
        let why = format!("the filter of run {id} denies a row that the run has");
        // the walk's caller notices because the row is left out
        drop(self.health.damage(&why));
        let hash = hash(key);
        for run in runs {
            if let Some(found) = run.get(&self.store, key, hash)? {
                return Ok(found.filter(|found| value.as_ref() != Some(found)));
            }
        }
        Ok(None)
    }

    /// Confirms the last entry of a stream that a row at rest claims, if the index may have the row of that entry; this
    /// reads nothing from disk. A row at rest is written after its entry and never ahead of it; trusting one that is
    /// ahead would leave a gap in the journal. A filter's false positive lets one such row in some hundreds pass; a
    /// verification finds all of them.
    ///
    /// # Errors
    /// `Corrupt` when the index has no such entry: the next open rebuilds it.
    pub(super) fn borne_out(&self, stream: StreamId, said: Head) -> Result<Head, StoreError> {
        if self.may_have(&stream_key(stream, said.seq)) {
            return Ok(said);
        }
        Err(self.health.damage(&format!(
            "realm {}: a row at rest has entry {} of stream {}/{}, and the stream has not",
            stream.realm, said.seq, stream.kind, stream.number
        )))
    }

    /// Whether there may be a row under `key`, judging by the tables in memory and the filters.
    fn may_have(&self, key: &[u8]) -> bool {
        let view = {
            let state = read(&self.state);
            if let Some(found) = state.active.get(key) {
                return found.is_some();
            }
            state.view()
        };
        let mut frozen = view.frozen.iter();
        if let Some(found) = frozen.find_map(|frozen| frozen.rows.get(key)) {
            return found.is_some();
        }
        let hash = hash(key);
        view.runs.iter().any(|run| run.bloom.may_have(hash))
    }
}

#[cfg(test)]
impl SortedRows {
    /// Makes the filter of each run deny a key, and thereby others.
    pub(crate) fn deny(&self, key: &[u8]) {
        let mut state = crate::sync::write(&self.state);
        let denying = state.runs.iter().map(|run| {
            let mut bloom = run.bloom.clone();
            bloom.forget(hash(key));
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
