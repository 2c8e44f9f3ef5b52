//! The nodes of the log: which one owns it, how far the others are, and an operator's order to hand it over.

use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpResponse, rt};
use caudal_http::bodies::body;
use caudal_http::body::Body;
use caudal_http::body::read::line;
use caudal_http::errors::HandlerResult;
use caudal_http::node::SEEN;
use caudal_http::node::hand_over::NotGiven;
use caudal_http::request::request;
use caudal_storage::log::SeenNode;

use super::{AdminState, State, ok};

/// The longest name of a node, in characters.
const NAME_MAX: usize = 64;

body! {
    /// This node, and the others that it knows.
    pub(crate) struct NodesBody as Nodes of(admin_state: &AdminState) {
        => let app = &admin_state.app;
        => let applied = app.engine.operators().stats().last_commit;
        => let node = app.node.as_ref();
        => let (known, ago) = node.and_then(|node| node.cluster_view()).unzip();
        => let (view, since) = (known.as_ref(), ago.map_or(Duration::ZERO, |ago| ago));
        // The log's last report may be older than the last applied commit.
        => let head = view.map_or(applied, |view| view.tail.commit.0.max(applied));
        => let left = view.and_then(|view| view.left?.checked_sub(since));
        => let url = node.filter(|_| view.is_some()).and_then(|node| node.owner_url());
        => let seen = view.into_iter().flat_map(|view| view.nodes.iter());
        /// The name of the node that answers; null where there are no others.
        node: Option<String> = node.map(|node| node.name().to_owned());
        /// Whether this node owns the log and serves requests; any other returns `not_owner`.
        owns: bool = app.is_owners();
        /// The name of the owner; null when nobody owns the log now, or there are no nodes.
        owner: Option<String> = view.and_then(|view| view.owner_after(since)).map(ToString::to_string);
        /// Where clients reach the owner; null as `owner` is.
        owner_url: Option<String> = url.map(|url| url.to_string());
        /// Counts the owners; null where there are no nodes.
        epoch: Option<u64> = view.map(|view| view.epoch.0);
        /// How long the owner's lease lasts still unless it is renewed, in milliseconds; null when it is over.
        lease_left_ms: Option<u64> = left.and_then(millis);
        /// The last commit of the log.
        commit: u64 = head;
        /// How many commits this node lacks.
        behind: u64 = head.abs_diff(applied);
        /// Why this node does not do its part; null when it does.
        error: Option<String> = app.ready().err().map(|why| why.to_string());
        /// How long ago the log was asked for all this, in milliseconds; null where there are no nodes.
        asked_ms_ago: Option<u64> = ago.and_then(millis);
        /// The nodes that were seen lately, the owner among them.
        nodes: Vec<SeenBody> = seen.map(|seen| SeenBody::of(seen, since, head)).collect();
    }
}

body! {
    /// A node.
    pub(crate) struct SeenBody as Node of(seen: &SeenNode, ago: Duration, head: u64) {
        => let (node, ago) = (&seen.node, seen.ago + ago);
        /// Its name.
        name: String = node.name.to_string();
        /// Where clients reach it.
        url: String = node.url.to_string();
        /// The last commit that its rows show.
        applied: u64 = node.applied.0;
        /// How many commits it lacks.
        behind: u64 = head.abs_diff(node.applied.0);
        /// How long ago it was seen, in milliseconds.
        seen_ms_ago: Option<u64> = millis(ago);
        /// Whether it was seen so lately that it is taken to be there.
        present: bool = ago <= SEEN;
    }
}

body! {
    /// How a hand-over went.
    struct HandedOverBody as HandedOver from given: Result<String, String> {
        => let (to, error) = match given {
            Ok(to) => (Some(to), None),
            Err(why) => (None, Some(why)),
        };
        /// The node that may take the log now, and does within moments; null when it stays where it is.
        to: Option<String> = to;
        /// Why it stays; null when it does not.
        error: Option<String> = error;
    }
}

/// A duration in milliseconds; `None` if it does not fit.
fn millis(time: Duration) -> Option<u64> {
    u64::try_from(time.as_millis()).ok()
}

/// Shows which node owns the log, and the others and how far they are. Any node answers.
#[utoipa::path(
    get,
    path = "/admin/node",
    responses((status = 200, body = NodesBody))
)]
pub(crate) async fn show(admin_state: State) -> HttpResponse {
    ok(&NodesBody::of(&admin_state))
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
    request_body(content = HandOver),
    responses((status = 200, body = HandedOverBody))
)]
pub(crate) async fn hand_over(admin_state: State, sent: Body) -> HandlerResult {
    let HandOver { to } = HandOver::read(sent)?;
    let given = match &admin_state.app.node {
        Some(node) => {
            let (node, app) = (Arc::clone(node), admin_state.app.clone());
            // The client may go away: a hand-over that began is completed.
            let given = rt::spawn(async move { node.hand_over(&app, to.as_deref()).await });
            match given.await {
                Ok(Err(NotGiven::NotOwner)) => return Err(admin_state.app.refusal()),
                Ok(given) => given
                    .map(|to| to.to_string())
                    .map_err(|why| why.to_string()),
                Err(why) => Err(why.to_string()),
            }
        }
        None => Err("there are no other nodes: cell.public_url is not set".to_owned()),
    };
    Ok(ok(&HandedOverBody::from(given)))
}
