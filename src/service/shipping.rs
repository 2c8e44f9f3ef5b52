//! Ships the journal to the backup's destination; with several nodes, the owner of the log ships it.

use std::path::Path;
use std::sync::Arc;

use caudal_backup::run::{self, ShippingRole, SingleNode};
use caudal_http::node::Node;
use caudal_storage::Records;

use super::{StartError, folder};

/// Begins to ship the journal, if a backup is configured.
pub(super) fn ship(
    plan: Option<run::BackupPlan>,
    records: Records,
    data: &Path,
    node: &Option<Arc<Node>>,
) -> Result<Option<run::ShippingThread>, StartError> {
    let Some(plan) = plan else { return Ok(None) };
    let role: Arc<dyn ShippingRole> = match node {
        None => Arc::new(SingleNode),
        Some(node) => Arc::new(OfNode(Arc::clone(node))),
    };
    let home = run::ServiceView {
        role,
        choice: Arc::new(folder::BackupChoice::of(data)),
    };
    let failed = |why| StartError::io("starting the backup", why);
    let running = run::start(plan, records, folder::pepper_mark(data)?, home);
    running.map(Some).map_err(failed)
}

/// This node's part in shipping.
#[derive(Debug)]
struct OfNode(Arc<Node>);

impl ShippingRole for OfNode {
    fn ships(&self) -> bool {
        self.0.serves()
    }

    fn shipper(&self) -> Option<Arc<str>> {
        self.0.owner()
    }
}
