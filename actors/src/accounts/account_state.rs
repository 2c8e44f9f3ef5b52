//! The state of an account: the account itself, with everything needed to write down what happens to it.
//!
//! **Shape.** An account's actor owns its state. For an order that concerns several accounts it lends the account state to
//! the actor that decides for all of them (see `joint`). Whoever has it takes a turn: decide, apply, and hand a
//! [`WriteSet`] to the commit writer, all without waiting.
//!
//! **Order.** The vouchers in flight are searched before the index: together they know every external id, because the
//! claim of an id ends only when the index shows it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use caudal_ledger::accounts::{Account, Context, Movements};
use caudal_ledger::balance::Direction;
use caudal_ledger::cases::{CaseFact, UnbookedFact};
use caudal_ledger::facts::{AccountFact, BankCall, LedgerFactRef};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::limits::Levels;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Suspense, Transfer, TransferFact};
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Entry, Fact, Row, StoreError, StreamId};
use foldhash::HashMap;
use serde::Serialize;

use super::{AccountView, EnrolmentView, SNAPSHOT_EVERY};
use crate::actor_status::ActorStatus;
use crate::commit_writer::{CommitWriter, RequestContext, Shared, WriteSet};
use crate::meter::Meter;
use crate::records::rest::{self, Profile, Stand, WrittenPart};
use crate::records::{
    self, BANK, CASES, LEDGER, PROFILE, SUSPENSE, TRANSFERS, Tail, UNBOOKED, keys, reads,
};
use crate::reply::ClaimGuard;
use crate::settings::Settings;

/// The state of one account: its holder is the only writer of the account.
#[derive(Debug)]
pub struct AccountState {
    /// The state that all actors of the realm share.
    pub(super) shared: Arc<Shared>,
    /// The status of the actor.
    pub(super) actor_status: Arc<ActorStatus>,
    /// Hands decided facts to the store.
    pub(super) writer: CommitWriter,
    /// The account with everything decided so far, durable or not.
    pub(super) account: Box<Account>,
    /// Vouchers that may not be durable yet, oldest first.
    pub(super) unsettled: VecDeque<Arc<Voucher>>,
    /// Transfers whose request may not be durable yet, oldest first.
    sent: VecDeque<Transfer>,
    /// The realm's meter; during a dry run a meter of its own.
    pub(super) meter: Arc<Meter>,
    /// How much of the account its row at rest has; see [`Self::rest`].
    pub(super) left: WrittenPart,
    /// The ends of the streams other than movements and profile, by kind, as far as they are known.
    tails: HashMap<u8, Tail>,
    /// How many client ids were skipped before the one that was drawn last.
    pub(super) redraws: u32,
    /// How many of these the bank has refused.
    pub(super) refused_ids: u32,
    /// The claim of the drawn client id, until the bank has answered.
    pub(super) claimed: Option<ClaimGuard>,
    /// The caller who waits for the bank's answer about the profile.
    pub(super) waiter: Option<RequestContext<AccountView>>,
    /// The number of the enrolment for whose first answer a caller waits, and the caller's request context.
    pub(super) fund_waiter: Option<(u64, RequestContext<EnrolmentView>)>,
}

impl AccountState {
    /// The state of a loaded account, with that of its row at rest.
    pub(super) fn new(
        shared: Arc<Shared>,
        actor_status: Arc<ActorStatus>,
        account: Box<Account>,
        left: WrittenPart,
    ) -> Self {
        actor_status
            .durable_sequence
            .store(account.sequence, Ordering::Release);
        Self {
            meter: Arc::clone(&shared.meter),
            writer: CommitWriter::new(
                Arc::clone(&shared),
                Arc::clone(&actor_status),
                account.number,
            ),
            shared,
            actor_status,
            left,
            account,
            unsettled: VecDeque::new(),
            sent: VecDeque::new(),
            tails: HashMap::default(),
            redraws: 0,
            refused_ids: 0,
            claimed: None,
            waiter: None,
            fund_waiter: None,
        }
    }

    /// The account's stream of a kind.
    pub(super) fn stream(&self, kind: u8) -> StreamId {
        records::account_stream(self.shared.realm, self.account.number, kind)
    }

    /// The account as a query shows it.
    pub(super) fn view(&self) -> AccountView {
        let settings = self.shared.settings();
        let as_of = self.account.instant(self.shared.clock.now());
        let levels = Levels {
            account: self.account.limits_at(as_of),
            psp: settings.psp,
            platform: settings.platform,
        };
        AccountView {
            account: (*self.account).clone(),
            levels,
            changed: false,
            as_of,
        }
    }

    /// The account after an order; `changed` tells whether the order did anything.
    pub(super) fn view_after(&self, changed: bool) -> AccountView {
        AccountView {
            changed,
            ..self.view()
        }
    }

    /// The voucher that holds an external id in a direction, with its account: among those in
    /// flight, then in the index.
    pub(super) fn existing(
        &mut self,
        direction: Direction,
        id: &ExternalId,
    ) -> Result<Option<(AccountNo, Arc<Voucher>)>, StoreError> {
        let durable = self.actor_status.durable_sequence.load(Ordering::Acquire);
        let settled = |v: &mut Arc<Voucher>| v.sequence <= durable;
        while self.unsettled.pop_front_if(settled).is_some() {}
        let same = |v: &&Arc<Voucher>| {
            v.direction == direction && v.external_id.as_ref() == Some(id) && v.claims_external_id()
        };
        if let Some(found) = self.unsettled.iter().find(same) {
            return Ok(Some((self.account.number, Arc::clone(found))));
        }
        let Shared { store, realm, .. } = &*self.shared;
        let held = reads::voucher_by_external(store.as_ref(), *realm, direction, id)?;
        Ok(held.map(|(account, voucher)| (account, Arc::new(voucher))))
    }

    /// The transfer that holds an external id, with its account: among those in flight, then in
    /// the index.
    pub(super) fn sent(
        &mut self,
        id: &ExternalId,
    ) -> Result<Option<(AccountNo, Transfer)>, StoreError> {
        let durable = self.actor_status.durable_sequence.load(Ordering::Acquire);
        let settled = |t: &mut Transfer| t.sequence <= durable;
        while self.sent.pop_front_if(settled).is_some() {}
        if let Some(found) = self.sent.iter().find(|t| t.external_id == *id) {
            let open = self.account.transfers.get(&found.sequence);
            return Ok(Some((self.account.number, open.unwrap_or(found).clone())));
        }
        let Shared { store, realm, .. } = &*self.shared;
        let found = reads::money::transfer_by_external(store.as_ref(), *realm, id)?;
        Ok(found.map(|(account, transfer)| {
            let own = account == self.account.number;
            let open = self.account.transfers.get(&transfer.sequence);
            let now = open.filter(|_| own).cloned();
            (account, now.unwrap_or(transfer))
        }))
    }

    /// Applies vouchers that were decided in this turn, and gives the write set that makes them durable.
    ///
    /// # Errors
    /// When a fact cannot be encoded; this also poisons the account.
    pub(super) fn record(&mut self, vouchers: &[Arc<Voucher>]) -> Result<WriteSet, StoreError> {
        let stream = self.stream(LEDGER);
        let mut writes = WriteSet::default();
        for voucher in vouchers {
            assert!(
                self.account.is_next(voucher),
                "the voucher {} does not follow {}, with {:?} after {:?}",
                voucher.sequence,
                self.account.sequence,
                voucher.after,
                self.account.balance
            );
            let fact = LedgerFactRef::Posted(voucher);
            let mut entry = records::entry(stream, voucher.sequence, voucher.at, &fact)?;
            entry.fact = Fact::of(Arc::clone(voucher));
            writes.entries.push(entry);
            self.account.apply_voucher(voucher);
            self.unsettled.push_back(Arc::clone(voucher));
            writes.sequence = Some(voucher.sequence);
        }
        writes.taken = self.meter.take(vouchers);
        let since = self.account.sequence.strict_sub(self.left.sequence);
        if self.actor_status.durable_profile.load(Ordering::Acquire) != self.account.profile_seq {
            // A change of the profile is in flight and may fail to be written. Movements decided on it must then not be
            // written either.
            let profile = (self.stream(PROFILE), self.account.profile_seq);
            writes.decided_on.push(profile);
        } else if since >= SNAPSHOT_EVERY {
            writes.hints.extend(self.row_at_rest()?);
        }
        Ok(writes)
    }

    /// The whole account as one row, from which it is loaded again; none before its first movement.
    fn row_at_rest(&mut self) -> Result<Option<Row>, StoreError> {
        let Some(stand) = Stand::of(&self.account) else {
            return Ok(None);
        };
        let kept = self.left.profile.take();
        let profile = match kept.filter(|kept| kept.seq() == self.account.profile_seq) {
            Some(kept) => kept,
            None => Arc::new(Profile::of(&self.account)?),
        };
        let number = self.account.number;
        let value = Some(rest::row(number, &stand, &profile)?);
        self.left.profile = Some(profile);
        self.left.sequence = self.account.sequence;
        let key = keys::rest(self.shared.realm, number);
        Ok(Some(Row { key, value }))
    }

    /// Leaves the account as a row from which the next load starts, if everything that it knows is durable, and it has
    /// moved or its profile has changed since the last row. An account that has never moved leaves none. The row is a
    /// hint: without it the next load reads more.
    pub(super) fn rest(&mut self) {
        if !self.actor_status.settled_all()
            || self.actor_status.is_poisoned()
            || self.account.sequence == 0
        {
            return;
        }
        let same = self.account.profile_seq == self.left.profile_seq();
        if same && self.account.sequence == self.left.sequence {
            return;
        }
        match self.row_at_rest() {
            Ok(row) => self.shared.lane.note(row.into_iter().collect()),
            Err(why) => tracing::warn!(%why, "account snapshot could not be written"),
        }
    }

    /// Applies movements that were decided in this turn, and gives the write set that makes them durable.
    ///
    /// # Errors
    /// As [`Self::record`], or when the end of a stream cannot be read.
    pub(super) fn record_all(&mut self, movements: Movements) -> Result<WriteSet, StoreError> {
        let vouchers: Vec<_> = movements.vouchers.into_iter().map(Arc::new).collect();
        let mut writes = self.record(&vouchers)?;
        if movements.transfers.is_empty() {
            return Ok(writes);
        }
        for record in &movements.transfers {
            let entry = self.next_entry(TRANSFERS, record)?;
            self.account
                .apply_transfer(record, Timestamp::from_millis(entry.at));
            writes.entries.push(entry);
            if let TransferFact::Requested(transfer) = &record.fact {
                self.sent.push_back(transfer.as_ref().clone());
            }
        }
        Ok(writes)
    }

    /// The next entry of the account's stream of a kind other than movements and profile.
    fn next_entry<R: Serialize>(&mut self, kind: u8, record: &R) -> Result<Entry, StoreError> {
        let stream = self.stream(kind);
        let mut tail = match self.tails.get(&kind) {
            Some(tail) => *tail,
            None => Tail::read(self.shared.store.as_ref(), stream)?,
        };
        let entry = tail.next(stream, self.shared.clock.now(), record)?;
        self.tails.insert(kind, tail);
        Ok(entry)
    }

    /// Applies facts of the profile and gives their entries.
    pub(super) fn write_profile(
        &mut self,
        facts: &[AccountFact],
    ) -> Result<Vec<Entry>, StoreError> {
        let stream = self.stream(PROFILE);
        let mut entries = Vec::with_capacity(facts.len());
        for fact in facts {
            let seq = self.account.profile_seq.strict_add(1);
            let at = self.shared.clock.now().max(self.account.updated_at);
            entries.push(records::entry(stream, seq, at, fact)?);
            self.account.apply(fact, seq, at);
        }
        Ok(entries)
    }

    /// The entries of calls to the bank.
    pub(super) fn write_bank(&mut self, calls: &[BankCall]) -> Result<Vec<Entry>, StoreError> {
        let calls = calls.iter();
        calls.map(|call| self.next_entry(BANK, call)).collect()
    }

    /// The entries of the bank's answer: the calls that brought it, and the facts of the profile that follow from it.
    ///
    /// # Errors
    /// As [`Self::record_all`].
    pub(super) fn write_answer(
        &mut self,
        calls: &[BankCall],
        facts: &[AccountFact],
    ) -> Result<Vec<Entry>, StoreError> {
        let mut entries = self.write_bank(calls)?;
        entries.extend(self.write_profile(facts)?);
        Ok(entries)
    }

    /// The entries by which the key of a request leads to the account until the bank's outcome is known.
    ///
    /// # Errors
    /// As [`Self::record_all`].
    pub(super) fn write_open_key<T>(
        &mut self,
        request: &RequestContext<T>,
    ) -> Result<Vec<Entry>, StoreError> {
        let Some(keyed) = &request.keyed else {
            return Ok(Vec::new());
        };
        let (now, open) = (self.now(), (0, String::new()));
        let open = keyed.scope.answer(open, now, Some(self.account.number));
        self.writer.answer(open, now)
    }

    /// The entry of money that this account could not take.
    pub(super) fn write_suspense(&mut self, suspense: &Suspense) -> Result<Entry, StoreError> {
        self.next_entry(SUSPENSE, suspense)
    }

    /// The entry of a bank's report about this account that cannot be booked.
    pub(super) fn write_unbooked(&mut self, fact: &UnbookedFact) -> Result<Entry, StoreError> {
        self.next_entry(UNBOOKED, fact)
    }

    /// The entry of a person's decision about money in suspense that was credited to this account.
    pub(super) fn write_case(&mut self, fact: &CaseFact) -> Result<Entry, StoreError> {
        self.next_entry(CASES, fact)
    }

    /// Releases the holds whose time is over. Every turn begins with this, so nothing is ever decided while money is
    /// still held that should be free.
    pub(super) fn expire(&mut self) {
        let now = self.account.instant(self.shared.clock.now());
        let due = self.account.next_expiry().is_some_and(|end| end <= now);
        if !due || self.shared.clock.doubt().is_some() {
            return;
        }
        let settings = self.shared.settings();
        let due = self.account.decide_expiries(&self.context(&settings, now));
        let due: Vec<_> = due.into_iter().map(Arc::new).collect();
        let writes = self.record(&due);
        self.writer.commit_if(writes);
    }

    /// Notes whether the actor has to stay because it waits for the bank.
    pub(super) fn note_business(&self) {
        let asking = |t: &Transfer| {
            t.status.is_open() && t.status != caudal_ledger::transfers::TransferStatus::Audit
        };
        let waits = self.account.pending.is_some() || self.account.enrolling().is_some();
        let busy = waits || self.account.transfers.values().any(asking);
        self.actor_status.busy.store(busy, Ordering::Release);
    }

    /// The context in which a movement is judged: the settings in force, and what has left the realm. It holds for one
    /// turn, in which what was decided is recorded, too.
    pub(super) fn context<'s>(&self, settings: &'s Settings, now: Timestamp) -> Context<'s> {
        settings.context(self.shared.realm, now, self.meter.usage())
    }

    /// The present time, by the realm's clock.
    pub(super) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }
}
