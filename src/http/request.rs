//! Requests, each declared once. A declaration yields the typed request, the reader that finds every mistake, and the
//! schema of the OpenAPI document.
//!
//! **Shape.** Each field has its type, its name on the wire, how it is taken (a method of what the
//! request is read from, with a reader of raw JSON), and how the document shows it:
//!
//! ```text
//! request! {
//!     /// What the document says of the whole.
//!     strict struct SetAlias {
//!         /// What the document says of the field.
//!         alias: Alias = required("alias", text(Alias::parse)) as String { max_length = 20 };
//!     }
//! }
//! ```
//!
//! A request is `strict` or `lenient` ([`super::body`]), or `borrowed` ([`super::borrowed`]). A `_part` is an object
//! inside another. Readers may need arguments: `struct CreateAccount(caller: &Caller)`. `=> |fields| …` after a field
//! notes a mistake that concerns several; it may name the fields before it, each of which is `None` when it is absent
//! or wrong. `=> |fields| …` before all fields looks at the whole body, and `=> let sent = |fields| …` keeps the
//! result for the checks.
//!
//! **Order.** Fields are read, and mistakes found, in the order of the declaration.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, Schema};

/// Forbids fields next to those of a schema.
pub fn closed(mut schema: RefOr<Schema>) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    }
    schema
}

/// Declares a request: see [`crate::request`].
#[macro_export]
macro_rules! request {
    // A body.
    (
        $(#[$about:meta])+
        $kind:ident $vis:vis struct $name:ident $(as $shown:ident)? $(($($arg:ident: $needs:ty),+))? {
            $(=> $(let $sent:ident =)? |$first:ident| $before:expr;)?
            $(
                $(#[$doc:meta])*
                $field:ident: $type:ty = $how:ident($wire:literal, $($read:expr),+)
                    as $json:ty $({ $($schema:tt)+ })?;
                $(=> |$fields:ident| $check:expr;)?
            )+
        }
    ) => {
        request!(@typed [$(#[$about])+] $vis $name ($($($arg: $needs),+)?)
            [$($($sent)? |$first| $before)?] {$(
                [$(#[$doc])*] $field: $type = $how($wire, $($read),+) [$(|$fields| $check)?];
            )+}
        );
        request!(@read $kind $vis $name ($($($arg: $needs),+)?));
        request!(@shape $kind $name ($($shown)?) [$(#[$about])+] {$(
            [$(#[$doc])*] $field: $json = $wire ($($($schema)+)?);
        )+});
    };

    // The typed request, and how it is taken from fields.
    (@typed [$(#[$about:meta])+] $vis:vis $name:ident ($($arg:ident: $needs:ty),*)
        [$($($sent:ident)? |$first:ident| $before:expr)?] {$(
            [$(#[$doc:meta])*] $field:ident: $type:ty = $how:ident($wire:literal, $($read:expr),+)
                [$(|$fields:ident| $check:expr)?];
        )+}
    ) => {
        $(#[$about])+
        #[derive(Debug)]
        $vis struct $name {$(
            $(#[$doc])*
            $vis $field: $type,
        )+}

        impl $name {
            /// Takes its fields; `None` when one that has to be there left its mistake.
            $vis fn take(
                source: &mut $crate::body::Fields
                $(, $arg: $needs)*
            ) -> Option<Self> {
                source.know(&[$($wire),+]);
                $(
                    request!(@let ($($sent)?) {
                        let $first = &mut *source;
                        $before
                    });
                )?
                $(
                    let $field = source.$how($wire, $($read),+);
                    $({ let $fields = &mut *source; $check; })?
                )+
                Some(Self {$($field: request!(@kept $how $field)),+})
            }
        }
    };
    (@let () $seen:block) => { $seen };
    (@let ($sent:ident) $seen:block) => { let $sent = $seen; };

    // An object whose text outlives its reading.
    (
        $(#[$about:meta])+
        borrowed<$lt:lifetime> $vis:vis struct $name:ident $(<$own:lifetime>)? $(as $shown:ident)? {$(
            $(#[$doc:meta])*
            $field:ident: $type:ty = $how:ident($wire:literal, $read:expr)
                as $json:ty $({ $($schema:tt)+ })?;
            $(=> |$fields:ident| $check:expr;)?
        )+}
    ) => {
        $(#[$about])+
        #[derive(Debug)]
        $vis struct $name $(<$own>)? {$(
            $(#[$doc])*
            $vis $field: $type,
        )+}

        impl<$lt> $name $(<$own>)? {
            /// Reads it from its text; `None` when that is no object, or one that has a field twice.
            $vis fn read(text: &$lt str) -> Option<Result<Self, $crate::errors::ApiError>> {
                let names = [$($wire),+];
                let mut source = $crate::borrowed::Slots::read(names, text)?;
                let whole = Self::take(&mut source);
                Some(source.finish(whole))
            }

            fn take(
                source: &mut $crate::borrowed::Slots<$lt, { [$($wire),+].len() }>,
            ) -> Option<Self> {
                $(
                    let $field = source.$how($wire, $read);
                    $({ let $fields = &mut *source; $check; })?
                )+
                Some(Self {$($field: request!(@kept $how $field)),+})
            }
        }

        request!(@shape strict $name ($($shown)?) $(<$own>)? [$(#[$about])+] {$(
            [$(#[$doc])*] $field: $json = $wire ($($($schema)+)?);
        )+});
    };

    // What is kept of what was taken.
    (@kept required $taken:ident) => { $taken? };
    (@kept optional $taken:ident) => { $taken };
    (@kept unless_blank $taken:ident) => { $taken };
    (@kept nullable $taken:ident) => { $taken };
    (@kept change $taken:ident) => { $taken };
    (@kept not_null $taken:ident) => { $taken };
    (@kept object $taken:ident) => { $taken.flatten() };
    (@kept not_null_object $taken:ident) => { $taken.flatten() };
    (@kept nullable_object $taken:ident) => {
        match $taken {
            Some(Some(taken)) => Some(Some(taken?)),
            Some(None) => Some(None),
            None => None,
        }
    };
    (@kept required_object $taken:ident) => { $taken.flatten()? };
    (@kept objects $taken:ident) => {
        match $taken {
            Some(listed) => Some(listed.into_iter().collect::<Option<_>>()?),
            None => None,
        }
    };
    (@kept nullable_objects $taken:ident) => {
        match $taken {
            Some(listed) => Some(listed.into_iter().collect::<Option<_>>()?),
            None => None,
        }
    };
    (@kept required_objects $taken:ident) => { $taken?.into_iter().collect::<Option<_>>()? };

    (@read strict $vis:vis $name:ident ($($arg:ident: $needs:ty),*)) => {
        request!(@read fields $vis $name ($($arg: $needs),*));
    };
    (@read lenient $vis:vis $name:ident ($($arg:ident: $needs:ty),*)) => {
        request!(@read lenient_fields $vis $name ($($arg: $needs),*));
    };
    // It is part of another.
    (@read strict_part $($rest:tt)*) => {};
    (@read lenient_part $($rest:tt)*) => {};
    (@read $fields:ident $vis:vis $name:ident ($($arg:ident: $needs:ty),*)) => {
        impl $name {
            /// Reads it from a body.
            ///
            /// # Errors
            /// 400 with every mistake.
            $vis fn read(
                body: $crate::body::Body
                $(, $arg: $needs)*
            ) -> Result<Self, $crate::errors::ApiError> {
                let mut fields = body.$fields();
                let whole = Self::take(&mut fields $(, $arg)*);
                fields.finish(whole)
            }
        }
    };

    // What the document shows, under the name that it has there when others mention it.
    (
        @shape $kind:ident $name:ident ($($shown:ident)?) $(<$own:lifetime>)? [$(#[$about:meta])+] {$(
            [$(#[$doc:meta])*] $field:ident: $json:ty = $wire:literal ($($schema:tt)*);
        )+}
    ) => {
        const _: () = {
            $(#[$about])+
            #[derive(utoipa::ToSchema)]
            $(#[schema(as = $shown)])?
            #[expect(dead_code, reason = "what the document shows is never made")]
            struct Shape {$(
                $(#[$doc])*
                #[schema(rename = $wire, $($schema)*)]
                $field: $json,
            )+}

            impl $(<$own>)? utoipa::PartialSchema for $name $(<$own>)? {
                fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                    request!(@closed $kind <Shape as utoipa::PartialSchema>::schema())
                }
            }

            impl $(<$own>)? utoipa::ToSchema for $name $(<$own>)? {
                fn name() -> std::borrow::Cow<'static, str> {
                    <Shape as utoipa::ToSchema>::name()
                }

                fn schemas(
                    into: &mut Vec<(
                        String,
                        utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>,
                    )>,
                ) {
                    <Shape as utoipa::ToSchema>::schemas(into);
                }
            }
        };
    };
    (@closed strict $schema:expr) => { $crate::request::closed($schema) };
    (@closed strict_part $schema:expr) => { $crate::request::closed($schema) };
    (@closed lenient $schema:expr) => { $schema };
    (@closed lenient_part $schema:expr) => { $schema };
}
pub use request;
