//! The sandbox's worlds: every collector account is one, with a PSP code, CVUs, transfers and a
//! balance of its own.
//!
//! **Shape.** Any account of bank 322 at branch 1 or 2 whose number has a check digit and ends in a PSP
//! code (the last four digits) is a collector account, and need not be opened; the account of
//! [`COLLECTOR`] has the code that the sandbox is started with. The service uses [`collector`], which
//! gives each realm one.
//!
//! **Rails.** The branch is the rail: worlds of one rail know each other's CVUs and aliases (an alias is taken once
//! on a rail) and can pay each other, as PSPs can. The two rails know nothing of each other, and nothing passes
//! between them. A login belongs to one rail: [`USERNAME`] to branch 1, [`LIVE_USERNAME`] to branch 2.

use caudal_ledger::cvu::Cbu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Mode;

use super::refusals::{NoEffect, refusal};
use super::{COLLECTOR, LIVE_USERNAME, USERNAME};

/// The bank whose API this is.
const BANK: u16 = 322;
/// The number of a realm's collector account, before the realm and the PSP code are added.
const NUMBERS: u64 = 6_000_000_000_000;
/// Realms with numbers beyond this share their accounts.
const REALMS: u32 = 100_000_000;
/// The first PSP code of realms, and how many codes there are.
const PSP_FIRST: u16 = 1_000;
const PSPS: u32 = 9_000;
/// The rail of a world: worlds can pay each other only on the same one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Rail {
    /// Branch 1.
    Test,
    /// Branch 2.
    Live,
}

impl Rail {
    /// The rail of a login.
    pub(crate) fn of_user(username: &str) -> Option<Self> {
        match username {
            USERNAME => Some(Self::Test),
            LIVE_USERNAME => Some(Self::Live),
            _ => None,
        }
    }

    /// The word for the rail in the view of the state.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Live => "live",
        }
    }
}

/// A collector account, with the rail and PSP code that follow from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct World {
    pub collector: Cbu,
    pub rail: Rail,
    pub psp: u16,
}

impl World {
    /// The world of a collector account; `psp` is the code of [`COLLECTOR`].
    pub(crate) fn of(collector: &str, psp: u16) -> Option<Self> {
        let known = Cbu::parse(collector).ok()?;
        let text = known.as_str();
        let rail = match text.get(..7)? {
            "3220001" => Rail::Test,
            "3220002" => Rail::Live,
            _ => return None,
        };
        let code: u16 = text.get(17..21)?.parse().ok()?;
        let psp = if text == COLLECTOR { psp } else { code };
        (psp > 0).then_some(Self {
            collector: known,
            rail,
            psp,
        })
    }

    /// Like [`Self::of`], for a client that has logged in on a rail.
    pub(crate) fn for_login(collector: &str, psp: u16, rail: Rail) -> Result<Self, NoEffect> {
        let world = Self::of(collector, psp).filter(|world| world.rail == rail);
        world.ok_or_else(|| refusal("VW003").into())
    }
}

/// The PSP code that the sandbox gives a realm.
pub fn psp(realm: RealmId) -> u16 {
    let nth = realm.0.saturating_sub(1).checked_rem(PSPS).unwrap_or(0);
    u16::try_from(nth).map_or(PSP_FIRST, |nth| PSP_FIRST.saturating_add(nth))
}

/// The collector account that the sandbox gives a realm.
pub fn collector(realm: RealmId) -> String {
    let branch = match realm.mode() {
        Mode::Test => 1,
        Mode::Live => 2,
    };
    let nth = u64::from(realm.0.checked_rem(REALMS).unwrap_or(0));
    let number = NUMBERS
        .saturating_add(nth.saturating_mul(10_000))
        .saturating_add(u64::from(psp(realm)));
    let made = Cbu::compose(BANK, branch, number);
    made.map_or_else(|| COLLECTOR.to_owned(), |made| made.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_realm_has_a_world_of_its_own() {
        let mut seen = std::collections::BTreeSet::new();
        for realm in 1..=9_000 {
            let realm = RealmId(realm);
            let world = World::of(&collector(realm), 999).unwrap();
            assert_eq!(world.psp, psp(realm));
            assert_eq!(world.rail.as_str(), realm.mode().as_str());
            assert!(seen.insert(world.psp) && world.psp != 999);
        }
        let main = World::of(COLLECTOR, 999).unwrap();
        assert_eq!((main.psp, main.rail), (999, Rail::Test));
        for other in [
            "2850590940090418135201",
            "0000003100000000000001",
            "",
            "322",
        ] {
            assert_eq!(World::of(other, 999), None, "{other}");
        }
    }
}
