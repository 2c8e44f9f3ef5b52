//! The journal and the index: their figures, the findings of the background check, and a verification of everything.

use actix_web::HttpResponse;
use caudal_actors::verify::Report;
use caudal_ledger::time::Timestamp;
use caudal_storage::Stats;

use super::acts::Act;
use super::view::{Block, Cell, Form, Page, Part, Table, Tone};
use super::visit::{Sent, Visit};
use super::words::Word;
use crate::admin::people::Power;

/// Shows the journal.
pub async fn page(visit: Visit) -> HttpResponse {
    let page = made(&visit, None);
    visit.show(Ok(page))
}

/// Verifies everything, then shows the findings.
pub async fn verify(sent: Sent) -> HttpResponse {
    let act = Act {
        action: "verify",
        subject: "verify",
        power: Power::Read,
        grave: false,
    };
    let visit = &sent.visit;
    let mut found = None;
    let verified = async {
        found = Some(visit.desk.verified().await?);
        Ok(())
    };
    let done = sent.does(act, verified).await;
    visit.show(done.map(|()| made(visit, found.as_ref())))
}

fn made(visit: &Visit, report: Option<&Report>) -> Page {
    let mut blocks = Vec::new();
    blocks.extend(
        report
            .into_iter()
            .flat_map(|report| verified(visit, report)),
    );
    if let Err(why) = visit.desk.door.ready() {
        let text = format!("{}: {why}", visit.say(Word::NotReady));
        blocks.push(Block::Note(Tone::Bad, text));
    }
    blocks.extend(figures(visit));
    blocks.extend(check(visit));
    blocks.push(Block::Form(Form {
        title: visit.say(Word::Verify).to_owned(),
        action: "/console/journal".to_owned(),
        asks: false,
        fields: Vec::new(),
        submit: visit.say(Word::Verify),
        grave: false,
    }));
    visit.page(Part::Journal, visit.say(Word::Journal), blocks)
}

fn verified(visit: &Visit, report: &Report) -> Vec<Block> {
    let tongue = visit.tongue();
    let note = match report.count {
        0 => Block::Note(Tone::Good, visit.say(Word::NothingDiffers).to_owned()),
        count => {
            let text = format!(
                "{}: {}",
                visit.say(Word::Differences),
                tongue.count(count).text
            );
            Block::Note(Tone::Bad, text)
        }
    };
    let facts = vec![
        (visit.say(Word::LastCommit), tongue.count(report.commit)),
        (visit.say(Word::Entries), tongue.count(report.entries)),
        (visit.say(Word::Accounts), tongue.count(report.accounts)),
        (visit.say(Word::Vouchers), tongue.count(report.vouchers)),
        (visit.say(Word::Actors), tongue.count(report.actors)),
    ];
    let mut blocks = vec![
        note,
        Block::Facts(visit.say(Word::Verification).to_owned(), facts),
    ];
    if !report.differences.is_empty() {
        let text = report.differences.join("\n");
        blocks.push(Block::Text(visit.say(Word::Differences).to_owned(), text));
    }
    blocks
}

fn figures(visit: &Visit) -> [Block; 2] {
    let (tongue, stats) = (visit.tongue(), visit.engine().stats());
    let index = vec![
        (
            visit.say(Word::IndexOnDisk),
            tongue.bytes(stats.index_disk_bytes),
        ),
        (visit.say(Word::IndexLag), tongue.count(stats.index_lag())),
        (visit.say(Word::Runs), tongue.count(stats.index_runs)),
        (
            visit.say(Word::BlocksRead),
            tongue.count(stats.index_blocks_read),
        ),
        (
            visit.say(Word::BlocksCached),
            tongue.count(stats.index_blocks_cached),
        ),
        (
            visit.say(Word::BlockCache),
            tongue.bytes(stats.block_cache_bytes),
        ),
        (
            visit.say(Word::Rebuilt),
            tongue.is(stats.index_rebuilt, Tone::Quiet),
        ),
    ];
    [
        Block::Facts(visit.say(Word::Journal).to_owned(), journal(visit, &stats)),
        Block::Facts(visit.say(Word::Index).to_owned(), index),
    ]
}

fn journal(visit: &Visit, stats: &Stats) -> Vec<(&'static str, Cell)> {
    let tongue = visit.tongue();
    let mean = |sum: u64, count: u64| {
        let tenths = sum.checked_mul(10).and_then(|sum| sum.checked_div(count));
        tenths.map_or_else(|| Cell::figure(""), |tenths| tongue.tenths(tenths))
    };
    vec![
        (visit.say(Word::LastCommit), tongue.count(stats.last_commit)),
        (visit.say(Word::Commits), tongue.count(stats.commits)),
        (visit.say(Word::Entries), tongue.count(stats.entries)),
        (visit.say(Word::Flushes), tongue.count(stats.flushes)),
        (
            visit.say(Word::GroupSize),
            mean(stats.commits, stats.flushes),
        ),
        (
            visit.say(Word::LastFlush),
            tongue.count(stats.last_flush_us),
        ),
        (
            visit.say(Word::FlushMicros),
            mean(stats.flush_us, stats.flushes),
        ),
        (visit.say(Word::QueuedCommits), tongue.count(stats.queued)),
        (
            visit.say(Word::JournalOnDisk),
            tongue.bytes(stats.journal_disk_bytes),
        ),
        (
            visit.say(Word::WitnessCommit),
            tongue.count(stats.witness_commit),
        ),
        (
            visit.say(Word::WitnessChain),
            Cell::hash(stats.witness_chain),
        ),
    ]
}

fn check(visit: &Visit) -> [Block; 2] {
    let (tongue, checks) = (visit.tongue(), visit.engine().checks());
    let ended = (checks.rounds > 0).then(|| Timestamp::from_millis(checks.ended_at));
    let facts = vec![
        (visit.say(Word::Round), tongue.count(checks.round)),
        (visit.say(Word::ReadSoFar), tongue.bytes(checks.done_bytes)),
        (visit.say(Word::ToRead), tongue.bytes(checks.total_bytes)),
        (visit.say(Word::LastRound), tongue.maybe_time(ended)),
        (visit.say(Word::Findings), tongue.count(checks.found)),
    ];
    let columns = [
        (Word::Where, false),
        (Word::Offset, true),
        (Word::Reason, false),
        (Word::At, false),
    ];
    let rows = checks.findings.into_iter().map(|finding| {
        vec![
            Cell::code(finding.place),
            tongue.maybe_count(finding.offset),
            Cell::text(finding.why),
            tongue.time(Timestamp::from_millis(finding.at)),
        ]
    });
    let table = Table::new(tongue, Word::Findings, Word::NothingDamaged, &columns).with(rows);
    [
        Block::Facts(visit.say(Word::BackgroundCheck).to_owned(), facts),
        Block::Table(table),
    ]
}
