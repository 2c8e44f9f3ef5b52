//! The context of one store: its folder, and what every part needs to read and write there.

use std::path::PathBuf;
use std::sync::Arc;

use crate::files::Files;
use crate::folder::Folder;
use crate::health::Health;
use crate::journal::format::StoreId;

/// A store's folder, and what the threads know about its state.
#[derive(Debug)]
pub(crate) struct StoreContext {
    /// The path under which it was opened.
    pub(crate) path: PathBuf,
    /// The open folder.
    pub(crate) folder: Arc<Folder>,
    /// The folder of segments in it.
    pub(crate) journal: Folder,
    /// Access to the files.
    pub(crate) files: Files,
    /// The id of the journal, which all its files name.
    pub(crate) id: StoreId,
    /// Whether the store may still write, and whether its index can be trusted.
    pub(crate) health: Arc<Health>,
}
