//! Parameters that several operations have and that each reads in its own way, as the document shows them: each
//! is declared once here, is a component of the document under the name of its type, and operations refer to it.
//!
//! Those that are also read in one way are in [`super::params`]; those with Spanish names are with the wallet
//! family.

use utoipa::openapi::path::{Parameter, ParameterIn};

use super::params::PageParams;

/// Declares parameters: where each is, its name there, and the type that the document shows.
#[macro_export]
macro_rules! declared {
    ($(
        $(#[$about:meta])+
        $name:ident = $place:ident $wire:literal as $json:ty $({ $($schema:tt)+ })?;
    )+) => {
        $(
            $(#[$about])+
            #[derive(Debug, utoipa::IntoParams)]
            #[into_params(parameter_in = $place)]
            #[expect(dead_code, reason = "read by the OpenAPI document only")]
            pub struct $name {
                $(#[$about])+
                #[param(rename = $wire, $($($schema)+)?)]
                value: $json,
            }
        )+

        /// Each with the name of its type.
        pub fn all() -> impl Iterator<Item = (&'static str, utoipa::openapi::path::Parameter)> {
            let all = [$((
                stringify!($name),
                <$name as utoipa::IntoParams>::into_params(|| None),
            )),+];
            all.into_iter().flat_map(|(name, made)| made.into_iter().map(move |it| (name, it)))
        }
    };
}
pub use declared;

declared! {
    /// The CVU of an account, 22 digits.
    CvuInPath = Path "cvu" as String { pattern = "^000[0-9]{19}$" };
    /// The CVU of an account, 22 digits.
    CvuInQuery = Query "cvu" as String { pattern = "^000[0-9]{19}$" };
    /// The id of a voucher, `cmp_…`.
    VoucherInPath = Path "id" as String;
    /// The id of a hold, `hld_…`.
    HoldInPath = Path "id" as String;
    /// The id of a webhook, `whk_…`.
    WebhookInPath = Path "id" as String;
    /// The code of a custom type.
    TypeInPath = Path "code" as String { pattern = "^[A-Za-z0-9_-]{2,40}$" };
    /// The tenant's own id, percent-encoded: a `/` is `%2F`.
    IdExternoInPath = Path "idExterno" as String { min_length = 1, max_length = 64 };
    /// Only answer what would happen; nothing is done.
    DryRun = Query "dryRun" as Option<bool>;
    /// In CVU, alias, holder's name or CUIT.
    ClientText = Query "q" as Option<String>;
    /// An instant, RFC 3339, not in the future, instead of a day.
    AsOf = Query "asOf" as Option<String>;
    /// An instant, RFC 3339, instead of a day.
    At = Query "at" as Option<String>;
    /// A business day, `YYYY-MM-DD`, not in the future.
    Date = Query "date" as Option<String>;
    /// Only of these types, with commas between them; `hold.*` is every type that begins so.
    EventTypes = Query "types" as Option<String>;
    /// An `ETag` that was read before: 412 if the account has changed since.
    IfMatch = Header "If-Match" as Option<String>;
    /// Makes the request safe to repeat: the same key with the same JSON gives the first answer again, for 7 days
    /// unless the operator has set another time (`idempotency_days`).
    IdempotencyKey = Header "Idempotency-Key" as Option<String> { pattern = "^[!-~]{1,255}$" };
}

/// Picks parameters of [`PageParams`], for lists that do not have all of them.
macro_rules! picked {
    ($($(#[$about:meta])+ $name:ident = $wire:literal;)+) => {$(
        $(#[$about])+
        #[derive(Debug)]
        pub struct $name;

        impl utoipa::IntoParams for $name {
            fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
                let mut picked = <PageParams as utoipa::IntoParams>::into_params(place);
                picked.retain(|parameter| parameter.name == $wire);
                picked
            }
        }
    )+};
}

picked! {
    /// How many rows a page has.
    Limit = "limit";
    /// Which rows come first.
    Order = "order";
    /// Where a list goes on.
    Cursor = "cursor";
}
