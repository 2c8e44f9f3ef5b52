//! Whether a restored service holds everything that would leave it, until an operator releases it.
//!
//! **Shape.** A restore to the past leaves a file in the data folder. While it is there nothing leaves any realm
//! (`caudal_actors::hold`).
//!
//! **Order.** The file is removed before anything leaves, so nothing leaves that a restart would hold again.

use std::fs;
use std::io;
use std::path::PathBuf;

use tokio::sync::watch;

/// Whether what would leave is held.
#[derive(Debug)]
pub struct Outgoing {
    /// The file that says so.
    file: PathBuf,
    held: watch::Sender<bool>,
}

impl Outgoing {
    /// As the file says: held while it is there.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn read(file: PathBuf) -> io::Result<Self> {
        let held = watch::Sender::new(file.try_exists()?);
        Ok(Self { file, held })
    }

    /// Nothing is held, and nothing ever was.
    pub fn free() -> Self {
        Self {
            file: PathBuf::new(),
            held: watch::Sender::new(false),
        }
    }

    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        *self.held.borrow()
    }

    /// Lets everything leave, for good.
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

    /// The same for whoever waits until nothing is held.
    pub fn watch(&self) -> watch::Receiver<bool> {
        self.held.subscribe()
    }
}
