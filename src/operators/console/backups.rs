//! Backups: the second place of the journal, how far it is behind, and shipping now.

use actix_web::HttpResponse;
use caudal_http::errors::ApiError;

use super::page_context::{PageContext, SubmittedForm};
use super::show::seen;
use super::view::{Block, Cell, Page, Part, Tone, facts};
use super::words::Word;

/// Shows the backup's progress.
pub(super) async fn page(context: &PageContext) -> Result<Page, ApiError> {
    let mut blocks = Vec::new();
    match &context.admin_state.backup {
        None => {
            blocks.push(context.note(Tone::Warn, Word::NoBackupHint));
        }
        Some(backup) => {
            let (locale, progress) = (context.locale(), backup.progress());
            if !progress.ships {
                let (by, text) = (progress.shipper, context.say(Word::ShippedElsewhere));
                let by = by.unwrap_or_else(|| "?".to_owned());
                blocks.push(Block::Note(Tone::Quiet, format!("{text}: {by}")));
                return Ok(context.page(Part::Backups, context.say(Word::Backups), blocks));
            }
            let last = context.operators().stats().last_commit;
            let failing = context.say(Word::Failing);
            let failed = progress.error.map(|why| format!("{failing}: {why}"));
            blocks.extend(failed.map(|text| Block::Note(Tone::Bad, text)));
            blocks.push(facts! {
                context, Backup;
                Place: Cell::code(progress.place);
                Store: Cell::code(progress.store);
                Every: locale.lasting(progress.every.as_secs());
                CommitThere: locale.maybe_count(progress.commit);
                LastCommit: locale.count(last);
                Lag: locale.lasting(progress.lag.as_secs());
                LagBytes: locale.bytes(progress.lag_bytes);
                CompleteAgo: progress
                    .complete
                    .map_or_else(|| Cell::figure(""), |ago| locale.lasting(ago.as_secs()));
                Objects: locale.count(progress.shipped.objects);
                Failures: locale.count(progress.failures);
            });
            let form = context.form(Word::ShipNow, "/console/backups", Vec::new());
            blocks.push(Block::Form(form));
        }
    }
    Ok(context.page(Part::Backups, context.say(Word::Backups), blocks))
}

/// Ships the new part of the journal, and shows the result.
pub(super) async fn ship(sent: SubmittedForm) -> HttpResponse {
    let mut failed = false;
    let shipped = async {
        if let Some(backup) = &sent.context.admin_state.backup {
            failed = backup.now().await.error.is_some();
        }
        Ok(())
    };
    match sent.does("shipBackup", "backup", shipped).await {
        // The page shows the error: a note that something was done would mean nothing.
        Ok(()) if failed => seen("/console/backups"),
        Ok(()) => sent.context.done("/console/backups"),
        Err(why) => sent.context.show(Err(why)),
    }
}
