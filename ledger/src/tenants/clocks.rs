//! The clocks of the platform's test realms: how far each is ahead, and what advances it.

use super::Platform;
use super::test_clock::{ClockAdvance, DAYS_AHEAD_MAX, TestClock};
use crate::facts::PlatformFact;
use crate::ids::RealmId;
use crate::rejection::Rejection;
use crate::time::Timestamp;

impl Platform {
    /// How far the clock of a realm is ahead of the machine's, in milliseconds.
    pub fn ahead(&self, realm: RealmId) -> u64 {
        self.clocks.get(&realm).map_or(0, TestClock::ahead)
    }

    /// The time of a realm when the machine's clock shows `at`, with the advances until now.
    pub fn realm_time(&self, realm: RealmId, at: Timestamp) -> Timestamp {
        at.plus_millis(self.ahead(realm))
    }

    /// The clock of a realm.
    pub fn test_clock(&self, realm: RealmId) -> TestClock {
        let known = self.clocks.get(&realm);
        known.map_or_else(TestClock::default, TestClock::clone)
    }

    /// The machine's time of an entry in a stream of a realm, whose time is by the realm's clock.
    pub fn machine_time(&self, realm: RealmId, at: Timestamp) -> Timestamp {
        self.clocks
            .get(&realm)
            .map_or(at, |clock| clock.machine_time(at))
    }

    /// The fact that puts the clock of a tenant's test realm this many days ahead of the machine's; none if it is that
    /// far already.
    pub(super) fn advance_clock(
        &self,
        tenant: &str,
        days: u32,
        now: Timestamp,
    ) -> Result<Option<PlatformFact>, Rejection> {
        let known = self.test_clock(self.tenant(tenant)?.test);
        let days = days.min(DAYS_AHEAD_MAX);
        let advance = ClockAdvance { at: now, days };
        let id = tenant.to_owned();
        let fact = PlatformFact::TestClockAdvanced { id, advance };
        Ok((days > known.days_ahead()).then_some(fact))
    }

    /// The facts by which the clock of a tenant's test realm gets the advances that it lacks of another clock: that of a
    /// realm which is imported.
    pub fn adopt_clock(&self, tenant: &str, clock: &TestClock) -> Vec<PlatformFact> {
        let test = self.tenants.get(tenant).map(|tenant| tenant.test);
        let known = test.map_or(0, |test| self.test_clock(test).days_ahead());
        let lacking = clock.0.iter().filter(|advance| advance.days > known);
        lacking
            .map(|advance| PlatformFact::TestClockAdvanced {
                id: tenant.to_owned(),
                advance: *advance,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::orders::{NewTenant, PlatformOrder};
    use super::*;
    use crate::ids::Shard;

    const DAY: u64 = 86_400_000;
    const NOON: Timestamp = Timestamp::from_millis(1_772_463_600_000);

    fn platform() -> Platform {
        let mut platform = Platform::default();
        let new = PlatformOrder::CreateTenant(NewTenant::plain("a"));
        platform.told(new, NOON).unwrap();
        platform
    }

    fn advance(platform: &mut Platform, days: u32, now: Timestamp) -> usize {
        let order = PlatformOrder::AdvanceTestClock("a".to_owned(), days);
        platform.told(order, now).unwrap()
    }

    #[test]
    fn the_machines_time_follows_from_the_realms_time_at_every_moment() {
        let mut platform = platform();
        let (test, live) = (
            RealmId::of(Shard::default(), 2),
            RealmId::of(Shard::default(), 1),
        );
        let mut shown = Vec::new();
        for (hour, days) in [
            (0_u64, 0_u32),
            (1, 2),
            (2, 3),
            (30, 3),
            (31, 100),
            (3_000, 101),
        ] {
            let now = NOON.plus_millis(hour * 3_600_000);
            let before = platform.ahead(test);
            let facts = advance(&mut platform, days, now);
            assert_eq!(facts == 1, u64::from(days) * DAY > before, "{days} days");
            for later in [0, 1, 60_000] {
                let real = now.plus_millis(later);
                shown.push((platform.realm_time(test, real), real));
            }
        }
        for (shown, real) in shown {
            assert_eq!(platform.machine_time(test, shown), real, "{shown}");
            assert_eq!(platform.machine_time(live, shown), shown);
        }
    }

    #[test]
    fn a_clock_never_goes_back_and_ends_ten_years_ahead() {
        let mut platform = platform();
        assert_eq!(advance(&mut platform, 5, NOON), 1);
        assert_eq!(advance(&mut platform, 5, NOON), 0);
        assert_eq!(advance(&mut platform, 4, NOON), 0);
        assert_eq!(advance(&mut platform, u32::MAX, NOON), 1);
        let test = platform.tenant("a").unwrap().test;
        assert_eq!(platform.test_clock(test).days_ahead(), DAYS_AHEAD_MAX);
        assert_eq!(advance(&mut platform, u32::MAX, NOON), 0);
    }

    #[test]
    fn a_clock_that_is_adopted_shows_the_same_as_where_it_came_from() {
        let mut from = platform();
        for (hour, days) in [(1_u64, 1), (2, 9), (3, 10)] {
            advance(&mut from, days, NOON.plus_millis(hour * 3_600_000));
        }
        let test = from.tenant("a").unwrap().test;
        let mut to = platform();
        advance(&mut to, 1, NOON.plus_millis(3_600_000));
        for fact in to.adopt_clock("a", &from.test_clock(test)) {
            to.apply(&fact);
        }
        assert_eq!(to.test_clock(test), from.test_clock(test));
        assert_eq!(to.adopt_clock("a", &from.test_clock(test)), []);
    }
}
