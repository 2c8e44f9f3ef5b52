//! The marks of a folder, by which a cell that is reserved for it is known.
//!
//! **Shape.** `log.moved` has one mark a line, the newest first. A mark is for one attempt, because two that share one
//! would take the cell from each other.
//!
//! **Bounds.** [`MARKS_MAX`] lines.
//!
//! **Failure.** Whether a cell was reserved is not known of a call whose answer was lost. So the marks from before stay
//! until the cell is known to be reserved for one of them: whichever it is, it is this folder's.

use super::super::{StartError, cell, folder, new_secret};
use super::Site;

/// By what a folder to which a log was moved is known.
const MOVED: &str = "log.moved";
/// The most marks of a folder; the oldest goes first.
const MARKS_MAX: usize = 16;

impl Site {
    /// Whether a cell that is reserved for a mark is for this folder. One that is a copy of another log has its marks
    /// from before.
    pub(super) fn is_mine(&self, mark: &str) -> Result<bool, StartError> {
        let noted = cell::place_of(&self.data)?;
        let here = noted.is_none_or(|noted| noted == self.place);
        Ok(here && self.marks()?.iter().any(|mine| mine == mark))
    }

    /// Gives the folder a mark that no other has, beside those that it has.
    pub(super) fn draw(&self) -> Result<String, StartError> {
        let mark = new_secret()?;
        let mut marks = self.marks()?;
        marks.insert(0, mark.clone());
        marks.truncate(MARKS_MAX);
        self.write(&marks)?;
        Ok(mark)
    }

    /// The cell is reserved for this mark: no other counts any more.
    pub(super) fn settle(&self, mark: &str) -> Result<(), StartError> {
        self.write(&[mark.to_owned()])
    }

    /// No cell is reserved for the folder any more.
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
