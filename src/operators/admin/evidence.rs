//! Evidence: what an auditor or a court asks for about an account, a person, a case or a day, as one archive.
//!
//! **Shape.** One answer is a ZIP archive of tables and lines of JSON, with an index that has the SHA-256 of every other
//! file ([`folder`]). The files come from the reads of the API and of the audit log; nothing is computed here. Only one
//! realm is read, and what the audit log has of other tenants is left out ([`looks`]).
//!
//! **Bounds.** [`EVIDENCE_ROWS_MAX`] rows and [`EVIDENCE_BYTES_MAX`] bytes before compression, all in memory: beyond that
//! `from` and `to` have to be closer. The newest [`EVIDENCE_DAYS_MAX`] days are compared with the bank; the index
//! names the others. A permit among the operators' long answers, and their turn: one archive is made at a time.
//!
//! **Failure.** A failed read is an error, and there is no archive. A day that cannot be compared with the bank is named
//! in the index, with the error.

mod folder;
mod gathering;
mod looks;

use std::collections::BTreeMap;

use actix_web::HttpResponse;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use caudal_actors::failure::Failure;
use caudal_http::errors::ApiError;
use caudal_http::params::params;
use caudal_http::query::Query;
use caudal_http::words::Mistake;
use caudal_ledger::cases::CaseId;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Mode;
use caudal_ledger::time::BusinessDay;

use self::gathering::{Gathering, Subject};
use super::access::Acting;
use super::looks::AlsoShown;
use super::tenants::TenantInPath;
use super::{PathPart, State, keys};

/// The most rows of all files.
const EVIDENCE_ROWS_MAX: u64 = 100_000;
/// The most bytes of all files before they are compressed: 64 MiB.
const EVIDENCE_BYTES_MAX: u64 = 64 << 20;
/// The most days that are compared with the bank, and whose seals are added.
const EVIDENCE_DAYS_MAX: usize = 31;
/// The media type of an archive.
const ZIP: &str = "application/zip";
/// The parameters of which there is exactly one, as messages name them.
const ONE: &str = "cvu, cuit, case or date";

params! {
    /// What evidence is about.
    pub struct EvidenceParams {
        /// `live` or `test`
        mode: Mode = required("mode", keys::mode) as String { pattern = "^(live|test)$" };
        /// The account with this CVU
        cvu: Option<Cvu> = read("cvu", Cvu::parse) as Option<String> { pattern = "^[0-9]{22}$" };
        /// All accounts of the person with this CUIT or CUIL
        cuit: Option<Cuit> = read("cuit", Cuit::parse_relaxed) as Option<String> { pattern = "^[0-9]{11}$" };
        /// The case with this id, and the account that it is about
        case: Option<String> = text("case") as Option<String>;
        /// The whole realm on this day
        date: Option<BusinessDay> = date("date") as Option<String>;
        /// Not before this day; the beginning of the account when absent
        from: Option<BusinessDay> = date("from") as Option<String>;
        /// Not after this day; today when absent
        to: Option<BusinessDay> = date("to") as Option<String>;
        => |query| ordered(query, from, to);
    }
}

/// Notes days that are not in order.
fn ordered(query: &mut Query, from: Option<BusinessDay>, to: Option<BusinessDay>) {
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        query.mistake("from", Mistake::After { other: "to" });
    }
}

impl EvidenceParams {
    /// The one subject that is asked for.
    fn subject(&self, today: BusinessDay) -> Result<Subject, ApiError> {
        let case = self.case.as_deref().map(|text| {
            let id = CaseId::parse(text).map(|id| Subject::Case(id, text.to_owned()));
            id.ok_or(caudal_ledger::rejection::Rejection::CaseNotFound)
        });
        let all = [
            self.cvu.map(Subject::Account),
            self.cuit.map(Subject::Person),
            case.transpose()?,
            self.date.map(Subject::Day),
        ];
        let mut named = all.into_iter().flatten();
        match (named.next(), named.next()) {
            (Some(Subject::Day(day)), None) if day > today => {
                Err(ApiError::field("date", Mistake::InTheFuture))
            }
            (Some(Subject::Day(_)), None) if self.from.or(self.to).is_some() => {
                Err(ApiError::field(
                    "date",
                    Mistake::Together {
                        other: "from or to",
                    },
                ))
            }
            (Some(subject), None) => Ok(subject),
            (None, _) => Err(ApiError::field(
                "cvu",
                Mistake::RequiredOr {
                    other: "cuit, case or date",
                },
            )),
            (Some(_), Some(_)) => Err(ApiError::field("cvu", Mistake::OneOf { names: ONE })),
        }
    }
}

/// Gives evidence about an account, a person, a case or a day of a realm as a ZIP archive: movements, changes of the
/// profile, cases with the decisions of people, acts and looks from the audit log, calls to the bank without personal
/// data, the comparison with the bank of the days concerned, and `index.json` with the SHA-256 of every file.
#[utoipa::path(
    get,
    path = "/admin/tenants/{id}/evidence",
    params(TenantInPath, EvidenceParams),
    responses((status = 200, content((String = "application/zip"))))
)]
pub(super) async fn read(
    admin_state: State,
    acting: Acting,
    path: PathPart,
    query: Query,
) -> Result<HttpResponse, ApiError> {
    let app = &admin_state.app;
    let sent = EvidenceParams::read(query)?;
    let platform = app.engine.platform();
    let tenant = platform.tenant(&path)?;
    let now = app.engine.queries().now(tenant.realm(sent.mode));
    let subject = sent.subject(now.business_day())?;
    let _permit = app.hooks.streams.permit(RealmId(0))?;
    let _turn = app.hooks.streams.turn(RealmId(0)).await?;
    let name = format!(
        "evidence-{}-{}-{}.zip",
        tenant.id,
        sent.mode.as_str(),
        subject.name()
    );
    let days = (sent.from, sent.to);
    let gathering = Gathering::begin(&admin_state, tenant, sent.mode, subject, days).await?;
    let shown: BTreeMap<_, _> = gathering.cvus().map(|cvu| (cvu.to_string(), 1)).collect();
    let folder = Box::pin(gathering.all(&acting.operator.name)).await?;
    let bytes = folder.end().map_err(|why| {
        tracing::error!(%why, "evidence could not be written");
        Failure::Bug
    })?;
    let mut answer = HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, ZIP))
        .insert_header((
            CONTENT_DISPOSITION,
            format!("attachment; filename=\"{name}\""),
        ))
        .insert_header((CACHE_CONTROL, "no-store"))
        .body(bytes);
    answer.extensions_mut().insert(AlsoShown(shown));
    Ok(answer)
}
