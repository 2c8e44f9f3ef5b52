//! The bounded queue in front of the committer.
//!
//! **Bounds.** Commits and their bytes, and as many notes as commits, of as many bytes; what is beyond is given back.

use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::api::{Commit, Done, Row, StoreError};
use crate::num::u64_of;
use crate::sync::{lock, wait, wait_for};

/// What the committer is asked for.
pub(crate) enum Item {
    /// To make a commit durable.
    Commit(Commit, Done, u64),
    /// To say when everything before is.
    Barrier(Done),
    /// To put rows into the index that can be lost.
    Note(Vec<Row>),
    /// To let the node of this name own the cell, once what came before is durable.
    Yield(Arc<str>, SyncSender<Result<(), StoreError>>),
    /// To write the index out and stop.
    Close(SyncSender<Result<(), StoreError>>),
}

#[derive(Default)]
struct Waiting {
    /// With when each came.
    items: VecDeque<(Instant, Item)>,
    commits: usize,
    bytes: u64,
    notes: usize,
    note_bytes: u64,
    /// Whether the committer sleeps, so that whoever adds something has to wake it.
    idle: bool,
    /// Nothing more is taken.
    closed: bool,
    /// What waits is not worked on any more.
    dropped: bool,
}

impl Waiting {
    fn without_note(&mut self, rows: &[Row]) {
        self.notes -= 1;
        self.note_bytes -= bytes_of(rows);
    }
}

/// Bytes of the rows of a note.
fn bytes_of(rows: &[Row]) -> u64 {
    let bytes = |row: &Row| row.key.len() + row.value.as_ref().map_or(0, Vec::len);
    u64_of(rows.iter().map(bytes).sum())
}

/// Commits and barriers in the order in which they came.
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    some: Condvar,
    commits_max: usize,
    bytes_max: u64,
}

impl Queue {
    /// An empty queue with its two limits.
    pub(crate) fn new(commits_max: usize, bytes_max: u64) -> Self {
        Self {
            waiting: Mutex::new(Waiting::default()),
            some: Condvar::new(),
            commits_max,
            bytes_max,
        }
    }

    /// Adds an item behind the others.
    ///
    /// # Errors
    /// Gives the item back with `Closed` once the queue takes nothing more, or with `Overloaded`: as many
    /// commits or notes wait as may, or the bytes of either would be too many. A commit or a note is never too large for an
    /// empty queue, and barriers are always taken.
    pub(crate) fn push(&self, item: Item) -> Result<(), Box<(Item, StoreError)>> {
        let now = Instant::now();
        let mut waiting = lock(&self.waiting);
        if waiting.closed {
            return Err(Box::new((item, StoreError::Closed)));
        }
        match &item {
            Item::Commit(_, _, bytes) => {
                let full = waiting.commits >= self.commits_max
                    || waiting.commits > 0 && waiting.bytes + bytes > self.bytes_max;
                if full {
                    return Err(Box::new((item, StoreError::Overloaded)));
                }
                waiting.commits += 1;
                waiting.bytes += bytes;
            }
            Item::Note(rows) => {
                let bytes = bytes_of(rows);
                let full = waiting.notes >= self.commits_max
                    || waiting.notes > 0 && waiting.note_bytes + bytes > self.bytes_max;
                if full {
                    return Err(Box::new((item, StoreError::Overloaded)));
                }
                waiting.notes += 1;
                waiting.note_bytes += bytes;
            }
            Item::Barrier(_) | Item::Yield(..) => {}
            Item::Close(_) => waiting.closed = true,
        }
        // a note waits for what comes after it: nobody waits for a note
        let wakes = !matches!(item, Item::Note(_));
        waiting.items.push_back((now, item));
        if waiting.idle && wakes {
            waiting.idle = false;
            self.some.notify_one();
        }
        Ok(())
    }

    /// Waits for one item, at most so long, and takes all that wait, up to the limits of a group, with when they came.
    /// `None` when the queue was shut.
    pub(crate) fn take(
        &self,
        commits_max: usize,
        bytes_max: u64,
        most: Option<Duration>,
    ) -> Option<Vec<(Instant, Item)>> {
        let began = Instant::now();
        let mut waiting = lock(&self.waiting);
        while waiting.items.is_empty() {
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
        let mut group = Vec::with_capacity(waiting.items.len().min(commits_max));
        let (mut commits, mut bytes) = (0, 0);
        while commits < commits_max && bytes < bytes_max {
            let Some((came, item)) = waiting.items.pop_front() else {
                break;
            };
            let last = matches!(item, Item::Close(_) | Item::Yield(..));
            match &item {
                Item::Commit(_, _, n) => {
                    commits += 1;
                    bytes += n;
                }
                Item::Note(rows) => waiting.without_note(rows),
                Item::Barrier(_) | Item::Yield(..) | Item::Close(_) => {}
            }
            group.push((came, item));
            if last {
                break;
            }
        }
        waiting.commits -= commits;
        waiting.bytes -= bytes;
        Some(group)
    }

    /// The next item, if one waits; `None` when the queue was shut.
    pub(crate) fn look(&self) -> Option<Option<Item>> {
        let mut waiting = lock(&self.waiting);
        if waiting.dropped {
            return None;
        }
        let item = waiting.items.pop_front().map(|(_, item)| item);
        match &item {
            Some(Item::Commit(_, _, bytes)) => {
                waiting.commits -= 1;
                waiting.bytes -= bytes;
            }
            Some(Item::Note(rows)) => waiting.without_note(rows),
            Some(Item::Barrier(_) | Item::Yield(..) | Item::Close(_)) | None => {}
        }
        Some(item)
    }

    /// Takes no more, and gives back everything that waits.
    pub(crate) fn shut(&self) -> Vec<Item> {
        let mut waiting = lock(&self.waiting);
        waiting.closed = true;
        waiting.dropped = true;
        waiting.commits = 0;
        waiting.bytes = 0;
        waiting.notes = 0;
        waiting.note_bytes = 0;
        self.some.notify_all();
        waiting.items.drain(..).map(|(_, item)| item).collect()
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
        let queue = Queue::new(4, 1000);
        let note = |bytes: usize| {
            let row = Row {
                key: vec![2],
                value: Some(vec![0; bytes - 1]),
            };
            let pushed = queue.push(Item::Note(vec![row]));
            let why = pushed.map_err(|given_back| given_back.1).err();
            assert!(matches!(why, None | Some(StoreError::Overloaded)));
            why.is_none()
        };
        let take = || queue.take(512, 1 << 20, None).map(|group| group.len());
        for _ in 0..3 {
            assert!(note(600) && !note(401) && note(400) && !note(1));
            assert_eq!(take(), Some(2));
            assert!((0..4).all(|_| note(1)) && !note(1));
            for _ in 0..4 {
                assert!(matches!(queue.look(), Some(Some(Item::Note(_)))));
            }
            assert!(note(2000) && !note(1), "alone, however large");
            assert_eq!(take(), Some(1));
        }
        assert!(note(1000));
        assert_eq!(queue.shut().len(), 1);
    }
}
