//! Asks the bank for a transfer, and then about its state, until the bank has given its final answer.
//!
//! **Order.** The hold and the reference are durable before the first call, and the bank is not asked before its list
//! was looked through for this start (see [`crate::startup_gate`]). Before a transfer is sent, the bank is asked once who is
//! behind its destination, and the answer is kept. The bank makes one transfer of one reference, so asking again after
//! a crash, a panic or a timeout is always safe. A notice may settle the transfer meanwhile; the account then gives no
//! further call. The rest, and the bounds, are those of [`super::attempts`].

use std::sync::Arc;

use actix::{Addr, MailboxError};
use caudal_ledger::facts::BankCall;
use caudal_ledger::transfers::{BankTransfer, Counterparty};
use tokio::sync::oneshot;

use super::AccountActor;
use super::attempts::{OrderAnswer, OrderAttempt, TryAnswer, attempt};
use crate::commit_writer::{Durable, Shared};
use crate::orders::{Envelope, Order};
use crate::persist::persist;
use crate::ports::TransferOrder;

/// What to ask the bank about a transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct TransferCall {
    /// The order as the bank gets it.
    pub order: TransferOrder,
    /// Whether the bank was asked for it before.
    pub asked: bool,
    /// Whether to ask first who is behind the destination.
    pub resolves: bool,
}

/// The result of one try; its number is the sequence of the transfer's first voucher: its number in the account.
pub(super) type TransferAttempt = OrderAttempt<BankTransfer>;

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
pub(super) struct Remittance {
    /// The realm of the account.
    pub shared: Arc<Shared>,
    /// The sequence of the transfer's first voucher: its number in the account.
    pub transfer: u64,
    /// Whether an earlier actor may already have asked for it.
    pub found: bool,
    /// The request that caused it.
    pub request_id: String,
}

impl Remittance {
    /// Runs until the transfer is settled or the actor is gone; a later actor takes it up again.
    pub(super) async fn run(self, durable: Durable, account: Addr<AccountActor>) {
        if !matches!(durable.await, Ok(Ok(()))) {
            // It never became durable: the bank is not asked.
            return;
        }
        let asks = async |again| self.ask_until_settled(self.found || again, &account).await;
        persist("transfer", asks).await;
    }

    /// `found` means that the bank may already have been asked.
    async fn ask_until_settled(&self, found: bool, account: &Addr<AccountActor>) {
        let Shared {
            startup_gate,
            bank_slots,
            outgoing,
            pauses,
            ..
        } = &*self.shared;
        startup_gate.passed().await;
        let mut pause = pauses.first;
        loop {
            let Ok(slot) = bank_slots.acquire().await else {
                return;
            };
            // Read this first: a call from before the hold ended must send nothing, because a person may have
            // decided since.
            let held = outgoing.is_held();
            let Some(mut call) = self.next(account).await else {
                return;
            };
            // A refusal of a transfer that was asked for before decides nothing: the bank may have made it.
            call.asked |= found;
            if held && !call.asked {
                drop(slot);
                outgoing.leave().await;
                continue;
            }
            if call.resolves && !held {
                let resolved = self.resolve(&call).await;
                if account.send(Envelope::from(resolved)).await.is_err() {
                    return;
                }
            }
            let (answer, calls) = self.attempt(&call, held).await;
            drop(slot);
            let waits = answer.is_none();
            if self.tell(account, answer, calls).await.is_err() {
                return;
            }
            if waits {
                outgoing.leave().await;
                continue;
            }
            if self.next(account).await.is_none() {
                return;
            }
            outgoing.pause(pause).await;
            pause = pause.saturating_mul(2).min(pauses.last);
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
        let (bank, id) = (&self.shared.bank, self.request_id.as_str());
        let reply = bank.lookup(&call.order.to, id).await;
        Resolved {
            transfer: self.transfer,
            other: reply.result.ok().map(|found| Box::new(found.into())),
            calls: reply.calls,
        }
    }

    async fn attempt(&self, call: &TransferCall, held: bool) -> TryAnswer<BankTransfer> {
        let (bank, id) = (self.shared.bank.as_ref(), self.request_id.as_str());
        let status = async || bank.transfer_status(call.order.origin, id).await;
        let order = async || bank.transfer(&call.order, id).await;
        attempt((call.asked, held), status, order).await
    }

    /// Tells the account about a try. Without an answer only the calls are recorded, and the transfer stays as it was.
    async fn tell(
        &self,
        account: &Addr<AccountActor>,
        answer: Option<OrderAnswer<BankTransfer>>,
        calls: Vec<BankCall>,
    ) -> Result<(), MailboxError> {
        let number = self.transfer;
        match answer {
            Some(answer) => {
                let attempt = TransferAttempt {
                    number,
                    answer,
                    calls,
                };
                account.send(Envelope::from(attempt)).await
            }
            None => {
                let nothing = Resolved {
                    transfer: number,
                    other: None,
                    calls,
                };
                account.send(Envelope::from(nothing)).await
            }
        }
    }
}
