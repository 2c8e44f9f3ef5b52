//! Settings of sizes: the actors, and the store's disk and memory.

use std::time::Duration;

use caudal_actors::engine;
use serde::Deserialize;

use super::MIB;

/// How many threads the actors have, and how many accounts stay in memory.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Actors {
    /// How many threads run actors; couriers have one more.
    pub(super) threads: usize,
    /// The most accounts in memory, of all realms; without it, as many as `memory_bytes` leaves.
    pub(super) resident: Option<usize>,
}

impl Default for Actors {
    fn default() -> Self {
        let usual = engine::EngineOptions::default();
        Self {
            threads: usual.arbiters,
            resident: None,
        }
    }
}

/// The store's sizes on disk and in memory, and the pace of its background check.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Storage {
    /// The size of a journal segment, in MiB.
    pub(super) segment_mib: u32,
    /// How much of the disk has to stay free for the store to take writes, in MiB; 0 is off.
    pub(super) free_space_floor_mib: u64,
    /// The size of sled's own cache, in MiB; without it, a part of `memory_bytes`.
    pub(super) index_cache_mib: Option<u64>,
    /// The speed of the background check, in MiB per second; 0 is off.
    pub(super) check_mib_per_second: u32,
    /// The pause between two rounds of the background check, in hours.
    pub(super) check_every_hours: u32,
    /// The size of the cache of the index's blocks, in MiB; 0 keeps none; without it, a part of
    /// `memory_bytes`.
    pub(super) block_cache_mib: Option<u64>,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            segment_mib: 64,
            free_space_floor_mib: 256,
            index_cache_mib: None,
            check_mib_per_second: 8,
            check_every_hours: 24,
            block_cache_mib: None,
        }
    }
}

impl Storage {
    /// The options of the store, except those that follow from `memory_bytes`.
    pub(super) fn options(self) -> caudal_storage::StoreOptions {
        caudal_storage::StoreOptions {
            segment_bytes: self.segment_mib.saturating_mul(1 << 20),
            free_space_floor: self.free_space_floor_mib.saturating_mul(MIB),
            check_bytes_per_second: u64::from(self.check_mib_per_second) * MIB,
            check_every: Duration::from_secs(u64::from(self.check_every_hours) * 3_600),
            abort_on_poison: true,
            ..caudal_storage::StoreOptions::default()
        }
    }
}
