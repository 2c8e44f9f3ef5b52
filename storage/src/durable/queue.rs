//! The bounded queue in front of the committer.
//!
//! **Shape.** Commits and other requests are taken in the order in which they came. Rows that can be lost (notes) wait
//! next to them: they describe what was durable when they came, so no commit need wait for them.
//!
//! **Bounds.** The commits and their bytes are limited, and the rows of notes and their bytes by the same numbers; what
//! exceeds them is given back. A group has at most [`NOTES_MAX`] rows of notes, or one for each of its commits where
//! those are more: each row costs a lookup in the index, and a flood of accounts going to rest would hold up the
//! commits of its group. The remaining rows wait for the next group, and an item that ends the committer's work waits
//! for all of them.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::api::{Commit, Done, Row, StoreError};
use crate::num::u64_of;
use crate::sync::{lock, wait, wait_for};

/// How many rows of notes a group has at most, unless it has more commits: then it may have one row per commit, so that
/// the rows that commits leave behind do not pile up.
pub(crate) const NOTES_MAX: usize = 64;

/// A request to the committer.
pub(crate) enum QueueItem {
    /// Makes a commit durable; the number is its size in bytes.
    Commit(Commit, Done, u64),
    /// Reports when everything before it is durable.
    Barrier(Done),
    /// Hands the cell over to the named node, once everything before it is durable.
    Yield(Arc<str>, SyncSender<Result<(), StoreError>>),
    /// Writes the index out and stops.
    Close(SyncSender<Result<(), StoreError>>),
}

/// The items and notes that the committer processes together.
#[derive(Default)]
pub(crate) struct Group {
    /// The requests, each with the time it came.
    pub(crate) items: Vec<(Instant, QueueItem)>,
    /// Rows that can be lost, oldest first.
    pub(crate) notes: Vec<Row>,
}

#[derive(Default)]
struct Waiting {
    /// Each with the time it came.
    items: VecDeque<(Instant, QueueItem)>,
    commits: usize,
    bytes: u64,
    notes: VecDeque<Row>,
    note_bytes: u64,
    /// How many items of [`QueueItem::Yield`] wait.
    yields: usize,
    /// Whether the committer sleeps, so that adding an item has to wake it.
    idle: bool,
    /// The queue accepts nothing more.
    closed: bool,
    /// Waiting items are no longer processed.
    dropped: bool,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.items.is_empty() && self.notes.is_empty()
    }

    fn pop(&mut self) -> Option<(Instant, QueueItem)> {
        let (came, item) = self.items.pop_front()?;
        match &item {
            QueueItem::Commit(_, _, bytes) => {
                self.commits -= 1;
                self.bytes -= bytes;
            }
            QueueItem::Yield(..) => self.yields -= 1,
            QueueItem::Barrier(_) | QueueItem::Close(_) => {}
        }
        Some((came, item))
    }

    /// Whether the next item is one after which this committer takes nothing more.
    fn ends(&self) -> bool {
        let next = self.items.front().map(|(_, item)| item);
        matches!(next, Some(QueueItem::Close(_) | QueueItem::Yield(..)))
    }

    fn group(&mut self, commits_max: usize, bytes_max: u64) -> Group {
        let mut group = Group {
            items: Vec::with_capacity(self.items.len().min(commits_max)),
            notes: Vec::new(),
        };
        let (mut commits, mut bytes) = (0, 0);
        while commits < commits_max && bytes < bytes_max && !self.ends() {
            let Some((came, item)) = self.pop() else {
                break;
            };
            if let QueueItem::Commit(_, _, n) = &item {
                commits += 1;
                bytes += n;
            }
            group.items.push((came, item));
        }
        let (notes_max, mut bytes) = (commits.max(NOTES_MAX), 0);
        while group.notes.len() < notes_max && bytes < bytes_max {
            let Some(row) = self.notes.pop_front() else {
                break;
            };
            bytes += row_bytes(&row);
            group.notes.push(row);
        }
        self.note_bytes -= bytes;
        if self.ends() && self.notes.is_empty() {
            group.items.extend(self.pop());
        }
        group
    }
}

fn row_bytes(row: &Row) -> u64 {
    u64_of(row.key.len() + row.value.as_ref().map_or(0, Vec::len))
}

/// Commits and barriers in the order in which they came.
pub(crate) struct CommitQueue {
    waiting: Mutex<Waiting>,
    some: Condvar,
    commits_max: usize,
    bytes_max: u64,
}

impl CommitQueue {
    /// An empty queue with its two limits.
    pub(crate) fn new(commits_max: usize, bytes_max: u64) -> Self {
        Self {
            waiting: Mutex::new(Waiting::default()),
            some: Condvar::new(),
            commits_max,
            bytes_max,
        }
    }

    /// Appends an item to the queue.
    ///
    /// # Errors
    /// Gives the item back with `Closed` once the queue accepts nothing more, or with `Overloaded` when the limit of
    /// waiting commits is reached or their bytes would exceed theirs. A commit is never too large for an empty queue,
    /// and barriers are always accepted.
    pub(crate) fn push(&self, item: QueueItem) -> Result<(), Box<(QueueItem, StoreError)>> {
        let now = Instant::now();
        let mut waiting = lock(&self.waiting);
        if waiting.closed {
            return Err(Box::new((item, StoreError::Closed)));
        }
        match &item {
            QueueItem::Commit(_, _, bytes) => {
                let full = waiting.commits >= self.commits_max
                    || waiting.commits > 0 && waiting.bytes + bytes > self.bytes_max;
                if full {
                    return Err(Box::new((item, StoreError::Overloaded)));
                }
                waiting.commits += 1;
                waiting.bytes += bytes;
            }
            QueueItem::Barrier(_) => {}
            QueueItem::Yield(..) => waiting.yields += 1,
            QueueItem::Close(_) => waiting.closed = true,
        }
        waiting.items.push_back((now, item));
        if waiting.idle {
            waiting.idle = false;
            self.some.notify_one();
        }
        Ok(())
    }

    /// Adds rows that can be lost without waking the committer: they wait for the next item.
    ///
    /// # Errors
    /// As [`Self::push`]: when as many rows wait as commits may, or their bytes would be too many, or an item that ends
    /// the committer's work waits (it waits for the rows before it). None of the rows is taken then.
    pub(crate) fn note(&self, rows: Vec<Row>) -> Result<(), StoreError> {
        let bytes: u64 = rows.iter().map(row_bytes).sum();
        let mut waiting = lock(&self.waiting);
        if waiting.closed || waiting.yields > 0 {
            return Err(StoreError::Closed);
        }
        let many = waiting.notes.len() + rows.len() > self.commits_max;
        if many || waiting.note_bytes + bytes > self.bytes_max {
            return Err(StoreError::Overloaded);
        }
        waiting.note_bytes += bytes;
        waiting.notes.extend(rows);
        Ok(())
    }

    /// Waits at most `most` for an item, then takes all waiting items, up to the limits of a group. `None` when the
    /// queue was shut.
    pub(crate) fn take(
        &self,
        commits_max: usize,
        bytes_max: u64,
        most: Option<Duration>,
    ) -> Option<Group> {
        let began = Instant::now();
        let mut waiting = lock(&self.waiting);
        while waiting.is_empty() {
            if waiting.dropped {
                return None;
            }
            waiting.idle = true;
            waiting = match most {
                None => wait(&self.some, waiting),
                Some(most) => match most.checked_sub(began.elapsed()) {
                    Some(left) => wait_for(&self.some, waiting, left),
                    None => break,
                },
            };
        }
        if waiting.dropped {
            return None;
        }
        Some(waiting.group(commits_max, bytes_max))
    }

    /// Closes the queue and returns every waiting item.
    pub(crate) fn shut(&self) -> Vec<QueueItem> {
        let shut = Waiting {
            closed: true,
            dropped: true,
            ..Waiting::default()
        };
        let before = std::mem::replace(&mut *lock(&self.waiting), shut);
        self.some.notify_all();
        before.items.into_iter().map(|(_, item)| item).collect()
    }

    /// How many commits wait.
    pub(crate) fn commits(&self) -> usize {
        lock(&self.waiting).commits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_bounded_by_number_and_by_bytes_and_make_room_when_they_are_taken() {
        let queue = CommitQueue::new(4, 1000);
        let note = |bytes: usize| {
            let row = Row {
                key: vec![2],
                value: Some(vec![0; bytes - 1]),
            };
            let taken = queue.note(vec![row]);
            assert!(matches!(taken, Ok(()) | Err(StoreError::Overloaded)));
            taken.is_ok()
        };
        let take = || {
            queue
                .take(512, 1 << 20, None)
                .map(|group| group.notes.len())
        };
        for _ in 0..3 {
            assert!(note(600) && !note(401) && note(400) && !note(1));
            assert_eq!(take(), Some(2));
            assert!((0..4).all(|_| note(1)) && !note(1));
            assert_eq!(take(), Some(4));
            assert!(!note(1001), "it can be lost");
        }
        assert!(note(1000));
        assert!(queue.shut().is_empty());
        assert!(matches!(queue.note(Vec::new()), Err(StoreError::Closed)));
    }
}
