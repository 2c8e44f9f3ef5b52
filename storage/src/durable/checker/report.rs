//! The reports of the background check: findings and progress.

use crate::api::Finding;
use crate::durable::checker::{Checker, Current, Work, now_ms};
use crate::durable::checkpoint::Rounds;
use crate::index::scrub::bytes_of;
use crate::journal::names::segment_name;
use crate::journal::position;
use crate::journal::prepare::exhausted;
use crate::journal::seal::SegmentError;
use crate::num::low32;
use crate::sync::lock;

/// The most findings that are kept; all of them are counted.
const FINDINGS_MAX: usize = 100;

impl Checker {
    /// Reports what is wrong with a segment; false when it is to be tried again shortly.
    pub(super) fn found(&self, work: &mut Work, number: u32, wrong: SegmentError) -> bool {
        let name = segment_name(number);
        match wrong {
            SegmentError::Refused(_, e) if exhausted(&e) => {
                tracing::warn!(segment = name, error = %e, "the check of the journal waits");
                return false;
            }
            SegmentError::Refused(offset, e) => {
                let why = format!("reading {name} at offset {offset}: {e}");
                let at = position(number, low32(offset));
                self.parts.health.unreadable(&why, Some(at));
                work.refused.insert(number);
                self.keep(&name, Some(offset), format!("it cannot be read: {e}"));
            }
            SegmentError::Damaged { offset, why } => {
                let place = self.parts.journal.path().join(&name);
                self.parts.health.rot(&place, offset, &why);
                // the next start reads this segment
                work.attested.remove(&number);
                work.checkpoint.row(number, None);
                self.keep(&name, Some(offset), why);
            }
        }
        true
    }

    pub(super) fn keep(&self, place: &str, offset: Option<u64>, why: String) {
        let mut shown = lock(&self.shown);
        shown.found += 1;
        if shown.findings.len() < FINDINGS_MAX {
            shown.findings.push(Finding {
                place: place.to_owned(),
                offset,
                why,
                at: now_ms(),
            });
        }
    }

    pub(super) fn show(&self, work: &Work) {
        let Rounds {
            begun,
            ended,
            ended_at,
        } = work.rounds;
        let (mut done, mut total) = (0, 0);
        for row in work.attested.values() {
            let bytes = u64::from(row.seal.size);
            total += bytes;
            done += if row.round >= begun { bytes } else { 0 };
        }
        for run in self.parts.index.on_disk().1 {
            let bytes = bytes_of(run.blocks);
            total += bytes;
            let read = work.runs.get(&run.id).is_none_or(|round| *round >= begun);
            done += if read { bytes } else { 0 };
        }
        done += match &work.current {
            Some(Current::Segment(reread)) => reread.offset(),
            Some(Current::Run(scrub)) => scrub.bytes(),
            None => 0,
        };
        let mut shown = lock(&self.shown);
        (shown.round, shown.rounds, shown.ended_at) = (begun, ended, ended_at);
        shown.done_bytes = done.min(total);
        shown.total_bytes = total;
    }
}
