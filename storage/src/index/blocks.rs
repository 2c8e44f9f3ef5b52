//! The immutable blocks of the index: in sled, those of large runs in plain files next to it.
//!
//! **Shape.** Key: run u64, block u32. Value: crc32c u32, run u64, block u32, kind u8, payload; so a block that is
//! lost, stale, swapped or flipped cannot pass for another. A run of many rows has a file of its own (see [`run_files`]);
//! all others are in sled (see [`one`]), with the manifest, which names them all.
//!
//! **Bounds.** No value above 4096 bytes: sled keeps large pages in files that it never syncs.
//!
//! **Order.** One thread at a time writes to sled, and one to each file.
//!
//! **Failure.** See [`IndexError`]. The folder may be deleted at any time: the index is rebuilt from the journal.

mod file;
mod run_files;
mod sled_store;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};

use sled::IVec;

use crate::codec::Cursor;
use crate::context::StoreContext;
use crate::folder::Folder;
use crate::index::Tuning;
use crate::index::cache::BlockCache;
use crate::index::error::IndexError;
use crate::sync::{lock, read};
use file::RunFile;
use sled_store::SledStore;

/// The name of sled's folder inside the store's.
pub(crate) const INDEX: &str = "index";
/// The largest value given to sled, in bytes.
pub(crate) const VALUE_MAX: usize = 4096;
/// Bytes of a value before the payload.
pub(crate) const OVERHEAD: usize = 17;
/// The largest payload of a block, in bytes.
pub(crate) const PAYLOAD_MAX: usize = VALUE_MAX - OVERHEAD;
/// The key of the manifest; it sorts after all blocks.
pub(crate) const MANIFEST_KEY: &[u8] = b"\xFFmanifest";

/// Bytes of blocks that are written in one go.
pub(crate) const STRETCH: usize = 2 << 20;
/// How many blocks are written into sled under one lock.
const TURN: usize = 64;

/// The key and the value of a block.
pub(crate) type Keyed = ([u8; 12], Vec<u8>);

/// Receives a block's number and value; an error ends the walk.
pub(crate) type BlockVisitor<'a> = &'a mut dyn FnMut(u32, &[u8]) -> Result<(), IndexError>;

/// The kind of content of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BlockKind {
    /// Rows, sorted by key.
    Rows,
    /// A piece of a large value.
    Piece,
    /// First keys of the row blocks, with their numbers.
    Fences,
    /// A part of the Bloom filter.
    Filter,
    /// Rows, sorted by key, compressed.
    CompressedRows,
    /// The kinds of rows whose prefixes the Bloom filter has.
    Scopes,
}

impl BlockKind {
    /// The byte that stands for the kind on disk.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Rows => 1,
            Self::Piece => 2,
            Self::Fences => 3,
            Self::Filter => 4,
            Self::CompressedRows => 5,
            Self::Scopes => 6,
        }
    }
}

/// The key of a block.
pub(crate) fn block_key(run: u64, block: u32) -> [u8; 12] {
    let mut key = [0; 12];
    let parts = run.to_be_bytes().into_iter().chain(block.to_be_bytes());
    key.iter_mut().zip(parts).for_each(|(k, p)| *k = p);
    key
}

/// Run and block of a key; `None` for another key.
pub(crate) fn parse_key(key: &[u8]) -> Option<(u64, u32)> {
    let mut c = Cursor::new(key);
    let parsed = (c.u64()?, c.u32()?);
    c.rest().is_empty().then_some(parsed)
}

/// Fills in the header of a block's value; `value` has [`OVERHEAD`] bytes of room before its payload. Returns the
/// checksum.
pub(crate) fn seal(value: &mut [u8], run: u64, block: u32, kind: BlockKind) -> u32 {
    let head = run
        .to_be_bytes()
        .into_iter()
        .chain(block.to_be_bytes())
        .chain([kind.byte()]);
    value.iter_mut().skip(4).zip(head).for_each(|(v, h)| *v = h);
    let crc = crc32c::crc32c(value.get(4..).unwrap_or_default());
    value
        .iter_mut()
        .zip(crc.to_be_bytes())
        .for_each(|(v, c)| *v = c);
    crc
}

/// The kind, the checksum and the payload of a block that is intact.
pub(crate) type CheckedBlock<'a> = (u8, u32, &'a [u8]);

/// The error for a block that is missing.
pub(crate) fn missing(run: u64, block: u32) -> IndexError {
    format!("run {run}, block {block} is missing").into()
}

/// Checks a value; `None` if it is not intact.
pub(crate) fn unseal(value: &[u8], run: u64, block: u32) -> Option<CheckedBlock<'_>> {
    let mut c = Cursor::new(value);
    let crc = c.u32()?;
    let good = crc32c::crc32c(c.rest()) == crc && c.u64()? == run && c.u32()? == block;
    let kind = c.u8()?;
    good.then_some((kind, crc, c.rest()))
}

/// The blocks of the index, wherever they are.
#[derive(Debug)]
pub(crate) struct BlockStore {
    main: SledStore,
    /// Runs with files of their own.
    run_files: RwLock<BTreeMap<u64, Arc<RunFile>>>,
    /// A run with at least this many keys has a file of its own.
    file_keys: u64,
    /// One thread at a time writes to sled.
    writing: Mutex<()>,
    /// Its folder stays open: sled's path leads through the descriptor.
    context: Arc<StoreContext>,
    /// Blocks that were read recently.
    pub(crate) cache: BlockCache,
    /// How many blocks were searched for a key that they do not have.
    pub(crate) vain: AtomicU64,
}

impl BlockStore {
    /// Opens or creates the index in a store's folder. Files are private and durable afterwards. If a process that is
    /// ending still holds sled's lock, this waits for it.
    ///
    /// # Errors
    /// `Read` when the system refuses an operation or the lock stays held, `Damaged` when sled reports or shows by a
    /// panic that its files differ from what it wrote.
    pub(crate) fn open(context: &Arc<StoreContext>, tuning: &Tuning) -> Result<Self, IndexError> {
        let folder = context.files.folder(&context.folder, INDEX)?;
        let dir = context.folder.steady_path().join(INDEX);
        let main = SledStore::open(&dir, &folder, tuning.sled_cache, &context.files)?;
        context.files.sync_folder(&context.folder)?;
        Ok(Self {
            main,
            run_files: RwLock::default(),
            file_keys: tuning.file_keys,
            writing: Mutex::new(()),
            context: Arc::clone(context),
            cache: BlockCache::new(tuning.block_cache),
            vain: AtomicU64::new(0),
        })
    }

    /// Writes the manifest. It is durable after [`Self::sync`].
    pub(crate) fn put_manifest(&self, value: Vec<u8>) -> Result<(), IndexError> {
        let _one = lock(&self.writing);
        self.main.insert(MANIFEST_KEY, value)
    }

    /// Writes these blocks of one run, whose keys must ascend, and empties the list. They are durable after
    /// [`Self::sync_run`].
    ///
    /// # Errors
    /// When sled or the system refuses; also for a run that can only be read.
    pub(crate) fn put(&self, blocks: &mut Vec<Keyed>) -> Result<(), IndexError> {
        let run = blocks.first().and_then(|(key, _)| parse_key(key));
        match run.and_then(|(run, _)| self.run_files(run)).as_deref() {
            Some(file) => file.put(blocks, &self.context.files),
            None => self.put_in_sled(blocks),
        }
    }

    fn put_in_sled(&self, blocks: &mut Vec<Keyed>) -> Result<(), IndexError> {
        let mut blocks = blocks.drain(..);
        while blocks.len() > 0 {
            let _one = lock(&self.writing);
            for (key, block) in blocks.by_ref().take(TURN) {
                self.main.insert(key, block)?;
            }
        }
        Ok(())
    }

    /// Makes everything written into sled durable.
    ///
    /// # Errors
    /// `Write` when sled or the system refuses. What is on disk is unknown then.
    pub(crate) fn sync(&self) -> Result<(), IndexError> {
        let _one = lock(&self.writing);
        self.main.sync(&self.context.files)
    }

    /// Removes one block of a run from sled.
    pub(crate) fn remove_one(&self, run: u64, block: u32) -> Result<(), IndexError> {
        let _one = lock(&self.writing);
        self.main.remove(block_key(run, block))
    }

    /// The value under a key; `None` when there is none.
    ///
    /// # Errors
    /// `Read` when the system refuses, `Damaged` when sled panics or finds its files wrong, or a file is cut short. The
    /// value itself is not checked here.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<IVec>, IndexError> {
        self.context.files.look()?;
        let parsed = parse_key(key);
        match parsed.and_then(|(run, block)| Some((self.run_files(run)?, block))) {
            Some((file, block)) => file.get(block),
            None => self.main.get(key),
        }
    }

    /// The first item of sled whose key is greater than `key`; `None` at the end.
    pub(crate) fn after(&self, key: &[u8]) -> Result<Option<(IVec, IVec)>, IndexError> {
        self.main.after(key)
    }

    /// Visits these blocks of a run in order; skips missing ones.
    ///
    /// # Errors
    /// As [`Self::get`], and the error of `visit`, which ends the walk.
    pub(crate) fn scan(
        &self,
        run: u64,
        blocks: std::ops::Range<u32>,
        visit: BlockVisitor<'_>,
    ) -> Result<(), IndexError> {
        self.context.files.look()?;
        match self.run_files(run).as_deref() {
            Some(file) => file.scan(blocks, visit),
            None => self.main.scan(run, blocks, visit),
        }
    }

    /// Visits these blocks of a run in order; returns the number after the last one visited, which is smaller than
    /// `blocks.end` if the run lacks blocks at its end.
    ///
    /// # Errors
    /// As [`Self::scan`]; `Damaged`, naming the block, when one before another is missing, or one fails its checksum.
    pub(crate) fn scan_checked(
        &self,
        run: u64,
        blocks: std::ops::Range<u32>,
        visit: &mut dyn FnMut(u32, CheckedBlock<'_>) -> Result<(), IndexError>,
    ) -> Result<u32, IndexError> {
        let mut next = blocks.start;
        self.scan(run, blocks, &mut |block, value| {
            if block != next {
                return Err(missing(run, next));
            }
            next += 1;
            let found = unseal(value, run, block);
            visit(
                block,
                found.ok_or_else(|| format!("run {run}, block {block} fails its checksum"))?,
            )
        })?;
        Ok(next)
    }

    /// Bytes of the files.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let run_files: Vec<_> = read(&self.run_files).values().cloned().collect();
        let run_files = run_files.iter().map(|file| file.bytes());
        self.main.bytes().into_iter().chain(run_files).sum()
    }
}

/// All files of a store's index.
fn index_files(store: &Folder) -> std::io::Result<Vec<std::path::PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![store.steady_path().join(INDEX)]);
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder)? {
            let path = item?.path();
            if path.is_dir() {
                folders.push(path)
            } else {
                found.push(path)
            }
        }
    }
    Ok(found)
}

/// Reads the files of the index from end to end, to find out whether the system can read them at all.
///
/// # Errors
/// `Read` when the system refuses, so the bytes are not to blame; `Damaged` when the folder is missing.
pub(crate) fn probe(store: &Folder) -> Result<(), IndexError> {
    for path in index_files(store)? {
        std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
    }
    Ok(())
}

/// Bytes that the files of the index occupy on disk.
pub(crate) fn taken(store: &Folder) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = index_files(store).into_iter().flatten();
    files
        .filter_map(|path| path.metadata().ok())
        .map(|m| m.blocks().saturating_mul(512))
        .sum()
}
