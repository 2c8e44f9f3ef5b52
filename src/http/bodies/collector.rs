//! The JSON of a collector account's day: the bank's statement, each movement with what it is for the ledger.

use caudal_actors::engine::collector::{
    ClientRecord, CollectorItem, CollectorReport, CollectorSide,
};
use caudal_actors::ports::Collector;
use caudal_ledger::ids::RealmId;

use super::body;
use super::counterparty::CounterpartyBody;
use super::texts::{Day, Instant, Pesos};
use super::treasury::CollectorBody;
use super::words::{CollectorClassWord, MatchWord, WayWord};

/// The word for a movement that belongs to a client.
pub const MATCHED: &str = "matched";

body! {
    /// The record of a client's movement.
    pub struct MovementMatch from record: ClientRecord {
        => let (kind, id) = match record {
            ClientRecord::Transfer(id) => ("transfer", id.to_string()),
            ClientRecord::Voucher(id) => ("voucher", id.to_string()),
            ClientRecord::Suspense(id) => ("suspense", id.to_string()),
            ClientRecord::Return(id) => ("return", id.to_string()),
        };
        /// `transfer`, `voucher` (of money that arrived or came back), `suspense` (money that no account could take) or
        /// `return` (of money in suspense).
        #[serde(rename = "type")]
        kind: &'static str as MatchWord = kind;
        /// Its id.
        id: String = id;
    }
}

body! {
    /// A movement of the collector account.
    pub struct CollectorMovementBody of(realm: RealmId, item: &CollectorItem) {
        => let movement = &item.movement;
        => let (class, matched, case_id) = match &item.side {
            CollectorSide::Client(record) => (MATCHED, record.map(Into::into), None),
            CollectorSide::Own(record) => {
                let id = record.is_recorded().then(|| record.id(realm).to_string());
                (record.class.as_str(), None, id)
            }
        };
        /// The bank's own id.
        bank_id: String = movement.bank_id.clone();
        /// When the bank posted it.
        at: Instant = movement.at.into();
        /// `in` or `out`.
        direction: &'static str as WayWord = if movement.incoming { "in" } else { "out" };
        /// ARS with two decimals.
        amount: Pesos = movement.amount.into();
        /// The bank's text.
        text: String = movement.text.clone();
        /// The other side, as far as the bank says.
        counterparty: CounterpartyBody = CounterpartyBody {
            coelsa_id: movement.coelsa_id.clone(),
            ..movement.counterparty.clone().into()
        };
        /// `matched` for a client's movement; else what it is: `bank_fee`, `bank_tax`, `interest`, `funding` (the PSP's own
        /// money in), `sweep` (its own money out) or `unclassified`.
        class: &'static str as CollectorClassWord = class;
        /// The ledger's record of a client's movement; null while the ledger has not booked it, and for the account's own.
        #[serde(rename = "match")]
        matched: Option<MovementMatch> = matched;
        /// Whether the bank lists it. A movement that the bank has withdrawn is shown as it was recorded, and is in no sum.
        listed: bool = item.listed;
        /// Whether the bank now lists it with another direction, amount or day than when it was recorded.
        changed: bool = item.has_changed();
        /// The id under which operators decide what it is; null for a client's movement, and while it could not be recorded.
        case_id: Option<String> = case_id;
    }
}

body! {
    /// A business day of the collector account: `opening` + `in` − `out` = `closing`.
    pub struct CollectorDayBody of(realm: RealmId, collector: Collector, report: &CollectorReport) {
        => let sums = report.sums.as_ref();
        => let items = report.items.iter();
        /// The business day.
        date: Day = report.day.into();
        /// The account.
        collector: CollectorBody = CollectorBody {
            cbu: collector.cbu,
            bank: collector.bank,
        };
        /// The bank's balance before the first movement of the day; null when the bank reports none.
        opening: Option<Pesos> = sums.map(|sums| sums.opening.into());
        /// The sum of what came in.
        #[serde(rename = "in")]
        incoming: Option<Pesos> = sums.map(|sums| sums.incoming.into());
        /// The sum of what left.
        #[serde(rename = "out")]
        outgoing: Option<Pesos> = sums.map(|sums| sums.outgoing.into());
        /// The bank's balance after the last movement of the day.
        closing: Option<Pesos> = sums.map(|sums| sums.closing.into());
        /// What the balance changed by and no movement explains: 0.00 on a day that adds up.
        unexplained: Option<Pesos> = sums.map(|sums| sums.unexplained().into());
        /// Every movement, in the bank's order; then those that the bank has withdrawn.
        items: Vec<CollectorMovementBody> = items
            .map(|item| CollectorMovementBody::of(realm, item))
            .collect();
    }
}
