//! Opens the index: reads every block once, checks it, and removes unreferenced blocks. Of runs
//! that the checkpoint knows it reads only fences and filters.
//!
//! **Failure.** Any doubt is an error with a reason; the caller moves the folder aside and starts
//! an empty index, which the journal then fills.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, RwLock};

use crate::context::StoreContext;
use crate::index::blocks::{BlockStore, MANIFEST_KEY, block_key, parse_key};
use crate::index::error::IndexError;
use crate::index::manifest::{JournalMark, Manifest};
use crate::index::run::load;
use crate::index::scrub::{self, AttestedRuns, BlocksRead, by_fences, bytes_of};
use crate::index::{IndexState, Signals, SortedRows, Tuning};

/// The properties that an index must have to belong to this store, and the parts to open it.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The store; an index of another one is refused. Damage and refused reads are noted there.
    pub(crate) context: Arc<StoreContext>,
    /// The version of the projection; rows of another one are refused.
    pub(crate) projection: u32,
    /// How the index grows.
    pub(crate) tuning: Tuning,
    /// The runs that need not be read.
    pub(crate) known: Option<AttestedRuns>,
    /// The mark of an empty index.
    pub(crate) nothing: JournalMark,
}

impl SortedRows {
    /// Opens the index in the folder. `fresh`: the folder is new, and an empty index is created in
    /// it.
    ///
    /// # Errors
    /// `Damaged`, with the reason, when the index is missing, belongs to another store or another
    /// version of the projection, or differs from what was written; `Read` or `Write` when the
    /// system refused an operation.
    pub(crate) fn open(wanted: &Wanted, fresh: bool) -> Result<Self, IndexError> {
        if !fresh && wanted.context.folder.id("index/db")?.is_none() {
            return Err("it is missing".into());
        }
        let store = BlockStore::open(&wanted.context, &wanted.tuning)?;
        let manifest = match store.get(MANIFEST_KEY)? {
            Some(value) => Manifest::decode(&value).ok_or("its manifest is unreadable")?,
            None if fresh => {
                let empty = Manifest {
                    projection: wanted.projection,
                    id: wanted.context.id,
                    mark: wanted.nothing,
                    next_run: 1,
                    runs: Vec::new(),
                };
                store.put_manifest(empty.encode())?;
                store.sync()?;
                empty
            }
            None => return Err("its manifest is missing".into()),
        };
        if manifest.id != wanted.context.id {
            return Err("it belongs to another store".into());
        }
        if manifest.projection != wanted.projection {
            return Err(format!(
                "its rows are of version {}, this program writes version {}",
                manifest.projection, wanted.projection
            )
            .into());
        }
        Self::load(wanted, store, manifest)
    }

    fn load(
        wanted: &Wanted,
        store: BlockStore,
        mut manifest: Manifest,
    ) -> Result<Self, IndexError> {
        let named = |run| manifest.runs.iter().any(|info| info.id == run);
        let seen = store.find_files(named)?;
        let seen = remove_orphans(&store, &manifest)?.max(seen);
        manifest.next_run = manifest.next_run.max(seen + 1);
        // an index that is behind the checkpoint has lost something: none of it is trusted unread
        let known = wanted.known.as_ref();
        let known = known.filter(|known| known.commit <= manifest.mark.commit);
        let mut runs = Vec::with_capacity(manifest.runs.len());
        let mut loaded = BlocksRead::default();
        for info in &manifest.runs {
            let rows_known = known.is_some_and(|k| k.runs.contains(&(info.id, info.digest)))
                && store.is_of(info.id, &info.digest);
            let from = if rows_known { scrub::first(info) } else { 0 };
            loaded.bytes += bytes_of(info.blocks - from.min(info.blocks));
            runs.push(Arc::new(if rows_known {
                by_fences(&store, info)?
            } else {
                loaded.whole.insert(info.id);
                load(&store, info)?
            }));
        }
        let state = IndexState {
            runs: Arc::new(runs),
            ..IndexState::default()
        };
        let indexed = AtomicU64::new(manifest.mark.commit);
        Ok(Self {
            state: RwLock::new(state),
            store,
            manifest: Mutex::new(manifest),
            signals: Mutex::new(Signals::default()),
            changed: Condvar::new(),
            tuning: wanted.tuning,
            health: Arc::clone(&wanted.context.health),
            indexed,
            opened: AtomicU64::new(0),
            gets: AtomicU64::new(0),
            loaded,
        })
    }
}

/// Removes blocks of runs that the manifest does not name, which a crash during a flush or merge
/// leaves. Returns the largest run number seen.
fn remove_orphans(store: &BlockStore, manifest: &Manifest) -> Result<u64, IndexError> {
    let mut seen = 0;
    let mut at: Vec<u8> = Vec::new();
    while let Some((key, _)) = store.after(&at)? {
        let Some((run, block)) = parse_key(&key) else {
            if key == MANIFEST_KEY {
                at = key.to_vec();
                continue;
            }
            return Err("sled holds a key that is not ours".into());
        };
        seen = seen.max(run);
        match manifest.runs.iter().find(|r| r.id == run) {
            Some(info) if block < info.blocks => {
                at = block_key(run, info.blocks - 1).to_vec();
            }
            Some(_) => return Err("sled holds a block that is not ours".into()),
            None => {
                store.remove_one(run, block)?;
                at = key.to_vec();
            }
        }
    }
    Ok(seen)
}
