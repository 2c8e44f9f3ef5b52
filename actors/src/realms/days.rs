//! The realm's record of its closed days.
//!
//! **Order.** One order at a time records a day, and the index is read only under that claim. So two rounds may read the
//! same figures at the same time, and the day is closed once.

use caudal_ledger::days::{BankOfDay, ClosedDay, DayFact};
use caudal_ledger::time::BusinessDay;

use super::{RealmContext, RealmOrder, RealmSupervisor};
use crate::commit_writer::{RequestContext, Shared, WriteSet};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};
use crate::records::{DAYS, reads, realm_stream};

/// Records what was learned of a day. The outcome is whether that was news.
pub enum RecordDay {
    /// The day is closed with these figures.
    Closed(Box<ClosedDay>),
    /// The bank's side of a day that was closed without it.
    Bank(BusinessDay, Box<BankOfDay>),
}

impl Order for RecordDay {
    type Outcome = bool;
}

impl RealmOrder for RecordDay {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        match realm.news_of_day(self, &mut request) {
            Err(why) => realm.end(Err(why), request),
            Ok(None) => realm.writer.end(Ok(false), request),
            Ok(Some(fact)) => {
                let stream = realm_stream(realm.shared.realm, DAYS);
                let writes = realm.own_entry(stream, &fact).map(WriteSet::from);
                realm.writer.finish_if(writes, Ok(true), request);
            }
        }
    }
}

impl RealmSupervisor {
    /// The fact to record; `None` if it is known, or does not follow the last closed day.
    fn news_of_day(
        &self,
        said: RecordDay,
        request: &mut RequestContext<bool>,
    ) -> Result<Option<DayFact>, Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        self.claim_operation(&[b"d"], request)?;
        Ok(match said {
            RecordDay::Closed(day) => {
                let last = reads::days::last(store.as_ref(), *realm)?;
                let follows = day.figures.follows(last.as_ref().map(|last| &last.day));
                follows.then_some(DayFact::Closed(day))
            }
            RecordDay::Bank(date, bank) => {
                let known = reads::days::of(store.as_ref(), *realm, date)?;
                let waits = known.is_some_and(|known| known.waits_for_bank());
                waits.then_some(DayFact::BankKnown { date, bank })
            }
        })
    }
}
