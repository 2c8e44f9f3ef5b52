//! Holds what rows say against what the index has.

use std::sync::Arc;

use crate::api::{Head, StoreError, StreamId};
use crate::index::SortedRows;
use crate::index::bloom::hash;
use crate::rows::stream_key;
use crate::sync::read;

impl SortedRows {
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
