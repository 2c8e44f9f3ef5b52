//! The treasury's actor: what clients have, at one consistent cut, beside what the bank says that
//! the collector account has.
//!
//! **The ledger's side** is one row of the index, rewritten with every voucher and published with
//! its group: a single read is a cut through all accounts, and no account's actor is asked.
//!
//! **The bank's side** is asked while somebody wants to know, at most once in [`BANK_EVERY`] for each
//! mode, whatever the number of snapshots, and never inside a turn.
//!
//! **One collector account for each mode** is what the bank knows. Where several tenants share it,
//! each sees its whole balance beside its own clients' money.
//!
//! **Failure.** A bank that fails or is slow holds nobody up: after [`PATIENCE`] the snapshot goes
//! out with the bank's last word, as long as it is not older than [`KEPT`], or without one and with
//! the reason.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt as _, AsyncContext, Context, Handler, WrapFuture as _};
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Money;
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::{Coverage, Totals};
use caudal_storage::Store;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::mailbox::Queued;
use crate::ports::{BankError, BankGateway, BankReply, Clock, Collector};
use crate::records::reads;
use crate::reply::Reply;

/// Messages that wait for the treasury at most.
pub const MAILBOX: usize = 1024;
/// How often a bank is asked for its balance at most.
pub const BANK_EVERY: Duration = Duration::from_secs(3);
/// How long a snapshot waits for the bank.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// How old a balance may be that is shown while the bank takes its time.
pub const KEPT: Duration = Duration::from_secs(60);
/// Snapshots that wait for a bank at most; more are answered with its last word.
const WAITING_MAX: usize = 10_000;

/// Why there is no balance of the bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Silence {
    /// It has not answered yet.
    NotYet,
    /// It refused, failed, or did not answer in time.
    Error(BankError),
}

/// The treasury of a realm at an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// When it was taken.
    pub as_of: Timestamp,
    /// The ledger's side: all of it as of one commit.
    pub totals: Totals,
    /// The account that really holds the money.
    pub collector: Collector,
    /// What it has and when the bank read it, or why nobody knows.
    pub bank: Result<(Money, Timestamp), Silence>,
}

impl Snapshot {
    /// Both sides beside each other, where the bank's is known.
    pub fn coverage(&self) -> Option<Coverage> {
        let (bank, _) = self.bank.as_ref().ok()?;
        Some(Coverage::of(*bank, self.totals.owed()))
    }
}

/// The question for a snapshot, and where its answer goes.
#[derive(Debug)]
pub struct TakeSnapshot {
    /// The realm.
    pub realm: RealmId,
    /// The id of the request, for the bank's log.
    pub request_id: String,
    /// Where to answer.
    pub reply: Reply<Result<Snapshot, Failure>>,
}

/// Makes the gateway to the bank of a mode.
pub type Banks = Arc<dyn Fn(Mode) -> Arc<dyn BankGateway> + Send + Sync>;
/// Writes down the calls that were made for a realm.
pub type Journal = Arc<dyn Fn(RealmId, Vec<BankCall>) + Send + Sync>;

type Word = Result<(Money, Timestamp), BankError>;
type Waiting = (RealmId, Reply<Result<Snapshot, Failure>>);

/// What is known of the bank of a mode, and who waits for it.
struct Desk {
    bank: Arc<dyn BankGateway>,
    /// Its last word, and when it came.
    last: Option<(Instant, Word)>,
    /// Since when it is being asked.
    asked: Option<Instant>,
    waiting: Vec<Waiting>,
}

impl Desk {
    fn is_fresh(&self, now: Instant) -> bool {
        let age = |at: &Instant| now.saturating_duration_since(*at);
        self.last
            .as_ref()
            .is_some_and(|(at, _)| age(at) < BANK_EVERY)
    }

    /// Whether waiting for the answer that is under way makes sense.
    fn is_patient(&self, now: Instant) -> bool {
        let since = |at: Instant| now.saturating_duration_since(at);
        self.asked.is_some_and(|at| since(at) < PATIENCE) && self.waiting.len() < WAITING_MAX
    }

    fn word(&self, now: Instant) -> Result<(Money, Timestamp), Silence> {
        match &self.last {
            Some((_, Err(why))) => Err(Silence::Error(why.clone())),
            Some((at, Ok(known))) if now.saturating_duration_since(*at) < KEPT => Ok(*known),
            Some((_, Ok(_))) | None => Err(Silence::NotYet),
        }
    }
}

/// The actor.
pub struct Treasury {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    banks: Banks,
    journal: Journal,
    desks: HashMap<Mode, Desk>,
}

impl Treasury {
    /// A treasury that has asked nobody yet.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        banks: Banks,
        journal: Journal,
    ) -> Self {
        Self {
            store,
            clock,
            banks,
            journal,
            desks: HashMap::new(),
        }
    }

    fn desk(&mut self, mode: Mode) -> &mut Desk {
        let banks = &self.banks;
        self.desks.entry(mode).or_insert_with(|| Desk {
            bank: banks(mode),
            last: None,
            asked: None,
            waiting: Vec::new(),
        })
    }

    fn answer(&mut self, (realm, reply): Waiting, now: Instant) {
        let desk = self.desk(realm.mode());
        let (bank, collector) = (desk.word(now), desk.bank.collector());
        let as_of = self.clock.now();
        let totals = reads::totals(self.store.as_ref(), realm).map_err(Failure::from);
        reply.send(totals.map(|totals| Snapshot {
            as_of,
            totals,
            collector,
            bank,
        }));
    }

    fn answer_all(&mut self, mode: Mode) {
        let now = Instant::now();
        for waiting in std::mem::take(&mut self.desk(mode).waiting) {
            self.answer(waiting, now);
        }
    }

    /// Asks the bank of a realm's mode, outside any turn.
    fn ask(&mut self, realm: RealmId, request_id: String, ctx: &mut Context<Self>) {
        let mode = realm.mode();
        let desk = self.desk(mode);
        desk.asked = Some(Instant::now());
        let bank = Arc::clone(&desk.bank);
        let question = async move { bank.balance(&request_id).await };
        let heard = move |reply: BankReply<_>, treasury: &mut Self, _: &mut Context<Self>| {
            treasury.hear(realm, reply);
        };
        ctx.spawn(question.into_actor(self).map(heard));
        ctx.run_later(PATIENCE, move |treasury, _| treasury.answer_all(mode));
    }

    fn hear(&mut self, realm: RealmId, reply: BankReply<(Money, Timestamp)>) {
        let BankReply { result, calls } = reply;
        (self.journal)(realm, calls);
        let desk = self.desk(realm.mode());
        desk.last = Some((Instant::now(), result));
        desk.asked = None;
        self.answer_all(realm.mode());
    }
}

impl Actor for Treasury {
    type Context = Context<Self>;
}

impl Handler<Queued<TakeSnapshot>> for Treasury {
    type Result = ();

    fn handle(&mut self, queued: Queued<TakeSnapshot>, ctx: &mut Context<Self>) {
        let TakeSnapshot {
            realm,
            request_id,
            reply,
        } = queued.take();
        if reply.is_closed() {
            return;
        }
        let now = Instant::now();
        let desk = self.desk(realm.mode());
        if !desk.is_fresh(now) && desk.asked.is_none() {
            self.ask(realm, request_id, ctx);
        }
        let desk = self.desk(realm.mode());
        if desk.is_fresh(now) || !desk.is_patient(Instant::now()) {
            return self.answer((realm, reply), now);
        }
        desk.waiting.push((realm, reply));
    }
}
