//! Reads: exact when nothing is under way, and within the possible outcomes when something is.

use caudal_storage::{Entry, Head, Position, SortOrder, StreamId};

use super::cents;
use super::driver::Driver;
use super::rig::Rig;
use crate::hold;
use crate::invariants::Check;
use crate::invariants::store as inv;

impl<R: Rig> Driver<R> {
    /// Asks about one stream. Commits without an answer may be seen or not, in order.
    pub(super) fn look(&mut self, stream: StreamId, at: u8, limit: u8, up: bool) -> Check {
        let store = self.rig.store();
        let head = store.head(stream).map_err(|e| e.to_string())?;
        let balance = store
            .get(&cents::balance(stream))
            .map_err(|e| e.to_string())?;
        let possible = |ok: &dyn Fn(&[Vec<Entry>]) -> bool| {
            (self.sure..=self.all.len()).any(|count| ok(&self.all[..count]))
        };
        let is_head = |commits: &[Vec<Entry>]| head == last(commits, stream);
        hold!(
            possible(&is_head),
            "{stream:?} ends in {head:?}, which cannot be"
        );
        let is_balance = |commits: &[Vec<Entry>]| {
            balance.as_ref() == cents::rows(commits.iter().flatten()).get(&cents::balance(stream))
        };
        hold!(
            possible(&is_balance),
            "{stream:?} has {balance:?}, which cannot be"
        );
        // The commits that are surely there read exactly.
        let sure: Vec<&Entry> = self.all[..self.sure]
            .iter()
            .flatten()
            .filter(|e| e.stream == stream)
            .collect();
        let to = u64::try_from(sure.len()).unwrap();
        let from = u64::from(at) % (to + 1);
        let mut right: Vec<&Entry> = sure.iter().copied().filter(|e| e.seq >= from).collect();
        let order = if up {
            SortOrder::Ascending
        } else {
            SortOrder::Descending
        };
        if !up {
            right.reverse();
        }
        right.truncate(usize::from(limit));
        let read = store.read(stream, from, to, order, usize::from(limit));
        let read = read.map_err(|e| e.to_string())?;
        // A read may stop early, at its limit of bytes, but never without an entry.
        let short = read.len() < right.len() && !read.is_empty();
        hold!(
            short || read.len() == right.len(),
            "{stream:?} {from}..={to} gave {} of {}",
            read.len(),
            right.len()
        );
        hold!(
            read.iter().zip(right).all(|(a, b)| a == b),
            "{stream:?} reads differently"
        );
        Ok(())
    }

    /// Compares everything, once nothing is under way: heads, entries, instants, rows, places.
    pub(super) fn exact(&mut self) -> Check {
        self.collect()?;
        let store = self.rig.store();
        if self.sure < self.all.len() {
            return Ok(());
        }
        let rows = store
            .scan(
                &[cents::END - 5],
                &[cents::END],
                SortOrder::Ascending,
                usize::MAX,
            )
            .map_err(|e| format!("the rows cannot be read: {e}"))?;
        let mut down = store
            .scan(
                &[cents::END - 5],
                &[cents::END],
                SortOrder::Descending,
                usize::MAX,
            )
            .map_err(|e| format!("the rows cannot be read: {e}"))?;
        down.reverse();
        hold!(rows == down, "rows up are not rows down");
        let mut found: cents::Rows = rows.into_iter().collect();
        // Places are the engine's own: each leads to its entry and never changes.
        for entry in self.all.iter().flatten() {
            let key = cents::place(entry.stream, entry.seq);
            let Some(place) = found.get_mut(&key) else {
                return Err(format!(
                    "I26: {:?} {} has no place",
                    entry.stream, entry.seq
                ));
            };
            let position = Position(u64::from_be_bytes(
                std::mem::take(place)
                    .try_into()
                    .map_err(|_| "a place of another length")?,
            ));
            let there = store.entry(position).map_err(|e| e.to_string())?;
            hold!(there == *entry, "{position:?} leads to another entry");
            let before = *self
                .places
                .entry((entry.stream, entry.seq))
                .or_insert(position);
            hold!(
                before == position,
                "I26: an entry moved from {before:?} to {position:?}"
            );
        }
        let right = cents::rows(self.all.iter().flatten());
        inv::check_i26_rows(&found, &right)?;
        cents::check_i08(&found)?;
        for stream in super::ops::STREAMS {
            self.exact_stream(stream)?;
        }
        Ok(())
    }

    fn exact_stream(&self, stream: StreamId) -> Check {
        let store = self.rig.store();
        let head = store.head(stream).map_err(|e| e.to_string())?;
        hold!(
            head == last(&self.all, stream),
            "{stream:?} ends in {head:?}"
        );
        let entries: Vec<&Entry> = self
            .all
            .iter()
            .flatten()
            .filter(|e| e.stream == stream)
            .collect();
        let times: std::collections::BTreeSet<u64> = entries
            .iter()
            .flat_map(|e| [e.at - 1, e.at, e.at + 1])
            .chain([0, u64::MAX])
            .collect();
        for at in times {
            let found = store.seq_at(stream, at).map_err(|e| e.to_string())?;
            let replayed = entries
                .iter()
                .take_while(|e| e.at <= at)
                .last()
                .map(|e| e.seq);
            inv::check_i14_seq(stream, at, found, replayed)?;
        }
        Ok(())
    }
}

fn last(commits: &[Vec<Entry>], stream: StreamId) -> Option<Head> {
    let of = commits.iter().rev().flat_map(|commit| commit.iter().rev());
    of.into_iter().find(|e| e.stream == stream).map(|e| Head {
        seq: e.seq,
        at: e.at,
    })
}
