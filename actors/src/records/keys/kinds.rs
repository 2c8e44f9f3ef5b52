//! The kinds of index rows, by their first byte: their names, for counting their bytes, and which ones are only written.

use super::books::{BOOK_DAY, BOOK_PLACE};
use super::collector::{COLLECTOR, COLLECTOR_DAY, COLLECTOR_OF};
use super::days::CLOSED_DAY;
use super::rests::REST;
use super::*;

/// The kinds of rows that vouchers and accounts write and no entry reads while it is projected.
pub const UNREAD: &[u8] = &[
    CVU, CODE, EXTERNAL, INTERNAL, PENDING, BANK_DAY, CUIT, ENROLLING, SORTED, EVENT,
];

/// The name of the rows whose keys begin with this byte; `None` for a byte with which no key of this crate begins.
pub const fn kind_of(first: u8) -> Option<&'static str> {
    Some(match first {
        CVU => "CVUs",
        ALIAS => "aliases",
        CODE => "codes",
        EXTERNAL => "external ids",
        ANSWER => "answers kept for keys",
        INTERNAL | INTERNAL_COUNT | REVERSED => "a realm's own movements",
        DIRECTORY => "directory",
        REST => "accounts at rest",
        HOLD | OPEN_HOLD | HOLD_END | HOLD_LIST | HOLD_COUNT => "holds",
        TRANSFER | OPEN_TRANSFER | TRANSFER_EXTERNAL | TRANSFER_LIST | TRANSFER_COUNT
        | TRANSFER_CALL | TRANSFER_LEFT | TRANSFER_NAME | ORIGIN => "transfers",
        RAIL | BANK_DAY => "movements at the bank",
        CUIT => "accounts by CUIT",
        ROLL => "account sets",
        SORTED => "accounts by text",
        EVENT => "events",
        WEBHOOK | PROGRESS | DELIVERY => "webhooks",
        PENDING | ENROLLING | TOTALS | USAGE | USAGE_OF_TYPE => "sums and what waits",
        0x38..=0x3f => "cases",
        CLOSED_DAY => "closed days",
        0x42 | 0x43 | BOOK_DAY => "marks and days",
        COLLECTOR | COLLECTOR_OF | COLLECTOR_DAY | BOOK_PLACE => "movements of collector accounts",
        _ => return None,
    })
}
