//! A return on its way: asks the bank until the bank has given its final answer, and reports each answer to the
//! supervisor. While the realm's outgoing calls are paused, nothing is sent.

use std::sync::Arc;

use caudal_ledger::cases::{Parked, Return};
use caudal_ledger::facts::BankCall;
use tokio::sync::{Semaphore, oneshot};

use super::cases::TakeReturnAnswer;
use super::{RealmSupervisor, ReturnAttempt};
use crate::accounts::remittance::TransferAnswer;
use crate::mailbox::Mailbox;
use crate::orders::Envelope;
use crate::outgoing_pause::OutgoingPause;
use crate::persist::persist;
use crate::ports::{BankError, BankGateway, ReturnOrder};
use crate::settings::Pauses;
use crate::startup_gate::StartupGate;

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
            bank: Arc::clone(&self.shared.bank),
            slots: Arc::clone(&self.shared.bank_slots),
            startup_gate: Arc::clone(&self.shared.startup_gate),
            outgoing: Arc::clone(&self.shared.outgoing),
            pauses: self.shared.pauses,
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
#[derive(Debug)]
pub(super) struct ReturnTask {
    bank: Arc<dyn BankGateway>,
    slots: Arc<Semaphore>,
    /// Opens when the bank's list was looked through.
    startup_gate: Arc<StartupGate>,
    outgoing: Arc<OutgoingPause>,
    pauses: Pauses,
    number: u64,
    order: ReturnOrder,
    /// Whether an earlier run may already have asked for it.
    found: bool,
    request_id: String,
}

impl ReturnTask {
    pub(super) async fn run(self, supervisor: Mailbox<RealmSupervisor>) {
        persist("return", async |again| {
            self.ask_until_over(again, &supervisor).await
        })
        .await;
    }

    async fn ask_until_over(&self, again: bool, supervisor: &Mailbox<RealmSupervisor>) {
        self.startup_gate.passed().await;
        let mut pause = self.pauses.first;
        let mut asked = self.found || again;
        // Always read before the supervisor answers whether the return goes on.
        // An attempt that was cut off may have waited for the end of a hold: the supervisor is to be asked first.
        let mut held = again || self.outgoing.is_held();
        loop {
            let Ok(slot) = self.slots.acquire().await else {
                return;
            };
            let (answer, calls) = self.ask(asked, held).await;
            drop(slot);
            let waits = answer.is_none();
            asked |= !waits;
            held = self.outgoing.is_held();
            if self.is_over(supervisor, answer, calls).await {
                return;
            }
            if waits {
                self.outgoing.leave().await;
                held = false;
                if self.is_over(supervisor, None, Vec::new()).await {
                    return;
                }
                continue;
            }
            self.outgoing.pause(pause).await;
            pause = pause.saturating_mul(2).min(self.pauses.last);
        }
    }

    /// Tells the supervisor the result of a try. Returns whether the return is over, or the supervisor gone.
    async fn is_over(
        &self,
        supervisor: &Mailbox<RealmSupervisor>,
        answer: Option<TransferAnswer>,
        calls: Vec<BankCall>,
    ) -> bool {
        let answer = ReturnAttempt {
            number: self.number,
            answer: answer.unwrap_or(TransferAnswer::Unknown),
            calls,
        };
        let (sender, over) = oneshot::channel();
        let message = Envelope::from(TakeReturnAnswer(answer, sender));
        // The bank's answer is never refused. If the supervisor is gone, the next one takes the return up again.
        if supervisor.put(supervisor.reserve(), message).is_err() {
            return true;
        }
        // An answer that was not written down counts as not heard.
        over.await.unwrap_or(false)
    }

    /// Asks for the state of the return, and orders it if the bank does not know it. If the bank does not know it and
    /// the realm is held, there is no answer.
    async fn ask(&self, asked: bool, held: bool) -> (Option<TransferAnswer>, Vec<BankCall>) {
        let (bank, id) = (self.bank.as_ref(), self.request_id.as_str());
        let mut calls = Vec::new();
        if asked {
            let reply = bank.transfer_status(self.order.origin, id).await;
            calls.extend(reply.calls);
            match reply.result {
                Ok(Some(transfer)) => return (Some(TransferAnswer::Transfer(transfer)), calls),
                Ok(None) => {}
                // A refusal to report is no refusal of the return.
                Err(_) => return (Some(TransferAnswer::Unknown), calls),
            }
        }
        if held {
            return (None, calls);
        }
        let reply = bank.give_back(&self.order, id).await;
        calls.extend(reply.calls);
        let answer = match reply.result {
            Ok(transfer) => TransferAnswer::Transfer(transfer),
            Err(BankError::Refused(why)) => TransferAnswer::Refused(why),
            Err(BankError::Failed { .. } | BankError::TimedOut) => TransferAnswer::Unknown,
        };
        (Some(answer), calls)
    }
}
