//! The data folder of a stopped service, as commands open it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use caudal::service;
use caudal_actors::cells::Cells;
use caudal_actors::records::projection::Rows;
use caudal_storage::{Records, Store, StoreOptions};
use indicatif::ProgressBar;

use super::Exit;
use super::terminal;

/// A folder that nobody else uses while this lives.
pub struct Stopped {
    /// Its store.
    pub store: Arc<dyn Store>,
    /// All of its cells, that store the first of them.
    pub cells: Cells,
    /// The records of its journal.
    pub records: Records,
    _held: File,
}

impl Stopped {
    /// Opens the store of a folder that has one; reads all of it, or what a start reads.
    pub fn open(data: &Path, whole: bool, line: &ProgressBar) -> Result<Self, Exit> {
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
            progress: Some(terminal::watch_opening(line)),
            ..StoreOptions::default()
        };
        let (store, records) = service::open_store(data, options.clone(), Arc::new(Rows))?;
        let cells = service::open_cells(data, Arc::clone(&store), &options)?;
        Ok(Self {
            store,
            cells,
            records,
            _held: held,
        })
    }

    /// Refuses where there are several cells: `what` is done with one alone.
    pub fn alone(&self, what: &str) -> Result<(), Exit> {
        match self.cells.all().count() {
            1 => Ok(()),
            several => Err(Exit::usage(format!(
                "the folder has {several} cells, and {what} knows the first one alone. Nothing was done"
            ))),
        }
    }
}
