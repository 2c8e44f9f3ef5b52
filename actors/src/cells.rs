//! Where a realm is: realm → cell → store, asked here and nowhere else.
//!
//! **Shape.** A cell is one log with the rows that are derived from it. The platform's own facts are in
//! the first cell. This process has one cell and all realms are in it; whoever reads or writes still
//! says for whom, so that a second cell changes this file and not its callers.

use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_storage::{Checks, Stats, Store, StoreError};

/// The stores of this process.
#[derive(Clone, Debug)]
pub struct Cells {
    first: Arc<dyn Store>,
}

impl Cells {
    /// One cell, in which everything is.
    pub fn one(first: Arc<dyn Store>) -> Self {
        Self { first }
    }

    /// The store with the platform's facts: tenants, keys, settings.
    pub fn platform(&self) -> &Arc<dyn Store> {
        &self.first
    }

    /// The store of a realm.
    pub fn of(&self, _realm: RealmId) -> &Arc<dyn Store> {
        &self.first
    }

    /// Every store, for what concerns no realm, or a realm that is still to be found.
    pub fn all(&self) -> impl Iterator<Item = &Arc<dyn Store>> {
        std::iter::once(&self.first)
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
