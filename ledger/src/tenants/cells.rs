//! Which cell a realm is in, and how it moves into another one.
//!
//! **Shape.** A cell is a journal with the rows that are derived from it. The first one, number 0, has the platform's
//! own facts, including these, so a reader of all of it knows where everything is. A generation of a realm
//! ([`super::restores`]) lies in one cell and never leaves it. To move a realm is to make another generation of it, a
//! copy of all that it did, in another cell, and to put that one into force. So nothing is written twice under one
//! number, and what is left behind can be told from what is in force, wherever both are.
//!
//! **Bounds.** [`CELLS_MAX`] cells; a move takes one of the realm's numbers of generations.
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

/// The most cells that there are, the first one counted.
pub const CELLS_MAX: u32 = 16;

/// A step of a move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MoveStep {
    /// Make a copy of all of the realm in another cell.
    Begin {
        /// The number of the cell.
        cell: u32,
        /// The last commit of that cell: nothing of the copy lies before it.
        behind: u64,
        /// Whether another copy is to be made than the one that was begun, which cannot go on.
        anew: bool,
    },
    /// Nobody serves the realm from here on, until the copy is in force or is given up.
    Leave {
        /// The number of the generation.
        number: u32,
    },
    /// The copy is not in force now: the realm is served where it was. Nothing where it does not leave for this copy.
    Stay {
        /// The number of the generation.
        number: u32,
    },
    /// All of the realm is there: put it into force. The realm has to rest.
    End {
        /// The number of the generation.
        number: u32,
        /// What it came to.
        copied: Copied,
        /// The last commit of its cell: all of the copy lies before it.
        commit: u64,
    },
}

/// Where a realm lies, and which of its histories that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The number of the cell.
    pub cell: u32,
    /// The number of the generation that is in force.
    pub generation: u32,
    /// How often another history came into force. A move gives the realm no other one.
    pub turns: u32,
}

impl Platform {
    /// Which store each cell beside the first one is, by the number of the cell.
    pub fn cells(&self) -> impl Iterator<Item = (u32, &str)> {
        self.cells
            .iter()
            .map(|(cell, store)| (*cell, store.as_str()))
    }

    /// Whether there is a cell of that number.
    pub fn has_cell(&self, cell: u32) -> bool {
        cell == 0 || self.cells.contains_key(&cell)
    }

    /// What adds a cell; `None` where it is there. A store in which something is, or that is another cell, is the
    /// caller's to refuse.
    pub fn add_cell(&self, cell: u32, store: &str) -> Option<PlatformFact> {
        let store = store.to_owned();
        let new = !self.has_cell(cell);
        new.then_some(PlatformFact::CellAdded { cell, store })
    }

    /// What says that both realms of a new tenant lie in a cell. Of a realm in the first cell nothing is said.
    pub(super) fn placed(tenant: &str, cell: u32) -> Vec<PlatformFact> {
        let places = [Mode::Live, Mode::Test].map(|mode| PlatformFact::RealmPlaced {
            id: tenant.to_owned(),
            mode,
            cell,
        });
        places.into_iter().filter(|_| cell > 0).collect()
    }

    /// The cell in which a generation of a realm lies.
    pub fn cell_of(&self, realm: RealmId, generation: u32) -> u32 {
        let copy = self.generations(realm).and_then(|it| it.copy(generation));
        match copy {
            Some(copy) => copy.cell,
            None => self.placed.get(&realm).map_or(0, |cell| *cell),
        }
    }

    /// Where a realm lies.
    pub fn standing(&self, realm: RealmId) -> Standing {
        let generation = self.in_force(realm);
        Standing {
            cell: self.cell_of(realm, generation),
            generation,
            turns: self.generations(realm).map_or(0, |it| it.turns),
        }
    }

    /// Realms of which something was said of where they lie, with what holds of them.
    pub fn standings(&self) -> impl Iterator<Item = (RealmId, Standing)> {
        let placed = self.placed.keys();
        let copied = self.generations.keys();
        let copied = copied.filter(|realm| !self.placed.contains_key(realm));
        placed
            .chain(copied)
            .map(|realm| (*realm, self.standing(*realm)))
    }

    /// How many realms lie in a cell.
    pub fn realms_in(&self, cell: u32) -> usize {
        let tenants = self.tenants.values();
        let realms = tenants.flat_map(|it| [it.live, it.test]);
        realms
            .filter(|realm| self.standing(*realm).cell == cell)
            .count()
    }

    /// The cell with the fewest realms, the first one of several.
    pub fn emptiest(&self) -> u32 {
        let others = self.cells.keys().map(|cell| (self.realms_in(*cell), *cell));
        let (_, cell) = others.fold((self.realms_in(0), 0), Ord::min);
        cell
    }

    /// Up to which commit a cell has to reach at least, because a realm was moved into it with that one.
    pub fn reach_of(&self, cell: u32) -> u64 {
        let copies = self.generations.values().flat_map(|it| it.copies());
        let there = copies.filter(|(_, copy)| copy.cell == cell);
        there.map(|(_, copy)| copy.commit).fold(0, u64::max)
    }

    /// The commit of its cell behind which all of a generation of a realm lies; 0 where that is not known.
    pub fn behind_of(&self, realm: RealmId, generation: u32) -> u64 {
        let copy = self.generations(realm).and_then(|it| it.copy(generation));
        // What restores an instant was begun when its cell had the last commit that it may copy.
        copy.map_or(0, |copy| {
            copy.behind.map_or(copy.point.until, |behind| behind)
        })
    }

    /// The number of a move of the realm into this cell that was begun, did not end, and can still.
    pub fn moving(&self, realm: RealmId, cell: u32) -> Option<u32> {
        let known = self.generations(realm)?;
        let (number, copy) = known.copies().next_back()?;
        let goes_on = copy.behind.is_some() && copy.copied.is_none();
        let same = copy.cell == cell && copy.point.from == known.in_force;
        (goes_on && same).then_some(number)
    }

    /// Whether a realm rests wherever it is, because the last of it is being copied into another cell.
    pub fn is_leaving(&self, realm: RealmId) -> bool {
        self.generations(realm)
            .is_some_and(|it| it.leaving.is_some())
    }

    /// For which copy a realm rests wherever it is.
    pub fn leaves_for(&self, realm: RealmId) -> Option<u32> {
        self.generations(realm)?.leaving
    }

    /// What has every realm stay that leaves its cell: whoever moved it is gone.
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

    /// What follows of a step of a move; nothing where it was done before.
    ///
    /// # Errors
    /// A tenant, a cell or a generation that is not, a realm that is being filled, one that was switched meanwhile, one
    /// generation too many.
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
