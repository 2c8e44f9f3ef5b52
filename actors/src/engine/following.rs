//! How the supervisors of an engine follow the platform: who is new is started, the others get their settings. Of a
//! realm whose cell rests only its bank is known, so that it is seen who is on which collector account.

use std::sync::{Arc, PoisonError};

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;

use super::Realms;
use super::keeper::Kept;
use crate::banks::{RealmBank, Relation};
use crate::cells::FIRST;
use crate::failure::Failure;
use crate::hold::Hold;
use crate::platform;
use crate::realms::{self, RealmMessage};
use crate::settings::Settings;

impl Realms {
    /// Starts the supervisors of new tenants and tells the others their settings.
    pub(super) fn follow(self: &Arc<Self>, platform: &Platform) -> Result<(), Failure> {
        let stale = self.stale(platform);
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
            // One that leaves its cell rests wherever it is.
            let open = platform.is_open(realm) && !platform.is_leaving(realm);
            let held = platform.is_held(realm);
            if resting.contains(&platform.standing(realm).cell) {
                self.follow_elsewhere(realm, relation, held);
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
                // The others are as they are now all the same.
                None => failed = failed.and(self.add(realm, settings, relation, (open, held))),
            }
        }
        self.count_collectors();
        failed
    }

    /// The keepers of realms that are served here as they stood before, because another node has changed how they stand, and
    /// whether each goes on. Whoever does so here has the realm rest first.
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

    /// Knows the bank of a realm that another node serves.
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
        // The rest of the places is for whoever reads, and for the bank.
        if mailbox.count() >= realms::ORDERS_MAX && message.waits_for_store() {
            return Err(Failure::Overloaded);
        }
        mailbox.tell(message)
    }
}
