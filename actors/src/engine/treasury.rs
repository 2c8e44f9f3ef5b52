//! The door of the treasury: snapshots, and the clients' positions.
//!
//! **Positions** are read where they are kept: the balance after the last movement of each account, off the actors'
//! threads. A row per account in the index, written with every movement, would cost each voucher a put so that a rare
//! question is cheap; asking the actors would load every account of the realm into memory. So without a filter on the
//! total a page costs the balances of its own rows; with one, a balance of every account that matches the text.
//!
//! **Consistency.** One position is exact as of a commit, and so is the sum of a snapshot. A list is read row by row
//! while money moves, so its sum equals the snapshot's only while no money moves.

mod past;

use std::sync::{Arc, PoisonError};

use actix::Actor as _;
use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::balance::Balance;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::money::Money;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, StoreError};

use super::lists::bounded_scan::{ACCOUNT, BALANCE, BoundedScan, ScanBudget};
use super::lists::{AccountFilter, ListPage, Listing, Range, directory, listed, rows};
use super::read_slots::ReadCost;
use super::{BANK_DEADLINE, DEADLINE, Queries, Realms, wait};
use crate::banks::OnCollector;
use crate::failure::Failure;
use crate::mailbox::{Mailbox, QueueDepth};
use crate::ports::BankGateway as _;
use crate::realms::Target;
use crate::records::account_sets::Among;
use crate::records::reads;
use crate::reply::Reply;
use crate::treasury::{MAILBOX, RealmCollector, TakeSnapshot, Treasury, TreasuryOwner};

pub use crate::treasury::{NoBalance, Snapshot};
pub use past::{Cut, PastTreasury};

/// Which positions are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PositionFilter {
    /// This text in CVU, alias, holder's name or CUIT.
    pub text: Option<String>,
    /// Only a total of at least this many centavos.
    pub min: Option<i64>,
    /// Only a total of at most this many centavos.
    pub max: Option<i64>,
    /// As of this instant, instead of now. Closed accounts are then shown whatever their balance was.
    pub at: Option<Timestamp>,
}

impl PositionFilter {
    /// Whether only the state of the account can exclude it.
    const fn is_everyone(&self) -> bool {
        self.text.is_none() && self.min.is_none() && self.max.is_none()
    }

    fn funds(
        &self,
        store: &dyn Index,
        realm: RealmId,
        account: AccountNo,
    ) -> Result<Funds, StoreError> {
        match self.at {
            Some(at) => past::then(store, realm, account, at).map(|(funds, _)| funds),
            None => funds(store, realm, account),
        }
    }
}

/// A client's money.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The account; its movements are not loaded.
    pub account: Account,
    /// The client's money, in centavos.
    pub balance: Balance,
    /// When the account last moved.
    pub last_movement_at: Option<Timestamp>,
}

/// A balance with its time.
type Funds = (Balance, Option<Timestamp>);

impl Realms {
    /// The bank of a realm, and the realm's collector account.
    fn standing(&self, realm: RealmId) -> Result<RealmCollector, Failure> {
        let bank = self.bank(realm)?;
        let on = match bank.now() {
            Ok(_) => self.collectors().get(&bank.place()).cloned(),
            Err(_) => None,
        };
        Ok(RealmCollector { bank, on })
    }

    /// Starts a treasury over the same store and banks.
    pub(super) fn treasury(self: &Arc<Self>) -> Mailbox<Treasury> {
        let realms = Arc::clone(self);
        let journal = Arc::new(move |realm, calls| realms.journal(realm, calls));
        let realms = Arc::clone(self);
        let standings = Arc::new(move |realm| realms.standing(realm));
        let treasury = Treasury::new(
            (Arc::clone(&self.store), Arc::clone(&self.clock)),
            standings,
            journal,
            Arc::clone(&self.checks),
            (self.treasury_every, self.treasury_patience),
        );
        let addr = match self.arbiters.first() {
            Some(arbiter) => Treasury::start_in_arbiter(arbiter, move |_| treasury),
            None => treasury.start(),
        };
        Mailbox::new(addr, QueueDepth::default(), MAILBOX)
    }
}

impl Queries<'_> {
    /// The present treasury of a realm.
    pub async fn treasury(self, realm: RealmId, request_id: &str) -> Result<Snapshot, Failure> {
        let whose = TreasuryOwner::Realm(realm);
        let mut taken = self.take(whose, false, request_id).await?;
        taken.as_of = self.0.platform().realm_time(realm, taken.as_of);
        Ok(taken)
    }

    /// The treasury of all realms on a collector account together: for operators.
    pub async fn treasury_of(
        self,
        on: Arc<OnCollector>,
        request_id: &str,
    ) -> Result<Snapshot, Failure> {
        let whose = TreasuryOwner::Collector(on);
        self.take(whose, false, request_id).await
    }

    /// The same for a check, which waits for the bank.
    pub(super) async fn checked(
        self,
        on: Arc<OnCollector>,
        request_id: &str,
    ) -> Result<Snapshot, Failure> {
        let whose = TreasuryOwner::Collector(on);
        self.take(whose, true, request_id).await
    }

    async fn take(
        self,
        whose: TreasuryOwner,
        waits: bool,
        request_id: &str,
    ) -> Result<Snapshot, Failure> {
        let (reply, answer) = Reply::new();
        let message = TakeSnapshot {
            whose,
            request_id: request_id.to_owned(),
            waits,
            reply,
        };
        self.treasurer().tell(message)?;
        wait(answer, if waits { BANK_DEADLINE } else { DEADLINE }).await
    }

    /// The treasury's actor; a new one if the last has died.
    fn treasurer(self) -> Mailbox<Treasury> {
        let treasury = &self.0.treasury;
        let known = treasury.read().unwrap_or_else(PoisonError::into_inner);
        if known.connected() {
            return known.clone();
        }
        drop(known);
        let mut known = treasury.write().unwrap_or_else(PoisonError::into_inner);
        if !known.connected() && self.0.store.ready().is_ok() {
            *known = self.0.realms.treasury();
        }
        known.clone()
    }

    /// The positions of clients, in the order of their registration. Closed accounts without money are left out.
    pub async fn positions(
        self,
        realm: RealmId,
        filter: PositionFilter,
        page: ListPage,
    ) -> Result<Listing<Position>, Failure> {
        let cost = ReadCost::scan_if(!filter.is_everyone());
        let bound = self.0.list_rows;
        let read = move |store: &dyn Index| positions(store, realm, &filter, &page, bound);
        self.0.scan(realm, cost, read).await
    }

    /// The position of a client.
    pub async fn position(self, realm: RealmId, target: Target) -> Result<Position, Failure> {
        let read = move |store: &dyn Index| position(store, realm, target);
        self.0.scan(realm, ReadCost::Point, read).await
    }
}

fn position(store: &dyn Index, realm: RealmId, target: Target) -> Result<Position, Failure> {
    let number = match target {
        Target::Account(number) => Some(number),
        Target::Cvu(cvu) => reads::account_of_cvu(store, realm, cvu)?,
    };
    let found = match number {
        Some(number) => reads::profile(store, realm, number)?,
        None => None,
    };
    let account = found.filter(|account| account.status != Status::Void);
    let account = account.ok_or(Rejection::AccountNotFound)?;
    if account.cvu.is_none() {
        return Err(Rejection::AccountWithoutCvu.into());
    }
    let (balance, last_movement_at) = funds(store, realm, account.number)?;
    Ok(Position {
        account,
        balance,
        last_movement_at,
    })
}

fn funds(store: &dyn Index, realm: RealmId, account: AccountNo) -> Result<Funds, StoreError> {
    let last = reads::last_voucher(store, realm, account)?;
    Ok(last.map_or_else(Funds::default, |last| (last.after, Some(last.at))))
}

impl PositionFilter {
    /// The balance of an account that matches the text, if the filter needs it; `None` for an account that is not
    /// shown.
    fn looks(
        &self,
        store: &dyn Index,
        realm: RealmId,
        number: AccountNo,
        status: Status,
        left: &mut ScanBudget,
    ) -> Result<Option<Option<Funds>>, StoreError> {
        let closed = status == Status::Closed && self.at.is_none();
        if !closed && self.min.is_none() && self.max.is_none() {
            return Ok(Some(None));
        }
        left.spend(BALANCE);
        let found = self.funds(store, realm, number)?;
        let total = found.0.total();
        let shown = !(closed && total == Money::ZERO)
            && self.min.is_none_or(|min| min <= total.centavos())
            && self.max.is_none_or(|max| total.centavos() <= max);
        Ok(shown.then_some(Some(found)))
    }
}

/// The page of all positions: a page of the account sets, whose closed accounts without money are left out.
fn everyone(
    store: &dyn Index,
    realm: RealmId,
    filter: &PositionFilter,
    page: &ListPage,
) -> Result<Listing<(AccountNo, Option<Funds>)>, StoreError> {
    let among = Among {
        // An account without money today may have had some then.
        alive: filter.at.is_none(),
        ..Among::default()
    };
    let census = reads::totals(store, realm)?.census;
    // The census does not count the closed accounts that have money.
    let known = (census.closed == 0 || !among.alive).then(|| census.with_cvu());
    let listing = listed(store, realm, &among, known, page)?;
    Ok(listing.with(|items| items.into_iter().map(|number| (number, None)).collect()))
}

/// The page of the accounts that match a filter: the directory is scanned.
fn filtered(
    store: &dyn Index,
    realm: RealmId,
    filter: &PositionFilter,
    page: &ListPage,
    bound: u64,
) -> Result<Listing<(AccountNo, Option<Funds>)>, Failure> {
    let accounts = AccountFilter {
        text: filter.text.clone(),
        ..AccountFilter::default()
    }
    .folded();
    let all = Range::to(reads::last_account(store, realm)?);
    let closed = reads::totals(store, realm)?.census.closed > 0 && filter.at.is_none();
    let most = if closed || filter.min.is_some() || filter.max.is_some() {
        ACCOUNT + BALANCE
    } else {
        ACCOUNT
    };
    let look = BoundedScan {
        page,
        bound,
        cost: (ACCOUNT, most),
        rows: rows(store, realm, bound.div_euclid(most))?,
    };
    look.over(
        all,
        |rest, size, _| directory(store, realm, *rest, page.order, size),
        |number, row, left| {
            let number = AccountNo(number);
            if !accounts.lets(number, &row) {
                return Ok(None);
            }
            let known = filter.looks(store, realm, number, row.status, left)?;
            Ok(known.map(|known| (number, known)))
        },
        |number| Ok(reads::listed(store, realm, AccountNo(number))?.map(|it| it.created_at)),
    )
}

fn positions(
    store: &dyn Index,
    realm: RealmId,
    filter: &PositionFilter,
    page: &ListPage,
    bound: u64,
) -> Result<Listing<Position>, Failure> {
    let listing = if filter.is_everyone() {
        everyone(store, realm, filter, page)?
    } else {
        filtered(store, realm, filter, page, bound)?
    };
    Ok(listing.try_with(|items| shown(store, realm, filter, items))?)
}

fn shown(
    store: &dyn Index,
    realm: RealmId,
    filter: &PositionFilter,
    items: Vec<(AccountNo, Option<Funds>)>,
) -> Result<Vec<Position>, StoreError> {
    let mut found = Vec::with_capacity(items.len());
    for (number, known) in items {
        let Some(account) = reads::profile(store, realm, number)? else {
            continue;
        };
        let (balance, last_movement_at) =
            known.map_or_else(|| filter.funds(store, realm, number), Ok)?;
        found.push(Position {
            account,
            balance,
            last_movement_at,
        });
    }
    Ok(found)
}
