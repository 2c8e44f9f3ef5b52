//! The parts one by one: formats that must never change, filters, blocks.

use crate::api::{CommitNo, Position};
use crate::conformance::{commit, entry, stream};
use crate::index::bloom::{Bloom, hash};
use crate::index::bytes::Bytes;
use crate::index::manifest::{JournalMark, Manifest, RUNS_MAX};
use crate::index::run::RunInfo;
use crate::journal::format::{Record, RecordBuilder, SegmentHeader, genesis};
use crate::log::{Sealed, Tail};
use crate::tests::support::Rng;

fn hex(bytes: &[u8]) -> String {
    crate::codec::hex(bytes)
}

#[test]
fn the_bytes_of_a_record_are_these_for_ever() {
    let mut record = RecordBuilder::default();
    record.clear();
    record.push(&commit(vec![entry(stream(0x0102), 3, b"body")]));
    record.push(&commit(vec![]));
    let tail = Tail {
        commit: CommitNo(8),
        hash: genesis(&[7; 16]),
    };
    let (sealed, _) = Sealed::seal(&mut record, &tail);
    let bytes = sealed.bytes();
    let text = hex(bytes);
    let expected = include_str!("record.hex").trim();
    assert_eq!(text, expected);
    let parsed = Record::parse(bytes).unwrap();
    assert_eq!(parsed.header.last_commit(), 10);
    let mut seen = Vec::new();
    assert!(parsed.visit(&mut |c, place, e| {
        seen.push((c, place, e.to_entry()));
        true
    }));
    assert_eq!(seen, vec![(9, 72, entry(stream(0x0102), 3, b"body"))]);
}

#[test]
fn every_bit_of_a_record_and_header_counts() {
    let mut record = RecordBuilder::default();
    record.clear();
    record.push(&commit(vec![
        entry(stream(1), 1, b"abc"),
        entry(stream(2), 1, b""),
    ]));
    let tail = Tail {
        commit: CommitNo(0),
        hash: [1; 32],
    };
    let (sealed, _) = Sealed::seal(&mut record, &tail);
    let bytes = sealed.bytes();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(Record::parse(&flipped).is_none(), "bit {bit}");
    }
    (0..bytes.len()).for_each(|n| assert!(Record::parse(&bytes[..n]).is_none()));
    let header = SegmentHeader {
        number: 3,
        size: 65_536,
        id: [5; 16],
    };
    let block = header.encode();
    assert_eq!(SegmentHeader::parse(&block), Ok(header));
    for bit in 0..block.len() * 8 {
        let mut flipped = block.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(SegmentHeader::parse(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn random_bytes_are_no_record_and_no_manifest() {
    let mut rng = Rng(8);
    for n in 0..20_000usize {
        let mut bytes: Vec<u8> = (0..n % 300).map(|_| rng.below(256) as u8).collect();
        if n % 2 == 0 && bytes.len() > 4 {
            bytes[..4].copy_from_slice(b"CdR1");
        }
        assert!(Record::parse(&bytes).is_none());
        assert!(Manifest::decode(&bytes).is_none());
        assert!(SegmentHeader::parse(&bytes).is_err());
        assert!(crate::journal::format::EntryRef::parse(&bytes).is_err());
    }
}

#[test]
fn a_manifest_comes_back_and_fits_one_value() {
    let run = |id| RunInfo {
        id,
        level: 2,
        rows: 3,
        keys: 4,
        blocks: 5,
        ..RunInfo::default()
    };
    let manifest = Manifest {
        projection: 6,
        id: [7; 16],
        mark: JournalMark {
            commit: 8,
            chain: [9; 32],
            end: Position(10),
        },
        next_run: 11,
        runs: (0..RUNS_MAX as u64).map(run).collect(),
    };
    let bytes = manifest.encode();
    assert!(bytes.len() <= 4096);
    assert_eq!(Manifest::decode(&bytes), Some(manifest));
    for n in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[n] ^= 16;
        assert!(Manifest::decode(&flipped).is_none());
    }
}

#[test]
fn a_filter_never_denies_and_seldom_errs() {
    let key = |n: u64| n.to_be_bytes();
    for (level, keys, most) in [(0, 20_000, 100), (2, 300_000, 100), (3, 20_000, 500)] {
        let mut bloom = Bloom::new(keys, level);
        (0..keys).for_each(|n| bloom.add(hash(&key(n))));
        assert!((0..keys).all(|n| bloom.may_have(hash(&key(n)))));
        let wrong = (keys..keys + 100_000)
            .filter(|n| bloom.may_have(hash(&key(*n))))
            .count();
        assert!(wrong < most, "{wrong} of 100,000 wrong at level {level}");
        assert_eq!(Bloom::from_bytes(&bloom.to_bytes()), Some(bloom));
    }
    // on disk, so it may never change
    assert_eq!(hash(b"caudal"), 15_188_282_677_679_908_958);
}

#[test]
fn the_bytes_of_a_filter_are_these_for_ever() {
    const KEYS: [&[u8]; 3] = [b"a", b"bc", b"caudal"];
    let lines = "0000301002002000020000000000020000000800000804000020000000010000\
                 0000000000000002000004000000100000000000000800000000002428000008";
    let mut filter = Bloom::new(3, 0);
    KEYS.iter().for_each(|key| filter.add(hash(key)));
    assert_eq!(hex(&filter.to_bytes()), lines);
    assert!(KEYS.iter().all(|key| filter.may_have(hash(key))));
    assert!(
        ![b"d".as_slice(), b"ef"]
            .iter()
            .any(|key| filter.may_have(hash(key)))
    );
    assert_eq!(Bloom::from_bytes(&[0; 8]), None, "less than a line");
    assert_eq!(Bloom::from_bytes(&[0; 65]), None, "a word is cut");
    assert_eq!(Bloom::from_bytes(&[]), None);
}

#[test]
fn bytes_are_what_was_put_in_and_sort_like_slices() {
    let mut all: Vec<Vec<u8>> = (0..100usize)
        .map(|n| vec![(n * 7 % 256) as u8; n])
        .collect();
    all.push(vec![]);
    for a in &all {
        assert_eq!(Bytes::new(a).as_slice(), a.as_slice());
        for b in &all {
            assert_eq!(Bytes::new(a).cmp(&Bytes::new(b)), a.cmp(b));
        }
    }
    assert_eq!(std::mem::size_of::<Option<Bytes>>(), 40);
}
