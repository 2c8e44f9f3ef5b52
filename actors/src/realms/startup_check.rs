//! Reads the bank's list after a start, before the first order leaves.
//!
//! **Why.** An older copy of the store may have been put back: orders that left after the copy was made are unknown
//! here, and only the bank remembers them. The movements on its list are recorded before anything new is ordered, so
//! that no decision counts on money that has left.
//!
//! **Shape.** Orders wait at the gate ([`crate::startup_gate`]); the first one that waits causes the list to be read. So a
//! realm that sends nothing costs the bank nothing at a start.
//!
//! Decisions about money in suspense wait, too: the money may have been returned.
//!
//! **Bounds.** The list of each day since the realm's last event, at least yesterday's and today's, at most those of
//! [`crate::startup_gate::DAYS_MAX`] days. The reconciliation of an earlier day shows what left on it.
//!
//! **Order.** Over all days, arrivals are taken in first, then departures, then transfers that came back: money has to
//! be there to leave, and a transfer has to be known to come back.
//!
//! A line that cannot be read is a case for a person and holds nothing up.
//!
//! **Failure.** While the bank does not give its list, or an account cannot take in a movement, orders wait, and the
//! bank is asked again with growing pauses, [`PAUSE_MAX`] at most. Nothing but a list that was looked through opens the
//! gate, and only the end of the realm's life ends the search.

use std::sync::Arc;
use std::time::Duration;

use actix::WeakAddr;
use caudal_ledger::alias::Alias;
use caudal_ledger::cases::{Parked, ParkedState, RETURNS, UnreadableLine};
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::ids::{OriginId, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{
    BankMoved, BankTransfer, BankWord, CURRENCY, CashIn, Departure, Destination, Recovered,
    TransferStatus,
};
use caudal_storage::{Index, StoreError};

use super::cases::{HearReturn, RecogniseReturn, TakeBackReturn};
use super::unbooked::KeepUnreadable;
use super::{JournalCalls, RealmOrder, RealmSupervisor};
use crate::accounts::{BookArrival, BookDeparture, HearTransfer, NoticeOutcome, ReverseTransfer};
use crate::commit_writer::{RequestContext, Shared};
use crate::failure::Failure;
use crate::mailbox::{Mailbox, QueueDepth};
use crate::orders::Envelope;
use crate::persist::persist;
use crate::ports::{BankMovement, MovementWay, Notice};
use crate::records::keys::Rail;
use crate::records::projection::VoucherPlace;
use crate::records::reads;
use crate::reply::{Given, Reply};

/// The longest pause between tries to read the list.
pub const PAUSE_MAX: Duration = Duration::from_secs(60);
/// The receiver of money for which the bank does not name a destination.
const NOBODY: &str = "sin.destino.conocido";
/// The request id of the check's calls.
const REQUEST: &str = "startup-check";

/// The way to the realm's supervisor, which may be gone.
pub(super) struct SupervisorHandle {
    pub(super) address: WeakAddr<RealmSupervisor>,
    pub(super) waiting: QueueDepth,
    pub(super) room: usize,
}

impl SupervisorHandle {
    fn mailbox(&self) -> Result<Mailbox<RealmSupervisor>, Failure> {
        let address = self.address.upgrade().ok_or(Failure::ShuttingDown)?;
        Ok(Mailbox::new(address, self.waiting.clone(), self.room))
    }
}

/// Waits until an order wants to leave, looks the list through, and lets orders go.
pub(super) async fn run(shared: Arc<Shared>, supervisor: SupervisorHandle) {
    shared.startup_gate.wanted().await;
    persist("startup check", async |_| {
        look_through(&shared, &supervisor).await
    })
    .await;
    shared.startup_gate.pass();
}

async fn look_through(shared: &Shared, supervisor: &SupervisorHandle) {
    let mut pause = shared.pauses.first;
    while let Err(why) = look(shared, supervisor).await {
        tracing::warn!(
            %why,
            realm = shared.realm.0,
            "transfers wait: the bank's list could not be looked through; it is asked for again"
        );
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(PAUSE_MAX);
    }
}

async fn look(shared: &Shared, supervisor: &SupervisorHandle) -> Result<(), Failure> {
    let (store, realm) = (shared.store.as_ref(), shared.realm);
    let (mut listed, mut unreadable) = (Vec::new(), Vec::new());
    for day in shared.startup_gate.days(shared.clock.now().business_day()) {
        let reply = shared.bank.movements(day, REQUEST).await;
        supervisor
            .mailbox()?
            .tell(Envelope::from(JournalCalls(reply.calls)))?;
        let list = reply.result.map_err(Failure::of_question)?;
        listed.extend(list.movements);
        unreadable.extend(list.unreadable);
    }
    for line in unreadable {
        // A line that names no realm is kept by each realm that reads it.
        if named(store, &line)?.is_none_or(|of| of == realm) {
            let line = Box::new(line);
            hear(supervisor, Report::of(KeepUnreadable(line))).await?;
        }
    }
    listed.sort_by_key(rank);
    let settings = shared.settings();
    let keeps = shared.collectors.keeps(realm);
    for movement in listed {
        let notice = match returned(store, realm, &settings.tenant, &movement)? {
            Some(notice) => Some(notice),
            None if is_of(store, realm, keeps, &movement)? => news(store, realm, movement)?,
            None => None,
        };
        let Some(notice) = notice else {
            continue;
        };
        let place = match &notice {
            Notice::Settled { origin, .. } | Notice::Reversed { origin, .. } => {
                reads::money::of_origin(store, *origin)?
            }
            _ => None,
        };
        let nowhere = VoucherPlace::new(caudal_ledger::ids::AccountNo(0), 0);
        let place = place.map_or(nowhere, |(_, place)| place);
        if let Some(report) = reported(notice, place) {
            hear(supervisor, report).await?;
        }
    }
    Ok(())
}

async fn hear(supervisor: &SupervisorHandle, report: Report) -> Result<(), Failure> {
    let (reply, answer) = Reply::new();
    let request = RequestContext {
        request_id: REQUEST.to_owned(),
        ..RequestContext::of_question(reply)
    };
    report.send(&supervisor.mailbox()?, request)?;
    match answer.await {
        Ok(Ok(Given::Value(_) | Given::Kept { .. }) | Err(Failure::Rejected(_))) => Ok(()),
        Ok(Err(why)) => Err(why),
        Err(_) => Err(Failure::OutcomeUnknown),
    }
}

/// The realm that an unreadable line of the bank's list names, by its reference or its CVU.
pub(crate) fn named(
    store: &dyn Index,
    line: &UnreadableLine,
) -> Result<Option<RealmId>, StoreError> {
    let origin = line
        .origin
        .map(|origin| reads::money::of_origin(store, origin));
    let by_origin = origin.transpose()?.flatten().map(|(realm, _)| realm);
    if by_origin.is_some() {
        return Ok(by_origin);
    }
    let Some(cvu) = line.cvu else {
        return Ok(None);
    };
    Ok(reads::realms_of_cvu(store, cvu)?.first().copied())
}

/// Whether a movement belongs to this realm: a return of money in suspense by its reference, any other movement by its
/// CVU. A CVU that nobody here has is of the first realm on the collector account, which `keeps` says. Money that left
/// the collector account itself and is no return of ours belongs to no realm, and nothing is booked for it.
fn is_of(
    store: &dyn Index,
    realm: RealmId,
    keeps: bool,
    movement: &BankMovement,
) -> Result<bool, StoreError> {
    if let Some((of, _)) = reads::cases::return_of(store, movement.origin)? {
        return Ok(of == realm);
    }
    let Ok(cvu) = Cvu::parse(&movement.cvu) else {
        return Ok(false);
    };
    let realms = reads::realms_of_cvu(store, cvu)?;
    Ok(realms.contains(&realm) || realms.is_empty() && keeps)
}

/// The notice that a movement is a return of money in suspense, ordered in a past that is gone. It leaves the collector
/// account itself, so only its reference shows whose it is.
pub(crate) fn returned(
    store: &dyn Index,
    realm: RealmId,
    tenant: &str,
    movement: &BankMovement,
) -> Result<Option<Notice>, StoreError> {
    let failed = matches!(movement.word, BankWord::Failed { .. });
    let (Some(origin), MovementWay::Out, false) = (movement.origin, movement.way, failed) else {
        return Ok(None);
    };
    if Cvu::parse(&movement.cvu).is_ok() {
        return Ok(None);
    }
    let found = reads::cases::recognised(store, realm, tenant, origin)?;
    Ok(found.map(|(case, attempt)| Notice::Returned {
        realm,
        case,
        attempt,
    }))
}

/// The order in which the bank's movements are taken in: arrivals, departures, transfers that came back; each by time.
pub(crate) fn rank(movement: &BankMovement) -> (u8, Timestamp) {
    let kind = match (movement.way, movement.reversal) {
        (MovementWay::In, false) => 0,
        (MovementWay::Out, _) => 1,
        (MovementWay::In, true) => 2,
    };
    (kind, movement.at)
}

/// The notice that a realm's movement should have brought, if it has not come.
pub(crate) fn news(
    store: &dyn Index,
    realm: RealmId,
    movement: BankMovement,
) -> Result<Option<Notice>, StoreError> {
    match movement.way {
        MovementWay::In => arrived(store, realm, movement),
        MovementWay::Out => left(store, movement),
    }
}

fn arrived(
    store: &dyn Index,
    realm: RealmId,
    movement: BankMovement,
) -> Result<Option<Notice>, StoreError> {
    let done = movement.word == BankWord::Completed;
    let returned = reads::cases::return_of(store, movement.origin)?.is_some();
    let cvu = Cvu::parse(&movement.cvu).ok();
    let (Some(coelsa_id), true) = (movement.coelsa_id, done) else {
        return Ok(None);
    };
    let (kind, notice) = if movement.reversal {
        let Some(origin) = movement.origin else {
            return Ok(None);
        };
        if let Some((.., transfer)) = reads::money::transfer_by_origin(store, origin)?
            && Some(transfer.from) != cvu
        {
            tracing::error!(%origin, coelsa_id, "the bank returns a transfer to another CVU than it left; reconcile the day");
            return Ok(None);
        }
        let notice = Notice::Reversed {
            origin,
            bank_id: movement.bank_id,
            coelsa_id: coelsa_id.clone(),
            amount: movement.amount,
            reason: String::new(),
        };
        // Money that was returned and came back counts as money that arrived again.
        let kind = if returned {
            Rail::Arrival
        } else {
            Rail::Return
        };
        (kind, notice)
    } else {
        let Some(cvu) = cvu else {
            return Ok(None);
        };
        let notice = Notice::Received {
            coelsa_id: coelsa_id.clone(),
            bank_id: movement.bank_id,
            cvu,
            amount: movement.amount,
            from: movement.counterparty,
            at: movement.at,
        };
        (Rail::Arrival, notice)
    };
    let landed = reads::money::landed(store, realm, kind, &coelsa_id)?;
    Ok(landed.is_none().then_some(notice))
}

fn left(store: &dyn Index, movement: BankMovement) -> Result<Option<Notice>, StoreError> {
    let Some(origin) = movement.origin else {
        return Ok(None);
    };
    let other = movement.counterparty;
    let moved = BankMoved {
        amount: Some(movement.amount),
        currency: Some(CURRENCY.to_owned()),
        cvu: Some(movement.cvu.clone()),
        to_key: other.cbu.clone(),
        to_alias: other.alias.clone(),
    };
    if let Some(waits) = is_awaited(store, origin)? {
        let ended = match movement.word {
            BankWord::Completed | BankWord::Failed { .. } => true,
            BankWord::InProgress | BankWord::Lost => false,
        };
        let transfer = BankTransfer {
            bank_id: movement.bank_id,
            coelsa_id: movement.coelsa_id,
            word: movement.word,
            moved,
        };
        return Ok((waits && ended).then_some(Notice::Settled { origin, transfer }));
    }
    let Ok(cvu) = Cvu::parse(&movement.cvu) else {
        return Ok(None);
    };
    if movement.word != BankWord::Completed {
        return Ok(None);
    }
    let key = other.cbu.as_deref().and_then(|key| Cbu::parse(key).ok());
    let alias = other.alias.as_deref().unwrap_or(NOBODY);
    let alias = Alias::parse(alias).ok().map(Destination::Alias);
    let Some(to) = key.map(Destination::Key).or(alias) else {
        return Ok(None);
    };
    Ok(Some(Notice::Left(Departure {
        origin,
        bank_id: movement.bank_id,
        coelsa_id: movement.coelsa_id,
        cvu,
        amount: movement.amount,
        to,
        recovered: Recovered {
            moved,
            at: movement.at,
        },
        resolved: Some(Box::new(other)),
    })))
}

/// Whether a transfer or return still awaits the bank's final answer; `None` when no transfer or return has this
/// reference.
fn is_awaited(store: &dyn Index, origin: OriginId) -> Result<Option<bool>, StoreError> {
    if let Some((realm, number)) = reads::cases::return_of(store, Some(origin))? {
        let parked = reads::cases::returned(store, realm, number)?;
        let waits = |parked: &Parked| matches!(&parked.state, ParkedState::Returning(it) if it.number == number);
        return Ok(Some(parked.as_ref().is_some_and(waits)));
    }
    let known = reads::money::transfer_by_origin(store, origin)?;
    Ok(known.map(|(.., known)| known.status.is_open() && known.status != TransferStatus::Audit))
}

/// An order that tells a realm what its bank has reported.
pub(crate) struct Report(Box<SendReport>);

/// Puts a report with its request context into the mailbox of the realm's supervisor.
type SendReport =
    dyn FnOnce(&Mailbox<RealmSupervisor>, RequestContext<NoticeOutcome>) -> Result<(), Failure>;

impl Report {
    fn of(order: impl RealmOrder<Outcome = NoticeOutcome>) -> Self {
        Self(Box::new(|realm, request| {
            realm.tell(Envelope { order, request })
        }))
    }

    /// Sends it to the realm's supervisor.
    pub(crate) fn send(
        self,
        realm: &Mailbox<RealmSupervisor>,
        request: RequestContext<NoticeOutcome>,
    ) -> Result<(), Failure> {
        (self.0)(realm, request)
    }
}

/// The order that tells a realm of a notice. `place` is the transfer or return that the notice is about, if any.
pub(crate) fn reported(notice: Notice, place: VoucherPlace) -> Option<Report> {
    let VoucherPlace { account, sequence } = place;
    Some(match notice {
        Notice::Received {
            coelsa_id,
            bank_id,
            cvu,
            amount,
            from,
            at,
        } => Report::of(BookArrival(CashIn {
            coelsa_id,
            bank_id,
            cvu,
            amount,
            from,
            at,
        })),
        Notice::Left(left) => Report::of(BookDeparture(left)),
        Notice::Returned { case, attempt, .. } => Report::of(RecogniseReturn {
            place: case,
            attempt,
        }),
        Notice::Unreadable { line, .. } => Report::of(KeepUnreadable(line)),
        Notice::Settled { transfer, .. } if account == RETURNS => {
            Report::of(HearReturn(sequence, transfer))
        }
        Notice::Reversed {
            bank_id,
            coelsa_id,
            amount,
            ..
        } if account == RETURNS => Report::of(TakeBackReturn {
            number: sequence,
            bank_id,
            coelsa_id,
            amount,
        }),
        Notice::Settled { transfer, .. } => Report::of(HearTransfer {
            account,
            transfer: sequence,
            answer: transfer,
        }),
        Notice::Reversed {
            coelsa_id, amount, ..
        } => Report::of(ReverseTransfer {
            account,
            transfer: sequence,
            amount,
            coelsa_id,
        }),
        Notice::Created | Notice::Other { .. } => return None,
    })
}
