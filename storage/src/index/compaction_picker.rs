//! Which runs are merged next.

use std::ops::Range;

/// Above this many runs the merger always has work.
pub(crate) const RUNS_REST: usize = 24;

/// The neighbours to merge next, among runs of these levels, newest first: the oldest ones of a long enough stretch of
/// one level, which preserves the order of ages; if there are too many runs, of any stretch. The lowest level comes
/// first.
pub(crate) fn pick_merge(levels: &[u8], fan_in: usize, below: Option<u8>) -> Option<Range<usize>> {
    let mut some = None;
    let mut start = 0;
    for batch in levels.chunk_by(|a, b| a == b) {
        let range = start..start + batch.len();
        start = range.end;
        let passes = |level: &u8| below.is_none_or(|below| *level < below);
        if !batch.first().is_some_and(passes) {
            break;
        }
        if batch.len() >= fan_in {
            return Some(range.end - fan_in..range.end);
        }
        if batch.len() > 1 {
            some.get_or_insert(range);
        }
    }
    some.filter(|_| levels.len() > RUNS_REST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compaction_picks_the_oldest_runs_of_the_lowest_level() {
        assert_eq!(pick_merge(&[], 2, None), None);
        assert_eq!(pick_merge(&[0, 0, 1, 1, 1], 3, None), Some(2..5));
        assert_eq!(pick_merge(&[0, 0, 0, 0, 1, 1, 1], 3, None), Some(1..4));
        // a merge of level 1 lets level 0 go first, but nothing of its own level
        assert_eq!(pick_merge(&[0, 0, 0, 1, 1, 1], 3, Some(1)), Some(0..3));
        assert_eq!(pick_merge(&[0, 0, 1, 1, 1], 3, Some(1)), None);
        let runs = |few: usize| [vec![0; 1], vec![1; 3], vec![2; few]].concat();
        let fan_in = 1000;
        assert_eq!(pick_merge(&runs(RUNS_REST - 4), fan_in, None), None);
        assert_eq!(pick_merge(&runs(RUNS_REST - 3), fan_in, None), Some(1..4));
        assert_eq!(pick_merge(&runs(RUNS_REST - 3), fan_in, Some(1)), None);
    }

    #[test]
    fn merging_leaves_few_runs_for_any_fan_in() {
        for fan_in in [2, 6, 1000] {
            let mut levels: Vec<u8> = Vec::new();
            for _ in 0..100_000 {
                levels.insert(0, 0);
                while let Some(next) = pick_merge(&levels, fan_in, None) {
                    let above = levels[next.start] + 1;
                    levels.splice(next, [above]);
                }
                assert!(levels.len() <= RUNS_REST, "{levels:?}");
                assert!(levels.is_sorted(), "{levels:?}");
            }
        }
    }
}
