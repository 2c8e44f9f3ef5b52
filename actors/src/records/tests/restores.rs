//! Samples of the facts about restoring a realm to an instant.

use caudal_ledger::chain::Digest;
use caudal_ledger::facts::PlatformFact;
use caudal_ledger::tenants::{Copied, Mode, RestorePoint};

use super::at;

/// One fact of each kind.
pub fn facts() -> [PlatformFact; 4] {
    let (id, mode, number) = (|| "tnt_1".to_owned(), Mode::Live, 2);
    [
        PlatformFact::RestoreBegun {
            id: id(),
            mode,
            number,
            point: RestorePoint {
                from: 1,
                at: at(11),
                until: 300,
            },
        },
        PlatformFact::RestoreCopied {
            id: id(),
            mode,
            number,
            copied: Copied {
                entries: 70_000,
                digest: Digest([8; 32]),
            },
        },
        PlatformFact::GenerationSet {
            id: id(),
            mode,
            number,
            at: at(12),
        },
        PlatformFact::OutgoingReleased { id: id(), mode },
    ]
}
