//! A store whose log is in a database: the folder holds a copy of the log, with an index of its own.
//!
//! **Order.** No node may start on a log that is being filled, or whose place another one has taken
//! ([`caudal_storage::filling`]). `log.place` says that the folder's store is a copy, or that another log has taken its
//! place; it is written before a copy is created. So a folder with that file is never opened as if its own journal were
//! the log: two histories would grow.
//!
//! **Failure.** A folder with another store, or with commits that the log lacks, is refused and not changed. A folder
//! whose store is gone is filled from the log.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use caudal_actors::records::projection::ServiceProjection;
use caudal_backup::names::hex;
use caudal_postgres::{Begin, NoSession, OpenedLog, Settings, Status};
use caudal_storage::filling::Closed;
use caudal_storage::{DurableStore, Member, NodePart, OpenError, Records, Store, StoreOptions};

use super::StartError;
use super::folder::{self, PLACE, STORE};

/// How long a lease lasts by default.
pub const LEASE: Duration = Duration::from_secs(5);
/// How much longer than its lease this node waits for another owner to go.
const MARGIN: Duration = Duration::from_secs(2);

/// The settings of a cell whose log is in a database.
#[derive(Clone, Debug)]
pub struct CellLog {
    /// The database that keeps the log.
    pub log: Settings,
    /// The name of this node, for operators and other nodes.
    pub node: String,
    /// How long the node's right to append lasts without renewal.
    pub lease: Duration,
    /// Where clients, or the load balancer, reach this node; without it, this node is the only one.
    pub url: Option<String>,
}

/// An opened store with its handles.
pub(super) struct Opened {
    /// The store.
    pub(super) store: Arc<dyn Store>,
    /// A handle to its records.
    pub(super) records: Records,
    /// The figures of its log, if that is in a database.
    pub(super) log: Option<Arc<Status>>,
    /// This node's part in the cell, if its log is in a database.
    pub(super) member: Option<Member>,
}

/// Opens the store of a folder: with its own journal as the log, or as a copy of the log in `cell`. In the second case,
/// the result also has the figures of the log.
///
/// # Errors
/// As [`folder::open`]; when the log cannot be reached, must not be used, or is another one; when another node owns the
/// cell.
pub(super) fn open(
    data: &Path,
    options: StoreOptions,
    cell: Option<CellLog>,
) -> Result<Opened, StartError> {
    match (cell, place_of(data)?) {
        (None, None) => {
            let (store, records) = folder::open(data, options, Arc::new(ServiceProjection))?;
            Ok(Opened {
                store,
                records,
                log: None,
                member: None,
            })
        }
        (None, Some(place)) => Err(StartError::Setting(format!(
            "the store in {} is a copy of the log at {place}, or was superseded by it: set cell.log to it, or start the folder \
             of that name. \
             `caudal restore --from` that log `--into` a new folder brings it back to a disk. If that log is lost permanently \
             and this journal is to go on in its place, remove {}",
            data.display(),
            data.join(PLACE).display()
        ))),
        (Some(cell), _) => join(data, options, cell),
    }
}

fn join(data: &Path, options: StoreOptions, cell: CellLog) -> Result<Opened, StartError> {
    let (place, number) = (cell.log.place(), cell.log.cell);
    let (known, there) = (folder::known(data)?, folder::store_in(data)?);
    // A folder with a store does not begin a log: it has one, or is a copy of one.
    let begin = match (&known, &there) {
        (None, None) => Begin::Anew,
        _ => Begin::Never,
    };
    let opened = caudal_postgres::open(cell.log, begin);
    let OpenedLog { log, status } = opened.map_err(|why| refused(data, &place, why))?;
    let id = hex(&log.id());
    if let Some(other) = there.iter().chain(&known).find(|other| **other != id) {
        return Err(another_store(data, other, &place, &id));
    }
    let cluster_view = log.cluster_view().map_err(OpenError::Log)?;
    if let Some(closed) = Closed::of(&cluster_view) {
        return Err(not_open(&place, &closed));
    }
    set_place(data, &place)?;
    let options = StoreOptions {
        create: true,
        // A lost copy is created anew and has no witness yet; an existing copy has one.
        witnessed: known.is_some() && there.is_some(),
        ..options
    };
    let part = match cell.url {
        Some(url) => NodePart::Node {
            name: cell.node.into(),
            url: url.into(),
            lease: cell.lease,
        },
        None => NodePart::Owner {
            name: cell.node,
            lease: cell.lease,
            patience: cell.lease + MARGIN,
        },
    };
    let rows = Arc::new(ServiceProjection);
    let store = DurableStore::join(data.join(STORE), options, rows, log, &part)?;
    folder::note(data, &id)?;
    tracing::info!(
        place,
        cell = number,
        log = id,
        "the store is a copy of a log elsewhere"
    );
    Ok(Opened {
        records: store.records(),
        log: Some(status),
        member: Some(store.member()),
        store,
    })
}

/// The place of the log of which the folder's store is a copy, or by which it was superseded; `None` if the store is its
/// own log.
pub fn place_of(data: &Path) -> Result<Option<String>, StartError> {
    let noted = folder::read(&data.join(PLACE))?;
    Ok(noted.map(|place| String::from_utf8_lossy(&place).trim().to_owned()))
}

/// Notes the log at `place`: the folder's store is a copy of it, or was superseded by it, and is no log by itself.
pub fn set_place(data: &Path, place: &str) -> Result<(), StartError> {
    folder::write(&data.join(PLACE), format!("{place}\n").as_bytes())
}

/// The error for a log that cannot be opened.
fn refused(data: &Path, place: &str, why: NoSession) -> StartError {
    match why {
        NoSession::Unreachable(why) => StartError::io(
            format!("opening the log at {place}"),
            std::io::Error::other(why),
        ),
        why @ NoSession::Absent => StartError::Setting(match place_of(data) {
            Ok(None) => format!(
                "the log of {} at {place}: {why}. `caudal restore --from` that folder `--into postgres://…` fills an \
                 empty database from it",
                data.display()
            ),
            // The log of which this folder is a copy is missing.
            Ok(Some(_)) | Err(_) => format!(
                "cell.log at {place}: {why}. \"The database is lost, or fails over\" in docs/operating.md says what to do"
            ),
        }),
        NoSession::Unfit(why) => StartError::Setting(format!("cell.log at {place}: {why}")),
    }
}

/// The error for a folder that has or had another store than the log.
fn another_store(data: &Path, other: &str, place: &str, id: &str) -> StartError {
    StartError::from(OpenError::NotAStore(format!(
        "{} has or had the store {other}, and the log at {place} is {id}. Nothing was changed: choose the \
         folder that has the copy of this log, or an empty one, which is filled from it. `caudal restore --from` that \
         folder `--into postgres://…` fills an empty database from it",
        data.display()
    )))
}

/// The error for a log that no node may own, with the way out.
fn not_open(place: &str, closed: &Closed) -> StartError {
    let why = match closed {
        Closed::Filling => {
            "a restore into it has not finished. Run `caudal restore` with the same --from and --into again, which \
             continues it"
                .to_owned()
        }
        Closed::Superseded(by) => format!("the log at {by} has taken its place. Start the service there"),
    };
    StartError::from(OpenError::NotAStore(format!(
        "the log at {place} cannot be used: {why}. Nothing was changed"
    )))
}
