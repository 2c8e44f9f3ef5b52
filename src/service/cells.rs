//! The cells beside the first one: `cells/1`, `cells/2`… in the data folder, each with a store of its own.
//!
//! **Order.** The first cell is opened first, because its facts say which store each of the others is. A new cell is
//! made, then a fact says that it is there; until then nothing can be in it.
//!
//! **Failure.** A cell that is missing, another store than it was, or older than what the first one knows of it is
//! refused, and nothing is changed. So are fewer cells than there are: a realm may lie in any of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use caudal_actors::cells::Cells;
use caudal_actors::platform::PlatformActor;
use caudal_actors::records::projection::Rows;
use caudal_actors::records::{PLATFORM_STREAM, REALM, realm_stream};
use caudal_ledger::tenants::Platform;
use caudal_ledger::tenants::cells::CELLS_MAX;
use caudal_ledger::time::Timestamp;
use caudal_storage::{OpenError, Records, Restore, Store, StoreError, StoreOptions};

use super::{ServiceOptions, StartError, folder};
use crate::portable::import;

/// The least bytes of rows in memory of a store that shares them with others.
const TABLE_MIN: usize = 64 << 10;

/// A cell's store, and a way to its records.
type Opened = (Arc<dyn Store>, Records);

/// The stores of all cells, and a way to records.
pub type Gathered = (Cells, Vec<Records>);

/// The folder of a cell.
fn place(data: &Path, cell: u32) -> PathBuf {
    data.join(folder::CELLS).join(cell.to_string())
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

/// Whether so many cells can be with the other settings.
///
/// # Errors
/// When they cannot.
pub(super) fn check(options: &ServiceOptions) -> Result<(), StartError> {
    let several = options.cells > 1;
    let why = match options {
        it if !(1..=CELLS_MAX).contains(&it.cells) => {
            format!(
                "storage.cells is {}, and has to be from 1 to {CELLS_MAX}",
                it.cells
            )
        }
        it if several && it.cell.is_some() => {
            "storage.cells: several cells are on this machine's disk; with cell.log there is one"
                .to_owned()
        }
        _ => return Ok(()),
    };
    Err(StartError::Setting(why))
}

/// Makes the folder of a cell, for a store that is restored into it, and gives the store's place in it. The first one is
/// asked for first: what a restore that was cut off has left of the others is removed then.
///
/// # Errors
/// When the system refuses.
pub fn for_restore(data: &Path, cell: u32) -> Result<PathBuf, StartError> {
    let folder = match cell {
        0 => data.to_owned(),
        cell => place(data, cell),
    };
    folder::prepare(&folder)?;
    let store = folder.join(folder::STORE);
    let failed = |why| StartError::io(format!("making {}", folder.display()), why);
    let cells = data.join(folder::CELLS);
    if cell == 0 && Restore::is_unfinished(&store) && cells.is_dir() {
        std::fs::remove_dir_all(&cells).map_err(failed)?;
    }
    if cell > 0 {
        for folder in [&folder, &cells] {
            folder::sync_parent(folder).map_err(failed)?;
        }
    }
    Ok(store)
}

/// Refuses a folder with several cells, of which the first is open: `what` is done with one alone.
///
/// # Errors
/// When it has; when the first cell cannot be read.
pub(super) fn alone(data: &Path, first: &dyn Store, what: &str) -> Result<(), StartError> {
    let (platform, _) = PlatformActor::load(first).map_err(|why| unread(&why))?;
    match platform.cells().count() {
        0 => Ok(()),
        more => Err(StartError::Setting(format!(
            "{} has {} cells, and {what} knows the first one alone. Nothing was done",
            data.display(),
            more.strict_add(1)
        ))),
    }
}

/// What one of so many stores has of what is set for all of them.
pub(super) fn share(options: &StoreOptions, cells: u32) -> StoreOptions {
    if cells == 1 {
        return options.clone();
    }
    let (many, few) = (u64::from(cells), usize::try_from(cells).unwrap_or(1));
    // What is 0 is off, and what is not stays on.
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

/// All cells of a folder, of which the first is open: those that it knows, and new ones as far as they are set; and a way
/// to the records of all of them, the first one first.
///
/// # Errors
/// When one is missing, another, older than it was, or does not open; when there are more than are set.
pub(super) fn open(
    options: &ServiceOptions,
    (first, records): Opened,
) -> Result<Gathered, StartError> {
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
    let storage = share(&options.storage, options.cells);
    let mut others = Vec::new();
    for cell in 1..options.cells {
        let known = platform.cells().find(|(number, _)| *number == cell);
        let store = match known {
            Some((_, id)) => known_one(&options.data, (cell, id), &storage)?,
            None => new_one(options, cell, &storage, first.as_ref())?,
        };
        others.push(store);
    }
    let (cells, further) = gather(&platform, first, others)?;
    Ok((cells, std::iter::once(records).chain(further).collect()))
}

/// The cells of a stopped service's folder, of which the first is open, and a way to the records of the others.
///
/// # Errors
/// As [`open`].
pub fn open_known(
    data: &Path,
    first: Arc<dyn Store>,
    options: &StoreOptions,
) -> Result<Gathered, StartError> {
    let (platform, _) = PlatformActor::load(first.as_ref()).map_err(|why| unread(&why))?;
    let known = platform.cells();
    let others = known.map(|cell| known_one(data, cell, options));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    gather(&platform, first, others)
}

/// Puts the cells together, each as far as the platform knows that it has to reach.
fn gather(
    platform: &Platform,
    first: Arc<dyn Store>,
    others: Vec<Opened>,
) -> Result<Gathered, StartError> {
    let (others, records) = others.into_iter().unzip();
    let cells = Cells::several(first, others);
    for (cell, store) in cells.numbered() {
        let (there, wanted) = (store.applied().0, platform.reach_of(cell));
        if there < wanted {
            return refused(format!(
                "cell {cell} ends with commit {there}, and a tenant was moved into it with commit {wanted}: it is an \
                 older copy. Bring back all cells of one moment"
            ));
        }
    }
    unknown(platform, &cells)?;
    let followed = cells.follow(platform);
    followed.map_err(|why| StartError::Setting(why.to_string()))?;
    Ok((cells, records))
}

/// Refuses where a cell has what the first one does not know to have begun: then the first one is older than it.
fn unknown(platform: &Platform, cells: &Cells) -> Result<(), StartError> {
    let next = platform.next_realms();
    let tenants = platform.tenants.values();
    let realms = tenants.flat_map(|it| [it.live, it.test]);
    let copies = realms.map(|realm| {
        let known = platform.generations(realm);
        let last = known.and_then(|it| it.copies().next_back());
        realm.under(last.map_or(0, |(number, _)| number).strict_add(1))
    });
    for lies in copies.chain([next.0, next.1]) {
        // The first entry of a realm is one of this stream.
        let stream = realm_stream(lies, REALM);
        for (cell, store) in cells.numbered().skip(1) {
            let head = store.head(stream).map_err(|why| unread(&why))?;
            if head.is_some() {
                return refused(format!(
                    "cell {cell} has a copy of realm {} that the first cell does not know: the first cell is an older \
                     copy. Bring back all cells of one moment",
                    lies.home().0
                ));
            }
        }
    }
    Ok(())
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
    folder::open(&place, options, Arc::new(Rows))
}

/// A cell of which the first one does not know yet.
fn new_one(
    service: &ServiceOptions,
    cell: u32,
    options: &StoreOptions,
    first: &dyn Store,
) -> Result<Opened, StartError> {
    let place = place(&service.data, cell);
    folder::prepare(&place)?;
    let (store, records) = folder::open(&place, options.clone(), Arc::new(Rows))?;
    if store.applied().0 > 0 {
        return refused(format!(
            "{} holds a store in which something is, and the first cell does not know it: it is another \
             installation's, or the first cell is an older copy. Nothing was changed; bring back all cells of one moment",
            place.display()
        ));
    }
    let missing = || std::io::Error::other("it has no id");
    let failed = |why| StartError::io(format!("making {}", place.display()), why);
    // Before it is said that the cell is there, it is there whatever happens.
    for folder in [&place, &service.data.join(folder::CELLS)] {
        folder::sync_parent(folder).map_err(failed)?;
    }
    let id = folder::store_in(&place)?;
    let id = id.ok_or_else(|| failed(missing()))?;
    // The clock is not judged yet: where there is an instant that is believed, this is none that is later.
    let head = first.head(PLATFORM_STREAM).map_err(|why| unread(&why))?;
    let now = head.map_or_else(
        || service.clock.now(),
        |head| Timestamp::from_millis(head.at),
    );
    let said = import::say(first, now, |platform| {
        Ok(platform.add_cell(cell, &id).into_iter().collect())
    });
    said.map_err(|why| failed(std::io::Error::other(why.to_string())))?;
    tracing::info!(cell, store = id, "a cell was added");
    Ok((store, records))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let most = cells.all().map(|store| store.stats().block_cache_bytes_max);
        assert_eq!(most.collect::<Vec<_>>(), [1 << 20; 3]);
        cells.close().unwrap();
    }
}
