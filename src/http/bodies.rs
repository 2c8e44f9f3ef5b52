//! The JSON of accounts, vouchers, holds, transfers, types and events, the same in the native family's answers, in
//! events and their webhooks, and for operators.
//!
//! **Shape.** A body is declared once, with `body!`: its fields, how the document shows them, and what each is
//! made of.
//!
//! ```text
//! body! {
//!     /// What the document says of the whole.
//!     pub struct HolderBody as Holder from holder: &ledger::Holder {
//!         => let name = &holder.name;
//!         /// What the document says of the field.
//!         name: String = name.clone();
//!         /// A field that is absent when it is `None`.
//!         email?: Option<String> = holder.email.clone();
//!         /// A field that the document shows as another type.
//!         person_type: &'static str as PersonTypeWord = holder.person_type.as_str();
//!     }
//! }
//! ```
//!
//! `as Holder` is its name in the document. `from` makes it `From` one value, `of(…)` gives it a function `of`, and `by
//! render(…)` declares the function `render`. `=>` precedes statements that come before the fields. A body that is made
//! elsewhere has fields without values.

pub mod accounts;
pub mod books;
pub mod collector;
pub mod counterparty;
pub mod days;
pub mod events;
pub mod holds;
pub mod kyc;
pub mod limits;
pub mod metadata;
pub mod nombres;
pub mod reconciliation;
pub mod statements;
pub mod texts;
pub mod transfers;
pub mod treasury;
pub mod update_limits;
pub mod voucher_types;
pub mod vouchers;
pub mod webhooks;
pub mod words;

/// Gives a type the schema that the document shows under a name; `with` another one that it refers to.
macro_rules! schema {
    (@all $type:ty, $name:expr, $schema:expr, [$($other:ty)?]) => {
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $schema.into()
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            $(fn schemas(
                into: &mut Vec<(
                    String,
                    utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>,
                )>,
            ) {
                use utoipa::{PartialSchema, ToSchema};
                let name = <$other as ToSchema>::name().into_owned();
                into.push((name, <$other as PartialSchema>::schema()));
                <$other as ToSchema>::schemas(into);
            })?
        }
    };
    ($type:ty, $name:expr, with $other:ty, $schema:expr $(,)?) => {
        schema!(@all $type, $name, $schema, [$other]);
    };
    ($type:ty, $name:expr, $schema:expr $(,)?) => {
        schema!(@all $type, $name, $schema, []);
    };
}
pub(crate) use schema;

/// Declares a body: see [`crate::bodies`].
#[macro_export]
macro_rules! body {
    // The fields one by one: for the type, and for what makes it.
    (@each $head:tt ($vis:vis) [$($fields:tt)*] [$($values:tt)*] [$($before:tt)*]
        => $statement:stmt; $($rest:tt)*
    ) => {
        body!(@each $head ($vis) [$($fields)*] [$($values)*] [$($before)* $statement] $($rest)*);
    };
    (@each $head:tt ($vis:vis) [$($fields:tt)*] [$($values:tt)*] [$($before:tt)*]
        $(#[$doc:meta])* $field:ident?: $type:ty $(as $json:ty)? $(= $value:expr)?; $($rest:tt)*
    ) => {
        body!(@each $head ($vis) [
            $($fields)*
            $(#[$doc])*
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schema(nullable = false $(, value_type = $json)?)]
            $vis $field: $type,
        ] [$($values)* $($field: $value,)?] [$($before)*] $($rest)*);
    };
    (@each $head:tt ($vis:vis) [$($fields:tt)*] [$($values:tt)*] [$($before:tt)*]
        $(#[$doc:meta])* $field:ident: $type:ty $(as $json:ty)? $(= $value:expr)?; $($rest:tt)*
    ) => {
        body!(@each $head ($vis) [
            $($fields)*
            $(#[$doc])*
            $(#[schema(value_type = $json)])?
            $vis $field: $type,
        ] [$($values)* $($field: $value,)?] [$($before)*] $($rest)*);
    };
    (@each ([$(#[$about:meta])*] $name:ident ($($shown:ident)?) $made:tt) ($vis:vis)
        [$($fields:tt)*] $values:tt $before:tt
    ) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Debug, serde::Serialize, utoipa::ToSchema)]
        #[serde(rename_all = "camelCase")]
        $(#[schema(as = $shown)])?
        $vis struct $name { $($fields)* }

        body!(@made $made ($vis) $name $values $before);
    };

    (@made () ($vis:vis) $name:ident [] []) => {};
    (@made (from $from:ident: $of:ty) ($vis:vis) $name:ident [$($values:tt)*] [$($before:tt)*]) => {
        impl From<$of> for $name {
            fn from($from: $of) -> Self {
                $($before)*
                Self { $($values)* }
            }
        }
    };
    (@made (of $($arg:ident: $needs:ty),+) ($vis:vis) $name:ident [$($values:tt)*] [$($before:tt)*]) => {
        impl $name {
            /// Renders it.
            $vis fn of($($arg: $needs),+) -> Self {
                $($before)*
                Self { $($values)* }
            }
        }
    };
    (@made (by $make:ident $($arg:ident: $needs:ty),+) ($vis:vis) $name:ident [$($values:tt)*] [$($before:tt)*]) => {
        /// Renders it.
        $vis fn $make($($arg: $needs),+) -> $name {
            $($before)*
            $name { $($values)* }
        }
    };

    (
        $(#[$about:meta])* $vis:vis struct $name:ident $(as $shown:ident)?
        from $from:ident: $of:ty { $($fields:tt)+ }
    ) => {
        body!(@each ([$(#[$about])*] $name ($($shown)?) (from $from: $of))
            ($vis) [] [] [] $($fields)+);
    };
    (
        $(#[$about:meta])* $vis:vis struct $name:ident $(as $shown:ident)?
        of($($arg:ident: $needs:ty),+) { $($fields:tt)+ }
    ) => {
        body!(@each ([$(#[$about])*] $name ($($shown)?) (of $($arg: $needs),+))
            ($vis) [] [] [] $($fields)+);
    };
    (
        $(#[$about:meta])* $vis:vis struct $name:ident $(as $shown:ident)?
        by $make:ident($($arg:ident: $needs:ty),+) { $($fields:tt)+ }
    ) => {
        body!(@each ([$(#[$about])*] $name ($($shown)?) (by $make $($arg: $needs),+))
            ($vis) [] [] [] $($fields)+);
    };
    (
        $(#[$about:meta])* $vis:vis struct $name:ident $(as $shown:ident)? { $($fields:tt)+ }
    ) => {
        body!(@each ([$(#[$about])*] $name ($($shown)?) ()) ($vis) [] [] [] $($fields)+);
    };
}
pub use body;
