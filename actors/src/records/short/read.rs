//! Reads a record directly from its short form, without expanding the names first.
//!
//! **Shape.** The result is what `rmp_serde` reads from the names that [`expand`](super::expand) restores; a test holds
//! the two together.
//!
//! **Bounds.** Values are nested at most [`DEPTH_MAX`] deep.
//!
//! **Failure.** A record that cannot be read here gives [`NotShort`], for whatever reason. It is then read by its
//! names, which also reports what is wrong with it.

use serde::de::{self, DeserializeOwned, DeserializeSeed, Visitor};
use serde::forward_to_deserialize_any;

use super::{ALONE, DEPTH_MAX, NotShort, TABLE, WORD};

/// The record of a short form; `None` if it has to be read by its names.
pub(in crate::records) fn read<T: DeserializeOwned>(short: &[u8]) -> Option<T> {
    let mut reader = Reader {
        rest: short,
        depth: DEPTH_MAX,
    };
    let record = T::deserialize(&mut reader).ok()?;
    reader.rest.is_empty().then_some(record)
}

struct Reader<'de> {
    rest: &'de [u8],
    depth: u32,
}

impl<'de> Reader<'de> {
    fn take(&mut self, length: usize) -> Result<&'de [u8], NotShort> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(NotShort)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], NotShort> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(NotShort)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, NotShort> {
        self.array().map(|[byte]| byte)
    }

    fn length(&mut self, width: u8) -> Result<usize, NotShort> {
        match width {
            1 => self.byte().map(usize::from),
            2 => self.array().map(u16::from_be_bytes).map(usize::from),
            _ => {
                let length = u32::from_be_bytes(self.array()?);
                usize::try_from(length).map_err(|_| NotShort)
            }
        }
    }

    fn text<V: Visitor<'de>>(&mut self, length: usize, visitor: V) -> Result<V::Value, NotShort> {
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| NotShort)?;
        visitor.visit_borrowed_str(text)
    }

    fn bytes<V: Visitor<'de>>(&mut self, length: usize, visitor: V) -> Result<V::Value, NotShort> {
        let bytes = self.take(length)?;
        visitor.visit_borrowed_bytes(bytes)
    }

    fn nest<V: Visitor<'de>>(
        &mut self,
        map: bool,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, NotShort> {
        self.depth = self.depth.checked_sub(1).ok_or(NotShort)?;
        let mut values = Values { reader: self, left };
        let read = match map {
            true => visitor.visit_map(&mut values)?,
            false => visitor.visit_seq(&mut values)?,
        };
        let whole = values.left == 0;
        self.depth = self.depth.strict_add(1);
        whole.then_some(read).ok_or(NotShort)
    }

    fn value<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, NotShort> {
        let first = self.byte()?;
        match first {
            0x00..=0x7f => visitor.visit_u8(first),
            0x80..=0x8f => self.nest(true, usize::from(first & 0x0f), visitor),
            0x90..=0x9f => self.nest(false, usize::from(first & 0x0f), visitor),
            0xa0..=0xbf => self.text(usize::from(first & 0x1f), visitor),
            0xc0 => visitor.visit_unit(),
            WORD => {
                let place = self.byte()?;
                visitor.visit_borrowed_str(TABLE.word(place).ok_or(NotShort)?)
            }
            0xc2 | 0xc3 => visitor.visit_bool(first == 0xc3),
            0xe0..=0xff => visitor.visit_i8(i8::from_be_bytes([first])),
            _ => self.wide(first, visitor),
        }
    }

    /// A value whose length or content takes more than the first byte.
    fn wide<V: Visitor<'de>>(&mut self, first: u8, visitor: V) -> Result<V::Value, NotShort> {
        let width = |least: u8| 1 << first.wrapping_sub(least).min(2);
        match first {
            0xc4..=0xc6 => {
                let length = self.length(width(0xc4))?;
                self.bytes(length, visitor)
            }
            0xcc => visitor.visit_u8(self.byte()?),
            0xcd => visitor.visit_u16(u16::from_be_bytes(self.array()?)),
            0xce => visitor.visit_u32(u32::from_be_bytes(self.array()?)),
            0xcf => visitor.visit_u64(u64::from_be_bytes(self.array()?)),
            0xd0 => visitor.visit_i8(i8::from_be_bytes(self.array()?)),
            0xd1 => visitor.visit_i16(i16::from_be_bytes(self.array()?)),
            0xd2 => visitor.visit_i32(i32::from_be_bytes(self.array()?)),
            0xd3 => visitor.visit_i64(i64::from_be_bytes(self.array()?)),
            0xd9..=0xdb => {
                let length = self.length(width(0xd9))?;
                self.text(length, visitor)
            }
            0xdc | 0xdd => {
                let values = self.length(2 * width(0xdc))?;
                self.nest(false, values, visitor)
            }
            0xde | 0xdf => {
                let values = self.length(2 * width(0xde))?;
                self.nest(true, values, visitor)
            }
            _ => Err(NotShort),
        }
    }
}

impl<'de> de::Deserializer<'de> for &mut Reader<'de> {
    type Error = NotShort;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotShort> {
        self.value(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotShort> {
        match self.rest {
            [0xc0, rest @ ..] => {
                self.rest = rest;
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotShort> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotShort> {
        match self.byte()? {
            0xc0 | 0x90 => visitor.visit_unit(),
            _ => Err(NotShort),
        }
    }

    /// A text is a variant without content; a map with one entry is a variant with content.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotShort> {
        match self.rest {
            [0x81, rest @ ..] => {
                self.rest = rest;
                self.depth = self.depth.checked_sub(1).ok_or(NotShort)?;
                let read = visitor.visit_enum(Variant(&mut *self))?;
                self.depth = self.depth.strict_add(1);
                Ok(read)
            }
            [WORD | 0xa0..=0xbf | 0xd9, ..] => visitor.visit_enum(UnitVariant(self)),
            _ => Err(NotShort),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// The values of an array or a map.
struct Values<'r, 'de> {
    reader: &'r mut Reader<'de>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Values<'_, 'de> {
    type Error = NotShort;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, NotShort> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        // No value takes less than a byte, whatever its head claims.
        Some(self.left.min(self.reader.rest.len()))
    }
}

impl<'de> de::MapAccess<'de> for Values<'_, 'de> {
    type Error = NotShort;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, NotShort> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(Key(self.reader)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, NotShort> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.reader.rest.len()))
    }
}

/// The key of a map: a text, or the place of a word alone.
struct Key<'r, 'de>(&'r mut Reader<'de>);

impl<'de> de::Deserializer<'de> for Key<'_, 'de> {
    type Error = NotShort;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotShort> {
        match self.0.rest {
            [place, rest @ ..] if *place < ALONE => {
                self.0.rest = rest;
                visitor.visit_borrowed_str(TABLE.word(*place).ok_or(NotShort)?)
            }
            [WORD | 0xa0..=0xbf | 0xd9..=0xdb, ..] => self.0.value(visitor),
            _ => Err(NotShort),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotShort> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A variant without content.
struct UnitVariant<'r, 'de>(&'r mut Reader<'de>);

impl<'de> de::EnumAccess<'de> for UnitVariant<'_, 'de> {
    type Error = NotShort;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), NotShort> {
        Ok((seed.deserialize(&mut *self.0)?, self))
    }
}

impl<'de> de::VariantAccess<'de> for UnitVariant<'_, 'de> {
    type Error = NotShort;

    fn unit_variant(self) -> Result<(), NotShort> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, NotShort> {
        Err(NotShort)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, NotShort> {
        Err(NotShort)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, NotShort> {
        Err(NotShort)
    }
}

/// A variant with content.
struct Variant<'r, 'de>(&'r mut Reader<'de>);

impl<'de> de::EnumAccess<'de> for Variant<'_, 'de> {
    type Error = NotShort;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), NotShort> {
        Ok((seed.deserialize(Key(&mut *self.0))?, self))
    }
}

impl<'de> de::VariantAccess<'de> for Variant<'_, 'de> {
    type Error = NotShort;

    fn unit_variant(self) -> Result<(), NotShort> {
        match self.0.byte()? {
            0xc0 => Ok(()),
            _ => Err(NotShort),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, NotShort> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, NotShort> {
        self.0.value(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotShort> {
        self.0.value(visitor)
    }
}
