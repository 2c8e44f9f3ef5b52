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
use caudal_ledger::tenants::scopes::Group;
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
    pub struct ResolvedBody as ResolvedSuspense by resolved(realm: RealmId, parked: &Parked) {
        => let (credited_cvu, voucher_id) = match &parked.state {
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
        => let returned = parked.returned();
        /// Its id.
        id: String = parked.id(realm).to_string();
        /// `credited` or `returned`.
        outcome: &'static str as OutcomeWord = parked.state.as_str();
        /// The CVU that it was credited to.
        credited_cvu: Option<String> = credited_cvu;
        /// The voucher that credited it.
        voucher_id: Option<String> = voucher_id;
        /// The reference at the bank of the transfer that returned it.
        return_origin_id: Option<String> = returned.map(|it| it.origin.to_string());
        /// The bank's own id of that transfer.
        return_bank_transfer_id: Option<String> = returned.and_then(|it| it.bank_id.clone());
        /// Its id on the rail.
        return_coelsa_id: Option<String> = returned.and_then(|it| it.coelsa_id.clone());
        /// Who decided it, and why.
        decision: Option<DecisionBody> = parked.decision().map(DecisionBody::from);
        /// What arrived.
        #[serde(flatten)]
        arrived: SuspenseBody = suspense(&parked.suspense);
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
    let kinds = kinds.map(|kind| (kind.as_str(), kind.about(), data_of(*kind).0));
    kinds.chain([TEST])
}

/// What the `data` of an event of this kind shows: the name in the document of its schema, and the group of operations
/// whose reading shows the same.
pub(crate) const fn data_of(kind: EventKind) -> (&'static str, Group) {
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
        | EventKind::AccountRemunerationUpdated => ("AccountOfEvent", Group::Accounts),
        EventKind::VoucherCreated => ("ComprobanteResponse", Group::Vouchers),
        EventKind::HoldCreated
        | EventKind::HoldUpdated
        | EventKind::HoldConfirmed
        | EventKind::HoldReleased
        | EventKind::HoldExpired => ("Hold", Group::Holds),
        EventKind::TransferRequested
        | EventKind::TransferInProgress
        | EventKind::TransferAudit
        | EventKind::TransferCompleted
        | EventKind::TransferRejected
        | EventKind::TransferReversed
        | EventKind::TransferDecided => ("Transfer", Group::Transfers),
        EventKind::VoucherTypeCreated
        | EventKind::VoucherTypeUpdated
        | EventKind::VoucherTypeRemoved => ("VoucherTypeResponse", Group::Types),
        EventKind::CashInSuspended => ("SuspendedCashIn", Group::Reconciliation),
        EventKind::SuspenseResolved => ("ResolvedSuspense", Group::Reconciliation),
        EventKind::TreasuryUncovered | EventKind::TreasuryCovered => {
            ("TreasuryCoverage", Group::Treasury)
        }
        EventKind::DayClosed => ("ClosedDay", Group::Treasury),
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
            let account = AccountEvent::of(found, *balance, *movements, event.at);
            EventData::Account(Box::new(account))
        }
        Subject::Suspense(found) => EventData::Suspense(suspense(found)),
        Subject::Resolved(found) => EventData::Resolved(Box::new(resolved(realm, found))),
        Subject::Coverage(found) => EventData::Coverage(found.into()),
        Subject::Day(found) => EventData::Day(Box::new(ClosedDayBody::closed(found, event.at))),
    }
}
