//! The entries of the books: a line for each of the two accounts that a fact moves, in the order of the journal.
//!
//! **Shape.** A fact has a place ([`reads::books`]), and the lines of place `p` have the numbers `2p` (the account that is
//! debited) and `2p + 1`, by which a page is cut.
//!
//! **Bounds.** A page looks at [`ROWS`](super::super::lists::ROWS_MAX) rows at most, like that of any list with a filter; the
//! balances at an instant count the facts of its day up to it, at most [`FACTS_MAX`] places.
//!
//! **Failure.** More places than that are [`Failure::TooManyEntries`].

use caudal_ledger::books::{BookBalances, BookRef};
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, SortOrder, StoreError};

use crate::engine::lists::bounded_scan::{BoundedScan, SINGLE, ScanBudget};
use crate::engine::lists::{ListPage, Listing, Range};
use crate::failure::Failure;
use crate::records::reads;
use crate::records::reads::books::{BookFact, PlacedFact};

/// The most places that the balances at an instant count in its day.
const FACTS_MAX: u64 = 500_000;
/// How many of them are read at once.
const FACTS_PAGE: u64 = 1000;

/// Which entries are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EntryFilter {
    /// Only of this account; the control account has those of all accounts for adjustments.
    pub account: Option<BookRef>,
    /// Only at this instant or later.
    pub from: Option<Timestamp>,
    /// Only at this instant or earlier.
    pub to: Option<Timestamp>,
}

impl EntryFilter {
    fn lets_time(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at <= to)
    }

    fn lets(&self, entry: &BookEntry) -> bool {
        let account = self.account.as_ref();
        self.lets_time(entry.fact.at) && account.is_none_or(|it| it.has(entry.account()))
    }
}

/// One account that a fact has moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BookEntry {
    /// The fact.
    pub fact: BookFact,
    /// Whether the account is debited.
    pub is_debit: bool,
}

impl BookEntry {
    /// The account.
    pub const fn account(&self) -> &BookRef {
        if self.is_debit {
            &self.fact.moved.debit
        } else {
            &self.fact.moved.credit
        }
    }

    /// The account on the other side.
    pub const fn counter_account(&self) -> &BookRef {
        if self.is_debit {
            &self.fact.moved.credit
        } else {
            &self.fact.moved.debit
        }
    }
}

/// The time of a place.
fn time(store: &dyn Index, realm: RealmId, place: u64) -> Result<Option<Timestamp>, StoreError> {
    let found = reads::books::facts(store, realm, (place, place))?;
    let fact = found.first().map(|(_, fact)| fact);
    fact.map(|fact| reads::books::time(store, realm, fact))
        .transpose()
}

/// The places of a period, and a few more on both ends.
fn places(
    store: &dyn Index,
    realm: RealmId,
    period: (Option<Timestamp>, Option<Timestamp>),
) -> Result<Range, StoreError> {
    let last = reads::books::last_place(store, realm)?;
    Range::within(last, period, |place| time(store, realm, place))
}

/// The place of a line.
const fn place_of(number: u64) -> u64 {
    number.div_euclid(2)
}

/// The first lines of a range, in an order: those of at most half as many facts as lines may be read, at least one.
fn lines(
    store: &dyn Index,
    realm: RealmId,
    (rest, order): (Range, SortOrder),
    size: usize,
) -> Result<Vec<(u64, PlacedFact)>, StoreError> {
    if rest.len() == 0 {
        return Ok(Vec::new());
    }
    // At most a page of the scan, so it fits.
    let more = u64::try_from(size.div_euclid(2)).map_or(0, |more| more);
    let (first, last) = (place_of(rest.first), place_of(rest.last));
    let ends = match order {
        SortOrder::Ascending => (first, last.min(first.strict_add(more))),
        SortOrder::Descending => (first.max(last - more.min(last)), last),
    };
    let mut found = Vec::new();
    for (place, fact) in reads::books::facts(store, realm, ends)? {
        let debit = place.strict_mul(2);
        for number in [debit, debit.strict_add(1)] {
            if rest.has(number) {
                found.push((number, fact.clone()));
            }
        }
    }
    if order == SortOrder::Descending {
        found.reverse();
    }
    Ok(found)
}

/// A page of entries.
pub(super) fn list(
    store: &dyn Index,
    realm: RealmId,
    filter: &EntryFilter,
    (page, bound): (&ListPage, u64),
) -> Result<Listing<BookEntry>, Failure> {
    let places = places(store, realm, (filter.from, filter.to))?;
    let range = if places.len() == 0 {
        Range::NONE
    } else {
        Range {
            first: places.first.strict_mul(2),
            last: places.last.strict_mul(2).strict_add(1),
        }
    };
    // A fact is read once for both of its lines.
    let look = BoundedScan::of(page, bound, (1, 1 + SINGLE / 2));
    let mut known: Option<(u64, Option<BookFact>)> = None;
    look.over(
        range,
        |rest, size, _| lines(store, realm, (*rest, page.order), size),
        |number, fact, left: &mut ScanBudget| {
            let place = place_of(number);
            if known.as_ref().is_none_or(|(of, _)| *of != place) {
                left.spend(SINGLE);
                known = Some((place, reads::books::moved(store, realm, &fact)?));
            }
            let fact = known.as_ref().and_then(|(_, fact)| fact.clone());
            let entry = fact.map(|fact| BookEntry {
                fact,
                is_debit: number.is_multiple_of(2),
            });
            Ok(entry.filter(|entry| filter.lets(entry)))
        },
        |number| time(store, realm, place_of(number)),
    )
}

/// The balances at an instant: those at the end of the day before, and what its day moved up to the instant.
pub(super) fn balances_at(
    store: &dyn Index,
    realm: RealmId,
    at: Timestamp,
) -> Result<BookBalances, Failure> {
    let day = at.business_day();
    let filter = EntryFilter {
        account: None,
        from: Some(day.start()),
        to: Some(at),
    };
    let range = places(store, realm, (filter.from, filter.to))?;
    if range.len() > FACTS_MAX {
        return Err(Failure::TooManyEntries);
    }
    let (mut balances, _) = reads::books::until(store, realm, day.before().end())?;
    let mut next = range.first;
    while next <= range.last {
        let last = next.strict_add(FACTS_PAGE - 1).min(range.last);
        for (_, fact) in reads::books::facts(store, realm, (next, last))? {
            let fact = reads::books::moved(store, realm, &fact)?;
            if let Some(fact) = fact.filter(|fact| filter.lets_time(fact.at)) {
                balances.apply(&fact.moved);
            }
        }
        next = last.strict_add(1);
    }
    Ok(balances)
}
