//! The nodes of the log: which one owns it, and how far the others are. Every node shows it.

use actix_web::HttpResponse;
use serde_json::Value;

use super::operations::{OperationForm, of_subjects};
use super::page_context::PageContext;
use super::problems::needed;
use super::view::{Block, Cell, Page, Part, Table, Tone};
use super::words::Word;
use crate::admin::node::{NodesBody, SeenBody};
use crate::admin::observed::Observed;

/// Shows the nodes.
pub(super) async fn page(context: PageContext) -> HttpResponse {
    context
        .answer((), async |context: &PageContext, ()| {
            let observed = Observed::now(&context.admin_state).await;
            Ok(made(context, &observed))
        })
        .await
}

fn made(context: &PageContext, observed: &Observed) -> Page {
    let (locale, found) = (context.locale(), NodesBody::now(&context.admin_state));
    let mut blocks = vec![needed(context, observed)];
    let Some(name) = &found.node else {
        let note = context.say(Word::NoNodes).to_owned();
        blocks.push(Block::Note(Tone::Quiet, note));
        return context.page(Part::Node, context.say(Word::Nodes), blocks);
    };
    if !found.owns {
        let note = context.say(Word::StandbyHint).to_owned();
        blocks.push(Block::Note(Tone::Warn, note));
    }
    let facts = vec![
        (context.say(Word::ThisNode), Cell::code(name)),
        (
            context.say(Word::OwnsLog),
            locale.is(found.owns, Tone::Quiet),
        ),
        (
            context.say(Word::LogOwner),
            Cell::maybe_code(found.owner.as_ref()),
        ),
        (
            context.say(Word::PublicUrl),
            Cell::maybe_code(found.owner_url.as_ref()),
        ),
        (context.say(Word::Epoch), locale.maybe_count(found.epoch)),
        (
            context.say(Word::LeaseLeftMs),
            locale.maybe_count(found.lease_left_ms),
        ),
        (context.say(Word::LastCommit), locale.count(found.commit)),
    ];
    blocks.push(Block::Facts(context.say(Word::Log).to_owned(), facts));
    let columns = [
        (Word::Name, false),
        (Word::PublicUrl, false),
        (Word::LastCommit, true),
        (Word::CommitsBehind, true),
        (Word::SeenMsAgo, true),
        (Word::Present, false),
    ];
    let row = |node: &SeenBody| {
        vec![
            Cell::code(&node.name),
            Cell::code(&node.url),
            locale.count(node.applied),
            locale.count(node.behind),
            locale.maybe_count(node.seen_ms_ago),
            locale.is(node.present, Tone::Warn),
        ]
    };
    let table = Table::new(locale, Word::Nodes, Word::NothingHere, &columns);
    blocks.push(Block::Table(table.with(found.nodes.iter().map(row))));
    let others = found
        .nodes
        .iter()
        .filter(|node| node.present && node.name != *name);
    let others: Vec<String> = others.map(|node| node.name.clone()).collect();
    if found.owns && !others.is_empty() {
        let which = OperationForm::HandOver;
        blocks.extend(of_subjects(context, which, "", &Value::Null, others));
    }
    context.page(Part::Node, context.say(Word::Nodes), blocks)
}
