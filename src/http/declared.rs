//! Parameters of paths and headers, each declared once: where it is, its name there, the type that the document shows,
//! and, in a path, how it is read.
//!
//! Those of several operations are here; those of one are declared next to it, and those with Spanish names with the
//! wallet family. Parameters of queries are in [`super::params`].

use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{HoldId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::webhooks::WebhookId;

use super::errors::ApiError;
use super::words::Mistake;

/// Declares parameters: see [`crate::declared`].
#[macro_export]
macro_rules! declared {
    ($(
        $(#[$about:meta])+
        $name:ident = $place:ident $wire:literal as $json:ty $({ $($schema:tt)+ })?
            $(=> $type:ty: $read:expr)?;
    )+) => {$(
        $(#[$about])+
        #[derive(Debug)]
        pub struct $name;

        $crate::params!(@shown $place $name {
            $(#[$about])+
            value: $json = $wire { $($($schema)+)? };
        });

        $(impl $name {
            /// Reads it.
            ///
            /// # Errors
            /// 400 that names it, or 404 for an id that names nothing.
            pub fn read(text: &str) -> Result<$type, $crate::errors::ApiError> {
                ($read)($wire, text)
            }
        })?
    )+};
}
pub use declared;

/// A reader of a value that has to parse.
pub fn field<T, E: Into<Mistake>>(
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> impl FnOnce(&str, &str) -> Result<T, ApiError> {
    move |name, text| parse(text).map_err(|why| ApiError::field(name, why))
}

/// A reader of an id: a malformed one names nothing, like one that was never given out.
pub fn id<T>(
    parse: impl FnOnce(&str) -> Option<T>,
    unknown: Rejection,
) -> impl FnOnce(&str, &str) -> Result<T, ApiError> {
    move |_, text| parse(text).ok_or_else(|| unknown.into())
}

declared! {
    /// The CVU of an account, 22 digits.
    CvuInPath = Path "cvu" as String { pattern = "^000[0-9]{19}$" } => Cvu: field(Cvu::parse);
    /// The id of a voucher, `cmp_…`.
    VoucherInPath = Path "id" as String
        => VoucherId: id(VoucherId::parse, Rejection::VoucherNotFound);
    /// The id of a hold, `hld_…`.
    HoldInPath = Path "id" as String => HoldId: id(HoldId::parse, Rejection::HoldNotFound);
    /// The id of a webhook, `whk_…`.
    WebhookInPath = Path "id" as String
        => WebhookId: id(WebhookId::parse, Rejection::WebhookNotFound);
    /// The code of a custom type.
    TypeInPath = Path "code" as String { pattern = "^[A-Za-z0-9_-]{2,40}$" }
        => TypeCode: field(TypeCode::parse);
    /// The tenant's own id, percent-encoded: a `/` is `%2F`.
    IdExternoInPath = Path "idExterno" as String { min_length = 1, max_length = 64 }
        => ExternalId: field(ExternalId::parse);
    /// An `ETag` that was read before: 412 if the account has changed since.
    IfMatch = Header "If-Match" as Option<String>;
    /// Makes the request safe to repeat: the same key with the same JSON gives the first answer again, for 7 days
    /// unless the operator has set another time (`idempotency_days`).
    IdempotencyKey = Header "Idempotency-Key" as Option<String> { pattern = "^[!-~]{1,255}$" };
}
