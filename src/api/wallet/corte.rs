//! The instant of a list of balances in the wallet family, and the money of all clients then.

use caudal_actors::engine::lists::ListPage;
use caudal_actors::engine::treasury::Cut;
use caudal_http::bodies::body;
use caudal_http::caller::Caller;
use caudal_http::errors::ApiError;
use caudal_http::query::Query;
use caudal_http::words::Mistake;
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::campos;
use super::importe::Importe;
use crate::v1::treasury::cut_of;
use caudal_http::bodies::texts::{Instant, Pesos};
use caudal_http::params::{AsOf, params};

body! {
    /// What belonged to all clients.
    pub(crate) struct Totales from cut: &Cut {
        /// What could be spent.
        saldo: Importe = Importe::of(cut.available);
        /// The same as text.
        available_balance: Pesos = cut.available.into();
        /// What was set apart.
        held_balance: Pesos = cut.held.into();
        /// The sum of both.
        total_balance: Pesos = cut.owed().into();
    }
}

/// The instant of all pages of a list; nothing where none was asked for, and each row is of the moment
/// in which it was read.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Corte {
    /// The instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub as_of: Option<Instant>,
    /// Whether no movement can come any more that is not after the instant: then all pages are one cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub definitivo: Option<bool>,
    /// The vouchers of the realm up to the instant; on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub secuencia: Option<u64>,
    /// What belonged to all clients then; on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub totales: Option<Totales>,
}

impl Corte {
    /// The facts about an instant that a page shows.
    pub(crate) async fn of(
        caller: &Caller,
        at: Option<Timestamp>,
        page: &ListPage,
    ) -> Result<Self, ApiError> {
        let cut = cut_of(caller, at, page).await?;
        Ok(Self {
            as_of: at.map(Into::into),
            definitivo: at.map(|at| caller.queries().is_settled(caller.realm(), at)),
            secuencia: cut.map(|cut| cut.sequence),
            totales: cut.as_ref().map(Totales::from),
        })
    }
}

params! {
    /// The day that an operation about the past asks for, under either name.
    part pub struct PastDay(today: BusinessDay) {
        /// A business day, `YYYY-MM-DD` or `DD-MM-YYYY`, not in the future: as it was at its end.
        fecha: Option<BusinessDay> = read("fecha", campos::day) as Option<String> { format = Date };
        /// The same as `fecha`.
        date: Option<BusinessDay> = read("date", campos::day) as Option<String> { format = Date };
        => |query| query.one_day(today, date, fecha);
    }
}

impl PastDay {
    /// The day, if there is one.
    pub(crate) fn day(&self) -> Option<BusinessDay> {
        self.date.or(self.fecha)
    }
}

/// The instant that a query asks for: the end of a day, or any that is not in the future.
pub(super) fn instant(query: &mut Query, now: Timestamp) -> Option<Timestamp> {
    let day = PastDay::take(query, now.business_day()).day();
    let AsOf { as_of: at } = AsOf::take(query, now);
    if day.is_some() && at.is_some() {
        query.mistake("asOf", Mistake::Together { other: "date" });
    }
    at.or(day.map(BusinessDay::end))
}
