//! Turns about transfers through the bank: requested, settled by the bank's answer, reversed.

use std::sync::Arc;

use actix::{Addr, AsyncContext as _, Context};
use caudal_ledger::accounts::{Account, Movements};
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{AccountNo, OriginId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::{
    BankMoved, BankTransfer, BankWord, Counterparty, Send, Transfer, TransferFact, TransferRecord,
    TransferStatus,
};
use caudal_ledger::vouchers::Outcome;
use tokio::sync::oneshot;

use super::remittance::{Errand, Remittance, Said, TransferSaid};
use super::{AccountActor, Desk, Heard, TransferView};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::ports::TransferOrder;
use crate::records::projection::Place;
use crate::records::reads;
use crate::reply::{Reply, Waits};
use crate::scribe::{Shared, Ticket, Write};

/// A transfer that the bank is to be asked for once it is on disk.
pub(super) type Started = (u64, String, oneshot::Receiver<Result<(), Failure>>);

/// A turn about a transfer through the bank.
#[derive(Debug)]
pub enum TransferTurn {
    /// Ask the bank for a transfer, or say what would happen.
    Send {
        /// The destination and the amount.
        order: Send,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the answer.
        ticket: Ticket<Outcome<TransferView>>,
    },
    /// An open transfer as it is, by its number; `None` when it is not open.
    Of(u64, Reply<Result<Option<Transfer>, Failure>>),
    /// The next errand at the bank for a transfer; `None` once it is not open any more.
    Next(u64, oneshot::Sender<Option<Errand>>),
    /// The party behind the destination of a transfer that is about to be sent.
    Resolved {
        /// The number of the transfer.
        transfer: u64,
        /// The other side, if the bank named it.
        other: Option<Box<Counterparty>>,
        /// The calls to the bank.
        calls: Vec<BankCall>,
    },
    /// The bank's answer about a transfer.
    Said(TransferSaid),
    /// The content of the bank's notice about a transfer.
    Notice {
        /// The number of the transfer.
        transfer: u64,
        /// The transfer as the notice reports it.
        said: BankTransfer,
        /// Receives the outcome of the notice.
        ticket: Ticket<Heard>,
    },
    /// A transfer came back.
    Reverse {
        /// The number of the transfer.
        transfer: u64,
        /// The amount that came back, in centavos.
        amount: Amount,
        /// The id of the reversal on the rail.
        coelsa_id: String,
        /// Receives the outcome of the notice.
        ticket: Ticket<Heard>,
    },
}

impl Asked for TransferTurn {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Send { ticket, .. } => Some(ticket),
            Self::Of(_, reply) => Some(reply),
            Self::Next(..)
            | Self::Resolved { .. }
            | Self::Said(_)
            | Self::Notice { .. }
            | Self::Reverse { .. } => None,
        }
    }
}

impl Desk {
    /// Takes a turn about a transfer.
    pub(super) fn transfer(&mut self, turn: TransferTurn, ctx: &Context<AccountActor>) {
        match turn {
            TransferTurn::Send {
                order,
                dry_run,
                ticket,
            } => {
                if let Some(started) = self.send(&order, dry_run, ticket) {
                    self.remit(started, false, ctx.address());
                }
            }
            TransferTurn::Of(number, reply) => {
                let transfer = self.account.transfers.get(&number).cloned();
                self.show(Ok(transfer), reply);
            }
            TransferTurn::Next(transfer, reply) => drop(reply.send(self.errand(transfer))),
            TransferTurn::Resolved {
                transfer,
                other,
                calls,
            } => self.resolved(transfer, other, &calls),
            TransferTurn::Said(said) => self.transfer_said(said),
            TransferTurn::Notice {
                transfer,
                said,
                ticket,
            } => self.noticed(transfer, &said, ticket),
            TransferTurn::Reverse {
                transfer,
                amount,
                coelsa_id,
                ticket,
            } => self.reverse(transfer, (amount, &coelsa_id), ticket),
        }
    }

    /// Requests a transfer through the bank: holds the money now, and asks the bank once that is on disk.
    fn send(
        &mut self,
        order: &Send,
        dry_run: bool,
        ticket: Ticket<Outcome<TransferView>>,
    ) -> Option<Started> {
        let seen = match self.seen(order, None) {
            Ok(seen) => seen,
            Err(why) => {
                self.end(Err(why), ticket);
                return None;
            }
        };
        if let Some(view) = seen {
            self.end(Ok(Outcome::Replayed(view)), ticket);
            return None;
        }
        let origin = self.origin(order);
        let settings = self.shared.settings();
        let context = self.context(&settings, self.now());
        let (transfer, movements) = match self.account.decide_request(order, origin, &context) {
            Ok(decided) => decided,
            Err(rejection) => {
                self.end(Err(rejection.into()), ticket);
                return None;
            }
        };
        let number = transfer.sequence;
        let view = TransferView {
            account: self.account.number,
            transfer,
        };
        if dry_run {
            self.end(Ok(Outcome::Recorded(view)), ticket);
            return None;
        }
        let request_id = ticket.request_id.clone();
        let (sender, durable) = oneshot::channel();
        let recorded = self.record_all(movements);
        match recorded {
            Ok(page) => {
                let outcome = Ok(Outcome::Recorded(view));
                self.scribe
                    .finish_and(page, outcome, ticket, |done| drop(sender.send(done)));
            }
            Err(why) => {
                self.scribe.fail(why, ticket.reply);
                return None;
            }
        }
        self.note_business();
        Some((number, request_id, durable))
    }

    fn end(
        &mut self,
        outcome: Result<Outcome<TransferView>, Failure>,
        ticket: Ticket<Outcome<TransferView>>,
    ) {
        self.scribe.finish(Write::default(), outcome, ticket);
    }

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
        Ok(Some(TransferView { account, transfer }))
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
    pub(super) fn remit(&self, started: Started, found: bool, home: Addr<AccountActor>) {
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
            bank: Arc::clone(&self.shared.bank),
            slots: Arc::clone(&self.shared.bank_slots),
            lookout: Arc::clone(&self.shared.lookout),
            hold: Arc::clone(&self.shared.hold),
            pauses: self.shared.pauses,
            transfer,
            found,
            request_id,
        };
        self.shared.life.spawn(remittance.run(durable, home));
    }

    /// The next errand at the bank for a transfer.
    fn errand(&self, number: u64) -> Option<Errand> {
        let transfer = self.account.transfers.get(&number)?;
        if transfer.status == TransferStatus::Audit {
            return None;
        }
        Some(Errand {
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

    /// Takes in the party behind the destination of an open transfer.
    fn resolved(&mut self, number: u64, other: Option<Box<Counterparty>>, calls: &[BankCall]) {
        let open = self.account.transfers.contains_key(&number);
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
            self.settle(Ok(movements), calls, None);
        }
    }

    /// Takes in the bank's answer: journals the calls, and settles the transfer if the answer is final.
    fn transfer_said(&mut self, said: TransferSaid) {
        let number = said.transfer;
        let word = match said.said {
            Said::Transfer(transfer) => transfer,
            // The bank was asked and its answer is unknown: it may have the transfer.
            Said::Unknown => BankTransfer {
                bank_id: String::new(),
                coelsa_id: None,
                word: BankWord::InProgress,
                moved: BankMoved::default(),
            },
            // Under the reference the bank has a record that does not match the order. A refusal of the order tells
            // nothing about that record.
            Said::Refused(_) if self.disputed(number) => {
                return self.settle(Ok(Movements::default()), &said.calls, None);
            }
            Said::Refused(why) => {
                if !self.account.transfers.contains_key(&number) {
                    let reason = String::new();
                    drop(self.late(number, &BankWord::Failed { reason }));
                }
                let rejection = Account::refused_by_bank(&why);
                let settings = self.shared.settings();
                let context = self.context(&settings, self.now());
                let movements = self.account.reject(number, rejection, &context);
                return self.settle(movements, &said.calls, None);
            }
        };
        if !self.account.transfers.contains_key(&number)
            && let Err(why) = self.late(number, &word.word)
        {
            tracing::warn!(%why, transfer = number, "a late word of the bank was not compared");
        }
        let movements = self.settled(number, &word);
        self.settle(movements, &said.calls, None);
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
        heard: Option<(Heard, Ticket<Heard>)>,
    ) {
        let movements = match movements {
            Ok(movements) => movements,
            Err(why) => {
                // Held money can always be settled: an account that cannot do it is not sound.
                tracing::error!(%why, account = self.account.number.0, "a transfer cannot be settled");
                self.vitals.doubt();
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
            let mut page = self.record_all(movements)?;
            page.entries.extend(entries);
            Ok(page)
        });
        self.note_business();
        match (written, heard) {
            (Ok(page), None) => self.scribe.commit(page, |_| {}),
            (Ok(page), Some((heard, ticket))) => self.scribe.finish(page, Ok(heard), ticket),
            (Err(why), None) => self.scribe.fail::<()>(why, None),
            (Err(why), Some((_, ticket))) => self.scribe.fail(why, ticket.reply),
        }
    }

    /// Takes in a notice about a transfer.
    fn noticed(&mut self, number: u64, said: &BankTransfer, ticket: Ticket<Heard>) {
        if !self.account.transfers.contains_key(&number) {
            let heard = self.late(number, &said.word);
            return self.scribe.finish(Write::default(), heard, ticket);
        }
        let movements = self.settled(number, said);
        let nothing = movements.as_ref().is_ok_and(Movements::is_empty);
        let heard = if nothing { Heard::Known } else { Heard::Done };
        self.settle(movements, &[], Some((heard, ticket)));
    }

    /// A late answer of the bank about a transfer that is not open any more moves nothing. If it contradicts how the
    /// transfer ended, a person has to look.
    fn late(&self, number: u64, word: &BankWord) -> Result<Heard, Failure> {
        let Some(transfer) = self.known(number)? else {
            return Ok(Heard::Ignored);
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
        Ok(Heard::Known)
    }

    /// A transfer of this account by its number, open or not; `None` when there is none.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(super) fn known(&self, number: u64) -> Result<Option<Transfer>, Failure> {
        if let Some(open) = self.account.transfers.get(&number) {
            return Ok(Some(open.clone()));
        }
        let place = Place {
            account: self.account.number,
            sequence: number,
        };
        let store = self.shared.store.as_ref();
        Ok(reads::money::transfer(store, self.shared.realm, place)?)
    }
}
