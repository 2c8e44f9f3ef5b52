//! Which bank each realm has: its relation, the gateway made of it, and which notices count for
//! which realms.
//!
//! **Shape.** [`RealmBank`] is the gateway that a realm's actors keep for ever; behind it is the one made of the
//! realm's relation, which an operator may change. If a relation names no bank, or one that cannot be reached, its
//! gateway calls nobody: every operation fails, and the callers that retry anyway retry it. No order passes while the
//! realm's [`OutgoingPause`] holds it.
//!
//! **Order.** An operation that has begun ends at the bank where it began; the next one uses the new
//! relation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::BankRefusal;
use caudal_ledger::ids::{OriginId, RealmId};
use caudal_ledger::money::Money;
use caudal_ledger::remuneration::FundWord;
use caudal_ledger::tenants::{BankRelation, Mode, Tenant};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{BankTransfer, Destination, RejectionCode, TransferRejection};

use crate::outgoing_pause::OutgoingPause;
use crate::ports::{
    BankError, BankFuture, BankGateway, BankReply, Collector, CollectorStatement, DayList,
    EnrolmentOrder, FundReport, KeyHolder, Notice, RawNotice, ReturnOrder, Simulation,
    TransferOrder, UnreadNotice, known,
};

/// A realm's relation to its bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relation {
    /// The id of the tenant.
    pub tenant: String,
    /// The realm of the tenant in this mode.
    pub realm: RealmId,
    /// Whether it is the live or the test relation.
    pub mode: Mode,
    /// The tenant's own settings; the rest comes from the platform's settings.
    pub own: BankRelation,
}

impl Relation {
    /// The relation of a tenant's realm.
    pub fn of(tenant: &Tenant, mode: Mode) -> Self {
        Self {
            tenant: tenant.id.clone(),
            realm: tenant.realm(mode),
            mode,
            own: tenant.banks.of(mode).clone(),
        }
    }
}

/// Why a realm has no bank.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoBank {
    /// Neither the platform nor the tenant names one.
    #[error("no bank is set")]
    Absent,
    /// The relation has a wrong setting.
    #[error("{field} {why}")]
    Wrong {
        /// The setting, as the admin API names it.
        field: &'static str,
        /// What is wrong, and how to correct it.
        why: String,
    },
}

/// Makes the gateway of a relation; called when a realm starts and when its relation changes.
pub type Banks = Arc<dyn Fn(&Relation) -> Result<Arc<dyn BankGateway>, NoBank> + Send + Sync>;

/// The realms for which a bank's notices count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoticeAuthority {
    /// All realms of a mode.
    Mode(Mode),
    /// Only these realms.
    Realms(Arc<BTreeSet<RealmId>>),
}

impl NoticeAuthority {
    /// Whether the notices count for a realm.
    pub fn speaks_for(&self, realm: RealmId) -> bool {
        match self {
            Self::Mode(mode) => realm.mode() == *mode,
            Self::Realms(realms) => realms.contains(&realm),
        }
    }
}

impl From<Mode> for NoticeAuthority {
    fn from(mode: Mode) -> Self {
        Self::Mode(mode)
    }
}

impl From<BTreeSet<RealmId>> for NoticeAuthority {
    fn from(realms: BTreeSet<RealmId>) -> Self {
        Self::Realms(Arc::new(realms))
    }
}

/// A collector account, and the realms whose money is on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnCollector {
    /// Distinguishes it from every other account; see [`BankGateway::place`].
    pub place: String,
    /// The collector account that they share.
    pub collector: Collector,
    /// The realms: at least one.
    pub realms: BTreeSet<RealmId>,
}

impl OnCollector {
    /// The realm to which money belongs that no account here explains: the first of a mode on the account. It counts
    /// whether the realm is served or not, so that no second one takes the same money.
    pub fn keeper(&self, mode: Mode) -> Option<RealmId> {
        self.realms_of(mode).first().copied()
    }

    /// The realms of a mode.
    pub fn realms_of(&self, mode: Mode) -> BTreeSet<RealmId> {
        let realms = self.realms.iter().copied();
        realms.filter(|realm| realm.mode() == mode).collect()
    }
}

/// All collector accounts by their places. Realms without a bank are on none.
pub type Collectors = BTreeMap<String, Arc<OnCollector>>;

/// The collector accounts as of the last change of the platform, for whoever has to ask about other realms.
#[derive(Clone, Debug, Default)]
pub struct KnownCollectors(Arc<RwLock<Arc<Collectors>>>);

impl KnownCollectors {
    /// Takes up which realms are on which account.
    pub fn set(&self, collectors: Collectors) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(collectors);
    }

    /// All of them.
    pub fn now(&self) -> Arc<Collectors> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The collector account of a realm; `None` without a bank.
    pub fn of(&self, realm: RealmId) -> Option<Arc<OnCollector>> {
        let all = self.now();
        let mut all = all.values();
        all.find(|on| on.realms.contains(&realm)).cloned()
    }

    /// Whether money belongs to this realm that came through its bank and that no account here explains.
    pub fn keeps(&self, realm: RealmId) -> bool {
        let on = self.of(realm);
        on.is_some_and(|on| on.keeper(realm.mode()) == Some(realm))
    }
}

/// Finds which realms are on which collector account.
pub fn collectors<'a>(banks: impl IntoIterator<Item = (RealmId, &'a RealmBank)>) -> Collectors {
    let mut found: BTreeMap<String, OnCollector> = BTreeMap::new();
    for (realm, bank) in banks {
        let Ok(bank) = bank.now() else { continue };
        let place = bank.place();
        let on = found.entry(place.clone()).or_insert_with(|| OnCollector {
            place,
            collector: bank.collector(),
            realms: BTreeSet::new(),
        });
        on.realms.insert(realm);
    }
    let all = found.into_iter();
    all.map(|(place, on)| (place, Arc::new(on))).collect()
}

type MadeGateway = Result<Arc<dyn BankGateway>, NoBank>;

/// The bank of a realm, by its present relation.
#[derive(Debug)]
pub struct RealmBank {
    kept: RwLock<(Relation, MadeGateway)>,
    outgoing: Arc<OutgoingPause>,
    /// See [`Self::changes`].
    changes: AtomicU64,
}

/// An order to the bank that is under way: a change when it begins, and when it ends.
struct Changing<'a>(&'a RealmBank);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.has_changed();
    }
}

impl RealmBank {
    /// The bank of a relation, behind the hold of the realm.
    pub fn new(banks: &Banks, relation: Relation, outgoing: Arc<OutgoingPause>) -> Self {
        let made = make(banks, &relation);
        Self {
            kept: RwLock::new((relation, made)),
            outgoing,
            changes: AtomicU64::new(0),
        }
    }

    /// The hold on the realm's departures.
    pub fn outgoing(&self) -> &Arc<OutgoingPause> {
        &self.outgoing
    }

    /// Adopts a relation that may have changed.
    pub fn follow(&self, banks: &Banks, relation: Relation) {
        if self.relation() == relation {
            return;
        }
        let made = make(banks, &relation);
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = (relation, made);
        self.has_changed();
    }

    /// How often something happened between the realm and its bank: an order began or ended, or a notice came. An
    /// answer of the bank from before is old.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Counts that something happened.
    pub fn has_changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts the beginning of an order, and its end when the result is dropped.
    fn changing(&self) -> Changing<'_> {
        self.has_changed();
        Changing(self)
    }

    /// The present relation.
    pub fn relation(&self) -> Relation {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.0.clone()
    }

    /// The present gateway.
    ///
    /// # Errors
    /// Why there is none.
    pub fn now(&self) -> MadeGateway {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.1.clone()
    }

    /// Orders something of the present bank. While the realm is held nothing is ordered.
    fn order<'a, T: 'a>(&'a self, order: impl BankOperation<'a, T>) -> BankFuture<'a, T> {
        if self.outgoing.is_held() {
            nobody(HELD)
        } else {
            self.ask(order)
        }
    }

    /// The same for an order that counts as a change while it is under way.
    fn change<'a, T: 'a>(&'a self, order: impl BankOperation<'a, T>) -> BankFuture<'a, T> {
        self.order(async move |bank| {
            let _changing = self.changing();
            order(bank).await
        })
    }

    /// Asks the present bank.
    fn ask<'a, T: 'a>(&'a self, question: impl BankOperation<'a, T>) -> BankFuture<'a, T> {
        match self.now() {
            Ok(bank) => Box::pin(async move { question(bank).await }),
            Err(why) => nobody(silent(&why)),
        }
    }
}

/// Calls an operation of a bank.
trait BankOperation<'a, T>: AsyncFnOnce(Arc<dyn BankGateway>) -> BankReply<T> + 'a {}

impl<'a, T, F: AsyncFnOnce(Arc<dyn BankGateway>) -> BankReply<T> + 'a> BankOperation<'a, T> for F {}

fn make(banks: &Banks, relation: &Relation) -> MadeGateway {
    let made = banks(relation);
    if let Err(why @ NoBank::Wrong { .. }) = &made {
        let (tenant, mode) = (&relation.tenant, relation.mode.as_str());
        tracing::error!(%why, tenant, mode, "the bank of a tenant cannot be asked");
    }
    made
}

/// The answer in place of the bank while departures are held.
const HELD: &str =
    r#"{"message":"outgoing operations are paused until an operator releases them"}"#;

/// The answer in place of a missing bank.
const fn silent(why: &NoBank) -> &'static str {
    // Only the operator needs to know which setting is wrong.
    match why {
        NoBank::Absent => r#"{"message":"no bank is set for this mode"}"#,
        NoBank::Wrong { .. } => r#"{"message":"the bank cannot be asked at present"}"#,
    }
}

/// The answer in place of a bank: the caller keeps waiting.
fn nobody<'a, T: 'a>(body: &'static str) -> BankFuture<'a, T> {
    known(Err(BankError::Failed {
        status: None,
        body: body.to_owned(),
    }))
}

impl BankGateway for RealmBank {
    fn collector(&self) -> Collector {
        self.now()
            .map_or_else(|_| Collector::default(), |bank| bank.collector())
    }

    fn place(&self) -> String {
        self.now()
            .map_or_else(|_| String::new(), |bank| bank.place())
    }

    fn verify(&self, notice: &RawNotice<'_>) -> bool {
        self.now().is_ok_and(|bank| bank.verify(notice))
    }

    fn read_notice(&self, notice: &RawNotice<'_>, now: Timestamp) -> Result<Notice, UnreadNotice> {
        let bank = self.now().map_err(|why| UnreadNotice(why.to_string()))?;
        bank.read_notice(notice, now)
    }

    fn client_in(&self, cvu: &Cvu) -> Option<u64> {
        self.now().ok()?.client_in(cvu)
    }

    fn create_cvu<'a>(
        &'a self,
        client_id: u64,
        holder: &'a Holder,
        request_id: &'a str,
    ) -> BankFuture<'a, Cvu> {
        self.change(async move |bank| bank.create_cvu(client_id, holder, request_id).await)
    }

    fn is_taken(&self, why: &BankRefusal) -> bool {
        self.now().is_ok_and(|bank| bank.is_taken(why))
    }

    fn rejection_code(&self, why: &TransferRejection) -> RejectionCode {
        let bank = self.now();
        bank.map_or(RejectionCode::Other, |bank| bank.rejection_code(why))
    }

    fn set_alias<'a>(
        &'a self,
        cvu: Cvu,
        cuit: Cuit,
        alias: Option<&'a Alias>,
        request_id: &'a str,
    ) -> BankFuture<'a, Alias> {
        self.change(async move |bank| bank.set_alias(cvu, cuit, alias, request_id).await)
    }

    fn rename<'a>(&'a self, cvu: Cvu, name: &'a str, request_id: &'a str) -> BankFuture<'a, ()> {
        self.change(async move |bank| bank.rename(cvu, name, request_id).await)
    }

    fn close<'a>(&'a self, cvu: Cvu, cuit: Cuit, request_id: &'a str) -> BankFuture<'a, ()> {
        self.change(async move |bank| bank.close(cvu, cuit, request_id).await)
    }

    fn transfer<'a>(
        &'a self,
        order: &'a TransferOrder,
        request_id: &'a str,
    ) -> BankFuture<'a, BankTransfer> {
        self.change(async move |bank| bank.transfer(order, request_id).await)
    }

    fn give_back<'a>(
        &'a self,
        order: &'a ReturnOrder,
        request_id: &'a str,
    ) -> BankFuture<'a, BankTransfer> {
        self.change(async move |bank| bank.give_back(order, request_id).await)
    }

    fn transfer_status<'a>(
        &'a self,
        origin: OriginId,
        request_id: &'a str,
    ) -> BankFuture<'a, Option<BankTransfer>> {
        self.ask(async move |bank| bank.transfer_status(origin, request_id).await)
    }

    fn movements<'a>(&'a self, day: BusinessDay, request_id: &'a str) -> BankFuture<'a, DayList> {
        self.ask(async move |bank| bank.movements(day, request_id).await)
    }

    fn statement<'a>(
        &'a self,
        day: BusinessDay,
        ongoing: bool,
        request_id: &'a str,
    ) -> BankFuture<'a, CollectorStatement> {
        self.ask(async move |bank| bank.statement(day, ongoing, request_id).await)
    }

    fn lookup<'a>(
        &'a self,
        whom: &'a Destination,
        request_id: &'a str,
    ) -> BankFuture<'a, KeyHolder> {
        self.ask(async move |bank| bank.lookup(whom, request_id).await)
    }

    fn balance<'a>(
        &'a self,
        asking: &'a dyn Fn(),
        request_id: &'a str,
    ) -> BankFuture<'a, (Money, Timestamp)> {
        self.ask(async move |bank| bank.balance(asking, request_id).await)
    }

    fn enrol<'a>(
        &'a self,
        order: &'a EnrolmentOrder,
        request_id: &'a str,
    ) -> BankFuture<'a, FundWord> {
        self.order(async move |bank| bank.enrol(order, request_id).await)
    }

    fn simulate<'a>(
        &'a self,
        simulation: &'a Simulation,
        request_id: &'a str,
    ) -> BankFuture<'a, ()> {
        self.change(async move |bank| bank.simulate(simulation, request_id).await)
    }

    fn fund_position<'a>(
        &'a self,
        reference: &'a str,
        request_id: &'a str,
    ) -> BankFuture<'a, Option<FundReport>> {
        self.ask(async move |bank| bank.fund_position(reference, request_id).await)
    }
}
