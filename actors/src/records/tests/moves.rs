//! Samples of the facts about cells and about moving a realm into another one.

use caudal_ledger::chain::Digest;
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::tenants::{Copied, Mode};

use super::at;

/// One fact of each kind.
pub fn facts() -> [PlatformFact; 5] {
    let (id, mode, number) = (|| "tnt_1".to_owned(), Mode::Live, 3);
    [
        PlatformFact::CellAdded {
            cell: 1,
            store: "0f0e".to_owned(),
        },
        PlatformFact::RealmPlaced {
            id: id(),
            mode,
            cell: 1,
        },
        PlatformFact::MoveBegun {
            id: id(),
            mode,
            number,
            from: 2,
            cell: 1,
            behind: 70,
            at: at(13),
        },
        PlatformFact::RealmMoved {
            id: id(),
            mode,
            number,
            copied: Copied {
                entries: 70_000,
                digest: Digest([9; 32]),
            },
            commit: 900,
            at: at(14),
        },
        PlatformFact::RealmLeaves {
            id: id(),
            mode,
            number,
            leaves: true,
            at: at(15),
        },
    ]
}
