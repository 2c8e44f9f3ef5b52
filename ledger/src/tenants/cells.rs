//! The cell of each realm.
//!
//! **Shape.** A cell is a journal with the rows that are derived from it. The first one, number 0, has the platform's
//! own facts, including these, so a reader of that cell knows where everything is.
//!
//! **Bounds.** [`CELLS_MAX`] cells.
//!
//! **Order.** A cell is added before anything is in it. A realm never leaves its cell.

use super::{Mode, Platform};
use crate::facts::PlatformFact;
use crate::ids::RealmId;

/// The most cells, including the first one.
pub const CELLS_MAX: u32 = 16;

impl Platform {
    /// The stores of the cells other than the first one, by the number of the cell.
    pub fn cells(&self) -> impl Iterator<Item = (u32, &str)> {
        self.cells
            .iter()
            .map(|(cell, store)| (*cell, store.as_str()))
    }

    /// Whether there is a cell with this number.
    pub fn has_cell(&self, cell: u32) -> bool {
        cell == 0 || self.cells.contains_key(&cell)
    }

    /// The fact that adds a cell; `None` if it already exists. The caller has to refuse a store that is not empty or
    /// already is another cell.
    pub fn add_cell(&self, cell: u32, store: &str) -> Option<PlatformFact> {
        let store = store.to_owned();
        let new = !self.has_cell(cell);
        new.then_some(PlatformFact::CellAdded { cell, store })
    }

    /// The facts that place both realms of a new tenant in a cell. A realm in the first cell needs no fact.
    pub(super) fn placed(tenant: &str, cell: u32) -> Vec<PlatformFact> {
        let places = [Mode::Live, Mode::Test].map(|mode| PlatformFact::RealmPlaced {
            id: tenant.to_owned(),
            mode,
            cell,
        });
        places.into_iter().filter(|_| cell > 0).collect()
    }

    /// The cell that contains a realm.
    pub fn cell_of(&self, realm: RealmId) -> u32 {
        self.placed.get(&realm).copied().unwrap_or(0)
    }

    /// The realms that are not in the first cell, with the cell of each.
    pub fn placements(&self) -> impl Iterator<Item = (RealmId, u32)> {
        self.placed.iter().map(|(realm, cell)| (*realm, *cell))
    }

    /// How many realms are in a cell.
    pub fn realms_in(&self, cell: u32) -> usize {
        let tenants = self.tenants.values();
        let realms = tenants.flat_map(|it| [it.live, it.test]);
        realms.filter(|realm| self.cell_of(*realm) == cell).count()
    }

    /// The cell with the fewest realms; of several, the one with the lowest number.
    pub fn emptiest(&self) -> u32 {
        let others = self.cells.keys().map(|cell| (self.realms_in(*cell), *cell));
        let (_, cell) = others.fold((self.realms_in(0), 0), Ord::min);
        cell
    }
}

#[cfg(test)]
mod tests;
