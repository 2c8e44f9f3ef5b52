//! The row of a realm's sums: of fixed size, rewritten with every voucher.
//!
//! **Shape.** Words of 16 bytes, big-endian: available, held, outgoing, incoming (each an `i128`), then
//! vouchers and active accounts, suspended and closed accounts (each two `u64`), accounts without a CVU (`u64`) with
//! the event rule set (`u16`) and events (48 bits), the marks of the unfilled blocks of both lists (see [`marks`]), and
//! the newest day (see [`days`]), and the balances of the PSP's own accounts (each an `i128`). It is projected on the committer's thread with every voucher, so it is no MessagePack
//! and its key takes no allocation.

mod days;

use caudal_ledger::books::HOUSE;
use caudal_ledger::ids::RealmId;
use caudal_ledger::treasury::{Census, Sum, Totals};
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{IndexWriter, StoreError};

use super::EntryRows;
use crate::records::keys::{self, Marked};
use crate::records::marks::{self, BLOCK, Marks, OpenBlocks};

pub use days::Added;
use days::{DAY_WORDS, Day, house_of};
pub(super) use days::{apart, together};

/// How many bits the count of events has.
const EVENT_BITS: u32 = 48;
/// The most events of a realm that the row can count. An id has 40 bits for the sequence, so ids run out first.
const EVENTS_MAX: u64 = (1 << EVENT_BITS) - 1;

/// How many words the row has.
const ROW_WORDS: usize = 9 + DAY_WORDS + HOUSE;

/// The content of the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct TotalsRow {
    totals: Totals,
    open: OpenBlocks,
    day: Day,
}

/// What changes the sums.
pub(super) enum Cause<'a> {
    /// A voucher, with its ordinal among the internal vouchers of its realm, if it has one.
    Voucher(&'a Voucher, Option<u64>),
    /// Another fact that changes the sums of its day.
    Moved,
    /// A fact that changes no sum of a day.
    Other,
}

/// Reads the sums of a realm, changes them and writes them back.
pub(super) fn update<T>(
    rows: &mut EntryRows<'_>,
    cause: Cause<'_>,
    change: impl FnOnce(&mut Totals) -> T,
) -> Result<T, StoreError> {
    let at = rows.at();
    let (realm, index) = (rows.realm, &mut *rows.index);
    let key = keys::totals(realm);
    let mut kept = TotalsRow::read(index.get(&key)?.as_deref())?;
    let before = kept.totals;
    let found = change(&mut kept.totals);
    if let Cause::Voucher(voucher, ordinal) = cause {
        let of = Marks::of(voucher);
        kept.open.events = kept.open.events.and(of);
        if let Some(ordinal) = ordinal {
            let open = &mut kept.open.internal;
            *open = open.and(of);
            close((realm, Marked::Internal), ordinal, open, index);
        }
    }
    let moved = match cause {
        Cause::Voucher(voucher, _) => Some((voucher.at, 1)),
        Cause::Moved => Some((at, 0)),
        Cause::Other => None,
    };
    if let Some((at, vouchers)) = moved {
        let added = Added {
            available: kept.totals.available.minus(before.available),
            held: kept.totals.held.minus(before.held),
            vouchers,
            suspense: kept.totals.incoming.minus(before.incoming),
            outgoing: kept.totals.outgoing.minus(before.outgoing),
            house: kept.totals.house.minus(before.house),
        };
        kept.day.add(realm, at, added, index)?;
    }
    if kept.totals.events != before.events {
        let open = &mut kept.open.events;
        close((realm, Marked::Events), kept.totals.events, open, index);
    }
    index.put(&key, kept.row().as_flattened());
    Ok(found)
}

/// Writes the marks of a block with its last number.
fn close(
    (realm, list): (RealmId, Marked),
    number: u64,
    open: &mut Marks,
    index: &mut dyn IndexWriter,
) {
    if marks::is_last(number) {
        let key = keys::marks(realm, list, number.div_euclid(BLOCK));
        index.put(&key, &std::mem::take(open).to_bytes());
    }
}

/// The sums in a row; zero without a row.
pub(crate) fn parse(row: Option<&[u8]>) -> Result<Totals, StoreError> {
    TotalsRow::read(row).map(|kept| kept.totals)
}

/// The newest day in a row.
pub(crate) fn newest_day(row: Option<&[u8]>) -> Result<Day, StoreError> {
    TotalsRow::read(row).map(|kept| kept.day)
}

impl TotalsRow {
    fn read(row: Option<&[u8]>) -> Result<Self, StoreError> {
        let Some(row) = row else {
            return Ok(Self::default());
        };
        let cut = || StoreError::Corrupt("the sums of a realm are cut short".into());
        let (words, []) = row.as_chunks::<16>() else {
            return Err(cut());
        };
        let Some((own, rest)) = words.split_first_chunk::<9>() else {
            return Err(cut());
        };
        let Some((day, house)) = rest.split_first_chunk::<DAY_WORDS>() else {
            return Err(cut());
        };
        let house = house_of(house).ok_or_else(cut)?;
        let [
            available,
            held,
            outgoing,
            incoming,
            counts,
            more,
            others,
            events,
            internal,
        ] = *own;
        let sum = |word| Sum::from_centavos(i128::from_be_bytes(word));
        let (sequence, active) = apart(counts);
        let (suspended, closed) = apart(more);
        let (registered, counted) = apart(others);
        let event_rules = u16::try_from(counted.wrapping_shr(EVENT_BITS)).unwrap_or(u16::MAX);
        let totals = Totals {
            sequence,
            available: sum(available),
            held: sum(held),
            outgoing: sum(outgoing),
            incoming: sum(incoming),
            house,
            events: counted & EVENTS_MAX,
            event_rules,
            census: Census {
                active,
                suspended,
                closed,
                registered,
            },
        };
        let open = OpenBlocks {
            events: Marks::from_bytes(&events)?,
            internal: Marks::from_bytes(&internal)?,
        };
        Ok(Self {
            totals,
            open,
            day: Day::of(day)?,
        })
    }

    fn row(&self) -> [[u8; 16]; ROW_WORDS] {
        let Totals {
            sequence,
            available,
            held,
            outgoing,
            incoming,
            house,
            events,
            event_rules,
            census,
        } = &self.totals;
        let counted = u64::from(*event_rules).wrapping_shl(EVENT_BITS) | (events & EVENTS_MAX);
        let sum = |sum: &Sum| sum.centavos().to_be_bytes();
        let own = [
            sum(available),
            sum(held),
            sum(outgoing),
            sum(incoming),
            together(*sequence, census.active),
            together(census.suspended, census.closed),
            together(census.registered, counted),
            self.open.events.to_bytes(),
            self.open.internal.to_bytes(),
        ];
        let house = house.balances().iter().map(sum);
        let mut row = [[0; 16]; ROW_WORDS];
        let words = own.into_iter().chain(self.day.words()).chain(house);
        row.iter_mut().zip(words).for_each(|(at, word)| *at = word);
        row
    }
}

#[cfg(test)]
mod tests {
    use caudal_ledger::books::HouseBalances;

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
            house: HouseBalances::new([5, -6, 7, 8, 9, 10, 11, i128::MIN].map(sum)),
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
        let kept = TotalsRow {
            totals,
            open: OpenBlocks {
                events: Marks::direction(direction),
                internal: Marks::default(),
            },
            day: Day {
                first: 1,
                last: u64::MAX,
                added: Added {
                    available: sum(-7),
                    held: sum(i128::MAX),
                    vouchers: 3,
                    suspense: sum(-1),
                    outgoing: sum(12),
                    house: HouseBalances::new([1, 2, 3, 4, 5, 6, 7, -8].map(sum)),
                },
            },
        };
        let written = kept.row();
        let found = TotalsRow::read(Some(written.as_flattened())).unwrap();
        assert_eq!(found, kept);
        assert_eq!(parse(None).unwrap(), Totals::default());
        for cut in [0, 1, 112, 144, 320, 16 * ROW_WORDS - 1] {
            assert!(
                parse(Some(&written.as_flattened()[..cut])).is_err(),
                "{cut}"
            );
        }
    }
}
