//! Asks the bank for a transfer, and then about its state, until the bank has given its final answer.
//!
//! **Order.** The hold and the reference are durable before the first call, and the bank is not asked before its list
//! was looked through for this start (see [`crate::startup_gate`]). Before a transfer is sent, the bank is asked once who is
//! behind its destination, and the answer is kept. The bank makes one transfer of one reference, so asking again after
//! a crash, a panic or a timeout is always safe. A notice may settle the transfer meanwhile; the account then gives no
//! further call. While the realm's outgoing calls are paused nothing is sent; afterwards only what the account still wants
//! is sent.
//!
//! **Bounds.** A realm may have a fixed number of calls to the bank under way. Between tries the pause doubles from the
//! first to the last of [`Pauses`]. The number of tries has no bound, because nobody may guess what the bank did.

use std::sync::Arc;

use actix::{Addr, MailboxError};
use caudal_ledger::facts::{BankCall, BankRefusal};
use caudal_ledger::transfers::{BankTransfer, Counterparty};
use tokio::sync::{Semaphore, oneshot};

use super::AccountActor;
use crate::failure::Failure;
use crate::orders::{Envelope, Order};
use crate::outgoing_pause::OutgoingPause;
use crate::persist::persist;
use crate::ports::{BankError, BankGateway, TransferOrder};
use crate::settings::Pauses;
use crate::startup_gate::StartupGate;

/// What to ask the bank about a transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferCall {
    /// The order as the bank gets it.
    pub order: TransferOrder,
    /// Whether the bank was asked for it before.
    pub asked: bool,
    /// Whether to ask first who is behind the destination.
    pub resolves: bool,
}

/// The bank's answer about a transfer or return.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransferAnswer {
    /// The state of the transfer.
    Transfer(BankTransfer),
    /// There is no such transfer and will be none.
    Refused(BankRefusal),
    /// Nothing that can be relied on.
    Unknown,
}

/// The result of one try, with every call that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferAttempt {
    /// The sequence of the transfer's first voucher: its number in the account.
    pub transfer: u64,
    /// The bank's answer.
    pub answer: TransferAnswer,
    /// The calls, oldest first.
    pub calls: Vec<BankCall>,
}

impl Order for TransferAttempt {
    type Outcome = ();
}

/// Asks for the next call to the bank for a transfer; `None` once it is not open any more.
pub(super) struct NextTransferCall(pub u64, pub oneshot::Sender<Option<TransferCall>>);

impl Order for NextTransferCall {
    type Outcome = ();
}

/// Reports the party behind the destination of a transfer that is about to be sent.
pub(super) struct Resolved {
    /// The number of the transfer.
    pub transfer: u64,
    /// The other side, if the bank named it.
    pub other: Option<Box<Counterparty>>,
    /// The calls to the bank.
    pub calls: Vec<BankCall>,
}

impl Order for Resolved {
    type Outcome = ();
}

/// One transfer on its way.
#[derive(Debug)]
pub struct Remittance {
    /// The gateway to the realm's bank.
    pub bank: Arc<dyn BankGateway>,
    /// Bounds the calls that the realm may have under way.
    pub slots: Arc<Semaphore>,
    /// Opens when the bank's list was looked through.
    pub startup_gate: Arc<StartupGate>,
    /// Whether the realm's outgoing calls are paused.
    pub outgoing: Arc<OutgoingPause>,
    /// How long to wait between tries.
    pub pauses: Pauses,
    /// The sequence of the transfer's first voucher: its number in the account.
    pub transfer: u64,
    /// Whether an earlier actor may already have asked for it.
    pub found: bool,
    /// The request that caused it.
    pub request_id: String,
}

impl Remittance {
    /// Runs until the transfer is settled or the actor is gone; a later actor takes it up again.
    pub async fn run(
        self,
        durable: oneshot::Receiver<Result<(), Failure>>,
        account: Addr<AccountActor>,
    ) {
        if !matches!(durable.await, Ok(Ok(()))) {
            // It never became durable: the bank is not asked.
            return;
        }
        let asks = async |again| self.ask_until_settled(self.found || again, &account).await;
        persist("transfer", asks).await;
    }

    /// `found` means that the bank may already have been asked.
    async fn ask_until_settled(&self, found: bool, account: &Addr<AccountActor>) {
        self.startup_gate.passed().await;
        let mut pause = self.pauses.first;
        loop {
            let Ok(slot) = self.slots.acquire().await else {
                return;
            };
            // Read this first: a call from before the hold ended must send nothing, because a person may have
            // decided since.
            let held = self.outgoing.is_held();
            let Some(mut call) = self.next(account).await else {
                return;
            };
            // A refusal of a transfer that was asked for before decides nothing: the bank may have made it.
            call.asked |= found;
            if held && !call.asked {
                drop(slot);
                self.outgoing.leave().await;
                continue;
            }
            if call.resolves && !held {
                let resolved = self.resolve(&call).await;
                if account.send(Envelope::from(resolved)).await.is_err() {
                    return;
                }
            }
            let (answer, calls) = self.ask(&call, held).await;
            drop(slot);
            let waits = answer.is_none();
            if self.tell(account, answer, calls).await.is_err() {
                return;
            }
            if waits {
                self.outgoing.leave().await;
                continue;
            }
            if self.next(account).await.is_none() {
                return;
            }
            self.outgoing.pause(pause).await;
            pause = pause.saturating_mul(2).min(self.pauses.last);
        }
    }

    /// The next call; `None` when the transfer is settled or the actor is gone.
    async fn next(&self, account: &Addr<AccountActor>) -> Option<TransferCall> {
        let (sender, next) = oneshot::channel();
        let question = NextTransferCall(self.transfer, sender);
        account.send(Envelope::from(question)).await.ok()?;
        next.await.ok()?
    }

    /// Asks who is behind the destination. If the bank does not say, the transfer is sent all the same: the bank then
    /// judges its destination once more.
    async fn resolve(&self, call: &TransferCall) -> Resolved {
        let reply = self
            .bank
            .lookup(&call.order.to, self.request_id.as_str())
            .await;
        Resolved {
            transfer: self.transfer,
            other: reply.result.ok().map(|found| Box::new(found.into())),
            calls: reply.calls,
        }
    }

    /// Asks for the state of the transfer, and orders it if the bank does not know it. If the bank does not know it and
    /// the realm is held, there is no answer.
    async fn ask(
        &self,
        call: &TransferCall,
        held: bool,
    ) -> (Option<TransferAnswer>, Vec<BankCall>) {
        let (bank, id) = (self.bank.as_ref(), self.request_id.as_str());
        let mut calls = Vec::new();
        if call.asked {
            let reply = bank.transfer_status(call.order.origin, id).await;
            calls.extend(reply.calls);
            match reply.result {
                Ok(Some(transfer)) => return (Some(TransferAnswer::Transfer(transfer)), calls),
                Ok(None) if held => return (None, calls),
                Ok(None) => {}
                // A refusal to report is no refusal of the transfer.
                Err(_) => return (Some(TransferAnswer::Unknown), calls),
            }
        }
        let reply = bank.transfer(&call.order, id).await;
        calls.extend(reply.calls);
        let answer = reply.result.map_or_else(doubt, TransferAnswer::Transfer);
        (Some(answer), calls)
    }

    /// Tells the account about a try.
    async fn tell(
        &self,
        account: &Addr<AccountActor>,
        answer: Option<TransferAnswer>,
        calls: Vec<BankCall>,
    ) -> Result<(), MailboxError> {
        let transfer = self.transfer;
        let Some(answer) = answer else {
            // Only the calls are recorded; the transfer stays as it was.
            let other = None;
            let nothing = Resolved {
                transfer,
                other,
                calls,
            };
            return account.send(Envelope::from(nothing)).await;
        };
        let answer = TransferAttempt {
            transfer,
            answer,
            calls,
        };
        account.send(Envelope::from(answer)).await
    }
}

/// What the bank's failure means for a transfer.
pub(super) fn doubt(error: BankError) -> TransferAnswer {
    match error {
        BankError::Refused(why) => TransferAnswer::Refused(why),
        BankError::Failed { .. } | BankError::TimedOut => TransferAnswer::Unknown,
    }
}
