//! A return on its way: asks the bank for it until the bank has given its final answer, and reports that
//! to the supervisor.

use std::sync::Arc;

use caudal_ledger::cases::{Parked, Return};
use tokio::sync::{Semaphore, oneshot};

use super::{CaseMessage, RealmMessage, RealmSupervisor, ReturnSaid};
use crate::accounts::remittance::Said;
use crate::lookout::Lookout;
use crate::mailbox::Mailbox;
use crate::ports::{BankError, BankGateway, ReturnOrder};
use crate::settings::Pauses;

impl RealmSupervisor {
    /// What to ask the bank about money that is being returned. `found` says that it may have been
    /// asked before.
    pub(super) fn errand(
        &self,
        parked: &Parked,
        request_id: String,
        found: bool,
    ) -> Option<Errand> {
        let Return {
            number, origin, to, ..
        } = parked.returned()?;
        let arrived = &parked.suspense.cash_in;
        Some(Errand {
            bank: Arc::clone(&self.shared.bank),
            slots: Arc::clone(&self.shared.bank_slots),
            lookout: Arc::clone(&self.shared.lookout),
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

/// One return on its way: asks the bank until it has said its last word.
#[derive(Debug)]
pub(super) struct Errand {
    bank: Arc<dyn BankGateway>,
    slots: Arc<Semaphore>,
    /// Opens when the bank's list was looked through.
    lookout: Arc<Lookout>,
    pauses: Pauses,
    number: u64,
    order: ReturnOrder,
    /// Whether somebody who is gone may have asked for it already.
    found: bool,
    request_id: String,
}

impl Errand {
    pub(super) async fn run(self, home: Mailbox<RealmSupervisor>) {
        self.lookout.passed().await;
        let mut pause = self.pauses.first;
        let mut asked = self.found;
        loop {
            let Ok(slot) = self.slots.acquire().await else {
                return;
            };
            let said = self.ask(asked).await;
            drop(slot);
            asked = true;
            let (sender, over) = oneshot::channel();
            let message = RealmMessage::Case(CaseMessage::Said(said, sender));
            // What the bank has said is never refused.
            if home.put(home.reserve(), message).is_err() {
                // The supervisor is gone; another takes it up again.
                return;
            }
            // Not written down counts as not heard.
            if over.await.unwrap_or(false) {
                return;
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(self.pauses.last);
        }
    }

    /// Asks how far it is, or for it: again when the bank does not know it.
    async fn ask(&self, asked: bool) -> ReturnSaid {
        let (bank, id) = (self.bank.as_ref(), self.request_id.as_str());
        let mut calls = Vec::new();
        let mut said = None;
        if asked {
            let reply = bank.transfer_status(self.order.origin, id).await;
            calls.extend(reply.calls);
            said = match reply.result {
                Ok(Some(transfer)) => Some(Said::Transfer(transfer)),
                Ok(None) => None,
                // Refusing to say is not refusing to do.
                Err(_) => Some(Said::Unknown),
            };
        }
        if said.is_none() {
            let reply = bank.give_back(&self.order, id).await;
            calls.extend(reply.calls);
            said = Some(match reply.result {
                Ok(transfer) => Said::Transfer(transfer),
                Err(BankError::Refused(why)) => Said::Refused(why),
                Err(BankError::Failed { .. } | BankError::TimedOut) => Said::Unknown,
            });
        }
        ReturnSaid {
            number: self.number,
            said: said.unwrap_or(Said::Unknown),
            calls,
        }
    }
}
