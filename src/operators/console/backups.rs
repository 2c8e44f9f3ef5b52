//! Backups: the second place of the journal, how far it is behind, and shipping now.

use actix_web::HttpResponse;

use super::acts::Act;
use super::view::{Block, Cell, Form, Page, Part, Tone};
use super::visit::{Sent, Visit};
use super::words::Word;
use crate::admin::people::Power;

/// Shows the backup's progress.
pub(super) async fn page(visit: Visit) -> HttpResponse {
    let page = made(&visit);
    visit.show(Ok(page))
}

/// Ships the new part of the journal, and shows the result.
pub(super) async fn ship(sent: Sent) -> HttpResponse {
    let act = Act {
        action: "shipBackup",
        subject: "backup",
        power: Power::Act,
        grave: false,
    };
    let shipped = async {
        if let Some(backup) = &sent.visit.desk.backup {
            backup.now().await;
        }
        Ok(())
    };
    match sent.does(act, shipped).await {
        Ok(()) => sent.visit.done("/console/backups"),
        Err(why) => sent.visit.show(Err(why)),
    }
}

fn made(visit: &Visit) -> Page {
    let mut blocks = Vec::new();
    match &visit.desk.backup {
        None => {
            let text = visit.say(Word::NoBackupHint);
            blocks.push(Block::Note(Tone::Warn, text.to_owned()));
        }
        Some(backup) => {
            let (tongue, progress) = (visit.tongue(), backup.progress());
            if !progress.ships {
                let (by, text) = (progress.shipper, visit.say(Word::ShippedElsewhere));
                let by = by.unwrap_or_else(|| "?".to_owned());
                blocks.push(Block::Note(Tone::Quiet, format!("{text}: {by}")));
                return visit.page(Part::Backups, visit.say(Word::Backups), blocks);
            }
            let last = visit.engine().operators().stats().last_commit;
            // After a failed round its error is shown: the note that something was done would mean nothing.
            match &progress.error {
                Some(why) => blocks.push(Block::Note(
                    Tone::Bad,
                    format!("{}: {why}", visit.say(Word::Failing)),
                )),
                None => blocks.extend(visit.done_note()),
            }
            let facts = vec![
                (visit.say(Word::Place), Cell::code(progress.place)),
                (visit.say(Word::Store), Cell::code(progress.store)),
                (
                    visit.say(Word::Every),
                    tongue.lasting(progress.every.as_secs()),
                ),
                (
                    visit.say(Word::CommitThere),
                    tongue.maybe_count(progress.commit),
                ),
                (visit.say(Word::LastCommit), tongue.count(last)),
                (visit.say(Word::Lag), tongue.lasting(progress.lag.as_secs())),
                (visit.say(Word::LagBytes), tongue.bytes(progress.lag_bytes)),
                (
                    visit.say(Word::CompleteAgo),
                    progress
                        .complete
                        .map_or_else(|| Cell::figure(""), |ago| tongue.lasting(ago.as_secs())),
                ),
                (
                    visit.say(Word::Objects),
                    tongue.count(progress.shipped.objects),
                ),
                (visit.say(Word::Failures), tongue.count(progress.failures)),
            ];
            blocks.push(Block::Facts(visit.say(Word::Backup).to_owned(), facts));
            blocks.push(Block::Form(Form {
                title: visit.say(Word::ShipNow).to_owned(),
                action: "/console/backups".to_owned(),
                asks: false,
                fields: Vec::new(),
                submit: visit.say(Word::ShipNow),
                grave: false,
            }));
        }
    }
    visit.page(Part::Backups, visit.say(Word::Backups), blocks)
}
