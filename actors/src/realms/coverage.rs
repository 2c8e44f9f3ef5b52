//! The realm's record of whether its collector account has what its clients own.

use caudal_ledger::coverage::CoverageFact;
use caudal_storage::StoreError;

use super::{RealmContext, RealmOrder, RealmSupervisor};
use crate::commit_writer::WriteSet;
use crate::orders::{ContextOf, Order};
use crate::records::{self, COVERAGE, reads};

/// Records what a check of the collector account found, if it differs from what the realm recorded last. Returns
/// whether it does.
pub struct RecordCoverage(pub CoverageFact);

impl Order for RecordCoverage {
    type Outcome = bool;
}

impl RealmOrder for RecordCoverage {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        let Self(fact) = self;
        match realm.is_covered() {
            Ok(known) if known == fact.covered => realm.writer.end(Ok(false), request),
            Ok(_) => {
                let stream = records::realm_stream(realm.shared.realm, COVERAGE);
                let writes = realm.own_entry(stream, &fact).map(WriteSet::from);
                realm.covered = Some(fact.covered);
                realm.writer.finish_if(writes, Ok(true), request);
            }
            Err(why) => request.answer(Err(why.into())),
        }
    }
}

impl RealmSupervisor {
    /// Whether the realm's money is covered, by its last fact about it; a realm begins covered.
    fn is_covered(&mut self) -> Result<bool, StoreError> {
        if let Some(known) = self.covered {
            return Ok(known);
        }
        let last = reads::coverage::last(self.shared.store.as_ref(), self.shared.realm)?;
        let covered = last.is_none_or(|fact| fact.covered);
        self.covered = Some(covered);
        Ok(covered)
    }
}
