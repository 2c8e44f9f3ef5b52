//! The nodes of the log: which one owns it, and how far the others are. Every node shows it.

use actix_web::HttpResponse;

use super::view::{Block, Cell, Page, Part, Table, Tone};
use super::visit::Visit;
use super::words::Word;
use crate::admin::node::{NodesBody, SeenBody};

/// Shows the nodes.
pub(super) async fn page(visit: Visit) -> HttpResponse {
    let page = made(&visit);
    visit.show(Ok(page))
}

fn made(visit: &Visit) -> Page {
    let (tongue, found) = (visit.tongue(), NodesBody::now(&visit.desk));
    let mut blocks = Vec::new();
    if let Some(why) = &found.error {
        let text = format!("{}: {why}", visit.say(Word::NotReady));
        blocks.push(Block::Note(Tone::Bad, text));
    }
    let Some(name) = &found.node else {
        let note = visit.say(Word::NoNodes).to_owned();
        blocks.push(Block::Note(Tone::Quiet, note));
        return visit.page(Part::Node, visit.say(Word::Nodes), blocks);
    };
    if !found.owns {
        let note = visit.say(Word::StandbyHint).to_owned();
        blocks.push(Block::Note(Tone::Warn, note));
    }
    let facts = vec![
        (visit.say(Word::ThisNode), Cell::code(name)),
        (visit.say(Word::OwnsLog), tongue.is(found.owns, Tone::Quiet)),
        (
            visit.say(Word::LogOwner),
            Cell::maybe_code(found.owner.as_ref()),
        ),
        (
            visit.say(Word::PublicUrl),
            Cell::maybe_code(found.owner_url.as_ref()),
        ),
        (visit.say(Word::Epoch), tongue.maybe_count(found.epoch)),
        (
            visit.say(Word::LeaseLeftMs),
            tongue.maybe_count(found.lease_left_ms),
        ),
        (visit.say(Word::LastCommit), tongue.count(found.commit)),
    ];
    blocks.push(Block::Facts(visit.say(Word::Log).to_owned(), facts));
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
            tongue.count(node.applied),
            tongue.count(node.behind),
            tongue.maybe_count(node.seen_ms_ago),
            tongue.is(node.present, Tone::Warn),
        ]
    };
    let table = Table::new(tongue, Word::Nodes, Word::NothingHere, &columns);
    blocks.push(Block::Table(table.with(found.nodes.iter().map(row))));
    visit.page(Part::Node, visit.say(Word::Nodes), blocks)
}
