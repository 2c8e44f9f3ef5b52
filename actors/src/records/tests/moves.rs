//! Samples of the facts about cells.

use caudal_ledger::facts::PlatformFact;
use caudal_ledger::tenants::Mode;

/// One fact of each kind.
pub fn facts() -> [PlatformFact; 2] {
    [
        PlatformFact::CellAdded {
            cell: 1,
            store: "0f0e".to_owned(),
        },
        PlatformFact::RealmPlaced {
            id: "tnt_1".to_owned(),
            mode: Mode::Live,
            cell: 1,
        },
    ]
}
