//! What other nodes do for a realm of which a copy is made, where they own its cell or the one that the copy goes into.
//!
//! **Order.** Whoever makes the copy owns the first cell. It reads both cells from what they have applied here, and has the owner of
//! the copy's cell append; so what is compared is what the log of that cell has.

use std::pin::Pin;
use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_storage::Store;

use crate::failure::Failure;
use crate::records::keys;

/// An answer that is waited for where it was asked.
pub type Asked<T> = Pin<Box<dyn Future<Output = Result<T, Failure>>>>;

/// A copy stops where so many bytes of the disk, or fewer, are free above the store's floor: they are for those who go on.
pub const ROOM: u64 = 256 << 20;

/// Whether a row is one that a copy may bring along without an entry: what an account of the realm that lies there left at rest.
pub fn is_row_at_rest(lies: RealmId, key: &[u8]) -> bool {
    let own = keys::left_at_rest(lies);
    own.iter().any(|begin| key.starts_with(begin))
}

/// The way to the owners of other cells.
pub trait Elsewhere: Send + Sync {
    /// A cell of another node as the place of a copy that lies there under this number: read from `known`, what is applied of it
    /// here, and appended to by its owner. A commit counts once it is applied here, too.
    fn place(&self, cell: u32, lies: RealmId, known: Arc<dyn Store>) -> Arc<dyn Store>;

    /// Waits until everything is applied here that the log of a cell had when this was asked.
    fn level(&self, cell: u32) -> Asked<()>;

    /// Waits until a realm rests at the owner of its cell because it leaves for the copy of this number: the last commit of the cell
    /// then, behind which nothing of the realm follows until a fact says how the move ended.
    fn rested(&self, realm: RealmId, number: u32) -> Asked<u64>;
}
