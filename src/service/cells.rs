//! The cells beside the first one: `cells/1`, `cells/2`… in the data folder, each with a store of its own. Where the
//! log is elsewhere (`cell.log`), each has a log of its own in the same database, and its folder holds this node's
//! copy.
//!
//! **Order.** The first cell is opened first, because its facts name the store of each other cell. A new cell is
//! created before a fact announces it; until then it holds nothing.
//!
//! **Failure.** The service refuses a cell that is missing or holds a different store, and changes nothing; a missing
//! copy is filled from its log. It also refuses to run with fewer cells than exist, because a realm may live in any of
//! them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use caudal_actors::cells::Cells;
use caudal_actors::platform::PlatformActor;
use caudal_actors::records::projection::Rows;
use caudal_actors::records::{PLATFORM_STREAM, REALM, realm_stream};
use caudal_ledger::tenants::Platform;
use caudal_ledger::tenants::cells::CELLS_MAX;
use caudal_ledger::time::Timestamp;
use caudal_postgres::Status;
use caudal_storage::{OpenError, Projection, Records, Store, StoreError, StoreOptions};

use super::cell::{self, Opened};
use super::{CellLog, ServiceOptions, StartError, folder};
use crate::portable::import;

/// The smallest in-memory table, in bytes, of a store that shares the setting with others.
const TABLE_MIN: usize = 64 << 10;

/// The stores of all cells, and handles to the records of the first cell and of each other cell.
pub type Gathered = (Cells, Records, Vec<Records>);

/// The folder of a cell: the data folder, if it is the first one.
pub(super) fn place(data: &Path, cell: u32) -> PathBuf {
    match cell {
        0 => data.to_owned(),
        cell => data.join(folder::CELLS).join(cell.to_string()),
    }
}

fn refused<T>(why: String) -> Result<T, StartError> {
    Err(StartError::from(OpenError::NotAStore(why)))
}

fn unread(why: &StoreError) -> StartError {
    StartError::io(
        "reading the facts of the platform",
        std::io::Error::other(why.to_string()),
    )
}

/// Checks that the number of cells is allowed and compatible with the other settings.
///
/// # Errors
/// When it is not.
pub(super) fn check(options: &ServiceOptions) -> Result<(), StartError> {
    let why = match options {
        it if !(1..=CELLS_MAX).contains(&it.cells) => {
            format!(
                "storage.cells is {}, and has to be from 1 to {CELLS_MAX}",
                it.cells
            )
        }
        it if it.cells > 1 && it.cell.as_ref().is_some_and(|log| log.url.is_some()) => format!(
            "storage.cells is {}, and cell.public_url is set: nodes share one log, so there is one cell",
            it.cells
        ),
        _ => return Ok(()),
    };
    Err(StartError::Setting(why))
}

/// Creates the folder of a cell for a store that is restored into it, and returns the store's path.
///
/// # Errors
/// When the system refuses.
pub fn for_restore(data: &Path, cell: u32) -> Result<PathBuf, StartError> {
    let folder = place(data, cell);
    folder::prepare(&folder)?;
    let store = folder.join(folder::STORE);
    let failed = |why| StartError::io(format!("making {}", folder.display()), why);
    let cells = data.join(folder::CELLS);
    if cell > 0 {
        for folder in [&folder, &cells] {
            folder::sync_parent(folder).map_err(failed)?;
        }
    }
    Ok(store)
}

/// How many cells the folder seems to have. Only the first cell's facts can tell, and it is not open yet.
fn seen(data: &Path) -> u32 {
    let mut further = (1..CELLS_MAX).rev();
    let last = further.find(|cell| place(data, *cell).is_dir());
    last.map_or(1, |last| last.strict_add(1))
}

/// One store's share of options that are set for this many stores together.
pub(super) fn share(options: &StoreOptions, cells: u32) -> StoreOptions {
    if cells == 1 {
        return options.clone();
    }
    let (many, few) = (u64::from(cells), usize::try_from(cells).unwrap_or(1));
    // A share of 0 switches the limit off, so only a setting of 0 may become 0.
    let part = |bytes: u64| bytes.strict_div(many).max(bytes.min(1));
    let count = |all: usize| all.strict_div(few).max(all.min(1));
    StoreOptions {
        index_cache_bytes: part(options.index_cache_bytes),
        block_cache_bytes: part(options.block_cache_bytes),
        frame_cache_bytes: part(options.frame_cache_bytes),
        check_bytes_per_second: part(options.check_bytes_per_second),
        table_bytes: count(options.table_bytes).max(TABLE_MIN),
        heads_max: count(options.heads_max),
        ..options.clone()
    }
}

/// All cells of a service, with the handles of each cell except the first.
pub(super) struct All {
    /// The cells.
    pub(super) cells: Cells,
    /// A handle to the records of each other cell.
    pub(super) records: Vec<Records>,
    /// The figures of the other cells' logs, if those are in a database.
    pub(super) logs: Vec<Arc<Status>>,
}

/// Opens the other cells of a folder whose first cell is already open: the cells that the first one knows, and new ones
/// up to the configured number.
///
/// # Errors
/// When a cell is missing, holds another store, or does not open; when the folder has more cells
/// than are configured.
pub(super) fn open(options: &ServiceOptions, first: Arc<dyn Store>) -> Result<All, StartError> {
    let (platform, _) = PlatformActor::load(first.as_ref()).map_err(|why| unread(&why))?;
    if let Some((last, _)) = platform.cells().last()
        && last >= options.cells
    {
        let (set, most) = (options.cells, last.strict_add(1));
        return Err(StartError::Setting(format!(
            "storage.cells is {set}, and {} has {most} cells: tenants may lie in any of them. Set it to {most}",
            options.data.display(),
        )));
    }
    let (mut stores, mut records) = (Vec::new(), Vec::new());
    let (mut ids, mut logs) = (Vec::new(), Vec::new());
    for cell in 1..options.cells {
        let known = platform.cells().find(|(number, _)| *number == cell);
        let known = known.map(|(_, id)| id.to_owned());
        let storage = share(&options.storage, options.cells);
        let opened = match (&options.cell, &known) {
            (None, Some(id)) => known_one(&options.data, (cell, id), &storage)?,
            (None, None) => new_one(options, cell, storage)?,
            (Some(log), _) => copied_one((options, log), cell, storage, known.as_deref())?,
        };
        let id = opened.id.ok_or_else(|| nameless(&options.data, cell))?;
        ids.push((cell, id));
        logs.extend(opened.log);
        stores.push(opened.store);
        records.push(opened.records);
    }
    let (platform, _) = PlatformActor::load(first.as_ref()).map_err(|why| unread(&why))?;
    fit(&platform, &ids, &stores)?;
    let cells = gather(&platform, Arc::clone(&first), stores)?;
    if !ids.is_empty() {
        announce(first.as_ref(), &ids, options.clock.now())?;
    }
    Ok(All {
        cells,
        records,
        logs,
    })
}

/// Checks that each opened store is the one that the platform knows; a cell that the platform does not know must be
/// empty.
fn fit(
    platform: &Platform,
    others: &[(u32, String)],
    stores: &[Arc<dyn Store>],
) -> Result<(), StartError> {
    for ((cell, id), store) in others.iter().zip(stores) {
        match platform.cells().find(|(number, _)| number == cell) {
            Some((_, known)) if known == id => {}
            Some((_, known)) => {
                return refused(format!(
                    "cell {cell} is the store {id} here, and has been {known}. Nothing was changed: bring back the right one"
                ));
            }
            None if store.applied().0 > 0 => {
                return refused(format!(
                    "cell {cell} holds a store in which something is, and the first cell does not know it: it is another \
                     installation's, or the first cell is an older copy. Nothing was changed; bring back all cells of one \
                     moment"
                ));
            }
            None => {}
        }
    }
    Ok(())
}

/// Records that cells unknown to the platform exist. The caller owns the first cell, and no actor writes to it yet.
///
/// # Errors
/// When the first cell rejects the write.
pub(super) fn announce(
    first: &dyn Store,
    others: &[(u32, String)],
    now: Timestamp,
) -> Result<(), StartError> {
    // The clock has not been checked yet: if the first cell has a last timestamp, the fact takes that one, which is
    // never later than a trusted time.
    let head = first.head(PLATFORM_STREAM).map_err(|why| unread(&why))?;
    let now = head.map_or(now, |head| Timestamp::from_millis(head.at));
    let mut added = Vec::new();
    let said = import::say(first, now, |platform| {
        let new = others.iter().filter(|(cell, _)| !platform.has_cell(*cell));
        added.extend(new.cloned());
        let facts = added.iter();
        let facts = facts.filter_map(|(cell, id)| platform.add_cell(*cell, id));
        Ok(facts.collect())
    });
    said.map_err(|why| {
        let why = std::io::Error::other(why.to_string());
        StartError::io("saying that there are further cells", why)
    })?;
    for (cell, store) in &added {
        tracing::info!(cell, store, "a cell was added");
    }
    Ok(())
}

/// Opens the cells of a stopped service's folder, which share the configured limits, with handles to their records.
/// `rows` builds the rows that the index of the first cell lacks.
///
/// # Errors
/// As [`folder::open`] and [`open`].
pub fn open_known(
    data: &Path,
    options: &StoreOptions,
    rows: Arc<dyn Projection>,
) -> Result<Gathered, StartError> {
    let options = &share(options, seen(data));
    let (first, ours) = folder::open(data, options.clone(), rows)?;
    let (platform, _) = PlatformActor::load(first.as_ref()).map_err(|why| unread(&why))?;
    let known = platform.cells();
    let others = known.map(|cell| known_one(data, cell, options));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let others = others.into_iter().map(|it| (it.store, it.records));
    let (stores, records): (Vec<_>, Vec<_>) = others.unzip();
    Ok((gather(&platform, first, stores)?, ours, records))
}

/// Gathers the cells, and refuses any with entries of a realm that the first cell does not know: it is then an older
/// copy.
fn gather(
    platform: &Platform,
    first: Arc<dyn Store>,
    others: Vec<Arc<dyn Store>>,
) -> Result<Cells, StartError> {
    let cells = Cells::several(first, others);
    let next = platform.next_realms();
    for realm in [next.0, next.1] {
        // The first entry of a realm is in this stream.
        let stream = realm_stream(realm, REALM);
        for (cell, store) in cells.numbered().skip(1) {
            let head = store.head(stream).map_err(|why| unread(&why))?;
            if head.is_some() {
                return refused(format!(
                    "cell {cell} has entries of realm {} that the first cell does not know: the first cell is an older \
                     copy. Bring back all cells of one moment",
                    realm.0
                ));
            }
        }
    }
    let followed = cells.follow(platform);
    followed.map_err(|why| StartError::Setting(why.to_string()))?;
    Ok(cells)
}

fn known_one(
    data: &Path,
    (cell, id): (u32, &str),
    options: &StoreOptions,
) -> Result<Opened, StartError> {
    let place = place(data, cell);
    match folder::store_in(&place)? {
        Some(there) if there == id => {}
        Some(there) => {
            return refused(format!(
                "{} holds the store {there}, and cell {cell} is {id}. Nothing was changed: bring back the right one",
                place.display()
            ));
        }
        None => {
            return refused(format!(
                "{} holds no store, and cell {cell} has been there: is its volume mounted? Nothing was changed; bring the \
                 folder back",
                place.display()
            ));
        }
    }
    let options = StoreOptions {
        create: false,
        ..options.clone()
    };
    on_disk(&place, options)
}

/// Opens the store of a folder whose own journal is the log.
fn on_disk(place: &Path, options: StoreOptions) -> Result<Opened, StartError> {
    let (store, records) = folder::open(place, options, Arc::new(Rows))?;
    Ok(Opened {
        store,
        records,
        log: None,
        member: None,
        id: folder::store_in(place)?,
    })
}

/// Opens this node's copy of a cell whose log is in a database. Creates a missing copy, and a missing log if neither
/// the folder nor the first cell knows of one.
fn copied_one(
    (service, log): (&ServiceOptions, &CellLog),
    cell: u32,
    options: StoreOptions,
    known: Option<&str>,
) -> Result<Opened, StartError> {
    let place = place(&service.data, cell);
    folder::prepare(&place)?;
    let log = Some(log.of(cell));
    cell::open(&place, options, log, (None, known))
}

/// Creates a cell that the first cell does not know yet.
fn new_one(
    service: &ServiceOptions,
    cell: u32,
    options: StoreOptions,
) -> Result<Opened, StartError> {
    let place = place(&service.data, cell);
    folder::prepare(&place)?;
    let opened = on_disk(&place, options)?;
    let failed = |why| StartError::io(format!("making {}", place.display()), why);
    // The cell must be durable before a fact announces it.
    for folder in [&place, &service.data.join(folder::CELLS)] {
        folder::sync_parent(folder).map_err(failed)?;
    }
    Ok(opened)
}

fn nameless(data: &Path, cell: u32) -> StartError {
    let why = std::io::Error::other("it has no id");
    StartError::io(format!("making {}", place(data, cell).display()), why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached(cells: &Cells) -> Vec<u64> {
        let most = cells.all().map(|store| store.stats().block_cache_bytes_max);
        most.collect()
    }

    #[test]
    fn the_cells_of_a_stopped_folder_share_what_is_set() {
        let dir = tempfile::tempdir().unwrap();
        let options = ServiceOptions {
            cells: 3,
            ..ServiceOptions::for_tests(dir.path())
        };
        let (first, _) = folder::open(dir.path(), StoreOptions::small(), Arc::new(Rows)).unwrap();
        let all = open(&options, first).unwrap();
        all.cells.close().unwrap();
        drop(all);
        let set = StoreOptions {
            block_cache_bytes: 3 << 20,
            ..StoreOptions::small()
        };
        let (cells, _, further) = open_known(dir.path(), &set, Arc::new(Rows)).unwrap();
        assert_eq!(further.len(), 2);
        assert_eq!(cached(&cells), [1 << 20; 3]);
        cells.close().unwrap();
    }

    #[test]
    fn all_cells_together_have_one_cache_of_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let mut stores = (0..3).map(|cell| {
            let place = place(dir.path(), cell);
            std::fs::create_dir_all(&place).unwrap();
            let (store, _) = folder::open(&place, StoreOptions::small(), Arc::new(Rows)).unwrap();
            store
        });
        let first = stores.next().unwrap();
        let cells = Cells::several(first, stores.collect());
        cells.keep_cached(3 << 20);
        assert_eq!(cached(&cells), [1 << 20; 3]);
        cells.close().unwrap();
    }
}
