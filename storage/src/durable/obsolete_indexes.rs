//! Indexes that were moved aside; they are removed once a new one holds their rows.

use crate::folder::Folder;

/// The prefix of the name of an index that was moved aside.
pub(super) const OBSOLETE_PREFIX: &str = "index.damaged-";

/// Removes the indexes that were moved aside from the folder of a store, with all their contents.
///
/// # Errors
/// The system's error when it refuses to list the folder or to remove something. Indexes already
/// removed stay removed; the next start removes the rest.
pub(super) fn drop_old(store: &Folder) -> std::io::Result<()> {
    for name in store.names()? {
        if name
            .to_str()
            .is_some_and(|n| n.starts_with(OBSOLETE_PREFIX))
        {
            std::fs::remove_dir_all(store.steady_path().join(name))?;
        }
    }
    Ok(())
}
