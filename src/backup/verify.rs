//! Verifies a depot's objects of a store without restoring it.
//!
//! **Shape.** Follows the chain of each cell from its first record to its last, the first cell before the others, and
//! compares the others' contents with the first cell's facts about them.

use caudal_storage::log::Sealed;

use super::BackupError;
use super::chain::{Kept, Walked, Whole, walk};
use super::depot::Depot;
use super::fits::{Found, Said, fits};

/// Follows all cells of a store and returns what was found in each. `done` receives the number of object bytes read.
///
/// # Errors
/// Damage, a depot that cannot be read, cells that are not consistent with each other.
pub async fn follow(
    depot: &dyn Depot,
    whole: &Whole,
    done: &mut dyn FnMut(u64),
) -> Result<Vec<(Kept, Walked)>, BackupError> {
    let mut said = Said::default();
    let mut take = |record: &Sealed<'_>, _: u64| said.takes(record).map(|()| true);
    let walked = walk(depot, &whole.first, &mut take, done).await?;
    let mut before = whole.first.cover.bytes();
    let mut all = vec![(whole.first.clone(), walked)];
    for (cell, _) in said.platform().cells() {
        let kept = whole.there(depot, cell).await?;
        let mut there = Found::default();
        let mut take = |record: &Sealed<'_>, _: u64| {
            there.takes(record);
            Ok(true)
        };
        let mut read = |bytes: u64| done(before.strict_add(bytes));
        let walked = walk(depot, &kept, &mut take, &mut read).await?;
        before = before.strict_add(kept.cover.bytes());
        if let Err(why) = fits(&said, cell, &there) {
            let why = format!("the cells do not fit together: {why}");
            return Err(BackupError::damaged(&depot.place(), 0, why));
        }
        all.push((kept, walked));
    }
    Ok(all)
}
