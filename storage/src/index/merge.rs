//! Walks over several sorted sources as one; of equal keys the newest wins.

use std::collections::VecDeque;
use std::collections::btree_map::Range;
use std::sync::Arc;

use crate::api::SortOrder;
use crate::index::block::{Block, Stored, Unpacked};
use crate::index::blocks::BlockStore;
use crate::index::bytes::Bytes;
use crate::index::error::IndexError;
use crate::index::run::Run;
use crate::index::table::{RowRef, row_ref};

/// A part of the rows of a frozen table, in the order of their keys.
type FrozenRows<'a> = Range<'a, Bytes, Option<Bytes>>;

/// One of the sorted sources of a walk.
pub(crate) enum MergeSource<'a> {
    /// Rows copied out of the table that is being written.
    Copied(
        std::slice::Iter<'a, (Bytes, Option<Bytes>)>,
        Option<RowRef<'a>>,
    ),
    /// Rows of a frozen table, the next one, and the order of the walk.
    Frozen(FrozenRows<'a>, Option<RowRef<'a>>, SortOrder),
    /// Rows of a run on disk.
    Run(Box<RunCursor<'a>>),
}

impl<'a> MergeSource<'a> {
    /// A source of rows that are already in the wanted order.
    pub(crate) fn copied(rows: &'a [(Bytes, Option<Bytes>)]) -> Self {
        let mut iter = rows.iter();
        let first = iter.next().map(row);
        Self::Copied(iter, first)
    }

    /// A source of rows of a frozen table.
    pub(crate) fn frozen(mut rows: FrozenRows<'a>, order: SortOrder) -> Self {
        let first = step(&mut rows, order);
        Self::Frozen(rows, first, order)
    }

    fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Copied(_, row) | Self::Frozen(_, row, _) => row.map(|(key, _)| key),
            Self::Run(cursor) => cursor.key(),
        }
    }

    fn value(&self) -> Option<Stored<'_>> {
        match self {
            Self::Copied(_, row) | Self::Frozen(_, row, _) => {
                row.map(|(_, value)| value.map_or(Stored::Gone, Stored::Here))
            }
            Self::Run(cursor) => cursor.value(),
        }
    }

    /// Passes the current row to `visit` and returns its answer.
    fn show(&self, visit: RowVisitor<'_>) -> Result<bool, IndexError> {
        let (Some(key), Some(value)) = (self.key(), self.value()) else {
            return Err("a row without a value".into());
        };
        let found = match self {
            Self::Run(cursor) => Some(cursor.found()),
            Self::Copied(..) | Self::Frozen(..) => None,
        };
        visit(key, value, found)
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        match self {
            Self::Copied(iter, next) => *next = iter.next().map(row),
            Self::Frozen(rows, next, order) => *next = step(rows, *order),
            Self::Run(cursor) => cursor.advance()?,
        }
        Ok(())
    }
}

fn step<'a>(rows: &mut FrozenRows<'a>, order: SortOrder) -> Option<RowRef<'a>> {
    let next = match order {
        SortOrder::Ascending => rows.next(),
        SortOrder::Descending => rows.next_back(),
    };
    next.map(row_ref)
}

fn row((key, value): &(Bytes, Option<Bytes>)) -> RowRef<'_> {
    row_ref((key, value))
}

/// Where a walk has found a row.
#[derive(Clone, Copy)]
pub(crate) struct FoundRow<'a> {
    /// The run that has it.
    pub(crate) run: &'a Run,
    /// Whether the run's filter leads to it; true when that was not asked.
    pub(crate) led_to: bool,
}

/// The most blocks that a long walk reads at once.
const AHEAD_MAX: u32 = 64;

/// How rows are walked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScanWay {
    /// The direction.
    pub(crate) order: SortOrder,
    /// Whether each row is one that a lookup by its key finds: the filters of the runs are asked about it.
    pub(crate) proves: bool,
    /// Whether this is a long ascending walk whose blocks nobody needs again soon: what it reads is not cached.
    pub(crate) passes: bool,
}

impl ScanWay {
    /// A long walk.
    pub(crate) const PASSING: Self = Self {
        order: SortOrder::Ascending,
        proves: false,
        passes: true,
    };
}

/// A cursor in a run that moves in one direction between two keys.
pub(crate) struct RunCursor<'a> {
    store: &'a BlockStore,
    run: Arc<Run>,
    way: ScanWay,
    from: &'a [u8],
    to: Option<&'a [u8]>,
    /// The index of the row block, from 0; `None` past the end.
    fence: Option<usize>,
    block: Option<Arc<Block>>,
    /// Blocks that were read ahead, by their numbers.
    ahead: VecDeque<(u32, Arc<Block>)>,
    /// How many blocks were read at once.
    stride: u32,
    row: usize,
    /// Whether the current row is between the two keys.
    inside: bool,
}

impl<'a> RunCursor<'a> {
    /// A cursor over `from <= key < to`; no `to` means up to the end.
    ///
    /// # Errors
    /// As [`Run::rows`]; also `Damaged` when the rows of a block cannot be parsed.
    pub(crate) fn new(
        store: &'a BlockStore,
        run: &Arc<Run>,
        (from, to): (&'a [u8], Option<&'a [u8]>),
        way: ScanWay,
    ) -> Result<Self, IndexError> {
        let fences = &run.fences;
        let fence = match (way.order, to) {
            (SortOrder::Ascending, _) => Some(fences.at_or_before(from).unwrap_or(0)),
            (SortOrder::Descending, Some(to)) => fences.at_or_before(to),
            (SortOrder::Descending, None) => fences.len().checked_sub(1),
        };
        let mut cursor = Self {
            store,
            run: Arc::clone(run),
            way,
            from,
            to,
            fence,
            block: None,
            ahead: VecDeque::new(),
            stride: 0,
            row: 0,
            inside: false,
        };
        cursor.load()?;
        if cursor.fence.is_some() {
            cursor.enter(true);
            cursor.settle()?;
        }
        Ok(cursor)
    }

    /// Where the current row is.
    fn found(&self) -> FoundRow<'_> {
        let denied = self.way.proves && self.here().is_some_and(|key| !self.run.leads_to(key));
        FoundRow {
            run: &self.run,
            led_to: !denied,
        }
    }

    fn load(&mut self) -> Result<(), IndexError> {
        let Some(block) = self.fence.and_then(|n| self.run.fences.block(n)) else {
            self.fence = None;
            return Ok(());
        };
        let rows = if self.way.passes {
            self.passed(block)?
        } else {
            self.run.rows_to_walk(self.store, block)?
        };
        let id = self.run.info.id;
        let Some(there) = rows.rows() else {
            return Err(format!("run {id}, block {block} is unreadable").into());
        };
        // a lookup by key follows the fences and a walk between two keys does not, so the walk checks them
        let ends = there.key(0).zip(there.key(there.len().wrapping_sub(1)));
        if let Some((first, last)) = ends.filter(|_| self.to.is_some())
            && let Some(n) = self.fence
            && !self.run.fences.lead_to(n, first, last)
        {
            return Err(format!("the fences of run {id} do not lead to its block {block}").into());
        }
        self.block = Some(rows);
        Ok(())
    }

    /// The next block of a long walk. The longer it gets, the more blocks are read at once.
    fn passed(&mut self, block: u32) -> Result<Arc<Block>, IndexError> {
        if self.ahead.is_empty() {
            self.stride = (self.stride * 2).clamp(1, AHEAD_MAX);
            // the blocks of rows, and the pieces of large values among them, come before the fences
            let end = self.run.info.fence_start.min(block + self.stride);
            let blocks = block..end.max(block + 1);
            self.run.rows_ahead(self.store, blocks, &mut self.ahead)?;
        }
        let (number, rows) = self.ahead.pop_front().unzip();
        let id = self.run.info.id;
        rows.filter(|_| number == Some(block))
            .ok_or_else(|| format!("run {id}, block {block} is of another kind").into())
    }

    fn rows(&self) -> Option<&Unpacked> {
        self.block.as_ref()?.rows()
    }

    fn rows_len(&self) -> usize {
        self.rows().map_or(0, Unpacked::len)
    }

    fn seek(&self, key: &[u8]) -> usize {
        self.rows().map_or(0, |rows| rows.seek(key))
    }

    /// Moves to the first row of the block in the walk's direction; in the very first block that may be in the middle.
    /// When descending, `row` is one above the current row.
    fn enter(&mut self, first: bool) {
        self.row = match (self.way.order, self.to) {
            (SortOrder::Ascending, _) if first => self.seek(self.from),
            (SortOrder::Ascending, _) => 0,
            (SortOrder::Descending, Some(to)) if first => self.seek(to),
            (SortOrder::Descending, _) => self.rows_len(),
        };
    }

    fn index(&self) -> Option<usize> {
        match self.way.order {
            SortOrder::Ascending => (self.row < self.rows_len()).then_some(self.row),
            SortOrder::Descending => self.row.checked_sub(1),
        }
    }

    /// Moves to the next block when the current one has no more rows.
    fn settle(&mut self) -> Result<(), IndexError> {
        while let Some(fence) = self.fence
            && self.index().is_none()
        {
            self.fence = match self.way.order {
                SortOrder::Ascending => fence.checked_add(1),
                SortOrder::Descending => fence.checked_sub(1),
            };
            self.load()?;
            self.enter(false);
        }
        self.inside = self.here().is_some_and(|key| match self.way.order {
            SortOrder::Ascending => self.to.is_none_or(|to| key < to),
            SortOrder::Descending => key >= self.from,
        });
        Ok(())
    }

    /// The key of the current row, wherever it is.
    fn here(&self) -> Option<&[u8]> {
        self.fence?;
        self.rows()?.key(self.index()?)
    }

    /// The key of the current row; `None` past the last one.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.inside.then(|| self.here()).flatten()
    }

    /// The value of the current row.
    pub(crate) fn value(&self) -> Option<Stored<'_>> {
        self.block.as_ref()?.value(self.index()?)
    }

    /// Moves to the next row.
    pub(crate) fn advance(&mut self) -> Result<(), IndexError> {
        match self.way.order {
            SortOrder::Ascending => self.row += 1,
            SortOrder::Descending => self.row = self.row.saturating_sub(1),
        }
        self.settle()
    }
}

/// Receives a row and the run it is in, if any; returns whether to go on.
type RowVisitor<'a> =
    &'a mut dyn FnMut(&[u8], Stored<'_>, Option<FoundRow<'_>>) -> Result<bool, IndexError>;

/// Visits every key once, with the value from the first source that has it; the newest source comes first. `visit` gets
/// the run in which a large value is stored, and returns whether to go on.
///
/// # Errors
/// The error of `visit`; as [`Run::rows`] for the next block of a run; `Damaged` when a row has no value.
pub(crate) fn merge(
    sources: &mut [MergeSource<'_>],
    order: SortOrder,
    visit: RowVisitor<'_>,
) -> Result<(), IndexError> {
    let mut queue = MergeQueue::of(sources, order);
    while let Some(first) = queue.source(0) {
        if let Some(source) = sources.get(first)
            && !source.show(visit)?
        {
            return Ok(());
        }
        // older rows under the same key
        while let Some(next) = queue.source(1)
            && let (Some(one), Some(other)) = (sources.get(first), sources.get(next))
            && one.key() == other.key()
        {
            queue.advance(sources, 1)?;
        }
        queue.advance(sources, 0)?;
    }
    Ok(())
}

/// The sources that have rows left, by their next keys; of equal keys the newest comes first. Neighbours mostly come
/// from one source, so that one is compared with the second alone as long as it stays ahead.
struct MergeQueue {
    next: Vec<usize>,
    order: SortOrder,
}

impl MergeQueue {
    fn of(sources: &[MergeSource<'_>], order: SortOrder) -> Self {
        let mut queue = Self {
            next: Vec::with_capacity(sources.len()),
            order,
        };
        for (n, source) in sources.iter().enumerate() {
            if source.key().is_some() {
                let at = queue.place(sources, n, 0);
                queue.next.insert(at, n);
            }
        }
        queue
    }

    /// The source at a place of the queue.
    fn source(&self, at: usize) -> Option<usize> {
        self.next.get(at).copied()
    }

    /// Whether the next row of a source comes before that of another one.
    fn comes(&self, sources: &[MergeSource<'_>], source: usize, other: usize) -> bool {
        let key = |n: usize| sources.get(n).and_then(MergeSource::key);
        let compared = match self.order {
            SortOrder::Ascending => key(source).cmp(&key(other)),
            SortOrder::Descending => key(other).cmp(&key(source)),
        };
        compared.then(source.cmp(&other)).is_lt()
    }

    /// Where a source belongs among those from a place on.
    fn place(&self, sources: &[MergeSource<'_>], source: usize, from: usize) -> usize {
        let before = |others: &[usize]| {
            from + others.partition_point(|other| self.comes(sources, *other, source))
        };
        self.next.get(from..).map_or(from, before)
    }

    /// Moves the source at a place to its next row, and to where it then belongs.
    fn advance(&mut self, sources: &mut [MergeSource<'_>], at: usize) -> Result<(), IndexError> {
        let Some(n) = self.source(at) else {
            return Ok(());
        };
        let Some(source) = sources.get_mut(n) else {
            return Ok(());
        };
        source.advance()?;
        if source.key().is_none() {
            self.next.remove(at);
            return Ok(());
        }
        let ahead = |other| self.comes(sources, n, other);
        if self.source(at + 1).is_none_or(ahead) {
            return Ok(());
        }
        let to = self.place(sources, n, at + 1);
        if let Some(passed) = self.next.get_mut(at..to) {
            passed.rotate_left(1);
        }
        Ok(())
    }
}
