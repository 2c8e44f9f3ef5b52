//! A store whose log is elsewhere: the folder has a copy of it, with an index of its own.
//!
//! **Order.** `log.place` says that the folder's store is a copy; it is written before there is one. So a
//! folder that has it is never opened as if its own journal were the log: two histories would grow.
//!
//! **Failure.** A folder with another store, or with commits that the log does not have, is refused and not
//! changed. One whose store is gone is filled from the log.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use caudal_postgres::{PostgresLog, Settings, Status, Trouble};
use caudal_storage::log::Log as _;
use caudal_storage::{
    DurableStore, Member, OpenError, Part, Projection, Records, Store, StoreOptions,
};
use secrecy::SecretString;

use super::StartError;
use super::folder::{self, STORE};
use crate::http::node::Membership;
use crate::http::tls::Files;

/// How long a lease lasts, unless set.
pub const LEASE: Duration = Duration::from_secs(5);
/// Of what a store is a copy.
const PLACE: &str = "log.place";
/// How much longer than a lease is waited for another owner's to end.
const MARGIN: Duration = Duration::from_secs(2);

/// The cell of this service, where its log is elsewhere.
#[derive(Clone, Debug)]
pub struct CellLog {
    /// The database that keeps the log.
    pub log: Settings,
    /// Who this node is, for operators and other nodes.
    pub node: String,
    /// How long its right to append lasts without being renewed.
    pub lease: Duration,
    /// How this node and the others find each other; without it the cell has this node alone.
    pub peers: Option<Peers>,
}

/// How the nodes of a cell find each other.
#[derive(Clone, Debug)]
pub struct Peers {
    /// Where this node listens to the others; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Where the others reach it, as HOST:PORT; where it listens, unless set.
    pub address: Option<String>,
    /// What nodes show each other: at least 32 characters.
    pub secret: SecretString,
    /// The certificates by which they know each other; without them they talk plainly.
    pub tls: Option<Files>,
}

/// A store that was opened, and what there is besides.
pub(super) struct Opened {
    /// The store.
    pub(super) store: Arc<dyn Store>,
    /// A way to its records.
    pub(super) records: Records,
    /// The figures of its log, where that is elsewhere.
    pub(super) log: Option<Arc<Status>>,
    /// This node's part in the cell, where there may be others.
    pub(super) member: Option<Member>,
}

/// Opens the store of a folder: by its own journal, or as a copy of the log in `cell`. Gives a way to its
/// records, and the figures of the latter.
///
/// # Errors
/// As [`folder::open`]; when the log cannot be reached, must not be used, or another node has the cell.
pub(super) fn open(
    data: &Path,
    options: StoreOptions,
    projection: Arc<dyn Projection>,
    cell: Option<CellLog>,
    member: Option<&Membership>,
) -> Result<Opened, StartError> {
    let noted = folder::read(&data.join(PLACE))?;
    match (cell, noted) {
        (None, None) => {
            let (store, records) = folder::open(data, options, projection)?;
            Ok(Opened {
                store,
                records,
                log: None,
                member: None,
            })
        }
        (None, Some(place)) => Err(StartError::Setting(format!(
            "the store in {} is a copy of the log at {}: set cell.log to it. If that log is gone for good and \
             this copy is to go on alone, remove {}",
            data.display(),
            String::from_utf8_lossy(&place).trim(),
            data.join(PLACE).display()
        ))),
        (Some(cell), _) => join(data, options, projection, cell, member),
    }
}

fn join(
    data: &Path,
    options: StoreOptions,
    projection: Arc<dyn Projection>,
    cell: CellLog,
    member: Option<&Membership>,
) -> Result<Opened, StartError> {
    let place = cell.log.place();
    let log = PostgresLog::open(cell.log).map_err(|why| match why {
        Trouble::Unreachable(why) => StartError::io(
            format!("opening the log at {place}"),
            std::io::Error::other(why),
        ),
        Trouble::Unfit(why) => StartError::Setting(format!("cell.log at {place}: {why}")),
    })?;
    let id: String = log.id().iter().map(|byte| format!("{byte:02x}")).collect();
    let path = data.join(STORE);
    let (known, there) = (folder::known(data)?, DurableStore::id_of(&path)?);
    if let Some(other) = there.iter().chain(&known).find(|other| **other != id) {
        return Err(StartError::from(OpenError::NotAStore(format!(
            "{} has or had the store {other}, and the log at {place} is {id}. Nothing was changed: choose the \
             folder that has the copy of this log, or an empty one, which is filled from it",
            data.display()
        ))));
    }
    folder::write(&data.join(PLACE), format!("{place}\n").as_bytes())?;
    let options = StoreOptions {
        create: true,
        // A copy that was lost is made again; one that is there has a witness.
        witnessed: known.is_some() && there.is_some(),
        ..options
    };
    let status = log.status();
    let part = match member {
        Some(member) => Part::Node {
            name: Arc::clone(&member.name),
            address: Arc::clone(&member.address),
            lease: member.lease,
        },
        None => Part::Owner {
            name: cell.node,
            lease: cell.lease,
            patience: cell.lease + MARGIN,
        },
    };
    let store = DurableStore::join(path, options, projection, Box::new(log), &part)?;
    folder::note(data, &id)?;
    tracing::info!(place, log = id, "the store is a copy of a log elsewhere");
    Ok(Opened {
        records: store.records(),
        log: Some(status),
        member: member.map(|_| store.member()),
        store,
    })
}
