//! The actors of a realm's accounts: found or loaded, replaced when poisoned, passivated when there are many. They run
//! on the thread of their supervisor.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::Actor as _;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::rejection::Rejection;
use foldhash::HashMap;

use super::{RealmContext, RealmOrder, RealmSupervisor, Target};
use crate::accounts::{AccountActor, Child, Observe, Observed, Passivate};
use crate::actor_status::ActorStatus;
use crate::commit_writer::{RequestContext, Shared};
use crate::failure::Failure;
use crate::mailbox::Mailbox;
use crate::orders::{ContextOf, Order};
use crate::residency::Residents;

/// The most candidates that are checked before one account starts beyond the bound.
const ROOM_TRIES: u32 = 64;
/// The most candidates that one sweep checks while there are too many actors.
const TRIM_TRIES: u32 = 100_000;

impl RealmOrder for Observe {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        match realm.number(self.0) {
            Ok(number) => realm.children.observe(number, self, request),
            Err(why) => request.answer(Err(why)),
        }
    }
}

/// Sends an account's actor away if it is idle; answers whether it is gone.
pub struct PassivateAccount(pub Target);

impl Order for PassivateAccount {
    type Outcome = bool;
}

impl RealmOrder for PassivateAccount {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        let number = realm.number(self.0);
        request.answer(number.map(|number| realm.children.passivate(number)));
    }
}

/// The state of a realm's actors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealmReport {
    /// Account actors that are in memory now.
    pub resident: usize,
    /// Messages that wait in these actors' mailboxes.
    pub queued: usize,
    /// Commits that are not durable yet.
    pub in_flight: usize,
    /// Actors that wait for the bank.
    pub waiting_for_bank: usize,
    /// Actors that were started.
    pub starts: u64,
    /// Actors that were replaced after a panic or a failed commit.
    pub restarts: u64,
    /// Actors that were passivated.
    pub passivations: u64,
}

/// Asks how the actors are doing.
pub struct ReportActors;

impl Order for ReportActors {
    type Outcome = RealmReport;
}

impl RealmOrder for ReportActors {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        request.answer(Ok(realm.children.report()));
    }
}

/// Asks for the vouchers that a request wrote, by account and sequence, while the realm remembers them.
pub struct FindVouchersOf(pub String);

impl Order for FindVouchersOf {
    type Outcome = Vec<(AccountNo, u64)>;
}

impl RealmOrder for FindVouchersOf {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        request.answer(Ok(realm.shared.trail.by(&self.0)));
    }
}

/// All of a realm's account actors. When this is dropped they stop, after the messages that already wait for them.
#[derive(Debug)]
pub(super) struct Children {
    shared: Arc<Shared>,
    residents: Residents,
    /// The largest number that an account has.
    last: AccountNo,
    living: HashMap<AccountNo, Child>,
    /// Candidates for passivation, longest resident first.
    queue: VecDeque<AccountNo>,
    starts: u64,
    restarts: u64,
    passivations: u64,
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in self.living.values() {
            child.tell(Passivate);
        }
    }
}

impl Children {
    /// Starts without actors, for accounts up to the number `last`.
    pub(super) fn new(shared: Arc<Shared>, residents: Residents, last: AccountNo) -> Self {
        Self {
            shared,
            residents,
            last,
            living: HashMap::default(),
            queue: VecDeque::new(),
            starts: 0,
            restarts: 0,
            passivations: 0,
        }
    }

    /// How many accounts this realm may have in memory, next to the other realms.
    pub(super) fn share(&self) -> usize {
        self.residents.share()
    }

    /// The sound actor of an account, with room in its mailbox. If there is none, one is started; it reads its account
    /// while the messages sent to it wait.
    pub(super) fn get(&mut self, number: AccountNo) -> Result<Child, Failure> {
        if let Some(child) = self.living.get_mut(&number) {
            if child.sound() {
                if child.mailbox.is_full() {
                    return Err(Failure::Overloaded);
                }
                child.touched = true;
                return Ok(child.clone());
            }
            if !child.actor_status.retire() {
                // Its commits have to succeed or fail before the account can be read from the disk.
                return Err(Failure::Overloaded);
            }
            if let Some(child) = self.forget(number) {
                // It may live on because of an alarm, and does not know that it was replaced.
                child.tell(Passivate);
            }
            self.restarts += 1;
            tracing::warn!(
                account = number.0,
                realm = self.shared.realm.0,
                "account actor replaced"
            );
        }
        if number > self.last {
            return Err(Rejection::AccountNotFound.into());
        }
        let actor_status = Arc::new(ActorStatus::default());
        let shared = Arc::clone(&self.shared);
        let actor = AccountActor::wanted(shared, Arc::clone(&actor_status), number);
        Ok(self.keep(number, actor, actor_status))
    }

    /// Starts the actor of an account that is about to be registered.
    pub(super) fn start_unregistered(
        &mut self,
        registration: &Registration,
    ) -> Result<Child, Failure> {
        let actor_status = Arc::new(ActorStatus::default());
        let shared = Arc::clone(&self.shared);
        let actor = AccountActor::unregistered(shared, Arc::clone(&actor_status), registration);
        self.last = self.last.max(registration.number);
        Ok(self.keep(registration.number, actor, actor_status))
    }

    fn keep(
        &mut self,
        number: AccountNo,
        actor: AccountActor,
        actor_status: Arc<ActorStatus>,
    ) -> Child {
        self.make_room();
        let child = Child {
            mailbox: Mailbox::new(actor.start(), actor_status.queued.clone(), self.shared.room),
            actor_status,
            touched: false,
        };
        self.starts += 1;
        if self.living.insert(number, child.clone()).is_none() {
            self.residents.begin();
        }
        self.queue.push_back(number);
        child
    }

    /// Sends away the idle actors that were untouched longest, while there is no room for another one.
    fn make_room(&mut self) {
        for _ in 0..ROOM_TRIES {
            if !self.residents.full() {
                return;
            }
            self.pass_one();
        }
    }

    /// Sends actors away while there are too many, even if no new one starts: some of them at each sweep.
    pub(super) fn trim(&mut self) {
        for _ in 0..TRIM_TRIES {
            if !self.residents.beyond() {
                return;
            }
            self.pass_one();
        }
    }

    /// Sends the first candidate away. A candidate that is busy or was touched goes to the end of the queue.
    fn pass_one(&mut self) {
        if let Some(number) = self.queue.pop_front() {
            match self.living.get_mut(&number) {
                None => {}
                Some(child) if child.touched || !child.actor_status.idle() => {
                    child.touched = false;
                    self.queue.push_back(number);
                }
                Some(_) => drop(self.passivate(number)),
            }
        }
    }

    fn forget(&mut self, number: AccountNo) -> Option<Child> {
        let child = self.living.remove(&number)?;
        self.residents.end();
        Some(child)
    }

    /// Sends an actor away if it is idle. Returns whether it is gone.
    pub(super) fn passivate(&mut self, number: AccountNo) -> bool {
        match self.living.get(&number) {
            None => true,
            Some(child) if !(child.actor_status.idle() && child.actor_status.retire()) => false,
            Some(child) => {
                child.tell(Passivate);
                self.forget(number);
                self.passivations += 1;
                true
            }
        }
    }

    /// Asks a resident actor for its live state.
    fn observe(
        &self,
        number: AccountNo,
        question: Observe,
        request: RequestContext<Option<Observed>>,
    ) {
        match self.living.get(&number).filter(|child| child.sound()) {
            None => request.answer(Ok(None)),
            Some(child) if child.mailbox.is_full() => request.answer(Err(Failure::Overloaded)),
            Some(child) => child.send(question, request),
        }
    }

    /// The state of the actors.
    pub(super) fn report(&self) -> RealmReport {
        let mut report = RealmReport {
            resident: self.living.len(),
            starts: self.starts,
            restarts: self.restarts,
            passivations: self.passivations,
            ..RealmReport::default()
        };
        for child in self.living.values() {
            report.queued += child.mailbox.count();
            report.in_flight += child.actor_status.in_flight();
            let busy = usize::from(child.actor_status.busy.load(Ordering::Acquire));
            report.waiting_for_bank += busy;
        }
        report
    }
}
