//! The sweep: at the start and from time to time, finds open business that no actor looks after.
//!
//! **Bounds.** One sweep takes up [`SWEEP_MAX`] of each kind. If there are more open transfers, the next part follows
//! after a short pause.

use std::sync::Arc;

use actix::{AsyncContext as _, Context};
use caudal_ledger::ids::AccountNo;
use caudal_storage::StoreError;

use super::{RealmContext, RealmOrder, RealmSupervisor, SWEEP_MAX, SWEEP_ON};
use crate::accounts::Tick;
use crate::commit_writer::Shared;
use crate::orders::{ContextOf, Order};
use crate::records::{self, reads};

/// Has a realm whose clock was advanced look for what is due now.
pub struct Sweep;

impl Order for Sweep {
    type Outcome = ();
}

impl RealmOrder for Sweep {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, ctx: &mut RealmContext) {
        realm.sweep(ctx);
        request.answer(Ok(()));
    }
}

impl RealmSupervisor {
    /// Starts the missing actors of accounts that wait for the bank or the fund, and has holds released whose time is
    /// over.
    pub(super) fn sweep(&mut self, ctx: &mut Context<Self>) {
        self.ensure_courier();
        // While the clock is in doubt, a hold that looks due may not be due.
        if self.shared.clock.doubt().is_some() {
            return;
        }
        let Shared {
            store,
            realm,
            clock,
            ..
        } = &*self.shared;
        let (store, realm, now) = (Arc::clone(store), *realm, clock.now());
        let waiting = reads::pending(store.as_ref(), realm, SWEEP_MAX);
        self.take_up(waiting, false);
        let enrolling = reads::enrolling(store.as_ref(), realm, SWEEP_MAX);
        self.take_up(enrolling, false);
        let ended = reads::money::ended(store.as_ref(), realm, now, SWEEP_MAX);
        self.take_up(ended, true);
        let prefix = records::keys::open_transfers(realm);
        let open = reads::money::numbers(store.as_ref(), &prefix, self.swept, SWEEP_MAX);
        self.swept = open
            .as_ref()
            .ok()
            .filter(|open| open.len() == SWEEP_MAX)
            .and_then(|open| open.last().copied());
        self.take_up(
            open.map(|open| open.into_iter().map(|(account, _)| account)),
            false,
        );
        if self.swept.is_some() {
            ctx.run_later(SWEEP_ON, Self::sweep);
        }
    }

    fn take_up(
        &mut self,
        accounts: Result<impl IntoIterator<Item = AccountNo>, StoreError>,
        tick: bool,
    ) {
        let realm = self.shared.realm.0;
        let mut last = None;
        let accounts = match accounts {
            Ok(accounts) => accounts,
            Err(why) => {
                return tracing::error!(%why, realm, "cannot look for unfinished business");
            }
        };
        for number in accounts {
            if last.replace(number) == Some(number) {
                continue;
            }
            match self.children.get(number) {
                Ok(child) if tick => child.tell(Tick),
                Ok(_) => {}
                Err(why) => {
                    tracing::warn!(%why, account = number.0, "cannot resume unfinished business");
                }
            }
        }
    }
}
