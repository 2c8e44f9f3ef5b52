//! Whether a restored service holds all outgoing calls, until an operator releases them.
//!
//! **Shape.** A restore to the past leaves a file in the data folder. While the file is there, no realm makes
//! outgoing calls (`caudal_actors::hold`).
//!
//! **Order.** The file is removed before any call is made, so a restart never holds again after something has left.

use std::fs;
use std::io;
use std::path::PathBuf;

use tokio::sync::watch;

/// Whether outgoing calls are held.
#[derive(Debug)]
pub struct Outgoing {
    /// The file that marks the hold.
    file: PathBuf,
    held: watch::Sender<bool>,
}

impl Outgoing {
    /// Reads the state: held while the file is there.
    ///
    /// # Errors
    /// When it cannot be told whether the file is there.
    pub fn read(file: PathBuf) -> io::Result<Self> {
        let held = watch::Sender::new(file.try_exists()?);
        Ok(Self { file, held })
    }

    /// A service that was not restored: nothing is held.
    pub fn free() -> Self {
        Self {
            file: PathBuf::new(),
            held: watch::Sender::new(false),
        }
    }

    /// Whether outgoing calls are held.
    pub fn is_held(&self) -> bool {
        *self.held.borrow()
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
