//! The cell of each realm, and how a realm moves into another one.
//!
//! **Shape.** A cell is a journal with the rows that are derived from it. The first one, number 0, has the platform's
//! own facts, including these, so a reader of that cell knows where everything is. A generation of a realm
//! ([`super::restores`]) is in one cell and never leaves it. To move a realm, another generation of it, a complete
//! copy, is made in another cell and put into force. So nothing is written twice under one number, and data left behind
//! can be distinguished from data in force, wherever both are.
//!
//! **Bounds.** [`CELLS_MAX`] cells; each move uses one of the realm's generation numbers.
//!
//! **Order.** A cell is added before anything is in it. A move is begun, then the copy is made. Then a fact says that
//! the realm leaves; a node that becomes the owner of the cell after that fact does not serve the realm. Then the rest
//! is copied, and one fact records the result and puts the copy into force. That fact is refused if the realm is not
//! leaving for this copy: another generation came into force meanwhile, or the move was given up.
//!
//! **Failure.** The copy of a move that never ended is invisible. A new move into the same cell continues it, as long
//! as it is the realm's last copy, was made of the generation in force, and was not found to differ from it; otherwise
//! another copy is begun. A realm whose move is given up stays where it was ([`Platform::stays`]).

use super::{Copied, Mode, Platform};
use crate::facts::PlatformFact;
use crate::ids::RealmId;
use crate::rejection::Rejection;
use crate::time::Timestamp;

/// The most cells, including the first one.
pub const CELLS_MAX: u32 = 16;

/// A step of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoveStep {
    /// Make a complete copy of the realm in another cell.
    Begin {
        /// The number of the cell.
        cell: u32,
        /// The last commit of that cell: the copy lies entirely after it.
        behind: u64,
        /// Whether to make another copy because the one that was begun cannot continue.
        anew: bool,
    },
    /// Stop serving the realm everywhere, until the copy is in force or is given up.
    Leave {
        /// The number of the generation.
        number: u32,
    },
    /// Do not put the copy into force now: the realm is served where it was. Does nothing if the realm is not leaving
    /// for this copy.
    Stay {
        /// The number of the generation.
        number: u32,
    },
    /// The whole realm is in the copy: put the copy into force. The realm must rest.
    End {
        /// The number of the generation.
        number: u32,
        /// The content of the copy.
        copied: Copied,
        /// The last commit of its cell: the copy lies entirely before it.
        commit: u64,
    },
}

/// Where a realm is, and which of its histories is in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The number of the cell.
    pub cell: u32,
    /// The number of the generation that is in force.
    pub generation: u32,
    /// How often another history came into force. A move does not count: it keeps the history.
    pub turns: u32,
}

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

    /// The cell that contains a generation of a realm.
    pub fn cell_of(&self, realm: RealmId, generation: u32) -> u32 {
        let copy = self.generations(realm).and_then(|it| it.copy(generation));
        match copy {
            Some(copy) => copy.cell,
            None => self.placed.get(&realm).map_or(0, |cell| *cell),
        }
    }

    /// Where a realm is.
    pub fn standing(&self, realm: RealmId) -> Standing {
        let generation = self.in_force(realm);
        Standing {
            cell: self.cell_of(realm, generation),
            generation,
            turns: self.generations(realm).map_or(0, |it| it.turns),
        }
    }

    /// The realms about whose place a fact exists, with where they are.
    pub fn standings(&self) -> impl Iterator<Item = (RealmId, Standing)> {
        let placed = self.placed.keys();
        let copied = self.generations.keys();
        let copied = copied.filter(|realm| !self.placed.contains_key(realm));
        placed
            .chain(copied)
            .map(|realm| (*realm, self.standing(*realm)))
    }

    /// How many realms are in a cell.
    pub fn realms_in(&self, cell: u32) -> usize {
        let tenants = self.tenants.values();
        let realms = tenants.flat_map(|it| [it.live, it.test]);
        realms
            .filter(|realm| self.standing(*realm).cell == cell)
            .count()
    }

    /// The cell with the fewest realms; of several, the one with the lowest number.
    pub fn emptiest(&self) -> u32 {
        let others = self.cells.keys().map(|cell| (self.realms_in(*cell), *cell));
        let (_, cell) = others.fold((self.realms_in(0), 0), Ord::min);
        cell
    }

    /// The commit that a cell must have reached at least, because a realm was moved into it with that commit.
    pub fn reach_of(&self, cell: u32) -> u64 {
        let copies = self.generations.values().flat_map(|it| it.copies());
        let there = copies.filter(|(_, copy)| copy.cell == cell);
        there.map(|(_, copy)| copy.commit).fold(0, u64::max)
    }

    /// The commit of its cell after which a generation of a realm lies entirely; 0 if that is unknown.
    pub fn behind_of(&self, realm: RealmId, generation: u32) -> u64 {
        let copy = self.generations(realm).and_then(|it| it.copy(generation));
        // A restore was begun when its cell had the last commit that it may copy.
        copy.map_or(0, |copy| {
            copy.behind.map_or(copy.point.until, |behind| behind)
        })
    }

    /// The number of the realm's move into this cell that was begun, has not ended, and can still continue.
    pub fn moving(&self, realm: RealmId, cell: u32) -> Option<u32> {
        let known = self.generations(realm)?;
        let (number, copy) = known.copies().next_back()?;
        let goes_on = copy.behind.is_some() && copy.copied.is_none();
        let same = copy.cell == cell && copy.point.from == known.in_force;
        (goes_on && same).then_some(number)
    }

    /// Whether a realm rests everywhere, because the last part of it is being copied into another cell.
    pub fn is_leaving(&self, realm: RealmId) -> bool {
        self.generations(realm)
            .is_some_and(|it| it.leaving.is_some())
    }

    /// The copy for which a realm rests everywhere.
    pub fn leaves_for(&self, realm: RealmId) -> Option<u32> {
        self.generations(realm)?.leaving
    }

    /// The facts that make every leaving realm stay in its cell, because the process that moved it is gone.
    pub fn stays(&self, at: Timestamp) -> Vec<PlatformFact> {
        let tenants = self.tenants.values();
        let realms = tenants.flat_map(|it| [(it, Mode::Live), (it, Mode::Test)]);
        let stays = realms.filter_map(|(tenant, mode)| {
            let known = self.generations(tenant.realm(mode))?;
            Some(PlatformFact::RealmLeaves {
                id: tenant.id.clone(),
                mode,
                number: known.leaving?,
                leaves: false,
                at,
            })
        });
        stays.collect()
    }

    /// Decides a step of a move; returns no facts if it was already done.
    ///
    /// # Errors
    /// When the tenant, cell or generation does not exist, the realm is being filled, another generation came into
    /// force meanwhile, or the realm has too many generations.
    pub(super) fn moves(
        &self,
        of: (&str, Mode),
        step: MoveStep,
        now: Timestamp,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        match step {
            MoveStep::Begin { cell, behind, anew } => {
                self.begin_move(of, (cell, behind, anew), now)
            }
            MoveStep::Leave { number } => self.leave(of, (number, true), now),
            MoveStep::Stay { number } => self.leave(of, (number, false), now),
            MoveStep::End {
                number,
                copied,
                commit,
            } => self.end_move(of, number, (copied, commit), now),
        }
    }

    fn begin_move(
        &self,
        (id, mode): (&str, Mode),
        (cell, behind, anew): (u32, u64, bool),
        now: Timestamp,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        let realm = self.tenant(id)?.realm(mode);
        if !self.has_cell(cell) {
            return Err(Rejection::CellNotFound);
        }
        self.can_be_copied(realm)?;
        let goes_on = self.moving(realm, cell).is_some() && !anew;
        if self.standing(realm).cell == cell || goes_on {
            return Ok(Vec::new());
        }
        let number = self.next_copy(realm)?;
        Ok(vec![PlatformFact::MoveBegun {
            id: id.to_owned(),
            mode,
            number,
            from: self.in_force(realm),
            cell,
            behind,
            at: now,
        }])
    }

    fn leave(
        &self,
        (id, mode): (&str, Mode),
        (number, leaves): (u32, bool),
        at: Timestamp,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        let realm = self.tenant(id)?.realm(mode);
        let known = self.generations(realm).ok_or(Rejection::RestoreNotFound)?;
        let copy = known.copy(number).ok_or(Rejection::RestoreNotFound)?;
        if (known.leaving == Some(number)) == leaves {
            return Ok(Vec::new());
        }
        if leaves && self.moving(realm, copy.cell) != Some(number) {
            return Err(Rejection::RestoreConflict);
        }
        Ok(vec![PlatformFact::RealmLeaves {
            id: id.to_owned(),
            mode,
            number,
            leaves,
            at,
        }])
    }

    fn end_move(
        &self,
        (id, mode): (&str, Mode),
        number: u32,
        (copied, commit): (Copied, u64),
        at: Timestamp,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        let realm = self.tenant(id)?.realm(mode);
        let known = self.generations(realm).ok_or(Rejection::RestoreNotFound)?;
        let copy = known.copy(number).ok_or(Rejection::RestoreNotFound)?;
        if known.in_force == number && copy.copied == Some(copied) {
            return Ok(Vec::new());
        }
        let goes_on = self.moving(realm, copy.cell) == Some(number);
        match goes_on && known.leaving == Some(number) {
            true => Ok(vec![PlatformFact::RealmMoved {
                id: id.to_owned(),
                mode,
                number,
                copied,
                commit,
                at,
            }]),
            false => Err(Rejection::RestoreConflict),
        }
    }
}

#[cfg(test)]
mod tests;
