//! Writes a record directly in its short form, without writing the names first.
//!
//! **Shape.** The bytes are those that [`shorten`](super::shorten) makes of what `rmp_serde` writes with the names of
//! fields; a test holds the two together.
//!
//! **Failure.** A record that does not fit the short form (keys that are no texts, lists of unknown length,
//! floating-point or 128-bit numbers, nesting deeper than [`DEPTH_MAX`]) gives [`NotShort`]: it is then written by its
//! names.

use rmp::encode;
use serde::ser::{self, Serialize};

use super::{ALONE, NotShort, TABLE, WORD};

/// The deepest nesting of values here; a variant of an enum with its name counts once.
const DEPTH_MAX: u32 = 12;
/// The nil value.
const NIL: u8 = 0xc0;

/// Appends the short form of a record; `None` if it has to be made by its names. With `sparse`, fields of structs
/// without a value are left out: they read back as such if they may be missing.
pub(in crate::records) fn write<T: Serialize>(
    record: &T,
    mut out: Vec<u8>,
    sparse: bool,
) -> Option<Vec<u8>> {
    let mut writer = Writer {
        out: &mut out,
        sparse,
        depth: DEPTH_MAX,
    };
    record.serialize(&mut writer).ok()?;
    Some(out)
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    sparse: bool,
    depth: u32,
}

impl Writer<'_> {
    fn uint(&mut self, number: u64) -> Result<(), NotShort> {
        encode::write_uint(self.out, number)?;
        Ok(())
    }

    fn sint(&mut self, number: i64) -> Result<(), NotShort> {
        encode::write_sint(self.out, number)?;
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), NotShort> {
        match TABLE.place(text.as_bytes()) {
            Some(place) => self.out.extend_from_slice(&[WORD, place]),
            None => self.own(text)?,
        }
        Ok(())
    }

    /// A text that is not in the table of words.
    fn own(&mut self, text: &str) -> Result<(), NotShort> {
        encode::write_str_len(self.out, u32::try_from(text.len())?)?;
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), NotShort> {
        match TABLE.place(key.as_bytes()) {
            Some(place) if place < ALONE => self.out.push(place),
            Some(place) => self.out.extend_from_slice(&[WORD, place]),
            None => self.own(key)?,
        }
        Ok(())
    }

    fn array(&mut self, values: usize) -> Result<(), NotShort> {
        encode::write_array_len(self.out, u32::try_from(values)?)?;
        Ok(())
    }

    fn map(&mut self, values: usize) -> Result<(), NotShort> {
        encode::write_map_len(self.out, u32::try_from(values)?)?;
        Ok(())
    }
}

/// An array or a map that is being written.
pub(super) struct Nest<'w, 'o> {
    writer: &'w mut Writer<'o>,
    head: usize,
    left_out: u16,
}

impl<'w, 'o> Nest<'w, 'o> {
    fn of(writer: &'w mut Writer<'o>, head: usize) -> Result<Self, NotShort> {
        writer.depth = writer.depth.checked_sub(1).ok_or(NotShort)?;
        Ok(Self {
            writer,
            head,
            left_out: 0,
        })
    }

    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), NotShort> {
        value.serialize(&mut *self.writer)
    }

    fn field<T: ?Sized + Serialize>(&mut self, key: &str, value: &T) -> Result<(), NotShort> {
        let before = self.writer.out.len();
        self.writer.key(key)?;
        let from = self.writer.out.len();
        value.serialize(&mut *self.writer)?;
        if self.writer.sparse && self.writer.out.get(from..) == Some(&[NIL]) {
            self.writer.out.truncate(before);
            self.left_out = self.left_out.checked_add(1).ok_or(NotShort)?;
        }
        Ok(())
    }

    /// If fields were left out, this corrects the number of values in the head, with the same width.
    fn close(self) -> Result<(), NotShort> {
        self.writer.depth = self.writer.depth.strict_add(1);
        if self.left_out == 0 {
            return Ok(());
        }
        match self.writer.out.get_mut(self.head..).ok_or(NotShort)? {
            [small @ 0x80..=0x8f, ..] => {
                let less = u8::try_from(self.left_out).map_err(|_| NotShort)?;
                *small = small.checked_sub(less).ok_or(NotShort)?;
            }
            [0xde, high, low, ..] => {
                let values = u16::from_be_bytes([*high, *low]);
                let values = values.checked_sub(self.left_out).ok_or(NotShort)?;
                [*high, *low] = values.to_be_bytes();
            }
            _ => return Err(NotShort),
        }
        Ok(())
    }
}

macro_rules! elements {
    ($($of:ident, $method:ident;)*) => {$(
        impl ser::$of for Nest<'_, '_> {
            type Ok = ();
            type Error = NotShort;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), NotShort> {
                self.element(value)
            }

            fn end(self) -> Result<(), NotShort> {
                self.close()
            }
        }
    )*};
}

elements! {
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
}

macro_rules! fields {
    ($($of:ident),*) => {$(
        impl ser::$of for Nest<'_, '_> {
            type Ok = ();
            type Error = NotShort;

            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), NotShort> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), NotShort> {
                self.close()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Nest<'_, '_> {
    type Ok = ();
    type Error = NotShort;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), NotShort> {
        let from = self.writer.out.len();
        key.serialize(&mut *self.writer)?;
        // A word as a key is its place alone; a value that is no text cannot be a key here.
        match self.writer.out.get(from..).ok_or(NotShort)? {
            [WORD, place] if *place < ALONE => {
                self.writer.out.remove(from);
            }
            [WORD, _] | [0xa0..=0xbf | 0xd9..=0xdb, ..] => {}
            _ => return Err(NotShort),
        }
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), NotShort> {
        self.element(value)
    }

    fn end(self) -> Result<(), NotShort> {
        self.close()
    }
}

macro_rules! numbers {
    ($($method:ident $number:ty, $as:ident;)*) => {$(
        fn $method(self, number: $number) -> Result<(), NotShort> {
            self.$as(number.into())
        }
    )*};
}

impl<'w, 'o> ser::Serializer for &'w mut Writer<'o> {
    type Ok = ();
    type Error = NotShort;
    type SerializeSeq = Nest<'w, 'o>;
    type SerializeTuple = Nest<'w, 'o>;
    type SerializeTupleStruct = Nest<'w, 'o>;
    type SerializeTupleVariant = Nest<'w, 'o>;
    type SerializeMap = Nest<'w, 'o>;
    type SerializeStruct = Nest<'w, 'o>;
    type SerializeStructVariant = Nest<'w, 'o>;

    numbers! {
        serialize_i8 i8, sint;
        serialize_i16 i16, sint;
        serialize_i32 i32, sint;
        serialize_i64 i64, sint;
        serialize_u8 u8, uint;
        serialize_u16 u16, uint;
        serialize_u32 u32, uint;
        serialize_u64 u64, uint;
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, value: bool) -> Result<(), NotShort> {
        self.out.push(if value { 0xc3 } else { 0xc2 });
        Ok(())
    }

    fn serialize_f32(self, _: f32) -> Result<(), NotShort> {
        Err(NotShort)
    }

    fn serialize_f64(self, _: f64) -> Result<(), NotShort> {
        Err(NotShort)
    }

    fn serialize_char(self, value: char) -> Result<(), NotShort> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), NotShort> {
        self.text(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), NotShort> {
        encode::write_bin_len(self.out, u32::try_from(bytes.len())?)?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), NotShort> {
        self.serialize_unit()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), NotShort> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), NotShort> {
        self.out.push(NIL);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), NotShort> {
        self.array(0)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), NotShort> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), NotShort> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), NotShort> {
        self.map(1)?;
        self.key(variant)?;
        self.depth = self.depth.checked_sub(1).ok_or(NotShort)?;
        value.serialize(&mut *self)?;
        self.depth = self.depth.strict_add(1);
        Ok(())
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, NotShort> {
        self.serialize_tuple(length.ok_or(NotShort)?)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, NotShort> {
        let head = self.out.len();
        self.array(length)?;
        Nest::of(self, head)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, NotShort> {
        self.serialize_tuple(length)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, NotShort> {
        self.map(1)?;
        self.key(variant)?;
        self.serialize_tuple(length)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, NotShort> {
        let head = self.out.len();
        self.map(length.ok_or(NotShort)?)?;
        Nest::of(self, head)
    }

    fn serialize_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, NotShort> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, NotShort> {
        self.map(1)?;
        self.key(variant)?;
        self.serialize_struct(name, length)
    }
}
