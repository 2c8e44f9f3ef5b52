//! How the supervisors of an engine follow the platform: new realms are started, the others get their settings. Of a
//! realm whose cell rests only the bank is known, so that the realms on each collector account are known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_ledger::tenants::cells::Standing;

use super::Realms;
use super::keeper::Kept;
use super::starting::Ahead;
use crate::banks::{RealmBank, Relation};
use crate::cells::FIRST;
use crate::failure::Failure;
use crate::hold::Hold;
use crate::platform;
use crate::realms::{self, RealmMessage};
use crate::settings::Settings;

/// Realms that were loaded before they are taken up, each with its standing at that time.
pub(super) type LoadedAhead = BTreeMap<RealmId, (Standing, Ahead)>;

impl Realms {
    /// Starts the supervisors of new tenants and tells the others their settings.
    pub(super) fn follow(self: &Arc<Self>, platform: &Platform) -> Result<(), Failure> {
        self.follow_with(platform, BTreeMap::new())
    }

    /// The same, with realms that were already loaded. A realm whose standing has changed since is loaded again.
    pub(super) fn follow_with(
        self: &Arc<Self>,
        platform: &Platform,
        mut ahead: LoadedAhead,
    ) -> Result<(), Failure> {
        let all = platform::realms(platform).map(|(tenant, mode)| tenant.realm(mode));
        let open = all.filter(|realm| platform.is_open(*realm)).collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = open;
        let stale = self.stale(platform);
        let left = self.left(platform);
        self.cells.follow(platform)?;
        for (kept, goes_on) in stale {
            kept.reload(goes_on);
        }
        let mut failed = Ok(());
        let resting = self.resting();
        if resting.contains(&FIRST) && !self.are_parted() {
            return Ok(());
        }
        for (tenant, mode) in platform::realms(platform) {
            let realm = tenant.realm(mode);
            let relation = Relation::of(tenant, mode);
            // A realm that leaves its cell rests, wherever it is.
            let open = platform.is_open(realm) && !platform.is_leaving(realm);
            let held = platform.is_held(realm);
            if resting.contains(&platform.standing(realm).cell) {
                self.follow_elsewhere(realm, relation, held);
                if left.contains(&realm) {
                    // The realm has left for another node's cell, and rests.
                    self.supervisors
                        .remove_if(&realm, |_, known| !known.mailbox.connected());
                }
                continue;
            }
            let settings = Settings::of(platform, tenant, mode);
            match self.supervisors.get(&realm) {
                Some(known) => {
                    known.kept.serve(open);
                    known.bank.follow(&self.outside.banks, relation);
                    known.bank.hold().set(held);
                    let mut now = known
                        .settings
                        .write()
                        .unwrap_or_else(PoisonError::into_inner);
                    *now = Arc::new(settings);
                }
                // A failure here does not stop the other realms; the realm's keeper tries again.
                None => {
                    let loaded = ahead.remove(&realm);
                    let loaded =
                        loaded.filter(|(as_it_stood, _)| *as_it_stood == platform.standing(realm));
                    let loaded = loaded.map(|(_, loaded)| loaded);
                    let added = self.add(realm, settings, relation, (open, held), loaded);
                    failed = failed.and(added);
                }
            }
        }
        self.count_collectors();
        failed
    }

    /// Loads the realms of a resting cell without letting them act, so that taking them up takes no time.
    ///
    /// # Errors
    /// When a realm cannot be loaded.
    pub(super) fn load_ahead(
        &self,
        platform: &Platform,
        cell: u32,
    ) -> Result<LoadedAhead, Failure> {
        let mut ahead = BTreeMap::new();
        for (tenant, mode) in platform::realms(platform) {
            let realm = tenant.realm(mode);
            let standing = platform.standing(realm);
            let open = platform.is_open(realm) && !platform.is_leaving(realm);
            // A realm whose standing was not followed yet is loaded when it is.
            let followed = standing == self.cells.standing(realm);
            if standing.cell != cell || !open || !followed || self.supervisors.contains_key(&realm)
            {
                continue;
            }
            let (settings, held) = (
                Settings::of(platform, tenant, mode),
                platform.is_held(realm),
            );
            let relation = Relation::of(tenant, mode);
            let loaded = self.ahead(realm, settings, relation, held)?;
            ahead.insert(realm, (standing, loaded));
        }
        Ok(ahead)
    }

    /// The keepers of realms that are served here with a standing that another node has changed, and whether each realm
    /// goes on. A change on this node retires the realm first.
    fn stale(&self, platform: &Platform) -> Vec<(Kept, bool)> {
        let served = self.supervisors.iter();
        let served = served.filter(|known| known.mailbox.connected());
        let stale = served.filter(|known| {
            let realm = *known.key();
            platform.standing(realm) != self.cells.standing(realm)
        });
        let goes_on = |realm| platform.is_open(realm) && !platform.is_leaving(realm);
        stale
            .map(|known| (known.kept.clone(), goes_on(*known.key())))
            .collect()
    }

    /// The realms that now lie in another cell.
    fn left(&self, platform: &Platform) -> BTreeSet<RealmId> {
        let known = self.supervisors.iter().map(|known| *known.key());
        let cell_of = |realm: &RealmId| self.cells.standing(*realm).cell;
        known
            .filter(|realm| platform.standing(*realm).cell != cell_of(realm))
            .collect()
    }

    /// Keeps the bank of a realm that another node serves.
    fn follow_elsewhere(&self, realm: RealmId, relation: Relation, held: bool) {
        let banks = &self.outside.banks;
        if let Some(known) = self.elsewhere.get(&realm) {
            known.follow(banks, relation);
            return known.hold().set(held);
        }
        let hold = Arc::new(Hold::new(held, self.outside.held.clone()));
        let bank = Arc::new(RealmBank::new(banks, relation, hold));
        self.elsewhere.insert(realm, bank);
    }

    /// Puts a message into the mailbox of a realm's supervisor.
    pub(super) fn tell(&self, realm: RealmId, message: RealmMessage) -> Result<(), Failure> {
        let known = self.supervisors.get(&realm);
        let mailbox = known.map(|known| known.value().mailbox.clone());
        let mailbox = mailbox.ok_or_else(|| self.absent(realm))?;
        // The remaining places are for reads and for the bank.
        if mailbox.count() >= realms::ORDERS_MAX && message.waits_for_store() {
            return Err(Failure::Overloaded);
        }
        mailbox.tell(message)
    }
}
