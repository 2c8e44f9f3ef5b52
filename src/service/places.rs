//! Finds the cells of a stopped folder that are copies of logs elsewhere: `log.place` in a cell's folder marks a copy.
//!
//! **Order.** `caudal log move` moves one cell after the other. A move that is interrupted between two cells leaves a
//! folder in which some cells are logs and others are copies; a write to a copy would begin a second history. So a
//! start without `cell.log` checks this before it opens any store. A start with `cell.log` is refused because the first
//! cell is reserved meanwhile ([`super::moving`]).

use std::path::Path;

use caudal_ledger::tenants::cells::CELLS_MAX;

use super::{StartError, cell, cells, folder};

/// The number of the first cell that is a copy, and the place of the log that it copies; `None` if no cell is a copy.
///
/// # Errors
/// When a cell's folder cannot be read.
pub fn copy_in(data: &Path) -> Result<Option<(u32, String)>, StartError> {
    for number in 0..CELLS_MAX {
        let noted = cell::place_of(&cells::place(data, number))?;
        if let Some(noted) = noted {
            return Ok(Some((number, noted)));
        }
    }
    Ok(None)
}

/// Refuses a folder in which some cells are logs and others are copies.
///
/// # Errors
/// When the folder is such a mixture; when a cell's folder cannot be read.
pub(super) fn are_one(data: &Path) -> Result<(), StartError> {
    let Some((copy, noted)) = copy_in(data)? else {
        return Ok(());
    };
    for number in 0..CELLS_MAX {
        let place = cells::place(data, number);
        let own = cell::place_of(&place)?.is_none() && folder::knows_a_store(&place)?;
        if own {
            return Err(StartError::Setting(format!(
                "in {} the store of cell {copy} is a copy of its log at {noted}, and that of cell {number} is its own log: \
                 a move of the logs was cut off. Nothing was changed, and no side can be started: run `caudal log move` \
                 with the same --to again, which goes on where it was, or with the other one to go back",
                data.display()
            )));
        }
    }
    Ok(())
}
