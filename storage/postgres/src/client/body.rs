//! A record as stored in the database: compressed; decompressed it has the same bytes.

use caudal_storage::StoreError;
use caudal_storage::log::{Hash, Sealed};

/// The level of compression: the fastest, since an owner waits for it.
const LEVEL: i32 = 1;
/// The largest record, in bytes, that is appended or read. A record has at most one group plus one commit
/// ([`caudal_storage::COMMIT_BYTES_MAX`]).
pub(crate) const RECORD_BYTES_MAX: usize = 256 << 20;

/// Compresses a record for the database.
///
/// # Errors
/// When the record is larger than [`RECORD_BYTES_MAX`], or memory runs out.
pub(crate) fn pack(record: &Sealed<'_>) -> Result<Vec<u8>, StoreError> {
    let bytes = record.bytes();
    if bytes.len() > RECORD_BYTES_MAX {
        let why = format!(
            "a record of {} bytes; {RECORD_BYTES_MAX} is the most",
            bytes.len()
        );
        return Err(StoreError::Invalid(why));
    }
    zstd::bulk::compress(bytes, LEVEL)
        .map_err(|why| StoreError::Invalid(format!("compressing a record: {why}")))
}

/// Decompresses a record from the database; `None` unless it is a whole record with this hash.
pub(crate) fn unpack(body: &[u8], length: usize, hash: &[u8]) -> Option<Vec<u8>> {
    if length > RECORD_BYTES_MAX {
        return None;
    }
    let bytes = zstd::bulk::decompress(body, length).ok()?;
    let record = Sealed::parse(&bytes)?;
    let expected: Hash = hash.try_into().ok()?;
    (record.hash() == expected).then_some(bytes)
}
