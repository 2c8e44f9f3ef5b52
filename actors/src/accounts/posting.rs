//! An adjustment as an account gets it: with its voucher type, and with the fact about that type which may still be
//! refused.

use std::sync::Arc;

use caudal_ledger::vouchers::PostAdjustment;
use caudal_storage::StreamId;

use crate::vitals::Vitals;

/// An adjustment whose voucher type was found.
#[derive(Debug)]
pub struct Posting {
    /// The adjustment.
    pub order: PostAdjustment,
    /// The last change of the realm's voucher types, if it was not on disk when the type was found.
    pub ground: Option<Ground>,
}

/// A change of a realm's voucher types that is on its way to the disk.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The entry of the change.
    pub fact: (StreamId, u64),
    /// The state of the supervisor that decided it.
    pub of: Arc<Vitals>,
}

impl Ground {
    /// Whether the change was refused, as far as is known: another one may have its place in the stream by now.
    pub(super) fn is_gone(&self) -> bool {
        self.of.doubtful()
    }
}
