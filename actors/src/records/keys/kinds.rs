//! The kinds of index rows that are only written.

use super::*;

/// The kinds of rows that vouchers and accounts write and no entry reads while it is projected.
pub const UNREAD: &[u8] = &[
    CVU, CODE, EXTERNAL, INTERNAL, PENDING, BANK_DAY, CUIT, ENROLLING, SORTED, EVENT,
];
