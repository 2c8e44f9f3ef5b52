//! Routes transfers: to one account, to two as one, and the bank's reports about them.

use std::collections::BTreeSet;

use caudal_ledger::cases::Decision;
use caudal_ledger::ids::{AccountNo, OriginId, TransferId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::{BankTransfer, Departure, Destination, Send, Transfer, Verdict};
use caudal_ledger::vouchers::Outcome;

use super::{RealmSupervisor, Target};
use crate::accounts::{CaseTurn, Heard, Joint, TransferTurn, TransferView};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::records::keys::Rail;
use crate::records::reads;
use crate::reply::{Reply, Waits};
use crate::scribe::{Shared, Ticket};

/// What a supervisor can be asked about transfers.
#[derive(Debug)]
pub enum TransferMessage {
    /// Transfer, inside the realm or through the bank.
    Send {
        /// The account that sends.
        from: Target,
        /// The destination, the amount in centavos, and the tenant's own id.
        order: Send,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the transfer once the money is held or moved; carries the key of the request.
        ticket: Ticket<Outcome<TransferView>>,
    },
    /// Asks for a transfer that waits for the bank; `None` when it does not wait.
    Of(TransferId, Reply<Result<Option<Transfer>, Failure>>),
    /// The content of the bank's notice about a transfer.
    Notice {
        /// The sending account.
        account: AccountNo,
        /// The number of the transfer in its account.
        transfer: u64,
        /// The transfer as the notice reports it.
        said: BankTransfer,
        /// Receives the outcome of the notice.
        ticket: Ticket<Heard>,
    },
    /// A transfer came back.
    Reverse {
        /// The sending account.
        account: AccountNo,
        /// The number of the transfer in its account.
        transfer: u64,
        /// The amount that came back, in centavos.
        amount: Amount,
        /// The id of the reversal on the rail.
        coelsa_id: String,
        /// Receives the outcome of the notice.
        ticket: Ticket<Heard>,
    },
    /// A person decides about a transfer that waits for the bank.
    Decide {
        /// The transfer, which names its account.
        transfer: TransferId,
        /// The verdict, and whether the person insists although the bank has not given up.
        verdict: (Verdict, bool),
        /// Who decides, and why.
        decision: Box<Decision>,
        /// Receives the transfer as it is after the decision.
        ticket: Ticket<TransferView>,
    },
    /// Money left by an order that the ledger does not know.
    Left(Departure, Ticket<Heard>),
}

impl Asked for TransferMessage {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Send { ticket, .. } => Some(ticket),
            Self::Of(_, reply) => Some(reply),
            Self::Decide { ticket, .. } => Some(ticket),
            Self::Notice { .. } | Self::Reverse { .. } | Self::Left(..) => None,
        }
    }
}

impl RealmSupervisor {
    /// Routes messages about transfers.
    pub(super) fn transfer(&mut self, message: TransferMessage) {
        match message {
            TransferMessage::Send {
                from,
                order,
                dry_run,
                ticket,
            } => self.send(from, order, dry_run, ticket),
            TransferMessage::Of(id, reply) => {
                self.ask(Target::Account(id.0.account), reply, |reply| {
                    TransferTurn::Of(id.0.sequence, reply)
                });
            }
            TransferMessage::Notice {
                account,
                transfer,
                said,
                ticket,
            } => self.forward(account, ticket, |ticket| TransferTurn::Notice {
                transfer,
                said,
                ticket,
            }),
            TransferMessage::Reverse {
                account,
                transfer,
                amount,
                coelsa_id,
                ticket,
            } => self.reverse(account, transfer, (amount, coelsa_id), ticket),
            TransferMessage::Decide {
                transfer,
                verdict,
                decision,
                ticket,
            } => self.forward(transfer.0.account, ticket, |ticket| CaseTurn::Decide {
                transfer,
                verdict,
                decision,
                ticket,
            }),
            TransferMessage::Left(departure, ticket) => self.left(departure, ticket),
        }
    }

    /// Routes an order to send. If the destination is an account of the realm, both accounts get it; if not, only the
    /// sending account does, which sends it on to the bank.
    fn send(
        &mut self,
        from: Target,
        order: Send,
        dry_run: bool,
        ticket: Ticket<Outcome<TransferView>>,
    ) {
        let Some(mut ticket) = self.let_in(ticket) else {
            return;
        };
        let ends = self
            .number(from)
            .and_then(|from| Ok((from, self.receiver(&order.to)?)));
        let (from, to) = match ends {
            Ok(ends) => ends,
            Err(why) => return self.end(Err(why), ticket),
        };
        if !dry_run {
            match self.claim_external(b"t", &order.external_id, from) {
                Ok(guard) => ticket.guards.push(guard),
                Err(why) => return self.end(Err(why), ticket),
            }
        }
        if to.is_none() && !dry_run {
            // The lookout may be recovering the same order from the bank's list right now, after an older copy was put
            // back.
            match self.claim_sent(self.origin_of(&order), from) {
                Ok(guard) => ticket.guards.push(guard),
                Err(_) => return self.end(Err(Rejection::ExternalIdInFlight.into()), ticket),
            }
        }
        match to {
            None => self.forward(from, ticket, |ticket| TransferTurn::Send {
                order,
                dry_run,
                ticket,
            }),
            Some(to) if to == from => self.end(Err(Rejection::SameAccount.into()), ticket),
            Some(to) => {
                let both = BTreeSet::from([from, to]);
                self.convoy(&both, ticket, |ticket| Joint::Transfer {
                    from,
                    to,
                    order,
                    dry_run,
                    ticket,
                });
            }
        }
    }

    /// The reference of an order at the bank.
    fn origin_of(&self, order: &Send) -> OriginId {
        let settings = self.shared.settings();
        OriginId::of_order(&settings.tenant, settings.mode, &order.external_id)
    }

    /// The account of this realm that the destination names, if there is one.
    fn receiver(&mut self, to: &Destination) -> Result<Option<AccountNo>, Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        match to {
            Destination::Key(key) => match key.cvu() {
                Some(cvu) => match self.number(Target::Cvu(cvu)) {
                    Ok(number) => Ok(Some(number)),
                    Err(Failure::Rejected(Rejection::AccountNotFound)) => Ok(None),
                    Err(why) => Err(why),
                },
                None => Ok(None),
            },
            Destination::Alias(alias) => {
                let owner = reads::alias_owner(store.as_ref(), *realm, alias)?;
                let own = owner.filter(|owner| owner.current);
                Ok(own.map(|owner| owner.account))
            }
        }
    }

    /// Routes a transfer that came back.
    fn reverse(
        &mut self,
        account: AccountNo,
        transfer: u64,
        (amount, coelsa_id): (Amount, String),
        mut ticket: Ticket<Heard>,
    ) {
        match self.claim_rail(Rail::Return, &coelsa_id) {
            Err(why) => return self.end(Err(why), ticket),
            Ok((_, Some(_))) => return self.end(Ok(Heard::Known), ticket),
            Ok((guard, None)) => ticket.guards.push(guard),
        }
        self.forward(account, ticket, |ticket| TransferTurn::Reverse {
            transfer,
            amount,
            coelsa_id,
            ticket,
        });
    }

    /// Routes money that left by an order that the ledger does not know.
    fn left(&mut self, left: Departure, mut ticket: Ticket<Heard>) {
        match self.claim_left(left.origin) {
            Ok(guard) => ticket.guards.push(guard),
            Err(why) => return self.end(Err(why), ticket),
        }
        match self.number(Target::Cvu(left.cvu)) {
            Ok(number) => self.forward(number, ticket, |ticket| CaseTurn::Left(left, ticket)),
            Err(Failure::Rejected(why)) => self.left_nobody(left, &why, ticket),
            Err(why) => self.end(Err(why), ticket),
        }
    }
}
