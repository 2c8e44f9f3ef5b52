//! The JSON of a collector account's day: the bank's statement, each movement with what it is for the ledger.

use caudal_actors::engine::collector::{
    ClientRecord, CollectorItem, CollectorReport, CollectorSide,
};
use caudal_actors::ports::Collector;
use caudal_ledger::ids::RealmId;
use serde::Serialize;
use utoipa::ToSchema;

use super::counterparty::CounterpartyBody;
use super::texts::{Day, Instant, Pesos};
use super::treasury::CollectorBody;
use super::words::{CollectorClassWord, MatchWord, WayWord};

/// The word for a movement that belongs to a client.
pub const MATCHED: &str = "matched";

/// The record of a client's movement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct MovementMatch {
    /// `transfer`, `voucher` (of money that arrived or came back), `suspense` (money that no account could take) or
    /// `return` (of money in suspense).
    #[serde(rename = "type")]
    #[schema(value_type = MatchWord)]
    pub kind: &'static str,
    /// Its id.
    pub id: String,
}

impl From<ClientRecord> for MovementMatch {
    fn from(record: ClientRecord) -> Self {
        let (kind, id) = match record {
            ClientRecord::Transfer(id) => ("transfer", id.to_string()),
            ClientRecord::Voucher(id) => ("voucher", id.to_string()),
            ClientRecord::Suspense(id) => ("suspense", id.to_string()),
            ClientRecord::Return(id) => ("return", id.to_string()),
        };
        Self { kind, id }
    }
}

/// A movement of the collector account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectorMovementBody {
    /// The bank's own id.
    pub bank_id: String,
    /// When the bank posted it.
    pub at: Instant,
    /// `in` or `out`.
    #[schema(value_type = WayWord)]
    pub direction: &'static str,
    /// ARS with two decimals.
    pub amount: Pesos,
    /// The bank's text.
    pub text: String,
    /// The other side, as far as the bank says.
    pub counterparty: CounterpartyBody,
    /// `matched` for a client's movement; else what it is: `bank_fee`, `bank_tax`, `interest`, `funding` (the PSP's own
    /// money in), `sweep` (its own money out) or `unclassified`.
    #[schema(value_type = CollectorClassWord)]
    pub class: &'static str,
    /// The ledger's record of a client's movement; null while the ledger has not booked it, and for the account's own.
    #[serde(rename = "match")]
    pub matched: Option<MovementMatch>,
    /// Whether the bank lists it. A movement that the bank has withdrawn is shown as it was recorded, and is in no sum.
    pub listed: bool,
    /// Whether the bank now lists it with another direction, amount or day than when it was recorded.
    pub changed: bool,
    /// The id under which operators decide what it is; null for a client's movement, and while it could not be recorded.
    pub case_id: Option<String>,
}

impl CollectorMovementBody {
    /// A movement of a realm's collector account.
    pub fn of(realm: RealmId, item: &CollectorItem) -> Self {
        let movement = &item.movement;
        let (class, matched, case_id) = match &item.side {
            CollectorSide::Client(record) => (MATCHED, record.map(Into::into), None),
            CollectorSide::Own(record) => {
                let id = record.is_recorded().then(|| record.id(realm).to_string());
                (record.class.as_str(), None, id)
            }
        };
        Self {
            bank_id: movement.bank_id.clone(),
            at: movement.at.into(),
            direction: if movement.incoming { "in" } else { "out" },
            amount: movement.amount.into(),
            text: movement.text.clone(),
            counterparty: CounterpartyBody {
                coelsa_id: movement.coelsa_id.clone(),
                ..movement.counterparty.clone().into()
            },
            class,
            matched,
            listed: item.listed,
            changed: item.has_changed(),
            case_id,
        }
    }
}

/// A business day of the collector account: `opening` + `in` − `out` = `closing`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct CollectorDayBody {
    /// The business day.
    pub date: Day,
    /// The account.
    pub collector: CollectorBody,
    /// The bank's balance before the first movement of the day; null when the bank reports none.
    pub opening: Option<Pesos>,
    /// The sum of what came in.
    #[serde(rename = "in")]
    pub incoming: Option<Pesos>,
    /// The sum of what left.
    #[serde(rename = "out")]
    pub outgoing: Option<Pesos>,
    /// The bank's balance after the last movement of the day.
    pub closing: Option<Pesos>,
    /// What the balance changed by and no movement explains: 0.00 on a day that adds up.
    pub unexplained: Option<Pesos>,
    /// Every movement, in the bank's order; then those that the bank has withdrawn.
    pub items: Vec<CollectorMovementBody>,
}

impl CollectorDayBody {
    /// The day of a realm's collector account.
    pub fn of(realm: RealmId, collector: Collector, report: &CollectorReport) -> Self {
        let sums = report.sums.as_ref();
        let items = report.items.iter();
        Self {
            date: report.day.into(),
            collector: CollectorBody {
                cbu: collector.cbu,
                bank: collector.bank,
            },
            opening: sums.map(|sums| sums.opening.into()),
            incoming: sums.map(|sums| sums.incoming.into()),
            outgoing: sums.map(|sums| sums.outgoing.into()),
            closing: sums.map(|sums| sums.closing.into()),
            unexplained: sums.map(|sums| sums.unexplained().into()),
            items: items
                .map(|item| CollectorMovementBody::of(realm, item))
                .collect(),
        }
    }
}
