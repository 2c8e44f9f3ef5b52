//! The cells: the data in them, the node that owns each, the followers and how far they are, and an operator's order to
//! hand one over to another node.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, rt, web};
use caudal_storage::Store;
use caudal_storage::log::Seen;
use serde::Serialize;
use utoipa::ToSchema;

use super::OperatorDesk;
use crate::http::Door;
use crate::http::body::Body;
use crate::http::body::read::line;
use crate::http::errors::ApiError;
use crate::http::node::{Node, SEEN};
use crate::http::request::request;
use crate::http::respond::json;

/// The longest name of a node, in characters.
const NAME_MAX: usize = 64;

/// A cell: one journal, which one node at a time owns.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Cell)]
pub(super) struct CellBody {
    /// The number of the cell.
    cell: u32,
    /// The name of the node that answers; null when there are no others.
    node: Option<String>,
    /// Whether this node owns the cell: it serves requests, and any other passes them on to the owner.
    owns: bool,
    /// The name of the owner; null when nobody owns the cell now, or there are no nodes.
    owner: Option<String>,
    /// Counts the owners; null where there are no nodes.
    epoch: Option<u64>,
    /// How long the owner's lease lasts still unless it is renewed, in milliseconds; null when it is over.
    lease_left_ms: Option<u64>,
    /// How many realms lie in it.
    realms: usize,
    /// The last commit of the log.
    commit: u64,
    /// Bytes of its journal and of its index on disk here.
    journal_disk_bytes: u64,
    index_disk_bytes: u64,
    /// Why it takes no writes here; null when it does.
    error: Option<String>,
    /// How long ago the log was asked for all this, in milliseconds; null where there are no nodes.
    asked_ms_ago: Option<u64>,
    /// The nodes that were seen lately, the owner among them.
    nodes: Vec<NodeBody>,
}

/// A node of a cell.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Node)]
struct NodeBody {
    /// Its name.
    name: String,
    /// Where other nodes reach it.
    address: String,
    /// The last commit that its rows show.
    applied: u64,
    /// How many commits it lacks.
    behind: u64,
    /// How long ago it was seen, in milliseconds.
    seen_ms_ago: Option<u64>,
    /// Whether it was seen so lately that it is taken to be there.
    present: bool,
}

/// How a hand-over went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HandedOver)]
struct HandedOverBody {
    /// The node that may take the cell now, and does within moments; null when it stays where it is.
    to: Option<String>,
    /// Why it stays; null when it does not.
    error: Option<String>,
}

/// A duration in milliseconds; `None` if it does not fit.
fn millis(time: Duration) -> Option<u64> {
    u64::try_from(time.as_millis()).ok()
}

impl CellBody {
    /// All cells, as this node knows them now.
    pub(super) fn all(desk: &OperatorDesk) -> Vec<Self> {
        let all = desk.door.engine.cells().numbered();
        all.map(|(cell, store)| Self::now(desk, (cell, store.as_ref())))
            .collect()
    }

    /// One cell, as this node knows it now.
    fn now(desk: &OperatorDesk, (cell, store): (u32, &dyn Store)) -> Self {
        let door = &desk.door;
        let alone = Self::alone(door, (cell, store));
        let Some(node) = &door.node else { return alone };
        let alone = Self {
            owns: node.serves(cell),
            ..alone
        };
        let Some((standing, ago)) = node.standing(cell) else {
            return Self {
                node: Some(node.name().to_owned()),
                ..alone
            };
        };
        let head = standing.tail.commit.0.max(alone.commit);
        let shown = |seen: &Seen| NodeBody {
            name: seen.node.name.to_string(),
            address: seen.node.address.to_string(),
            applied: seen.node.applied.0,
            behind: head.abs_diff(seen.node.applied.0),
            seen_ms_ago: millis(seen.ago + ago),
            present: seen.ago + ago <= SEEN,
        };
        let left = standing.left.and_then(|left| left.checked_sub(ago));
        let owner = standing.owner.as_ref().filter(|_| left.is_some());
        Self {
            node: Some(node.name().to_owned()),
            owner: owner.map(ToString::to_string),
            epoch: Some(standing.epoch.0),
            lease_left_ms: left.and_then(millis),
            commit: head,
            asked_ms_ago: millis(ago),
            nodes: standing.nodes.iter().map(shown).collect(),
            ..alone
        }
    }

    /// A cell as this process has it, without other nodes.
    fn alone(door: &Door, (cell, store): (u32, &dyn Store)) -> Self {
        let stats = store.stats();
        Self {
            cell,
            node: None,
            owns: true,
            owner: None,
            epoch: None,
            lease_left_ms: None,
            realms: door.engine.platform().realms_in(cell),
            commit: stats.last_commit,
            journal_disk_bytes: stats.journal_disk_bytes,
            index_disk_bytes: stats.index_disk_bytes,
            error: store.ready().err().map(|why| why.to_string()),
            asked_ms_ago: None,
            nodes: Vec::new(),
        }
    }

    /// Its number.
    pub(super) const fn number(&self) -> u32 {
        self.cell
    }

    /// The name of the owner, if there is one.
    pub(super) fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// How many commits of a cell this node lacks, as far as it knows.
    pub(super) fn behind(desk: &OperatorDesk, node: &Node, cell: u32) -> u64 {
        let store = desk.door.engine.cells().cell(cell);
        let applied = store.map_or(0, |store| store.stats().last_commit);
        let head = node.head(cell).map_or(applied, |head| head.0);
        // The log's last report may be older than the last applied commit.
        head.max(applied) - applied
    }
}

/// A figure: name, help, value.
pub(super) type Figure = (&'static str, &'static str, u64);
/// A figure of a cell on this node, as far as it is known: name, help, value.
pub(super) type Gauge = (
    &'static str,
    &'static str,
    fn(&CellBody, &OperatorDesk, &Node) -> Option<u64>,
);

/// The gauges of each cell on this node.
pub(super) const GAUGES: [Gauge; 4] = [
    (
        "cell_owner",
        "1 when this node owns the cell.",
        |cell, _, _| Some(u64::from(cell.owns)),
    ),
    (
        "cell_epoch",
        "Counts the owners of the cell.",
        |cell, _, _| cell.epoch,
    ),
    (
        "cell_lease_left_ms",
        "How long the owner's lease lasts still, in milliseconds; absent when it is over.",
        |cell, _, _| cell.lease_left_ms,
    ),
    (
        "cell_behind_commits",
        "Commits of the log that this node lacks.",
        |cell, desk, node| Some(CellBody::behind(desk, node, cell.cell)),
    ),
];

/// The counters of this node.
pub(super) fn counters(node: &Node) -> [Figure; 6] {
    let passed = &node.passed;
    let of = |figure: &std::sync::atomic::AtomicU64| figure.load(Ordering::Relaxed);
    [
        (
            "cell_turns_total",
            "How often this node has begun to serve.",
            of(&passed.turns),
        ),
        (
            "cell_handed_over_total",
            "How often this node has handed the cell over.",
            of(&passed.handed_over),
        ),
        (
            "cell_passed_on_total",
            "Requests that were passed on and answered by the owner.",
            of(&passed.answered),
        ),
        (
            "cell_passed_again_total",
            "Waits for an owner before another try.",
            of(&passed.again),
        ),
        (
            "cell_passed_unknown_total",
            "Requests passed on whose outcome is not known here.",
            of(&passed.unknown),
        ),
        (
            "cell_passed_refused_total",
            "Requests for which there was no owner in time.",
            of(&passed.refused),
        ),
    ]
}

/// Shows the cells, with their owner and their nodes. Any node answers for all.
#[utoipa::path(
    get,
    path = "/admin/cells",
    operation_id = "listCells",
    tag = "Operation",
    responses((status = 200, body = Vec<CellBody>))
)]
pub async fn list(desk: web::Data<OperatorDesk>) -> HttpResponse {
    json(StatusCode::OK, &CellBody::all(&desk))
}

request! {
    /// Which node is to own the cell.
    strict struct HandOver as CellHandOver {
        /// Its name; the one that lacks least when there is none.
        to: Option<String> = optional("to", line(NAME_MAX)) as Option<String> { max_length = 64 };
    }
}

/// Gives a cell to another node, for instance before this one is upgraded. Its requests wait meanwhile; `error` says
/// why it stays where it is. The owner of the cell has to be asked.
#[utoipa::path(
    post,
    path = "/admin/cells/{cell}/hand-over",
    operation_id = "handOverCell",
    tag = "Operation",
    params(("cell" = u32, Path, description = "the number of the cell")),
    request_body(content = HandOver),
    responses((status = 200, body = HandedOverBody))
)]
pub async fn hand_over(
    desk: web::Data<OperatorDesk>,
    cell: web::Path<String>,
    sent: Body,
) -> Result<HttpResponse, ApiError> {
    let HandOver { to } = HandOver::read(sent)?;
    let here = desk.door.engine.cells().numbered();
    let mut numbers = here.map(|(number, _)| number);
    // A cell's number has one spelling.
    let Some(cell) = numbers.find(|number| number.to_string() == *cell) else {
        return super::not_found().await;
    };
    let given = match &desk.door.node {
        Some(node) => {
            let (node, door) = (Arc::clone(node), desk.door.clone());
            // The client may go away: a hand-over that began is completed.
            let given =
                rt::spawn(async move { node.hand_over(&door, (cell, to.as_deref())).await });
            let given = given.await.map_err(|why| why.to_string());
            given.and_then(|given| given.map_err(|why| why.to_string()))
        }
        None => Err("the cell has no other nodes: cell.listen is not set".to_owned()),
    };
    let body = match given {
        Ok(to) => HandedOverBody {
            to: Some(to.to_string()),
            error: None,
        },
        Err(why) => HandedOverBody {
            to: None,
            error: Some(why),
        },
    };
    Ok(json(StatusCode::OK, &body))
}
