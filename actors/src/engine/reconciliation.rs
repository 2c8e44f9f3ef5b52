//! Reconciliation: the bank's list of a business day against the ledger, both ways.
//!
//! **Shape.** A movement on the bank's list is searched for in the ledger by its reference, whatever day it was posted.
//! A movement of the ledger's day that is not on the bank's list is searched for on the lists of the days before and
//! after, because both clocks differ around midnight, and of the day on which it began, because some are settled late.
//! Each movement appears in the reconciliation of one day. Movements of the collector account itself are listed, too
//! ([`super::collector`]). The ledger's rules judge the result of a movement. The bank
//! is asked on the threads that serve requests, the ledger is read off them.

mod range;

use std::collections::BTreeSet;
use std::sync::Arc;

use caudal_ledger::cases::{
    BankSays, Decision, Parked, RETURNS, RecordedMovement, SuspensePlace, Unbooked, UnreadableLine,
};
use caudal_ledger::collector::CollectorMovement;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, OriginId, RealmId, TransferId};
use caudal_ledger::reconciliation::{Agreement, Judged, Listed, Ours, judge, other_days, unlisted};
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::BankWord;
use caudal_ledger::vouchers::ReferenceType;

use super::money::TransferView;
use super::read_slots::{ReadAccess, ReadCost};
use super::vouchers::placed;
use super::{Ledger, Queries};
use crate::accounts::AccountVoucher;
use crate::banks::{NoticeAuthority, RealmBank};
use crate::failure::Failure;
use crate::ports::{BankGateway as _, BankMovement, DayList, MovementWay};
use crate::records::keys::Rail;
use crate::records::projection::VoucherPlace;
use crate::records::reads;
use range::Lists;

pub use range::{Comparison, RANGE_DAYS_MAX, RangeQuery, RangeTotals, RowKey};

/// One movement of a reconciliation: the bank's side, the ledger's, or both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reconciled {
    /// As the bank lists it.
    pub bank: Option<BankMovement>,
    /// The voucher that moved it in the ledger; for a transfer under way, the hold.
    pub voucher: Option<AccountVoucher>,
    /// The transfer to which it belongs, if it is one of ours.
    pub transfer: Option<TransferView>,
    /// The money in suspense that the movement brought or returns.
    pub suspense: Option<Parked>,
    /// Its case, if the ledger could not book it.
    pub unbooked: Option<Unbooked>,
    /// Its record, if it belongs to the collector account itself.
    pub collector: Option<RecordedMovement>,
    /// The result of comparing both sides.
    pub judged: Judged,
}

impl Reconciled {
    /// The person's decision that ended it, if any; a transfer that came back later was not ended by a person.
    pub fn decision(&self) -> Option<&Decision> {
        let came_back = self.bank.as_ref().is_some_and(|bank| bank.reversal);
        let of_transfer = self.transfer.as_ref().filter(|_| !came_back);
        let of_transfer = of_transfer.and_then(|view| view.transfer.decision.as_deref());
        of_transfer
            .or_else(|| self.suspense.as_ref().and_then(Parked::decision))
            .or_else(|| self.unbooked.as_ref().and_then(Unbooked::decision))
            .or_else(|| self.collector.as_ref()?.decision.as_ref())
    }
}

impl Reconciled {
    /// A movement of the collector account itself, as the bank lists it.
    fn of_collector(cbu: &str, line: CollectorMovement, record: RecordedMovement) -> Self {
        Self {
            bank: Some(BankMovement {
                bank_id: line.bank_id,
                coelsa_id: line.coelsa_id,
                origin: line.origin,
                reversal: line.reversal,
                way: if line.incoming {
                    MovementWay::In
                } else {
                    MovementWay::Out
                },
                cvu: cbu.to_owned(),
                counterparty: line.counterparty,
                amount: line.amount,
                word: BankWord::Completed,
                at: line.at,
            }),
            voucher: None,
            transfer: None,
            suspense: None,
            unbooked: None,
            collector: Some(record),
            judged: Agreement::Collector.into(),
        }
    }

    /// Whether an unreadable line of the bank's list names the ledger's movement.
    fn is_on(&self, realm: RealmId, line: &UnreadableLine) -> bool {
        let view = self.transfer.as_ref();
        let origin = view.map(|view| view.transfer.origin(realm, view.account));
        let rail = view.and_then(|view| view.transfer.coelsa_id.as_deref());
        let voucher = self.voucher.as_ref().map(|placed| &placed.voucher);
        let arrived = voucher.filter(|it| it.reference_type == ReferenceType::CashIn);
        let arrived = arrived.and_then(|it| it.reference_id.as_deref());
        let on_rail = |id: Option<&str>| id.is_some() && id == line.coelsa_id.as_deref();
        (origin.is_some() && origin == line.origin) || on_rail(rail) || on_rail(arrived)
    }
}

/// The bank's side of a movement, as it is compared.
fn listed(bank: &BankMovement) -> Listed<'_> {
    Listed {
        word: &bank.word,
        amount: bank.amount,
        cvu: &bank.cvu,
    }
}

/// The days on which the ledger's movements of a day began: when the transfer was requested, or the money arrived.
fn begun(ours: &[Reconciled]) -> impl Iterator<Item = BusinessDay> {
    ours.iter().flat_map(|it| {
        let asked = it.transfer.as_ref().map(|view| view.transfer.created_at);
        let arrived = it.suspense.as_ref().map(|it| it.suspense.cash_in.at);
        let both = [asked, arrived].into_iter().flatten();
        both.map(Timestamp::business_day)
    })
}

/// How many keys are read at once.
const KEYS_PAGE: usize = 1000;

impl Queries<'_> {
    /// Compares the bank's list of a business day with the ledger, both ways.
    pub async fn reconcile(
        self,
        realm: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<Vec<Reconciled>, Failure> {
        let mut lists = Lists::default();
        self.compare(realm, day, &mut lists, request_id).await
    }

    /// The same, with the bank's lists that are already known.
    async fn compare(
        self,
        realm: RealmId,
        day: BusinessDay,
        lists: &mut Lists,
        request_id: &str,
    ) -> Result<Vec<Reconciled>, Failure> {
        let listed = lists.of(self, (realm, day), request_id).await?;
        let mut unreadable = listed.unreadable.clone();
        let compare = move |books: &ReadAccess| {
            let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
            for movement in books.own(realm, &listed.movements)? {
                let reconciled = books.against_ledger(realm, movement)?;
                seen.extend(reconciled.iter().filter_map(place));
                found.extend(reconciled);
            }
            let ours = books.of_the_day(realm, day, &seen)?;
            Ok((found, seen, ours))
        };
        let (mut found, mut seen, mut ours) = self.0.look(realm, ReadCost::Scan, compare).await?;
        for other in other_days(day, self.0.now_in(realm).business_day(), begun(&ours)) {
            if ours.is_empty() {
                break;
            }
            let listed = lists.of(self, (realm, other), request_id).await?;
            unreadable.extend(listed.unreadable.iter().cloned());
            let compare = move |books: &ReadAccess| {
                for movement in books.own(realm, &listed.movements)? {
                    let reconciled = books.against_ledger(realm, movement)?;
                    seen.extend(reconciled.iter().filter_map(place));
                }
                Ok(seen)
            };
            seen = self.0.look(realm, ReadCost::Scan, compare).await?;
            ours.retain(|it| place(it).is_none_or(|place| !seen.contains(&place)));
        }
        for it in &mut ours {
            // The bank has it on a line that cannot be read.
            if unreadable.iter().any(|line| it.is_on(realm, line)) {
                it.judged = Agreement::Pending.into();
            }
        }
        found.append(&mut ours);
        let cbu = self.collector(realm).cbu;
        let own = self
            .own_movements(realm, day, request_id)
            .await?
            .into_iter();
        found.extend(own.map(|(line, record)| Reconciled::of_collector(&cbu, line, record)));
        Ok(found)
    }

    /// The bank's list of a day. It may have been kept for a moment.
    pub(super) async fn listed_by_bank(
        self,
        realm: RealmId,
        day: BusinessDay,
        request_id: &str,
    ) -> Result<Arc<DayList>, Failure> {
        let ask = async |bank: Arc<RealmBank>| {
            let reply = bank.movements(day, request_id).await;
            self.0.realms.journal(realm, reply.calls);
            let listed = reply.result.map_err(Failure::of_question)?;
            if !listed.unreadable.is_empty() {
                let collectors = self.collectors();
                let mut sharing = collectors.values().filter(|on| on.realms.contains(&realm));
                let sharing = sharing.next().map(|on| on.realms_of(realm.mode()));
                let realms = sharing.unwrap_or_else(|| BTreeSet::from([realm]));
                let first = realms.first().copied().unwrap_or(realm);
                let authority = NoticeAuthority::from(realms);
                Ledger(self.0)
                    .unreadable(&authority, first, &listed.unreadable, request_id)
                    .await;
            }
            let size = listed.movements.len();
            Ok((Arc::new(listed), size))
        };
        let kept = &self.0.bank_reads.lists;
        self.0.kept_or_asked(realm, kept, (realm, day), ask).await
    }
}

impl ReadAccess {
    /// The movements on the bank's list that belong to this realm.
    fn own(&self, realm: RealmId, listed: &[BankMovement]) -> Result<Vec<BankMovement>, Failure> {
        let mut own = Vec::new();
        for movement in listed {
            if self.is_of(realm, movement)? {
                own.push(movement.clone());
            }
        }
        Ok(own)
    }

    /// Whether a movement belongs to a realm: a return by its reference, any other by its CVU, or by its collector account
    /// if nobody here has the CVU.
    fn is_of(&self, realm: RealmId, movement: &BankMovement) -> Result<bool, Failure> {
        if let Some((of, _)) = reads::cases::return_of(self.store.as_ref(), movement.origin)? {
            return Ok(of == realm);
        }
        let Ok(cvu) = Cvu::parse(&movement.cvu) else {
            return Ok(false);
        };
        let on = self.realms.collectors.of(realm);
        let beside = on.map(|on| on.realms_of(realm.mode()));
        let authority = NoticeAuthority::from(beside.unwrap_or_else(|| BTreeSet::from([realm])));
        Ok(self.home_of(&authority, cvu)? == Some(realm))
    }

    /// Compares a listed movement with the ledger; `None` if no money moved at all.
    fn against_ledger(
        &self,
        realm: RealmId,
        movement: BankMovement,
    ) -> Result<Option<Reconciled>, Failure> {
        let returned = reads::cases::return_of(self.store.as_ref(), movement.origin)?;
        if let (MovementWay::Out, Some((_, number))) = (movement.way, returned) {
            return self.return_against(realm, movement, number);
        }
        let transfer = self.transfer_from(realm, movement.origin)?;
        let (voucher, suspense) = match movement.way {
            MovementWay::In => self.arrival(realm, &movement, returned.is_some())?,
            MovementWay::Out => (self.departure(realm, transfer.as_ref())?, None),
        };
        let credit = voucher.as_ref().map(|placed| &placed.voucher);
        let ours = Ours::of(
            movement.way == MovementWay::In,
            suspense.as_ref(),
            credit.map(|credit| (credit.amount, credit.cvu.as_str())),
            transfer.as_ref().map(|view| &view.transfer),
        );
        let judged = judge(&listed(&movement), &ours);
        // A credit on another CVU does not belong to this movement: it is missing at the bank.
        let elsewhere = ours.is_elsewhere(&listed(&movement));
        let Some(judged) = judged else {
            return Ok(None);
        };
        let (judged, unbooked) = self.unbooked(realm, &movement, judged)?;
        Ok(Some(Reconciled {
            bank: Some(movement),
            voucher: voucher.filter(|_| !elsewhere),
            transfer,
            suspense,
            unbooked,
            collector: None,
            judged,
        }))
    }

    /// The case of a movement that the ledger does not have as the bank lists it. A movement that a person has
    /// dismissed counts as decided.
    fn unbooked(
        &self,
        realm: RealmId,
        movement: &BankMovement,
        judged: Judged,
    ) -> Result<(Judged, Option<Unbooked>), Failure> {
        let differs = matches!(
            judged.agreement,
            Agreement::MissingInLedger | Agreement::AmountDiffers
        );
        let cvu = Cvu::parse(&movement.cvu).ok();
        let key = match (movement.way, movement.origin, &movement.coelsa_id, cvu) {
            (MovementWay::Out, Some(origin), ..) => Some(BankSays::left(origin)),
            (MovementWay::In, _, Some(id), Some(cvu)) => {
                Some(BankSays::arrived(id, &cvu, movement.amount))
            }
            _ => None,
        };
        let Some(key) = key.filter(|_| differs) else {
            return Ok((judged, None));
        };
        let found = reads::cases::said(self.store.as_ref(), realm, key)?;
        let dismissed = found.as_ref().is_some_and(|it| it.decision().is_some());
        let judged = if dismissed {
            Agreement::Decided.into()
        } else {
            judged
        };
        Ok((judged, found))
    }

    /// The same for money in suspense that was returned.
    fn return_against(
        &self,
        realm: RealmId,
        movement: BankMovement,
        number: u64,
    ) -> Result<Option<Reconciled>, Failure> {
        let parked = reads::cases::returned(self.store.as_ref(), realm, number)?;
        let ours = parked.as_ref();
        let ours = ours.map_or(Ours::Nothing, |parked| Ours::Return(parked, number));
        let judged = judge(&listed(&movement), &ours);
        Ok(judged.map(|judged| Reconciled {
            bank: Some(movement),
            voucher: None,
            transfer: None,
            suspense: parked,
            unbooked: None,
            collector: None,
            judged,
        }))
    }

    /// The credit of money that arrived or came back, and its case if it waits or waited.
    fn arrival(
        &self,
        realm: RealmId,
        movement: &BankMovement,
        returned: bool,
    ) -> Result<(Option<AccountVoucher>, Option<Parked>), Failure> {
        let store = self.store.as_ref();
        let landed = match &movement.coelsa_id {
            Some(id) => reads::money::landed(store, realm, rail_of(movement, returned), id)?,
            None => None,
        };
        let Some(landed) = landed else {
            return Ok((None, None));
        };
        let waits = landed.suspended.then_some(SuspensePlace {
            account: landed.account,
            sequence: landed.sequence,
        });
        let parked = match waits.or(landed.case) {
            Some(place) => reads::cases::parked(store, realm, place)?,
            None => None,
        };
        if landed.suspended {
            return Ok((None, parked));
        }
        let credit = self.placed(realm, landed.account, landed.sequence)?;
        Ok((credit, parked))
    }

    /// The ledger's voucher for a transfer on the bank's list: the one that took the money out, or the hold while the
    /// transfer is open.
    fn departure(
        &self,
        realm: RealmId,
        transfer: Option<&TransferView>,
    ) -> Result<Option<AccountVoucher>, Failure> {
        let Some(TransferView {
            account, transfer, ..
        }) = transfer
        else {
            return Ok(None);
        };
        let store = self.store.as_ref();
        let left = reads::money::confirmed(store, realm, *account, transfer.sequence)?;
        match left {
            Some(sequence) => self.placed(realm, *account, sequence),
            None if transfer.status.is_open() => self.placed(realm, *account, transfer.sequence),
            None => Ok(None),
        }
    }

    pub(super) fn placed(
        &self,
        realm: RealmId,
        account: AccountNo,
        sequence: u64,
    ) -> Result<Option<AccountVoucher>, Failure> {
        let place = VoucherPlace { account, sequence };
        Ok(placed(self.store.as_ref(), realm, place)?)
    }

    fn transfer_from(
        &self,
        realm: RealmId,
        origin: Option<OriginId>,
    ) -> Result<Option<TransferView>, Failure> {
        let Some(origin) = origin else {
            return Ok(None);
        };
        let found = reads::money::transfer_by_origin(self.store.as_ref(), origin)?;
        let found = found.filter(|(of, ..)| *of == realm);
        Ok(found.map(|(_, account, transfer)| TransferView::read(account, transfer)))
    }

    /// The ledger's movements of a day that the bank must have, too, except those `seen`.
    fn of_the_day(
        &self,
        realm: RealmId,
        day: BusinessDay,
        seen: &BTreeSet<(AccountNo, u64)>,
    ) -> Result<Vec<Reconciled>, Failure> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let store = self.store.as_ref();
            let places = reads::money::bank_day(store, realm, day, after, KEYS_PAGE)?;
            after = places.last().copied();
            for (account, sequence) in &places {
                if !seen.contains(&(*account, *sequence)) {
                    found.extend(self.unlisted(realm, *account, *sequence)?);
                }
            }
            if places.len() < KEYS_PAGE {
                return Ok(found);
            }
        }
    }

    /// A movement of the ledger that the bank does not list, with the transfer or case to which it belongs.
    fn unlisted(
        &self,
        realm: RealmId,
        account: AccountNo,
        sequence: u64,
    ) -> Result<Option<Reconciled>, Failure> {
        let store = self.store.as_ref();
        let alone = |voucher, transfer: Option<TransferView>, suspense| Reconciled {
            bank: None,
            judged: unlisted(transfer.as_ref().map(|view| &view.transfer)).into(),
            voucher,
            transfer,
            suspense,
            unbooked: None,
            collector: None,
        };
        if account == RETURNS {
            let parked = reads::cases::returned(store, realm, sequence)?;
            return Ok(parked.map(|parked| alone(None, None, Some(parked))));
        }
        let Some(placed) = self.placed(realm, account, sequence)? else {
            return Ok(None);
        };
        let voucher = &placed.voucher;
        let id = voucher.reference_id.as_deref();
        let (transfer, parked) = match (voucher.reference_type, id) {
            (ReferenceType::Transfer, Some(id)) => {
                let found = TransferId::parse(id).map(|TransferId(id)| {
                    let (account, sequence) = (id.account, id.sequence);
                    let place = VoucherPlace { account, sequence };
                    let found = reads::money::transfer(store, realm, place)?;
                    let view = |transfer| TransferView::read(account, transfer);
                    Ok::<_, Failure>(found.map(view))
                });
                (found.transpose()?.flatten(), None)
            }
            (ReferenceType::CashIn, Some(id)) => {
                let landed = reads::money::landed(store, realm, Rail::Arrival, id)?;
                let case = landed.and_then(|landed| landed.case);
                let parked = case.map(|place| reads::cases::parked(store, realm, place));
                (None, parked.transpose()?.flatten())
            }
            _ => (None, None),
        };
        Ok(Some(alone(Some(placed), transfer, parked)))
    }
}

/// The kind of rail id under which a movement is kept: money that was returned and came back counts as money that
/// arrived again.
const fn rail_of(movement: &BankMovement, returned: bool) -> Rail {
    if movement.reversal && !returned {
        Rail::Return
    } else {
        Rail::Arrival
    }
}

/// The place at which the ledger keeps a movement.
fn place(reconciled: &Reconciled) -> Option<(AccountNo, u64)> {
    if let Some(placed) = &reconciled.voucher {
        return Some((placed.account, placed.voucher.sequence));
    }
    let outgoing = reconciled
        .bank
        .as_ref()
        .is_none_or(|bank| bank.way == MovementWay::Out);
    let returned = reconciled
        .suspense
        .as_ref()
        .filter(|_| outgoing)?
        .returned()?;
    Some((RETURNS, returned.number))
}
