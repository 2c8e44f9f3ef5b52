//! The required behaviour of every engine: one suite, run against each of them.
//!
//! A new engine passes [`all`] with a function that makes an empty store for a projection.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a suite of tests: it stops at the first difference"
)]

pub mod log;
mod rows;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use crate::api::{
    Commit, CommitNo, Entry, Fact, Head, IndexWriter, Position, Projection, Row, SortOrder, Store,
    StoreError, StreamId,
};

/// Makes an empty store.
pub type Make<'a> = &'a dyn Fn(Arc<dyn Projection>) -> Arc<dyn Store>;

/// A projection for tests, with version 7. A body `+key=value` puts a row, `-key` removes it,
/// `#key` counts it, `?` asks for a row of a kind that is not read; others add nothing. The rows begin with 0x40. Every
/// entry has a row `0x41 realm number seq` with its position, and counts its realm under `0x42 realm`.
#[derive(Debug)]
pub struct Words;

/// The first byte of the rows of [`place_key`].
const PLACES: u8 = 0x41;
/// The first byte of the rows of [`rest_row`].
const RESTS: u8 = 0xC1;

impl Projection for Words {
    fn scoped(&self) -> &[u8] {
        &[PLACES]
    }

    fn single(&self) -> &[u8] {
        &[RESTS]
    }

    fn unread(&self) -> &[u8] {
        &[PLACES]
    }

    fn rest_key(&self, stream: StreamId) -> Option<Vec<u8>> {
        (stream.kind == 3).then(|| rest_row(stream, 0, 0).key)
    }

    fn rests(&self, key: &[u8], value: &[u8]) -> Option<(StreamId, Head)> {
        let (number, rest) = key.strip_prefix(&[RESTS])?.split_last_chunk::<8>()?;
        let (seq, at) = value.split_first_chunk::<8>()?;
        let stream = StreamId {
            realm: u32::from_be_bytes(number.try_into().ok()?),
            ..stream(u64::from_be_bytes(*rest))
        };
        let head = Head {
            seq: u64::from_be_bytes(*seq),
            at: u64::from_be_bytes(*at.first_chunk::<8>()?),
        };
        Some((stream, head))
    }

    fn version(&self) -> u32 {
        7
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        let named = |key: &[u8]| [&[0x40], key].concat();
        match entry.body.split_first() {
            Some((b'+', rest)) => {
                let at = rest.iter().position(|b| *b == b'=').unwrap_or(rest.len());
                let value = rest.get(at + 1..).unwrap_or_default();
                index.put(&named(&rest[..at]), value);
            }
            Some((b'-', key)) => index.delete(&named(key)),
            Some((b'#', key)) => {
                index.next(&named(key))?;
                let other = StreamId {
                    number: u64::MAX,
                    ..entry.stream
                };
                let heads = (index.head(entry.stream)?, index.head(other)?);
                assert_eq!(
                    heads,
                    (entry.seq, 0),
                    "a projection sees the ends of streams"
                );
            }
            Some((b'?', _)) => {
                let key = place_key(entry.stream, entry.seq);
                let reads = [index.get(&key).map(drop), index.next(&key).map(drop)];
                let refused = |read: &Result<(), StoreError>| matches!(read, Err(StoreError::Invalid(why)) if why.contains("0x41"));
                assert!(reads.iter().all(refused), "{reads:?}");
            }
            Some(_) | None => {}
        }
        index.put(
            &place_key(entry.stream, entry.seq),
            &position.0.to_be_bytes(),
        );
        let n = index.next(&[&[0x42], &entry.stream.realm.to_be_bytes()[..]].concat())?;
        let counted = index.get(&[&[0x42], &entry.stream.realm.to_be_bytes()[..]].concat())?;
        assert_eq!(
            counted,
            Some(n.to_be_bytes().to_vec()),
            "a projection reads its own rows"
        );
        Ok(())
    }
}

/// The key under which [`Words`] keeps the position of an entry.
pub fn place_key(stream: StreamId, seq: u64) -> Vec<u8> {
    let realm = stream.realm.to_be_bytes();
    [
        &[PLACES],
        &realm[..],
        &stream.number.to_be_bytes(),
        &seq.to_be_bytes(),
    ]
    .concat()
}

/// The row that a stream of kind 3 leaves at rest, which names its last entry.
pub fn rest_row(stream: StreamId, seq: u64, at: u64) -> Row {
    let realm = stream.realm.to_be_bytes();
    let said = [seq, at].map(u64::to_be_bytes).concat();
    Row {
        key: [&[RESTS], &realm[..], &stream.number.to_be_bytes()].concat(),
        value: Some(said),
    }
}

/// A stream of realm 1.
pub fn stream(number: u64) -> StreamId {
    StreamId {
        realm: 1,
        kind: 3,
        number,
    }
}

/// An entry whose time is ten times its sequence.
pub fn entry(stream: StreamId, seq: u64, body: &[u8]) -> Entry {
    Entry {
        stream,
        seq,
        at: seq.wrapping_mul(10),
        body: body.to_vec(),
        fact: Fact::default(),
    }
}

/// A commit of entries.
pub fn commit(entries: Vec<Entry>) -> Commit {
    Commit {
        entries,
        hints: Vec::new(),
        ..Commit::default()
    }
}

/// Submits a commit and waits for its answer.
///
/// # Errors
/// The store's error.
pub fn submit(store: &dyn Store, commit: Commit) -> Result<CommitNo, StoreError> {
    let (give, take) = channel();
    store.submit(
        commit,
        Box::new(move |result| give.send(result).expect("the test waits")),
    );
    take.recv().expect("done is called")
}

/// Waits until everything submitted before is durable.
///
/// # Errors
/// The store's error.
pub fn barrier(store: &dyn Store) -> Result<CommitNo, StoreError> {
    let (give, take) = channel();
    store.barrier(Box::new(move |result| {
        give.send(result).expect("the test waits")
    }));
    take.recv().expect("done is called")
}

/// Runs every check, each on a new store; panics at the first difference.
pub fn all(make: Make<'_>) {
    empty(make);
    sequences(make);
    atomic_commits(make);
    order_of_done(make);
    reads(make);
    times(make);
    rows::all(make);
    replay(make);
    close(make);
}

fn empty(make: Make<'_>) {
    let store = make(Arc::new(Words));
    assert_eq!(store.head(stream(1)).expect("reads"), None);
    assert_eq!(store.seq_at(stream(1), u64::MAX).expect("reads"), None);
    assert!(
        store
            .read(stream(1), 0, u64::MAX, SortOrder::Ascending, 9)
            .expect("reads")
            .is_empty()
    );
    assert_eq!(store.get(&[0x40]).expect("reads"), None);
    assert!(
        store
            .scan(&[], &[0xFF], SortOrder::Descending, 9)
            .expect("reads")
            .is_empty()
    );
    assert!(store.ready().is_ok());
    assert_eq!(
        barrier(store.as_ref()).expect("nothing to wait for"),
        CommitNo(0)
    );
    let last = store.replay(CommitNo(1), &mut |_, _| true).expect("reads");
    assert_eq!(last, CommitNo(0));
    assert!(matches!(
        store.entry(Position(7 << 40)),
        Err(StoreError::Invalid(_))
    ));
}

fn sequences(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let put = |seq| submit(store.as_ref(), commit(vec![entry(stream(1), seq, b"x")]));
    let refused = |seq, found| match put(seq) {
        Err(StoreError::OutOfSequence {
            stream: s,
            found: f,
            offered,
        }) => {
            assert_eq!((s, f, offered), (stream(1), found, seq));
        }
        other => assert!(other.is_ok() && other.is_err(), "sequence {seq}: {other:?}"),
    };
    refused(0, 0);
    refused(2, 0);
    assert_eq!(put(1).expect("follows"), CommitNo(1));
    refused(1, 1);
    refused(3, 1);
    refused(u64::MAX, 1);
    assert_eq!(put(2).expect("follows"), CommitNo(2));
    assert_eq!(
        store.head(stream(1)).expect("reads"),
        Some(Head { seq: 2, at: 20 })
    );
    let back = Entry {
        stream: stream(1),
        seq: 3,
        at: 19,
        body: vec![],
        fact: Fact::default(),
    };
    let result = submit(store.as_ref(), commit(vec![back]));
    assert!(
        matches!(result, Err(StoreError::Invalid(_))),
        "time goes back: {result:?}"
    );
    // the same number in another kind or realm is another stream
    for other in [
        StreamId {
            kind: 4,
            ..stream(1)
        },
        StreamId {
            realm: 2,
            ..stream(1)
        },
    ] {
        assert_eq!(store.head(other).expect("reads"), None);
        submit(store.as_ref(), commit(vec![entry(other, 1, b"y")])).expect("follows");
    }
}

fn atomic_commits(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let (a, b) = (stream(1), stream(2));
    let both = vec![
        entry(a, 1, b"+k=1"),
        entry(b, 1, b"+l=1"),
        entry(a, 2, b"+k=2"),
    ];
    submit(store.as_ref(), commit(both)).expect("follows");
    assert_eq!(store.get(b"\x40k").expect("reads"), Some(b"2".to_vec()));
    // one bad entry spoils the whole commit and nothing else
    let bad = vec![entry(a, 3, b"+k=3"), entry(b, 3, b"+l=3")];
    assert!(submit(store.as_ref(), commit(bad)).is_err());
    assert_eq!(store.head(a).expect("reads"), Some(Head { seq: 2, at: 20 }));
    assert_eq!(store.get(b"\x40k").expect("reads"), Some(b"2".to_vec()));
    submit(store.as_ref(), commit(vec![entry(a, 3, b"+k=4")])).expect("a goes on");
    submit(store.as_ref(), commit(vec![entry(b, 2, b"")])).expect("b goes on");
    assert_eq!(
        submit(store.as_ref(), commit(vec![])).expect("an empty commit"),
        CommitNo(4)
    );
}

fn order_of_done(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let seen: Arc<Mutex<Vec<(u64, bool)>>> = Arc::default();
    let (give, take) = channel();
    let tell = |n: u64| {
        let (seen, give) = (Arc::clone(&seen), give.clone());
        Box::new(move |result: Result<CommitNo, StoreError>| {
            seen.lock()
                .expect("a test's lock")
                .push((n, result.is_ok()));
            give.send(()).expect("the test waits");
        })
    };
    for n in 1..=200u64 {
        // every tenth commit does not follow its stream, and every tenth step is a barrier
        let seq = if n % 10 == 0 { n + 50 } else { n - n / 10 };
        store.submit(commit(vec![entry(stream(1), seq, b"")]), tell(n * 2));
        if n % 10 == 5 {
            store.barrier(tell(n * 2 + 1));
        }
    }
    (0..220).for_each(|_| take.recv().expect("every done is called"));
    let seen = seen.lock().expect("a test's lock");
    assert!(
        seen.is_sorted_by_key(|s| s.0),
        "done out of order: {seen:?}"
    );
    assert!(
        seen.iter().all(|(n, ok)| *ok != (n % 20 == 0)),
        "wrong answers: {seen:?}"
    );
}

fn reads(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let all: Vec<Entry> = (1..=50)
        .map(|n| entry(stream(5), n, &n.to_be_bytes()))
        .collect();
    for e in &all {
        submit(store.as_ref(), commit(vec![e.clone()])).expect("follows");
        submit(
            store.as_ref(),
            commit(vec![entry(stream(4), e.seq, b"other")]),
        )
        .expect("follows");
    }
    let read = |from, to, order, limit| store.read(stream(5), from, to, order, limit);
    assert_eq!(
        read(0, u64::MAX, SortOrder::Ascending, 1000).expect("reads"),
        all
    );
    assert_eq!(
        read(11, 13, SortOrder::Ascending, 1000).expect("reads"),
        all[10..13]
    );
    assert_eq!(
        read(1, u64::MAX, SortOrder::Ascending, 3).expect("reads"),
        all[..3]
    );
    let mut last: Vec<Entry> = all[45..].to_vec();
    last.reverse();
    assert_eq!(
        read(1, 1000, SortOrder::Descending, 5).expect("reads"),
        last
    );
    assert!(
        read(13, 11, SortOrder::Ascending, 5)
            .expect("reads")
            .is_empty()
    );
    assert!(
        read(51, 60, SortOrder::Descending, 5)
            .expect("reads")
            .is_empty()
    );
    assert!(
        read(1, 60, SortOrder::Descending, 0)
            .expect("reads")
            .is_empty()
    );
    for e in &all {
        let place = store
            .get(&place_key(e.stream, e.seq))
            .expect("reads")
            .expect("is there");
        let place = Position(u64::from_be_bytes(place.try_into().expect("eight bytes")));
        assert_eq!(store.entry(place).expect("reads"), *e);
    }
}

fn times(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let ats = [5u64, 5, 7, 7, 7, 100];
    for (n, at) in (1u64..).zip(ats) {
        let e = Entry {
            stream: stream(1),
            seq: n,
            at,
            body: vec![],
            fact: Fact::default(),
        };
        submit(store.as_ref(), commit(vec![e])).expect("follows");
    }
    let cases = [
        (0, None),
        (4, None),
        (5, Some(2)),
        (6, Some(2)),
        (7, Some(5)),
        (99, Some(5)),
    ];
    for (at, seq) in cases
        .into_iter()
        .chain([(100, Some(6)), (u64::MAX, Some(6))])
    {
        assert_eq!(store.seq_at(stream(1), at).expect("reads"), seq, "at {at}");
    }
}

fn replay(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let mut written = Vec::new();
    for n in 1..=20u64 {
        let entries = vec![
            entry(stream(1), n, &n.to_be_bytes()),
            entry(stream(2), n, b"two"),
        ];
        let number = submit(store.as_ref(), commit(entries.clone())).expect("follows");
        written.extend(entries.into_iter().map(|e| (number, e)));
    }
    for from in [0, 1, 2, 11, 20, 21] {
        let mut seen = Vec::new();
        let last = store.replay(CommitNo(from), &mut |c, e| {
            seen.push((c, e.clone()));
            true
        });
        let expected: Vec<_> = written.iter().filter(|w| w.0.0 >= from).cloned().collect();
        assert_eq!(seen, expected, "from {from}");
        assert_eq!(last.expect("reads").0, if from <= 20 { 20 } else { 0 });
    }
    let mut left = 5;
    let last = store.replay(CommitNo(3), &mut |_, _| {
        left -= 1;
        left > 0
    });
    assert_eq!(last.expect("reads"), CommitNo(5));
}

fn close(make: Make<'_>) {
    let store = make(Arc::new(Words));
    submit(store.as_ref(), commit(vec![entry(stream(1), 1, b"")])).expect("follows");
    let (give, take) = channel();
    let done = Box::new(move |r| give.send(r).expect("the test waits"));
    store.submit(commit(vec![entry(stream(1), 2, b"")]), done);
    store.close().expect("closes");
    assert_eq!(
        take.recv()
            .expect("is called")
            .expect("made durable by close"),
        CommitNo(2)
    );
    let after = submit(store.as_ref(), commit(vec![entry(stream(1), 3, b"")]));
    assert!(matches!(after, Err(StoreError::Closed)));
    assert!(matches!(barrier(store.as_ref()), Err(StoreError::Closed)));
    assert!(matches!(store.head(stream(1)), Err(StoreError::Closed)));
    assert!(matches!(store.get(b"\x40"), Err(StoreError::Closed)));
    assert!(matches!(store.ready(), Err(StoreError::Closed)));
    assert!(matches!(store.close(), Err(StoreError::Closed)));
}
