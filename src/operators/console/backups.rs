//! Backups: the second place of the journal, how far it is behind, and shipping now.

use actix_web::HttpResponse;

use super::acts::AuditedAct;
use super::page_context::{PageContext, SubmittedForm};
use super::view::{Block, Cell, Form, Page, Part, Tone};
use super::words::Word;
use crate::admin::people::Power;

/// Shows the backup's progress.
pub(super) async fn page(context: PageContext) -> HttpResponse {
    let page = made(&context);
    context.show(Ok(page))
}

/// Ships the new part of the journal, and shows the result.
pub(super) async fn ship(sent: SubmittedForm) -> HttpResponse {
    let act = AuditedAct {
        action: "shipBackup",
        subject: "backup",
        power: Power::Act,
        grave: false,
    };
    let shipped = async {
        if let Some(backup) = &sent.context.admin_state.backup {
            backup.now().await;
        }
        Ok(())
    };
    match sent.does(act, shipped).await {
        Ok(()) => sent.context.done("/console/backups"),
        Err(why) => sent.context.show(Err(why)),
    }
}

fn made(context: &PageContext) -> Page {
    let mut blocks = Vec::new();
    match &context.admin_state.backup {
        None => {
            let text = context.say(Word::NoBackupHint);
            blocks.push(Block::Note(Tone::Warn, text.to_owned()));
        }
        Some(backup) => {
            let (locale, progress) = (context.locale(), backup.progress());
            if !progress.ships {
                let (by, text) = (progress.shipper, context.say(Word::ShippedElsewhere));
                let by = by.unwrap_or_else(|| "?".to_owned());
                blocks.push(Block::Note(Tone::Quiet, format!("{text}: {by}")));
                return context.page(Part::Backups, context.say(Word::Backups), blocks);
            }
            let last = context.engine().operators().stats().last_commit;
            // After a failed round its error is shown: the note that something was done would mean nothing.
            match &progress.error {
                Some(why) => blocks.push(Block::Note(
                    Tone::Bad,
                    format!("{}: {why}", context.say(Word::Failing)),
                )),
                None => blocks.extend(context.done_note()),
            }
            let facts = vec![
                (context.say(Word::Place), Cell::code(progress.place)),
                (context.say(Word::Store), Cell::code(progress.store)),
                (
                    context.say(Word::Every),
                    locale.lasting(progress.every.as_secs()),
                ),
                (
                    context.say(Word::CommitThere),
                    locale.maybe_count(progress.commit),
                ),
                (context.say(Word::LastCommit), locale.count(last)),
                (
                    context.say(Word::Lag),
                    locale.lasting(progress.lag.as_secs()),
                ),
                (
                    context.say(Word::LagBytes),
                    locale.bytes(progress.lag_bytes),
                ),
                (
                    context.say(Word::CompleteAgo),
                    progress
                        .complete
                        .map_or_else(|| Cell::figure(""), |ago| locale.lasting(ago.as_secs())),
                ),
                (
                    context.say(Word::Objects),
                    locale.count(progress.shipped.objects),
                ),
                (context.say(Word::Failures), locale.count(progress.failures)),
            ];
            blocks.push(Block::Facts(context.say(Word::Backup).to_owned(), facts));
            blocks.push(Block::Form(Form {
                title: context.say(Word::ShipNow).to_owned(),
                action: "/console/backups".to_owned(),
                asks: false,
                fields: Vec::new(),
                submit: context.say(Word::ShipNow),
                grave: false,
            }));
        }
    }
    context.page(Part::Backups, context.say(Word::Backups), blocks)
}
