//! sled as a store of immutable blocks.
//!
//! **Shape.** Key: run u64, block u32. Value: crc32c u32, run u64, block u32, kind u8, payload; so a block that is
//! lost, stale, swapped or flipped cannot pass for another. A run of many rows has a sled of its own (see [`apart`]);
//! all others are in the main one, with the manifest.
//!
//! **Bounds.** No value above 4096 bytes: sled keeps large pages in files that it never syncs.
//!
//! **Order.** `sync` is sled's flush and then an fdatasync on our own handle of its file, because
//! sled 0.34 does not ask the device to flush. One thread writes at a time.
//!
//! **Failure.** See [`Trouble`]. sled panics on damage; every call that reads or opens catches panics. sled's folder
//! may be deleted at any time: the index is rebuilt from the journal.

mod apart;
mod leaves;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use sled::IVec;

use crate::codec::Cursor;
use crate::files::Files;
use crate::folder::Folder;
use crate::index::cache::BlockCache;
use crate::index::trouble::Trouble;
use crate::sync::{lock, read};

pub(crate) use leaves::{Keyed, STRETCH};

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

/// Receives a block's number and value; an error ends the walk.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(u32, &[u8]) -> Result<(), Trouble>;

/// The main sled gets one part in this many of sled's caches.
const MAIN: u64 = 4;
/// How often the main sled flushes by itself.
const FLUSH: Duration = Duration::from_millis(500);
/// How long to wait for sled's lock.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// The kind of content of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Rows, sorted by key.
    Rows,
    /// A piece of a large value.
    Piece,
    /// First keys of the row blocks, with their numbers.
    Fences,
    /// A part of the Bloom filter.
    Bloom,
    /// Rows, sorted by key, compressed.
    CompressedRows,
    /// The kinds of rows whose prefixes the Bloom filter has.
    Scopes,
    /// A part of a Bloom filter made of lines.
    Lines,
}

impl Kind {
    /// The byte that stands for the kind on disk.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Rows => 1,
            Self::Piece => 2,
            Self::Fences => 3,
            Self::Bloom => 4,
            Self::CompressedRows => 5,
            Self::Scopes => 6,
            Self::Lines => 7,
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
pub(crate) fn seal(value: &mut [u8], run: u64, block: u32, kind: Kind) -> u32 {
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

/// Checks a value; returns its kind, checksum and payload, or `None` if it is not intact.
pub(crate) fn unseal(value: &[u8], run: u64, block: u32) -> Option<(u8, u32, &[u8])> {
    let mut c = Cursor::new(value);
    let crc = c.u32()?;
    let good = crc32c::crc32c(c.rest()) == crc && c.u64()? == run && c.u32()? == block;
    let kind = c.u8()?;
    good.then_some((kind, crc, c.rest()))
}

/// The sled databases of the index, with their quirks contained.
#[derive(Debug)]
pub(crate) struct BlockStore {
    main: One,
    /// Runs with a sled of their own.
    apart: RwLock<BTreeMap<u64, Arc<One>>>,
    /// A run with at least this many keys has a sled of its own.
    apart_keys: u64,
    /// The total size of all sled caches, in bytes; sled keeps to it only roughly.
    sled_cache: u64,
    writing: Mutex<()>,
    files: Files,
    /// Blocks that were read recently.
    pub(crate) cache: BlockCache,
    /// How many blocks were searched for a key that they do not have.
    pub(crate) vain: AtomicU64,
    /// Keeps the descriptor open through which sled's path leads.
    store: Arc<Folder>,
}

/// One sled.
#[derive(Debug)]
struct One {
    db: sled::Db,
    file: File,
}

impl One {
    /// Opens or creates sled in a folder. `dir` must always lead to that folder: sled takes a path and creates files by
    /// it later. Its files are private and durable afterwards.
    fn open(
        dir: &Path,
        folder: &Folder,
        (cache, flush): (u64, Duration),
        files: &Files,
    ) -> Result<Self, Trouble> {
        remove_unfinished_snapshots(dir).map_err(|e| Trouble::looking(&e))?;
        let config = sled::Config::new().path(dir).cache_capacity(cache);
        let config = config.flush_every_ms(u64::try_from(flush.as_millis()).ok());
        let config = config.mode(sled::Mode::HighThroughput);
        // on a separate thread: a panic hook may abort the process on ours, but here a panic is expected
        let opened = std::thread::Builder::new()
            .name("sled-open".to_owned())
            .spawn(move || catch_unwind(AssertUnwindSafe(|| open_patiently(&config))))
            .map_err(|e| Trouble::looking(&e))?
            .join();
        let db = match opened {
            Ok(Ok(Ok(db))) => db,
            Ok(Ok(Err(e))) => return Err(Trouble::reading(&e)),
            Ok(Err(panic)) | Err(panic) => return Err(Trouble::panicked(panic.as_ref())),
        };
        let secured = secure(dir, files).and_then(|()| {
            files.sync_folder(folder)?;
            files.open(folder, "db")
        });
        let file = secured.map_err(|e| Trouble::looking(&e))?;
        Ok(Self { db, file })
    }

    /// Makes everything written durable: sled's flush, then an fdatasync of its file.
    fn sync(&self, files: &Files) -> Result<(), Trouble> {
        self.db.flush().map_err(|e| Trouble::writing(&e))?;
        files
            .sync_data(&self.file)
            .map_err(|e| Trouble::writing(&e))
    }
}

/// Makes sled's files private and durable.
fn secure(dir: &Path, files: &Files) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for item in fs::read_dir(dir)? {
        let path = item?.path();
        if path.is_file() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
            files.sync_all(&File::open(&path)?)?;
        }
    }
    Ok(())
}

impl BlockStore {
    /// Opens or creates sled in a store's folder, with these sizes in bytes for sled's caches and for the block cache;
    /// a run with at least `apart_keys` keys gets a sled of its own. sled's files are private and durable afterwards.
    /// If a process that is ending still holds the lock, this waits for it.
    ///
    /// # Errors
    /// `Read` when the system refuses an operation or the lock stays held, `Damaged` when sled reports or shows by a
    /// panic that its files differ from what it wrote.
    pub(crate) fn open(
        store: &Arc<Folder>,
        (sled_cache, blocks): (u64, u64),
        apart_keys: u64,
        files: &Files,
    ) -> Result<Self, Trouble> {
        let folder = files
            .folder(store, INDEX)
            .map_err(|e| Trouble::looking(&e))?;
        let dir = store.steady_path().join(INDEX);
        let main = One::open(&dir, &folder, (sled_cache / MAIN, FLUSH), files)?;
        files.sync_folder(store).map_err(|e| Trouble::looking(&e))?;
        Ok(Self {
            main,
            apart: RwLock::default(),
            apart_keys,
            sled_cache,
            writing: Mutex::new(()),
            files: files.clone(),
            cache: BlockCache::new(blocks),
            vain: AtomicU64::new(0),
            store: Arc::clone(store),
        })
    }

    /// Writes the manifest. It is durable after [`Self::sync`].
    ///
    /// # Errors
    /// When sled or the system refuses.
    pub(crate) fn put_manifest(&self, value: Vec<u8>) -> Result<(), Trouble> {
        let _one = lock(&self.writing);
        self.main
            .db
            .insert(MANIFEST_KEY, value)
            .map_err(|e| Trouble::writing(&e))?;
        Ok(())
    }

    /// Makes everything written into the main sled durable.
    ///
    /// # Errors
    /// `Write` when sled or the system refuses. What is on disk is unknown then.
    pub(crate) fn sync(&self) -> Result<(), Trouble> {
        let _one = lock(&self.writing);
        self.main.sync(&self.files)
    }

    /// Removes one block of a run from the main sled.
    ///
    /// # Errors
    /// When sled or the system refuses.
    pub(crate) fn remove_one(&self, run: u64, block: u32) -> Result<(), Trouble> {
        let _one = lock(&self.writing);
        let removed = self.main.db.remove(block_key(run, block));
        removed.map(drop).map_err(|e| Trouble::writing(&e))
    }

    /// The value under a key; `None` when there is none.
    ///
    /// # Errors
    /// `Read` when the system refuses, `Damaged` when sled panics or finds its files wrong. The value itself is not
    /// checked here.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<IVec>, Trouble> {
        self.files.look().map_err(|e| Trouble::looking(&e))?;
        let apart = parse_key(key).and_then(|(run, _)| self.apart(run));
        let one = apart.as_deref().unwrap_or(&self.main);
        match catch_unwind(AssertUnwindSafe(|| one.db.get(key))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(e)) => Err(Trouble::reading(&e)),
            Err(panic) => Err(Trouble::panicked(panic.as_ref())),
        }
    }

    /// The first item of the main sled whose key is greater than `key`; `None` at the end.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) fn after(&self, key: &[u8]) -> Result<Option<(IVec, IVec)>, Trouble> {
        match catch_unwind(AssertUnwindSafe(|| self.main.db.get_gt(key))) {
            Ok(Ok(item)) => Ok(item),
            Ok(Err(e)) => Err(Trouble::reading(&e)),
            Err(panic) => Err(Trouble::panicked(panic.as_ref())),
        }
    }

    /// Visits these blocks of a run in order; skips missing ones.
    ///
    /// # Errors
    /// As [`Self::get`], and the error of `visit`, which ends the walk.
    pub(crate) fn scan(
        &self,
        run: u64,
        blocks: std::ops::Range<u32>,
        visit: Visit<'_>,
    ) -> Result<(), Trouble> {
        let range = block_key(run, blocks.start)..block_key(run, blocks.end);
        let apart = self.apart(run);
        let one = apart.as_deref().unwrap_or(&self.main);
        let walk = AssertUnwindSafe(|| {
            for item in one.db.range(range) {
                let (key, value) = item.map_err(|e| Trouble::reading(&e))?;
                let (_, block) = parse_key(&key).ok_or("a key is not one of ours")?;
                visit(block, &value)?;
            }
            Ok(())
        });
        catch_unwind(walk).unwrap_or_else(|panic| Err(Trouble::panicked(panic.as_ref())))
    }

    /// Bytes of sled's files.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let bytes = |one: &One| one.db.size_on_disk().ok();
        let apart: Vec<_> = read(&self.apart).values().cloned().collect();
        let apart = apart.iter().filter_map(|one| bytes(one));
        bytes(&self.main).into_iter().chain(apart).sum()
    }
}

/// The files of all sleds of a store.
fn sled_files(store: &Folder) -> std::io::Result<Vec<std::path::PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![store.steady_path().join(INDEX)]);
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(folder)? {
            let path = item?.path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    Ok(found)
}

/// Reads sled's files from end to end, to find out whether the system can read them at all.
///
/// # Errors
/// `Read` when the system refuses, so the bytes are not to blame; `Damaged` when the folder is missing.
pub(crate) fn probe(store: &Folder) -> Result<(), Trouble> {
    let look = || -> std::io::Result<()> {
        for path in sled_files(store)? {
            std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
        }
        Ok(())
    };
    look().map_err(|e| Trouble::looking(&e))
}

/// Bytes that sled's files occupy on disk.
pub(crate) fn taken(store: &Folder) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = sled_files(store).into_iter().flatten();
    files
        .filter_map(|path| path.metadata().ok())
        .map(|m| m.blocks().saturating_mul(512))
        .sum()
}

/// Opens sled, waiting for its lock: a child process that was being started when the previous store was dropped may
/// hold it a moment longer. That is no damage, and no reason to rebuild.
fn open_patiently(config: &sled::Config) -> sled::Result<sled::Db> {
    let start = Instant::now();
    loop {
        match config.open() {
            Err(sled::Error::Io(e))
                if e.to_string().contains("lock") && start.elapsed() < LOCK_WAIT =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

/// Removes unfinished snapshots: sled never opens again with the remains of a snapshot that a full disk interrupted.
fn remove_unfinished_snapshots(dir: &Path) -> std::io::Result<()> {
    if !dir.is_dir() {
        return Ok(());
    }
    for item in fs::read_dir(dir)? {
        let path = item?.path();
        if path.extension().is_some_and(|e| e == "generating") {
            tracing::warn!(file = %path.display(), "removed an unfinished snapshot of the index");
            fs::remove_file(path)?;
        }
    }
    Ok(())
}
