//! One cursor of a webhook over the event log: finds the event that leaves next.

use std::collections::BTreeSet;

use caudal_ledger::deliveries::Cursor;
use caudal_ledger::events::{Event, EventKinds};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_ledger::webhooks::WebhookFormat;
use caudal_storage::{Index, StoreError};

use super::Wakeup;
use crate::records::projection::EventRow;
use crate::records::reads;

/// How many rows are read at once, at most.
const PAGE: usize = 64;
/// How many rows are read at first, when the next event is mostly the next row.
const FIRST_PAGE: usize = 2;

/// Which events a cursor carries.
#[derive(Clone, Copy)]
pub(super) struct EventSelection<'a> {
    /// The store that holds the realm.
    pub store: &'a dyn Index,
    /// The realm whose events they are.
    pub realm: RealmId,
    /// The kinds that the webhook subscribes to.
    pub kinds: EventKinds,
    /// The format of the webhook, which may carry only some events of a kind.
    pub format: WebhookFormat,
}

impl EventSelection<'_> {
    /// Whether the cursor carries an event; the event is read if its kind does not tell.
    fn has(self, number: u64, row: &EventRow) -> Result<bool, StoreError> {
        let wanted = self.kinds.has(row.kind);
        if !wanted || !self.format.is_choosy(row.kind) {
            return Ok(wanted);
        }
        let event = reads::events::event(self.store, self.realm, number, row)?;
        Ok(self.format.carries(&event.subject))
    }
}

/// A cursor, with everything needed to walk it.
pub(super) struct CursorRoute<'a> {
    /// The store that holds the realm.
    pub store: &'a dyn Index,
    /// The realm whose log is walked.
    pub realm: RealmId,
    /// Which events the cursor carries.
    pub wants: EventSelection<'a>,
    /// The cursor; the walk advances it.
    pub cursor: &'a mut Cursor,
    /// The accounts with a try under way.
    pub flying: BTreeSet<AccountNo>,
    /// The number of the last event to scan.
    pub horizon: u64,
    /// The time of the walk, by the service's clock.
    pub now: Timestamp,
    /// How many numbers may still be scanned in this turn.
    pub looks: &'a mut usize,
}

/// The result of a walk, as far as it went.
#[derive(Default)]
pub(super) struct CursorScan {
    /// The events that leave now: account, number, event.
    pub jobs: Vec<(AccountNo, u64, Event)>,
    /// Whether the cursor has moved.
    pub moved: bool,
    /// Why the walk ended before its time.
    pub failed: Option<StoreError>,
}

/// The result of a search for one event.
pub(super) struct NextEvent {
    /// The event that leaves now: account, number, event.
    pub job: Option<(AccountNo, u64, Event)>,
    /// Whether the cursor has moved.
    pub moved: bool,
}

impl CursorRoute<'_> {
    /// Takes at most `most` events that leave now. Those that were taken before a read failed leave all the same: their
    /// accounts count as having a try under way, which only the end of that try changes.
    pub(super) fn walk(&mut self, braked: bool, most: usize) -> CursorScan {
        let mut walked = CursorScan::default();
        walked.failed = self.walk_on(braked, most, &mut walked).err();
        walked
    }

    fn walk_on(
        &mut self,
        braked: bool,
        most: usize,
        walked: &mut CursorScan,
    ) -> Result<(), StoreError> {
        walked.moved |= self.search()?;
        while walked.jobs.len() < most {
            let NextEvent { job, moved } = self.next(braked)?;
            walked.moved |= moved;
            let Some(job) = job else {
                break;
            };
            walked.jobs.push(job);
        }
        Ok(())
    }

    /// Searches the next events of accounts whose last one has ended, among those that the cursor has passed. Returns
    /// whether the cursor has moved.
    fn search(&mut self) -> Result<bool, StoreError> {
        let searching = self.cursor.lanes.iter().filter(|lane| lane.head.is_none());
        let searching: Vec<_> = searching.map(|lane| lane.account).collect();
        for account in &searching {
            self.search_of(*account)?;
        }
        Ok(!searching.is_empty())
    }

    fn search_of(&mut self, account: AccountNo) -> Result<(), StoreError> {
        let wants = self.wants;
        while *self.looks > 0 {
            let next = self.cursor.next;
            let Some(lane) = self.cursor.lane(account) else {
                return Ok(());
            };
            let behind = next.saturating_sub(1).saturating_sub(lane.seen);
            let behind = usize::try_from(behind).unwrap_or(usize::MAX);
            let page = behind.min(PAGE).min(*self.looks);
            let rows = reads::events::rows_after(self.store, self.realm, lane.seen, page)?;
            *self.looks = self.looks.saturating_sub(page);
            for (number, row) in &rows {
                lane.seen = *number;
                if row.account == account && wants.has(*number, row)? {
                    self.cursor.found(account, Some(*number), self.now);
                    return Ok(());
                }
            }
            if behind <= page {
                self.cursor.found(account, None, self.now);
                return Ok(());
            }
        }
        Ok(())
    }

    /// The event that leaves next. While the webhook is braked, an event that was never tried goes first; only if there
    /// is none, a waiting event goes, even before its time.
    fn next(&mut self, braked: bool) -> Result<NextEvent, StoreError> {
        if braked {
            let fresh = self.fresh()?;
            if fresh.job.is_some() {
                return Ok(fresh);
            }
            let job = self.waiting(None)?;
            return Ok(NextEvent { job, ..fresh });
        }
        match self.waiting(Some(self.now))? {
            Some(job) => Ok(NextEvent {
                job: Some(job),
                moved: false,
            }),
            None => self.fresh(),
        }
    }

    /// The event that has waited longest, among those that are due.
    fn waiting(
        &mut self,
        due: Option<Timestamp>,
    ) -> Result<Option<(AccountNo, u64, Event)>, StoreError> {
        let idle = self
            .cursor
            .lanes
            .iter()
            .filter(|lane| !self.flying.contains(&lane.account));
        let heads = idle.filter_map(|lane| Some((lane.head?, lane.account)));
        let heads = heads.filter(|(head, _)| due.is_none_or(|now| head.due <= now));
        let first = heads.min_by_key(|(head, _)| (head.due, head.event));
        match first {
            Some((head, account)) => {
                let row = reads::events::row_at(self.store, self.realm, head.event)?;
                let row = row.ok_or_else(|| {
                    StoreError::Corrupt("an event that waits for a webhook is not there".into())
                })?;
                self.take(account, head.event, &row).map(Some)
            }
            None => Ok(None),
        }
    }

    /// The next event that the cursor has not scanned.
    fn fresh(&mut self) -> Result<NextEvent, StoreError> {
        let mut moved = false;
        let mut size = FIRST_PAGE;
        while *self.looks > 0 {
            let after = self.cursor.next.saturating_sub(1);
            let room = self.cursor.room(|account| self.flying.contains(&account));
            let room = room.min(self.horizon.max(after).abs_diff(after));
            let page = usize::try_from(room)
                .unwrap_or(usize::MAX)
                .min(size)
                .min(*self.looks);
            if page == 0 {
                break;
            }
            let rows = reads::events::rows_after(self.store, self.realm, after, page)?;
            for (number, row) in &rows {
                *self.looks = self.looks.saturating_sub(1);
                moved = true;
                let wanted = self.wants.has(*number, row)?;
                if self.cursor.look(*number, row.account, wanted, self.now) {
                    let job = Some(self.take(row.account, *number, row)?);
                    return Ok(NextEvent { job, moved });
                }
            }
            if rows.len() < page {
                break;
            }
            size = size.saturating_mul(2).min(PAGE);
        }
        Ok(NextEvent { job: None, moved })
    }

    fn take(
        &mut self,
        account: AccountNo,
        number: u64,
        row: &EventRow,
    ) -> Result<(AccountNo, u64, Event), StoreError> {
        let event = reads::events::event(self.store, self.realm, number, row)?;
        self.flying.insert(account);
        Ok((account, number, event))
    }

    /// What the cursor waits for when none of its events can leave.
    pub(super) fn wait(&self) -> Wakeup {
        let idle = self
            .cursor
            .lanes
            .iter()
            .filter(|lane| !self.flying.contains(&lane.account));
        let due = idle.filter_map(|lane| lane.head).map(|head| head.due);
        let room = self.cursor.room(|account| self.flying.contains(&account));
        Wakeup {
            events: room > 0 && self.cursor.until.is_none(),
            at: due.filter(|due| *due > self.now).min(),
        }
    }
}
