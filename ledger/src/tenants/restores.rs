//! How a realm is restored to an instant while all other realms keep working.
//!
//! **Shape.** A realm has generations. The first, number 0, is the realm's original streams; each further one is a copy
//! of the beginning of another, up to an instant, and has streams of its own
//! ([`RealmId::under`](crate::ids::RealmId::under)). One of them is in force: clients, the bank and webhooks see that
//! one under the realm's own number, so CVUs and ids keep their meaning. The others stay as they were left.
//!
//! **Bounds.** [`GENERATION_MAX`](crate::ids::GENERATION_MAX) generations of a realm, not counting the first.
//!
//! **Order.** Begun, complete, in force. The first fact says what is copied and up to which commit, so a copy that was
//! interrupted continues to the same end. Only a complete copy can come into force, by one fact. From that fact on,
//! whatever leaves the realm is held until an operator releases it, because the bank and the receivers know what came
//! after the instant.
//!
//! **Failure.** A copy that was begun and never completed is invisible. Any generation that was in force can be put
//! back.

use super::{Copied, Generations, Mode, Platform, RealmState, RestorePoint};
use crate::facts::PlatformFact;
use crate::ids::{GENERATION_MAX, RealmId};
use crate::rejection::Rejection;
use crate::time::Timestamp;

/// A step of a restore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestoreStep {
    /// Copy the realm as it was at an instant.
    Begin {
        /// The instant.
        at: Timestamp,
        /// The last commit at present: nothing after it is copied.
        until: u64,
    },
    /// Record that a copy is complete.
    End {
        /// The number of the generation.
        number: u32,
        /// The content of the copy.
        copied: Copied,
    },
    /// Put the generation with this number into force. The realm must rest.
    Switch(u32),
    /// Release whatever is held.
    Release,
}

impl Platform {
    /// Decides a step of a restore; returns no facts if it was already done.
    ///
    /// # Errors
    /// When the tenant or generation does not exist, the instant is impossible, the realm is being filled, the
    /// generation is incomplete, or there are too many.
    pub(super) fn restores(
        &self,
        of: (&str, Mode),
        step: RestoreStep,
        now: Timestamp,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        match step {
            RestoreStep::Begin { at, until } => self.begin_restore(of, (at, until), now),
            RestoreStep::End { number, copied } => self.end_restore(of, number, copied),
            RestoreStep::Switch(number) => self.switch(of, number, now),
            RestoreStep::Release => self.release(of),
        }
    }

    /// The generations of a realm; `None` if it was never copied.
    pub fn generations(&self, realm: RealmId) -> Option<&Generations> {
        self.generations.get(&realm)
    }

    /// The number of the generation of a realm in force.
    pub fn in_force(&self, realm: RealmId) -> u32 {
        self.generations(realm).map_or(0, |it| it.in_force)
    }

    /// Whether everything that leaves a realm is held.
    pub fn is_held(&self, realm: RealmId) -> bool {
        self.generations(realm).is_some_and(|it| it.held)
    }

    /// The number of the last copy, if it is of this instant and was never in force: it can be continued or is
    /// complete, so another copy would be useless.
    pub fn unused(&self, realm: RealmId, at: Timestamp) -> Option<u32> {
        let known = self.generations(realm)?;
        let (number, copy) = known.copies().next_back()?;
        let restores = copy.behind.is_none() && copy.point.at == at;
        let unused = restores && known.since(number).is_none();
        unused.then_some(number)
    }

    /// Refuses a realm that is being filled from a file: no copy of it can begin.
    pub(super) fn can_be_copied(&self, realm: RealmId) -> Result<(), Rejection> {
        match self.state(realm) {
            RealmState::Open | RealmState::Closed => Ok(()),
            RealmState::Importing(_) | RealmState::Imported(_) => Err(Rejection::RealmImporting),
        }
    }

    /// The number of a realm's next generation, which was never used before.
    pub(super) fn next_copy(&self, realm: RealmId) -> Result<u32, Rejection> {
        let known = self.generations(realm);
        let last = known.and_then(|it| it.copies().next_back());
        let number = last.map_or(0, |(number, _)| number).strict_add(1);
        match number <= GENERATION_MAX {
            true => Ok(number),
            false => Err(Rejection::RestoreConflict),
        }
    }

    /// The facts that begin a copy of a realm at an instant, of nothing after commit `until`; none if there is a copy
    /// of that instant that was never in force.
    fn begin_restore(
        &self,
        (id, mode): (&str, Mode),
        (at, until): (Timestamp, u64),
        now: Timestamp,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        let tenant = self.tenant(id)?;
        let realm = tenant.realm(mode);
        if !(tenant.created_at..=now).contains(&at) {
            return Err(Rejection::RestoreInstant);
        }
        self.can_be_copied(realm)?;
        if self.unused(realm, at).is_some() {
            return Ok(Vec::new());
        }
        let number = self.next_copy(realm)?;
        let known = self.generations(realm);
        let from = known.map_or(0, |it| it.at(at));
        let (id, point) = (id.to_owned(), RestorePoint { from, at, until });
        Ok(vec![PlatformFact::RestoreBegun {
            id,
            mode,
            number,
            point,
        }])
    }

    /// The fact that a copy is complete.
    fn end_restore(
        &self,
        (id, mode): (&str, Mode),
        number: u32,
        copied: Copied,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        let known = self.generations(self.tenant(id)?.realm(mode));
        let copy = known.and_then(|it| it.copy(number));
        match copy.ok_or(Rejection::RestoreNotFound)?.copied {
            Some(before) if before == copied => Ok(Vec::new()),
            Some(_) => Err(Rejection::RestoreConflict),
            None => Ok(vec![PlatformFact::RestoreCopied {
                id: id.to_owned(),
                mode,
                number,
                copied,
            }]),
        }
    }

    /// The fact that puts a generation into force; none if it is in force.
    fn switch(
        &self,
        (id, mode): (&str, Mode),
        number: u32,
        now: Timestamp,
    ) -> Result<Vec<PlatformFact>, Rejection> {
        let realm = self.tenant(id)?.realm(mode);
        let known = self.generations(realm).ok_or(Rejection::RestoreNotFound)?;
        if !known.exists(number) {
            return Err(Rejection::RestoreNotFound);
        }
        if !known.is_whole(number) {
            return Err(Rejection::RestoreConflict);
        }
        if known.in_force == number {
            return Ok(Vec::new());
        }
        // A generation that a move left behind ended when it was left: move the realm back, or restore it to an
        // instant.
        if known.was_left(number) {
            return Err(Rejection::RestoreConflict);
        }
        Ok(vec![PlatformFact::GenerationSet {
            id: id.to_owned(),
            mode,
            number,
            at: now,
        }])
    }

    /// The fact that releases whatever is held; none if nothing is.
    fn release(&self, (id, mode): (&str, Mode)) -> Result<Vec<PlatformFact>, Rejection> {
        let realm = self.tenant(id)?.realm(mode);
        let id = id.to_owned();
        let fact = PlatformFact::OutgoingReleased { id, mode };
        Ok(self.is_held(realm).then_some(fact).into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenants::orders::{NewTenant, PlatformOrder};

    const ID: &str = "one";

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn step(platform: &mut Platform, step: RestoreStep, now: u64) -> Result<usize, Rejection> {
        let (id, mode) = (ID.to_owned(), Mode::Live);
        platform.told(PlatformOrder::Restore { id, mode, step }, at(now))
    }

    fn restore(platform: &mut Platform, instant: u64, now: u64) -> Result<usize, Rejection> {
        let (at, until) = (at(instant), now);
        step(platform, RestoreStep::Begin { at, until }, now)
    }

    fn whole(platform: &mut Platform, number: u32, entries: u64) -> Result<usize, Rejection> {
        let digest = Default::default();
        let copied = Copied { entries, digest };
        step(platform, RestoreStep::End { number, copied }, 0)
    }

    fn switch(platform: &mut Platform, number: u32, now: u64) -> Result<usize, Rejection> {
        step(platform, RestoreStep::Switch(number), now)
    }

    fn release(platform: &mut Platform) -> Result<usize, Rejection> {
        step(platform, RestoreStep::Release, 0)
    }

    fn platform() -> (Platform, RealmId) {
        let mut platform = Platform::default();
        let new = PlatformOrder::CreateTenant(NewTenant::plain(ID), 0);
        platform.told(new, at(100)).unwrap();
        let realm = platform.tenant(ID).unwrap().live;
        (platform, realm)
    }

    #[test]
    fn a_generation_comes_into_force_whole_or_not_at_all_and_holds_what_leaves() {
        let (mut platform, realm) = platform();
        assert_eq!(
            switch(&mut platform, 0, 1).unwrap_err(),
            Rejection::RestoreNotFound
        );
        assert_eq!(restore(&mut platform, 150, 200), Ok(1));
        assert_eq!(restore(&mut platform, 150, 300), Ok(0), "it goes on");
        assert_eq!(platform.unused(realm, at(150)), Some(1));
        let point = platform.generations(realm).unwrap().copy(1).unwrap().point;
        assert_eq!((point.from, point.until), (0, 200));
        for (number, why) in [
            (1, Rejection::RestoreConflict),
            (2, Rejection::RestoreNotFound),
        ] {
            assert_eq!(switch(&mut platform, number, 300), Err(why));
        }
        assert_eq!(whole(&mut platform, 2, 7), Err(Rejection::RestoreNotFound));
        assert_eq!(whole(&mut platform, 1, 7), Ok(1));
        assert_eq!(whole(&mut platform, 1, 7), Ok(0));
        assert_eq!(whole(&mut platform, 1, 8), Err(Rejection::RestoreConflict));
        assert_eq!(
            (platform.in_force(realm), platform.is_held(realm)),
            (0, false)
        );
        assert_eq!(switch(&mut platform, 1, 400), Ok(1));
        assert_eq!(switch(&mut platform, 1, 401), Ok(0));
        assert_eq!(platform.standing(realm).generation, 1);
        assert!(platform.is_held(realm));
        assert_eq!(release(&mut platform), Ok(1));
        assert_eq!(release(&mut platform), Ok(0));
        assert!(!platform.is_held(realm));
    }

    #[test]
    fn an_instant_is_of_the_generation_that_was_in_force_then() {
        let (mut platform, realm) = platform();
        restore(&mut platform, 150, 200).unwrap();
        whole(&mut platform, 1, 7).unwrap();
        switch(&mut platform, 1, 400).unwrap();
        for (instant, now, from) in [(300, 500, 0), (400, 501, 1), (450, 502, 1)] {
            assert_eq!(restore(&mut platform, instant, now), Ok(1));
            let known = platform.generations(realm).unwrap();
            let (_, copy) = known.copies().next_back().unwrap();
            assert_eq!(copy.point.from, from, "{instant}");
        }
        // back to the first generation; what leaves the realm is held then, too
        release(&mut platform).unwrap();
        assert_eq!(switch(&mut platform, 0, 600), Ok(1));
        assert!(platform.is_held(realm));
        assert_eq!(platform.standing(realm).generation, 0);
        assert_eq!(platform.generations(realm).unwrap().at(at(650)), 0);
    }

    #[test]
    fn an_instant_before_the_tenant_or_after_now_is_refused() {
        let (mut platform, _) = platform();
        for (instant, now) in [(99, 200), (201, 200)] {
            let refused = restore(&mut platform, instant, now);
            assert_eq!(refused, Err(Rejection::RestoreInstant), "{instant}");
        }
    }
}
