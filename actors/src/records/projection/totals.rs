//! The row of a realm's sums: one of fixed size, rewritten with every voucher.
//!
//! **Shape.** Ten words of 16 bytes, big-endian: available, held, outgoing, incoming, fees (each
//! an `i128`), then vouchers and active accounts, suspended and closed accounts (each two `u64`),
//! accounts without a CVU (`u64`) with the set of rules of events (`u16`) and events (48 bits), and the
//! marks of the blocks of both lists that are not full (see [`marks`]).
//! It is projected on the committer's thread with every voucher, so it is no record of MessagePack
//! and its key takes no allocation.

use caudal_ledger::ids::RealmId;
use caudal_ledger::treasury::{Census, Sum, Totals};
use caudal_storage::{IndexWriter, StoreError};

use crate::records::keys::{self, Marked};
use crate::records::marks::{self, BLOCK, Marks, Open};

/// How many bits the count of events has.
const EVENT_BITS: u32 = 48;
/// The most events of a realm; an id has 40 bits for them.
const EVENTS_MAX: u64 = (1 << EVENT_BITS) - 1;

/// Reads the sums of a realm, changes them and writes them back.
pub fn update<T>(
    realm: RealmId,
    index: &mut dyn IndexWriter,
    change: impl FnOnce(&mut Totals) -> T,
) -> Result<T, StoreError> {
    marked(realm, index, (Marks::default(), None), change)
}

/// The same for a voucher, with what it is, and with its place in what is internal to its realm.
pub fn marked<T>(
    realm: RealmId,
    index: &mut dyn IndexWriter,
    (of, ordinal): (Marks, Option<u64>),
    change: impl FnOnce(&mut Totals) -> T,
) -> Result<T, StoreError> {
    let key = keys::totals(realm);
    let (mut totals, mut open) = read(index.get(&key)?.as_deref())?;
    let before = totals.events;
    let found = change(&mut totals);
    open.events = open.events.and(of);
    let mut close = |list, number: u64, open: &mut Marks| {
        if marks::is_last(number) {
            let key = keys::marks(realm, list, number.div_euclid(BLOCK));
            index.put(&key, &open.to_bytes());
            *open = Marks::default();
        }
    };
    if totals.events != before {
        close(Marked::Events, totals.events, &mut open.events);
    }
    if let Some(ordinal) = ordinal {
        open.internal = open.internal.and(of);
        close(Marked::Internal, ordinal, &mut open.internal);
    }
    index.put(&key, row(&totals, open).as_flattened());
    Ok(found)
}

/// The sums that a row says; nothing where there is none.
pub fn parse(row: Option<&[u8]>) -> Result<Totals, StoreError> {
    read(row).map(|(totals, _)| totals)
}

fn read(row: Option<&[u8]>) -> Result<(Totals, Open), StoreError> {
    let Some(row) = row else {
        return Ok((Totals::default(), Open::default()));
    };
    let (words, cut) = row.as_chunks::<16>();
    let (
        [
            available,
            held,
            outgoing,
            incoming,
            fees,
            counts,
            more,
            rest,
            events,
            internal,
        ],
        [],
    ) = (words, cut)
    else {
        return Err(StoreError::Corrupt(
            "the sums of a realm are cut short".into(),
        ));
    };
    let sum = |word: &[u8; 16]| Sum::from_centavos(i128::from_be_bytes(*word));
    let (sequence, active) = apart(*counts);
    let (suspended, closed) = apart(*more);
    let (registered, counted) = apart(*rest);
    let event_rules = u16::try_from(counted.wrapping_shr(EVENT_BITS)).unwrap_or(u16::MAX);
    let open = Open {
        events: Marks::from_bytes(events)?,
        internal: Marks::from_bytes(internal)?,
    };
    let totals = Totals {
        sequence,
        available: sum(available),
        held: sum(held),
        outgoing: sum(outgoing),
        incoming: sum(incoming),
        fees: sum(fees),
        events: counted & EVENTS_MAX,
        event_rules,
        census: Census {
            active,
            suspended,
            closed,
            registered,
        },
    };
    Ok((totals, open))
}

fn row(totals: &Totals, open: Open) -> [[u8; 16]; 10] {
    let Totals {
        sequence,
        available,
        held,
        outgoing,
        incoming,
        fees,
        events,
        event_rules,
        census,
    } = totals;
    let counted = u64::from(*event_rules).wrapping_shl(EVENT_BITS) | (events & EVENTS_MAX);
    let sum = |sum: &Sum| sum.centavos().to_be_bytes();
    [
        sum(available),
        sum(held),
        sum(outgoing),
        sum(incoming),
        sum(fees),
        together(*sequence, census.active),
        together(census.suspended, census.closed),
        together(census.registered, counted),
        open.events.to_bytes(),
        open.internal.to_bytes(),
    ]
}

fn together(first: u64, second: u64) -> [u8; 16] {
    (u128::from(first).wrapping_shl(64) | u128::from(second)).to_be_bytes()
}

fn apart(word: [u8; 16]) -> (u64, u64) {
    let half = |at: u32| {
        let shifted = u128::from_be_bytes(word).wrapping_shr(at);
        u64::try_from(shifted & u128::from(u64::MAX)).unwrap_or(u64::MAX)
    };
    (half(64), half(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_read_back_and_a_row_that_is_cut_is_damage() {
        let sum = Sum::from_centavos;
        let totals = Totals {
            sequence: u64::MAX,
            available: sum(i128::MAX),
            held: sum(i128::MIN),
            outgoing: sum(3),
            incoming: sum(-4),
            fees: sum(5),
            events: EVENTS_MAX,
            event_rules: 11,
            census: Census {
                active: 6,
                suspended: 7,
                closed: u64::MAX - 8,
                registered: 9,
            },
        };
        let direction = caudal_ledger::balance::Direction::Debit;
        let open = Open {
            events: Marks::direction(direction),
            internal: Marks::default(),
        };
        let written = row(&totals, open);
        let found = read(Some(written.as_flattened())).unwrap();
        assert_eq!(found, (totals, open));
        assert_eq!(parse(None).unwrap(), Totals::default());
        for cut in [0, 1, 112, 128, 159] {
            assert!(
                parse(Some(&written.as_flattened()[..cut])).is_err(),
                "{cut}"
            );
        }
    }
}
