//! The other nodes' part in copying a realm, when they own the realm's cell or the copy's.
//!
//! **Order.** The node that makes the copy owns the first cell. It reads both cells from what it has applied of them,
//! and has the owner of the copy's cell append. So the comparison covers the entries that the log of that cell has.

use std::pin::Pin;
use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_storage::Store;

use crate::failure::Failure;
use crate::records::keys;

/// An answer for which the caller waits.
pub type Asked<T> = Pin<Box<dyn Future<Output = Result<T, Failure>>>>;

/// A copy stops when this many bytes of the disk, or fewer, are free above the store's floor: they are for the running
/// realms.
pub const ROOM: u64 = 256 << 20;

/// Whether a copy may bring a row along without an entry: a row that an account of the realm has left at rest.
pub fn is_row_at_rest(lies: RealmId, key: &[u8]) -> bool {
    let own = keys::left_at_rest(lies);
    own.iter().any(|begin| key.starts_with(begin))
}

/// The way to the owners of other cells.
pub trait Elsewhere: Send + Sync {
    /// A cell of another node as the place of the copy with this number. It is read from `known`, the part applied
    /// here, and its owner appends to it. A commit counts once it is applied here, too.
    fn place(&self, cell: u32, lies: RealmId, known: Arc<dyn Store>) -> Arc<dyn Store>;

    /// Waits until this node has applied everything that the log of a cell had at the time of the call.
    fn level(&self, cell: u32) -> Asked<()>;

    /// Waits until a realm rests at the owner of its cell because it leaves for the copy of this number. Returns the
    /// last commit of the cell at that point; nothing of the realm follows it until a fact states how the move ended.
    fn rested(&self, realm: RealmId, number: u32) -> Asked<u64>;
}
