//! A return on its way: asks the bank until the bank has given its final answer, and reports each answer to the
//! supervisor. While the realm's outgoing calls are paused, nothing is sent.

use std::sync::Arc;

use caudal_ledger::cases::{Parked, Return};
use caudal_ledger::facts::BankCall;
use caudal_ledger::transfers::BankTransfer;
use tokio::sync::oneshot;

use super::RealmSupervisor;
use super::cases::{ReturnAttempt, TakeReturnAnswer};
use crate::accounts::attempts::{OrderAnswer, TryAnswer, ask_until_over, attempt};
use crate::commit_writer::Shared;
use crate::mailbox::Mailbox;
use crate::orders::Envelope;
use crate::persist::persist;
use crate::ports::ReturnOrder;

impl RealmSupervisor {
    /// Prepares the task for money that is being returned. `found` means that the bank may have been asked before.
    pub(super) fn task(
        &self,
        parked: &Parked,
        request_id: String,
        found: bool,
    ) -> Option<ReturnTask> {
        let Return {
            number, origin, to, ..
        } = parked.returned()?;
        let arrived = &parked.suspense.cash_in;
        Some(ReturnTask {
            shared: Arc::clone(&self.shared),
            number: *number,
            order: ReturnOrder {
                origin: *origin,
                to: *to,
                amount: arrived.amount,
                returns: arrived.coelsa_id.clone(),
            },
            found,
            request_id,
        })
    }
}

/// One return on its way: asks the bank until the bank has given its final answer.
pub(super) struct ReturnTask {
    shared: Arc<Shared>,
    number: u64,
    order: ReturnOrder,
    /// Whether an earlier run may already have asked for it.
    found: bool,
    request_id: String,
}

impl ReturnTask {
    pub(super) async fn run(self, supervisor: Mailbox<RealmSupervisor>) {
        let attempt = async |asked, held| self.attempt(asked, held).await;
        let is_over = async |answer, calls| self.is_over(&supervisor, answer, calls).await;
        let asks = async |again| {
            self.shared.startup_gate.passed().await;
            // An attempt that was cut off may have waited for the end of a hold: the supervisor is to be asked first.
            let held = again || self.shared.outgoing.is_held();
            let begun = (self.found || again, held);
            ask_until_over(&self.shared, begun, &attempt, &is_over).await;
        };
        persist("return", asks).await;
    }

    async fn attempt(&self, asked: bool, held: bool) -> TryAnswer<BankTransfer> {
        let (bank, id) = (self.shared.bank.as_ref(), self.request_id.as_str());
        let status = async || bank.transfer_status(self.order.origin, id).await;
        let order = async || bank.give_back(&self.order, id).await;
        attempt((asked, held), status, order).await
    }

    /// Tells the supervisor the result of a try. Returns whether the return is over, or the supervisor gone.
    async fn is_over(
        &self,
        supervisor: &Mailbox<RealmSupervisor>,
        answer: OrderAnswer<BankTransfer>,
        calls: Vec<BankCall>,
    ) -> bool {
        let attempt = ReturnAttempt {
            number: self.number,
            answer,
            calls,
        };
        let (sender, over) = oneshot::channel();
        let message = Envelope::from(TakeReturnAnswer(attempt, sender));
        // The bank's answer is never refused. If the supervisor is gone, the next one takes the return up again.
        if supervisor.put(supervisor.reserve(), message).is_err() {
            return true;
        }
        // An answer that was not written down counts as not heard.
        over.await.unwrap_or(false)
    }
}
