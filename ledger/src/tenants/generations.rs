//! The generations of a realm: which there are, of what each is a copy, and which one was in force when. What makes one
//! and puts it into force is in [`super::restores`].

use std::collections::BTreeMap;

use super::{Copied, RestorePoint};
use crate::chain::Digest;
use crate::time::Timestamp;

/// A copy of a realm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation {
    /// What it is a copy of.
    pub point: RestorePoint,
    /// What it came to; `None` while it is not whole.
    pub copied: Option<Copied>,
    /// The cell in which it lies.
    pub cell: u32,
    /// Of one that was made to move the realm: the commit of its cell behind which all of it lies.
    pub behind: Option<u64>,
    /// Up to which commit its cell has to reach; 0 where that is not known.
    pub commit: u64,
}

/// The generations of a realm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Generations {
    /// The number of the one that is in force.
    pub in_force: u32,
    /// From when on which one was in force, oldest first; the first generation was before all of them.
    switches: Vec<(Timestamp, u32)>,
    copies: BTreeMap<u32, Generation>,
    /// Whether what leaves is held.
    pub held: bool,
    /// How often another history came into force.
    pub turns: u32,
    /// The number of the copy for the last of which the realm rests, wherever it is served.
    pub leaving: Option<u32>,
}

impl Generations {
    /// The copies by their numbers; the first generation is none.
    pub fn copies(&self) -> impl DoubleEndedIterator<Item = (u32, &Generation)> {
        self.copies.iter().map(|(number, copy)| (*number, copy))
    }

    /// The copy of a number.
    pub fn copy(&self, number: u32) -> Option<&Generation> {
        self.copies.get(&number)
    }

    /// Which one was in force at an instant.
    pub fn at(&self, at: Timestamp) -> u32 {
        let before = self.switches.iter().rev().find(|(since, _)| *since <= at);
        before.map_or(0, |(_, number)| *number)
    }

    /// When it came into force last; `None` where it never did, and of the first one before it was put back.
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

    /// Whether the realm was moved from there into another cell.
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
        // All that there is of it.
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
    /// The same with another entry at its end: the kind and number of its stream, its sequence there and its time,
    /// and its bytes.
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
