//! Asks the bank for a transfer, and how far it is, until the bank has given its final answer.
//!
//! **Order.** The hold and the reference are durable before the first call, and nothing is asked
//! before the bank's list was looked through for this start (see [`crate::lookout`]). Before it is sent,
//! the bank is asked once who is behind its destination, and the answer is kept. The bank makes one
//! transfer of one reference, so asking again after a crash or a timeout is always safe. A notice
//! may settle the transfer meanwhile; the account says so when it is asked what to do next. While what
//! leaves the realm is held nothing is sent, and afterwards only what the account wants then.
//!
//! **Bounds.** A realm has a number of calls to the bank under way at a time; between tries the
//! pause doubles from the first to the last of [`Pauses`]. The number of tries has no bound, because
//! nobody may guess what the bank did.

use std::sync::Arc;

use actix::Addr;
use caudal_ledger::facts::{BankCall, BankRefusal};
use caudal_ledger::transfers::BankTransfer;
use tokio::sync::{Semaphore, oneshot};

use super::{AccountActor, AccountMessage, TransferTurn};
use crate::failure::Failure;
use crate::hold::Hold;
use crate::lookout::Lookout;
use crate::ports::{BankError, BankGateway, TransferOrder};
use crate::settings::Pauses;

/// What to ask the bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Errand {
    /// The transfer, as the bank is asked for it.
    pub order: TransferOrder,
    /// Whether it was asked for before.
    pub asked: bool,
    /// Whether to ask first who is behind its destination.
    pub resolves: bool,
}

/// What the bank said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// How far the transfer is.
    Transfer(BankTransfer),
    /// That there is none and will be none.
    Refused(BankRefusal),
    /// Nothing that can be relied on.
    Unknown,
}

/// What came of one try, with every call that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferSaid {
    /// The sequence of the transfer's first voucher: its number in the account.
    pub transfer: u64,
    /// What the bank said.
    pub said: Said,
    /// The calls, oldest first.
    pub calls: Vec<BankCall>,
}

/// One transfer on its way.
#[derive(Debug)]
pub struct Remittance {
    /// The gateway to the realm's bank.
    pub bank: Arc<dyn BankGateway>,
    /// The calls that the realm may have under way.
    pub slots: Arc<Semaphore>,
    /// Opens when the bank's list was looked through.
    pub lookout: Arc<Lookout>,
    /// Whether what leaves the realm is held.
    pub hold: Arc<Hold>,
    /// How long the bank is left alone between tries.
    pub pauses: Pauses,
    /// The sequence of the transfer's first voucher: its number in the account.
    pub transfer: u64,
    /// Whether somebody who is gone may have asked for it already.
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
        self.lookout.passed().await;
        let mut pause = self.pauses.first;
        loop {
            let Ok(slot) = self.slots.acquire().await else {
                return;
            };
            // First this: an answer from before the hold ended sends nothing, because a person may have decided since.
            let held = self.hold.is_held();
            let Some(mut errand) = self.next(&account).await else {
                return;
            };
            // A refusal of what was asked for before is no word: the bank may have done it.
            errand.asked |= self.found;
            if held && !errand.asked {
                drop(slot);
                self.hold.leave().await;
                continue;
            }
            if errand.resolves && !held {
                let resolved = AccountMessage::Transfer(self.resolve(&errand).await);
                if account.send(resolved).await.is_err() {
                    return;
                }
            }
            let (said, calls) = self.ask(&errand, held).await;
            drop(slot);
            let waits = said.is_none();
            let turn = AccountMessage::Transfer(self.heard(said, calls));
            if account.send(turn).await.is_err() {
                return;
            }
            if waits {
                self.hold.leave().await;
                continue;
            }
            if self.next(&account).await.is_none() {
                return;
            }
            self.hold.pause(pause).await;
            pause = pause.saturating_mul(2).min(self.pauses.last);
        }
    }

    /// What to ask next; `None` when the transfer is settled or the actor is gone.
    async fn next(&self, account: &Addr<AccountActor>) -> Option<Errand> {
        let (sender, next) = oneshot::channel();
        let question = AccountMessage::Transfer(TransferTurn::Next(self.transfer, sender));
        account.send(question).await.ok()?;
        next.await.ok()?
    }

    /// Asks who is behind the destination. Where the bank does not say, the transfer is sent all the
    /// same: the bank judges its destination once more then.
    async fn resolve(&self, errand: &Errand) -> TransferTurn {
        let reply = self
            .bank
            .lookup(&errand.order.to, self.request_id.as_str())
            .await;
        TransferTurn::Resolved {
            transfer: self.transfer,
            other: reply.result.ok().map(|found| Box::new(found.into())),
            calls: reply.calls,
        }
    }

    /// Asks how far it is, or for it: again when the bank does not know it. Nothing was said where the bank does not
    /// know it and it is held.
    async fn ask(&self, errand: &Errand, held: bool) -> (Option<Said>, Vec<BankCall>) {
        let (bank, id) = (self.bank.as_ref(), self.request_id.as_str());
        let mut calls = Vec::new();
        if errand.asked {
            let reply = bank.transfer_status(errand.order.origin, id).await;
            calls.extend(reply.calls);
            match reply.result {
                Ok(Some(transfer)) => return (Some(Said::Transfer(transfer)), calls),
                Ok(None) if held => return (None, calls),
                Ok(None) => {}
                // Refusing to say is not refusing to do.
                Err(_) => return (Some(Said::Unknown), calls),
            }
        }
        let reply = bank.transfer(&errand.order, id).await;
        calls.extend(reply.calls);
        let said = reply.result.map_or_else(doubt, Said::Transfer);
        (Some(said), calls)
    }

    /// What the account is told of a try.
    fn heard(&self, said: Option<Said>, calls: Vec<BankCall>) -> TransferTurn {
        let transfer = self.transfer;
        match said {
            Some(said) => TransferTurn::Said(TransferSaid {
                transfer,
                said,
                calls,
            }),
            // The calls alone: the transfer stands as it did.
            None => TransferTurn::Resolved {
                transfer,
                other: None,
                calls,
            },
        }
    }
}

/// What the bank's failure says of a transfer.
pub(super) fn doubt(error: BankError) -> Said {
    match error {
        BankError::Refused(why) => Said::Refused(why),
        BankError::Failed { .. } | BankError::TimedOut => Said::Unknown,
    }
}
