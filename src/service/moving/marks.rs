//! The marks of a folder, which identify a cell that is reserved for it.
//!
//! **Shape.** `log.moved` has one mark per line, the newest first. A mark belongs to one attempt, because two attempts
//! with one mark would take the cell from each other.
//!
//! **Bounds.** [`MARKS_MAX`] lines.
//!
//! **Failure.** If the answer to a reservation is lost, the folder does not know whether the cell was reserved. So
//! earlier marks stay until the cell is known to be reserved for one of them: all of them are this folder's.

use super::super::folder::MOVED;
use super::super::{StartError, cell, folder, new_secret};
use super::Site;

/// The most marks of a folder; the oldest is dropped first.
const MARKS_MAX: usize = 16;

impl Site {
    /// Whether a cell that is reserved for `mark` is reserved for this folder. In a folder that is a copy of another
    /// log, the marks belong to that log and do not count.
    pub(super) fn is_mine(&self, mark: &str) -> Result<bool, StartError> {
        let noted = cell::place_of(&self.data)?;
        let here = noted.is_none_or(|noted| noted == self.place);
        Ok(here && self.marks()?.iter().any(|mine| mine == mark))
    }

    /// Adds a fresh mark to the folder, which no other folder has.
    pub(super) fn draw(&self) -> Result<String, StartError> {
        let mark = new_secret()?;
        let mut marks = self.marks()?;
        marks.insert(0, mark.clone());
        marks.truncate(MARKS_MAX);
        self.write(&marks)?;
        Ok(mark)
    }

    /// Keeps only this mark, for which the cell is now reserved.
    pub(super) fn settle(&self, mark: &str) -> Result<(), StartError> {
        self.write(&[mark.to_owned()])
    }

    /// Removes all marks, once no cell is reserved for the folder.
    pub(super) fn unmark(&self) -> Result<(), StartError> {
        folder::remove(&self.data.join(MOVED))
    }

    fn marks(&self) -> Result<Vec<String>, StartError> {
        let found = folder::read(&self.data.join(MOVED))?;
        let text = found.map(|marks| String::from_utf8_lossy(&marks).into_owned());
        let lines = text.iter().flat_map(|text| text.lines());
        let lines = lines.map(str::trim).filter(|line| !line.is_empty());
        Ok(lines.map(str::to_owned).collect())
    }

    fn write(&self, marks: &[String]) -> Result<(), StartError> {
        let text = format!("{}\n", marks.join("\n"));
        folder::write(&self.data.join(MOVED), text.as_bytes())
    }
}
