//! Operations of a small, crowded world: 3 realms, 5 CVUs, 4 external ids, amounts at the edges.

pub mod keys;
pub mod ops;
pub mod texts;

/// The five accounts of the world: realm, number in the realm, PSP of its CVU.
///
/// Numbers repeat across realms, so that a key that forgets the realm collides.
pub const WORLD: [(u32, u64, u16); 5] = [(1, 1, 7), (1, 2, 7), (2, 1, 7), (2, 2, 184), (3, 1, 999)];

/// The codes of the voucher types that tenants create.
pub const CODES: [&str; 4] = ["BONUS", "TOLL", "GIFT", "RENT"];

/// The tenants' own ids of movements.
pub const EXTERNAL_IDS: [&str; 4] = ["a", "b", "order-1", "~"];
