//! Compresses the full segments of a closed store, and says how many bytes a voucher takes afterwards.
//!
//! **Order.** Every full segment that the index is ahead of is compressed, each is read back, and the whole ledger is
//! compared once more with the acknowledged vouchers, now out of the compressed files.

use std::path::Path;
use std::time::Instant;

use caudal_ledger::ids::RealmId;
use caudal_storage::{Store as _, StoreOptions};
use serde::Serialize;

use super::audit::{self, Audit};
use super::bytes::{self, Share};
use super::figures::{nanos, scaled};
use super::machine;
use super::site;
use super::tally::Tally;

/// Segments that stay uncompressed behind the one that the index ends in.
const AFTER: u32 = 1;

/// A store whose full segments are compressed.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compressed {
    /// Segments that were compressed.
    pub segments: u64,
    /// Nanoseconds that compressing and reading everything again took, on one thread.
    pub nanos: u64,
    /// Bytes of the folder when closed.
    pub disk_bytes: u64,
    /// The same per voucher, including accounts and reserved room.
    pub disk_bytes_per_posting: u64,
    /// The use of those bytes.
    pub shares: Vec<Share>,
    /// The audit of the whole ledger out of the compressed segments.
    pub audit: Audit,
}

/// Compresses the full segments of the store in a folder.
///
/// # Errors
/// When the store cannot be opened or read.
pub fn run(folder: &Path, realm: RealmId, tally: &Tally) -> anyhow::Result<Compressed> {
    let options = StoreOptions {
        compress_after_segments: AFTER,
        ..StoreOptions::default()
    };
    let store = site::open_store(folder, options)?;
    let start = Instant::now();
    while store.check_step() {}
    let spent = nanos(start.elapsed());
    let stats = store.stats();
    let audit = audit::ledger(store.as_ref(), realm, tally)?;
    let shares = bytes::of(&store)?;
    store.close()?;
    let disk_bytes = machine::disk_bytes(folder);
    Ok(Compressed {
        segments: stats.compressed_segments,
        nanos: spent,
        disk_bytes,
        disk_bytes_per_posting: scaled(disk_bytes, 1, audit.vouchers),
        shares,
        audit,
    })
}
