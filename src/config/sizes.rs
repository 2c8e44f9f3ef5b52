//! Settings of sizes: the actors, and what the store keeps.

use caudal_actors::engine;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Actors {
    pub(super) threads: usize,
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

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Storage {
    pub(super) segment_mib: u32,
    pub(super) free_space_floor_mib: u64,
    pub(super) index_cache_mib: Option<u64>,
    pub(super) check_mib_per_second: u32,
    pub(super) check_every_hours: u32,
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
