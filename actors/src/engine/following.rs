//! How the supervisors of an engine follow the platform: new realms are started, the others get their settings.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;

use super::Realms;
use super::starting::{PreparedRealm, RealmTerms};
use crate::failure::Failure;
use crate::mailbox::Mailbox;
use crate::platform;
use crate::realms::RealmSupervisor;

/// Realms that were loaded before they are taken up.
pub(super) type LoadedAhead = BTreeMap<RealmId, PreparedRealm>;

impl Realms {
    /// Starts the supervisors of new tenants, some of which may be loaded already, and tells the others their settings.
    pub(super) fn follow(
        self: &Arc<Self>,
        platform: &Platform,
        mut ahead: LoadedAhead,
    ) -> Result<(), Failure> {
        let all = platform::realms(platform).map(|(tenant, mode)| tenant.realm(mode));
        let open = all.filter(|realm| platform.is_open(*realm)).collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = open;
        let mut failed = Ok(());
        let resting = self.resting();
        if *resting {
            return Ok(());
        }
        for (tenant, mode) in platform::realms(platform) {
            let realm = tenant.realm(mode);
            let open = platform.is_open(realm);
            let terms = RealmTerms::of(platform, tenant, mode);
            match self.supervisors.get(&realm) {
                Some(known) => {
                    known.restarter.serve(open);
                    known.parts.follow(&self.outside.banks, terms);
                }
                // A failure here does not stop the other realms; the realm's restarter tries again.
                None => {
                    let loaded = ahead.remove(&realm);
                    let added = self.add(realm, terms, open, loaded);
                    failed = failed.and(added);
                }
            }
        }
        self.count_collectors();
        failed
    }

    /// Loads the realms of a resting node without letting them act, so that taking them up takes no time.
    ///
    /// # Errors
    /// When a realm cannot be loaded.
    pub(super) fn load_ahead(&self, platform: &Platform) -> Result<LoadedAhead, Failure> {
        let mut ahead = BTreeMap::new();
        for (tenant, mode) in platform::realms(platform) {
            let realm = tenant.realm(mode);
            if !platform.is_open(realm) || self.supervisors.contains_key(&realm) {
                continue;
            }
            let loaded = self.ahead(realm, RealmTerms::of(platform, tenant, mode))?;
            ahead.insert(realm, loaded);
        }
        Ok(ahead)
    }

    /// The way to a realm's supervisor.
    pub(super) fn supervisor(&self, realm: RealmId) -> Result<Mailbox<RealmSupervisor>, Failure> {
        let known = self.supervisors.get(&realm);
        let mailbox = known.map(|known| known.value().mailbox.clone());
        mailbox.ok_or_else(|| self.absent(realm))
    }
}
