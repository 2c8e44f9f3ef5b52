//! The cache of recently read blocks: checked, and unpacked once they are scanned.
//!
//! **Shape.** [`SHARDS`] shards by run and block, each a map and a clock: a block that was used since the hand last
//! passed stays for another round. Readers share a block; nothing is copied. To find a single row, a block is searched
//! in packed form, which takes a third to a sixth of the memory of the unpacked form.
//!
//! **Bounds.** A set number of bytes in total; each block counts with its size, which grows when it is unpacked. A
//! block of a run never changes and run numbers are never reused, so nothing has to be invalidated: blocks of runs that
//! were merged away are no longer used, and the hand drops them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use foldhash::HashMap;

use crate::index::block::Block;
use crate::num::{u64_of, usize_of};
use crate::sync::lock;

/// The number of shards; each has its own lock.
const SHARDS: usize = 16;

#[derive(Debug)]
struct CacheSlot {
    key: (u64, u32),
    block: Arc<Block>,
    /// The size with which it is counted, in bytes.
    bytes: u64,
    /// Whether it was used since the hand last passed.
    again: bool,
}

#[derive(Debug, Default)]
struct Shard {
    places: HashMap<(u64, u32), usize>,
    slots: Vec<CacheSlot>,
    hand: usize,
    bytes: u64,
}

impl Shard {
    fn get(&mut self, key: (u64, u32)) -> Option<Arc<Block>> {
        let slot = self.slots.get_mut(*self.places.get(&key)?)?;
        slot.again = true;
        Some(Arc::clone(&slot.block))
    }

    fn put(&mut self, key: (u64, u32), block: Arc<Block>, most: u64) {
        let bytes = block.bytes();
        if bytes > most || self.places.contains_key(&key) {
            return;
        }
        while self.bytes + bytes > most && self.evict() {}
        self.bytes += bytes;
        self.places.insert(key, self.slots.len());
        self.slots.push(CacheSlot {
            key,
            block,
            bytes,
            again: false,
        });
    }

    /// Updates the counted size of a block that was unpacked meanwhile.
    fn grown(&mut self, key: (u64, u32), most: u64) {
        let place = self.places.get(&key);
        let Some(slot) = place.and_then(|at| self.slots.get_mut(*at)) else {
            return;
        };
        let bytes = slot.block.bytes();
        self.bytes = self.bytes - slot.bytes + bytes;
        slot.bytes = bytes;
        while self.bytes > most && self.evict() {}
    }

    /// Evicts the next block that was not used again; false when there are no blocks.
    fn evict(&mut self) -> bool {
        loop {
            if self.hand >= self.slots.len() {
                self.hand = 0;
            }
            let Some(slot) = self.slots.get_mut(self.hand) else {
                return false;
            };
            if std::mem::take(&mut slot.again) {
                self.hand += 1;
                continue;
            }
            // the last slot moves into the freed place, and waits for the hand's next round
            let gone = self.slots.swap_remove(self.hand);
            self.bytes -= gone.bytes;
            self.places.remove(&gone.key);
            if let Some(moved) = self.slots.get(self.hand) {
                self.places.insert(moved.key, self.hand);
                self.hand += 1;
            }
            return true;
        }
    }
}

/// The cache of blocks of one index.
#[derive(Debug)]
pub(crate) struct BlockCache {
    shards: Vec<Mutex<Shard>>,
    most: AtomicU64,
    cached: AtomicU64,
    read: AtomicU64,
}

impl BlockCache {
    /// An empty cache of at most this many bytes; 0 keeps nothing.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            most: AtomicU64::new(most),
            cached: AtomicU64::new(0),
            read: AtomicU64::new(0),
        }
    }

    /// Limits the cache to this many bytes from now on; evicts the excess at once.
    pub(crate) fn set_most(&self, most: u64) {
        if self.most.swap(most, Ordering::Relaxed) > most {
            let most = most / u64_of(SHARDS);
            for shard in &self.shards {
                let mut shard = lock(shard);
                while shard.bytes > most && shard.evict() {}
            }
        }
    }

    /// The most bytes that one shard may take.
    fn share(&self) -> u64 {
        self.most.load(Ordering::Relaxed) / u64_of(SHARDS)
    }

    fn shard(&self, (run, block): (u64, u32)) -> Option<&Mutex<Shard>> {
        let mixed = run.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(block);
        self.shards.get(usize_of(mixed % u64_of(SHARDS)))
    }

    /// The block, if it is cached.
    pub(crate) fn get(&self, key: (u64, u32)) -> Option<Arc<Block>> {
        let found = lock(self.shard(key)?).get(key)?;
        self.cached.fetch_add(1, Ordering::Relaxed);
        Some(found)
    }

    /// Unpacks a block; if it is cached, it counts with its new size.
    pub(crate) fn unpack(&self, key: (u64, u32), block: &Block) {
        if block.is_unpacked() {
            return;
        }
        block.rows();
        if let Some(shard) = self.shard(key) {
            lock(shard).grown(key, self.share());
        }
    }

    /// Caches a block that was read.
    pub(crate) fn put(&self, key: (u64, u32), block: &Arc<Block>) {
        self.read.fetch_add(1, Ordering::Relaxed);
        if let Some(shard) = self.shard(key) {
            lock(shard).put(key, Arc::clone(block), self.share());
        }
    }

    /// How many blocks were read and how many were found here, since the start.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        (count(&self.read), count(&self.cached))
    }

    /// The limit and the current size, in bytes.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let now = self.shards.iter().map(|shard| lock(shard).bytes).sum();
        (self.most.load(Ordering::Relaxed), now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Arc<Block> {
        // rows without key and value, of five bytes each
        Arc::new(Block::new(vec![0; 4095].into()))
    }

    #[test]
    fn it_keeps_to_its_bytes_and_to_what_is_asked_for_again() {
        let one = block().bytes();
        let cache = BlockCache::new(one * 8 * u64_of(SHARDS));
        let hot: Vec<_> = (0..32).map(|n| (1, n)).collect();
        hot.iter().for_each(|key| cache.put(*key, &block()));
        for n in 0..10_000 {
            cache.put((2, n), &block());
            if n % 4 == 0 {
                hot.iter().for_each(|key| drop(cache.get(*key)));
            }
            let (most, now) = cache.bytes();
            assert!(now <= most, "{now} of {most}");
        }
        assert!(hot.iter().all(|key| cache.get(*key).is_some()));
        let shards = cache.shards.iter().map(|shard| {
            let shard = lock(shard);
            assert_eq!(shard.places.len(), shard.slots.len());
            let right = |(key, at): (&(u64, u32), &usize)| shard.slots[*at].key == *key;
            assert!(shard.places.iter().all(right));
            shard.slots.len()
        });
        assert_eq!(shards.sum::<usize>(), 8 * SHARDS);
    }

    #[test]
    fn unpacked_blocks_count_with_their_size_and_evict_others() {
        let one = block().bytes();
        let cache = BlockCache::new(one * 12 * u64_of(SHARDS));
        let keys: Vec<_> = (0..u32::MAX)
            .map(|n| (1, n))
            .filter(|key| std::ptr::eq(cache.shard(*key).unwrap(), &cache.shards[0]))
            .take(12)
            .collect();
        keys.iter().for_each(|key| cache.put(*key, &block()));
        assert_eq!(cache.bytes().1, 12 * one);
        let here = || keys.iter().filter(|key| cache.get(**key).is_some()).count();
        assert_eq!(here(), 12);
        let last = cache.get(keys[11]).unwrap();
        cache.unpack(keys[11], &last);
        assert!(last.bytes() > 4 * one && here() < 9, "{}", here());
        let held: u64 = keys
            .iter()
            .filter_map(|key| Some(cache.get(*key)?.bytes()))
            .sum();
        assert_eq!(cache.bytes().1, held);
        cache.set_most(one * 4 * u64_of(SHARDS));
        assert!(cache.bytes().1 <= 4 * one, "{:?}", cache.bytes());
        let held = cache.bytes().1;
        // a block that is not cached is unpacked all the same
        let other = block();
        cache.unpack((2, 1), &other);
        assert!(other.is_unpacked() && cache.bytes().1 == held);
    }

    #[test]
    fn a_cache_of_no_bytes_keeps_nothing() {
        let cache = BlockCache::new(0);
        cache.put((1, 1), &block());
        assert!(cache.get((1, 1)).is_none());
        assert_eq!((cache.bytes(), cache.counts()), ((0, 0), (1, 0)));
    }
}
