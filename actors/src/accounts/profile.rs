//! Turns about the profile of an account: registration, changes, and the bank's answers about them.

use std::collections::BTreeSet;
use std::sync::Arc;

use actix::{Addr, AsyncContext as _, Context};
use caudal_ledger::accounts::{BankAnswer, ProfileOrder, Status};
use caudal_ledger::clients::{Client, Mark, UNCODED_MAX, client_in};
use caudal_ledger::facts::{AccountFact, BankCall, Registration};
use caudal_ledger::rejection::Rejection;
use caudal_storage::Entry;
use tokio::sync::oneshot;

use super::saga::{self, BankSaid};
use super::{AccountActor, AccountView, Desk, Versions};
use crate::failure::Failure;
use crate::mailbox::Asked;
use crate::ports::BankError;
use crate::records::{self, PROFILE, reads};
use crate::reply::{ClaimGuard, Reply, Waits};
use crate::scribe::{Shared, Ticket, Write};

/// How often another client id is drawn after the bank refused one as taken.
const REDRAWS_MAX: u32 = 64;
/// How many client ids are tried to find one that no account of the holder has here.
const DRAWN_MAX: u32 = 1_000;

/// A turn about who an account is.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "messages are boxed by the mailbox"
)]
pub enum ProfileTurn {
    /// Become the account of this registration, and get a CVU if `opening` says so.
    Register {
        /// The fact that creates the account.
        registration: Registration,
        /// The order to open it.
        opening: Option<ProfileOrder>,
        /// Receives the answer.
        ticket: Ticket<AccountView>,
    },
    /// Change who the account is or what it may do.
    Change {
        /// The change.
        order: ProfileOrder,
        /// The versions that the caller has seen; any when `None`.
        if_match: Option<Versions>,
        /// Receives the answer.
        ticket: Ticket<AccountView>,
    },
    /// Answer a key whose first request was cut off while the bank was asked.
    Adopt(Ticket<AccountView>),
    /// The account as it is.
    View(Reply<Result<AccountView, Failure>>),
    /// The bank's answer, with the claim of the client id under which the bank was asked.
    BankSaid(BankSaid, Option<ClaimGuard>),
}

impl Asked for ProfileTurn {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Change { ticket, .. } | Self::Adopt(ticket) => Some(ticket),
            Self::View(reply) => Some(reply),
            Self::Register { .. } | Self::BankSaid(..) => None,
        }
    }
}

impl Desk {
    /// Takes a turn about who the account is.
    pub(super) fn profile(&mut self, turn: ProfileTurn, ctx: &Context<AccountActor>) {
        match turn {
            ProfileTurn::Register {
                registration,
                opening,
                ticket,
            } => self.register(ctx.address(), registration, opening.as_ref(), ticket),
            ProfileTurn::Change {
                order,
                if_match,
                ticket,
            } => self.change(ctx.address(), &order, if_match.as_ref(), ticket),
            ProfileTurn::Adopt(ticket) => self.adopt(ticket),
            ProfileTurn::View(reply) => {
                let view = match self.account.status {
                    Status::Void => Err(Rejection::AccountNotFound.into()),
                    _ => Ok(self.view()),
                };
                self.show(view, reply);
            }
            ProfileTurn::BankSaid(said, claim) => self.bank_said(ctx.address(), said, claim),
        }
    }

    /// Becomes the account of a registration, and asks the bank for a CVU if one is wanted.
    fn register(
        &mut self,
        home: Addr<AccountActor>,
        registration: Registration,
        opening: Option<&ProfileOrder>,
        ticket: Ticket<AccountView>,
    ) {
        let at = self.account.created_at;
        let fact = AccountFact::Registered(registration);
        let first = match records::entry(self.stream(PROFILE), 1, at, &fact) {
            Ok(entry) => entry,
            Err(why) => return self.scribe.fail(why, ticket.reply),
        };
        let policy = self.shared.settings().policy;
        let decided = opening.map(|order| {
            let order = self.drawn(order)?;
            Ok(self.account.decide(&order, &policy)?)
        });
        let facts = match decided.transpose() {
            Ok(facts) => facts.unwrap_or_default(),
            Err(why) => {
                self.vitals.doubt();
                return self.scribe.finish(Write::default(), Err(why), ticket);
            }
        };
        self.write(home, vec![first], &facts, ticket);
    }

    /// Changes the profile.
    fn change(
        &mut self,
        home: Addr<AccountActor>,
        order: &ProfileOrder,
        if_match: Option<&Versions>,
        ticket: Ticket<AccountView>,
    ) {
        let version = self.account.profile_seq;
        if if_match.is_some_and(|seen| !seen.contains(&version)) {
            return self
                .scribe
                .finish(Write::default(), Err(Failure::Stale), ticket);
        }
        let policy = self.shared.settings().policy;
        let decided = self.drawn(order).and_then(|order| {
            let decided = self.account.decide(&order, &policy);
            Ok(decided?)
        });
        match decided {
            Err(why) => {
                self.claimed = None;
                self.scribe.finish(Write::default(), Err(why), ticket);
            }
            Ok(facts) => self.write(home, Vec::new(), &facts, ticket),
        }
    }

    /// Adds a client id to an order for which the bank is asked for a CVU.
    fn drawn(&mut self, order: &ProfileOrder) -> Result<ProfileOrder, Failure> {
        let order = order.clone();
        Ok(match order.draws() {
            true => order.drawn(self.draw()?),
            false => order,
        })
    }

    /// Draws the account's client id from its tenant, holder and code: the first id that the bank has not refused and
    /// that no account of the holder has here or asks for. It is claimed until the bank has answered.
    fn draw(&mut self) -> Result<u64, Failure> {
        let (settings, account) = (self.shared.settings(), &self.account);
        let Shared {
            store,
            realm,
            claims,
            ..
        } = &*self.shared;
        let (store, cuit) = (store.as_ref(), account.holder.cuit);
        let limit = UNCODED_MAX.saturating_add(1);
        let mut others = reads::accounts_of_cuit(store, *realm, cuit, limit)?;
        others.retain(|number| *number != account.number);
        let mark = match &account.code {
            Some(code) => Mark::Code(code),
            None if others.len() < UNCODED_MAX => Mark::Uncoded,
            None => Mark::Number(account.number),
        };
        let mut had = BTreeSet::new();
        for other in others {
            let cvu = reads::listed(store, *realm, other)?.and_then(|it| it.cvu);
            had.extend(cvu.as_ref().and_then(client_in));
        }
        let client = Client {
            tenant: &settings.tenant,
            mode: realm.mode(),
            cuit,
            mark,
        };
        for taken in self.redraws..=self.redraws.saturating_add(DRAWN_MAX) {
            let id = client.id(taken);
            if had.contains(&id) {
                continue;
            }
            let owner = (*realm, account.number);
            if let Ok(guard) = saga::claim(claims, owner, id) {
                self.redraws = taken;
                self.claimed = Some(guard);
                return Ok(id);
            }
        }
        Err(Failure::Overloaded)
    }

    /// Commits facts. If they wait for the bank, the bank is asked once they are durable.
    fn write(
        &mut self,
        home: Addr<AccountActor>,
        mut entries: Vec<Entry>,
        facts: &[AccountFact],
        ticket: Ticket<AccountView>,
    ) {
        let waited = self.account.pending.is_some();
        match self.write_profile(facts) {
            Ok(more) => entries.extend(more),
            Err(why) => return self.scribe.fail(why, ticket.reply),
        }
        let page = Write {
            entries,
            ..Write::default()
        };
        if waited || self.account.pending.is_none() {
            self.claimed = None;
            let view = self.view_after(!page.entries.is_empty());
            return self.scribe.finish(page, Ok(view), ticket);
        }
        self.ask_bank(home, page, ticket);
    }

    fn ask_bank(&mut self, home: Addr<AccountActor>, mut page: Write, ticket: Ticket<AccountView>) {
        let now = self.now();
        if let Some(keyed) = &ticket.keyed {
            // Until the bank's outcome is known, the key leads to the account.
            let open = keyed
                .scope
                .answer((0, String::new()), now, Some(self.account.number));
            match self.scribe.answer(open, now) {
                Ok(entries) => page.entries.extend(entries),
                Err(why) => return self.scribe.fail(why, ticket.reply),
            }
        }
        let durable = self.scribe.committed(page);
        let request_id = ticket.request_id.clone();
        self.waiter = Some(ticket);
        self.start_saga(home, request_id, durable);
    }

    /// Asks the bank for the pending change, once that is on disk.
    pub(super) fn start_saga(
        &mut self,
        home: Addr<AccountActor>,
        request_id: String,
        durable: oneshot::Receiver<Result<(), Failure>>,
    ) {
        if let Some(pending) = self.account.pending.clone() {
            self.note_business();
            let saga = saga::Saga {
                bank: Arc::clone(&self.shared.bank),
                pending,
                holder: self.account.holder.clone(),
                cvu: self.account.cvu,
                alias: self.account.alias.clone(),
                store: Arc::clone(&self.shared.store),
                claims: self.shared.claims.clone(),
                account: (self.shared.realm, self.account.number),
                request_id,
            };
            self.shared.life.spawn(saga.run(durable, home));
        }
    }

    /// Takes in the bank's answer: journals the calls, settles the pending change, answers. The claim of the client id
    /// ends when the index shows which account has it.
    fn bank_said(&mut self, home: Addr<AccountActor>, said: BankSaid, claim: Option<ClaimGuard>) {
        if !matches!(said.result, Err(saga::Trouble::Unknown(_))) {
            self.claimed = None;
        }
        let answer = match said.result {
            Ok(answer) => answer,
            // A CVU that is reopened keeps its client id for ever.
            Err(saga::Trouble::Taken(why))
                if self.refused_ids >= REDRAWS_MAX || self.account.cvu.is_some() =>
            {
                BankAnswer::Refused(why)
            }
            Err(saga::Trouble::Taken(_)) => return self.ask_as_another(home, &said.calls),
            Err(saga::Trouble::NotStarted(why)) => return self.give_up(why),
            Err(saga::Trouble::Unknown(error)) => return self.bank_unknown(error, &said.calls),
        };
        let facts = self.account.settle(&answer);
        let entries = self.write_bank(&said.calls).and_then(|mut entries| {
            entries.extend(self.write_profile(&facts)?);
            Ok(entries)
        });
        let Ok(entries) = entries else {
            self.vitals.doubt();
            return;
        };
        self.note_business();
        let page = Write {
            entries,
            ..Write::default()
        };
        let mut waiter = self.waiter.take();
        let claim = match &mut waiter {
            Some(ticket) => {
                ticket.guards.extend(claim);
                None
            }
            None => claim,
        };
        match (waiter, answer) {
            (None, _) => self.scribe.commit(page, move |_| drop(claim)),
            (Some(ticket), BankAnswer::Refused(why)) => {
                let refused = Err(Failure::Bank(BankError::Refused(why)));
                self.scribe.finish(page, refused, ticket);
            }
            (Some(ticket), _) => {
                let view = self.view_after(true);
                self.scribe.finish(page, Ok(view), ticket);
            }
        }
    }

    /// Asks for the CVU under another client id: the bank has given the last one to somebody else.
    fn ask_as_another(&mut self, home: Addr<AccountActor>, calls: &[BankCall]) {
        self.refused_ids += 1;
        self.redraws += 1;
        let entries = self.draw().and_then(|client_id| {
            let facts = self.account.ask_as(client_id);
            let mut entries = self.write_bank(calls)?;
            entries.extend(self.write_profile(&facts)?);
            Ok(entries)
        });
        let Ok(entries) = entries else {
            self.vitals.doubt();
            return;
        };
        let durable = self.scribe.committed(Write {
            entries,
            ..Write::default()
        });
        let waiter = self.waiter.as_ref();
        let request_id = waiter.map_or_else(|| "recovery".to_owned(), |it| it.request_id.clone());
        self.start_saga(home, request_id, durable);
    }

    fn give_up(&mut self, why: Failure) {
        self.vitals.doubt();
        if let Some(reply) = self.waiter.take().and_then(|ticket| ticket.reply) {
            reply.send(Err(why));
        }
    }

    /// The outcome at the bank is unknown: the caller is told so, and the account goes on waiting.
    fn bank_unknown(&mut self, error: BankError, calls: &[BankCall]) {
        let entries = match self.write_bank(calls) {
            Ok(entries) => entries,
            Err(why) => return self.give_up(why.into()),
        };
        let waiter = self.waiter.as_mut();
        let reply = waiter.and_then(|ticket| ticket.reply.take());
        let page = Write {
            entries,
            ..Write::default()
        };
        self.scribe.commit(page, move |done| {
            if let Some(reply) = reply {
                reply.send(done.and(Err(Failure::Bank(error))));
            }
        });
    }

    /// Answers a key whose first request was cut off while the bank was asked.
    fn adopt(&mut self, ticket: Ticket<AccountView>) {
        let outcome = match (&self.account.pending, &self.account.refusal) {
            (Some(_), _) => Err(Failure::KeyInFlight),
            (None, Some(why)) => Err(Failure::Bank(BankError::Refused(why.clone()))),
            (None, None) => Ok(self.view_after(true)),
        };
        self.scribe.finish(Write::default(), outcome, ticket);
    }
}
