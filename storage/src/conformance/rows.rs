//! The part of the suite about index rows, hints, large values and limits.

use super::{Make, Words, commit, entry, place_key, rest_row, stream, submit};
use crate::api::{
    COMMIT_ENTRIES_MAX, Commit, CommitNo, ENTRY_BYTES_MAX, KEY_BYTES_MAX, Row, SortOrder,
    StoreError, StreamId, VALUE_BYTES_MAX,
};
use std::sync::Arc;

/// Every check of this part.
pub(super) fn all(make: Make<'_>) {
    values(make);
    hints(make);
    notes(make);
    rests(make);
    large_values(make);
    limits(make);
    decided(make);
    unread(make);
}

/// Rows that the projection does not read are there for readers, the last one of each key; the projection itself is
/// refused when it asks for one.
fn unread(make: Make<'_>) {
    let store = make(Arc::new(Words));
    // rows of places do not name the kind of a stream
    let twin = StreamId {
        kind: 4,
        ..stream(1)
    };
    let entries = vec![
        entry(stream(1), 1, b"?"),
        entry(stream(1), 2, b"?"),
        entry(twin, 1, b"?"),
    ];
    submit(store.as_ref(), commit(entries)).expect("reads of such rows are refused");
    let place = |seq| {
        let row = store.get(&place_key(stream(1), seq)).expect("reads");
        row.expect("each entry has its place")
    };
    assert!(place(1) > place(2), "the last of two rows holds");
}

/// A commit that was decided on a missing entry is refused, and nothing of it is written.
fn decided(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let on = |entries, number, seq| Commit {
        entries,
        decided_on: vec![(stream(number), seq)],
        ..Commit::default()
    };
    let first = || vec![entry(stream(1), 1, b"")];
    let refused = submit(store.as_ref(), on(first(), 2, 1));
    assert!(
        matches!(
            refused,
            Err(StoreError::OutOfSequence {
                found: 0,
                offered: 1,
                ..
            })
        ),
        "{refused:?}"
    );
    assert_eq!(store.head(stream(1)).expect("reads"), None);
    let both = [first(), vec![entry(stream(2), 1, b"")]].concat();
    submit(store.as_ref(), on(both, 2, 1)).expect("it brings the entry itself");
    let next = |seq| vec![entry(stream(1), seq, b"")];
    submit(store.as_ref(), on(next(2), 2, 1)).expect("the entry is there");
    submit(store.as_ref(), on(next(3), 1, 1)).expect("and more than that");
    submit(store.as_ref(), on(next(4), 2, 2)).expect_err("it is not");
    submit(store.as_ref(), on(next(4), 2, 0)).expect("nothing has to be there");
}

/// Rows without a commit come after everything submitted before, and are no commit of their own.
fn notes(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let key = || b"\xC0rest".to_vec();
    let row = |value: Option<&[u8]>| Row {
        key: key(),
        value: value.map(<[u8]>::to_vec),
    };
    let post = |seq| {
        let one = commit(vec![entry(stream(1), seq, b"+a=1")]);
        submit(store.as_ref(), one).expect("follows")
    };
    let read = || store.get(&key()).expect("reads");
    assert_eq!(post(1), CommitNo(1));
    store.note(vec![row(Some(b"one"))]);
    assert_eq!(post(2), CommitNo(2), "a note takes no number");
    assert_eq!(read(), Some(b"one".to_vec()));
    store.note(vec![row(Some(b"two"))]);
    store.note(vec![row(Some(b"three")), row(Some(b"four"))]);
    store.note(Vec::new());
    let refused = Row {
        key: vec![1, 2],
        value: Some(vec![0]),
    };
    store.note(vec![refused]);
    assert_eq!(post(3), CommitNo(3));
    assert_eq!(read(), Some(b"four".to_vec()));
    store.note(vec![row(None)]);
    assert_eq!(post(4), CommitNo(4));
    assert_eq!(read(), None);
    let has = |number, seq| store.has(stream(number), seq).expect("reads");
    let found: Vec<_> = (0..6).map(|seq| has(1, seq)).collect();
    assert_eq!(found, [false, true, true, true, true, false]);
    assert!(!has(1, u64::MAX) && !has(2, 1) && !has(2, 0));
    let wanted = [(1, 2), (1, 4), (1, 5), (2, 1)].map(|(number, seq)| (stream(number), seq));
    let found = store.find(&wanted).expect("reads").into_iter();
    let found = found.map(|place| place.map(|place| (place.at, store.entry(place.position))));
    for ((stream, seq), found) in wanted.into_iter().zip(found) {
        let entries = store.read(stream, seq, seq, SortOrder::Ascending, 1);
        let entry = entries.expect("reads").pop();
        let found = found.map(|(at, entry)| (at, entry.expect("reads")));
        assert_eq!(
            found,
            entry.map(|entry| (entry.at, entry)),
            "{stream:?} {seq}"
        );
    }
    let mut entries = 0;
    let last = store.replay(CommitNo(1), &mut |_, _| {
        entries += 1;
        true
    });
    assert_eq!((last.expect("reads"), entries), (CommitNo(4), 4));
}

/// Rows at rest that claim more than their stream has are not accepted, neither as notes nor as
/// hints.
fn rests(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let mut other = 0;
    // a note is visible after the next commit
    let mut noted = |row: Row| {
        let key = row.key.clone();
        store.note(vec![row]);
        other += 1;
        submit(store.as_ref(), commit(vec![entry(stream(2), other, b"")])).expect("follows");
        store.get(&key).expect("reads")
    };
    let says = |seq, at| rest_row(stream(1), seq, at);
    assert_eq!(noted(says(1, 10)), None, "it has no entry");
    let post = |seq, hints| Commit {
        entries: vec![entry(stream(1), seq, b"")],
        hints,
        ..Commit::default()
    };
    for seq in 1..4 {
        submit(store.as_ref(), post(seq, Vec::new())).expect("follows");
    }
    for (seq, at) in [(4, 40), (3, 31), (u64::MAX, 30)] {
        assert_eq!(noted(says(seq, at)), None, "{seq} {at}");
    }
    for seq in [3, 2, 3] {
        let row = says(seq, seq * 10);
        assert_eq!(noted(row.clone()), row.value, "what it has, or had");
    }
    let cut = Row {
        value: Some(b"cut".to_vec()),
        ..says(3, 30)
    };
    assert_eq!(noted(cut.clone()), cut.value, "it says nothing");
    submit(store.as_ref(), post(4, vec![says(4, 40)])).expect("follows");
    let read = || store.get(&says(0, 0).key).expect("reads");
    assert_eq!(read(), says(4, 40).value, "it came with its entry");
    submit(store.as_ref(), post(5, vec![says(6, 60)])).expect("follows");
    assert_eq!(read(), says(4, 40).value);
    let gap = submit(store.as_ref(), post(7, Vec::new()));
    assert!(
        matches!(gap, Err(StoreError::OutOfSequence { found: 5, .. })),
        "{gap:?}"
    );
    submit(store.as_ref(), post(6, Vec::new())).expect("follows");
}

fn values(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let mut seq = 0;
    let mut put = |body: &str| {
        seq += 1;
        submit(
            store.as_ref(),
            commit(vec![entry(stream(1), seq, body.as_bytes())]),
        )
        .expect("follows");
    };
    for n in 0..100 {
        put(&format!("+k{n:03}={n}"));
    }
    (0..100).step_by(3).for_each(|n| put(&format!("-k{n:03}")));
    (0..100)
        .step_by(6)
        .for_each(|n| put(&format!("+k{n:03}=again")));
    (0..5).for_each(|_| put("#count"));
    let count = store.get(b"\x40count").expect("reads");
    assert_eq!(count, Some(5u64.to_be_bytes().to_vec()));
    let present: Vec<(Vec<u8>, Vec<u8>)> = (0..100)
        .filter(|n| n % 3 != 0 || n % 6 == 0)
        .map(|n| {
            let value = if n % 6 == 0 {
                "again".to_owned()
            } else {
                n.to_string()
            };
            (format!("\x40k{n:03}").into_bytes(), value.into_bytes())
        })
        .collect();
    let scan = |from: &str, to: &str, order, limit| {
        store
            .scan(from.as_bytes(), to.as_bytes(), order, limit)
            .expect("reads")
    };
    assert_eq!(scan("\x40k", "\x40l", SortOrder::Ascending, 1000), present);
    assert_eq!(
        scan("\x40k", "\x40l", SortOrder::Ascending, 7),
        present[..7]
    );
    let mut backwards = present.clone();
    backwards.reverse();
    assert_eq!(
        scan("\x40k", "\x40l", SortOrder::Descending, 1000),
        backwards
    );
    assert_eq!(
        scan("\x40k", "\x40l", SortOrder::Descending, 1),
        backwards[..1]
    );
    assert_eq!(
        scan("\x40k001", "\x40k004", SortOrder::Ascending, 9),
        present[1..3]
    );
    assert!(scan("\x40l", "\x40k", SortOrder::Ascending, 9).is_empty());
    assert!(scan("\x40k003", "\x40k004", SortOrder::Descending, 9).is_empty());
    let first = store
        .scan(&[], &[0xFF], SortOrder::Ascending, 1)
        .expect("reads");
    assert_eq!(
        first[0].0, b"\x40count",
        "a scan from the start sees no rows of the engine"
    );
}

fn hints(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let hint = |key: &[u8], value: Option<&[u8]>| Row {
        key: key.to_vec(),
        value: value.map(<[u8]>::to_vec),
    };
    let with = |seq, hints| Commit {
        entries: vec![entry(stream(1), seq, b"")],
        hints,
        ..Commit::default()
    };
    submit(
        store.as_ref(),
        with(
            1,
            vec![hint(b"\x50a", Some(b"1")), hint(b"\x50b", Some(b"2"))],
        ),
    )
    .expect("follows");
    assert_eq!(store.get(b"\x50a").expect("reads"), Some(b"1".to_vec()));
    submit(store.as_ref(), with(2, vec![hint(b"\x50a", None)])).expect("follows");
    assert_eq!(store.get(b"\x50a").expect("reads"), None);
    let only = Commit {
        entries: vec![],
        hints: vec![hint(b"\x50b", Some(b"3"))],
        ..Commit::default()
    };
    submit(store.as_ref(), only).expect("hints alone");
    assert_eq!(store.get(b"\x50b").expect("reads"), Some(b"3".to_vec()));
    for key in [&b""[..], b"\x00x", b"\x01x", &[7; KEY_BYTES_MAX + 1]] {
        let result = submit(store.as_ref(), with(3, vec![hint(key, Some(b"1"))]));
        assert!(
            matches!(result, Err(StoreError::Invalid(_))),
            "key {key:?}: {result:?}"
        );
    }
    submit(
        store.as_ref(),
        with(3, vec![hint(&[7; KEY_BYTES_MAX], Some(b"1"))]),
    )
    .expect("fits");
}

fn large_values(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let sizes = [
        0,
        1,
        2047,
        2048,
        2049,
        4079,
        4080,
        65_536,
        ENTRY_BYTES_MAX - 10,
    ];
    for (n, size) in (1u64..).zip(sizes) {
        let mut body = format!("+v{n}=").into_bytes();
        body.extend((0..size).map(|i| b"caudal"[i % 6]));
        submit(store.as_ref(), commit(vec![entry(stream(1), n, &body)])).expect("follows");
        let key = format!("\x40v{n}").into_bytes();
        let value = store.get(&key).expect("reads").expect("is there");
        assert_eq!(value, body[body.len() - size..], "{size} bytes");
        let back = store
            .read(stream(1), n, n, SortOrder::Ascending, 1)
            .expect("reads");
        assert_eq!(back[0].body, body);
    }
    let rows = store
        .scan(b"\x40v", b"\x40w", SortOrder::Descending, 100)
        .expect("reads");
    assert_eq!(rows.len(), sizes.len());
    assert!(
        rows.iter()
            .rev()
            .zip(sizes)
            .all(|(row, size)| row.1.len() == size)
    );
}

fn limits(make: Make<'_>) {
    let store = make(Arc::new(Words));
    let invalid = |c: Commit| {
        let result = submit(store.as_ref(), c);
        assert!(matches!(result, Err(StoreError::Invalid(_))), "{result:?}");
    };
    invalid(commit(vec![entry(
        stream(1),
        1,
        &vec![1; ENTRY_BYTES_MAX + 1],
    )]));
    let many = |n: usize| (1u64..).take(n).map(|s| entry(stream(1), s, b"")).collect();
    invalid(commit(many(COMMIT_ENTRIES_MAX + 1)));
    invalid(commit(
        (1..=34)
            .map(|s| entry(stream(1), s, &vec![0; 1_000_000]))
            .collect(),
    ));
    let value = Some(vec![0; VALUE_BYTES_MAX + 1]);
    invalid(Commit {
        entries: vec![],
        hints: vec![Row {
            key: vec![9],
            value,
        }],
        ..Commit::default()
    });
    let largest = commit(many(COMMIT_ENTRIES_MAX));
    assert_eq!(submit(store.as_ref(), largest).expect("fits"), CommitNo(1));
    let head = store.head(stream(1)).expect("reads").expect("is there");
    assert_eq!(usize::try_from(head.seq), Ok(COMMIT_ENTRIES_MAX));
}
