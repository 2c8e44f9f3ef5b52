//! The treasury's actor: the clients' money, as one consistent cut, next to the bank's balance of their collector
//! account at the same instant.
//!
//! **The ledger's side** is one row of the index, rewritten with every voucher and published with
//! its group: a single read is a cut through all accounts, and no account's actor is asked.
//!
//! **The bank's side** is asked only on demand, at most once in [`BANK_EVERY`] for each collector
//! account, however many snapshots are requested, and never inside a turn. Checks at intervals ([`checks`]) ask for
//! snapshots like everybody else.
//!
//! **One instant.** The ledger's side is read at the moment at which the bank is asked, right before the call leaves
//! (for each attempt anew), and is kept with the answer. So a snapshot shows a pair that belongs together, and its
//! instant is the bank's. Because of this order, everything that the ledger knows from the bank (money that arrived,
//! transfers that ended) is in the bank's side, too. The two sides differ only by what the bank has done and the ledger
//! has not heard yet: the bank has more by money on its way into an account, and less by transfers that have left and
//! are still held. Without an answer of the bank there is only the ledger's side, as of now.
//!
//! **Uncredited.** A credit that the bank has reported and that the ledger could not book is a case, and not free money. A
//! movement on the bank's list is booked or becomes a case as soon as the list is read; the list is not read for a snapshot.
//!
//! **One collector account, one realm.** If realms share an account, nobody can tell whose money is on it: each realm
//! sees its own clients' money and [`NoBalance::Shared`]; the operator sees the account next to the debts of all of them,
//! at one cut.
//!
//! **Failure.** A failing or slow bank delays nobody: after [`PATIENCE`] the snapshot is answered with the last pair,
//! if it is no older than [`KEPT`], or without the bank's side and with the reason. Only a check waits for the answer.

pub mod checks;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt as _, AsyncContext, Context, Handler, WrapFuture as _};
use caudal_ledger::coverage::CoverageFact;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Money;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::{Coverage, Sum, Totals};
use caudal_storage::{Store, StoreError};
use tokio::time::Instant;

use crate::banks::{OnCollector, RealmBank};
use crate::failure::Failure;
use crate::mailbox::{HasResponder, Queued};
use crate::ports::{BankError, BankGateway as _, BankReply, Clock, Collector};
use crate::records::reads;
use crate::reply::{Reply, Responder};

use checks::CollectorChecks;

/// How many messages may wait for the treasury's actor.
pub const MAILBOX: usize = 1024;
/// The shortest time between two calls to a bank about the balance of a collector account.
pub const BANK_EVERY: Duration = Duration::from_secs(3);
/// How long a snapshot waits for the bank, unless [`crate::engine`]'s options set another time: a second.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// The greatest age of a pair that is shown while the bank does not answer: a minute.
pub const KEPT: Duration = Duration::from_secs(60);
/// The most snapshots that wait for a bank; further ones are answered with its last answer.
const WAITING_MAX: usize = 10_000;

/// Why the bank's balance is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoBalance {
    /// It has not answered yet.
    NotYet,
    /// It refused, failed, or did not answer in time.
    Error(BankError),
    /// Another realm has the same collector account.
    Shared,
    /// There is no bank, or it cannot be asked.
    NoBank,
}

/// The treasury of a realm, or of all realms on a collector account, at an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Its instant: the bank's if its answer is known, otherwise now.
    pub as_of: Timestamp,
    /// The ledger's side: all of it as of one commit.
    pub totals: Totals,
    /// Credits that the bank has reported and the ledger has not booked, in centavos.
    pub uncredited: Sum,
    /// The account that really holds the money; empty without a bank.
    pub collector: Collector,
    /// The balance of the account, in centavos, and when the bank read it; or why it is not known.
    pub bank: Result<(Money, Timestamp), NoBalance>,
}

impl Snapshot {
    /// Both sides compared, if the bank's is known.
    pub fn coverage(&self) -> Option<Coverage> {
        let (bank, _) = self.bank.as_ref().ok()?;
        let foreign = self.totals.foreign().plus(self.uncredited);
        Some(Coverage::of(*bank, foreign))
    }

    /// The same as a fact, for the realms on the account.
    pub fn fact(&self, on: &OnCollector) -> Option<CoverageFact> {
        let (bank, at) = self.bank.as_ref().ok()?;
        let sides = (*bank, self.totals.owed());
        let shared = on.realms.len() > 1;
        Some(CoverageFact::new(*at, sides, self.coverage()?, shared))
    }
}

/// The owner of the wanted treasury.
#[derive(Clone, Debug)]
pub enum TreasuryOwner {
    /// The treasury of one realm.
    Realm(RealmId),
    /// The treasury of all realms on a collector account: for operators.
    Collector(Arc<OnCollector>),
}

/// A request for a snapshot.
#[derive(Debug)]
pub struct TakeSnapshot {
    /// The owner of the wanted treasury.
    pub whose: TreasuryOwner,
    /// The id of the request, for the bank's log.
    pub request_id: String,
    /// Whether it waits for the bank as long as the bank may take.
    pub waits: bool,
    /// Receives the snapshot.
    pub reply: Reply<Result<Snapshot, Failure>>,
}

impl HasResponder for TakeSnapshot {
    fn responder(&mut self) -> Option<&mut dyn Responder> {
        Some(&mut self.reply)
    }
}

/// The bank of a realm, and the realm's collector account.
#[derive(Clone, Debug)]
pub struct RealmCollector {
    /// The gateway to the realm's bank.
    pub bank: Arc<RealmBank>,
    /// Its collector account; `None` without a bank.
    pub on: Option<Arc<OnCollector>>,
}

/// Finds the standing of a realm.
pub type FindCollector = Arc<dyn Fn(RealmId) -> Result<RealmCollector, Failure> + Send + Sync>;
/// Journals the calls to the bank that were made for a realm.
pub type JournalCalls = Arc<dyn Fn(RealmId, Vec<BankCall>) + Send + Sync>;

/// The ledger's side of a realm.
#[derive(Clone, Copy, Debug, Default)]
struct LedgerSide {
    totals: Totals,
    uncredited: Sum,
}

/// The ledger's side of the realms on a collector account.
type LedgerSides = BTreeMap<RealmId, LedgerSide>;

/// The bank's answer, and the ledger's side as of the moment at which it was asked.
#[derive(Clone, Debug)]
struct BalancePair {
    balance: Money,
    at: Timestamp,
    sides: LedgerSides,
}

/// A snapshot that waits for the bank, or is answered without it.
struct WaitingSnapshot {
    on: Arc<OnCollector>,
    /// The realm; all realms of the account when `None`.
    realm: Option<RealmId>,
    /// See [`TakeSnapshot::waits`].
    waits: bool,
    reply: Reply<Result<Snapshot, Failure>>,
}

/// The state of a collector account, and the snapshots that wait for it.
#[derive(Default)]
struct CollectorState {
    /// The bank's last answer, and when it came.
    last: Option<(Instant, Result<BalancePair, BankError>)>,
    /// Since when the bank is being asked.
    asked: Option<Instant>,
    waiting: Vec<WaitingSnapshot>,
}

impl CollectorState {
    fn is_fresh(&self, now: Instant, every: Duration) -> bool {
        let age = |at: &Instant| now.saturating_duration_since(*at);
        self.last.as_ref().is_some_and(|(at, _)| age(at) < every)
    }

    /// Whether a snapshot should wait for the answer under way.
    fn is_patient(&self, now: Instant, patience: Duration, waits: bool) -> bool {
        let since = |at: Instant| now.saturating_duration_since(at);
        let soon = |at| waits || since(at) < patience;
        self.asked.is_some_and(soon) && self.waiting.len() < WAITING_MAX
    }

    /// The last pair, if it covers exactly these realms.
    fn word(&self, on: &OnCollector, now: Instant) -> Result<&BalancePair, NoBalance> {
        match &self.last {
            Some((_, Err(why))) => Err(NoBalance::Error(why.clone())),
            Some((at, Ok(pair)))
                if now.saturating_duration_since(*at) < KEPT
                    && pair.sides.keys().eq(on.realms.iter()) =>
            {
                Ok(pair)
            }
            Some((_, Ok(_))) | None => Err(NoBalance::NotYet),
        }
    }
}

/// The actor of the treasury, with the last answer of each bank.
pub struct Treasury {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    standings: FindCollector,
    journal: JournalCalls,
    checks: Arc<CollectorChecks>,
    every: Duration,
    patience: Duration,
    states: HashMap<String, CollectorState>,
}

impl Treasury {
    /// A treasury that has not asked any bank yet. It asks each bank at most once in `every`; a snapshot waits
    /// `patience` for the bank. `checks` learn of every answer.
    pub fn new(
        (store, clock): (Arc<dyn Store>, Arc<dyn Clock>),
        standings: FindCollector,
        journal: JournalCalls,
        checks: Arc<CollectorChecks>,
        (every, patience): (Duration, Duration),
    ) -> Self {
        Self {
            store,
            clock,
            standings,
            journal,
            checks,
            every,
            patience,
            states: HashMap::new(),
        }
    }

    fn state(&mut self, on: &OnCollector) -> &mut CollectorState {
        self.states.entry(on.place.clone()).or_default()
    }

    /// The ledger's side as of now, with the reason why the bank's is missing.
    fn alone(
        &self,
        realms: &[RealmId],
        collector: Collector,
        why: NoBalance,
    ) -> Result<Snapshot, Failure> {
        let as_of = self.clock.now();
        let sides = ledgers(self.store.as_ref(), realms)?;
        let LedgerSide { totals, uncredited } = sum(sides.values());
        Ok(Snapshot {
            as_of,
            totals,
            uncredited,
            collector,
            bank: Err(why),
        })
    }

    fn answer(&mut self, waiting: WaitingSnapshot, now: Instant) {
        let WaitingSnapshot {
            on, realm, reply, ..
        } = waiting;
        let taken = match self.state(&on).word(&on, now) {
            Ok(pair) => Ok(pair.snapshot(&on, realm)),
            Err(why) => {
                let all: Vec<_> = on.realms.iter().copied().collect();
                let realms = realm.map_or(all, |realm| vec![realm]);
                self.alone(&realms, on.collector.clone(), why)
            }
        };
        reply.send(taken);
    }

    /// Answers the snapshots that wait for an account: those that wait no longer, or all.
    fn answer_waiting(&mut self, on: &OnCollector, all: bool) {
        let now = Instant::now();
        let waiting = std::mem::take(&mut self.state(on).waiting);
        let (ready, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|it| all || !it.waits);
        self.state(on).waiting = rest;
        for waiting in ready {
            self.answer(waiting, now);
        }
    }

    /// Asks the bank about a collector account, outside any turn. Calls of a check are journalled only if it finds money
    /// missing: there is one a minute, for ever.
    fn ask(
        &mut self,
        on: &Arc<OnCollector>,
        (request_id, is_check): (String, bool),
        ctx: &mut Context<Self>,
    ) {
        // Realms that another node serves cannot be asked here.
        let all = on.realms.iter().copied();
        let mut standings = all.map(|realm| (realm, (self.standings)(realm)));
        let found = standings.find(|(_, standing)| standing.is_ok());
        let Some((realm, Ok(RealmCollector { bank, .. }))) = found else {
            return;
        };
        self.state(on).asked = Some(Instant::now());
        let store = Arc::clone(&self.store);
        let realms: Vec<_> = on.realms.iter().copied().collect();
        let sides = Rc::new(RefCell::new(None));
        let seen = Rc::clone(&sides);
        let question = async move {
            let asking = || *seen.borrow_mut() = Some(ledgers(store.as_ref(), &realms));
            bank.balance(&asking, &request_id).await
        };
        let (of, again) = (Arc::clone(on), Arc::clone(on));
        let heard = move |reply: BankReply<_>, treasury: &mut Self, _: &mut Context<Self>| {
            let BankReply { result, calls } = reply;
            let is_missing = treasury.hear(&of, result, sides.take());
            if !is_check || is_missing {
                (treasury.journal)(realm, calls);
            }
        };
        ctx.spawn(question.into_actor(self).map(heard));
        ctx.run_later(self.patience, move |treasury, _| {
            treasury.answer_waiting(&again, false)
        });
    }

    /// Takes in an answer of the bank, and returns whether money is missing.
    fn hear(
        &mut self,
        on: &OnCollector,
        result: Result<(Money, Timestamp), BankError>,
        sides: Option<Result<LedgerSides, StoreError>>,
    ) -> bool {
        let word = match (result, sides) {
            (Ok((balance, at)), Some(Ok(sides))) => Some(Ok(BalancePair { balance, at, sides })),
            (Err(why), _) => Some(Err(why)),
            // Without the ledger's side of that moment the answer is worthless.
            (Ok(_), Some(Err(_)) | None) => None,
        };
        let mut is_missing = false;
        match &word {
            Some(Ok(pair)) => {
                if let Some(fact) = pair.snapshot(on, None).fact(on) {
                    is_missing = !fact.covered;
                    self.checks.hear(&on.place, Ok(fact), self.clock.now());
                }
            }
            Some(Err(why)) => self.checks.hear(&on.place, Err(why), self.clock.now()),
            None => {}
        }
        let state = self.state(on);
        state.last = word.map(|word| (Instant::now(), word));
        state.asked = None;
        self.answer_waiting(on, true);
        is_missing
    }
}

impl BalancePair {
    /// The snapshot of a realm on the account, or of the whole account.
    fn snapshot(&self, on: &OnCollector, realm: Option<RealmId>) -> Snapshot {
        let LedgerSide { totals, uncredited } = match realm {
            Some(realm) => self.sides.get(&realm).copied().unwrap_or_default(),
            None => sum(self.sides.values()),
        };
        Snapshot {
            as_of: self.at,
            totals,
            uncredited,
            collector: on.collector.clone(),
            bank: Ok((self.balance, self.at)),
        }
    }
}

/// The ledger's side of realms: their sums as of one commit, and what they have not booked as of now.
fn ledgers(store: &dyn Store, realms: &[RealmId]) -> Result<LedgerSides, StoreError> {
    let sides = reads::totals_of(store, realms)?.into_iter();
    let both = sides.map(|(realm, totals)| {
        let uncredited = reads::cases::uncredited(store, realm)?;
        Ok((realm, LedgerSide { totals, uncredited }))
    });
    both.collect()
}

/// The sums of several realms as one.
fn sum<'a>(sides: impl Iterator<Item = &'a LedgerSide>) -> LedgerSide {
    sides.fold(LedgerSide::default(), |sum, more| LedgerSide {
        totals: sum.totals.plus(&more.totals),
        uncredited: sum.uncredited.plus(more.uncredited),
    })
}

impl Actor for Treasury {
    type Context = Context<Self>;
}

impl Handler<Queued<TakeSnapshot>> for Treasury {
    type Result = ();

    fn handle(&mut self, queued: Queued<TakeSnapshot>, ctx: &mut Context<Self>) {
        let TakeSnapshot {
            whose,
            request_id,
            waits,
            reply,
        } = queued.take();
        if reply.is_closed() {
            return;
        }
        let (on, realm) = match whose {
            TreasuryOwner::Collector(on) => (on, None),
            TreasuryOwner::Realm(realm) => match (self.standings)(realm) {
                Err(why) => return reply.send(Err(why)),
                Ok(RealmCollector { on: None, .. }) => {
                    let nowhere = Collector::default();
                    return reply.send(self.alone(&[realm], nowhere, NoBalance::NoBank));
                }
                Ok(RealmCollector { on: Some(on), .. }) if on.realms.len() > 1 => {
                    let collector = on.collector.clone();
                    return reply.send(self.alone(&[realm], collector, NoBalance::Shared));
                }
                Ok(RealmCollector { on: Some(on), .. }) => (on, Some(realm)),
            },
        };
        let (now, every, patience) = (Instant::now(), self.every, self.patience);
        let state = self.state(&on);
        if !state.is_fresh(now, every) && state.asked.is_none() {
            self.ask(&on, (request_id, waits), ctx);
        }
        let waiting = WaitingSnapshot {
            on: Arc::clone(&on),
            realm,
            waits,
            reply,
        };
        let state = self.state(&on);
        if state.is_fresh(now, every) || !state.is_patient(Instant::now(), patience, waits) {
            return self.answer(waiting, now);
        }
        state.waiting.push(waiting);
    }
}
