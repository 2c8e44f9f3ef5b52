//! The states of a realm that is imported or exported: filled from a file, opened, closed.
//!
//! **Shape.** A realm is served unless a fact says otherwise. A realm that is filled from a file is
//! [`RealmState::Importing`] until it is complete, then [`RealmState::Imported`] until an operator opens it. A realm
//! that continues elsewhere is [`RealmState::Closed`]: operators can still read its data here.
//!
//! Existing data must be a prefix of the imported data. So a closed realm can come back with what it did elsewhere, and
//! an imported one can be brought up to date until it is opened.
//!
//! **Order.** A realm keeps its number wherever it goes, because its CVUs, the published ids and the references at the
//! bank contain it. So an installation that has assigned the number to another tenant cannot accept the realm.

use super::{Mode, Platform, Tenant};
use crate::facts::PlatformFact;
use crate::ids::{REALM_MAX, RealmId};
use crate::tenants::{RealmSource, RealmState};
use crate::text::line;

/// The longest id of a tenant, in bytes.
const ID_MAX: usize = 64;
/// The longest name of a tenant, in characters.
const NAME_MAX: usize = 80;

/// Why a realm cannot be imported, opened or closed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotMoved {
    /// There is no such tenant.
    #[error("there is no tenant {0}")]
    NoTenant(String),
    /// The tenant has other realms here than in the file.
    #[error(
        "the tenant {tenant} has the realms {} and {} here, and had {} and {} there: its CVUs and ids name the latter",
        .here.0.0, .here.1.0, .there.0.0, .there.1.0
    )]
    OtherRealms {
        /// The id of the tenant.
        tenant: String,
        /// Live and test, here.
        here: (RealmId, RealmId),
        /// Live and test, in the file.
        there: (RealmId, RealmId),
    },
    /// Its number belongs to another tenant here.
    #[error(
        "the realm {} is the tenant {tenant}'s here: a realm keeps its number, because its CVUs and ids name it. \
         Import it into an installation that has not given the number out", .realm.0
    )]
    NumberTaken {
        /// The number.
        realm: RealmId,
        /// The id of the tenant that has it.
        tenant: String,
    },
    /// No installation assigns these realms, or this id and name, to a tenant.
    #[error("the file names a tenant {id:?} with the realms {} and {}, and no installation makes such a tenant", .live.0, .test.0)]
    NoSuchTenant {
        /// Its id in the file.
        id: String,
        /// Its live realm.
        live: RealmId,
        /// Its test realm.
        test: RealmId,
    },
    /// The realm is served and not empty.
    #[error(
        "the realm is open and has entries: a realm is filled before it is served, or once it was closed"
    )]
    InUse,
    /// The realm is in a state that does not allow this.
    #[error("the realm is {0}")]
    Is(&'static str),
}

impl RealmState {
    /// Every word that [`Self::as_str`] returns.
    pub const WORDS: [&'static str; 4] = ["open", "importing", "imported", "closed"];

    /// The word for people and programs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Importing(_) => "importing",
            Self::Imported(_) => "imported",
            Self::Closed => "closed",
        }
    }
}

impl Platform {
    /// The state of a realm; open if no fact says otherwise.
    pub fn state(&self, realm: RealmId) -> &RealmState {
        self.states.get(&realm).unwrap_or(&RealmState::Open)
    }

    /// Whether a realm is served.
    pub fn is_open(&self, realm: RealmId) -> bool {
        *self.state(realm) == RealmState::Open
    }

    /// The facts that begin to fill a realm of `tenant` from `source`; none if that has begun. `empty` says
    /// whether the realm is empty; the caller has to check that existing data is a prefix of the imported data.
    ///
    /// # Errors
    /// When the number belongs to another tenant, or the realm is in use.
    pub fn begin_import(
        &self,
        (tenant, mode): (&Tenant, Mode),
        source: &RealmSource,
        empty: bool,
    ) -> Result<Vec<PlatformFact>, NotMoved> {
        let mut facts = Vec::new();
        if self.as_here(tenant)?.is_none() {
            facts.push(PlatformFact::TenantCreated(Box::new(tenant.clone())));
        }
        match self.state(tenant.realm(mode)) {
            RealmState::Open if !empty => return Err(NotMoved::InUse),
            RealmState::Importing(known) if known == source => return Ok(Vec::new()),
            RealmState::Open
            | RealmState::Importing(_)
            | RealmState::Imported(_)
            | RealmState::Closed => {}
        }
        let state = RealmState::Importing(source.clone());
        facts.push(changed(&tenant.id, mode, state));
        Ok(facts)
    }

    /// The tenant of a file as it is known here; `None` where it is new, and can be created.
    fn as_here(&self, tenant: &Tenant) -> Result<Option<&Tenant>, NotMoved> {
        let Some(known) = self.tenants.get(&tenant.id) else {
            can_be(tenant)?;
            self.numbers_are_free(tenant)?;
            return Ok(None);
        };
        let (here, there) = ((known.live, known.test), (tenant.live, tenant.test));
        if here == there {
            Ok(Some(known))
        } else {
            Err(NotMoved::OtherRealms {
                tenant: tenant.id.clone(),
                here,
                there,
            })
        }
    }

    fn numbers_are_free(&self, tenant: &Tenant) -> Result<(), NotMoved> {
        let theirs = [tenant.live, tenant.test];
        let mut others = self.tenants.values();
        let other = others.find_map(|it| {
            let realm = [it.live, it.test]
                .into_iter()
                .find(|it| theirs.contains(it))?;
            Some((realm, it.id.clone()))
        });
        match other {
            Some((realm, tenant)) => Err(NotMoved::NumberTaken { realm, tenant }),
            None => Ok(()),
        }
    }

    /// The fact that a realm is completely imported.
    ///
    /// # Errors
    /// When it is not being filled.
    pub fn end_import(&self, tenant: &str, mode: Mode) -> Result<PlatformFact, NotMoved> {
        self.moved(tenant, mode, |state| match state {
            RealmState::Importing(source) => Some(RealmState::Imported(source.clone())),
            RealmState::Open | RealmState::Imported(_) | RealmState::Closed => None,
        })
    }

    /// The fact that serves an imported or closed realm again.
    ///
    /// # Errors
    /// When it is open, or not completely imported.
    pub fn open_realm(&self, tenant: &str, mode: Mode) -> Result<PlatformFact, NotMoved> {
        self.moved(tenant, mode, |state| match state {
            RealmState::Imported(_) | RealmState::Closed => Some(RealmState::Open),
            RealmState::Open | RealmState::Importing(_) => None,
        })
    }

    /// The fact that ends the serving of a realm.
    ///
    /// # Errors
    /// When it is closed, or not completely imported.
    pub fn close_realm(&self, tenant: &str, mode: Mode) -> Result<PlatformFact, NotMoved> {
        self.moved(tenant, mode, |state| match state {
            RealmState::Open | RealmState::Imported(_) => Some(RealmState::Closed),
            RealmState::Importing(_) | RealmState::Closed => None,
        })
    }

    /// The fact that a realm comes to its next state.
    fn moved(
        &self,
        tenant: &str,
        mode: Mode,
        next: impl Fn(&RealmState) -> Option<RealmState>,
    ) -> Result<PlatformFact, NotMoved> {
        let known = self.tenants.get(tenant);
        let known = known.ok_or_else(|| NotMoved::NoTenant(tenant.to_owned()))?;
        let state = self.state(known.realm(mode));
        let next = next(state).ok_or(NotMoved::Is(state.as_str()))?;
        Ok(changed(tenant, mode, next))
    }
}

/// A file is trusted no more than a request: realms must come in pairs, the live one odd, and fit into ids and CVUs;
/// ids and names must be words and lines.
fn can_be(tenant: &Tenant) -> Result<(), NotMoved> {
    let Tenant {
        id,
        name,
        live,
        test,
        ..
    } = tenant;
    let pair = !live.0.is_multiple_of(2) && live.0.checked_add(1) == Some(test.0);
    let numbered = test.shard().is_some() && (2..=REALM_MAX).contains(&test.number());
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let named = (1..=ID_MAX).contains(&id.len()) && id.bytes().all(word);
    let titled = line(name, NAME_MAX).is_ok_and(|it| it == *name);
    if pair && numbered && named && titled {
        Ok(())
    } else {
        Err(NotMoved::NoSuchTenant {
            id: id.clone(),
            live: *live,
            test: *test,
        })
    }
}

fn changed(tenant: &str, mode: Mode, state: RealmState) -> PlatformFact {
    let id = tenant.to_owned();
    PlatformFact::RealmChanged { id, mode, state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Digest;
    use crate::ids::Shard;
    use crate::limits::{Limits, TotalLimits};
    use crate::rejection::Rejection;
    use crate::tenants::orders::{NewTenant, PlatformOrder};
    use crate::tenants::{BankRelations, Policy, Provider};
    use crate::time::Timestamp;

    fn tenant(id: &str, live: u32) -> Tenant {
        Tenant {
            id: id.to_owned(),
            name: id.to_owned(),
            policy: Policy::default(),
            limits: Limits::default(),
            fees: Vec::new(),
            live: RealmId(live),
            test: RealmId(live + 1),
            created_at: Timestamp::default(),
            banks: BankRelations::default(),
            total_limits: TotalLimits::default(),
            collector_rules: Vec::new(),
            seal_generation: 1,
            provider: Provider::default(),
        }
    }

    fn source(file: u8) -> RealmSource {
        RealmSource {
            file: Digest([file; 32]),
            store: "aa".to_owned(),
            commit: 7,
            at: Timestamp::default(),
        }
    }

    fn take(platform: &mut Platform, facts: &[PlatformFact]) {
        facts.iter().for_each(|fact| platform.apply(fact));
    }

    #[test]
    fn a_realm_comes_whole_is_opened_closed_and_opened_again() {
        let mut platform = Platform::default();
        let five = tenant("five", 5);
        let begin = |platform: &Platform, file, empty| {
            platform.begin_import((&five, Mode::Live), &source(file), empty)
        };
        let begun = begin(&platform, 1, true).unwrap();
        assert_eq!(begun.len(), 2);
        take(&mut platform, &begun);
        let open = |platform: &Platform, realm| platform.is_open(RealmId(realm));
        assert!(!open(&platform, 5) && open(&platform, 6));
        assert_eq!(
            platform.next_realms(Shard::default()),
            (RealmId(7), RealmId(8))
        );
        assert_eq!(begin(&platform, 1, false), Ok(Vec::new()));
        let later = begin(&platform, 2, false).unwrap();
        assert_eq!(later.len(), 1, "the tenant is there");
        take(&mut platform, &later);
        let early = platform.open_realm("five", Mode::Live);
        assert_eq!(early, Err(NotMoved::Is("importing")));
        let ended = platform.end_import("five", Mode::Live).unwrap();
        take(&mut platform, &[ended]);
        assert_eq!(platform.state(RealmId(5)).as_str(), "imported");
        for word in ["open", "closed", "open"] {
            let next = match word {
                "open" => platform.open_realm("five", Mode::Live),
                _ => platform.close_realm("five", Mode::Live),
            };
            take(&mut platform, &[next.unwrap()]);
            assert_eq!(platform.state(RealmId(5)).as_str(), word);
        }
        assert_eq!(begin(&platform, 3, false), Err(NotMoved::InUse));
        let twice = platform.open_realm("five", Mode::Live);
        assert_eq!(twice, Err(NotMoved::Is("open")));
        let nobody = platform.close_realm("six", Mode::Test);
        assert_eq!(nobody, Err(NotMoved::NoTenant("six".to_owned())));
    }

    #[test]
    fn a_number_that_is_somebody_elses_is_refused() {
        let mut platform = Platform::default();
        let there = PlatformFact::TenantCreated(Box::new(tenant("there", 5)));
        take(&mut platform, &[there]);
        let taken = platform.begin_import((&tenant("new", 5), Mode::Test), &source(1), true);
        let realm = RealmId(5);
        let tenant_id = "there".to_owned();
        assert_eq!(
            taken,
            Err(NotMoved::NumberTaken {
                realm,
                tenant: tenant_id
            })
        );
        let moved = platform.begin_import((&tenant("there", 7), Mode::Test), &source(1), true);
        assert!(matches!(moved, Err(NotMoved::OtherRealms { .. })));
    }

    #[test]
    fn a_tenant_that_nobody_can_have_made_is_refused() {
        let platform = Platform::default();
        let begin = |tenant: &Tenant| platform.begin_import((tenant, Mode::Live), &source(1), true);
        let numbered = |live, test| Tenant {
            live: RealmId(live),
            test: RealmId(test),
            ..tenant("new", 1)
        };
        let named = |id: &str, name: &str| Tenant {
            name: name.to_owned(),
            ..tenant(id, 5)
        };
        let long = "a".repeat(81);
        for odd in [
            numbered(0, 1),
            numbered(5, 5),
            numbered(5, 7),
            numbered(6, 5),
            numbered(6, 7),
            numbered(u32::MAX, 0),
            numbered(REALM_MAX, REALM_MAX + 1),
            numbered((1 << 17) - 1, 1 << 17),
            numbered((4096 << 17) + 1, (4096 << 17) + 2),
            named("", "name"),
            named("a/b", "name"),
            named("a b", "name"),
            named(&long, "name"),
            named("id", ""),
            named("id", "two\nlines"),
            named("id", &long),
        ] {
            let refused = begin(&odd);
            assert!(
                matches!(refused, Err(NotMoved::NoSuchTenant { .. })),
                "{odd:?}"
            );
        }
        for good in [
            numbered(REALM_MAX - 2, REALM_MAX - 1),
            numbered((4095 << 17) + 1, (4095 << 17) + 2),
            named("tnt_first-1", "Una PSP"),
        ] {
            assert!(begin(&good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn numbers_beyond_the_last_one_are_refused() {
        let mut platform = Platform::default();
        let create = |platform: &Platform| {
            let new = NewTenant::plain("next");
            platform.decide(PlatformOrder::CreateTenant(new), Timestamp::default())
        };
        for (live, right) in [(REALM_MAX - 4, true), (REALM_MAX - 2, false)] {
            let last = tenant(&live.to_string(), live);
            let begun = platform.begin_import((&last, Mode::Live), &source(1), true);
            take(&mut platform, &begun.unwrap());
            let made = create(&platform);
            assert_eq!(made.is_ok(), right, "{made:?}");
            assert!(right || made == Err(Rejection::TooManyTenants));
        }
    }
}
