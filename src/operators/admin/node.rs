//! The nodes of the log: which one owns it, how far the others are, and an operator's order to hand it over.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, rt, web};
use caudal_http::body::Body;
use caudal_http::body::read::line;
use caudal_http::errors::ApiError;
use caudal_http::node::hand_over::NotGiven;
use caudal_http::node::{Node, SEEN};
use caudal_http::request::request;
use caudal_http::respond::json;
use caudal_storage::log::SeenNode;
use serde::Serialize;
use utoipa::ToSchema;

use super::AdminState;

/// The longest name of a node, in characters.
const NAME_MAX: usize = 64;

/// This node, and the others that it knows.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Nodes)]
pub(crate) struct NodesBody {
    /// The name of the node that answers; null where there are no others.
    pub(crate) node: Option<String>,
    /// Whether this node owns the log and serves requests; any other returns `not_owner`.
    pub(crate) owns: bool,
    /// The name of the owner; null when nobody owns the log now, or there are no nodes.
    pub(crate) owner: Option<String>,
    /// Where clients reach the owner; null as `owner` is.
    pub(crate) owner_url: Option<String>,
    /// Counts the owners; null where there are no nodes.
    pub(crate) epoch: Option<u64>,
    /// How long the owner's lease lasts still unless it is renewed, in milliseconds; null when it is over.
    pub(crate) lease_left_ms: Option<u64>,
    /// The last commit of the log.
    pub(crate) commit: u64,
    /// How many commits this node lacks.
    pub(crate) behind: u64,
    /// Why this node does not do its part; null when it does.
    pub(crate) error: Option<String>,
    /// How long ago the log was asked for all this, in milliseconds; null where there are no nodes.
    pub(crate) asked_ms_ago: Option<u64>,
    /// The nodes that were seen lately, the owner among them.
    pub(crate) nodes: Vec<SeenBody>,
}

/// A node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Node)]
pub(crate) struct SeenBody {
    /// Its name.
    pub(crate) name: String,
    /// Where clients reach it.
    pub(crate) url: String,
    /// The last commit that its rows show.
    pub(crate) applied: u64,
    /// How many commits it lacks.
    pub(crate) behind: u64,
    /// How long ago it was seen, in milliseconds.
    pub(crate) seen_ms_ago: Option<u64>,
    /// Whether it was seen so lately that it is taken to be there.
    pub(crate) present: bool,
}

/// How a hand-over went.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HandedOver)]
struct HandedOverBody {
    /// The node that may take the log now, and does within moments; null when it stays where it is.
    to: Option<String>,
    /// Why it stays; null when it does not.
    error: Option<String>,
}

/// A duration in milliseconds; `None` if it does not fit.
fn millis(time: Duration) -> Option<u64> {
    u64::try_from(time.as_millis()).ok()
}

impl NodesBody {
    /// The nodes, as this one knows them now.
    pub(crate) fn now(admin_state: &AdminState) -> Self {
        let app = &admin_state.app;
        let applied = app.engine.operators().stats().last_commit;
        let node = app.node.as_ref();
        let alone = Self {
            node: node.map(|node| node.name().to_owned()),
            owns: app.is_owners(),
            owner: None,
            owner_url: None,
            epoch: None,
            lease_left_ms: None,
            commit: applied,
            behind: 0,
            error: app.ready().err().map(|why| why.to_string()),
            asked_ms_ago: None,
            nodes: Vec::new(),
        };
        let cluster_view = node.and_then(|node| Some((node, node.cluster_view()?)));
        let Some((node, (cluster_view, ago))) = cluster_view else {
            return alone;
        };
        // The log's last report may be older than the last applied commit.
        let head = cluster_view.tail.commit.0.max(applied);
        let shown = |seen: &SeenNode| SeenBody {
            name: seen.node.name.to_string(),
            url: seen.node.url.to_string(),
            applied: seen.node.applied.0,
            behind: head.abs_diff(seen.node.applied.0),
            seen_ms_ago: millis(seen.ago + ago),
            present: seen.ago + ago <= SEEN,
        };
        let left = cluster_view.left.and_then(|left| left.checked_sub(ago));
        let owner = cluster_view.owner_after(ago);
        Self {
            owner: owner.map(ToString::to_string),
            owner_url: node.owner_url().map(|url| url.to_string()),
            epoch: Some(cluster_view.epoch.0),
            lease_left_ms: left.and_then(millis),
            commit: head,
            behind: head.abs_diff(applied),
            asked_ms_ago: millis(ago),
            nodes: cluster_view.nodes.iter().map(shown).collect(),
            ..alone
        }
    }
}

/// A figure: name, help, value.
pub(super) type NodeFigure = (&'static str, &'static str, u64);
/// A figure of this node, as far as it is known: name, help, value.
pub(super) type Gauge = (&'static str, &'static str, fn(&NodesBody) -> Option<u64>);

/// The gauges of this node.
pub(super) const GAUGES: [Gauge; 4] = [
    (
        "node_owner",
        "1 when this node owns the log and serves requests.",
        |nodes| Some(u64::from(nodes.owns)),
    ),
    ("node_epoch", "Counts the owners of the log.", |nodes| {
        nodes.epoch
    }),
    (
        "node_lease_left_ms",
        "How long the owner's lease lasts still, in milliseconds; absent when it is over.",
        |nodes| nodes.lease_left_ms,
    ),
    (
        "node_behind_commits",
        "Commits of the log that this node lacks.",
        |nodes| Some(nodes.behind),
    ),
];

/// The counters of this node.
pub(super) fn counters(node: &Node) -> [NodeFigure; 3] {
    let of = |figure: &std::sync::atomic::AtomicU64| figure.load(Ordering::Relaxed);
    [
        (
            "node_turns_total",
            "How often this node has begun to serve.",
            of(&node.counts.turns),
        ),
        (
            "node_handed_over_total",
            "How often this node has handed the log over.",
            of(&node.counts.handed_over),
        ),
        (
            "node_not_owner_total",
            "Requests that were refused because this node does not own the log.",
            of(&node.counts.refused),
        ),
    ]
}

/// Shows which node owns the log, and the others and how far they are. Any node answers.
#[utoipa::path(
    get,
    path = "/admin/node",
    tag = "Operation",
    responses((status = 200, body = NodesBody))
)]
pub(crate) async fn show(admin_state: web::Data<AdminState>) -> HttpResponse {
    json(StatusCode::OK, &NodesBody::now(&admin_state))
}

request! {
    /// Which node is to own the log.
    strict struct HandOver as NodeHandOver {
        /// Its name; the one that lacks least when there is none.
        to: Option<String> = optional("to", line(NAME_MAX)) as Option<String> { max_length = 64 };
    }
}

/// Gives the log to another node, for instance before this one is upgraded. Until that node serves, requests are
/// `not_owner`, and clients repeat them; `error` says why it stays where it is. The owner has to be asked. The entry of
/// the audit log says that it began, and none says how it ended: by then another node writes.
#[utoipa::path(
    post,
    path = "/admin/node/hand-over",
    tag = "Operation",
    request_body(content = HandOver),
    responses((status = 200, body = HandedOverBody))
)]
pub(crate) async fn hand_over(
    admin_state: web::Data<AdminState>,
    sent: Body,
) -> Result<HttpResponse, ApiError> {
    let HandOver { to } = HandOver::read(sent)?;
    let given = match &admin_state.app.node {
        Some(node) => {
            let (node, app) = (Arc::clone(node), admin_state.app.clone());
            // The client may go away: a hand-over that began is completed.
            let given = rt::spawn(async move { node.hand_over(&app, to.as_deref()).await });
            match given.await {
                Ok(Err(NotGiven::NotOwner)) => return Err(admin_state.app.refusal()),
                Ok(given) => given.map_err(|why| why.to_string()),
                Err(why) => Err(why.to_string()),
            }
        }
        None => Err("there are no other nodes: cell.public_url is not set".to_owned()),
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
