//! Keys and values of the engine's own rows: one for each entry of a stream.
//!
//! **Shape.** Key `0x01, realm u32, kind u8, number u64, seq u64` (big-endian), value `position
//! u64, at u64`. All other first bytes except 0x00 belong to the layers above.

use crate::api::{
    COMMIT_BYTES_MAX, COMMIT_ENTRIES_MAX, Commit, ENTRY_BYTES_MAX, Entry, Fact, Head,
    KEY_BYTES_MAX, Position, Row, StoreError, StreamId, VALUE_BYTES_MAX,
};
use crate::codec::Cursor;
use crate::journal::format::commit_bytes;
use crate::num::u64_of;

/// The first byte of the rows of streams.
pub const STREAM_TAG: u8 = 1;
/// The smallest key that a layer above may use: its first byte is 2.
pub(crate) const FIRST_KEY: [u8; 1] = [2];
/// Bytes of the part of a stream row's key that names the stream.
pub(crate) const STREAM_PREFIX: usize = 14;
/// Bytes of a stream row's key.
pub(crate) const STREAM_KEY: usize = STREAM_PREFIX + 8;

/// An empty entry, into which others are read.
pub(crate) fn no_entry() -> Entry {
    let stream = StreamId {
        realm: 0,
        kind: 0,
        number: 0,
    };
    Entry {
        stream,
        seq: 0,
        at: 0,
        body: Vec::new(),
        fact: Fact::default(),
    }
}

/// The key of entry `seq` of a stream.
pub(crate) fn stream_key(stream: StreamId, seq: u64) -> [u8; STREAM_KEY] {
    let mut key = [0; STREAM_KEY];
    let parts: [&[u8]; 5] = [
        &[STREAM_TAG],
        &stream.realm.to_be_bytes(),
        &[stream.kind],
        &stream.number.to_be_bytes(),
        &seq.to_be_bytes(),
    ];
    let mut at = 0;
    for part in parts {
        if let Some(place) = key.get_mut(at..at + part.len()) {
            place.copy_from_slice(part);
        }
        at += part.len();
    }
    key
}

/// The part of a key that names its stream; `None` for a key of another kind.
pub(crate) fn stream_prefix(key: &[u8]) -> Option<&[u8]> {
    (key.first() == Some(&STREAM_TAG))
        .then(|| key.get(..STREAM_PREFIX))
        .flatten()
}

/// The value of a stream's row.
pub(crate) fn stream_value(position: Position, at: u64) -> [u8; 16] {
    (u128::from(position.0) << 64 | u128::from(at)).to_be_bytes()
}

/// Parses position and time from the value of a stream's row.
pub(crate) fn parse_stream_value(value: &[u8]) -> Option<(Position, u64)> {
    let mut c = Cursor::new(value);
    Some((Position(c.u64()?), c.u64()?))
}

/// Parses the head of a stream from its last row.
pub(crate) fn parse_head(key: &[u8], value: &[u8]) -> Option<Head> {
    let seq = Cursor::new(key.get(STREAM_PREFIX..)?).u64()?;
    let (_, at) = parse_stream_value(value)?;
    Some(Head { seq, at })
}

/// Refuses to let a projection read a row of a kind that it does not read ([`unread`](crate::Projection::unread)).
///
/// # Errors
/// `Invalid` for such a row: it may not be where it would be looked for yet.
pub(crate) fn check_read(key: &[u8], is_unread: bool) -> Result<(), StoreError> {
    if let ([kind, ..], true) = (key, is_unread) {
        return Err(StoreError::Invalid(format!(
            "rows {kind:#04x} are not read while entries are projected"
        )));
    }
    Ok(())
}

/// Refuses a key that a layer above may not write.
///
/// # Errors
/// `Invalid` for an empty key, one of the engine's own, or one longer than [`KEY_BYTES_MAX`].
pub(crate) fn check_key(key: &[u8]) -> Result<(), StoreError> {
    if key.len() > KEY_BYTES_MAX {
        return Err(StoreError::Invalid(format!(
            "a key of {} bytes; at most {KEY_BYTES_MAX}",
            key.len()
        )));
    }
    if key.first().is_none_or(|b| *b <= STREAM_TAG) {
        return Err(StoreError::Invalid(
            "a key may not be empty or begin with 0x00 or 0x01".to_owned(),
        ));
    }
    Ok(())
}

/// Refuses a value that is too large for a row.
///
/// # Errors
/// `Invalid` for more than [`VALUE_BYTES_MAX`] bytes.
pub(crate) fn check_value(value: &[u8]) -> Result<(), StoreError> {
    if value.len() > VALUE_BYTES_MAX {
        return Err(StoreError::Invalid(format!(
            "a value of {} bytes; at most {VALUE_BYTES_MAX}",
            value.len()
        )));
    }
    Ok(())
}

/// Refuses a commit that breaks a named limit; checks entries and hints, but not their sequences.
///
/// # Errors
/// `Invalid`, naming the limit.
pub(crate) fn check_commit(commit: &Commit) -> Result<(), StoreError> {
    let invalid = |what: String| Err(StoreError::Invalid(what));
    if commit.entries.len() > COMMIT_ENTRIES_MAX {
        let n = commit.entries.len();
        return invalid(format!(
            "a commit of {n} entries; at most {COMMIT_ENTRIES_MAX}"
        ));
    }
    if commit.decided_on.len() > COMMIT_ENTRIES_MAX {
        let n = commit.decided_on.len();
        return invalid(format!(
            "a commit decided on {n} entries; at most {COMMIT_ENTRIES_MAX}"
        ));
    }
    if let Some(e) = commit
        .entries
        .iter()
        .find(|e| e.body.len() > ENTRY_BYTES_MAX)
    {
        let n = e.body.len();
        return invalid(format!("an entry of {n} bytes; at most {ENTRY_BYTES_MAX}"));
    }
    let hints: usize = commit
        .hints
        .iter()
        .map(|r| r.key.len() + r.value.as_ref().map_or(0, Vec::len))
        .sum();
    if commit_bytes(commit) + u64_of(hints) > COMMIT_BYTES_MAX {
        let n = commit_bytes(commit) + u64_of(hints);
        return invalid(format!("a commit of {n} bytes; at most {COMMIT_BYTES_MAX}"));
    }
    commit.hints.iter().try_for_each(check_row)
}

/// Refuses a row that a layer above may not write.
///
/// # Errors
/// As [`check_key`] and [`check_value`].
pub(crate) fn check_row(row: &Row) -> Result<(), StoreError> {
    check_key(&row.key)?;
    row.value.as_deref().map_or(Ok(()), check_value)
}
