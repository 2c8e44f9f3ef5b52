//! The audit log for auditors: newest first, as pages of JSON or as one JSON entry per line.

use std::collections::BTreeMap;

use actix_web::http::header::{ACCEPT, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse};
use caudal_actors::engine::lists::{ListCursor, Listing};
use caudal_actors::engine::people::{AuditPage, AuditQuery, AuditRow};
use caudal_actors::failure::Failure;
use caudal_http::AppState;
use caudal_http::bodies::body;
use caudal_http::cursors;
use caudal_http::errors::ApiError;
use caudal_http::params::params;
use caudal_http::query::{LIMIT_DEFAULT, LIMIT_MAX, Query};
use caudal_http::respond::next;
use caudal_http::shapes::DayOrInstant;
use caudal_http::text;
use caudal_ledger::people::audit::{AuditDetails, AuditFilter, AuditOutcome};
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::changes::ChangeBody;
use super::{State, ok};

/// The media type of one JSON entry per line.
const NDJSON: &str = "application/x-ndjson";

body! {
    /// An entry of the audit log.
    pub(super) struct EntryBody as AuditEntry from row: AuditRow {
        => let entry = row.entry;
        => let (status, of, approval) = match entry.outcome {
            AuditOutcome::Done { of, status } | AuditOutcome::Failed { of, status } => {
                (Some(status), Some(of), None)
            }
            AuditOutcome::Asked { approval } => (None, None, Some(approval)),
            AuditOutcome::Begun | AuditOutcome::Looked | AuditOutcome::Denied => (None, None, None),
        };
        => let AuditDetails {
            shown,
            changes,
            second,
        } = entry.details;
        /// Its place in the log, from 1 without gaps.
        sequence: u64 = row.sequence;
        at: String = row.at.to_string();
        /// The name of the person; `root` is the configured admin key. Of reads with a key of a tenant (role `key`) its id.
        operator: String = entry.operator;
        role: &'static str = entry.role.as_str();
        /// What was done: the id of the operation.
        action: String = entry.action;
        /// What it was done to; of a look, the list or page with its query, as it was sent.
        subject: String = entry.subject;
        /// Why; empty where nobody had to say.
        reason: String = entry.reason;
        request_id: String = entry.request_id;
        /// `begun` (about to be done), `done`, `failed` (refused, or not known), `looked`, `denied` (the role may not) or
        /// `asked` (it waits for a second person). What has no end stays `begun`.
        outcome: &'static str = entry.outcome.as_str();
        /// The HTTP status with which it ended.
        status: Option<u16> = status;
        /// The entry that says that it was begun.
        of: Option<u64> = of;
        /// The approval for which it waits, or by which it was done.
        approval: Option<u64> = approval.or(second.as_ref().map(|it| it.approval));
        /// Who approved it.
        approved_by: Option<String> = second.as_ref().map(|it| it.by.clone());
        /// Why that person approved it.
        approval_reason: Option<String> = second.map(|it| it.reason);
        /// The CVUs that were shown, each with how often: at most 500. `TENANT/MODE/*` stands for exports and streams of that
        /// realm.
        shown: BTreeMap<String, u64> = shown;
        /// The fields that changed, or that would once it is approved.
        changes: Vec<ChangeBody> = changes.into_iter().map(ChangeBody::from).collect();
        /// How many checks and denials of this operator, between their entry before this one and this one, have no entry:
        /// 20 at once and one more every 3 s have one.
        omitted: u64 = entry.omitted;
    }
}

/// A page of the audit log.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AuditPage)]
struct PageBody {
    items: Vec<EntryBody>,
    /// Where the log goes on, as in `X-Next-Cursor`; null at its end.
    next_cursor: Option<String>,
}

params! {
    /// Which entries of the audit log.
    pub struct AuditParams {
        /// Only those of this person, or of `root`.
        operator: Option<String> = text("operator") as Option<String>;
        /// Only this action, for instance `decideTransfer`.
        action: Option<String> = text("action") as Option<String>;
        /// Only those about this tenant, key, CVU, CUIT, case or name: done to it, asked for, or shown. Of a CUIT, those about
        /// its accounts.
        subject: Option<String> = text("subject") as Option<String>;
        /// Only those of the request with this id.
        request_id: Option<String> = text("requestId") as Option<String>;
        /// A date or date-time; not before it.
        from: Option<Timestamp> = since("from") as Option<DayOrInstant>;
        /// A date (the whole day) or date-time; not after it.
        to: Option<Timestamp> = until("to") as Option<DayOrInstant>;
        => |query| query.in_order("from", from, "to", to);
        /// How many, 1 to 200; 50 when absent.
        limit: Option<u64> = integer("limit", 1, LIMIT_MAX)
            as Option<u32> { minimum = 1, maximum = 200 };
        /// A value of `X-Next-Cursor`.
        cursor: Option<ListCursor> = cursor("cursor") as Option<String>;
    }
}

/// The names of a subject that is searched for; none if none is. What keys have read so far is written first, so that
/// the search finds it.
///
/// # Errors
/// When the store takes no writes; those of every read.
pub(crate) async fn subjects(
    app: &AppState,
    subject: Option<&str>,
) -> Result<Vec<String>, ApiError> {
    app.key_reads.write(&app.engine).await?;
    match subject {
        Some(subject) => Ok(app.engine.operators().names_of(subject).await?),
        None => Ok(Vec::new()),
    }
}

/// Lists the audit log, newest first. Counts of reads with keys (`readByKey`) are listed only with a subject, an action or
/// an operator. A page with few entries or none still says in `X-Next-Cursor` where the log
/// goes on. With `Accept: application/x-ndjson` it is one entry a line.
#[utoipa::path(
    get,
    path = "/admin/audit",
    params(AuditParams),
    responses((status = 200, content((PageBody = "application/json"), (String = "application/x-ndjson"))))
)]
pub(super) async fn list(
    admin_state: State,
    request: HttpRequest,
    query: Query,
) -> Result<HttpResponse, ApiError> {
    let sent = AuditParams::read(query)?;
    let limit = sent.limit.unwrap_or(LIMIT_DEFAULT);
    let asked = AuditQuery {
        filter: AuditFilter {
            operator: sent.operator,
            action: sent.action,
            subjects: subjects(&admin_state.app, sent.subject.as_deref()).await?,
            request_id: sent.request_id,
        },
        from: sent.from,
        to: sent.to,
        before: sent.cursor.map(|cursor| cursor.number),
        limit: usize::try_from(limit).map_err(|_| Failure::Bug)?,
    };
    let AuditPage { rows, next: more } = admin_state.operators().audit_page(asked).await?;
    let items: Vec<_> = rows.into_iter().map(EntryBody::from).collect();
    let listing: Listing<()> = Listing {
        items: Vec::new(),
        total: 0,
        next: more.map(ListCursor::from),
        looked: None,
    };
    let lines = request.headers().get(ACCEPT);
    let lines = lines.is_some_and(|accept| accept.as_bytes() == NDJSON.as_bytes());
    let answer = if lines {
        let lines = items.iter().map(|item| text::json(item) + "\n");
        HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, NDJSON))
            .body(lines.collect::<String>())
    } else {
        let next_cursor = cursors::written(&listing);
        ok(&PageBody { items, next_cursor })
    };
    Ok(next(&listing, answer))
}
