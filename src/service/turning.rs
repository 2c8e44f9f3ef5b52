//! The turns of this node in a cell: what its store says of them, until whoever acts on them hears it.

use std::sync::Arc;

use caudal_storage::{StoreOptions, Turn};
use tokio::sync::mpsc;

/// What the store of a cell says of this node's turns.
pub(super) type Turns = mpsc::UnboundedReceiver<Turn>;

/// Hears of this node's turns from the store that is opened with these options.
pub(super) fn turns(options: &mut StoreOptions) -> Turns {
    let (tell, turns) = mpsc::unbounded_channel();
    // Nobody listens any more when the service has ended.
    options.turned = Some(Arc::new(move |turn| {
        tell.send(turn).ok();
    }));
    options.deposed = None;
    turns
}
