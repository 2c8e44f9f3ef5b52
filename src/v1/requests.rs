//! The shapes of the native family's requests, for the OpenAPI document. They are read field by
//! field (see [`crate::http::body`]); a test holds both against each other.

#![expect(dead_code, reason = "read by the OpenAPI document only")]

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

/// Parameters of every list.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Rows of the page, 1–200; 50 when absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Rows to skip; use `cursor` for deep pages.
    #[param(minimum = 0, maximum = 10_000_000)]
    offset: Option<u64>,
    /// `asc` or `desc` (when absent).
    order: Option<String>,
    /// A value of `X-Next-Cursor`.
    cursor: Option<String>,
}

/// A new account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateAccountDto {
    /// Tax id, 11 digits with a right check digit.
    #[schema(pattern = "^[0-9]{11}$", example = "20267565393")]
    cuit: String,
    /// The holder's name.
    #[schema(min_length = 1, max_length = 100)]
    holder_name: String,
    /// `human` or `legal`; follows from the CUIT when absent.
    person_type: Option<PersonTypeDto>,
    /// The bank assigns one when absent.
    #[schema(pattern = "^[A-Za-z0-9.-]{6,20}$")]
    alias: Option<String>,
    /// E-mail.
    email: Option<String>,
    /// Phone.
    phone: Option<String>,
    /// The tenant's own id, unique in the realm.
    #[schema(min_length = 1, max_length = 64)]
    external_id: Option<String>,
    /// At most 50 texts.
    metadata: Option<BTreeMap<String, String>>,
}

/// Natural or legal person.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonTypeDto {
    /// Natural person.
    Human,
    /// Legal person.
    Legal,
}

/// Why an account is suspended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionCodeDto {
    /// Suspected fraud.
    Fraud,
    /// A matter of compliance.
    Compliance,
    /// An order of a court.
    CourtOrder,
    /// The holder asked for it.
    CustomerRequest,
    /// Anything else.
    Other,
}

/// A change of limits: absent stays, null inherits, 0 lets nothing pass. Amounts as string or number.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the fields are documented with the limits themselves"
)]
pub struct UpdateLimitsDto {
    pub max_per_transaction: Option<String>,
    pub daily_amount: Option<String>,
    pub daily_count: Option<u64>,
    pub monthly_amount: Option<String>,
    pub monthly_count: Option<u64>,
    pub max_balance: Option<String>,
}

/// One holder.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TitularDto {
    /// Tax id, 11 digits.
    cuit: String,
    /// Name.
    name: String,
    /// `human` or `legal`; follows from the CUIT when absent.
    person_type: Option<PersonTypeDto>,
}

/// Names and holders; the first of `titulares` has the CUIT of the CVU.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateAccountIdentidadDto {
    /// The holder's name, when it changes.
    holder_name: Option<String>,
    /// Has to agree with the CUIT.
    person_type: Option<PersonTypeDto>,
    /// All holders, at most 20.
    #[schema(min_items = 1, max_items = 20)]
    titulares: Vec<TitularDto>,
}

/// A postal address.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it all")]
pub struct AddressDto {
    pub street: Option<String>,
    pub number: Option<String>,
    pub floor: Option<String>,
    pub apartment: Option<String>,
    pub city_code: Option<String>,
    pub province_code: Option<String>,
    pub postal_code: Option<String>,
}

/// KYC and registry data; what is sent is set.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the fields are documented with the data itself"
)]
pub struct UpdateAccountKycDto {
    pub nationality: Option<String>,
    pub birth_country: Option<String>,
    pub birth_date: Option<String>,
    pub sex: Option<String>,
    pub dni: Option<String>,
    pub document_type: Option<String>,
    pub marital_status: Option<String>,
    pub occupation: Option<String>,
    #[schema(pattern = "^[0-9]{6}$")]
    pub afip_activity: Option<String>,
    pub pep: Option<bool>,
    pub uif: Option<bool>,
    pub fatca: Option<bool>,
    pub ocde: Option<bool>,
    pub email: Option<String>,
    pub phone: Option<String>,
    pub address: Option<AddressDto>,
    pub risk_level: Option<String>,
    #[schema(minimum = 0, maximum = 3)]
    pub kyc_level: Option<u8>,
    pub verified_at: Option<String>,
}

/// The direction of a custom type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SenseDto {
    /// Money comes in.
    Credit,
    /// Money goes out.
    Debit,
}

/// A transfer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendTransferDto {
    /// The CVU that sends.
    #[schema(pattern = "^000[0-9]{19}$")]
    from_cvu: String,
    /// Where to: exactly one of its fields.
    to: DestinationDto,
    /// ARS, greater than 0, at most 2 decimals; a string or a number.
    #[schema(example = "1500.50")]
    amount: String,
    /// `ALQ`, `CUO`, `EXP`, `FAC`, `PRE`, `SEG`, `HON`, `HAB` or `VAR` (when absent).
    concept: Option<String>,
    /// A line for people.
    #[schema(max_length = 100)]
    description: Option<String>,
    /// The tenant's own id: idempotent over the realm's transfers.
    #[schema(min_length = 1, max_length = 64)]
    id_externo: String,
}

/// Where a transfer goes: exactly one of these.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DestinationDto {
    /// A CVU.
    #[schema(pattern = "^000[0-9]{19}$")]
    cvu: Option<String>,
    /// A CBU.
    #[schema(pattern = "^[0-9]{22}$")]
    cbu: Option<String>,
    /// An alias.
    #[schema(pattern = "^[A-Za-z0-9.-]{6,20}$")]
    alias: Option<String>,
}

/// Which events to send once more.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RedeliverDto {
    /// The id of the first event.
    from: String,
    /// The id of the last event; the last one of now when absent.
    to: Option<String>,
}
