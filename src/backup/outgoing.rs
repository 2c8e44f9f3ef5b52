//! Whether a restored service holds all outgoing calls, until an operator releases them.
//!
//! **Shape.** A restore to the past leaves a file in the data folder, with the list of what it has taken over from the
//! records after the instant. While the file is there, no realm makes outgoing calls (`caudal_actors::outgoing_pause`), and the
//! list is shown.
//!
//! **Order.** The file is removed before any call is made, so a restart never holds again after something has left.

use std::fs;
use std::io;
use std::path::PathBuf;

use tokio::sync::watch;

use crate::since::Since;

/// Whether outgoing calls are held.
#[derive(Debug)]
pub struct Outgoing {
    /// The file that marks the hold.
    file: PathBuf,
    held: watch::Sender<bool>,
    /// What the restore has taken over, if the file says so.
    since: Option<Since>,
}

impl Outgoing {
    /// Reads the state: held while the file is there.
    ///
    /// # Errors
    /// When it cannot be told whether the file is there, or it cannot be read.
    pub fn read(file: PathBuf) -> io::Result<Self> {
        let is_held = file.try_exists()?;
        // A restore that was interrupted before it had a list leaves a file without one.
        let list = is_held.then(|| fs::read(&file)).transpose()?;
        let since = list.and_then(|list| serde_json::from_slice(&list).ok());
        let held = watch::Sender::new(is_held);
        Ok(Self { file, held, since })
    }

    /// Whether outgoing calls are held.
    pub fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    /// What the restore has taken over, while outgoing calls are held.
    pub fn since(&self) -> Option<&Since> {
        self.since.as_ref().filter(|_| self.is_held())
    }

    /// Releases outgoing calls, for good.
    ///
    /// # Errors
    /// When the file cannot be removed; everything stays held.
    pub fn release(&self) -> io::Result<()> {
        if !self.is_held() {
            return Ok(());
        }
        match fs::remove_file(&self.file) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
            Ok(()) | Err(_) => {}
        }
        if let Some(folder) = self.file.parent() {
            fs::File::open(folder)?.sync_all()?;
        }
        self.held.send_replace(false);
        Ok(())
    }

    /// The state, for callers that wait until nothing is held.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.held.subscribe()
    }
}
