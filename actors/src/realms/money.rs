//! Routes orders and questions about the money of accounts. The parts that several routes share are here, too: claims,
//! convoys, and the realm's own entries.

use std::collections::BTreeSet;

use caudal_ledger::balance::Direction;
use caudal_ledger::fees::quotes::Quote;
use caudal_ledger::holds::{Hold, HoldStep, OpenHold};
use caudal_ledger::ids::{AccountNo, HoldId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{CashIn, Suspense};
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::Outcome;
use caudal_storage::StoreError;

use super::{Admission, RealmSupervisor, Target};
use crate::accounts::{AccountMessage, BalanceView, Convoy, Heard, HoldView, Joint, MoneyTurn};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::records::keys::Rail;
use crate::records::projection::Landed;
use crate::records::{self, BANK, SUSPENSE, Tail, reads};
use crate::reply::{ClaimGuard, Reply, Waits};
use crate::scribe::{Shared, Ticket, Write};

/// What a supervisor can be asked about the money of its accounts.
#[derive(Debug)]
pub enum MoneyMessage {
    /// Sets money of an account apart until the hold is confirmed, released, or expired.
    OpenHold {
        /// The account whose money is set apart.
        target: Target,
        /// The amount in centavos, the tenant's own id, and how long the hold lasts.
        order: OpenHold,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the hold, with the voucher that opens it; carries the key of the request.
        ticket: Ticket<Outcome<HoldView>>,
    },
    /// Confirms or releases a hold.
    StepHold {
        /// The hold, which names its account.
        id: HoldId,
        /// Whether it is confirmed or released.
        step: HoldStep,
        /// The amount in centavos; the rest when `None`.
        amount: Option<Amount>,
        /// Only say what would happen.
        dry_run: bool,
        /// Receives the hold as it is afterwards; carries the key of the request.
        ticket: Ticket<HoldView>,
    },
    /// Asks for an open hold; `None` when it is not open.
    HoldOf(HoldId, Reply<Result<Option<Hold>, Failure>>),
    /// Money arrived from the bank.
    CashIn(CashIn, Ticket<Heard>),
    /// Asks for the fees of a movement.
    Quote(Target, TypeCode, Amount, Reply<Result<Quote, Failure>>),
    /// Asks for the balance as it is.
    BalanceOf(Target, Reply<Result<BalanceView, Failure>>),
    /// Asks for the balance as it was at the end of an instant.
    BalanceAt(Target, Timestamp, Reply<Result<BalanceView, Failure>>),
}

impl Asked for MoneyMessage {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::OpenHold { ticket, .. } => Some(ticket),
            Self::StepHold { ticket, .. } => Some(ticket),
            Self::HoldOf(_, reply) => Some(reply),
            Self::Quote(_, _, _, reply) => Some(reply),
            Self::BalanceOf(_, reply) | Self::BalanceAt(_, _, reply) => Some(reply),
            Self::CashIn(..) => None,
        }
    }
}

impl RealmSupervisor {
    /// Routes messages about the money of accounts.
    pub(super) fn money(&mut self, message: MoneyMessage) {
        match message {
            MoneyMessage::OpenHold {
                target,
                order,
                dry_run,
                ticket,
            } => self.open_hold(target, order, dry_run, ticket),
            MoneyMessage::StepHold {
                id,
                step,
                amount,
                dry_run,
                ticket,
            } => self.step_hold(id, (step, amount), dry_run, ticket),
            MoneyMessage::HoldOf(id, reply) => {
                self.ask(Target::Account(id.0.account), reply, |reply| {
                    MoneyTurn::HoldOf(id.0.sequence, reply)
                });
            }
            MoneyMessage::CashIn(arrived, ticket) => self.cash_in(arrived, ticket),
            MoneyMessage::Quote(target, code, amount, reply) => {
                self.quote(target, &code, amount, reply);
            }
            MoneyMessage::BalanceOf(target, reply) => {
                self.ask(target, reply, MoneyTurn::BalanceOf);
            }
            MoneyMessage::BalanceAt(target, at, reply) => {
                self.ask(target, reply, |reply| MoneyTurn::BalanceAt(at, reply));
            }
        }
    }

    /// Claims a tenant's own id of a movement or transfer for an account.
    pub(super) fn claim_external(
        &self,
        kind: &[u8],
        id: &ExternalId,
        number: AccountNo,
    ) -> Result<ClaimGuard, Failure> {
        let name = [kind, id.as_str().as_bytes()].concat();
        let Shared { realm, claims, .. } = &*self.shared;
        let claim = claims.claim(*realm, name, number, true);
        claim.map_err(|_| Rejection::ExternalIdInFlight.into())
    }

    /// Lets a request through its idempotency key. A dry run has no key: see [`crate::engine::Asker`].
    pub(super) fn let_in<T: std::marker::Send + 'static>(
        &mut self,
        ticket: Ticket<T>,
    ) -> Option<Ticket<T>> {
        match self.admit(ticket) {
            Admission::Go(ticket) | Admission::Adopt(_, ticket) => Some(ticket),
            Admission::Ended => None,
        }
    }

    fn open_hold(
        &mut self,
        target: Target,
        order: OpenHold,
        dry_run: bool,
        ticket: Ticket<Outcome<HoldView>>,
    ) {
        let Some(mut ticket) = self.let_in(ticket) else {
            return;
        };
        let number = match self.number(target) {
            Ok(number) => number,
            Err(why) => return self.end(Err(why), ticket),
        };
        if !dry_run {
            let direction = [b'x', Direction::Hold.byte()];
            match self.claim_external(&direction, &order.external_id, number) {
                Ok(guard) => ticket.guards.push(guard),
                Err(why) => return self.end(Err(why), ticket),
            }
        }
        self.forward(number, ticket, |ticket| MoneyTurn::OpenHold {
            order,
            dry_run,
            ticket,
        });
    }

    fn step_hold(
        &mut self,
        id: HoldId,
        (step, amount): (HoldStep, Option<Amount>),
        dry_run: bool,
        ticket: Ticket<HoldView>,
    ) {
        let Some(ticket) = self.let_in(ticket) else {
            return;
        };
        if id.0.realm != self.shared.realm {
            return self.end(Err(Rejection::HoldNotFound.into()), ticket);
        }
        self.forward(id.0.account, ticket, |ticket| MoneyTurn::StepHold {
            hold: id,
            step,
            amount,
            dry_run,
            ticket,
        });
    }

    /// Sends an order through all accounts that it concerns, starting at the lowest number.
    pub(super) fn convoy<T: std::marker::Send + 'static>(
        &mut self,
        accounts: &BTreeSet<AccountNo>,
        ticket: Ticket<T>,
        order: impl FnOnce(Ticket<T>) -> Joint,
    ) {
        let found: Result<Vec<_>, _> = accounts
            .iter()
            .rev()
            .map(|number| self.children.get(*number).map(|child| child.reserve()))
            .collect();
        match found {
            Err(why) => self.end(Err(why), ticket),
            Ok(mut ahead) => {
                if let Some(first) = ahead.pop() {
                    let convoy = Convoy::new(order(ticket), ahead);
                    first.send(AccountMessage::Joint(convoy));
                }
            }
        }
    }

    fn quote(
        &mut self,
        target: Target,
        code: &TypeCode,
        amount: Amount,
        reply: Reply<Result<Quote, Failure>>,
    ) {
        match self.types.find(code) {
            Some(found) => {
                self.ask(target, reply, |reply| {
                    MoneyTurn::Quote(found, amount, reply)
                });
            }
            None => reply.send(Err(Rejection::VoucherTypeUnknown {
                code: code.to_string(),
            }
            .into())),
        }
    }

    /// Claims an id of the rail, and gives the place where it has landed before, if it has.
    pub(super) fn claim_rail(
        &self,
        kind: Rail,
        id: &str,
    ) -> Result<(ClaimGuard, Option<Landed>), Failure> {
        let Shared {
            realm,
            store,
            claims,
            ..
        } = &*self.shared;
        let tag = match kind {
            Rail::Arrival => b"ri",
            Rail::Return => b"rr",
        };
        let name = [tag.as_slice(), id.as_bytes()].concat();
        let guard = claims
            .claim(*realm, name, AccountNo(0), false)
            .map_err(|_| Failure::Overloaded)?;
        let landed = reads::money::landed(store.as_ref(), *realm, kind, id)?;
        Ok((guard, landed))
    }

    /// Routes money that arrived from the bank, for a CVU of this realm or for an unknown one.
    fn cash_in(&mut self, arrived: CashIn, mut ticket: Ticket<Heard>) {
        match self.claim_rail(Rail::Arrival, &arrived.coelsa_id) {
            Err(why) => return self.end(Err(why), ticket),
            Ok((guard, landed)) => {
                ticket.guards.push(guard);
                if let Some(landed) = landed {
                    return self.arrived_again(arrived, &landed, ticket);
                }
            }
        }
        match self.number(Target::Cvu(arrived.cvu)) {
            Ok(number) => self.forward(number, ticket, |ticket| MoneyTurn::CashIn(arrived, ticket)),
            Err(Failure::Rejected(unknown)) => {
                let suspense = Suspense {
                    cash_in: arrived,
                    reason: unknown.code().to_owned(),
                };
                self.park(&suspense, ticket);
            }
            Err(why) => self.end(Err(why), ticket),
        }
    }

    /// Keeps money without a known account, until a person decides about it.
    pub(super) fn park(&mut self, suspense: &Suspense, ticket: Ticket<Heard>) {
        let stream = records::account_stream(self.shared.realm, AccountNo(0), SUSPENSE);
        match self.own_entry(stream, suspense) {
            Ok(entry) => {
                let page = Write {
                    entries: vec![entry],
                    ..Write::default()
                };
                self.scribe.finish(page, Ok(Heard::Suspended), ticket);
            }
            Err(why) => self.scribe.fail(why, ticket.reply),
        }
    }

    /// The next entry of one of the realm's own streams.
    pub(super) fn own_entry<R: serde::Serialize>(
        &mut self,
        stream: caudal_storage::StreamId,
        record: &R,
    ) -> Result<caudal_storage::Entry, StoreError> {
        let mut tail = match self.tails.get(&stream.kind) {
            Some(tail) => *tail,
            None => Tail::read(self.shared.store.as_ref(), stream)?,
        };
        let entry = tail.next(stream, self.shared.clock.now(), record)?;
        self.tails.insert(stream.kind, tail);
        Ok(entry)
    }

    /// Journals calls to the bank that concern no account.
    pub(super) fn journal(&mut self, calls: &[caudal_ledger::facts::BankCall]) {
        let stream = records::account_stream(self.shared.realm, AccountNo(0), BANK);
        let entries: Result<Vec<_>, _> = calls
            .iter()
            .map(|call| self.own_entry(stream, call))
            .collect();
        match entries {
            Ok(entries) => self.scribe.commit(
                Write {
                    entries,
                    ..Write::default()
                },
                |_| {},
            ),
            Err(why) => self.scribe.fail::<()>(why, None),
        }
    }
}
