//! A return on its way: asks the bank until the bank has given its final answer, and reports each answer to the
//! supervisor. While the realm's departures are held, nothing is sent.

use std::sync::Arc;

use caudal_ledger::cases::{Parked, Return};
use caudal_ledger::facts::BankCall;
use tokio::sync::{Semaphore, oneshot};

use super::cases::TakeReturnAnswer;
use super::{RealmSupervisor, ReturnSaid};
use crate::accounts::remittance::Said;
use crate::hold::Hold;
use crate::lookout::Lookout;
use crate::mailbox::Mailbox;
use crate::orders::Envelope;
use crate::persist::persist;
use crate::ports::{BankError, BankGateway, ReturnOrder};
use crate::settings::Pauses;

impl RealmSupervisor {
    /// Prepares the errand for money that is being returned. `found` means that the bank may have been asked before.
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
            hold: Arc::clone(&self.shared.hold),
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
pub(super) struct Errand {
    bank: Arc<dyn BankGateway>,
    slots: Arc<Semaphore>,
    /// Opens when the bank's list was looked through.
    lookout: Arc<Lookout>,
    hold: Arc<Hold>,
    pauses: Pauses,
    number: u64,
    order: ReturnOrder,
    /// Whether an earlier run may already have asked for it.
    found: bool,
    request_id: String,
}

impl Errand {
    pub(super) async fn run(self, home: Mailbox<RealmSupervisor>) {
        persist("return", async |again| {
            self.ask_until_over(again, &home).await
        })
        .await;
    }

    async fn ask_until_over(&self, again: bool, home: &Mailbox<RealmSupervisor>) {
        self.lookout.passed().await;
        let mut pause = self.pauses.first;
        let mut asked = self.found || again;
        // Always read before the supervisor answers whether the return goes on.
        // An attempt that was cut off may have waited for the end of a hold: the supervisor is to be asked first.
        let mut held = again || self.hold.is_held();
        loop {
            let Ok(slot) = self.slots.acquire().await else {
                return;
            };
            let (said, calls) = self.ask(asked, held).await;
            drop(slot);
            let waits = said.is_none();
            asked |= !waits;
            held = self.hold.is_held();
            if self.is_over(home, said, calls).await {
                return;
            }
            if waits {
                self.hold.leave().await;
                held = false;
                if self.is_over(home, None, Vec::new()).await {
                    return;
                }
                continue;
            }
            self.hold.pause(pause).await;
            pause = pause.saturating_mul(2).min(self.pauses.last);
        }
    }

    /// Tells the supervisor the result of a try. Returns whether the return is over, or the supervisor gone.
    async fn is_over(
        &self,
        home: &Mailbox<RealmSupervisor>,
        said: Option<Said>,
        calls: Vec<BankCall>,
    ) -> bool {
        let said = ReturnSaid {
            number: self.number,
            said: said.unwrap_or(Said::Unknown),
            calls,
        };
        let (sender, over) = oneshot::channel();
        let message = Envelope::from(TakeReturnAnswer(said, sender));
        // The bank's answer is never refused. If the supervisor is gone, the next one takes the return up again.
        if home.put(home.reserve(), message).is_err() {
            return true;
        }
        // An answer that was not written down counts as not heard.
        over.await.unwrap_or(false)
    }

    /// Asks for the state of the return, and orders it if the bank does not know it. If the bank does not know it and
    /// the realm is held, there is no answer.
    async fn ask(&self, asked: bool, held: bool) -> (Option<Said>, Vec<BankCall>) {
        let (bank, id) = (self.bank.as_ref(), self.request_id.as_str());
        let mut calls = Vec::new();
        if asked {
            let reply = bank.transfer_status(self.order.origin, id).await;
            calls.extend(reply.calls);
            match reply.result {
                Ok(Some(transfer)) => return (Some(Said::Transfer(transfer)), calls),
                Ok(None) => {}
                // A refusal to report is no refusal of the return.
                Err(_) => return (Some(Said::Unknown), calls),
            }
        }
        if held {
            return (None, calls);
        }
        let reply = bank.give_back(&self.order, id).await;
        calls.extend(reply.calls);
        let said = match reply.result {
            Ok(transfer) => Said::Transfer(transfer),
            Err(BankError::Refused(why)) => Said::Refused(why),
            Err(BankError::Failed { .. } | BankError::TimedOut) => Said::Unknown,
        };
        (Some(said), calls)
    }
}
