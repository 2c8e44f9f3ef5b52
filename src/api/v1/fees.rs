//! The cost of a movement, before it is made.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get};
use caudal_actors::realms::{QuoteFees, Target};
use caudal_http::bodies::body;
use caudal_http::bodies::texts::Pesos;
use caudal_http::bodies::words::{CurrencyWord, LedgerTypeWord, LevelWord};
use caudal_http::caller::Caller;
use caudal_http::errors::ApiError;
use caudal_http::params::params;
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::respond::json;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::fees::quotes::Quote;
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::voucher_types::TypeCode;
use serde::Serialize;
use utoipa::ToSchema;

/// The fee of a preview.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct PreviewFee {
    /// In percent of the amount.
    pub percentage: String,
    /// Added to the percentage: ARS with two decimals.
    pub fixed: Pesos,
    /// The least fee; null for none.
    pub minimum: Option<Pesos>,
    /// The largest fee; null for none.
    pub maximum: Option<Pesos>,
    /// The fee.
    pub amount: Pesos,
    /// Whose schedule it is from: `account`, `psp`, `platform` or `none`.
    #[schema(value_type = LevelWord)]
    pub source: &'static str,
}

/// The tax on the fee.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct PreviewTax {
    /// In percent.
    pub rate: String,
    /// What it is taken of: the fee.
    pub base: Pesos,
    /// The tax.
    pub amount: Pesos,
}

body! {
    /// What a movement would cost; nothing is posted.
    pub(crate) struct FeePreview {
        /// The CVU.
        cvu: String;
        /// The type.
        voucher_type_code: String;
        /// The direction of the type.
        direction: &'static str as LedgerTypeWord;
        /// The amount that was asked about.
        importe: String;
        /// Always `ARS`.
        currency: &'static str as CurrencyWord;
        /// The fee.
        fee: PreviewFee;
        /// The tax on it.
        tax: PreviewTax;
        /// Fee and tax.
        total_charges: Pesos;
        /// What the movement comes to: a credit less its charges, anything else with them.
        net_amount: Pesos;
        /// What is available now.
        available: Pesos;
        /// Whether that is enough.
        sufficient: bool;
    }
}

impl FeePreview {
    /// Renders a quote; `None` where a sum leaves the range of money.
    fn of(quote: &Quote) -> Option<Self> {
        let rule = quote.rule.as_ref();
        let percent = |rate: Option<String>| rate.unwrap_or_else(|| "0".to_owned());
        let fee = PreviewFee {
            percentage: percent(rule.map(|rule| rule.percentage.normalize().to_string())),
            fixed: rule.map_or(Money::ZERO, |rule| rule.fixed).into(),
            minimum: rule.and_then(|rule| rule.minimum).map(Into::into),
            maximum: rule.and_then(|rule| rule.maximum).map(Into::into),
            amount: quote.charges.fee.into(),
            source: quote.source.as_str(),
        };
        let tax = PreviewTax {
            rate: percent(rule.map(|rule| rule.tax_rate.normalize().to_string())),
            base: quote.charges.fee.into(),
            amount: quote.charges.tax.into(),
        };
        Some(Self {
            cvu: quote.cvu.to_string(),
            voucher_type_code: quote.voucher_type.code.to_string(),
            direction: quote.voucher_type.direction().as_str(),
            importe: quote.amount.to_string(),
            currency: "ARS",
            fee,
            tax,
            total_charges: quote.total_charges()?.into(),
            net_amount: quote.net_amount()?.into(),
            available: quote.available.into(),
            sufficient: quote.sufficient()?,
        })
    }
}

params! {
    /// The movement whose cost is asked for.
    struct PreviewParams {
        /// The CVU of an account, 22 digits.
        cvu: Cvu = required("cvu", Cvu::parse) as String { pattern = "^000[0-9]{19}$" };
        /// ARS, greater than 0, at most 2 decimals
        amount: Amount = required("importe", Amount::parse) as String;
        /// the code of a voucher type, system or custom
        code: TypeCode = required("voucherTypeCode", TypeCode::parse)
            as String { pattern = "^[A-Za-z0-9_-]{2,40}$" };
    }
}

/// Says what a movement would cost, by the schedule that would charge it; nothing is posted.
///
/// Fee and tax by the schedule of the account, the tenant or the platform, in this order.
#[utoipa::path(
    operation_id = "previewFee",
    tag = "Fees",
    params(PreviewParams),
    responses((status = 200, body = FeePreview), Problems)
)]
#[get("/v1/fees/preview")]
pub(crate) async fn preview(caller: Caller, query: Query) -> Result<HttpResponse, ApiError> {
    let PreviewParams { cvu, amount, code } = PreviewParams::read(query)?;
    let target = Target::Cvu(cvu);
    let quote = caller.queries().ask(
        caller.realm(),
        QuoteFees {
            target,
            code,
            amount,
        },
    );
    let body = FeePreview::of(&quote.await?).ok_or(Rejection::AmountOverflow)?;
    Ok(json(StatusCode::OK, &body))
}
