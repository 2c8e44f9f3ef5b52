//! The data folder of a stopped service, as commands open it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use caudal_actors::records::projection::ServiceProjection;
use caudal_http::memory::{self, count};
use caudal_service as service;
use caudal_storage::{Records, Store, StoreOptions};

use super::Exit;
use super::progress::ProgressLine;

/// A short-lived command does not merge runs of the index while there are few: the service that uses the folder next
/// merges them in the background.
const FAN_IN: usize = 1000;
/// The size of a table of rows, in bytes: at least, and at most. Each of them becomes a run, so with larger ones a large
/// index has fewer runs, and needs none or one merge.
const TABLE_BYTES: (u64, u64) = (16 << 20, 256 << 20);
/// A table has this part of the memory that a service would take. Several are in memory at once.
const TABLE_PART: u64 = 16;
/// How many tables may wait besides the one that is being filled: while one is written, the next one is complete.
const TABLES_WAIT: usize = 2;

/// A folder that is locked while this lives.
pub(super) struct Stopped {
    /// Its store.
    pub store: Arc<dyn Store>,
    /// The records of its journal.
    pub records: Records,
    _held: File,
}

impl Stopped {
    /// Opens the store of a folder that has one; reads all of it if `whole`, or else only what a start reads.
    pub(super) fn open(data: &Path, whole: bool) -> Result<Self, Exit> {
        let line = ProgressLine::new("opening");
        let stopped = Self::held(data, whole, None, &line);
        line.clear();
        stopped
    }

    /// Opens it in the same way; `held` is the lock of the folder, if this process has it already.
    pub(super) fn held(
        data: &Path,
        whole: bool,
        held: Option<File>,
        line: &ProgressLine,
    ) -> Result<Self, Exit> {
        if held.is_none() {
            service::is_restored(data)?;
        }
        // Never create a store here: a folder that never had one is the wrong folder.
        if !service::knows_a_store(data)? {
            let why = format!(
                "{0} holds no store: {0}/store/IDENTITY is missing. Name the folder that the service has \
                 as `data`, or a whole copy of it",
                data.display()
            );
            return Err(Exit::usage(why));
        }
        let held = held.map_or_else(|| service::hold(data), Ok)?;
        let options = StoreOptions {
            create: false,
            check_all: whole,
            merge_fan_in: FAN_IN,
            table_bytes: count((memory::usual() / TABLE_PART).clamp(TABLE_BYTES.0, TABLE_BYTES.1)),
            frozen_max: TABLES_WAIT,
            progress: Some(line.watch_opening()),
            ..StoreOptions::default()
        };
        let (store, records) = service::open_folder(data, options, Arc::new(ServiceProjection))?;
        Ok(Self {
            store,
            records,
            _held: held,
        })
    }

    /// Opens it in order to write `what` to it. Refuses a folder that is a copy of a log in a database, because that
    /// log would not get the write.
    pub(super) fn to_write(data: &Path, what: &str) -> Result<Self, Exit> {
        let stopped = Self::open(data, false)?;
        let Some(place) = service::place_of(data)? else {
            return Ok(stopped);
        };
        Err(Exit::usage(format!(
            "the store in {0} is a copy of the log at {place}, or was superseded by it, and {what} would be in {0} only: \
             nodes refuse a folder that has more than the log. Nothing was done. Stop all nodes, restore that log into a \
             folder (`caudal restore --from URL --into DIR`), do this there, and restore the folder into an empty database",
            data.display()
        )))
    }
}
