//! The door for operators: figures, live actors next to the disk, the owner of a CVU, and the end of the service.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caudal_ledger::accounts::Account;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::orders::{PlatformOrder, TenantChange};
use caudal_ledger::tenants::{Mode, Platform, Serving, Tenant};
use caudal_storage::{Checks, Index, Stats};

use super::read_slots::{ReadAccess, ReadCost};
use super::vouchers::all_placed;
use super::{ANSWERS_MAX, Lifecycle, Operators};
use crate::accounts::AccountVoucher;
use crate::failure::Failure;
use crate::realms::{FindVouchersOf, PassivateAccount, RealmReport, ReportActors, Target};
use crate::records::projection::VoucherPlace;
use crate::records::reads;

/// How long the lanes may take to hand over their waiting commits when the store closes.
const DRAIN: Duration = Duration::from_secs(2);
/// The pause before asking again for the outcome of a fact.
const ASK_AGAIN: Duration = Duration::from_millis(20);

impl Operators<'_> {
    /// The store's figures, with the commits that wait in the lanes.
    pub fn stats(self) -> Stats {
        let stats = self.0.store.stats();
        let lanes = self.0.realms.supervisors.iter();
        let waiting = lanes.map(|known| known.value().lane.waiting());
        let waiting = waiting.fold(0, usize::saturating_add);
        let queued = u64::try_from(waiting).unwrap_or(u64::MAX);
        Stats {
            queued: stats.queued.saturating_add(queued),
            ..stats
        }
    }

    /// The state and findings of the store's background checks.
    pub fn checks(self) -> Checks {
        self.0.store.checks()
    }

    /// Changes a tenant. A realm that is to be closed is retired before the closing fact is written, so that nothing of
    /// the realm follows that fact.
    ///
    /// # Errors
    /// As [`Operators::administer`]; the realms are then served as before.
    pub async fn change_tenant(
        self,
        tenant: &Tenant,
        change: TenantChange,
    ) -> Result<Arc<Platform>, Failure> {
        let _turning = self.0.turning.lock().await;
        let platform = self.0.platform();
        let mut closing = vec![Mode::Live, Mode::Test];
        closing.retain(|mode| {
            let (wanted, realm) = (
                change.serving(*mode) == Some(Serving::Closed),
                tenant.realm(*mode),
            );
            // A realm that another node serves is closed there when the fact reaches that node.
            wanted && platform.is_open(realm) && !self.0.is_at_rest()
        });
        let done = async {
            for mode in &closing {
                Lifecycle(self.0).retire(tenant.realm(*mode)).await?;
            }
            let turns = [Mode::Live, Mode::Test]
                .iter()
                .any(|mode| change.serving(*mode).is_some());
            let order = PlatformOrder::ChangeTenant(tenant.id.clone(), change);
            if turns {
                // No other turn begins before it is known whether the realm is served.
                self.administered_surely(order).await
            } else {
                self.administer(order).await
            }
        };
        let done = done.await;
        if done.is_err() {
            // If the closing fact was written all the same, it closes the realm again.
            let all = closing.iter().map(|mode| tenant.realm(*mode));
            let open = |realm: &RealmId| self.0.platform().is_open(*realm) && !self.0.is_at_rest();
            for realm in all.filter(open) {
                // If the realm cannot be loaded, its restarter logs that and tries again.
                drop(Lifecycle(self.0).resume(realm).await);
            }
        }
        done
    }

    /// Decides an order about the platform, and waits until its outcome is known: its fact may still come into force,
    /// and nothing may act before that is known. An order is decided after those before it, so the answer to a repeat
    /// tells what became of the first.
    async fn administered_surely(self, order: PlatformOrder) -> Result<Arc<Platform>, Failure> {
        let mut done = self.administer(order.clone()).await;
        let unknown = matches!(done, Err(Failure::OutcomeUnknown));
        while unknown && !matches!(done, Ok(_) | Err(Failure::Rejected(_))) && !self.0.is_at_rest()
        {
            tokio::time::sleep(ASK_AGAIN).await;
            done = self.0.instruct(order.clone()).await;
        }
        done
    }

    /// The state of a realm's actors.
    pub async fn report(self, realm: RealmId) -> Result<RealmReport, Failure> {
        self.0.ask(realm, ReportActors).await
    }

    /// The vouchers of a realm that a request wrote, oldest first, at most `limit`. Only the newest vouchers are
    /// remembered ([`crate::trail`]), and only while the realm has webhooks.
    ///
    /// # Errors
    /// When the realm is not served here; those of every reading door.
    pub async fn wrote(
        self,
        realm: RealmId,
        request_id: &str,
        limit: usize,
    ) -> Result<Vec<AccountVoucher>, Failure> {
        let question = FindVouchersOf(request_id.to_owned());
        let mut places = self.0.ask(realm, question).await?;
        places.truncate(limit);
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let places = places.into_iter();
        let places = places.map(|(account, sequence)| VoucherPlace { account, sequence });
        let read = move |store: &dyn Index| all_placed(store, realm, places);
        self.0.scan(realm, ReadCost::Page, read).await
    }

    /// Sends an account's actor away if it is idle. Returns whether it is gone.
    pub async fn passivate(self, realm: RealmId, target: Target) -> Result<bool, Failure> {
        self.0.ask(realm, PassivateAccount(target)).await
    }

    /// The account as it is on disk, with its last calls to the bank.
    pub async fn on_disk(
        self,
        realm: RealmId,
        account: AccountNo,
    ) -> Result<(Account, Vec<BankCall>), Failure> {
        let read = move |store: &dyn Index| on_disk(store, realm, account);
        self.0.scan(realm, ReadCost::Scan, read).await
    }

    /// The realm and account of a CVU, in whichever tenant: for operators.
    pub async fn locate(self, cvu: Cvu) -> Result<(RealmId, AccountNo), Failure> {
        // A CVU has no known realm before it is found.
        self.0
            .look(RealmId(0), ReadCost::Point, move |books| books.locate(cvu))
            .await
    }
}

impl Lifecycle<'_> {
    /// Makes everything durable and stops the store. Later orders fail. Commits that still wait in a lane after
    /// [`DRAIN`] fail, too, with nothing done.
    pub fn close(self) -> Result<(), Failure> {
        let (done, ended) = std::sync::mpsc::channel();
        for known in &self.0.realms.supervisors {
            let done = done.clone();
            let lane = &known.value().lane;
            lane.barrier(Box::new(move |_| {
                // Nobody listens any more if that took too long.
                done.send(()).ok();
            }));
        }
        drop(done);
        let since = Instant::now();
        while let Some(left) = DRAIN.checked_sub(since.elapsed())
            && ended.recv_timeout(left).is_ok()
        {}
        Ok(self.0.store.close()?)
    }
}

impl ReadAccess {
    /// The realm and account of a CVU, in whichever tenant.
    pub(super) fn locate(&self, cvu: Cvu) -> Result<(RealmId, AccountNo), Failure> {
        let store = self.store.as_ref();
        let realms = reads::realms_of_cvu(store, cvu)?;
        let realm = realms.first().ok_or(Rejection::AccountNotFound)?;
        let found = reads::account_of_cvu(store, *realm, cvu)?;
        Ok((*realm, found.ok_or(Rejection::AccountNotFound)?))
    }
}

/// An account as it is on disk, with its last calls to the bank.
pub(crate) fn on_disk(
    store: &dyn Index,
    realm: RealmId,
    account: AccountNo,
) -> Result<(Account, Vec<BankCall>), Failure> {
    let loaded = reads::account(store, realm, account)?;
    let (loaded, _) = loaded.ok_or(Rejection::AccountNotFound)?;
    let calls = reads::bank_calls(store, realm, account, ANSWERS_MAX)?;
    Ok((loaded, calls))
}
