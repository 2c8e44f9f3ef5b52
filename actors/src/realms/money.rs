//! Routing of orders about money: to one account, to several as one, to the bank.

use std::collections::BTreeSet;

use caudal_ledger::balance::Direction;
use caudal_ledger::holds::{HoldStep, OpenHold};
use caudal_ledger::ids::{AccountNo, HoldId, OriginId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Mode;
use caudal_ledger::text::ExternalId;
use caudal_ledger::transfers::{CashIn, Departure, Destination, Send, Suspense};
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::Outcome;
use caudal_storage::StoreError;

use super::{Admission, RealmMessage, RealmSupervisor, Target};
use crate::accounts::{AccountMessage, Convoy, Heard, HoldView, Joint, Quote, TransferView};
use crate::failure::Failure;
use crate::records::keys::Rail;
use crate::records::projection::Landed;
use crate::records::{self, BANK, SUSPENSE, Tail, reads};
use crate::reply::{ClaimGuard, Reply};
use crate::scribe::{Page, Shared, Ticket};

impl RealmSupervisor {
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

    /// Lets a request through its idempotency key. A dry run comes without one: see
    /// [`crate::engine::Asker`].
    pub(super) fn let_in<T: std::marker::Send + 'static>(
        &mut self,
        ticket: Ticket<T>,
    ) -> Option<Ticket<T>> {
        match self.admit(ticket) {
            Admission::Go(ticket) | Admission::Adopt(_, ticket) => Some(ticket),
            Admission::Ended => None,
        }
    }

    pub(super) fn open_hold(
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
        self.forward(number, ticket, |ticket| AccountMessage::OpenHold {
            order,
            dry_run,
            ticket,
        });
    }

    pub(super) fn step_hold(
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
        self.forward(id.0.account, ticket, |ticket| AccountMessage::StepHold {
            hold: id,
            step,
            amount,
            dry_run,
            ticket,
        });
    }

    /// Sends a transfer on its way: to both accounts when the destination is the realm's, to the
    /// account that sends, and by it to the bank, when it is not.
    pub(super) fn transfer(
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
            // The bank's list may be bringing it in right now, from a past that is gone.
            match self.claim_sent(self.origin_of(&order), from) {
                Ok(guard) => ticket.guards.push(guard),
                Err(_) => return self.end(Err(Rejection::ExternalIdInFlight.into()), ticket),
            }
        }
        match to {
            None => self.forward(from, ticket, |ticket| AccountMessage::Send {
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

    /// The account of this realm that a destination is, if it is one.
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
                let owner = reads::alias_owner(store.as_ref(), realm.mode(), alias)?;
                let own = owner.filter(|owner| owner.realm == realm.0 && owner.current);
                Ok(own.map(|owner| owner.account))
            }
        }
    }

    /// Sends an order through all accounts that it concerns, from the lowest number up.
    pub(super) fn convoy<T: std::marker::Send + 'static>(
        &mut self,
        accounts: &BTreeSet<AccountNo>,
        ticket: Ticket<T>,
        order: impl FnOnce(Ticket<T>) -> Joint,
    ) {
        let found: Result<Vec<_>, _> = accounts
            .iter()
            .rev()
            .map(|number| self.children.get(*number).map(|child| child.book()))
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

    /// What a movement would cost.
    pub(super) fn quote(
        &mut self,
        target: Target,
        code: &TypeCode,
        amount: Amount,
        reply: Reply<Result<Quote, Failure>>,
    ) {
        match self.types.find(code) {
            Some(found) => {
                self.ask(target, reply, |reply| {
                    AccountMessage::Quote(found, amount, reply)
                });
            }
            None => reply.send(Err(Rejection::VoucherTypeUnknown {
                code: code.to_string(),
            }
            .into())),
        }
    }

    /// Claims an id of the rail, and says where what it is of has landed before, if it has.
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
        let mode = realm.mode();
        let tag = match (kind, mode) {
            (Rail::Arrival, Mode::Live) => b"ri",
            (Rail::Arrival, Mode::Test) => b"Ri",
            (Rail::Return, Mode::Live) => b"rr",
            (Rail::Return, Mode::Test) => b"Rr",
        };
        let everywhere = caudal_ledger::ids::RealmId(0);
        let name = [tag.as_slice(), id.as_bytes()].concat();
        let guard = claims
            .claim(everywhere, name, AccountNo(0), false)
            .map_err(|_| Failure::Overloaded)?;
        let landed = reads::money::landed(store.as_ref(), mode, kind, id)?;
        Ok((guard, landed))
    }

    /// Money arrived from the bank, for a CVU of this realm or for one that nobody knows.
    pub(super) fn cash_in(&mut self, arrived: CashIn, mut ticket: Ticket<Heard>) {
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
            Ok(number) => self.forward(number, ticket, |ticket| {
                AccountMessage::CashIn(arrived, ticket)
            }),
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

    /// Keeps money that no account is known for, until a person decides about it.
    pub(super) fn park(&mut self, suspense: &Suspense, ticket: Ticket<Heard>) {
        let stream = records::account_stream(self.shared.realm, AccountNo(0), SUSPENSE);
        match self.own_entry(stream, suspense) {
            Ok(entry) => {
                let page = Page {
                    entries: vec![entry],
                    ..Page::default()
                };
                self.scribe.finish(page, Ok(Heard::Suspended), ticket);
            }
            Err(why) => self.scribe.fail(why, ticket.reply),
        }
    }

    /// The next entry of a stream that is the realm's own.
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
                Page {
                    entries,
                    ..Page::default()
                },
                |_| {},
            ),
            Err(why) => self.scribe.fail::<()>(why, None),
        }
    }

    /// A transfer came back.
    pub(super) fn reverse(
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
        self.forward(account, ticket, |ticket| AccountMessage::Reverse {
            transfer,
            amount,
            coelsa_id,
            ticket,
        });
    }

    /// Money left by an order that the ledger does not know.
    fn left(&mut self, left: Departure, mut ticket: Ticket<Heard>) {
        match self.claim_left(left.origin) {
            Ok(guard) => ticket.guards.push(guard),
            Err(why) => return self.end(Err(why), ticket),
        }
        match self.number(Target::Cvu(left.cvu)) {
            Ok(number) => self.forward(number, ticket, |ticket| AccountMessage::Left(left, ticket)),
            Err(Failure::Rejected(why)) => self.left_nobody(left, &why, ticket),
            Err(why) => self.end(Err(why), ticket),
        }
    }

    /// Routes what is about money.
    pub(super) fn money(&mut self, message: RealmMessage) {
        match message {
            RealmMessage::OpenHold {
                target,
                order,
                dry_run,
                ticket,
            } => self.open_hold(target, order, dry_run, ticket),
            RealmMessage::StepHold {
                id,
                step,
                amount,
                dry_run,
                ticket,
            } => self.step_hold(id, (step, amount), dry_run, ticket),
            RealmMessage::HoldOf(id, reply) => {
                self.ask(Target::Account(id.0.account), reply, |reply| {
                    AccountMessage::HoldOf(id.0.sequence, reply)
                });
            }
            RealmMessage::Transfer {
                from,
                order,
                dry_run,
                ticket,
            } => self.transfer(from, order, dry_run, ticket),
            RealmMessage::TransferOf(id, reply) => {
                self.ask(Target::Account(id.0.account), reply, |reply| {
                    AccountMessage::TransferOf(id.0.sequence, reply)
                });
            }
            RealmMessage::TransferNotice {
                account,
                transfer,
                said,
                ticket,
            } => self.forward(account, ticket, |ticket| AccountMessage::TransferNotice {
                transfer,
                said,
                ticket,
            }),
            RealmMessage::Reverse {
                account,
                transfer,
                amount,
                coelsa_id,
                ticket,
            } => self.reverse(account, transfer, (amount, coelsa_id), ticket),
            RealmMessage::DecideTransfer {
                transfer,
                verdict,
                decision,
                ticket,
            } => self.forward(transfer.0.account, ticket, |ticket| {
                AccountMessage::DecideTransfer {
                    transfer,
                    verdict,
                    decision,
                    ticket,
                }
            }),
            RealmMessage::CashIn(arrived, ticket) => self.cash_in(arrived, ticket),
            RealmMessage::Left(departure, ticket) => self.left(departure, ticket),
            RealmMessage::Quote(target, code, amount, reply) => {
                self.quote(target, &code, amount, reply);
            }
            RealmMessage::Journal(calls) => self.journal(&calls),
            message => self.remunerate(message),
        }
    }
}
