//! The generations of a realm: which exist, of what each is a copy, and when each was in force. The steps that make one
//! and put it into force are in [`super::restores`].

use std::collections::BTreeMap;

use super::{Copied, RestorePoint};
use crate::chain::Digest;
use crate::time::Timestamp;

/// A copy of a realm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation {
    /// The point in time of which it is a copy.
    pub point: RestorePoint,
    /// The content of the copy; `None` while it is incomplete.
    pub copied: Option<Copied>,
    /// The cell that contains it.
    pub cell: u32,
    /// For a copy made by a move: the commit of its cell after which it lies entirely.
    pub behind: Option<u64>,
    /// The commit that its cell must have reached; 0 if that is unknown.
    pub commit: u64,
}

/// The generations of a realm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Generations {
    /// The number of the generation in force.
    pub in_force: u32,
    /// The times from which each generation was in force, oldest first; before all of them, the first generation was.
    switches: Vec<(Timestamp, u32)>,
    copies: BTreeMap<u32, Generation>,
    /// Whether everything that leaves the realm is held.
    pub held: bool,
    /// How often another history came into force.
    pub turns: u32,
    /// The number of the copy for whose last part the realm rests, wherever it is served.
    pub leaving: Option<u32>,
}

impl Generations {
    /// The copies by their numbers; the first generation is not a copy.
    pub fn copies(&self) -> impl DoubleEndedIterator<Item = (u32, &Generation)> {
        self.copies.iter().map(|(number, copy)| (*number, copy))
    }

    /// The copy with a number.
    pub fn copy(&self, number: u32) -> Option<&Generation> {
        self.copies.get(&number)
    }

    /// The generation that was in force at an instant.
    pub fn at(&self, at: Timestamp) -> u32 {
        let before = self.switches.iter().rev().find(|(since, _)| *since <= at);
        before.map_or(0, |(_, number)| *number)
    }

    /// When the generation last came into force; `None` if it never did, which includes the first one until it was put
    /// back.
    pub fn since(&self, number: u32) -> Option<Timestamp> {
        let last = self.switches.iter().rev().find(|(_, it)| *it == number);
        last.map(|(since, _)| *since)
    }

    pub(super) fn exists(&self, number: u32) -> bool {
        number == 0 || self.copies.contains_key(&number)
    }

    pub(super) fn is_whole(&self, number: u32) -> bool {
        number == 0 || self.copy(number).is_some_and(|it| it.copied.is_some())
    }

    /// Whether the realm was moved away from this generation into another cell.
    pub(super) fn was_left(&self, number: u32) -> bool {
        let mut moved = self.copies.values().filter(|it| it.behind.is_some());
        moved.any(|it| it.copied.is_some() && it.point.from == number)
    }

    pub(super) fn begun(&mut self, number: u32, point: RestorePoint, cell: u32) {
        let copy = Generation {
            point,
            copied: None,
            cell,
            behind: None,
            commit: 0,
        };
        self.copies.insert(number, copy);
    }

    pub(super) fn moves(&mut self, number: u32, (from, at): (u32, Timestamp), to: (u32, u64)) {
        let (cell, behind) = to;
        self.leaving = None;
        // A move copies everything.
        let until = u64::MAX;
        self.begun(number, RestorePoint { from, at, until }, cell);
        if let Some(copy) = self.copies.get_mut(&number) {
            copy.behind = Some(behind);
        }
    }

    pub(super) fn leaves(&mut self, number: Option<u32>) {
        self.leaving = number;
    }

    pub(super) fn moved(&mut self, number: u32, (copied, commit): (Copied, u64), at: Timestamp) {
        self.leaving = None;
        self.copied(number, copied);
        if let Some(copy) = self.copies.get_mut(&number) {
            copy.commit = commit;
        }
        self.in_force = number;
        self.switches.push((at, number));
    }

    pub(super) fn copied(&mut self, number: u32, copied: Copied) {
        if let Some(copy) = self.copies.get_mut(&number) {
            copy.copied = Some(copied);
        }
    }

    pub(super) fn switched(&mut self, number: u32, at: Timestamp) {
        self.leaving = None;
        self.in_force = number;
        self.switches.push((at, number));
        self.held = true;
        self.turns = self.turns.strict_add(1);
    }
}

impl Copied {
    /// The same with another entry at its end: kind and number of its stream, its sequence there and its time, and its
    /// bytes.
    #[must_use]
    pub fn and(self, (kind, number): (u8, u64), (seq, at): (u64, u64), body: &[u8]) -> Self {
        let mut text = Vec::with_capacity(body.len().strict_add(64));
        text.extend_from_slice(&self.digest.0);
        text.push(kind);
        for part in [number, seq, at] {
            text.extend_from_slice(&part.to_be_bytes());
        }
        text.extend_from_slice(body);
        Self {
            entries: self.entries.strict_add(1),
            digest: Digest::of(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_copy_comes_to_has_every_entry_in_its_order() {
        let one = |body: &[u8]| Copied::default().and((1, 2), (3, 4), body);
        assert_eq!(one(b"a"), one(b"a"));
        assert_ne!(one(b"a"), one(b"b"));
        let (a, b) = (((1, 2), (1, 4), b"a"), ((1, 3), (1, 4), b"b"));
        let both = |x: ((u8, u64), (u64, u64), &[u8; 1]), y: ((u8, u64), (u64, u64), &[u8; 1])| {
            Copied::default().and(x.0, x.1, x.2).and(y.0, y.1, y.2)
        };
        assert_ne!(both(a, b).digest, both(b, a).digest);
        assert_eq!(both(a, b).entries, 2);
    }
}
