//! sled as a store of immutable blocks.
//!
//! **Shape.** Key: run u64, block u32. Value: crc32c u32, run u64, block u32, kind u8, payload; so
//! a block that is lost, stale, swapped or flipped cannot pass for another.
//!
//! **Bounds.** No value above 4096 bytes: sled keeps large pages in files that it never syncs.
//!
//! **Order.** `sync` is sled's flush and then an fdatasync on our own handle of its file, because
//! sled 0.34 does not ask the device to flush. One thread writes at a time.
//!
//! **Failure.** See [`Trouble`]. sled panics on damage; every call that reads or opens is contained. Its folder may
//! be thrown away at any time: the journal makes it anew.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sled::IVec;

use crate::codec::Cursor;
use crate::files::Files;
use crate::folder::Folder;
use crate::index::cache::BlockCache;
use crate::index::trouble::Trouble;
use crate::sync::lock;

/// The name of sled's folder inside the store's.
pub(crate) const INDEX: &str = "index";
/// The largest value given to sled, in bytes.
pub(crate) const VALUE_MAX: usize = 4096;
/// Bytes of a value before the payload.
pub(crate) const OVERHEAD: usize = 17;
/// The largest payload of a block, in bytes.
pub(crate) const PAYLOAD_MAX: usize = VALUE_MAX - OVERHEAD;
/// The key of the manifest; it sorts behind all blocks.
pub(crate) const MANIFEST_KEY: &[u8] = b"\xFFmanifest";

/// Looks at a block's number and value; an error ends the walk.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(u32, &[u8]) -> Result<(), Trouble>;

/// How long sled's lock is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Rows, sorted by key.
    Rows,
    /// A piece of a large value.
    Piece,
    /// First keys of the row blocks.
    Fences,
    /// A part of the Bloom filter.
    Bloom,
    /// Rows, sorted by key, compressed.
    CompressedRows,
    /// Which kinds of rows the Bloom filter has the beginnings of.
    Scopes,
}

impl Kind {
    /// Its byte on disk.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Rows => 1,
            Self::Piece => 2,
            Self::Fences => 3,
            Self::Bloom => 4,
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

/// Run and block of a key.
pub(crate) fn parse_key(key: &[u8]) -> Option<(u64, u32)> {
    let mut c = Cursor::new(key);
    let parsed = (c.u64()?, c.u32()?);
    c.rest().is_empty().then_some(parsed)
}

/// The value of a block; `value` comes with room of [`OVERHEAD`] bytes before its payload.
/// Gives its checksum.
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

/// Checks a value; gives its kind, checksum and payload.
pub(crate) fn unseal(value: &[u8], run: u64, block: u32) -> Option<(u8, u32, &[u8])> {
    let mut c = Cursor::new(value);
    let crc = c.u32()?;
    let good = crc32c::crc32c(c.rest()) == crc && c.u64()? == run && c.u32()? == block;
    let kind = c.u8()?;
    good.then_some((kind, crc, c.rest()))
}

/// sled, with its habits contained.
#[derive(Debug)]
pub(crate) struct BlockStore {
    db: sled::Db,
    file: File,
    writing: Mutex<()>,
    files: Files,
    /// What was read lately.
    pub(crate) cache: BlockCache,
    /// sled's path leads through its descriptor.
    _store: Arc<Folder>,
}

impl BlockStore {
    /// Opens or creates sled in a store's folder, with so many bytes for sled's own cache and for
    /// that of blocks. sled's files are private and durable then. A lock that a process which is ending
    /// still holds is waited for.
    ///
    /// # Errors
    /// `Read` when the system refuses something or the lock stays held, `Damaged` when sled says or shows by
    /// a panic that its files are not what it wrote.
    pub(crate) fn open(
        store: &Arc<Folder>,
        (cache, blocks): (u64, u64),
        files: &Files,
    ) -> Result<Self, Trouble> {
        let folder = files
            .folder(store, INDEX)
            .map_err(|e| Trouble::looking(&e))?;
        // sled wants a path and makes files by it later: this one leads to our folder for ever
        let dir = store.steady_path().join(INDEX);
        remove_unfinished_snapshots(&dir).map_err(|e| Trouble::looking(&e))?;
        let config = sled::Config::new().path(&dir).cache_capacity(cache);
        let config = config.mode(sled::Mode::HighThroughput);
        // on a thread of its own: a panic hook may want to abort on ours, but here it is expected
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
        let secured = Self::secure(&dir, files).and_then(|()| {
            files.sync_folder(&folder)?;
            files.sync_folder(store)?;
            files.open(&folder, "db")
        });
        Ok(Self {
            db,
            file: secured.map_err(|e| Trouble::looking(&e))?,
            writing: Mutex::new(()),
            files: files.clone(),
            cache: BlockCache::new(blocks),
            _store: Arc::clone(store),
        })
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

    /// Writes these blocks and leaves the list empty. They are durable after [`Self::sync`].
    ///
    /// # Errors
    /// When sled or the system refuses.
    pub(crate) fn put(&self, blocks: &mut Vec<([u8; 12], Vec<u8>)>) -> Result<(), Trouble> {
        let _one = lock(&self.writing);
        for (key, value) in blocks.drain(..) {
            self.db
                .insert(key, value)
                .map_err(|e| Trouble::writing(&e))?;
        }
        Ok(())
    }

    /// Writes the manifest. It is durable after [`Self::sync`].
    ///
    /// # Errors
    /// When sled or the system refuses.
    pub(crate) fn put_manifest(&self, value: Vec<u8>) -> Result<(), Trouble> {
        let _one = lock(&self.writing);
        self.db
            .insert(MANIFEST_KEY, value)
            .map_err(|e| Trouble::writing(&e))?;
        Ok(())
    }

    /// Makes everything written durable: sled's flush, and then an fdatasync of its file.
    ///
    /// # Errors
    /// `Write` when either fails. What is on disk is not known then.
    pub(crate) fn sync(&self) -> Result<(), Trouble> {
        let _one = lock(&self.writing);
        self.db.flush().map_err(|e| Trouble::writing(&e))?;
        self.files
            .sync_data(&self.file)
            .map_err(|e| Trouble::writing(&e))
    }

    /// Removes so many blocks of a run that nothing refers to any more, from the first.
    ///
    /// # Errors
    /// As [`Self::remove_one`]; the blocks before that one are removed.
    pub(crate) fn remove(&self, run: u64, blocks: u32) -> Result<(), Trouble> {
        (0..blocks).try_for_each(|block| self.remove_one(run, block))
    }

    /// Removes one block of a run.
    ///
    /// # Errors
    /// When sled or the system refuses.
    pub(crate) fn remove_one(&self, run: u64, block: u32) -> Result<(), Trouble> {
        let _one = lock(&self.writing);
        let removed = self.db.remove(block_key(run, block));
        removed.map(drop).map_err(|e| Trouble::writing(&e))
    }

    /// The value under a key; `None` when there is none.
    ///
    /// # Errors
    /// `Read` when the system refuses, `Damaged` when sled panics or finds its files wrong. The value itself
    /// is not checked here.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<IVec>, Trouble> {
        match catch_unwind(AssertUnwindSafe(|| self.db.get(key))) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(e)) => Err(Trouble::reading(&e)),
            Err(panic) => Err(Trouble::panicked(panic.as_ref())),
        }
    }

    /// The first item whose key is greater than `key`; `None` at the end.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) fn after(&self, key: &[u8]) -> Result<Option<(IVec, IVec)>, Trouble> {
        match catch_unwind(AssertUnwindSafe(|| self.db.get_gt(key))) {
            Ok(Ok(item)) => Ok(item),
            Ok(Err(e)) => Err(Trouble::reading(&e)),
            Err(panic) => Err(Trouble::panicked(panic.as_ref())),
        }
    }

    /// Visits these blocks of a run in order; those that are missing are passed over.
    ///
    /// # Errors
    /// As [`Self::get`], and what `visit` gives, which ends the walk.
    pub(crate) fn scan(
        &self,
        run: u64,
        blocks: std::ops::Range<u32>,
        visit: Visit<'_>,
    ) -> Result<(), Trouble> {
        let range = block_key(run, blocks.start)..block_key(run, blocks.end);
        let walk = AssertUnwindSafe(|| {
            for item in self.db.range(range) {
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
        self.db.size_on_disk().unwrap_or(0)
    }
}

/// Reads sled's files from end to end, to find out whether the system reads them at all.
///
/// # Errors
/// `Read` when the system refuses, so that it is not the bytes that are wrong; `Damaged` when the folder
/// is missing.
pub(crate) fn probe(store: &Folder) -> Result<(), Trouble> {
    let look = || -> std::io::Result<()> {
        for item in fs::read_dir(store.steady_path().join(INDEX))? {
            let path = item?.path();
            if path.is_file() {
                std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
            }
        }
        Ok(())
    };
    look().map_err(|e| Trouble::looking(&e))
}

/// Bytes that sled's files take on disk.
pub(crate) fn taken(store: &Folder) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let files = fs::read_dir(store.steady_path().join(INDEX));
    let files = files.into_iter().flatten().flatten();
    files
        .filter_map(|item| item.metadata().ok())
        .map(|m| m.blocks().saturating_mul(512))
        .sum()
}

/// sled's own lock may be held a moment longer by a child process that was just being started when
/// the store before was dropped; that is no damage, and no reason to rebuild.
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

/// sled never opens again with the remains of a snapshot that a full disk cut short.
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
