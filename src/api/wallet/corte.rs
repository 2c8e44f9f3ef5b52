//! The instant of a list of balances in the wallet family, and the money of all clients then.

use caudal_actors::engine::lists::ListPage;
use caudal_actors::engine::treasury::Cut;
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

/// What belonged to all clients.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Totales {
    /// What could be spent.
    pub saldo: Importe,
    /// The same as text.
    pub available_balance: String,
    /// What was set apart.
    pub held_balance: String,
    /// The sum of both.
    pub total_balance: String,
}

impl From<&Cut> for Totales {
    fn from(cut: &Cut) -> Self {
        Self {
            saldo: Importe::of(cut.available),
            available_balance: cut.available.to_string(),
            held_balance: cut.held.to_string(),
            total_balance: cut.owed().to_string(),
        }
    }
}

/// The instant of all pages of a list; nothing where none was asked for, and each row is of the moment
/// in which it was read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Corte {
    /// The instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub as_of: Option<String>,
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
            as_of: at.map(|at| at.to_string()),
            definitivo: at.map(|at| caller.engine().is_settled(at)),
            secuencia: cut.map(|cut| cut.sequence),
            totales: cut.as_ref().map(Totales::from),
        })
    }
}

/// The instant that a query asks for: the end of a day, or any that is not in the future.
pub(super) fn instant(query: &mut Query, now: Timestamp) -> Option<Timestamp> {
    let day = query.past_day(now.business_day(), campos::day);
    let at = query.instant("asOf");
    if day.is_some() && at.is_some() {
        query.mistake("asOf", Mistake::Together { other: "date" });
    }
    if at.is_some_and(|at| at > now) {
        query.mistake("asOf", Mistake::InTheFuture);
    }
    at.or(day.map(BusinessDay::end))
}
