//! The door of the people who run the service: who they are, their pending approvals, and the audit log.
//!
//! **Bounds.** A page of the audit log scans at most [`LOOKED_MAX`] entries, and says where to continue. A search for a
//! CUIT finds entries about [`ACCOUNTS_MAX`] accounts of each realm.

use std::sync::{Arc, PoisonError};

use actix::Actor as _;

use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::people::PeopleOrder;
use caudal_ledger::people::approvals::ApprovalOrder;
use caudal_ledger::people::audit::{AuditEntry, AuditFact, AuditFilter};
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, SortOrder, StoreError};

use super::read_slots::ReadCost;
use super::{Core, DEADLINE, Operators, Realms, wait};
use crate::failure::Failure;
use crate::mailbox::{Mailbox, QueueDepth};
use crate::people::{
    MAILBOX, PublishedStaff, Staff, StaffActor, StaffMessage, StaffOrder, StaffOutcome,
};
use crate::platform::realms;
use crate::records::{AUDIT_STREAM, decode, reads};
use crate::reply::Reply;

/// The most entries of the audit log that one page scans.
pub const LOOKED_MAX: usize = 10_000;
/// How many entries are read at once.
const READ: usize = 512;
/// How many accounts of a CUIT in a realm count in a search.
const ACCOUNTS_MAX: usize = 100;

/// An entry of the audit log with its place in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditRow {
    /// Its sequence, from 1 without gaps.
    pub sequence: u64,
    /// When it was written.
    pub at: Timestamp,
    /// The content of the entry.
    pub entry: AuditEntry,
}

/// The wanted part of the audit log, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditQuery {
    /// Which entries.
    pub filter: AuditFilter,
    /// Only entries at this instant or later.
    pub from: Option<Timestamp>,
    /// Only entries at this instant or earlier.
    pub to: Option<Timestamp>,
    /// Only entries with a smaller sequence: where the last page ended.
    pub before: Option<u64>,
    /// The most rows of the page.
    pub limit: usize,
}

/// A part of the audit log, newest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditPage {
    /// The entries.
    pub rows: Vec<AuditRow>,
    /// Where the next page continues ([`AuditQuery::before`]); `None` at the end.
    pub next: Option<u64>,
}

/// The result of an order about an approval.
#[derive(Clone, Debug)]
pub struct Decided {
    /// The number of the approval.
    pub number: u64,
    /// The sequence of the audit log's entry; 0 if there was none.
    pub entry: u64,
    /// The people and approvals after the order.
    pub staff: Staff,
}

/// The way to the people's actor, and the state that it publishes.
#[derive(Clone)]
pub(super) struct PeopleHandle {
    mailbox: Mailbox<StaffActor>,
    known: PublishedStaff,
}

impl Realms {
    /// Loads the people and starts their actor.
    pub(super) fn people_handle(&self) -> Result<PeopleHandle, StoreError> {
        let actor = StaffActor::load(Arc::clone(&self.store), Arc::clone(&self.clock))?;
        let known = actor.published();
        let addr = match self.arbiters.first() {
            Some(arbiter) => StaffActor::start_in_arbiter(arbiter, move |_| actor),
            None => actor.start(),
        };
        let mailbox = Mailbox::new(addr, QueueDepth::default(), MAILBOX);
        Ok(PeopleHandle { mailbox, known })
    }
}

impl PeopleHandle {
    fn now(&self) -> Staff {
        let known = self.known.read();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Publishes the changes to people and approvals that another node has written.
    pub(super) fn look_again(&self, store: &dyn Index) -> Result<(), StoreError> {
        let staff = crate::people::load(store)?.0;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = staff;
        Ok(())
    }
}

impl Core {
    pub(super) fn people_handle(&self) -> PeopleHandle {
        let staff = self.staff.read();
        staff.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Operators<'_> {
    /// The people and their pending approvals, as of the last durable change.
    pub fn staff(self) -> Staff {
        self.0.people_handle().now()
    }

    async fn instruct_staff(
        self,
        order: StaffOrder,
        entry: Option<AuditEntry>,
    ) -> Result<StaffOutcome, Failure> {
        if self.0.is_at_rest() {
            return Err(Failure::ShuttingDown);
        }
        let (reply, answer) = Reply::new();
        let message = StaffMessage {
            order,
            entry,
            reply,
        };
        self.0.people_handle().mailbox.tell(message)?;
        wait(answer, DEADLINE).await
    }

    /// Writes an entry into the audit log. Returns its sequence once the entry is durable.
    ///
    /// # Errors
    /// Those of every door; the clock may be in doubt.
    pub async fn audit(self, entry: AuditEntry) -> Result<u64, Failure> {
        let written = self.instruct_staff(StaffOrder::Nothing, Some(entry));
        Ok(written.await?.entry)
    }

    /// Decides an order about people.
    ///
    /// # Errors
    /// Those of every door, and refusals by the rules of people.
    pub async fn manage(self, order: PeopleOrder) -> Result<Staff, Failure> {
        self.0.certain()?;
        let written = self.instruct_staff(StaffOrder::People(order), None);
        Ok(written.await?.staff)
    }

    /// Decides an order about an approval, together with its entry of the audit log.
    ///
    /// # Errors
    /// Those of every door, and refusals by the rules of approvals.
    pub async fn approve(
        self,
        order: ApprovalOrder,
        entry: Option<AuditEntry>,
    ) -> Result<Decided, Failure> {
        self.0.certain()?;
        let order = StaffOrder::Approval(order);
        let written = self.instruct_staff(order, entry).await?;
        Ok(Decided {
            number: written.approval.ok_or(Failure::Bug)?,
            entry: written.entry,
            staff: written.staff,
        })
    }

    /// A part of the audit log, newest first.
    ///
    /// # Errors
    /// Those of every read.
    pub async fn audit_page(self, query: AuditQuery) -> Result<AuditPage, Failure> {
        // Also without a filter, counts of reads with keys are passed over.
        let read = move |store: &dyn Index| page(store, &query);
        self.0.scan(RealmId(0), ReadCost::Scan, read).await
    }

    /// The names under which the audit log has a subject: the text itself and, of a CVU or a CUIT, every name of its
    /// accounts: CVU, realm with number, and long lists of the realm.
    ///
    /// # Errors
    /// Those of every read.
    pub async fn names_of(self, subject: &str) -> Result<Vec<String>, Failure> {
        let mut names = vec![subject.to_owned()];
        let cvu = Cvu::parse(subject).ok();
        let cuit = Cuit::parse_relaxed(&subject.replace('-', "")).ok();
        if cvu.is_none() && cuit.is_none() {
            return Ok(names);
        }
        names.extend(cuit.map(|cuit| cuit.to_string()));
        let platform = self.0.platform();
        let realms: Vec<_> = realms(&platform)
            .map(|(tenant, mode)| (tenant.realm(mode), whole_list(&tenant.id, mode)))
            .collect();
        let found = self.0.look(RealmId(0), ReadCost::Scan, move |books| {
            let mut found = Vec::new();
            if let Some(cvu) = cvu {
                match books.locate(cvu) {
                    Ok((realm, account)) => found.push((realm, account)),
                    Err(Failure::Rejected(_)) => {}
                    Err(why) => return Err(why),
                }
            }
            let store = books.store.as_ref();
            for (realm, _) in &realms {
                if let Some(cuit) = cuit {
                    let of = reads::accounts_of_cuit(store, *realm, cuit, ACCOUNTS_MAX)?;
                    found.extend(of.into_iter().map(|account| (*realm, account)));
                }
            }
            let mut more = Vec::new();
            for (realm, account) in found {
                let cvu = reads::profile(store, realm, account)?.and_then(|it| it.cvu);
                more.extend(cvu.map(|cvu| cvu.to_string()));
                more.push(numbered(realm, account));
                let of = realms.iter().find(|(known, _)| *known == realm);
                more.extend(of.map(|(_, whole)| whole.clone()));
            }
            Ok(more)
        });
        names.extend(found.await?);
        Ok(names)
    }
}

/// The name of an account by its realm and number.
pub fn numbered(realm: RealmId, account: AccountNo) -> String {
    format!("{}-{account}", realm.0)
}

/// The name of lists of a realm that are too long to name their accounts.
pub fn whole_list(tenant: &str, mode: Mode) -> String {
    format!("{tenant}/{}/*", mode.as_str())
}

fn page(store: &dyn Index, query: &AuditQuery) -> Result<AuditPage, StoreError> {
    let at_last = |at: u64| store.seq_at(AUDIT_STREAM, at);
    let before = query.from.and_then(|at| at.millis().checked_sub(1));
    let before = before.map_or(Ok(None), at_last)?;
    let first = before.map_or(1, |seq| seq.strict_add(1));
    let head = store.head(AUDIT_STREAM)?.map_or(0, |head| head.seq);
    let until = query.to.map_or(Ok(Some(head)), |at| at_last(at.millis()))?;
    let mut last = match (until, query.before) {
        (None, _) | (_, Some(0)) => 0,
        (Some(until), Some(before)) => until.min(before.strict_sub(1)),
        (Some(until), None) => until,
    };
    let mut page = AuditPage::default();
    let mut looked = 0;
    while last >= first && looked < LOOKED_MAX && page.rows.len() < query.limit {
        let found = store.read(AUDIT_STREAM, first, last, SortOrder::Descending, READ)?;
        if found.is_empty() {
            return Err(StoreError::Corrupt("the audit log has a gap".into()));
        }
        for entry in found {
            if page.rows.len() == query.limit {
                break;
            }
            looked += 1;
            last = entry.seq.strict_sub(1);
            let AuditFact::Noted(noted) = decode(&entry.body)?;
            if query.filter.fits(&noted) {
                page.rows.push(AuditRow {
                    sequence: entry.seq,
                    at: Timestamp::from_millis(entry.at),
                    entry: noted,
                });
            }
        }
    }
    page.next = (last >= first).then(|| last.strict_add(1));
    Ok(page)
}
