//! Where a realm is: realm → cell → store, asked here and nowhere else.
//!
//! **Shape.** A cell is one log with the rows that are derived from it. The platform's own facts are in
//! the first cell. This process has one cell and all realms are in it; whoever reads or writes still
//! says for whom, so that a second cell changes this file and not its callers. A realm of which a later
//! generation is in force ([`caudal_ledger::tenants::restores`]) is seen through a [`View`], which has that one in
//! the realm's place. What goes round it says so: the cell as it lies, which generations are told apart in.
//!
//! **Order.** Which generation is seen changes while the realm rests. Who has taken a store out keeps what it has.

mod view;

use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_storage::{Checks, Index, Stats, Store, StoreError};
use dashmap::DashMap;

pub use view::View;

/// The number of a generation, and the store in which it is in its realm's place.
type Seen = (u32, Arc<dyn Store>);

/// The stores of this process.
#[derive(Clone, Debug)]
pub struct Cells {
    first: Arc<dyn Store>,
    /// Of realms whose first generation is not in force: which is, and how it is seen.
    views: Arc<DashMap<RealmId, Seen>>,
}

impl Cells {
    /// One cell, in which everything is, with the first generation of each realm in force.
    pub fn one(first: Arc<dyn Store>) -> Self {
        Self {
            first,
            views: Arc::default(),
        }
    }

    /// Sees of each realm the generation that is in force.
    pub fn follow(&self, platform: &Platform) {
        let gone = |realm: &RealmId| platform.in_force(*realm) == 0;
        self.views.retain(|realm, _| !gone(realm));
        for (realm, generation) in platform.restored() {
            let known = self.views.get(&realm).map(|it| it.0);
            if known != Some(generation) {
                let view = View::of(Arc::clone(&self.first), realm, generation);
                self.views.insert(realm, (generation, Arc::new(view)));
            }
        }
    }

    /// The store with the platform's facts: tenants, keys, settings.
    pub fn platform(&self) -> &Arc<dyn Store> {
        &self.first
    }

    /// The store of a realm, in which the generation is that is in force.
    pub fn of(&self, realm: RealmId) -> Arc<dyn Store> {
        match self.views.get(&realm) {
            Some(known) => Arc::clone(&known.1),
            None => Arc::clone(&self.first),
        }
    }

    /// Under which number a realm lies in [`Self::all`].
    pub fn lies(&self, realm: RealmId) -> RealmId {
        let known = self.views.get(&realm);
        known.map_or(realm, |known| realm.under(known.0))
    }

    /// Every store as it lies, for what concerns no realm.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Store>> {
        std::iter::once(&self.first)
    }

    /// What is found of a realm that is still to be found, where each is seen as it is in force.
    ///
    /// # Errors
    /// The first of `find`.
    pub fn find<T>(
        &self,
        find: impl Fn(&dyn Index) -> Result<Option<(RealmId, T)>, StoreError>,
    ) -> Result<Option<(RealmId, T)>, StoreError> {
        let seen: Vec<_> = self
            .views
            .iter()
            .map(|it| (*it.key(), Arc::clone(&it.1)))
            .collect();
        for (realm, view) in seen {
            let found = find(view.as_ref())?;
            if found.as_ref().is_some_and(|(of, _)| *of == realm) {
                return Ok(found);
            }
        }
        let found = find(self.first.as_ref())?;
        // What the first generation of a realm knows is not in force where another one is.
        Ok(found.filter(|(of, _)| !self.views.contains_key(of)))
    }

    /// Figures of the store with the platform's facts.
    pub fn stats(&self) -> Stats {
        self.first.stats()
    }

    /// What the background check of that store does and found.
    pub fn checks(&self) -> Checks {
        self.first.checks()
    }

    /// Whether all of them take commits.
    ///
    /// # Errors
    /// Why one does not.
    pub fn ready(&self) -> Result<(), StoreError> {
        self.all().try_for_each(|store| store.ready())
    }

    /// Makes everything durable and ends all of them; what the first says that cannot be closed is
    /// given when all have been asked.
    ///
    /// # Errors
    /// When one of them cannot be closed in order.
    pub fn close(&self) -> Result<(), StoreError> {
        let ends: Vec<_> = self.all().map(|store| store.close()).collect();
        ends.into_iter().collect()
    }
}
