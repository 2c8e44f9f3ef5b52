//! Writes a record in its short form at once, without the form with names before it.
//!
//! **Shape.** The bytes are those that [`shorten`](super::shorten) makes of what `rmp_serde` writes with the names of
//! fields; a test holds the two together.
//!
//! **Failure.** What the short form has no place for (keys that are no texts, lists of unknown length, numbers with a
//! point or of 128 bits, depth beyond [`DEPTH_MAX`]) is [`Unwritten`]: the record is written the other way then.

use std::fmt;

use serde::ser::{self, Serialize};

use super::{ALONE, TABLE, WORD};

/// How deep values lie in each other at most here; a variant of an enum with its name counts once.
const DEPTH_MAX: u32 = 12;
/// Nothing at all, as a value.
const NIL: u8 = 0xc0;

/// Appends the short form of a record; `None` where it has to be made by its names. Of a record that is `sparse`,
/// fields of structs without a value are left out: they read back as such if they may be missing.
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

/// It has no short form that is written here.
#[derive(Debug)]
pub(super) struct Unwritten;

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it has no short form")
    }
}

impl std::error::Error for Unwritten {}

impl ser::Error for Unwritten {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    sparse: bool,
    depth: u32,
}

impl Writer<'_> {
    /// A first byte for each width of a number behind it, in bytes: 1, 2 and 4.
    fn length(&mut self, heads: [u8; 3], length: usize) -> Result<(), Unwritten> {
        let [one, two, four] = heads;
        if let Ok(length) = u8::try_from(length)
            && one != 0
        {
            self.out.extend_from_slice(&[one, length]);
        } else if let Ok(length) = u16::try_from(length) {
            self.out.push(two);
            self.out.extend_from_slice(&length.to_be_bytes());
        } else {
            let length = u32::try_from(length).map_err(|_| Unwritten)?;
            self.out.push(four);
            self.out.extend_from_slice(&length.to_be_bytes());
        }
        Ok(())
    }

    fn uint(&mut self, number: u64) {
        if let Ok(number) = u8::try_from(number) {
            if number >= 0x80 {
                self.out.push(0xcc);
            }
            self.out.push(number);
        } else if let Ok(number) = u16::try_from(number) {
            self.out.push(0xcd);
            self.out.extend_from_slice(&number.to_be_bytes());
        } else if let Ok(number) = u32::try_from(number) {
            self.out.push(0xce);
            self.out.extend_from_slice(&number.to_be_bytes());
        } else {
            self.out.push(0xcf);
            self.out.extend_from_slice(&number.to_be_bytes());
        }
    }

    fn sint(&mut self, number: i64) {
        if let Ok(number) = u64::try_from(number) {
            self.uint(number);
        } else if let Ok(number) = i8::try_from(number) {
            if number < -32 {
                self.out.push(0xd0);
            }
            self.out.extend_from_slice(&number.to_be_bytes());
        } else if let Ok(number) = i16::try_from(number) {
            self.out.push(0xd1);
            self.out.extend_from_slice(&number.to_be_bytes());
        } else if let Ok(number) = i32::try_from(number) {
            self.out.push(0xd2);
            self.out.extend_from_slice(&number.to_be_bytes());
        } else {
            self.out.push(0xd3);
            self.out.extend_from_slice(&number.to_be_bytes());
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Unwritten> {
        match TABLE.place(text.as_bytes()) {
            Some(place) => self.out.extend_from_slice(&[WORD, place]),
            None => self.own(text)?,
        }
        Ok(())
    }

    /// A text that is no word.
    fn own(&mut self, text: &str) -> Result<(), Unwritten> {
        match u8::try_from(text.len()) {
            Ok(length @ 0..=31) => self.out.push(0xa0 | length),
            Ok(_) | Err(_) => self.length([0xd9, 0xda, 0xdb], text.len())?,
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<(), Unwritten> {
        match TABLE.place(key.as_bytes()) {
            Some(place) if place < ALONE => self.out.push(place),
            Some(place) => self.out.extend_from_slice(&[WORD, place]),
            None => self.own(key)?,
        }
        Ok(())
    }

    /// The head of an array or a map.
    fn nest(&mut self, small: u8, heads: [u8; 3], values: usize) -> Result<(), Unwritten> {
        match u8::try_from(values) {
            Ok(values @ 0..=15) => self.out.push(small | values),
            Ok(_) | Err(_) => self.length(heads, values)?,
        }
        Ok(())
    }

    fn array(&mut self, values: usize) -> Result<(), Unwritten> {
        self.nest(0x90, [0, 0xdc, 0xdd], values)
    }

    fn map(&mut self, values: usize) -> Result<(), Unwritten> {
        self.nest(0x80, [0, 0xde, 0xdf], values)
    }
}

/// A value with others in it, on its way.
pub(super) struct Nest<'w, 'o> {
    writer: &'w mut Writer<'o>,
    head: usize,
    left_out: u16,
}

impl<'w, 'o> Nest<'w, 'o> {
    fn of(writer: &'w mut Writer<'o>, head: usize) -> Result<Self, Unwritten> {
        writer.depth = writer.depth.checked_sub(1).ok_or(Unwritten)?;
        Ok(Self {
            writer,
            head,
            left_out: 0,
        })
    }

    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unwritten> {
        value.serialize(&mut *self.writer)
    }

    fn field<T: ?Sized + Serialize>(&mut self, key: &str, value: &T) -> Result<(), Unwritten> {
        let before = self.writer.out.len();
        self.writer.key(key)?;
        let from = self.writer.out.len();
        value.serialize(&mut *self.writer)?;
        if self.writer.sparse && self.writer.out.get(from..) == Some(&[NIL]) {
            self.writer.out.truncate(before);
            self.left_out = self.left_out.checked_add(1).ok_or(Unwritten)?;
        }
        Ok(())
    }

    /// A map of fewer values than its head says gets another number there, of the same width.
    fn close(self) -> Result<(), Unwritten> {
        self.writer.depth = self.writer.depth.strict_add(1);
        if self.left_out == 0 {
            return Ok(());
        }
        match self.writer.out.get_mut(self.head..).ok_or(Unwritten)? {
            [small @ 0x80..=0x8f, ..] => {
                let less = u8::try_from(self.left_out).map_err(|_| Unwritten)?;
                *small = small.checked_sub(less).ok_or(Unwritten)?;
            }
            [0xde, high, low, ..] => {
                let values = u16::from_be_bytes([*high, *low]);
                let values = values.checked_sub(self.left_out).ok_or(Unwritten)?;
                [*high, *low] = values.to_be_bytes();
            }
            _ => return Err(Unwritten),
        }
        Ok(())
    }
}

macro_rules! elements {
    ($($of:ident, $method:ident;)*) => {$(
        impl ser::$of for Nest<'_, '_> {
            type Ok = ();
            type Error = Unwritten;

            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unwritten> {
                self.element(value)
            }

            fn end(self) -> Result<(), Unwritten> {
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
            type Error = Unwritten;

            fn serialize_field<T: ?Sized + Serialize>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Unwritten> {
                self.field(key, value)
            }

            fn end(self) -> Result<(), Unwritten> {
                self.close()
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Nest<'_, '_> {
    type Ok = ();
    type Error = Unwritten;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), Unwritten> {
        let from = self.writer.out.len();
        key.serialize(&mut *self.writer)?;
        // A word that is a key is its place alone; what is no text is no key here.
        match self.writer.out.get(from..).ok_or(Unwritten)? {
            [WORD, place] if *place < ALONE => {
                self.writer.out.remove(from);
            }
            [WORD, _] | [0xa0..=0xbf | 0xd9..=0xdb, ..] => {}
            _ => return Err(Unwritten),
        }
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unwritten> {
        self.element(value)
    }

    fn end(self) -> Result<(), Unwritten> {
        self.close()
    }
}

macro_rules! numbers {
    ($($method:ident $number:ty, $as:ident;)*) => {$(
        fn $method(self, number: $number) -> Result<(), Unwritten> {
            self.$as(number.into());
            Ok(())
        }
    )*};
}

impl<'w, 'o> ser::Serializer for &'w mut Writer<'o> {
    type Ok = ();
    type Error = Unwritten;
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

    fn serialize_bool(self, value: bool) -> Result<(), Unwritten> {
        self.out.push(if value { 0xc3 } else { 0xc2 });
        Ok(())
    }

    fn serialize_f32(self, _: f32) -> Result<(), Unwritten> {
        Err(Unwritten)
    }

    fn serialize_f64(self, _: f64) -> Result<(), Unwritten> {
        Err(Unwritten)
    }

    fn serialize_char(self, value: char) -> Result<(), Unwritten> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Result<(), Unwritten> {
        self.text(text)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Unwritten> {
        self.length([0xc4, 0xc5, 0xc6], bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Unwritten> {
        self.serialize_unit()
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Unwritten> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unwritten> {
        self.out.push(NIL);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unwritten> {
        self.array(0)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Unwritten> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unwritten> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Unwritten> {
        self.map(1)?;
        self.key(variant)?;
        self.depth = self.depth.checked_sub(1).ok_or(Unwritten)?;
        value.serialize(&mut *self)?;
        self.depth = self.depth.strict_add(1);
        Ok(())
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, Unwritten> {
        self.serialize_tuple(length.ok_or(Unwritten)?)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, Unwritten> {
        let head = self.out.len();
        self.array(length)?;
        Nest::of(self, head)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, Unwritten> {
        self.serialize_tuple(length)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, Unwritten> {
        self.map(1)?;
        self.key(variant)?;
        self.serialize_tuple(length)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, Unwritten> {
        let head = self.out.len();
        self.map(length.ok_or(Unwritten)?)?;
        Nest::of(self, head)
    }

    fn serialize_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, Unwritten> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, Unwritten> {
        self.map(1)?;
        self.key(variant)?;
        self.serialize_struct(name, length)
    }
}
