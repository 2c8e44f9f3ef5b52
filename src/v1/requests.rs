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

/// A suspension.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendAccountDto {
    /// Why, for people.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
    /// Why, as a word; `other` when absent.
    code: Option<SuspensionCodeDto>,
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

/// An alias.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAliasDto {
    /// 6–20 letters without accents, digits, dots and dashes; case does not matter.
    #[schema(pattern = "^[A-Za-z0-9.-]{6,20}$")]
    alias: String,
}

/// A new voucher type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateVoucherTypeDto {
    /// 2–40 letters, digits and underscores; lower case is raised.
    #[schema(pattern = "^[A-Za-z0-9_]{2,40}$")]
    code: String,
    /// 1–80 characters.
    #[schema(min_length = 1, max_length = 80)]
    name: String,
    /// `credit` or `debit`.
    sense: SenseDto,
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

/// Switches a voucher type.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ToggleVoucherTypeDto {
    /// Whether new vouchers of it are accepted.
    active: bool,
}

/// A hold.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenHoldDto {
    /// ARS, greater than 0, at most 2 decimals; a string or a number.
    #[schema(example = "1500.50")]
    amount: String,
    /// The tenant's own id: idempotent for holds over the realm.
    #[schema(min_length = 1, max_length = 64)]
    id_externo: String,
    /// A line for people.
    #[schema(max_length = 200)]
    description: Option<String>,
    /// When its rest is released by itself, RFC 3339; never when absent.
    expires_at: Option<String>,
}

/// A step of a hold; without a body all that is left.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldStepDto {
    /// How much of what is left; all of it when absent.
    amount: Option<String>,
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

/// A new webhook.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhookDto {
    /// Where events go: https, port 443 or 8443, at a public address.
    #[schema(max_length = 2048, example = "https://psp.example/caudal")]
    url: String,
    /// The types that it wants, such as `voucher.created` or `hold.*`; all when absent.
    #[schema(min_items = 1, max_items = 64)]
    types: Option<Vec<String>>,
    /// A line for people.
    #[schema(min_length = 1, max_length = 200)]
    description: Option<String>,
}

/// Changes of a webhook; absent fields stay as they are.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeWebhookDto {
    /// Where events go.
    #[schema(max_length = 2048)]
    url: Option<String>,
    /// The types that it wants; null is all.
    #[schema(min_items = 1, max_items = 64)]
    types: Option<Vec<String>>,
    /// A line for people; null removes it.
    #[schema(min_length = 1, max_length = 200)]
    description: Option<String>,
    /// Whether events are sent; true also lets a parked or gone webhook go on.
    active: Option<bool>,
}

/// How long the old secret goes on signing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RotateSecretDto {
    /// In seconds; a day when absent, 0 ends it at once.
    #[schema(minimum = 0, maximum = 604_800)]
    overlap_seconds: Option<u64>,
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
