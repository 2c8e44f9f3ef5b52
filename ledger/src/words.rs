//! What many types share: enums of words, types around a text, and defaults that are not stored.

/// Whether a value is the default of its type, so that a record need not have it.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Declares an enum of which each variant has a word.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$of_one:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        pub enum $name { $($(#[$of_one])* $variant,)+ }

        impl $name {
            /// Every variant, in the order of the declaration.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

/// The text of a type around a [`String`]; with the error of its `parse` also what serde converts it by.
macro_rules! text {
    ($type:ident) => {
        impl $type {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
    ($type:ident, $error:ty) => {
        text!($type);

        impl TryFrom<String> for $type {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                Self::parse(&text)
            }
        }

        impl From<$type> for String {
            fn from(it: $type) -> Self {
                it.0
            }
        }
    };
}
