//! The rows of one block, searched in packed form or unpacked.
//!
//! **Shape.** Row: shared u8 (how many bytes the key has in common with the previous one), rest u16, value length u16,
//! rest, value. Length 0xFFFF means a removed key; 0xFFFE a large value whose bytes are in pieces: first piece u32,
//! length u32. The first row of a block shares nothing.

use std::sync::OnceLock;

use crate::codec::Cursor;
use crate::num::{u32_of, u64_of, usize_of32};

/// The value length on disk of a removed key.
pub(crate) const GONE: u16 = 0xFFFF;
/// The value length on disk of a value that is stored in pieces.
pub(crate) const FAR: u16 = 0xFFFE;

/// Rough memory overhead of a block besides its rows, in bytes.
const BESIDES: u64 = 192;

/// The value of a row as stored in its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stored<'a> {
    /// The key was removed.
    Gone,
    /// The value is in the block itself.
    Here(&'a [u8]),
    /// The value is stored in pieces: the number of the first piece's block, and its length in bytes.
    Far { first: u32, length: u32 },
}

/// One row of a block: shared bytes, the rest of the key, the value.
fn next_row<'a>(c: &mut Cursor<'a>) -> Option<(usize, &'a [u8], Stored<'a>)> {
    let shared = usize::from(c.u8()?);
    let rest = usize::from(c.u16()?);
    let length = c.u16()?;
    let rest = c.bytes(rest)?;
    let value = match length {
        GONE => Stored::Gone,
        FAR => Stored::Far {
            first: c.u32()?,
            length: c.u32()?,
        },
        n => Stored::Here(c.bytes(usize::from(n))?),
    };
    Some((shared, rest, value))
}

/// Finds a key among the rows of a block without unpacking the others.
fn find<'a>(payload: &'a [u8], key: &[u8]) -> Option<Stored<'a>> {
    let mut c = Cursor::new(payload);
    // how many leading bytes of `key` the last row shares; that row was smaller
    let mut matched = 0;
    while !c.rest().is_empty() {
        let (shared, rest, value) = next_row(&mut c)?;
        if shared > matched {
            continue;
        }
        if shared < matched {
            return None;
        }
        let wanted = key.get(matched..)?;
        if rest == wanted {
            return Some(value);
        }
        let common = rest.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        match (rest.get(common), wanted.get(common)) {
            (None, _) => matched += common,
            (Some(a), Some(b)) if a < b => matched += common,
            _ => return None,
        }
    }
    None
}

/// A block of rows that passed its checks.
#[derive(Debug)]
pub(crate) struct Block {
    payload: Box<[u8]>,
    /// The unpacked rows; `None` inside when they cannot be parsed.
    rows: OnceLock<Option<Unpacked>>,
}

impl Block {
    /// A block of rows whose payload passed its checks.
    pub(crate) fn new(payload: Box<[u8]>) -> Self {
        Self {
            payload,
            rows: OnceLock::new(),
        }
    }

    /// The unpacked rows, for walking; `None` when they cannot be parsed.
    pub(crate) fn rows(&self) -> Option<&Unpacked> {
        let rows = self.rows.get_or_init(|| Unpacked::of(&self.payload));
        rows.as_ref()
    }

    /// The value of a row by its index in the block.
    pub(crate) fn value(&self, row: usize) -> Option<Stored<'_>> {
        self.rows()?.value(&self.payload, row)
    }

    /// The value under a key.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Stored<'_>> {
        match self.rows.get() {
            Some(Some(rows)) => {
                let row = rows.seek(key);
                let found = rows.key(row) == Some(key);
                found.then(|| rows.value(&self.payload, row)).flatten()
            }
            Some(None) | None => find(&self.payload, key),
        }
    }

    /// Whether the rows were unpacked, so that the block takes more memory.
    pub(crate) fn is_unpacked(&self) -> bool {
        self.rows.get().is_some()
    }

    /// Rough size in memory now, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let payload = u64_of(self.payload.len());
        let unpacked = self.rows.get().and_then(Option::as_ref);
        BESIDES + payload + unpacked.map_or(0, Unpacked::bytes)
    }
}

/// The whole keys of one block's rows and the places of their values, for walking in both directions.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    keys: Vec<u8>,
    rows: Vec<ValuePlace>,
}

#[derive(Clone, Copy, Debug)]
struct ValuePlace {
    key: (u32, u32),
    value: Where,
}

#[derive(Clone, Copy, Debug)]
enum Where {
    Gone,
    Here(u32, u32),
    Far(u32, u32),
}

/// The bytes from `start` to `end`.
fn part(bytes: &[u8], (start, end): (u32, u32)) -> Option<&[u8]> {
    bytes.get(usize_of32(start)..usize_of32(end))
}

impl Unpacked {
    /// Unpacks the rows of a block; `None` when they cannot be parsed.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        let (mut keys, mut rows) = (Vec::<u8>::with_capacity(payload.len()), Vec::new());
        let mut c = Cursor::new(payload);
        let mut last = 0..0;
        while !c.rest().is_empty() {
            let (shared, rest, stored) = next_row(&mut c)?;
            let start = keys.len();
            if shared > last.len() {
                return None;
            }
            keys.extend_from_within(last.start..last.start + shared);
            keys.extend_from_slice(rest);
            last = start..keys.len();
            let end = payload.len() - c.rest().len();
            let value = match stored {
                Stored::Gone => Where::Gone,
                Stored::Here(bytes) => Where::Here(u32_of(end - bytes.len()), u32_of(end)),
                Stored::Far { first, length } => Where::Far(first, length),
            };
            let key = (u32_of(start), u32_of(keys.len()));
            rows.push(ValuePlace { key, value });
        }
        rows.shrink_to_fit();
        keys.shrink_to_fit();
        Some(Self { keys, rows })
    }

    /// Bytes of the whole keys and row places: more than the payload when many keys share long prefixes.
    fn bytes(&self) -> u64 {
        u64_of(self.keys.len() + self.rows.len() * size_of::<ValuePlace>())
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The key of a row.
    pub(crate) fn key(&self, row: usize) -> Option<&[u8]> {
        part(&self.keys, self.rows.get(row)?.key)
    }

    /// The value of a row, taken from the payload that was unpacked.
    pub(crate) fn value<'a>(&self, payload: &'a [u8], row: usize) -> Option<Stored<'a>> {
        Some(match self.rows.get(row)?.value {
            Where::Gone => Stored::Gone,
            Where::Here(start, end) => Stored::Here(part(payload, (start, end))?),
            Where::Far(first, length) => Stored::Far { first, length },
        })
    }

    /// The index of the first row whose key is not below `key`.
    pub(crate) fn seek(&self, key: &[u8]) -> usize {
        self.rows
            .partition_point(|p| part(&self.keys, p.key).is_some_and(|k| k < key))
    }
}
