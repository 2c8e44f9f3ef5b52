//! The bytes of a realm's file.
//!
//! **Shape.** Numbers big-endian:
//! ```text
//! head     512 bytes: magic "CAUDALR1", format u32, id of the store [16], realm u32, mode u8 (0 live, 1 test),
//!          last commit u64, hash of its record [32], latest time u64, tenant (u16 and text), zeros, CRC-32 u32
//! frame    kind u8, bytes unpacked u32, bytes packed u32, CRC-32 u32 of these and the packed bytes; zstd
//!   1      entries: kind u8, number u64, sequence u64, time u64, body (u32 and bytes), one behind the other
//!   2      streams: kind u8, number u64, last sequence u64, hash [32], in their order
//!   3      end: a record ([`Ending`])
//! ```
//! Frames of entries come first, then those of streams, then the end, and nothing behind it. A frame of entries holds
//! whole commits and is at most one commit of a store. A new format gets another number; files of older ones are read.
//!
//! **Failure.** Every error names its offset in the file.

use std::io::Read as _;

use caudal_ledger::chain::Digest;
use caudal_ledger::ids::{Mode, RealmId};
use caudal_ledger::tenants::Tenant;
use caudal_ledger::tenants::test_clock::TestClock;
use caudal_storage::log::LogId;
use caudal_storage::{COMMIT_BYTES_MAX, ENTRY_BYTES_MAX};
use serde::{Deserialize, Serialize};
use zstd::stream::Decoder;

use super::tally::{RealmEntry, StreamName, StreamReach};

/// The size of the head in bytes.
pub const HEAD_BYTES: usize = 512;
/// The longest id of a tenant that fits in the head, in bytes.
pub const TENANT_BYTES_MAX: usize = 256;
/// A frame of entries with this many bytes unpacked takes no further commit.
pub const FRAME_BYTES: usize = 1 << 20;
/// A frame of entries with this many entries takes no further commit.
pub const FRAME_ENTRIES: usize = 8192;
/// The most unpacked bytes of a frame: the largest commit, with the data next to its bodies.
pub const FRAME_BYTES_MAX: u64 = 2 * COMMIT_BYTES_MAX;
/// The most streams in one frame.
pub const STREAMS_IN_FRAME: usize = 16_384;
/// The bytes in front of a frame's packed bytes.
pub const FRAME_HEAD: usize = 13;

const MAGIC: [u8; 8] = *b"CAUDALR1";
const FORMAT: u32 = 1;
const LEVEL: i32 = 3;
/// The bytes of an entry without its body.
const ENTRY_HEAD: usize = 29;
/// The bytes of a stream.
const STREAM_BYTES: usize = 49;

/// The realm of a file, and the point up to which the file has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileHead {
    /// The id of the store that it was exported from.
    pub store: LogId,
    /// The tenant.
    pub tenant: String,
    /// The live or the test realm.
    pub mode: Mode,
    /// The number of the realm.
    pub realm: RealmId,
    /// The last commit of the realm's cell that was read; it may belong to another realm.
    pub commit: u64,
    /// The hash of the record with that commit.
    pub chain: [u8; 32],
    /// The latest time of the store's entries up to there, in milliseconds since 1970 UTC.
    pub latest: u64,
}

/// The last frame: the totals that the file's contents have to match.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ending {
    /// The tenant with its settings, as of the last commit.
    pub tenant: Tenant,
    /// Whether the realm was closed by then, so that no entry could follow.
    pub closed: bool,
    /// The clock of the tenant's test realm.
    #[serde(default, skip_serializing_if = "TestClock::is_usual")]
    pub test_clock: TestClock,
    /// How many entries there are.
    pub entries: u64,
    /// How many streams there are.
    pub streams: u64,
    /// The digest over all entries.
    pub digest: Digest,
}

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FrameKind {
    /// Entries of the realm.
    Entries,
    /// The last sequence and the hash of each stream.
    Streams,
    /// The totals; the last frame.
    End,
}

impl FrameKind {
    const fn byte(self) -> u8 {
        match self {
            Self::Entries => 1,
            Self::Streams => 2,
            Self::End => 3,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        [Self::Entries, Self::Streams, Self::End]
            .into_iter()
            .find(|kind| kind.byte() == byte)
    }
}

/// The head of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameHead {
    /// The kind of its contents.
    pub kind: FrameKind,
    /// The size of its contents unpacked, in bytes.
    pub bytes: u32,
    /// The size of its contents packed, in bytes.
    pub packed: u32,
    crc: u32,
}

impl FileHead {
    /// The encoded head.
    ///
    /// # Errors
    /// When the tenant's id does not fit.
    pub fn encode(&self) -> Result<Vec<u8>, String> {
        let name = self.tenant.as_bytes();
        let length = u16::try_from(name.len()).ok();
        let length = length.filter(|_| name.len() <= TENANT_BYTES_MAX);
        let length = length
            .ok_or_else(|| format!("the tenant's id is longer than {TENANT_BYTES_MAX} bytes"))?;
        let mut bytes = Vec::with_capacity(HEAD_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT.to_be_bytes());
        bytes.extend_from_slice(&self.store);
        bytes.extend_from_slice(&self.realm.0.to_be_bytes());
        bytes.push(match self.mode {
            Mode::Live => 0,
            Mode::Test => 1,
        });
        bytes.extend_from_slice(&self.commit.to_be_bytes());
        bytes.extend_from_slice(&self.chain);
        bytes.extend_from_slice(&self.latest.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(name);
        bytes.resize(HEAD_BYTES - 4, 0);
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_be_bytes());
        Ok(bytes)
    }

    /// Reads a head.
    ///
    /// # Errors
    /// The first thing wrong with it, for operators.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        if !bytes.starts_with(&MAGIC) {
            return Err("it does not begin like the file of a realm".to_owned());
        }
        let (body, crc) = bytes
            .split_last_chunk::<4>()
            .filter(|_| bytes.len() == HEAD_BYTES)
            .ok_or("the head is cut short")?;
        let mut c = FrameReader(body);
        c.take(MAGIC.len())?;
        if c.u32()? != FORMAT {
            return Err("it was written in a newer format than this program knows".to_owned());
        }
        if crc32fast::hash(body) != u32::from_be_bytes(*crc) {
            return Err("the head fails its checksum".to_owned());
        }
        let store = c.array()?;
        let realm = RealmId(c.u32()?);
        let mode = match c.u8()? {
            0 => Mode::Live,
            1 => Mode::Test,
            other => return Err(format!("the head names an unknown mode, {other}")),
        };
        let (commit, chain, latest) = (c.u64()?, c.array()?, c.u64()?);
        let length = u16::from_be_bytes(c.array()?);
        let name = c.take(usize::from(length))?.to_vec();
        let tenant = String::from_utf8(name).map_err(|_| "the tenant's id is no text")?;
        Ok(Self {
            store,
            tenant,
            mode,
            realm,
            commit,
            chain,
            latest,
        })
    }

    /// The digest that distinguishes a file from every other: of its realm, its end and its contents.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn name(&self, digest: Digest) -> Result<Digest, String> {
        let mut bytes = self.encode()?;
        bytes.extend_from_slice(&digest.0);
        Ok(Digest::of(&bytes))
    }
}

/// Packs a frame.
///
/// # Errors
/// When it is too large, or the compressor fails, which happens only when memory runs out.
pub fn pack(kind: FrameKind, bytes: &[u8]) -> Result<Vec<u8>, String> {
    let packed = zstd::bulk::compress(bytes, LEVEL).map_err(|why| why.to_string())?;
    let size = |length: usize| u32::try_from(length).map_err(|_| "a frame is too large".to_owned());
    let mut frame = Vec::with_capacity(FRAME_HEAD + packed.len());
    frame.push(kind.byte());
    frame.extend_from_slice(&size(bytes.len())?.to_be_bytes());
    frame.extend_from_slice(&size(packed.len())?.to_be_bytes());
    let crc = crc(&frame, &packed);
    frame.extend_from_slice(&crc.to_be_bytes());
    frame.extend_from_slice(&packed);
    Ok(frame)
}

fn crc(head: &[u8], packed: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(packed);
    hasher.finalize()
}

impl FrameHead {
    /// Reads the head of a frame.
    ///
    /// # Errors
    /// When it is not a head, or the frame is larger than allowed.
    pub fn decode(bytes: &[u8; FRAME_HEAD]) -> Result<Self, String> {
        let mut c = FrameReader(bytes);
        let kind = c.u8()?;
        let kind = FrameKind::of(kind).ok_or_else(|| format!("no frame has the kind {kind}"))?;
        let (bytes, packed, crc) = (c.u32()?, c.u32()?, c.u32()?);
        if u64::from(bytes.max(packed)) > FRAME_BYTES_MAX {
            return Err("the frame claims to be larger than any may be".to_owned());
        }
        Ok(Self {
            kind,
            bytes,
            packed,
            crc,
        })
    }

    /// Unpacks a frame's bytes.
    ///
    /// # Errors
    /// When they differ from what was written.
    pub fn unpack(&self, head: &[u8; FRAME_HEAD], packed: &[u8]) -> Result<Vec<u8>, String> {
        let before = head.get(..FRAME_HEAD - 4).ok_or("the frame is cut short")?;
        if crc(before, packed) != self.crc {
            return Err("the frame fails its checksum".to_owned());
        }
        let fail = |why: std::io::Error| format!("the frame cannot be unpacked: {why}");
        let mut bytes = Vec::new();
        // One byte more than expected, so that an excess is noticed without unpacking all of it.
        let most = u64::from(self.bytes) + 1;
        let decoder = Decoder::with_buffer(packed).map_err(fail)?;
        decoder.take(most).read_to_end(&mut bytes).map_err(fail)?;
        if u32::try_from(bytes.len()) == Ok(self.bytes) {
            Ok(bytes)
        } else {
            Err("the frame holds another number of bytes than it says".to_owned())
        }
    }
}

/// Appends an entry to others.
///
/// # Errors
/// When its body is larger than allowed.
pub fn put_item(into: &mut Vec<u8>, item: &RealmEntry<'_>) -> Result<(), String> {
    let length = u32::try_from(item.body.len()).ok();
    let length = length.filter(|_| item.body.len() <= ENTRY_BYTES_MAX);
    let length = length.ok_or("an entry is larger than any may be")?;
    into.reserve(ENTRY_HEAD + item.body.len());
    into.push(item.kind);
    for number in [item.number, item.seq, item.at] {
        into.extend_from_slice(&number.to_be_bytes());
    }
    into.extend_from_slice(&length.to_be_bytes());
    into.extend_from_slice(item.body);
    Ok(())
}

/// Visits the entries of a frame.
///
/// # Errors
/// When the frame differs from what was written; the errors of `visit`.
pub fn items<'a>(
    bytes: &'a [u8],
    visit: &mut dyn FnMut(RealmEntry<'a>) -> Result<(), String>,
) -> Result<(), String> {
    let mut c = FrameReader(bytes);
    while !c.0.is_empty() {
        let (kind, number, seq, at) = (c.u8()?, c.u64()?, c.u64()?, c.u64()?);
        let length = usize::try_from(c.u32()?).map_err(|why| why.to_string())?;
        visit(RealmEntry {
            kind,
            number,
            seq,
            at,
            body: c.take(length)?,
        })?;
    }
    Ok(())
}

/// Appends a stream to others.
pub fn put_stream(into: &mut Vec<u8>, (kind, number): StreamName, reach: &StreamReach) {
    into.reserve(STREAM_BYTES);
    into.push(kind);
    into.extend_from_slice(&number.to_be_bytes());
    into.extend_from_slice(&reach.last.to_be_bytes());
    into.extend_from_slice(&reach.hash);
}

/// Visits the streams of a frame.
///
/// # Errors
/// When the frame differs from what was written; the errors of `visit`.
pub fn streams(
    bytes: &[u8],
    visit: &mut dyn FnMut(StreamName, StreamReach) -> Result<(), String>,
) -> Result<(), String> {
    let mut c = FrameReader(bytes);
    while !c.0.is_empty() {
        let name = (c.u8()?, c.u64()?);
        let (last, hash) = (c.u64()?, c.array()?);
        visit(name, StreamReach { last, hash })?;
    }
    Ok(())
}

/// Bytes, read from the front.
struct FrameReader<'a>(&'a [u8]);

impl<'a> FrameReader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("it is cut short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.take(N)?
            .try_into()
            .map_err(|_| "it is cut short".to_owned())
    }

    fn u8(&mut self) -> Result<u8, String> {
        self.array().map(u8::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> FileHead {
        FileHead {
            store: [3; 16],
            tenant: "tnt_uno".to_owned(),
            mode: Mode::Test,
            realm: RealmId(6),
            commit: 77,
            chain: [9; 32],
            latest: 5,
        }
    }

    #[test]
    fn a_head_of_format_1_is_read_for_ever() {
        let bytes = head().encode().unwrap();
        assert_eq!(FileHead::decode(&bytes).unwrap(), head());
        let hex: String = bytes[..97]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let fixed = "43415544414c5231\
            00000001\
            03030303030303030303030303030303\
            00000006\
            01\
            000000000000004d\
            0909090909090909090909090909090909090909090909090909090909090909\
            0000000000000005\
            0007746e745f756e6f000000";
        assert!(hex.starts_with(fixed), "{hex}");
        assert_eq!(bytes[HEAD_BYTES - 4..], [0x9c, 0x9f, 0x05, 0xf6]);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        let bytes = head().encode().unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(FileHead::decode(&flipped).is_err(), "{bit}");
        }
        assert!((0..HEAD_BYTES).all(|cut| FileHead::decode(&bytes[..cut]).is_err()));
        let frame = pack(FrameKind::Entries, &[7; 3000]).unwrap();
        let open = |frame: &[u8]| {
            let (head, packed) = frame.split_first_chunk().ok_or("short")?;
            FrameHead::decode(head)?.unpack(head, packed)
        };
        assert_eq!(open(&frame).unwrap(), [7; 3000]);
        for bit in 0..frame.len() * 8 {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&flipped).is_err(), "{bit}");
        }
    }

    #[test]
    fn entries_and_streams_read_back_and_nothing_of_a_cut_one_is_guessed() {
        let item = RealmEntry {
            kind: 4,
            number: 1 << 40,
            seq: 2,
            at: 3,
            body: b"fact",
        };
        let mut bytes = Vec::new();
        put_item(&mut bytes, &item).unwrap();
        let mut found = Vec::new();
        items(&bytes, &mut |it| {
            found.push(it);
            Ok(())
        })
        .unwrap();
        assert_eq!(found, [item]);
        for cut in 1..bytes.len() {
            assert!(items(&bytes[..cut], &mut |_| Ok(())).is_err(), "{cut}");
        }
        let large = vec![0; ENTRY_BYTES_MAX + 1];
        let body = large.as_slice();
        assert!(put_item(&mut bytes, &RealmEntry { body, ..item }).is_err());
        let reach = StreamReach {
            last: 9,
            hash: [1; 32],
        };
        let mut bytes = Vec::new();
        put_stream(&mut bytes, (4, 5), &reach);
        let mut found = Vec::new();
        streams(&bytes, &mut |name, reach| {
            found.push((name, reach));
            Ok(())
        })
        .unwrap();
        assert_eq!(found, [((4, 5), reach)]);
    }
}
