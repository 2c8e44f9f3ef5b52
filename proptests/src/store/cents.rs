//! A tiny ledger as a projection of the store, and a naive version of it for the model.

use std::collections::BTreeMap;

use caudal_storage::{Entry, IndexWriter, Position, Projection, StoreError, StreamId};

/// Balance of a stream: realm, kind, number.
const BALANCE: u8 = 0x10;
/// Position of an entry: realm, kind, number, sequence.
pub const PLACE: u8 = 0x11;
/// Entries of a realm.
const COUNT: u8 = 0x12;
/// A mark that every other entry of one amount sets and the next removes.
const MARK: u8 = 0x13;
/// All balances together.
const TOTAL: u8 = 0x14;
/// The first byte after all rows of this projection.
pub const END: u8 = 0x15;
/// Hints, which may get lost.
pub const HINT: u8 = 0x20;

/// Rows of an index.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn key(tag: u8, stream: StreamId) -> Vec<u8> {
    let mut key = vec![tag];
    key.extend(stream.realm.to_be_bytes());
    key.push(stream.kind);
    key.extend(stream.number.to_be_bytes());
    key
}

/// The key of the position of an entry.
pub fn place(stream: StreamId, seq: u64) -> Vec<u8> {
    let mut key = key(PLACE, stream);
    key.extend(seq.to_be_bytes());
    key
}

/// The key of the balance of a stream.
pub fn balance(stream: StreamId) -> Vec<u8> {
    key(BALANCE, stream)
}

/// A body: centavos, and some padding.
pub fn body(centavos: i64, pad: u16) -> Vec<u8> {
    let mut body = centavos.to_be_bytes().to_vec();
    // Padding that does not compress to nothing and differs from entry to entry.
    body.extend(
        (0..pad)
            .map(|n| {
                n.wrapping_mul(31)
                    .wrapping_add(centavos.to_be_bytes()[7].into())
            })
            .flat_map(u16::to_be_bytes)
            .take(pad.into()),
    );
    body
}

fn cents(bytes: &[u8]) -> i64 {
    i64::from_be_bytes(bytes[..8].try_into().unwrap())
}

/// The projection, with its version.
#[derive(Debug)]
pub struct Cents(pub u32);

impl Projection for Cents {
    fn version(&self) -> u32 {
        self.0
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        let amount = cents(&entry.body);
        for key in [balance(entry.stream), vec![TOTAL]] {
            let before = index.get(&key)?.map_or(0, |bytes| cents(&bytes));
            index.put(&key, &(before + amount).to_be_bytes());
        }
        index.put(&place(entry.stream, entry.seq), &position.0.to_be_bytes());
        index.next(&[&[COUNT], &entry.stream.realm.to_be_bytes()[..]].concat())?;
        let mark = [MARK, entry.body[7]];
        match index.get(&mark)? {
            Some(_) => index.delete(&mark),
            None => index.put(&mark, &entry.seq.to_be_bytes()),
        }
        Ok(())
    }
}

/// The rows that these entries should have; those of positions are empty, since only the engine
/// knows where an entry is stored.
pub fn rows<'a>(entries: impl Iterator<Item = &'a Entry>) -> Rows {
    let mut balances: BTreeMap<StreamId, i64> = BTreeMap::new();
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let mut marks: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
    let mut rows = Rows::new();
    for entry in entries {
        *balances.entry(entry.stream).or_default() += cents(&entry.body);
        *counts.entry(entry.stream.realm).or_default() += 1;
        marks.entry(entry.body[7]).or_default().push(entry.seq);
        rows.insert(place(entry.stream, entry.seq), Vec::new());
    }
    if !balances.is_empty() {
        rows.insert(
            vec![TOTAL],
            balances.values().sum::<i64>().to_be_bytes().to_vec(),
        );
    }
    for (stream, sum) in balances {
        rows.insert(balance(stream), sum.to_be_bytes().to_vec());
    }
    for (realm, count) in counts {
        let key = [&[COUNT], &realm.to_be_bytes()[..]].concat();
        rows.insert(key, count.to_be_bytes().to_vec());
    }
    for (amount, seqs) in marks {
        // The first entry of an amount sets the mark, the second removes it, and so on.
        if seqs.len() % 2 == 1 {
            rows.insert(
                vec![MARK, amount],
                seqs.last().unwrap().to_be_bytes().to_vec(),
            );
        }
    }
    rows
}

/// 8, for an index: the total is the sum of all balances.
pub fn check_i08(rows: &Rows) -> Result<(), String> {
    let sum: i64 = rows
        .iter()
        .filter(|(key, _)| key[0] == BALANCE)
        .map(|(_, value)| cents(value))
        .sum();
    let total = rows.get(&[TOTAL][..]).map_or(0, |bytes| cents(bytes));
    if sum == total {
        Ok(())
    } else {
        Err(format!("I8: balances sum to {sum}, the total is {total}"))
    }
}
