//! The bodies of events: in the feed, in the stream, in a webhook.
//!
//! An event reads the same whenever and however it is read. So its account comes with the balance of that time, and
//! with its own limits but not with the effective ones, which orders on other levels change, too.

pub(crate) mod accounts;
mod coverage;

use std::sync::Arc;

use caudal_actors::accounts::{AccountVoucher, HoldView, TransferView};
use caudal_ledger::cases::{Parked, ParkedState};
use caudal_ledger::events::{Event, EventId, EventKind, Subject};
use caudal_ledger::ids::{RealmId, VoucherId};
use caudal_ledger::transfers::Suspense;
use serde::Serialize;
use utoipa::ToSchema;

use super::body;
use super::counterparty::CounterpartyBody;
use super::days::ClosedDayBody;
use super::holds::{HoldBody, hold};
use super::texts::{Instant, Pesos};
use super::transfers::{DecisionBody, TransferBody, transfer};
use super::voucher_types::{VoucherTypeBody, voucher_type};
use super::vouchers::{VoucherBody, voucher};
use super::words::{EventTypeWord, OutcomeWord};
use accounts::AccountEvent;
use coverage::CoverageBody;

body! {
    /// An event: the body of a webhook, an item of the feed, the data of a message of the stream.
    pub struct EventBody as Event by event(tenant: &str, event: &Event) {
        => let EventId { realm, number, .. } = event.id;
        /// Its id, also the `webhook-id`; later events of the realm have greater ones.
        id: String = event.id.to_string();
        /// Counts the events of the realm from 1, without gaps.
        sequence: u64 = number;
        /// What happened, for instance `voucher.created`.
        #[serde(rename = "type")]
        kind: &'static str as EventTypeWord = event.kind.as_str();
        /// When.
        timestamp: Instant = event.at.into();
        /// What it is about, as it was right after it: an account, voucher, hold, transfer, voucher
        /// type, money that no account could take, the collector account, or a closed day.
        data: EventData = data(tenant, realm, event);
    }
}

/// What an event is about.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum EventData {
    /// A voucher, with the balances after it.
    Voucher(VoucherBody),
    /// A hold.
    Hold(HoldBody),
    /// A transfer.
    Transfer(Box<TransferBody>),
    /// A voucher type.
    VoucherType(VoucherTypeBody),
    /// An account.
    Account(Box<AccountEvent>),
    /// Money that no account could take, with what became of it.
    Resolved(Box<ResolvedBody>),
    /// Money that arrived and that no account could take.
    Suspense(SuspenseBody),
    /// The collector account next to what clients own.
    Coverage(CoverageBody),
    /// A closed day.
    Day(Box<ClosedDayBody>),
}

body! {
    /// Money that no account could take, with what became of it.
    pub struct ResolvedBody as ResolvedSuspense {
        /// Its id.
        id: String;
        /// `credited` or `returned`.
        outcome: &'static str as OutcomeWord;
        /// The CVU that it was credited to.
        credited_cvu: Option<String>;
        /// The voucher that credited it.
        voucher_id: Option<String>;
        /// The reference at the bank of the transfer that returned it.
        return_origin_id: Option<String>;
        /// The bank's own id of that transfer.
        return_bank_transfer_id: Option<String>;
        /// Its id on the rail.
        return_coelsa_id: Option<String>;
        /// Who decided it, and why.
        decision: Option<DecisionBody>;
        /// What arrived.
        #[serde(flatten)]
        arrived: SuspenseBody;
    }
}

/// Renders money that no account could take, with its resolution.
pub fn resolved(realm: RealmId, parked: &Parked) -> ResolvedBody {
    let (credited_cvu, voucher_id) = match &parked.state {
        ParkedState::Credited {
            cvu,
            account,
            voucher,
            tag,
            ..
        } => {
            let id = VoucherId {
                realm,
                account: *account,
                sequence: *voucher,
                tag: *tag,
            };
            (Some(cvu.to_string()), Some(id.to_string()))
        }
        ParkedState::Waiting | ParkedState::Returning(_) | ParkedState::Returned(_) => (None, None),
    };
    let returned = parked.returned();
    ResolvedBody {
        id: parked.id(realm).to_string(),
        outcome: parked.state.as_str(),
        credited_cvu,
        voucher_id,
        return_origin_id: returned.map(|it| it.origin.to_string()),
        return_bank_transfer_id: returned.and_then(|it| it.bank_id.clone()),
        return_coelsa_id: returned.and_then(|it| it.coelsa_id.clone()),
        decision: parked.decision().map(DecisionBody::from),
        arrived: suspense(&parked.suspense),
    }
}

body! {
    /// Money that arrived and that no account could take; it waits for a person.
    pub struct SuspenseBody as SuspendedCashIn by suspense(suspense: &Suspense) {
        => let Suspense { cash_in, reason } = suspense;
        /// The id on the rail.
        coelsa_id: String = cash_in.coelsa_id.clone();
        /// The bank's own id.
        bank_transfer_id: String = cash_in.bank_id.clone();
        /// The CVU that it was for.
        cvu: String = cash_in.cvu.to_string();
        /// ARS with two decimals.
        amount: Pesos = cash_in.amount.into();
        /// Who sent it.
        counterparty: CounterpartyBody = cash_in.counterparty().into();
        /// Why no account took it.
        reason: String = reason.clone();
        /// When the bank wrote of it.
        bank_at: Instant = cash_in.at.into();
    }
}

/// The type of a test, which is no event of the log.
pub const TEST: (&str, &str, &str) = (
    "webhook.test",
    "A try that was asked for with `POST /v1/webhooks/{id}/test`; it is in no list of events.",
    "WebhookTestData",
);

/// All types that a receiver may meet, each with when it is sent and the name of the schema of its
/// `data`: those of the log, and [`TEST`].
pub fn types() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let kinds = EventKind::ALL.iter();
    let kinds = kinds.map(|kind| (kind.as_str(), kind.about(), shape(*kind)));
    kinds.chain([TEST])
}

/// What the `data` of an event shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataOf {
    /// An account.
    Account,
    /// A voucher.
    Voucher,
    /// A hold.
    Hold,
    /// A transfer.
    Transfer,
    /// A voucher type.
    VoucherType,
    /// Money that arrived and no account could take.
    SuspendedCashIn,
    /// What became of such money.
    ResolvedSuspense,
    /// The collector account next to what clients own.
    Coverage,
    /// A closed day.
    Day,
}

/// What the `data` of an event of this kind shows.
pub const fn data_of(kind: EventKind) -> DataOf {
    match kind {
        EventKind::AccountRegistered
        | EventKind::AccountCreated
        | EventKind::AccountRejected
        | EventKind::AccountUpdated
        | EventKind::AccountAliasUpdated
        | EventKind::AccountSuspended
        | EventKind::AccountReactivated
        | EventKind::AccountEnabled
        | EventKind::AccountDisabled
        | EventKind::AccountLimitsUpdated
        | EventKind::AccountClosed
        | EventKind::AccountRemunerationUpdated => DataOf::Account,
        EventKind::VoucherCreated => DataOf::Voucher,
        EventKind::HoldCreated
        | EventKind::HoldUpdated
        | EventKind::HoldConfirmed
        | EventKind::HoldReleased
        | EventKind::HoldExpired => DataOf::Hold,
        EventKind::TransferRequested
        | EventKind::TransferInProgress
        | EventKind::TransferAudit
        | EventKind::TransferCompleted
        | EventKind::TransferRejected
        | EventKind::TransferReversed
        | EventKind::TransferDecided => DataOf::Transfer,
        EventKind::VoucherTypeCreated
        | EventKind::VoucherTypeUpdated
        | EventKind::VoucherTypeRemoved => DataOf::VoucherType,
        EventKind::CashInSuspended => DataOf::SuspendedCashIn,
        EventKind::SuspenseResolved => DataOf::ResolvedSuspense,
        EventKind::TreasuryUncovered | EventKind::TreasuryCovered => DataOf::Coverage,
        EventKind::DayClosed => DataOf::Day,
    }
}

/// The name in the document of the schema of an event's `data`.
const fn shape(kind: EventKind) -> &'static str {
    match data_of(kind) {
        DataOf::Account => "AccountOfEvent",
        DataOf::Voucher => "ComprobanteResponse",
        DataOf::Hold => "Hold",
        DataOf::Transfer => "Transfer",
        DataOf::VoucherType => "VoucherTypeResponse",
        DataOf::SuspendedCashIn => "SuspendedCashIn",
        DataOf::ResolvedSuspense => "ResolvedSuspense",
        DataOf::Coverage => "TreasuryCoverage",
        DataOf::Day => "ClosedDay",
    }
}

/// The id of the voucher, hold or transfer that an event is about, for the log.
pub fn about(event: &Event) -> Option<String> {
    let (realm, account) = (event.id.realm, event.account);
    match &event.subject {
        Subject::Voucher(found) => Some(found.id(realm, account).to_string()),
        Subject::Hold(found) => Some(found.id(realm, account).to_string()),
        Subject::Transfer(found) => Some(found.id(realm, account).to_string()),
        Subject::Account(..)
        | Subject::VoucherType(_)
        | Subject::Suspense(_)
        | Subject::Resolved(_)
        | Subject::Coverage(_)
        | Subject::Day(_) => None,
    }
}

fn data(tenant: &str, realm: RealmId, event: &Event) -> EventData {
    let account = event.account;
    match &event.subject {
        Subject::Voucher(found) => EventData::Voucher(voucher(
            realm,
            &AccountVoucher {
                account,
                voucher: Arc::new(found.as_ref().clone()),
            },
        )),
        Subject::Hold(found) => EventData::Hold(hold(
            realm,
            &HoldView::read(account, found.as_ref().clone()),
        )),
        Subject::Transfer(found) => EventData::Transfer(Box::new(transfer(
            realm,
            &TransferView::read(account, found.as_ref().clone()),
        ))),
        Subject::VoucherType(found) => EventData::VoucherType(voucher_type(tenant, found)),
        Subject::Account(found, balance, movements) => {
            let account = accounts::account(found, *balance, *movements, event.at);
            EventData::Account(Box::new(account))
        }
        Subject::Suspense(found) => EventData::Suspense(suspense(found)),
        Subject::Resolved(found) => EventData::Resolved(Box::new(resolved(realm, found))),
        Subject::Coverage(found) => EventData::Coverage(found.into()),
        Subject::Day(found) => EventData::Day(Box::new(ClosedDayBody::closed(found, event.at))),
    }
}
