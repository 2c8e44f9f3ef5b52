//! Which cells of a stopped folder are copies of logs elsewhere, as the marks in their folders say.
//!
//! **Order.** `caudal log move` moves one cell after the other. Cut off between two of them it leaves a folder in which
//! some cells are logs and others are copies: what would be written into those would be a second history. So a start
//! without `cell.log` asks here before any store is opened. A start with it is refused by the first cell, which is
//! reserved meanwhile ([`super::moving`]).

use std::path::Path;

use caudal_ledger::tenants::cells::CELLS_MAX;

use super::{StartError, cell, cells, folder};

/// The number of the first cell that is a copy, and of which log.
///
/// # Errors
/// When a folder cannot be looked into.
pub fn copy_in(data: &Path) -> Result<Option<(u32, String)>, StartError> {
    for number in 0..CELLS_MAX {
        let noted = cell::place_of(&cells::place(data, number))?;
        if let Some(noted) = noted {
            return Ok(Some((number, noted)));
        }
    }
    Ok(None)
}

/// Refuses a folder of which some cells are logs and others are copies.
///
/// # Errors
/// When it is one; when a folder cannot be looked into.
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
