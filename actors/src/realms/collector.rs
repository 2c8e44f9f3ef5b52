//! Movements of the collector account that belong to no client: each is recorded once, and waits for a person if no rule
//! of the tenant says what it is.
//!
//! **Order.** One order at a time records or classifies movements of a realm, and the index is read only under that
//! claim. So the bank's statement may be read twice at the same time, and a movement still has one record.

use caudal_ledger::cases::{CollectorFact, Decision, RecordedMovement};
use caudal_ledger::collector::{CollectorClass, CollectorMovement, classify};
use caudal_ledger::rejection::Rejection;
use caudal_storage::StoreError;

use super::{RealmContext, RealmOrder, RealmSupervisor};
use crate::commit_writer::{Shared, WriteSet};
use crate::orders::{ContextOf, Order};
use crate::records::{COLLECTOR, reads, realm_stream};

/// The name of the claim.
const CLAIM: &[&[u8]] = &[b"m"];

/// What the bank's statement says that the ledger does not know yet. The outcome is how many facts were recorded.
#[derive(Default)]
pub struct RecordMovements {
    /// Movements of no client, as the bank lists them.
    pub own: Vec<CollectorMovement>,
    /// The sequences of recorded movements that turned out to be clients'.
    pub matched: Vec<u64>,
}

impl RecordMovements {
    /// Whether there is nothing to record.
    pub const fn is_empty(&self) -> bool {
        self.own.is_empty() && self.matched.is_empty()
    }
}

impl Order for RecordMovements {
    type Outcome = usize;
}

impl RealmOrder for RecordMovements {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let facts = realm
            .claim_operation(CLAIM, &mut request)
            .and_then(|()| Ok(realm.news_of_collector(self)?));
        match facts {
            Err(why) => realm.end(Err(why), request),
            Ok(facts) => {
                let stream = realm_stream(realm.shared.realm, COLLECTOR);
                let writes = realm.own_entries(stream, &facts).map(WriteSet::from);
                realm.writer.finish_if(writes, Ok(facts.len()), request);
            }
        }
    }
}

/// A person says what a movement of the collector account is.
pub struct ClassifyMovement {
    /// The sequence of the recorded movement.
    pub sequence: u64,
    /// What it is.
    pub class: CollectorClass,
    /// Who decides, and why.
    pub decision: Decision,
}

impl Order for ClassifyMovement {
    type Outcome = RecordedMovement;
}

impl RealmOrder for ClassifyMovement {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let Self {
            sequence,
            class,
            decision,
        } = self;
        let claimed = realm.claim_operation(CLAIM, &mut request);
        let decided = claimed.and_then(|()| {
            let Shared { store, realm, .. } = &*realm.shared;
            let found = reads::collector::recorded(store.as_ref(), *realm, sequence)?;
            let mut found = found.ok_or(Rejection::CaseNotFound)?;
            let fact = found.decide(class, decision)?;
            found.apply(&fact);
            Ok((found, fact))
        });
        match decided {
            Err(why) => realm.end(Err(why), request),
            Ok((found, fact)) => {
                let stream = realm_stream(realm.shared.realm, COLLECTOR);
                let writes = realm.own_entry(stream, &fact).map(WriteSet::from);
                realm.writer.finish_if(writes, Ok(found), request);
            }
        }
    }
}

impl RealmSupervisor {
    /// The facts that follow from the bank's statement.
    fn news_of_collector(&self, said: RecordMovements) -> Result<Vec<CollectorFact>, StoreError> {
        let Shared { store, realm, .. } = &*self.shared;
        let settings = self.shared.settings();
        let mut facts = Vec::new();
        for movement in said.own {
            let class = classify(&settings.collector_rules, &movement);
            let known = reads::collector::by_bank_id(store.as_ref(), *realm, &movement.bank_id)?;
            let named = class != CollectorClass::Unclassified;
            match known {
                None => {
                    if !named {
                        tracing::warn!(
                            realm = realm.0,
                            incoming = movement.incoming,
                            "a movement of the collector account has no class; it waits for a person"
                        );
                    }
                    let movement = Box::new(movement);
                    facts.push(CollectorFact::Listed { movement, class });
                }
                Some(known) if known.waits() && named => facts.push(CollectorFact::Classified {
                    record: known.sequence,
                    class,
                    decision: None,
                }),
                Some(_) => {}
            }
        }
        for sequence in said.matched {
            let known = reads::collector::recorded(store.as_ref(), *realm, sequence)?;
            if known.is_some_and(|known| !known.matched) {
                facts.push(CollectorFact::Matched { record: sequence });
            }
        }
        Ok(facts)
    }
}
