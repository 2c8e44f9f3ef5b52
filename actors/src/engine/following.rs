//! How the supervisors of an engine follow the platform: who is new is started, the others get their settings.

use std::sync::{Arc, PoisonError};

use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Platform;

use super::Realms;
use crate::banks::Relation;
use crate::failure::Failure;
use crate::platform;
use crate::realms::{self, RealmMessage};
use crate::settings::Settings;

impl Realms {
    /// Starts the supervisors of new tenants and tells the others their settings.
    pub(super) fn follow(self: &Arc<Self>, platform: &Platform) -> Result<(), Failure> {
        self.cells.follow(platform)?;
        let rests = self.rests.lock().unwrap_or_else(PoisonError::into_inner);
        if *rests {
            return Ok(());
        }
        for (tenant, mode) in platform::realms(platform) {
            let realm = tenant.realm(mode);
            let settings = Settings::of(platform, tenant, mode);
            let relation = Relation::of(tenant, mode);
            let (open, held) = (platform.is_open(realm), platform.is_held(realm));
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
                None => self.add(realm, settings, relation, (open, held))?,
            }
        }
        self.count_collectors();
        Ok(())
    }

    /// Puts a message into the mailbox of a realm's supervisor.
    pub(super) fn tell(&self, realm: RealmId, message: RealmMessage) -> Result<(), Failure> {
        let known = self.supervisors.get(&realm);
        let mailbox = known.map(|known| known.value().mailbox.clone());
        let mailbox = mailbox.ok_or(Rejection::TenantNotFound)?;
        // The rest of the places is for whoever reads, and for the bank.
        if mailbox.count() >= realms::ORDERS_MAX && message.waits_for_store() {
            return Err(Failure::Overloaded);
        }
        mailbox.tell(message)
    }
}
