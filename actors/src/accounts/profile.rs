//! Turns about the profile of an account: registered, changed, and what waits for the bank.

use std::sync::Arc;

use actix::Addr;
use caudal_ledger::accounts::{BankAnswer, Order};
use caudal_ledger::facts::{AccountFact, BankCall, Registration};
use caudal_storage::Entry;
use tokio::sync::oneshot;

use super::saga::{self, BankSaid};
use super::{AccountActor, AccountView, Desk, Versions};
use crate::failure::Failure;
use crate::ports::BankError;
use crate::records::{self, PROFILE};
use crate::scribe::{Page, Ticket};

/// How often a client id that the bank does not give is drawn again.
const REDRAWS_MAX: u32 = 64;

impl Desk {
    /// Becomes the account of a registration, and asks the bank for a CVU where that is wanted.
    pub(super) fn register(
        &mut self,
        home: Addr<AccountActor>,
        registration: Registration,
        opening: Option<&Order>,
        ticket: Ticket<AccountView>,
    ) {
        let at = self.account.created_at;
        let fact = AccountFact::Registered(registration);
        let first = match records::entry(self.stream(PROFILE), 1, at, &fact) {
            Ok(entry) => entry,
            Err(why) => return self.scribe.fail(why, ticket.reply),
        };
        let policy = self.shared.settings().policy;
        let facts = match opening.map(|order| self.account.decide(order, &policy)) {
            None => Vec::new(),
            Some(Ok(facts)) => facts,
            Some(Err(rejection)) => {
                self.vitals.doubt();
                return self
                    .scribe
                    .finish(Page::default(), Err(rejection.into()), ticket);
            }
        };
        self.write(home, vec![first], &facts, ticket);
    }

    /// Changes the profile.
    pub(super) fn change(
        &mut self,
        home: Addr<AccountActor>,
        order: &Order,
        if_match: Option<&Versions>,
        ticket: Ticket<AccountView>,
    ) {
        let version = (self.account.profile_seq, self.account.sequence);
        if if_match.is_some_and(|seen| !seen.contains(&version)) {
            return self
                .scribe
                .finish(Page::default(), Err(Failure::Stale), ticket);
        }
        match self.account.decide(order, &self.shared.settings().policy) {
            Err(rejection) => self
                .scribe
                .finish(Page::default(), Err(rejection.into()), ticket),
            Ok(facts) => self.write(home, Vec::new(), &facts, ticket),
        }
    }

    /// Commits facts; where they wait for the bank, the bank is asked once they are durable.
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
        let page = Page {
            entries,
            ..Page::default()
        };
        if waited || self.account.pending.is_none() {
            let view = self.view_after(!page.entries.is_empty());
            return self.scribe.finish(page, Ok(view), ticket);
        }
        self.ask_bank(home, page, ticket);
    }

    fn ask_bank(&mut self, home: Addr<AccountActor>, mut page: Page, ticket: Ticket<AccountView>) {
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
        let (sender, durable) = oneshot::channel();
        self.scribe
            .commit(page, move |done| drop(sender.send(done)));
        let request_id = ticket.request_id.clone();
        self.waiter = Some(ticket);
        self.start_saga(home, request_id, durable);
    }

    /// Asks the bank for what is pending, once that is on disk.
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
                store: Arc::clone(&self.shared.store),
                account: (self.shared.realm, self.account.number),
                request_id,
            };
            actix::spawn(saga.run(durable, home));
        }
    }

    /// Takes in what the bank said: journals the calls, settles what is pending, answers.
    pub(super) fn bank_said(&mut self, home: Addr<AccountActor>, said: BankSaid) {
        let answer = match said.result {
            Ok(answer) => answer,
            Err(saga::Trouble::Taken(why)) if self.redraws >= REDRAWS_MAX => {
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
        let page = Page {
            entries,
            ..Page::default()
        };
        match (self.waiter.take(), answer) {
            (None, _) => self.scribe.commit(page, |_| {}),
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

    /// Asks for the CVU under another client id: the one so far is somebody else's at the bank.
    fn ask_as_another(&mut self, home: Addr<AccountActor>, calls: &[BankCall]) {
        self.redraws = self.redraws.saturating_add(1);
        let settings = self.shared.settings();
        let client_id = self.account.number.client_id(
            (self.shared.realm, &settings.tenant),
            self.account.holder.cuit,
            self.redraws,
        );
        let facts = self.account.ask_as(client_id);
        let entries = self.write_bank(calls).and_then(|mut entries| {
            entries.extend(self.write_profile(&facts)?);
            Ok(entries)
        });
        let Ok(entries) = entries else {
            self.vitals.doubt();
            return;
        };
        let page = Page {
            entries,
            ..Page::default()
        };
        let (sender, durable) = oneshot::channel();
        self.scribe
            .commit(page, move |done| drop(sender.send(done)));
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

    /// Nobody knows what happened at the bank: the asker is told so, the account goes on waiting.
    fn bank_unknown(&mut self, error: BankError, calls: &[BankCall]) {
        let entries = match self.write_bank(calls) {
            Ok(entries) => entries,
            Err(why) => return self.give_up(why.into()),
        };
        let waiter = self.waiter.as_mut();
        let reply = waiter.and_then(|ticket| ticket.reply.take());
        let page = Page {
            entries,
            ..Page::default()
        };
        self.scribe.commit(page, move |done| {
            if let Some(reply) = reply {
                reply.send(done.and(Err(Failure::Bank(error))));
            }
        });
    }

    /// Answers a key whose first request was cut off while the bank was asked.
    pub(super) fn adopt(&mut self, ticket: Ticket<AccountView>) {
        let outcome = match (&self.account.pending, &self.account.refusal) {
            (Some(_), _) => Err(Failure::KeyInFlight),
            (None, Some(why)) => Err(Failure::Bank(BankError::Refused(why.clone()))),
            (None, None) => Ok(self.view_after(true)),
        };
        self.scribe.finish(Page::default(), outcome, ticket);
    }
}
