//! The meaning of the bytes in the store: streams, facts, keys of the index, and typed reads.
//!
//! Kinds of streams, tags of keys and the format byte are only added, never changed.

pub mod account_sets;
pub mod keys;
pub mod marks;
mod msgpack;
pub mod projection;
pub mod reads;
pub mod rest;

#[cfg(test)]
mod tests;

use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Entry, Fact, Index, StoreError, StreamId};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Tenants, keys, settings of the platform.
pub const PLATFORM: u8 = 1;
/// Voucher types of a realm.
pub const REALM: u8 = 2;
/// The profile of an account.
pub const PROFILE: u8 = 3;
/// The movements of an account; the sequence of the stream is the movement's sequence.
pub const LEDGER: u8 = 4;
/// Calls to the bank for an account.
pub const BANK: u8 = 5;
/// Answers kept for idempotency keys, by the actor that gave them.
pub const ANSWERS: u8 = 6;

/// The facts of an account's transfers.
pub const TRANSFERS: u8 = 7;
/// Money that arrived and that no account could take, by the account for which it was meant (0: unknown).
pub const SUSPENSE: u8 = 8;

/// The rest of long answers, each entry a part of the text.
pub const ANSWER_PARTS: u8 = 9;

/// A tenant's orders about its webhooks.
pub const WEBHOOKS: u8 = 10;
/// The progress of a webhook; the stream's number is the webhook's.
pub const DELIVERIES: u8 = 11;

/// People's decisions about money in suspense: by the account to which it was credited; by the realm (0) for returns,
/// where the sequence is the number of the return.
pub const CASES: u8 = 12;

/// Reports of the bank that the ledger cannot book, by the account that they are about (0: unknown, or an arrival);
/// people's decisions about them, by the realm (0).
pub const UNBOOKED: u8 = 13;

/// Who runs the service: people, their roles and credentials.
pub const PEOPLE: u8 = 14;
/// The audit log: who did something, what, and why.
pub const AUDIT: u8 = 15;
/// Requests of one person that another one decides.
pub const APPROVALS: u8 = 16;
/// The movements of a realm's collector account that belong to no client.
pub const COLLECTOR: u8 = 18;

/// Whether the collector account has what a realm's clients own: an entry for each change.
pub const COVERAGE: u8 = 17;
/// The closed days of a realm.
pub const DAYS: u8 = 19;

/// The format of a record: named fields of MessagePack, with names of one letter in records that are written often.
const NAMED: u8 = 1;
/// Room for most records, in bytes.
const ROOM: usize = 384;

/// The largest part of an answer's body in one entry, in bytes.
pub const ANSWER_PART_BYTES: usize = 512 << 10;

/// The error for an entry of a stream whose kind is unknown.
pub fn unknown_kind(kind: u8) -> StoreError {
    StoreError::Corrupt(format!("a stream has the unknown kind {kind}").into())
}

/// The stream of the platform: tenants, keys and banks. It belongs to no realm, so its realm is 0.
pub const PLATFORM_STREAM: StreamId = StreamId {
    realm: 0,
    kind: PLATFORM,
    number: 0,
};

/// The stream of the people who run the service.
pub const PEOPLE_STREAM: StreamId = of_the_platform(PEOPLE);
/// The stream of the audit log.
pub const AUDIT_STREAM: StreamId = of_the_platform(AUDIT);
/// The stream of the requests that wait for a second person.
pub const APPROVALS_STREAM: StreamId = of_the_platform(APPROVALS);

const fn of_the_platform(kind: u8) -> StreamId {
    StreamId {
        kind,
        ..PLATFORM_STREAM
    }
}

/// A stream of a realm that belongs to no account.
pub const fn realm_stream(realm: RealmId, kind: u8) -> StreamId {
    StreamId {
        realm: realm.0,
        kind,
        number: 0,
    }
}

/// A stream of an account.
pub const fn account_stream(realm: RealmId, account: AccountNo, kind: u8) -> StreamId {
    StreamId {
        realm: realm.0,
        kind,
        number: account.0,
    }
}

/// Encodes a record: a byte for the format, then MessagePack with the names of fields.
///
/// # Errors
/// [`StoreError::Invalid`] when serde refuses a value. The size is not checked here.
pub fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::with_capacity(ROOM);
    bytes.push(NAMED);
    rmp_serde::encode::write_named(&mut bytes, record)
        .map_err(|why| StoreError::Invalid(format!("a record could not be encoded: {why}")))?;
    Ok(bytes)
}

/// Decodes a record.
///
/// # Errors
/// [`StoreError::Corrupt`] when the bytes are empty, of an unknown format, or no such record.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    let corrupt = |why: String| StoreError::Corrupt(why.into());
    match bytes.split_first() {
        Some((&NAMED, named)) => msgpack::from_slice(named)
            .map_err(|why| corrupt(format!("a record could not be decoded: {why}"))),
        Some((format, _)) => Err(corrupt(format!("a record has the unknown format {format}"))),
        None => Err(corrupt("a record is empty".into())),
    }
}

/// The end of a stream, as its one writer knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tail {
    /// The sequence of the last entry; 0 when there is none.
    pub seq: u64,
    /// When the last entry happened; the next entry is never before it.
    pub at: Timestamp,
}

impl Tail {
    /// The end of a stream as the store knows it.
    pub fn read(store: &dyn Index, stream: StreamId) -> Result<Self, StoreError> {
        let head = store.head(stream)?;
        Ok(head.map_or_else(Self::default, |head| Self {
            seq: head.seq,
            at: Timestamp::from_millis(head.at),
        }))
    }

    /// The next entry. Its time is never before the last one's, although the clock may have been set back meanwhile.
    pub fn next<T: Serialize>(
        &mut self,
        stream: StreamId,
        now: Timestamp,
        record: &T,
    ) -> Result<Entry, StoreError> {
        let (seq, at) = (self.seq + 1, self.at.max(now));
        let entry = entry(stream, seq, at, record)?;
        *self = Self { seq, at };
        Ok(entry)
    }
}

/// The entry of a record.
pub fn entry<T: Serialize>(
    stream: StreamId,
    seq: u64,
    at: Timestamp,
    record: &T,
) -> Result<Entry, StoreError> {
    Ok(Entry {
        stream,
        seq,
        at: at.millis(),
        body: encode(record)?,
        fact: Fact::default(),
    })
}
