//! Reads MessagePack into types that are known: the records and rows of the store.
//!
//! **Shape.** [`Reader`] is a deserializer of serde for what `rmp_serde` writes. The type says what it expects, and each
//! expectation has one form: a struct is a map of its fields, a tuple is an array, an enum is the name of its variant, or
//! a map from that name to its content. The deserializer of `rmp_serde` lets the bytes decide instead, so that it is
//! compiled with every form for each of several hundred types: a third of the machine code of this crate.
//!
//! **Bounds.** Values are nested as deeply as the type is, and what no field takes is skipped without recursion. A length
//! is a hint only as far as there are bytes.
//!
//! **Failure.** [`DecodeError`] for bytes that are cut, of another form than the type, or more than one value.
//!
//! Source of the forms: the MessagePack specification, <https://github.com/msgpack/msgpack/blob/master/spec.md>.

use std::fmt::Display;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

/// Why bytes are no such value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct DecodeError(Box<str>);

impl serde::de::Error for DecodeError {
    #[cold]
    fn custom<T: Display>(why: T) -> Self {
        Self(why.to_string().into())
    }
}

impl DecodeError {
    #[cold]
    fn cut() -> Self {
        Self("the bytes end within a value".into())
    }

    #[cold]
    fn form(expected: &str, marker: u8) -> Self {
        Self(format!("expected {expected}, found the marker {marker:#04x}").into())
    }
}

/// Reads one value, and nothing may follow it.
///
/// # Errors
/// [`DecodeError`] when the bytes are no such value.
pub(super) fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut reader = Reader { rest: bytes };
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// An integer of any width.
enum Integer {
    Unsigned(u64),
    Signed(i64),
}

/// The bytes that have not been read yet.
struct Reader<'de> {
    rest: &'de [u8],
}

impl<'de> Reader<'de> {
    fn end(&self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(DecodeError::custom(format_args!("{more} bytes too many"))),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.rest.split_first_chunk().ok_or_else(DecodeError::cut)?;
        self.rest = tail;
        Ok(*head)
    }

    fn marker(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[marker]| marker)
    }

    fn next_is(&self, wanted: impl Fn(u8) -> bool) -> bool {
        self.rest.first().is_some_and(|marker| wanted(*marker))
    }

    fn u8(&mut self) -> Result<u32, DecodeError> {
        self.array().map(|[byte]| u32::from(byte))
    }

    fn u16(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u16::from_be_bytes).map(u32::from)
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    fn take(&mut self, length: u32) -> Result<&'de [u8], DecodeError> {
        let split = usize::try_from(length).ok();
        let split = split.and_then(|length| self.rest.split_at_checked(length));
        let (head, tail) = split.ok_or_else(DecodeError::cut)?;
        self.rest = tail;
        Ok(head)
    }

    fn boolean(&mut self) -> Result<bool, DecodeError> {
        match self.marker()? {
            0xc2 => Ok(false),
            0xc3 => Ok(true),
            other => Err(DecodeError::form("true or false", other)),
        }
    }

    fn integer(&mut self) -> Result<Integer, DecodeError> {
        Ok(match self.marker()? {
            small @ 0x00..=0x7f => Integer::Unsigned(u64::from(small)),
            small @ 0xe0..=0xff => Integer::Signed(i64::from(i8::from_be_bytes([small]))),
            0xcc => Integer::Unsigned(u64::from(self.u8()?)),
            0xcd => Integer::Unsigned(u64::from(self.u16()?)),
            0xce => Integer::Unsigned(u64::from(self.u32()?)),
            0xcf => Integer::Unsigned(self.array().map(u64::from_be_bytes)?),
            0xd0 => Integer::Signed(self.array().map(i8::from_be_bytes)?.into()),
            0xd1 => Integer::Signed(self.array().map(i16::from_be_bytes)?.into()),
            0xd2 => Integer::Signed(self.array().map(i32::from_be_bytes)?.into()),
            0xd3 => Integer::Signed(self.array().map(i64::from_be_bytes)?),
            other => return Err(DecodeError::form("an integer", other)),
        })
    }

    /// The bytes of a text, which are UTF-8 if nobody has changed them.
    fn text_bytes(&mut self) -> Result<&'de [u8], DecodeError> {
        let length = match self.marker()? {
            short @ 0xa0..=0xbf => u32::from(short & 0x1f),
            0xd9 => self.u8()?,
            0xda => self.u16()?,
            0xdb => self.u32()?,
            other => return Err(DecodeError::form("a text", other)),
        };
        self.take(length)
    }

    fn text(&mut self) -> Result<&'de str, DecodeError> {
        str::from_utf8(self.text_bytes()?).map_err(DecodeError::custom)
    }

    fn bytes(&mut self) -> Result<&'de [u8], DecodeError> {
        let length = match self.marker()? {
            0xc4 => self.u8()?,
            0xc5 => self.u16()?,
            0xc6 => self.u32()?,
            other => return Err(DecodeError::form("bytes", other)),
        };
        self.take(length)
    }

    fn array_length(&mut self) -> Result<u32, DecodeError> {
        match self.marker()? {
            short @ 0x90..=0x9f => Ok(u32::from(short & 0x0f)),
            0xdc => self.u16(),
            0xdd => self.u32(),
            other => Err(DecodeError::form("an array", other)),
        }
    }

    fn map_length(&mut self) -> Result<u32, DecodeError> {
        match self.marker()? {
            short @ 0x80..=0x8f => Ok(u32::from(short & 0x0f)),
            0xde => self.u16(),
            0xdf => self.u32(),
            other => Err(DecodeError::form("a map", other)),
        }
    }

    fn nil(&mut self) -> Result<(), DecodeError> {
        match self.marker()? {
            0xc0 => Ok(()),
            other => Err(DecodeError::form("nil", other)),
        }
    }

    /// Passes over a value of any form. Each round takes at least a byte, so that it ends.
    fn skip(&mut self) -> Result<(), DecodeError> {
        let mut values = 1_u64;
        while let Some(left) = values.checked_sub(1) {
            let marker = *self.rest.first().ok_or_else(DecodeError::cut)?;
            let (bytes, more) = match marker {
                0x80..=0x8f | 0xde | 0xdf => (0, 2 * u64::from(self.map_length()?)),
                0x90..=0x9f | 0xdc | 0xdd => (0, u64::from(self.array_length()?)),
                0xa0..=0xbf | 0xd9..=0xdb => (0, self.text_bytes().map(|_| 0)?),
                0xc4..=0xc6 => (0, self.bytes().map(|_| 0)?),
                0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => (1, 0),
                0xcc | 0xd0 => (2, 0),
                0xcd | 0xd1 => (3, 0),
                0xca | 0xce | 0xd2 => (5, 0),
                0xcb | 0xcf | 0xd3 => (9, 0),
                other => return Err(DecodeError::form("a value", other)),
            };
            self.take(bytes)?;
            values = left + more;
        }
        Ok(())
    }

    fn visit_array<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, DecodeError> {
        let mut items = Items {
            left: self.array_length()?,
            reader: self,
        };
        let value = visitor.visit_seq(&mut items)?;
        items.end()?;
        Ok(value)
    }

    fn visit_map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, DecodeError> {
        let mut items = Items {
            left: self.map_length()?,
            reader: self,
        };
        let value = visitor.visit_map(&mut items)?;
        items.end()?;
        Ok(value)
    }
}

const fn is_text(marker: u8) -> bool {
    matches!(marker, 0xa0..=0xbf | 0xd9..=0xdb)
}

/// Integers of each width have the same forms.
macro_rules! integers {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match self.integer()? {
                Integer::Unsigned(number) => visitor.visit_u64(number),
                Integer::Signed(number) => visitor.visit_i64(number),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = DecodeError;

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }
    // No record has a float.
    integers! { deserialize_f32 deserialize_f64 }
    forward_to_deserialize_any! { char str string }

    fn is_human_readable(&self) -> bool {
        false
    }

    /// A text, which is also the form of `rust_decimal`'s numbers.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_str(self.text()?)
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let wide = self.bytes()?.try_into().map_err(DecodeError::custom)?;
        visitor.visit_i128(i128::from_be_bytes(wide))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_bool(self.boolean()?)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_bytes(self.bytes()?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.next_is(|marker| marker == 0xc0) {
            self.nil()?;
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.nil()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_array(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.visit_array(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.visit_array(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.visit_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let has_content = !self.next_is(is_text);
        if has_content && self.map_length()? != 1 {
            let why = "a variant with content is a map of one entry";
            return Err(DecodeError(why.into()));
        }
        visitor.visit_enum(Variant {
            reader: self,
            has_content,
        })
    }

    /// The bytes decide as well as the text does, and need no check.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_bytes(self.text_bytes()?)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.skip()?;
        visitor.visit_unit()
    }
}

/// The items of an array, or the entries of a map.
struct Items<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: u32,
}

impl<'de> Items<'_, 'de> {
    fn next<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn hint(&self) -> Option<usize> {
        let left = usize::try_from(self.left).ok()?;
        Some(left.min(self.reader.rest.len()))
    }

    fn end(&self) -> Result<(), DecodeError> {
        match self.left {
            0 => Ok(()),
            more => Err(DecodeError::custom(format_args!("{more} items too many"))),
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Items<'_, 'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        self.next(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

impl<'de> MapAccess<'de> for &mut Items<'_, 'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        self.next(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        self.hint()
    }
}

/// A variant: its name, and its content if it has any.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    has_content: bool,
}

impl<'a, 'de> Variant<'a, 'de> {
    fn content(self) -> Result<&'a mut Reader<'de>, DecodeError> {
        let why = "a variant has no content";
        self.has_content
            .then_some(self.reader)
            .ok_or_else(|| DecodeError(why.into()))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), DecodeError> {
        let variant = seed.deserialize(&mut *self.reader)?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        if self.has_content {
            return self.reader.nil();
        }
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        seed.deserialize(self.content()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.content()?.visit_array(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.content()?.visit_map(visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    enum Kind {
        Bare,
        Wrapped(u8),
        Pair(i8, String),
        Named { at: i64, of: Option<char> },
    }

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Whole {
        unsigned: Vec<u64>,
        signed: Vec<i64>,
        wide: i128,
        flags: [bool; 2],
        texts: Vec<String>,
        kinds: Vec<Kind>,
        by_name: BTreeMap<String, Option<Box<Kind>>>,
        nothing: (),
    }

    #[derive(Deserialize)]
    struct Last {
        last: u8,
    }

    /// The same with fields that nobody knows.
    #[derive(Serialize)]
    struct Newer<'a> {
        more: &'a Whole,
        #[serde(flatten)]
        whole: &'a Whole,
        last: (u8, &'a [u8]),
    }

    fn whole() -> Whole {
        let widths = [7, 8, 15, 16, 31, 32, 63].map(|bits| 1_u64 << bits);
        let lengths = [0, 31, 32, 255, 256, 65_535, 65_536];
        Whole {
            unsigned: widths.iter().flat_map(|it| [it - 1, *it]).collect(),
            signed: [-1, -32, -33, -128, -129, -32_768, -32_769]
                .into_iter()
                .chain([i64::from(i32::MIN), i64::from(i32::MIN) - 1, i64::MIN, 0])
                .collect(),
            wide: i128::MIN,
            flags: [true, false],
            texts: lengths.map(|length| "n".repeat(length)).into(),
            kinds: (0..40)
                .flat_map(|n| [Kind::Bare, Kind::Wrapped(n)])
                .collect(),
            by_name: [
                ("a", None),
                ("b", Some(Kind::Pair(-3, "ñ".into()))),
                (
                    "c",
                    Some(Kind::Named {
                        at: -9,
                        of: Some('é'),
                    }),
                ),
                ("d", Some(Kind::Named { at: 9, of: None })),
            ]
            .map(|(name, kind)| (name.to_owned(), kind.map(Box::new)))
            .into(),
            nothing: (),
        }
    }

    #[test]
    fn a_value_of_each_form_is_read_as_it_was_written() {
        let bytes = rmp_serde::to_vec_named(&whole()).unwrap();
        assert_eq!(from_slice(&bytes), Ok(whole()));
        let tuple = (1_u8, [2_u64; 4], "three".to_owned(), ());
        let mut bytes = Vec::new();
        rmp_serde::encode::write(&mut bytes, &tuple).unwrap();
        assert_eq!(from_slice(&bytes), Ok(tuple));
    }

    #[test]
    fn what_no_field_takes_is_skipped() {
        let newer = Newer {
            more: &whole(),
            whole: &whole(),
            last: (9, b"bytes"),
        };
        let bytes = rmp_serde::to_vec_named(&newer).unwrap();
        assert_eq!(from_slice(&bytes), Ok(whole()));
        let floats =
            b"\x83\xa1f\xca\x3f\x80\x00\x00\xa1g\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00\xa4last\x07";
        assert_eq!(from_slice(floats).map(|Last { last }| last), Ok(7));
    }

    #[test]
    fn bytes_that_are_cut_or_too_many_are_an_error() {
        let mut small = whole();
        small.texts.truncate(3);
        let mut bytes = rmp_serde::to_vec_named(&small).unwrap();
        for cut in 0..bytes.len() {
            from_slice::<Whole>(&bytes[..cut]).unwrap_err();
        }
        bytes.push(0xc0);
        from_slice::<Whole>(&bytes).unwrap_err();
    }

    #[test]
    fn another_form_is_an_error() {
        let wrong: [(&str, Result<Kind, _>); 6] = [
            ("no such variant", from_slice(b"\xa3Odd")),
            ("two variants", from_slice(b"\x82\xa4Bare\xc0\xa4Bare\xc0")),
            ("no content", from_slice(b"\xa7Wrapped")),
            ("a text for a number", from_slice(b"\x81\xa7Wrapped\xa11")),
            (
                "a number that is too large",
                from_slice(b"\x81\xa7Wrapped\xcd\x01\x00"),
            ),
            (
                "an array with too many items",
                from_slice(b"\x81\xa4Pair\x93\x01\xa0\xc0"),
            ),
        ];
        for (what, read) in wrong {
            assert!(read.is_err(), "{what}");
        }
        // a length is not believed
        from_slice::<Vec<u64>>(b"\xdd\xff\xff\xff\xff").unwrap_err();
        from_slice::<String>(b"\xa1\xff").unwrap_err();
        from_slice::<()>(b"\xc1").unwrap_err();
    }
}
