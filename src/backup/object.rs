//! The bytes of an object: a head, then records as they are in the journal, compressed.
//!
//! **Shape.** Numbers big-endian:
//! ```text
//! magic "CAUDALB1", format u32, id of the journal [16], bytes of the records u64, zstd with its checksum
//! ```
//! **Failure.** Records unpacked before a flipped bit are returned all the same: the records themselves show where it
//! is.

use std::io::Read as _;

use caudal_storage::log::LogId;
use zstd::stream::{Decoder, Encoder};

use super::BackupError;

const MAGIC: [u8; 8] = *b"CAUDALB1";
const FORMAT: u32 = 1;
/// The fastest level, which already brings records down to about a fifth.
const LEVEL: i32 = 1;

/// Packs records of a journal.
///
/// # Errors
/// When the compressor fails, which happens only when memory runs out.
pub fn pack(log: &LogId, records: &[u8]) -> Result<Vec<u8>, BackupError> {
    let failed = |why: std::io::Error| BackupError::backup_store("compressing records", why);
    let mut object = Vec::with_capacity(records.len() / 4);
    object.extend_from_slice(&MAGIC);
    object.extend_from_slice(&FORMAT.to_be_bytes());
    object.extend_from_slice(log);
    let length = u64::try_from(records.len());
    let length = length.map_err(|why| BackupError::backup_store("compressing records", why))?;
    object.extend_from_slice(&length.to_be_bytes());
    let mut encoder = Encoder::new(object, LEVEL).map_err(failed)?;
    encoder.include_checksum(true).map_err(failed)?;
    std::io::Write::write_all(&mut encoder, records).map_err(failed)?;
    encoder.finish().map_err(failed)
}

/// An unpacked object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unpacked {
    /// The journal of its records.
    pub log: LogId,
    /// The records, as far as they could be unpacked.
    pub records: Vec<u8>,
    /// Why records are missing, if any are.
    pub wrong: Option<String>,
}

/// Magic, format, journal, length.
type ObjectHead<'a> = (&'a [u8; 8], &'a [u8; 4], &'a LogId, &'a [u8; 8]);

fn parts(object: &[u8]) -> Option<(ObjectHead<'_>, &[u8])> {
    let (magic, rest) = object.split_first_chunk()?;
    let (format, rest) = rest.split_first_chunk()?;
    let (log, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    Some(((magic, format, log, length), rest))
}

/// The most bytes of records that an object may claim: far more than a shipper puts into one.
const RECORDS_MAX: u64 = 1 << 30;

/// The most memory, in bytes, that is set apart for records because an object claims to hold them.
const ROOM_MAX: usize = 64 << 20;

/// Unpacks an object.
///
/// # Errors
/// When the bytes do not begin like an object.
pub fn unpack(name: &str, object: &[u8]) -> Result<Unpacked, BackupError> {
    let wrong = |why: &str| BackupError::damaged(name, 0, why);
    let (head, packed) = parts(object).ok_or_else(|| wrong("the object is cut short"))?;
    let (magic, format, log, length) = head;
    if *magic != MAGIC {
        return Err(wrong("the object does not begin like one"));
    }
    if u32::from_be_bytes(*format) != FORMAT {
        return Err(wrong(
            "the object was written in a newer format than this program knows",
        ));
    }
    let length = u64::from_be_bytes(*length);
    if length > RECORDS_MAX {
        return Err(wrong("it claims to hold too much"));
    }
    let room = usize::try_from(length).map_or(ROOM_MAX, |length| length.min(ROOM_MAX));
    let mut unpacked = Unpacked {
        log: *log,
        records: Vec::with_capacity(room),
        wrong: None,
    };
    let mut source = packed;
    let decoder = Decoder::with_buffer(&mut source).map(Decoder::single_frame);
    // One byte more than expected, so that an excess is noticed without unpacking all of it.
    let most = length
        .checked_add(1)
        .ok_or_else(|| wrong("it claims to hold too much"))?;
    let read = decoder.and_then(|it| it.take(most).read_to_end(&mut unpacked.records));
    unpacked.wrong = match read {
        Err(why) => Some(format!(
            "the compressed bytes there are not what was written: {why}"
        )),
        Ok(n) if u64::try_from(n) != Ok(length) => {
            Some("it holds another number of bytes than its head says".to_owned())
        }
        Ok(_) if !source.is_empty() => Some("something follows its end".to_owned()),
        Ok(_) => None,
    };
    Ok(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flipped_bit_is_seen_or_tells_another_journal() {
        let records: Vec<u8> = (0..3000_u32).flat_map(u32::to_be_bytes).collect();
        let object = pack(&[5; 16], &records).unwrap();
        let whole = unpack("it", &object).unwrap();
        assert_eq!((whole.log, &whole.wrong), ([5; 16], &None));
        assert_eq!(whole.records, records);
        for bit in 0..object.len() * 8 {
            let mut flipped = object.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let seen = unpack("it", &flipped);
            let good = seen.is_ok_and(|it| it.wrong.is_none() && it.log == [5; 16]);
            // Zstd ignores one bit of its own head.
            assert!(
                !good || unpack("it", &flipped).unwrap().records == records,
                "{bit}"
            );
        }
        for cut in 0..object.len() {
            let seen = unpack("it", &object[..cut]);
            assert!(seen.is_err() || seen.unwrap().wrong.is_some(), "{cut}");
        }
    }
}
