//! Indexes that were moved aside; they are removed once a new one holds their rows.

use crate::folder::Folder;

/// What the name of an index that was moved aside begins with.
pub(super) const ASIDE: &str = "index.damaged-";

/// Removes the indexes that were moved aside from the folder of a store, with all they hold.
///
/// # Errors
/// What the system says when it refuses to list the folder or to remove something. What was removed
/// before that stays removed, and the rest goes at the next start.
pub(super) fn drop_old(store: &Folder) -> std::io::Result<()> {
    for name in store.names()? {
        if name.to_str().is_some_and(|n| n.starts_with(ASIDE)) {
            std::fs::remove_dir_all(store.steady_path().join(name))?;
        }
    }
    Ok(())
}
