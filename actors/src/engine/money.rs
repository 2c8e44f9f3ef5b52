//! The door for money that waits and moves: holds, transfers, bulk, quotes.

use caudal_ledger::cuit::Cuit;
use caudal_ledger::facts::BankCall;
use caudal_ledger::fees::quotes::Quote;
use caudal_ledger::holds::{Hold, HoldStatus, HoldStep, OpenHold};
use caudal_ledger::ids::{AccountNo, HoldId, RealmId, TransferId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Send, Transfer, TransferStatus};
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::Outcome;
use caudal_storage::{Index, SortOrder, StoreError};

use super::lists::{ListPage, Listing, Picker, Range};
use super::read_slots::Cost;
use super::{Asker, DEADLINE, Engine};
use crate::accounts::BatchMode;
use crate::failure::Failure;
use crate::realms::{Adjustment, MoneyMessage, PostingMessage, Target, TransferMessage};
use crate::records::projection::Place;
use crate::records::{decode, keys, reads};
use crate::reply::{Answered, Given};

pub use crate::accounts::{Heard, HoldView, ItemOutcome, TransferView};

/// How many calls to the bank are shown with a transfer, the newest ones.
const CALLS_MAX: usize = 100;
/// How many rows a scan reads at once.
const SCAN_PAGE: usize = 1000;

/// Which transfers are listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TransferFilter {
    /// Only in this state.
    pub status: Option<TransferStatus>,
    /// Only from this account.
    pub from: Option<Target>,
    /// Only asked for from this instant on.
    pub since: Option<Timestamp>,
    /// Only asked for up to this instant.
    pub until: Option<Timestamp>,
    /// Only to whom has this tax id.
    pub counterparty: Option<Cuit>,
    /// Only the one with this external id.
    pub external_id: Option<ExternalId>,
}

impl TransferFilter {
    fn lets(&self, transfer: &Transfer) -> bool {
        let to = transfer.resolved.as_deref();
        let to = to.and_then(|other| other.cuit.as_deref());
        self.status.is_none_or(|status| status == transfer.status)
            && self.since.is_none_or(|since| since <= transfer.created_at)
            && self.until.is_none_or(|until| transfer.created_at <= until)
            && self
                .counterparty
                .is_none_or(|cuit| to == Some(cuit.as_str()))
            && self
                .external_id
                .as_ref()
                .is_none_or(|id| *id == transfer.external_id)
    }
}

impl Engine {
    /// Opens a hold, or says what would happen.
    pub async fn open_hold(
        &self,
        realm: RealmId,
        target: Target,
        order: OpenHold,
        dry_run: bool,
        asker: Asker<Outcome<HoldView>>,
    ) -> Answered<Outcome<HoldView>> {
        let message = |ticket| MoneyMessage::OpenHold {
            target,
            order,
            dry_run,
            ticket,
        };
        self.order(realm, DEADLINE, asker, message).await
    }

    /// Confirms or releases a part of a hold, or the rest of it when no amount is given.
    pub async fn step_hold(
        &self,
        realm: RealmId,
        id: HoldId,
        step: HoldStep,
        amount: Option<Amount>,
        dry_run: bool,
        asker: Asker<HoldView>,
    ) -> Answered<HoldView> {
        let message = |ticket| MoneyMessage::StepHold {
            id,
            step,
            amount,
            dry_run,
            ticket,
        };
        let answered = self.order(realm, DEADLINE, asker, message).await;
        answered.map_err(|why| not_found(why, Rejection::HoldNotFound))
    }

    /// A hold as it is, open or not.
    pub async fn hold(&self, realm: RealmId, id: HoldId) -> Result<HoldView, Failure> {
        let (account, sequence) = (id.0.account, id.0.sequence);
        if id.0.realm != realm {
            return Err(Rejection::HoldNotFound.into());
        }
        let open = self
            .ask(realm, DEADLINE, |reply| MoneyMessage::HoldOf(id, reply))
            .await
            .map_err(|why| not_found(why, Rejection::HoldNotFound))?;
        let hold = match open {
            Some(open) => open,
            // The answer came when all that the account had done was on disk: the index has it.
            None => {
                let read =
                    move |store: &dyn Index| reads::money::hold(store, realm, account, sequence);
                let found = self.scan(realm, Cost::Point, read).await?;
                found.ok_or(Rejection::HoldNotFound)?
            }
        };
        if hold.tag != id.0.tag {
            return Err(Rejection::HoldNotFound.into());
        }
        Ok(HoldView { account, hold })
    }

    /// The holds of an account, by the order of their opening.
    pub async fn holds(
        &self,
        realm: RealmId,
        target: Target,
        status: Option<HoldStatus>,
        page: ListPage,
    ) -> Result<Listing<HoldView>, Failure> {
        // Releases what is due, and waits for all that is in flight.
        let account = self.balance(realm, target).await?.account;
        self.scan(realm, Cost::Scan, move |store| {
            holds(store, realm, account, status, &page)
        })
        .await
    }

    /// Transfers, inside the realm or through the bank, or says what would happen.
    pub async fn transfer(
        &self,
        realm: RealmId,
        from: Target,
        order: Send,
        dry_run: bool,
        asker: Asker<Outcome<TransferView>>,
    ) -> Answered<Outcome<TransferView>> {
        let message = |ticket| TransferMessage::Send {
            from,
            order,
            dry_run,
            ticket,
        };
        self.order(realm, DEADLINE, asker, message).await
    }

    /// A transfer as it is, with its last calls to the bank, oldest first.
    pub async fn transfer_of(
        &self,
        realm: RealmId,
        id: TransferId,
    ) -> Result<(TransferView, Vec<(Timestamp, BankCall)>), Failure> {
        if id.0.realm != realm {
            return Err(Rejection::TransferNotFound.into());
        }
        let open = self
            .ask(realm, DEADLINE, |reply| TransferMessage::Of(id, reply))
            .await
            .map_err(|why| not_found(why, Rejection::TransferNotFound))?;
        let place = Place {
            account: id.0.account,
            sequence: id.0.sequence,
        };
        let known = open.is_some();
        let read = move |store: &dyn Index| {
            let kept = match known {
                true => None,
                false => reads::money::transfer(store, realm, place)?,
            };
            let calls = reads::money::transfer_calls(store, realm, place, CALLS_MAX)?;
            Ok((kept, calls))
        };
        let (kept, calls) = self.scan(realm, Cost::Point, read).await?;
        let transfer = open.or(kept).filter(|found| found.tag == id.0.tag);
        let transfer = transfer.ok_or(Rejection::TransferNotFound)?;
        let account = id.0.account;
        Ok((TransferView { account, transfer }, calls))
    }

    /// The id of the transfer that holds an external id.
    pub async fn transfer_by_external(
        &self,
        realm: RealmId,
        id: ExternalId,
    ) -> Result<TransferId, Failure> {
        let read = move |store: &dyn Index| reads::money::transfer_by_external(store, realm, &id);
        let found = self.scan(realm, Cost::Point, read).await?;
        let (account, transfer) = found.ok_or(Rejection::TransferNotFound)?;
        Ok(transfer.id(realm, account))
    }

    /// The transfers of a realm, by the order in which they were asked for.
    pub async fn transfers(
        &self,
        realm: RealmId,
        filter: TransferFilter,
        page: ListPage,
    ) -> Result<Listing<TransferView>, Failure> {
        let from = match filter.from {
            Some(target) => Some(self.balance(realm, target).await?.account),
            None => None,
        };
        let point = filter == TransferFilter::default() || filter.external_id.is_some();
        let cost = Cost::scan_if(!point);
        self.scan(realm, cost, move |store| {
            transfers(store, realm, &filter, from, &page)
        })
        .await
    }

    /// What a movement of a type would cost.
    pub async fn quote(
        &self,
        realm: RealmId,
        target: Target,
        code: TypeCode,
        amount: Amount,
    ) -> Result<Quote, Failure> {
        self.ask(realm, DEADLINE, |reply| {
            MoneyMessage::Quote(target, code, amount, reply)
        })
        .await
    }

    /// Posts many adjustments: each for itself, or all of them or nothing. Outcomes come in the
    /// order of the items. Where one of an atomic batch failed, nothing was posted, and by a dry run
    /// nothing ever is.
    pub async fn batch(
        &self,
        realm: RealmId,
        items: Vec<Adjustment>,
        mode: BatchMode,
        asker: Asker<Vec<ItemOutcome>>,
    ) -> Answered<Vec<ItemOutcome>> {
        let message = |ticket| PostingMessage::Batch {
            items,
            mode,
            ticket,
        };
        self.order(realm, DEADLINE, asker, message).await
    }
}

/// The value of an answer that no key keeps.
pub(super) fn value<T>(answered: Answered<T>) -> Result<T, Failure> {
    match answered? {
        Given::Value(value) => Ok(value),
        Given::Kept { .. } => Err(Failure::OutcomeUnknown),
    }
}

/// An id that leads to no account leads to nothing of its own kind.
pub(super) fn not_found(why: Failure, what: Rejection) -> Failure {
    match why {
        Failure::Rejected(Rejection::AccountNotFound | Rejection::TenantNotFound) => what.into(),
        why => why,
    }
}

fn holds(
    store: &dyn Index,
    realm: RealmId,
    account: AccountNo,
    status: Option<HoldStatus>,
    page: &ListPage,
) -> Result<Listing<HoldView>, StoreError> {
    let prefix = keys::holds(realm, account);
    let mut picker = Picker::new(*page);
    let (mut from, mut to) = (prefix.clone(), keys::after_prefix(&prefix));
    loop {
        let rows = store.scan(&from, &to, page.order, SCAN_PAGE)?;
        for (_, row) in &rows {
            let hold: Hold = decode(row)?;
            if status.is_none_or(|wanted| wanted == hold.status()) {
                picker.offer(hold.sequence, HoldView { account, hold });
            }
        }
        match rows.last() {
            Some((key, _)) if rows.len() == SCAN_PAGE => match page.order {
                SortOrder::Ascending => from = [key.as_slice(), &[0]].concat(),
                SortOrder::Descending => to.clone_from(key),
            },
            Some(_) | None => return Ok(picker.listing()),
        }
    }
}

fn transfers(
    store: &dyn Index,
    realm: RealmId,
    filter: &TransferFilter,
    from: Option<AccountNo>,
    page: &ListPage,
) -> Result<Listing<TransferView>, StoreError> {
    if let Some(id) = &filter.external_id {
        return by_external(store, realm, (id, filter), from, page);
    }
    let count = keys::count_in(store.get(&keys::transfer_count(realm))?.as_deref())?;
    let mut range = Range {
        first: 1,
        last: count,
    };
    if *filter == TransferFilter::default() {
        let (shown, next) = range.page(page);
        let rows = transfer_range(store, realm, shown, page.order, page.limit)?;
        return Ok(Listing {
            items: rows.into_iter().map(|(_, view)| view).collect(),
            total: count,
            next,
        });
    }
    let mut picker = Picker::new(*page);
    while range.len() > 0 {
        let rows = transfer_range(store, realm, range, page.order, SCAN_PAGE)?;
        let Some((last, _)) = rows.last() else { break };
        match page.order {
            SortOrder::Ascending => range.first = last.saturating_add(1),
            SortOrder::Descending => range.last = last.saturating_sub(1),
        }
        for (ordinal, view) in rows {
            if filter.lets(&view.transfer) && from.is_none_or(|from| from == view.account) {
                picker.offer(ordinal, view);
            }
        }
    }
    Ok(picker.listing())
}

/// The transfer of an external id, where the filter lets it: an id names one transfer at most.
fn by_external(
    store: &dyn Index,
    realm: RealmId,
    (id, filter): (&ExternalId, &TransferFilter),
    from: Option<AccountNo>,
    page: &ListPage,
) -> Result<Listing<TransferView>, StoreError> {
    let found = reads::money::transfer_by_external(store, realm, id)?;
    let found = found.filter(|(account, transfer)| {
        filter.lets(transfer) && from.is_none_or(|from| from == *account)
    });
    let view = |(account, transfer)| TransferView { account, transfer };
    let total = u64::from(found.is_some());
    let mut items: Vec<_> = found.map(view).into_iter().collect();
    if page.offset > 0 || page.cursor.is_some() {
        items.clear();
    }
    Ok(Listing {
        items,
        total,
        next: None,
    })
}

fn transfer_range(
    store: &dyn Index,
    realm: RealmId,
    range: Range,
    order: SortOrder,
    limit: usize,
) -> Result<Vec<(u64, TransferView)>, StoreError> {
    if range.len() == 0 {
        return Ok(Vec::new());
    }
    let from = keys::transfer_at(realm, range.first);
    let to = keys::transfer_at(realm, range.last.saturating_add(1));
    let mut found = Vec::new();
    for (key, row) in store.scan(&from, &to, order, limit)? {
        let place = Place::from_bytes(&row)?;
        let ordinal = keys::number_of(&key)?;
        if let Some(transfer) = reads::money::transfer(store, realm, place)? {
            let account = place.account;
            found.push((ordinal, TransferView { account, transfer }));
        }
    }
    Ok(found)
}
