//! Money on its way: holds, transfers, limits and fees, by a naive book and by the real rules.
//!
//! **Shape.** [`ops`] are the operations, [`book`] is the naive model: lists of [`events`] and nothing
//! else, from which it counts every answer anew ([`tariff`] for limits and fees, [`orders`] and
//! [`remote`] for what may happen). [`machine`] drives the real rules of `ledger` as its actors do;
//! [`compare`] checks one against the other after every step; [`tally`] counts the results of the
//! runs.
//!
//! **Order.** As everywhere in this room: the model first, then the machine, then the invariants.

pub mod answer;
pub mod book;
pub mod compare;
pub mod events;
pub mod machine;
pub mod operations;
pub mod ops;
pub mod orders;
pub mod remote;
pub mod tally;
pub mod tariff;

/// The accounts: realm and number. The fourth begins without a CVU.
pub const WORLD: [(u32, u64); 5] = [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1)];

/// The account that begins without a CVU.
pub const WITHOUT_CVU: usize = 3;

/// The PSP of every CVU.
pub const PSP: u16 = 7;

/// The tenant's own ids of movements.
pub const KEYS: [&str; 5] = ["a", "b", "c", "order-1", "~"];

/// Amounts that recur, in centavos.
pub const AMOUNTS: [i128; 6] = [1, 50, 100, 333, 1_000, 5_000];

/// The voucher types that fees are set for.
pub const CHARGED: [&str; 8] = [
    "BONUS",
    "TOLL",
    "HOLD",
    "CONFIRM_HOLD",
    "TRANSFER_OUT",
    "TRANSFER_IN",
    "INTERNAL_P2P_OUT",
    "INTERNAL_P2P_IN",
];

/// Percentages: as a text, and as a whole number with this many decimals.
pub const RATES: [(&str, i128, u32); 9] = [
    ("0", 0, 0),
    ("0.6", 6, 1),
    ("0.5", 5, 1),
    ("1.25", 125, 2),
    ("12.5", 125, 1),
    ("21", 21, 0),
    ("0.000001", 1, 6),
    ("33.333333", 33_333_333, 6),
    ("50", 50, 0),
];
