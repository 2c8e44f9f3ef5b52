//! In which cell a realm lies, and how it gets into another one.
//!
//! **Shape.** A cell is a journal with the rows that are derived from it. The first one, number 0, has the platform's
//! own facts, these among them, so who reads it to its end knows where everything is. A generation of a realm
//! ([`super::restores`]) lies in one cell and never leaves it. To move a realm is to make another generation of it, a copy of
//! all that it did, in another cell, and to put that one into force. So nothing is written twice under one number,
//! and what is left behind can be told from what is in force, wherever both are.
//!
//! **Bounds.** [`CELLS_MAX`] cells; a move takes one of the realm's numbers of generations.
//!
//! **Order.** A cell is added before anything is in it. A move is begun, then the copy is made; then a fact says that the
//! realm leaves, and whoever comes to own its cell behind that fact does not serve it; then the last of it is copied, and one fact
//! says what it came to and puts it into force. That fact is refused where the realm does not leave for this copy: another
//! generation came into force meanwhile, or it was given up.
//!
//! **Failure.** A move that was begun and never ended is seen by nobody. Begun again into the same cell it goes on, as long as
//! its copy is the realm's last one, is a copy of what is in force, and was not found to be no beginning of the realm;
//! otherwise another copy is begun. A realm whose move is given up stays where it was ([`Platform::stays`]).

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
mod tests {
    use super::*;
    use crate::tenants::orders::{NewTenant, PlatformOrder};
    use crate::tenants::restores::RestoreStep;
    use crate::tenants::{BankRelations, Policy};

    const ID: &str = "one";
    const COPIED: Copied = Copied {
        entries: 7,
        digest: crate::chain::Digest([7; 32]),
    };

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn told(platform: &mut Platform, order: PlatformOrder, now: u64) -> Result<usize, Rejection> {
        let facts = platform.decide(order, at(now))?;
        facts.iter().for_each(|fact| platform.apply(fact));
        Ok(facts.len())
    }

    fn step(platform: &mut Platform, step: MoveStep, now: u64) -> Result<usize, Rejection> {
        let (id, mode) = (ID.to_owned(), Mode::Live);
        told(platform, PlatformOrder::Move { id, mode, step }, now)
    }

    fn begin_step(cell: u32, anew: bool) -> MoveStep {
        let behind = 50;
        MoveStep::Begin { cell, behind, anew }
    }

    fn begin(platform: &mut Platform, cell: u32) -> Result<usize, Rejection> {
        step(platform, begin_step(cell, false), 200)
    }

    fn leave(platform: &mut Platform, number: u32) -> Result<usize, Rejection> {
        step(platform, MoveStep::Leave { number }, 300)
    }

    fn end(platform: &mut Platform, number: u32) -> Result<usize, Rejection> {
        let (copied, commit) = (COPIED, 60);
        let over = MoveStep::End {
            number,
            copied,
            commit,
        };
        step(platform, over, 300)
    }

    fn restore(platform: &mut Platform, step: RestoreStep) -> Result<usize, Rejection> {
        let (id, mode) = (ID.to_owned(), Mode::Live);
        told(platform, PlatformOrder::Restore { id, mode, step }, 500)
    }

    fn created(platform: &mut Platform, id: &str, cell: u32) -> Result<usize, Rejection> {
        let new = NewTenant {
            id: id.to_owned(),
            name: "One".to_owned(),
            policy: Policy::default(),
            limits: Default::default(),
            total_limits: Default::default(),
            fees: Vec::new(),
            banks: BankRelations::default(),
        };
        told(platform, PlatformOrder::CreateTenant(new, cell), 100)
    }

    fn platform(cell: u32) -> (Platform, RealmId) {
        let mut platform = Platform::default();
        for cell in [1, 2] {
            let added = platform.add_cell(cell, "aa").unwrap();
            platform.apply(&added);
            assert_eq!(platform.add_cell(cell, "aa"), None);
        }
        let facts = if cell == 0 { 1 } else { 3 };
        assert_eq!(created(&mut platform, ID, cell), Ok(facts));
        let realm = platform.tenant(ID).unwrap().live;
        (platform, realm)
    }

    fn lies(platform: &Platform, realm: RealmId) -> (u32, u32, u32) {
        let Standing {
            cell,
            generation,
            turns,
        } = platform.standing(realm);
        (cell, generation, turns)
    }

    #[test]
    fn a_copy_that_cannot_go_on_is_followed_by_another_one() {
        let (mut platform, realm) = platform(0);
        assert_eq!(begin(&mut platform, 2), Ok(1));
        assert_eq!(begin(&mut platform, 2), Ok(0), "it goes on");
        assert_eq!(platform.moving(realm, 2), Some(1));
        assert_eq!(step(&mut platform, begin_step(2, true), 210), Ok(1));
        assert_eq!(platform.moving(realm, 2), Some(2));
        assert_eq!(end(&mut platform, 1), Err(Rejection::RestoreConflict));
        assert_eq!(end(&mut platform, 2), Ok(1));
        assert_eq!(lies(&platform, realm), (2, 2, 0));
        assert_eq!(
            step(&mut platform, begin_step(2, true), 310),
            Ok(0),
            "it is there"
        );
        let behind = [0, 1, 2].map(|number| platform.behind_of(realm, number));
        assert_eq!(behind, [0, 50, 50]);
    }

    #[test]
    fn a_tenant_is_where_it_was_made_and_cells_that_are_not_take_nobody() {
        let (platform, realm) = platform(2);
        assert_eq!(lies(&platform, realm), (2, 0, 0));
        assert_eq!((platform.realms_in(0), platform.realms_in(2)), (0, 2));
        let (mut platform, realm) = self::platform(0);
        assert_eq!(lies(&platform, realm), (0, 0, 0));
        assert_eq!(begin(&mut platform, 3), Err(Rejection::CellNotFound));
        for id in ["two", ID] {
            let nowhere = created(&mut platform, id, 3);
            assert_eq!(nowhere, Err(Rejection::CellNotFound));
        }
        let again = created(&mut platform, ID, 1);
        assert_eq!(again, Err(Rejection::TenantTaken));
        assert_eq!(platform.standings().count(), 0);
    }

    #[test]
    fn the_emptiest_cell_is_the_first_one_of_those_with_the_fewest_realms() {
        let (mut platform, _) = platform(0);
        for (id, cell) in [("two", 1), ("three", 2), ("four", 0), ("five", 1)] {
            assert_eq!(platform.emptiest(), cell, "{id}");
            created(&mut platform, id, cell).unwrap();
        }
        // What was moved counts where it is.
        begin(&mut platform, 2).unwrap();
        end(&mut platform, 1).unwrap();
        assert_eq!([0, 1, 2].map(|cell| platform.realms_in(cell)), [3, 4, 3]);
        created(&mut platform, "six", 0).unwrap();
        assert_eq!(platform.emptiest(), 2);
        assert_eq!(Platform::default().emptiest(), 0, "there is no other one");
    }

    #[test]
    fn a_realm_goes_there_and_back_and_nothing_of_it_is_held() {
        let (mut platform, realm) = platform(1);
        assert_eq!(begin(&mut platform, 1), Ok(0), "it is there");
        for (number, cell) in [(1, 0), (2, 1), (3, 2), (4, 0)] {
            assert_eq!(begin(&mut platform, cell), Ok(1));
            assert_eq!(begin(&mut platform, cell), Ok(0), "it goes on");
            assert_eq!(platform.moving(realm, cell), Some(number));
            assert_eq!(
                end(&mut platform, number + 1),
                Err(Rejection::RestoreNotFound)
            );
            assert_eq!(leave(&mut platform, number), Ok(1));
            assert_eq!(leave(&mut platform, number), Ok(0));
            assert!(platform.is_leaving(realm));
            assert_eq!(end(&mut platform, number), Ok(1));
            assert_eq!(end(&mut platform, number), Ok(0));
            assert!(!platform.is_leaving(realm));
            assert_eq!(lies(&platform, realm), (cell, number, 0));
            assert_eq!(platform.reach_of(cell), 60);
            assert!(!platform.is_held(realm));
        }
        assert_eq!(platform.cell_of(realm, 0), 1, "what was left stays");
    }

    #[test]
    fn a_move_that_another_one_or_a_switch_overtook_does_not_end() {
        let (mut platform, realm) = platform(0);
        begin(&mut platform, 1).unwrap();
        begin(&mut platform, 2).unwrap();
        assert_eq!(platform.moving(realm, 1), None);
        assert_eq!(leave(&mut platform, 1), Err(Rejection::RestoreConflict));
        assert_eq!(end(&mut platform, 1), Err(Rejection::RestoreConflict));
        leave(&mut platform, 2).unwrap();
        assert_eq!(end(&mut platform, 2), Ok(1));
        let begun = RestoreStep::Begin {
            at: at(250),
            until: 9,
        };
        assert_eq!(restore(&mut platform, begun), Ok(1));
        let (number, copied) = (3, COPIED);
        assert_eq!(
            restore(&mut platform, RestoreStep::End { number, copied }),
            Ok(1)
        );
        begin(&mut platform, 1).unwrap();
        leave(&mut platform, 4).unwrap();
        // another history: what the copy is of is in force no more
        assert_eq!(restore(&mut platform, RestoreStep::Switch(3)), Ok(1));
        assert_eq!(end(&mut platform, 4), Err(Rejection::RestoreConflict));
        assert_eq!(lies(&platform, realm), (0, 3, 1));
        // and back: nobody was moved from there
        assert_eq!(restore(&mut platform, RestoreStep::Switch(2)), Ok(1));
    }

    #[test]
    fn a_move_that_is_given_up_does_not_end_before_the_realm_leaves_again() {
        let (mut platform, realm) = platform(0);
        begin(&mut platform, 2).unwrap();
        assert_eq!(end(&mut platform, 1), Err(Rejection::RestoreConflict));
        leave(&mut platform, 1).unwrap();
        // whoever moved it is gone
        let stays = platform.stays(at(310));
        assert_eq!(stays.len(), 1);
        stays.iter().for_each(|fact| platform.apply(fact));
        assert!(!platform.is_leaving(realm) && platform.stays(at(310)).is_empty());
        assert_eq!(end(&mut platform, 1), Err(Rejection::RestoreConflict));
        let stay = MoveStep::Stay { number: 1 };
        assert_eq!(step(&mut platform, stay, 320), Ok(0));
        leave(&mut platform, 1).unwrap();
        assert_eq!(step(&mut platform, stay, 320), Ok(1));
        leave(&mut platform, 1).unwrap();
        assert_eq!(end(&mut platform, 1), Ok(1));
        assert_eq!(lies(&platform, realm), (2, 1, 0));
    }

    #[test]
    fn what_a_move_left_does_not_come_into_force_again() {
        let (mut platform, realm) = platform(0);
        begin(&mut platform, 2).unwrap();
        assert_eq!(
            restore(&mut platform, RestoreStep::Switch(0)),
            Ok(0),
            "it is"
        );
        leave(&mut platform, 1).unwrap();
        end(&mut platform, 1).unwrap();
        let back = restore(&mut platform, RestoreStep::Switch(0));
        assert_eq!(back, Err(Rejection::RestoreConflict));
        assert_eq!(lies(&platform, realm), (2, 1, 0));
    }

    #[test]
    fn a_generation_lies_in_the_cell_of_the_one_that_it_is_a_copy_of() {
        let (mut platform, realm) = platform(0);
        begin(&mut platform, 2).unwrap();
        // what is being moved is no copy of an instant
        assert_eq!(platform.unused(realm, at(200)), None);
        leave(&mut platform, 1).unwrap();
        end(&mut platform, 1).unwrap();
        for (instant, from, cell) in [(250, 0, 0), (400, 1, 2)] {
            let begun = RestoreStep::Begin {
                at: at(instant),
                until: 9,
            };
            assert_eq!(restore(&mut platform, begun), Ok(1));
            let known = platform.generations(realm).unwrap();
            let (number, copy) = known.copies().next_back().unwrap();
            assert_eq!((copy.point.from, copy.cell), (from, cell));
            assert_eq!(platform.cell_of(realm, number), cell);
        }
    }
}
