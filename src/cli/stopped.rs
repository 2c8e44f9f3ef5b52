//! The data folder of a stopped service, as commands open it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use caudal::service;
use caudal_actors::cells::Cells;
use caudal_actors::records::projection::Rows;
use caudal_storage::{Projection, Records, Store, StoreOptions};
use indicatif::ProgressBar;

use super::Exit;
use super::terminal;

/// A command that comes and goes joins no runs of the index while there are few: whoever serves the folder does, in the
/// background. At most two of its tables are in memory.
const FAN_IN: usize = 1000;
/// Bytes of such a table.
const TABLE_BYTES: usize = 64 << 20;

/// A folder that nobody else uses while this lives.
pub struct Stopped {
    /// Its store.
    pub store: Arc<dyn Store>,
    /// All of its cells, that store the first of them.
    pub cells: Cells,
    /// The records of its journal.
    pub records: Records,
    /// Those of the other cells' journals.
    pub further: Vec<Records>,
    _held: File,
}

impl Stopped {
    /// Opens the store of a folder that has one; reads all of it, or what a start reads.
    pub fn open(data: &Path, whole: bool, line: &ProgressBar) -> Result<Self, Exit> {
        Self::watched(data, whole, Arc::new(Rows), line)
    }

    /// The same, where `rows` makes the rows that the index of the first cell lacks.
    pub fn watched(
        data: &Path,
        whole: bool,
        rows: Arc<dyn Projection>,
        line: &ProgressBar,
    ) -> Result<Self, Exit> {
        // Nothing is made here: a folder that never had a store is the wrong one.
        if !service::knows_a_store(data)? {
            let why = format!(
                "{0} holds no store: {0}/store/IDENTITY is missing. Name the folder that the service has \
                 as `data`, or a whole copy of it",
                data.display()
            );
            return Err(Exit::usage(why));
        }
        let held = service::hold(data)?;
        let options = StoreOptions {
            create: false,
            check_all: whole,
            merge_fan_in: FAN_IN,
            table_bytes: TABLE_BYTES,
            frozen_max: 1,
            progress: Some(terminal::watch_opening(line)),
            ..StoreOptions::default()
        };
        let (cells, records, further) = service::open_cells(data, &options, rows)?;
        Ok(Self {
            store: Arc::clone(cells.platform()),
            cells,
            records,
            further,
            _held: held,
        })
    }

    /// The same, to write something into it: `what`. Refuses a folder that is a copy of a log elsewhere, which would get
    /// nothing of that.
    pub fn to_write(data: &Path, what: &str, line: &ProgressBar) -> Result<Self, Exit> {
        let stopped = Self::open(data, false, line)?;
        // Nobody moves its log while it is held.
        let Some((cell, place)) = service::copy_in(data)? else {
            return Ok(stopped);
        };
        Err(Exit::usage(format!(
            "the store of cell {cell} in {0} is a copy of the log at {place}, and {what} would be in the copy alone: nodes refuse one that \
             has more than the log. Nothing was done. Stop all nodes and run `caudal log move --to disk --data {0} --log URL`; \
             then this, and move the log back",
            data.display()
        )))
    }
}
