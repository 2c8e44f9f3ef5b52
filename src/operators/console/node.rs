//! The nodes of the log: which one owns it, and how far the others are. Every node shows it.

use caudal_http::errors::ApiError;
use serde_json::Value;

use super::operations::{OperationForm, of_subjects};
use super::page_context::PageContext;
use super::problems::needed;
use super::view::{Block, Cell, Page, Part, Tone, facts, table};
use super::words::Word;
use crate::admin::node::NodesBody;
use crate::admin::observed::Observed;

/// Shows the nodes.
pub(super) async fn page(context: &PageContext) -> Result<Page, ApiError> {
    let observed = Observed::now(&context.admin_state).await;
    let (locale, found) = (context.locale(), NodesBody::of(&context.admin_state));
    let mut blocks = vec![needed(context, &observed)];
    let Some(name) = &found.node else {
        blocks.push(context.note(Tone::Quiet, Word::NoNodes));
        return Ok(context.page(Part::Node, context.say(Word::Nodes), blocks));
    };
    if !found.owns {
        blocks.push(context.note(Tone::Warn, Word::StandbyHint));
    }
    blocks.push(facts! {
        context, Log;
        ThisNode: Cell::code(name);
        OwnsLog: locale.is(found.owns, Tone::Quiet);
        LogOwner: Cell::maybe_code(found.owner.as_ref());
        PublicUrl: Cell::maybe_code(found.owner_url.as_ref());
        Epoch: locale.maybe_count(found.epoch);
        LeaseLeftMs: locale.maybe_count(found.lease_left_ms);
        LastCommit: locale.count(found.commit);
    });
    blocks.push(Block::Table(table! {
        locale, Word::Nodes, Word::NothingHere; node in &found.nodes;
        Name: Cell::code(&node.name);
        PublicUrl: Cell::code(&node.url);
        LastCommit figure: locale.count(node.applied);
        CommitsBehind figure: locale.count(node.behind);
        SeenMsAgo figure: locale.maybe_count(node.seen_ms_ago);
        Present: locale.is(node.present, Tone::Warn);
    }));
    let others = found.nodes.iter();
    let others = others.filter(|node| node.present && node.name != *name);
    let others: Vec<String> = others.map(|node| node.name.clone()).collect();
    if found.owns && !others.is_empty() {
        let which = OperationForm::HandOver;
        blocks.extend(of_subjects(context, which, "", &Value::Null, others));
    }
    Ok(context.page(Part::Node, context.say(Word::Nodes), blocks))
}
