//! The operations on a store: commits, wrong commits, waiting, and every way to end.

use caudal_storage::StreamId;
use proptest::prelude::*;
use proptest::sample::select;

/// The streams of the world: numbers repeat across realms and kinds, so that a key that leaves out
/// either collides.
pub const STREAMS: [StreamId; 6] = [
    stream(1, 1, 1),
    stream(1, 1, 2),
    stream(2, 1, 1),
    stream(2, 2, 1),
    stream(0, 0, 0),
    stream(u32::MAX, u8::MAX, u64::MAX),
];

const fn stream(realm: u32, kind: u8, number: u64) -> StreamId {
    StreamId {
        realm,
        kind,
        number,
    }
}

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A commit of these entries: stream and centavos. A transfer is two that cancel out.
    Commit {
        parts: Vec<(usize, i64)>,
        pad: u16,
        later: u8,
    },
    /// A commit that a store must refuse as a whole.
    Wrong {
        parts: Vec<(usize, i64)>,
        how: Wrong,
    },
    /// Wait until everything has been answered.
    Settle,
    /// Let the engine work on a few commits, if the engine allows that.
    Work(u8),
    /// The store is asked about a stream while it works.
    Look {
        stream: usize,
        at: u8,
        limit: u8,
        ascending: bool,
    },
    /// The store is closed and opened again.
    Restart,
    /// The store ends without closing; up to this many of the waiting commits may have reached the
    /// disk.
    Crash(u8),
    /// The index is lost, or its projection gets a new version; the journal stays.
    Rebuild(Rebuild),
    /// The n-th change to files from now on fails; the store is then lost until it is opened again.
    Sabotage(u8),
    /// The next commit is refused for a reason unrelated to it.
    Refuse,
    /// The disk is full, or is no longer full.
    Full(bool),
}

/// The fault of a commit; its last entry has it, and the others are good.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    Gap,
    Repeat,
    Zero,
    TimeBack,
    TooLarge,
}

/// The way in which an index is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rebuild {
    /// Its folder is gone.
    Gone,
    /// The projection has a new version.
    NewVersion,
    /// Only journal and identity are copied to another place, as a backup would.
    Elsewhere,
}

fn parts() -> impl Strategy<Value = Vec<(usize, i64)>> {
    let stream = || 0..STREAMS.len();
    let amount = || prop_oneof![Just(1_i64), 1_i64..1_000, Just(i64::from(u32::MAX))];
    prop_oneof![
        4 => (stream(), amount()).prop_map(|(to, amount)| vec![(to, amount)]),
        4 => (stream(), stream(), amount())
            .prop_map(|(from, to, amount)| vec![(from, -amount), (to, amount)]),
        1 => prop::collection::vec((stream(), amount()), 1..20),
    ]
}

/// Any operation of a run; `deadly` is how often a store ends, as a weight among some 150.
pub fn op(deadly: u32) -> BoxedStrategy<Op> {
    let wrong = select(vec![
        Wrong::Gap,
        Wrong::Gap,
        Wrong::Repeat,
        Wrong::Zero,
        Wrong::TimeBack,
        Wrong::TooLarge,
    ]);
    let rebuild = select(vec![Rebuild::Gone, Rebuild::NewVersion, Rebuild::Elsewhere]);
    let pad = prop_oneof![6 => 0_u16..64, 2 => 0_u16..4_000, 1 => 8_000_u16..40_000];
    let look = (0..STREAMS.len(), any::<u8>(), 0_u8..9, any::<bool>());
    prop_oneof![
        60 => (parts(), pad, 0_u8..3)
            .prop_map(|(parts, pad, later)| Op::Commit { parts, pad, later }),
        12 => (parts(), wrong).prop_map(|(parts, how)| Op::Wrong { parts, how }),
        8 => Just(Op::Settle),
        12 => (0_u8..4).prop_map(Op::Work),
        24 => look.prop_map(|(stream, at, limit, ascending)| {
            Op::Look { stream, at, limit, ascending }
        }),
        2 => Just(Op::Refuse),
        2 => prop_oneof![1 => Just(true), 3 => Just(false)].prop_map(Op::Full),
        2 * deadly => Just(Op::Restart),
        4 * deadly => (0_u8..6).prop_map(Op::Crash),
        deadly => rebuild.prop_map(Op::Rebuild),
        2 * deadly => (1_u8..24).prop_map(Op::Sabotage),
    ]
    .boxed()
}
