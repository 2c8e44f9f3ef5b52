//! The body of a batch, read without copying it.

use std::collections::BTreeMap;

use caudal_actors::realms::{Adjustment, Target, TypeRef};
use caudal_http::bodies::metadata::Metadata;
use caudal_http::bodies::words::BatchModeWord;
use caudal_http::body::read::{amount, boolean, line, string, text};
use caudal_http::body::{self, Fingerprint, json_error};
use caudal_http::errors::ApiError;
use caudal_http::pool::give_way;
use caudal_http::request::request;
use caudal_http::shapes::AmountDto;
use caudal_http::words::{Mistake, Refusal};
use caudal_ledger::chain::Canonical;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::VoucherId;
use caudal_ledger::money::Amount;
use caudal_ledger::text::ExternalId;
use caudal_ledger::voucher_types::TypeCode;
use serde_json::value::RawValue;

use super::ITEMS_MAX;
use crate::v1::metadata::METADATA;
use crate::v1::vouchers::{DESCRIPTION_MAX, details, voucher_id};

/// A batch as it was sent.
#[derive(Debug)]
pub(crate) struct SentBatch {
    /// Whether it is posted as a whole or not at all.
    pub atomic: bool,
    /// The items that can be read, in their order.
    pub orders: Vec<Adjustment>,
    /// The unreadable items, by their place.
    pub unreadable: BTreeMap<usize, ApiError>,
}

request! {
    /// One of many adjustment vouchers.
    borrowed<'a> pub(crate) struct BatchItem as BatchItemDto {
        /// The CVU.
        cvu: Cvu = required("cvu", text(Cvu::parse)) as String { pattern = "^000[0-9]{19}$" };
        /// A custom type of the tenant; required unless `reverses` is there.
        voucher_type_code: Option<TypeCode> =
            optional("voucherTypeCode", text(TypeCode::parse))
                as Option<String> { pattern = "^[A-Za-z0-9_-]{2,40}$" };
        /// The id of a voucher of the CVU that this one reverses, in place of `voucherTypeCode`.
        reverses: Option<VoucherId> = optional("reverses", text(voucher_id)) as Option<String>;
        => |fields| match (fields.has("voucherTypeCode"), fields.has("reverses")) {
            (false, false) => fields.mistake("voucherTypeCode", Mistake::Required),
            (true, true) => {
                let other = "voucherTypeCode";
                fields.mistake("reverses", Mistake::Contradicts { other });
            }
            (true, false) | (false, true) => {}
        };
        /// With `reverses`: whether its fee and tax are given back in proportion.
        refund_fees: Option<bool> = optional("refundFees", boolean) as Option<bool>;
        /// ARS, greater than 0, at most 2 decimals, as text; a number is read exactly, too.
        amount: Amount = required("amount", amount) as AmountDto;
        /// The tenant's own id: with the direction of the type, idempotent over the realm.
        id_externo: ExternalId = required("idExterno", text(ExternalId::parse))
            as String { min_length = 1, max_length = 64 };
        /// A line for people.
        description: Option<String> = unless_blank("description", line(DESCRIPTION_MAX))
            as Option<String> { max_length = 200 };
        /// The id of a voucher that this one belongs to.
        relates_to: Option<VoucherId> = optional("relatesTo", text(voucher_id)) as Option<String>;
        /// The tenant's own data: at most 20 texts with names of at most 40 characters.
        metadata: Option<BTreeMap<String, String>> = optional("metadata", |raw| METADATA.read(raw))
            as Option<Metadata>;
    }
}

request! {
    /// Many adjustment vouchers at once.
    borrowed<'a> pub(super) struct Batch<'a> as CreateComprobantesDto {
        /// `independent` (when absent): each has its own result. `atomic`: all or nothing.
        atomic: Option<bool> = optional("mode", mode) as Option<BatchModeWord>;
        /// The vouchers.
        items: Vec<&'a RawValue> = required("items", list)
            as Vec<BatchItem> { min_items = 1, max_items = 10_000 };
    }
}

fn item(raw: &RawValue) -> Result<Adjustment, ApiError> {
    let whole = BatchItem::read(raw.get());
    let sent =
        whole.unwrap_or_else(|| Err(ApiError::field("item", json_error::no_object(raw.get()))))?;
    let reverses = sent.reverses.map(|id| TypeRef::Reverses {
        id,
        refund_fees: sent.refund_fees.unwrap_or(false),
    });
    let voucher_type = sent.voucher_type_code.map(TypeRef::Code).or(reverses);
    let voucher_type =
        voucher_type.ok_or_else(|| ApiError::field("voucherTypeCode", Mistake::Required))?;
    Ok(Adjustment {
        target: Target::Cvu(sent.cvu),
        voucher_type,
        amount: Some(sent.amount),
        external_id: sent.id_externo,
        description: sent.description,
        external_date: None,
        details: details(sent.relates_to, sent.metadata),
        dry_run: false,
    })
}

const MODES: [(&str, bool); 2] = [("independent", false), ("atomic", true)];

fn mode(raw: &str) -> Result<bool, Mistake> {
    let sent = string(raw);
    let mut known = MODES.into_iter();
    let found = known.find(|(word, _)| Some(*word) == sent.as_deref());
    let (_, atomic) = found.ok_or_else(|| Mistake::among(&MODES))?;
    Ok(atomic)
}

fn list(raw: &str) -> Result<Vec<&RawValue>, Mistake> {
    let wrong = || Mistake::NotSomeObjects { max: ITEMS_MAX };
    let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(|_| wrong())?;
    if (1..=ITEMS_MAX).contains(&items.len()) {
        Ok(items)
    } else {
        Err(wrong())
    }
}

fn parts(body: &[u8]) -> Result<Batch<'_>, ApiError> {
    let body = std::str::from_utf8(body).map_err(|_| Refusal::NotUtf8)?;
    Batch::read(body).ok_or_else(|| json_error::no_body(body))?
}

/// Reads the body of a batch.
///
/// # Errors
/// 400 when the batch itself is wrong; unreadable items are returned by their place.
pub(crate) fn read(body: &[u8]) -> Result<SentBatch, ApiError> {
    let Batch { atomic, items } = parts(body)?;
    let mut orders = Vec::with_capacity(items.len());
    let mut unreadable = BTreeMap::new();
    for (index, sent) in items.into_iter().enumerate() {
        give_way(index);
        match item(sent) {
            Ok(order) => orders.push(order),
            Err(why) => {
                unreadable.insert(index, why);
            }
        }
    }
    Ok(SentBatch {
        atomic: atomic.unwrap_or(false),
        orders,
        unreadable,
    })
}

/// The fingerprint that tells a repeat of a batch from another batch. Items that read the same are the same, however
/// they are written; amounts are compared exactly.
///
/// # Errors
/// As [`read`].
pub(crate) fn fingerprint(sent: &[u8]) -> Result<Fingerprint, ApiError> {
    let Batch { atomic, items } = parts(sent)?;
    let atomic = atomic.unwrap_or(false);
    let mode = Canonical::default().text(if atomic { "atomic" } else { "independent" });
    let mode = mode.digest();
    let mut all = Canonical::default();
    for (index, sent) in items.into_iter().enumerate() {
        give_way(index);
        match item(sent) {
            Ok(order) => all = canonical(all.text("order"), &order),
            // an unreadable item is compared as a value
            Err(_) => all = all.text("unreadable").text(&body::canonical(sent.get())),
        }
    }
    let fields = [("mode", mode), ("items", all.digest())];
    Ok(fields.map(|(name, hash)| (name.to_owned(), hash)).into())
}

fn canonical(all: Canonical, order: &Adjustment) -> Canonical {
    let all = match order.target {
        Target::Cvu(cvu) => all.text(cvu.as_str()),
        Target::Account(account) => all.text(&account.to_string()),
    };
    let all = match &order.voucher_type {
        TypeRef::Code(code) => all.text(code.as_str()),
        TypeRef::Legacy(id) => all.text(&id.to_string()),
        TypeRef::Reverses { id, refund_fees } => {
            let all = all.text("reverses").text(&id.to_string());
            all.number(i64::from(*refund_fees))
        }
    };
    let all = all
        .number(order.amount.map_or(0, Amount::centavos))
        .text(order.external_id.as_str())
        .optional(order.description.as_deref());
    let Some(details) = &order.details else {
        return all;
    };
    let all = all.optional(details.relates_to.as_deref());
    let pairs = details.metadata.iter();
    pairs.fold(all, |all, (name, value)| all.text(name).text(value))
}
