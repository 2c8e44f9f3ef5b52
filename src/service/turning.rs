//! The turns of this node in a cell: a channel from the cell's store to the task that acts on them.

use std::sync::Arc;

use caudal_storage::{StoreOptions, Turn};
use tokio::sync::mpsc;

/// The turns that a cell's store reports for this node.
pub(super) type Turns = mpsc::UnboundedReceiver<Turn>;

/// Has the store that is opened with these options send this node's turns to the returned channel.
pub(super) fn turns(options: &mut StoreOptions) -> Turns {
    let (tell, turns) = mpsc::unbounded_channel();
    // The send fails only after the service has ended.
    options.turned = Some(Arc::new(move |turn| {
        tell.send(turn).ok();
    }));
    options.deposed = None;
    turns
}
