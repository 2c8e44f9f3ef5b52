//! The data folder of a stopped service, as commands open it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use caudal::service;
use caudal_actors::records::projection::Rows;
use caudal_storage::{Records, Store, StoreOptions};
use indicatif::ProgressBar;

use super::Exit;
use super::terminal;

/// A folder that nobody else uses while this lives.
pub struct Stopped {
    /// Its store.
    pub store: Arc<dyn Store>,
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
        let (store, records) = service::open_store(data, options, Arc::new(Rows))?;
        Ok(Self {
            store,
            records,
            _held: held,
        })
    }
}
