//! Transfers through the bank: requested, settled by the bank's answer, and those that come back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Addr, AsyncContext as _};
use caudal_ledger::accounts::{Account, Movements};
use caudal_ledger::balance::Balance;
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{AccountNo, OriginId, TransferId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::{
    BankMoved, BankTransfer, BankWord, Send, Transfer, TransferFact, TransferRecord, TransferStatus,
};
use caudal_ledger::vouchers::Outcome;
use caudal_storage::StoreError;
use tokio::sync::oneshot;

use super::attempts::{OrderAnswer, StartedOrder};
use super::holds::after;
use super::remittance::{NextTransferCall, Remittance, Resolved, TransferAttempt, TransferCall};
use super::{
    AccountActor, AccountContext, AccountOrder, AccountState, NoticeOutcome, Question, Target,
    TransferView,
};
use crate::commit_writer::{RequestContext, Shared};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};
use crate::ports::TransferOrder;
use crate::records::projection::VoucherPlace;
use crate::records::reads;

/// Makes a transfer, inside the realm or through the bank, or says what would happen.
pub struct MakeTransfer {
    /// The account that sends.
    pub from: Target,
    /// The destination, the amount in centavos, and the tenant's own id.
    pub order: Send,
    /// Only say what would happen.
    pub dry_run: bool,
}

impl Order for MakeTransfer {
    type Outcome = Outcome<TransferView>;
}

/// The account requests it through the bank: it holds the money now, and asks the bank once that is on disk.
impl AccountOrder for MakeTransfer {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, ctx: &mut AccountContext) {
        let Self { order, dry_run, .. } = self;
        let seen = match state.seen(&order, None) {
            Ok(seen) => seen,
            Err(why) => return state.writer.end(Err(why), request),
        };
        if let Some(view) = seen {
            return state.writer.end(Ok(Outcome::Replayed(view)), request);
        }
        let origin = state.origin(&order);
        let settings = state.shared.settings();
        let context = state.context(&settings, state.now());
        let (transfer, movements) = match state.account.decide_request(&order, origin, &context) {
            Ok(decided) => decided,
            Err(rejection) => return state.writer.end(Err(rejection.into()), request),
        };
        let number = transfer.sequence;
        let view = TransferView {
            account: state.account.number,
            transfer,
            balance: Some(after(&movements.vouchers, &state.account)),
        };
        if dry_run {
            return state.writer.end(Ok(Outcome::Recorded(view)), request);
        }
        let request_id = request.request_id.clone();
        let (sender, durable) = oneshot::channel();
        let recorded = state.record_all(movements);
        match recorded {
            Ok(writes) => {
                let outcome = Ok(Outcome::Recorded(view));
                state
                    .writer
                    .finish_and(writes, outcome, request, |done| drop(sender.send(done)));
            }
            Err(why) => return state.writer.fail(why, request.reply),
        }
        state.note_business();
        state.remit((number, request_id, durable), false, ctx.address());
    }
}

/// Asks for a transfer that waits for the bank; `None` when it does not wait.
pub struct FindTransfer(pub TransferId);

impl Question for FindTransfer {
    type Answer = Option<Transfer>;

    fn target(&self) -> Target {
        Target::Account(self.0.0.account)
    }

    fn answer(&self, state: &AccountState) -> Result<Option<Transfer>, Failure> {
        Ok(state.account.transfers.get(&self.0.0.sequence).cloned())
    }
}

impl AccountOrder for NextTransferCall {
    fn decide(self, state: &mut AccountState, _: ContextOf<Self>, _: &mut AccountContext) {
        let Self(transfer, reply) = self;
        drop(reply.send(state.call(transfer)));
    }
}

impl AccountOrder for Resolved {
    fn decide(self, state: &mut AccountState, _: ContextOf<Self>, _: &mut AccountContext) {
        let Self {
            transfer: number,
            other,
            calls,
        } = self;
        let open = state.account.transfers.contains_key(&number);
        let fact = other.filter(|_| open).map(TransferFact::Resolved);
        let record = |fact| TransferRecord {
            transfer: number,
            fact,
        };
        let movements = Movements {
            vouchers: Vec::new(),
            transfers: fact.map(record).into_iter().collect(),
        };
        if !movements.is_empty() || !calls.is_empty() {
            state.settle(Ok(movements), &calls, None);
        }
    }
}

impl AccountOrder for TransferAttempt {
    fn decide(self, state: &mut AccountState, _: ContextOf<Self>, _: &mut AccountContext) {
        let number = self.number;
        let word = match self.answer {
            OrderAnswer::State(transfer) => transfer,
            // The bank was asked and its answer is unknown: it may have the transfer.
            OrderAnswer::Unknown => BankTransfer {
                bank_id: String::new(),
                coelsa_id: None,
                word: BankWord::InProgress,
                moved: BankMoved::default(),
            },
            // Under the reference the bank has a record that does not match the order. A refusal of the order tells
            // nothing about that record.
            OrderAnswer::Refused(_) if state.disputed(number) => {
                return state.settle(Ok(Movements::default()), &self.calls, None);
            }
            OrderAnswer::Refused(why) => {
                if !state.account.transfers.contains_key(&number) {
                    let reason = String::new();
                    drop(state.late(number, &BankWord::Failed { reason }));
                }
                let rejection = Account::refused_by_bank(&why);
                let settings = state.shared.settings();
                let context = state.context(&settings, state.now());
                let movements = state.account.reject(number, rejection, &context);
                return state.settle(movements, &self.calls, None);
            }
        };
        if !state.account.transfers.contains_key(&number)
            && let Err(why) = state.late(number, &word.word)
        {
            tracing::warn!(%why, transfer = number, "late answer of the bank was not compared");
        }
        let movements = state.settled(number, &word);
        state.settle(movements, &self.calls, None);
    }
}

/// Reports the content of the bank's notice about a transfer.
pub struct HearTransfer {
    /// The sending account.
    pub account: AccountNo,
    /// The number of the transfer in its account.
    pub transfer: u64,
    /// The transfer as the notice reports it.
    pub answer: BankTransfer,
}

impl Order for HearTransfer {
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl AccountOrder for HearTransfer {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        if !state.account.transfers.contains_key(&self.transfer) {
            let heard = state.late(self.transfer, &self.answer.word);
            return state.writer.end(heard, request);
        }
        let movements = state.settled(self.transfer, &self.answer);
        let nothing = movements.as_ref().is_ok_and(Movements::is_empty);
        let heard = if nothing {
            NoticeOutcome::Known
        } else {
            NoticeOutcome::Done
        };
        state.settle(movements, &[], Some((heard, request)));
    }
}

/// Reports that a part of a transfer came back, which is credited.
pub struct ReverseTransfer {
    /// The sending account.
    pub account: AccountNo,
    /// The number of the transfer in its account.
    pub transfer: u64,
    /// The amount that came back, in centavos.
    pub amount: Amount,
    /// The id of the reversal on the rail.
    pub coelsa_id: String,
}

impl Order for ReverseTransfer {
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl AccountOrder for ReverseTransfer {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let Self {
            transfer: number,
            amount,
            coelsa_id,
            ..
        } = self;
        // The index shows a transfer as of the last commit. If something of it is in flight (checked before the index
        // is read), the notice is refused, and the bank sends it again.
        let open = state.account.transfers.contains_key(&number);
        let in_flight = !open && state.in_flight(number);
        let transfer = match state.known(number) {
            Ok(Some(transfer)) if transfer.receiver.is_some() => {
                tracing::error!(
                    account = state.account.number.0,
                    transfer = number,
                    "the bank reverses a transfer that it was never asked for; reconcile the day"
                );
                return state.writer.end(Ok(NoticeOutcome::Ignored), request);
            }
            Ok(Some(transfer)) if !in_flight => transfer,
            Ok(Some(_)) => {
                let busy = Err(Failure::Overloaded);
                return state.writer.end(busy, request);
            }
            Ok(None) => return state.writer.end(Ok(NoticeOutcome::Ignored), request),
            Err(why) => return state.writer.end(Err(why), request),
        };
        let settings = state.shared.settings();
        let context = state.context(&settings, state.now());
        let decided = state
            .account
            .decide_reversal(&transfer, amount, &coelsa_id, &context);
        match decided {
            Ok(movements) => {
                state.settle(Ok(movements), &[], Some((NoticeOutcome::Done, request)));
            }
            Err(why) => {
                tracing::error!(%why, account = state.account.number.0, transfer = number, "a reversal cannot be credited; reconcile the day");
                state.writer.end(Ok(NoticeOutcome::Ignored), request);
            }
        }
    }
}

impl AccountState {
    /// The transfer that an order has made before, if any; `receiver` is the account of the realm to which the order
    /// goes now.
    pub(super) fn seen(
        &mut self,
        order: &Send,
        receiver: Option<AccountNo>,
    ) -> Result<Option<TransferView>, Failure> {
        let sent = match self.sent(&order.external_id)? {
            Some(sent) => Some(sent),
            None => self.recovered(order)?,
        };
        let Some((account, transfer)) = sent else {
            return Ok(None);
        };
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        self.account
            .sent_before(order, receiver, (account, &transfer), &context)?;
        let balance = self.balance_after(&transfer)?;
        Ok(Some(TransferView {
            account,
            transfer,
            balance,
        }))
    }

    /// The balance after the request of a transfer of this account; `None` for one that only the bank remembered.
    fn balance_after(&self, transfer: &Transfer) -> Result<Option<Balance>, StoreError> {
        if transfer.recovered.is_some() {
            return Ok(None);
        }
        let sequence = transfer.last_of_request();
        let mut unsettled = self.unsettled.iter();
        if let Some(found) = unsettled.find(|voucher| voucher.sequence == sequence) {
            return Ok(Some(found.after));
        }
        let Shared { store, realm, .. } = &*self.shared;
        let place = VoucherPlace::new(self.account.number, sequence);
        let found = reads::voucher(store.as_ref(), *realm, place)?;
        Ok(found.map(|voucher| voucher.after))
    }

    /// The reference of an order at the bank.
    fn origin(&self, order: &Send) -> OriginId {
        let settings = self.shared.settings();
        OriginId::of_order(&settings.tenant, settings.mode, &order.external_id)
    }

    /// The transfer that an order made before an older copy of the store was put back, as the bank remembers it.
    fn recovered(&self, order: &Send) -> Result<Option<(AccountNo, Transfer)>, Failure> {
        let Shared { store, realm, .. } = &*self.shared;
        let found = reads::money::transfer_by_origin(store.as_ref(), self.origin(order))?;
        let found = found.filter(|(of, _, it)| of == realm && it.recovered.is_some());
        Ok(found.map(|(_, account, transfer)| (account, transfer)))
    }

    /// Asks the bank until it has given its final answer. `found` means that the transfer was on disk when this actor
    /// started.
    pub(super) fn remit(&self, started: StartedOrder, found: bool, actor: Addr<AccountActor>) {
        let (transfer, request_id, durable) = started;
        let (realm, account) = (self.shared.realm, self.account.number);
        if let Some(id) = self
            .account
            .transfers
            .get(&transfer)
            .map(|it| it.id(realm, account))
        {
            tracing::info!(request_id, transfer = %id, found, "a transfer waits for the bank");
        }
        let remittance = Remittance {
            shared: Arc::clone(&self.shared),
            transfer,
            found,
            request_id,
        };
        self.shared.tasks.spawn(remittance.run(durable, actor));
    }

    /// The next call to the bank for a transfer.
    fn call(&self, number: u64) -> Option<TransferCall> {
        let transfer = self.account.transfers.get(&number)?;
        if transfer.status == TransferStatus::Audit {
            return None;
        }
        Some(TransferCall {
            order: TransferOrder {
                origin: transfer.origin(self.shared.realm, self.account.number),
                from: transfer.from,
                cuit: self.account.holder.cuit,
                to: transfer.to.clone(),
                amount: transfer.amount,
                concept: transfer.concept,
                description: transfer.description.clone(),
            },
            asked: transfer.status != TransferStatus::Requested,
            resolves: transfer.status == TransferStatus::Requested && transfer.resolved.is_none(),
        })
    }

    fn disputed(&self, number: u64) -> bool {
        let open = self.account.transfers.get(&number);
        open.is_some_and(|transfer| transfer.dispute.is_some())
    }

    fn settled(&self, number: u64, word: &BankTransfer) -> Result<Movements, Rejection> {
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        self.account.settle_transfer(number, word, &context)
    }

    /// Commits the movements that follow from the bank's answer, with the calls that brought it.
    pub(super) fn settle(
        &mut self,
        movements: Result<Movements, Rejection>,
        calls: &[BankCall],
        heard: Option<(NoticeOutcome, RequestContext<NoticeOutcome>)>,
    ) {
        let movements = match movements {
            Ok(mut movements) => {
                for record in &mut movements.transfers {
                    if let TransferFact::Rejected(why) = &mut record.fact {
                        why.code = self.shared.bank.rejection_code(why);
                    }
                }
                movements
            }
            Err(why) => {
                // Held money can always be settled: an account that cannot do it is not sound.
                tracing::error!(%why, account = self.account.number.0, "a transfer cannot be settled");
                self.actor_status.poison();
                return;
            }
        };
        for record in &movements.transfers {
            if let TransferFact::Disputed(_) = &record.fact {
                // The bank's own id has the holder's CUIT in it; the transfer shows it.
                tracing::error!(
                    account = self.account.number.0,
                    transfer = record.transfer,
                    "the bank has something else under the reference of a transfer; a person decides"
                );
            }
        }
        let written = self.write_bank(calls).and_then(|entries| {
            let mut writes = self.record_all(movements)?;
            writes.entries.extend(entries);
            Ok(writes)
        });
        self.note_business();
        match heard {
            None => self.writer.commit_if(written),
            Some((heard, request)) => self.writer.finish_if(written, Ok(heard), request),
        }
    }

    /// A late answer of the bank about a transfer that is not open any more moves nothing. If it contradicts how the
    /// transfer ended, a person has to look.
    fn late(&self, number: u64, word: &BankWord) -> Result<NoticeOutcome, Failure> {
        let Some(transfer) = self.known(number)? else {
            return Ok(NoticeOutcome::Ignored);
        };
        // A transfer whose end is still in flight looks open in the index.
        if transfer.is_contradicted(word) {
            tracing::error!(
                account = self.account.number.0,
                transfer = number,
                decided_by_a_person = transfer.decision.is_some(),
                "the bank contradicts how a transfer ended; reconcile the day"
            );
        }
        Ok(NoticeOutcome::Known)
    }

    /// A transfer of this account by its number, open or not; `None` when there is none.
    pub(super) fn known(&self, number: u64) -> Result<Option<Transfer>, Failure> {
        if let Some(open) = self.account.transfers.get(&number) {
            return Ok(Some(open.clone()));
        }
        let place = VoucherPlace::new(self.account.number, number);
        let store = self.shared.store.as_ref();
        Ok(reads::money::transfer(store, self.shared.realm, place)?)
    }

    /// Whether a voucher of a transfer is not on disk yet.
    fn in_flight(&self, number: u64) -> bool {
        let account = self.account.number;
        let names = |reference: &str| {
            TransferId::parse(reference)
                .is_some_and(|id| (id.0.account, id.0.sequence) == (account, number))
        };
        let durable = self.actor_status.durable_sequence.load(Ordering::Acquire);
        let newest_first = self.unsettled.iter().rev();
        newest_first
            .take_while(|voucher| voucher.sequence > durable)
            .any(|voucher| voucher.reference_id.as_deref().is_some_and(names))
    }
}
