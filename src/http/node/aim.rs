//! Finds the cell that a request is for: that of its key's realm, that of a bank's notice, or the one that an errand
//! names.
//!
//! **Order.** The aim is found anew before each try, so news of keys and of where realms lie that arrive meanwhile
//! count. The node that serves finds it for itself: two nodes that disagree try again until they agree.
//!
//! **Bounds.** A notice whose subject is not known here waits [`CATCH_UP`] at most until this node has everything
//! that had been written when the notice came.
//!
//! **Failure.** A request with a key that is not known here goes to the owner of the first cell, which knows all keys
//! and refuses it. A notice whose subject is still unknown once this node has caught up goes there, too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::dev::ServiceRequest;
use actix_web::web::Bytes;
use caudal_actors::cells::FIRST;
use caudal_actors::engine::Engine;
use caudal_actors::failure::Failure;
use caudal_ledger::ids::RealmId;
use caudal_storage::Store;

use super::parcel::{FOR, NOTICES, is_errand};
use super::{Node, Seat};
use crate::http::Door;
use crate::http::caller::{API_KEY, only};
use crate::keys;

/// How long a notice waits until this node has caught up: after that the bank has to send it again.
const CATCH_UP: Duration = Duration::from_secs(5);
/// How often this node checks whether it has caught up.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The node that has to do an errand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// The owner of a cell.
    Cell(u32),
    /// The owner of the cell in which a realm lies.
    Realm(RealmId),
}

impl For {
    /// The value of [`FOR`].
    pub(super) fn word(self) -> String {
        match self {
            Self::Cell(cell) => format!("cell {cell}"),
            Self::Realm(realm) => format!("realm {}", realm.0),
        }
    }

    /// The owner that a request of a node is meant for; `None` for a client's request, which cannot say so.
    pub(super) fn of(call: &ServiceRequest) -> Option<Self> {
        let word = call.headers().get(FOR)?.to_str().ok()?;
        Self::read(word)
    }

    /// Reads the value of [`FOR`].
    fn read(word: &str) -> Option<Self> {
        let (kind, number) = word.split_once(' ')?;
        let number = number.parse().ok()?;
        match kind {
            "cell" => Some(Self::Cell(number)),
            "realm" => Some(Self::Realm(RealmId(number))),
            _ => None,
        }
    }
}

/// The means by which the cell of a request is found.
pub(super) enum Aim {
    /// The request is for the first cell.
    First,
    /// The id of its key.
    Key(String),
    /// The body of a notice.
    Notice(Bytes),
    /// The request names the cell or realm itself.
    At(For),
}

impl Aim {
    /// The aim of a request; of a notice, still without its body.
    pub(super) fn of(call: &ServiceRequest, node: &Node) -> Self {
        if node.is_whole() {
            return Self::First;
        }
        if call.match_info().as_str().starts_with(NOTICES) {
            return Self::Notice(Bytes::new());
        }
        if is_errand(call.match_info().as_str()) {
            return For::of(call).map_or(Self::First, Self::At);
        }
        let key = only(call.request(), &API_KEY).and_then(keys::id_of);
        key.map_or(Self::First, |id| Self::Key(id.to_owned()))
    }

    /// The same aim, once the body has been read.
    pub(super) fn with(self, body: &Bytes) -> Self {
        match self {
            Self::Notice(_) => Self::Notice(body.clone()),
            other => other,
        }
    }

    /// Whether the body tells the cell.
    pub(super) const fn needs_body(&self) -> bool {
        matches!(self, Self::Notice(_))
    }

    /// The cell, as this node knows it now; `None` while no cell serves the realm, because it is moving into another
    /// one.
    ///
    /// # Errors
    /// When a notice cannot be looked up now.
    pub(super) async fn cell(&self, door: &Door, node: &Node) -> Result<Option<u32>, Failure> {
        let engine = &door.engine;
        self.lies(engine, door, node).await.map(Some)
    }

    async fn lies(&self, engine: &Arc<Engine>, door: &Door, node: &Node) -> Result<u32, Failure> {
        match self {
            Self::First => Ok(FIRST),
            Self::At(For::Cell(cell)) => Ok(*cell),
            Self::At(For::Realm(realm)) => Ok(engine.cells().cell_of(*realm)),
            Self::Key(id) => Ok(engine.key(id).map_or(FIRST, |known| {
                let realm = known.tenant.realm(known.key.mode);
                engine.cells().cell_of(realm)
            })),
            Self::Notice(body) => {
                let whose = || (node.whose)(Arc::clone(engine), body.clone());
                if let Some(cell) = whose().await? {
                    return Ok(cell);
                }
                let all: Vec<u32> = node.cells().collect();
                node.caught_up(door, &all).await?;
                Ok(whose().await?.unwrap_or(FIRST))
            }
        }
    }
}

impl Node {
    /// Waits until this node has all that the logs of some cells had when this was called.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] when this node has not caught up in time.
    pub async fn caught_up(&self, door: &Door, cells: &[u32]) -> Result<(), Failure> {
        let since = Instant::now();
        let ends = |cell| {
            let store = door.engine.cells().cell(cell);
            store.is_some_and(|store| self.has_all_since(store.as_ref(), cell, since))
        };
        while !cells.iter().all(|cell| ends(*cell)) {
            if since.elapsed() > CATCH_UP {
                return Err(Failure::ShuttingDown);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Waits until tenants, keys, people and the audit log are known here as they were when this was called.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] when they are not in time.
    pub async fn told(&self) -> Result<(), Failure> {
        let since = Instant::now();
        while !self.writes_platform() && !self.knows_since(Some(since)) {
            if since.elapsed() > CATCH_UP {
                return Err(Failure::ShuttingDown);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Waits until this node knows what another one has just done, so that the next request here sees it. If this
    /// node does not catch up in time, it follows later: the work itself is done.
    pub async fn follows_now(&self, door: &Door) {
        let all: Vec<u32> = self.cells().collect();
        let known = self.caught_up(door, &all).await;
        if known.and(self.told().await).is_err() {
            tracing::warn!("this node has not followed what another one has done for it");
        }
    }

    /// Whether this node's store has all that the log of a cell had at an instant or later.
    pub fn has_all_since(&self, store: &dyn Store, cell: u32, since: Instant) -> bool {
        // An owner's store always has it.
        let owned = self.seat(cell).is_some_and(Seat::is_open);
        let at = self.has_all_as_of(store, cell);
        owned || at.is_some_and(|at| at >= since)
    }

    /// The instant as of which this node's store has all of a cell, as far as the log's standing tells; `None` while
    /// it lacks some.
    pub fn has_all_as_of(&self, store: &dyn Store, cell: u32) -> Option<Instant> {
        let (standing, ago) = self.standing(cell)?;
        let applied = store.applied();
        let asked = Instant::now().checked_sub(ago)?;
        (applied >= standing.tail.commit).then_some(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_gets_an_errand_reads_what_it_is_about() {
        for to in [For::Cell(3), For::Realm(RealmId(17))] {
            assert_eq!(For::read(&to.word()), Some(to));
        }
        for wrong in ["", "cell", "cell x", "realm -1", "tenant 1", "cell  1"] {
            assert_eq!(For::read(wrong), None, "{wrong}");
        }
    }
}
