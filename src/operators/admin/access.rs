//! Authorization at the admin API and what the audit log records of it: one table of all operations.
//!
//! **Shape.** Every request to `/admin` comes through [`authorize`]: the credential identifies the operator, and the
//! operation's row in [`OPERATIONS`] gives the power that it requires and how much of it is logged. An operation
//! without a row does not exist, whatever the route table says. Handlers that record who decided take [`Acting`].
//!
//! **Order.** For an operation that acts, an entry that it begins is durable before the handler starts, in a commit of
//! its own, because handlers write to streams of other actors; a second entry records how it ended. If the first cannot
//! be written, nothing is done. If the second is missing (the process or the connection ended in between), the log says
//! only `begun`, and the ledger itself shows what happened.
//!
//! With several nodes, only the owner of the log does operations: any other node returns `not_owner`, except for those
//! that read about the asked node ([`ANY_NODE`]).
//!
//! The body of such an operation is read completely first; then the operator is looked up again.
//!
//! Answers to operations that read leave when their look is recorded ([`super::looks`]): always where the row says so
//! ([`AuditWeight::Looks`]), and wherever else the answer has a CVU.
//!
//! **Bounds.** Such a body has at most [`caudal_http::body::BODY_BYTES_MAX`]. Checks and denials of an operator have
//! entries at a rate ([`caudal_http::audit_rate`]); what goes beyond it is counted.
//!
//! **Failure.** Operations that only check ([`AuditWeight::Checks`]) proceed without their entries, with a line in the log:
//! a full disk must not keep anybody from verifying or shipping the journal, and a node that does not own the log
//! verifies its copy and writes no entry. A hand-over has no second entry, because another node writes by then.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderName;
use actix_web::middleware::Next;
use actix_web::{
    Error, FromRequest, HttpMessage as _, HttpRequest, HttpResponse, ResponseError as _, web,
};
use caudal_http::body::BODY_BYTES_MAX;
use caudal_http::bytes::Bytes;
use caudal_http::errors::ApiError;
use caudal_http::node::Inside;
use caudal_http::respond::json;
use caudal_http::words::{Mistake, Refusal, WrongField};
use caudal_http::{AppState, accept, caller, shown};
use caudal_ledger::people::audit::{AuditDetails, FieldChange, REASON_MAX, SecondPerson};
use caudal_ledger::text::line;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use super::looks::{self, AlsoShown};
use super::people::{self, AuditOutcome, Operator, Power};
use super::{ADMIN_KEY, AdminState, changes};

/// Operations that any node does: they tell of the asked node, or check its copy. A hand-over is refused by its handler,
/// because it waits for all requests inside, and must not be one of them.
const ANY_NODE: [&str; 9] = [
    "readStatus",
    "readClock",
    "readLog",
    "readJournal",
    "readMemory",
    "readNode",
    "readBackup",
    "verify",
    "handOver",
];

/// How much of an operation the audit log records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditWeight {
    /// Nothing: it shows no person.
    Reads,
    /// That somebody looked at persons' affairs, and at whose.
    Looks,
    /// That it began and how it ended, if the store takes the entries.
    Checks,
    /// The reason, that it began, and how it ended; without the first entry the operation is not done.
    Acts,
}

/// An operation of the admin API.
#[derive(Clone, Copy, Debug)]
pub struct AdminOperation {
    /// Its tag in the document.
    pub tag: &'static str,
    /// Its method.
    pub method: &'static str,
    /// The pattern of its path, below `/admin`.
    pub path: &'static str,
    /// Its name, in the document and in the audit log.
    pub id: &'static str,
    /// The power that it requires.
    pub power: Power,
    /// How much of it the audit log records.
    pub weight: AuditWeight,
}

/// Hands every operation to a macro, in the order of the document and under its tags there: method and path, the handler,
/// the id, the power that it takes, and its weight.
macro_rules! each_operation {
    ($to:ident) => {
        $to! {
            Tenants {
                GET "/tenants" tenants::list listTenants: Read, Reads;
                POST "/tenants" tenants::post createTenant: Act, Acts;
                GET "/tenants/{id}" tenants::read readTenant: Read, Reads;
                PATCH "/tenants/{id}" tenants::change changeTenant: Act, Acts;
                GET "/tenants/{id}/collector-rules" collector_rules::read readCollectorRules: Read, Reads;
                PUT "/tenants/{id}/collector-rules" collector_rules::set setCollectorRules: Act, Acts;
            }
            People {
                GET "/tenants/{id}/evidence" evidence::read readEvidence: Audit, Looks;
            }
            Tenants {
                GET "/tenants/{id}/seal-keys" seal_keys::read readSealKeys: Read, Reads;
                POST "/tenants/{id}/seal-keys/rotate" seal_keys::rotate rotateSealKeys: Act, Acts;
                GET "/platform" tenants::platform readPlatform: Read, Reads;
                PATCH "/platform" tenants::settings changePlatform: Act, Acts;
                GET "/accounts/{cvu}/fee-schedule" fees::read readFeeSchedule: Read, Looks;
                PUT "/accounts/{cvu}/fee-schedule" fees::set setFeeSchedule: Act, Acts;
            }
            Actors {
                POST "/accounts/{cvu}/suspend" accounts::suspend suspendAccountByOperator: Act, Acts;
                POST "/accounts/{cvu}/reactivate" accounts::reactivate reactivateAccountByOperator: Act, Acts;
                POST "/accounts/{cvu}/verify" accounts::verify verifyAccount: Read, Checks;
            }
            Keys {
                GET "/tenants/{id}/keys" keys::list listKeys: Read, Reads;
                POST "/tenants/{id}/keys" keys::post issueKey: Act, Acts;
                POST "/keys/{id}/rotate" keys::rotate rotateKey: Act, Acts;
                DELETE "/keys/{id}" keys::revoke revokeKey: Act, Acts;
            }
            Cases {
                GET "/cases" cases::list listCases: Read, Looks;
                GET "/cases/{id}" cases::one readCase: Read, Looks;
                POST "/cases/{id}/decide" cases::deciding::decide decideCase: Act, Acts;
                POST "/transfers/{id}/decide" cases::deciding::decide_transfer decideTransfer: Act, Acts;
            }
            Operation {
                GET "/find" find::find find: Read, Looks;
            }
            Actors {
                GET "/actors" actors::list listActors: Read, Reads;
                GET "/actors/{cvu}" actors::read readActor: Read, Looks;
                POST "/actors/{cvu}/passivate" actors::passivate passivateActor: Act, Acts;
            }
            Operation {
                GET "/webhooks" webhooks::list listAllWebhooks: Read, Reads;
                POST "/webhooks/{id}/resume" webhooks::resume resumeWebhook: Act, Acts;
                POST "/webhooks/{id}/redeliver" redeliveries::range redeliverRangeByOperator: Act, Acts;
                POST "/webhooks/deliveries/{id}/redeliver" redeliveries::one redeliverByOperator: Act, Acts;
                GET "/treasury" treasury::list listCollectors: Read, Reads;
                GET "/status" status::show readStatus: Read, Reads;
                GET "/node" node::show readNode: Read, Reads;
                POST "/node/hand-over" node::hand_over handOver: Act, Checks;
                GET "/clock" confirmations::clock readClock: Read, Reads;
                POST "/clock/confirm" confirmations::confirm_clock confirmClock: Act, Acts;
                GET "/log" log::show readLog: Read, Reads;
                PUT "/log" log::change changeLog: Act, Acts;
                GET "/journal" storage::journal readJournal: Read, Reads;
                GET "/memory" storage::memory readMemory: Read, Reads;
                GET "/backup" backup::show readBackup: Read, Reads;
                POST "/backup" backup::ship shipBackup: Act, Checks;
                GET "/outgoing" confirmations::outgoing readOutgoing: Read, Reads;
                POST "/outgoing/release" confirmations::release releaseOutgoing: Act, Acts;
                POST "/verify" storage::verify verify: Read, Checks;
            }
            People {
                GET "/people" staff::list listPeople: Read, Reads;
                POST "/people" staff::add addPerson: Administer, Acts;
                DELETE "/people/{name}" staff::revoke revokePerson: Revoke, Acts;
                PATCH "/people/{name}" staff::change changePerson: Administer, Acts;
                POST "/people/{name}/rotate" staff::rotate rotatePerson: Administer, Acts;
                GET "/me" staff::me readMe: Read, Reads;
                POST "/me/rotate" staff::rotate_me rotateMe: Read, Acts;
                GET "/audit" audit::list listAudit: Audit, Looks;
                GET "/approvals" approvals::list listApprovals: Read, Looks;
                GET "/approvals/{id}" approvals::one readApproval: Read, Looks;
                POST "/approvals/{id}/approve" approvals::voting::approve approveRequest: Approve, Acts;
                POST "/approvals/{id}/reject" approvals::voting::reject rejectRequest: Approve, Acts;
            }
        }
    };
}
pub(super) use each_operation;

macro_rules! rows {
    ($($tag:ident {
        $($method:ident $path:literal $($handler:ident)::+ $id:ident: $power:ident, $weight:ident;)+
    })+) => {
        /// Every operation, in the order of the document.
        pub const OPERATIONS: &[AdminOperation] = &[$($(AdminOperation {
            tag: stringify!($tag),
            method: stringify!($method),
            path: $path,
            id: stringify!($id),
            power: Power::$power,
            weight: AuditWeight::$weight,
        },)+)+];
    };
}
each_operation!(rows);

impl AdminOperation {
    /// The operation with an id.
    pub fn named(id: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|it| it.id == id)
    }

    /// The operation of a request; [`Refusal::NoAdminRoute`] or [`Refusal::NoMethod`] if there is none.
    fn of(call: &ServiceRequest) -> Result<&'static Self, Refusal> {
        let route = call.match_pattern();
        let below = route.as_deref().and_then(|it| it.strip_prefix("/admin"));
        let all = || OPERATIONS.iter().filter(|it| Some(it.path) == below);
        let known = all().find(|it| it.method == call.method().as_str());
        known.ok_or_else(|| match all().next() {
            None => Refusal::NoAdminRoute,
            Some(_) => {
                let methods: Vec<_> = all().map(|it| it.method).collect();
                let methods = methods.join(", ");
                Refusal::NoMethod { methods }
            }
        })
    }

    /// Whether any node does it, whichever owns the log.
    fn is_any_nodes(&self) -> bool {
        ANY_NODE.contains(&self.id)
    }

    /// The subject of a request: that of its path, and for a look at a list also the filter.
    fn subject_of(&self, call: &ServiceRequest) -> String {
        let subject = self.subject(call.path());
        match (self.weight, call.query_string()) {
            (AuditWeight::Looks, filter) if !filter.is_empty() => format!("{subject}?{filter}"),
            _ => subject,
        }
    }

    /// The subject that a path names: the value in it, or the resource that it stands for. Middleware runs before the
    /// route is matched, so the pattern is compared with the path.
    fn subject(&self, path: &str) -> String {
        let path = path.strip_prefix("/admin").map(|it| it.split('/'));
        let mut segments = self.path.split('/').zip(path.into_iter().flatten());
        let named = segments.find(|(pattern, _)| pattern.starts_with('{'));
        let decoded = named.map(|(_, it)| percent_decode_str(it).decode_utf8_lossy());
        decoded.map_or_else(
            || self.path.trim_start_matches('/').to_owned(),
            |subject| subject.into_owned(),
        )
    }
}

/// Who acts, and why: for handlers that record it.
#[derive(Clone, Debug)]
pub struct Acting {
    /// The operator.
    pub operator: Operator,
    /// The reason, if the header or the body gives one.
    pub reason: Option<String>,
    /// The subject of the operation, as the audit log has it.
    pub subject: String,
    /// The body, as it was sent.
    pub body: web::Bytes,
    /// The sequence of the entry that it began; 0 if there is none.
    pub entry: u64,
    /// The operation.
    pub operation: &'static AdminOperation,
    /// The approval of a second person, if it has one.
    pub second: Option<SecondPerson>,
}

impl FromRequest for Acting {
    type Error = ApiError;
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let acting = request.extensions().get::<Self>().cloned();
        std::future::ready(acting.ok_or_else(|| Refusal::NoAdminKey.into()))
    }
}

/// Keeps requests to `/admin` out that have no valid credential (with one answer for every cause) or whose role lacks
/// the power, and logs the operations that are carried out.
pub(super) async fn authorize<B: MessageBody + 'static>(
    mut call: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<EitherBody<B, web::Bytes>>>, Error> {
    let admitted = match call.app_data::<web::Data<AdminState>>().cloned() {
        Some(admin_state) => admit(&admin_state.app, &mut call)
            .await
            .map(|found| (admin_state, found)),
        None => Err(Refusal::NoAdminKey.into()),
    };
    let (admin_state, (acting, inside)) = match admitted {
        Ok(admitted) => admitted,
        Err(refusal) => {
            let answer = call.into_response(refusal.error_response());
            return Ok(answer.map_into_right_body());
        }
    };
    call.extensions_mut().insert(acting.clone());
    let answer = next.call(call).await?;
    // An operation that waits for a second person has its entry already.
    let waits = answer.status() == StatusCode::ACCEPTED;
    if acting.entry > 0 && !waits && admin_state.app.is_owners() {
        ended(&admin_state.app, &acting, &answer).await;
    }
    let answer = shown(&admin_state.app, &acting, answer).await;
    drop(inside);
    Ok(answer)
}

/// The answer, after it is recorded what it shows to whom; or else the refusal.
async fn shown<B: MessageBody + 'static>(
    app: &AppState,
    acting: &Acting,
    answer: ServiceResponse<B>,
) -> ServiceResponse<EitherBody<EitherBody<B, web::Bytes>>> {
    let weight = acting.operation.weight;
    let reads = matches!(weight, AuditWeight::Reads | AuditWeight::Looks);
    if !reads || !answer.status().is_success() {
        return answer.map_into_left_body().map_into_left_body();
    }
    let also = answer.response().extensions().get::<AlsoShown>().cloned();
    let (answer, shown) = shown::by(answer);
    let mut shown = looks::named(&shown);
    shown.extend(also.into_iter().flat_map(|AlsoShown(also)| also));
    if weight == AuditWeight::Reads && shown.is_empty() {
        return answer.map_into_left_body();
    }
    let about = (acting.operation.id, acting.subject.as_str());
    match looks::record(app, &acting.operator, about, shown).await {
        Ok(()) => answer.map_into_left_body(),
        Err(refusal) => answer
            .into_response(refusal.error_response())
            .map_into_right_body(),
    }
}

/// The operator whom this listener admits.
fn whoever(app: &AppState, call: &ServiceRequest) -> Result<Operator, ApiError> {
    let given = caller::only(call.request(), &ADMIN_KEY);
    let known = given.and_then(|given| people::recognise(app, given));
    let Some(operator) = known else {
        if call.headers().contains_key(&ADMIN_KEY) {
            let what = "a credential of the admin API was refused";
            app.wrong_keys.wrong(call.request(), app, what);
        }
        return Err(Refusal::NoAdminKey.into());
    };
    Ok(operator)
}

/// Who acts, and the guard that counts the operation as one that this node serves.
type Admitted = (Acting, Option<Inside>);

/// Admits a request: identifies operator and operation, checks both, and writes the entry.
async fn admit(app: &AppState, call: &mut ServiceRequest) -> Result<Admitted, ApiError> {
    let operator = whoever(app, call)?;
    let operation = AdminOperation::of(call)?;
    super::refuse_unknown(call)?;
    accept::check(call.request(), Some(&super::PATHS))?;
    let inside = if operation.is_any_nodes() {
        None
    } else {
        app.enter()?
    };
    let mut acting = Acting {
        subject: operation.subject_of(call),
        operator,
        reason: None,
        body: web::Bytes::new(),
        entry: 0,
        operation,
        second: None,
    };
    if !acting.operator.role.may(operation.power) {
        // A denied attempt gets an entry; a failure to write that entry does not change the answer.
        if let Err(why) = acting.note(app, AuditOutcome::Denied, Vec::new()).await {
            tracing::error!(%why, "what was denied could not be written into the audit log");
        }
        let role = operation.power.least().as_str();
        return Err(Refusal::RoleMissing { role }.into());
    }
    match operation.weight {
        // What they show is recorded before the answer leaves.
        AuditWeight::Reads | AuditWeight::Looks => {}
        // A check changes nothing, so it has entries within the operator's allowance.
        AuditWeight::Checks
            if !app.is_owners() || !app.audit_rate.admits(&acting.operator.name) => {}
        AuditWeight::Checks => match acting.note(app, AuditOutcome::Begun, Vec::new()).await {
            Ok(entry) => acting.entry = entry,
            Err(why) => tracing::error!(%why, "a check could not be written to the audit log"),
        },
        AuditWeight::Acts => acting = acts(app, call, acting).await?,
    }
    Ok((acting, inside))
}

/// Reads the whole body of an operation that acts, and logs its beginning.
async fn acts(
    app: &AppState,
    call: &mut ServiceRequest,
    mut acting: Acting,
) -> Result<Acting, ApiError> {
    acting.body = read(call).await?;
    // While the body arrived, the operator may have lost the credential or the role.
    acting.operator = people::still(app, &acting.operator)
        .filter(|it| it.role.may(acting.operation.power))
        .ok_or(Refusal::NoAdminKey)?;
    if acting.reason.is_none() {
        acting.reason = said(call.request(), &acting.body)?;
    }
    if acting.reason.is_none() && must_say(app, &acting.operator) {
        return Err(Refusal::ReasonRequired.into());
    }
    acting.entry = acting.note(app, AuditOutcome::Begun, Vec::new()).await?;
    Ok(acting)
}

/// The header in which an operator gives the reason.
pub(super) const REASON: HeaderName = HeaderName::from_static("x-reason");

/// Reads the body of a request and puts it back for its handler.
async fn read(call: &mut ServiceRequest) -> Result<web::Bytes, ApiError> {
    let (request, payload) = call.parts_mut();
    let Bytes(bytes) = Bytes::<BODY_BYTES_MAX>::from_request(request, payload).await?;
    let again = bytes.clone();
    let again = futures_util::stream::once(async move { Ok(again) });
    call.set_payload(Payload::Stream {
        payload: Box::pin(again),
    });
    Ok(bytes)
}

/// An operator's reason: from the header, or else from the body's field.
fn said(request: &HttpRequest, body: &[u8]) -> Result<Option<String>, ApiError> {
    #[derive(Deserialize)]
    struct Said {
        reason: Option<String>,
    }
    let wrong = || ApiError::from(Refusal::ReasonRequired);
    let mut headers = request.headers().get_all(&REASON);
    match (headers.next(), headers.next()) {
        (Some(_), Some(_)) => Err(wrong()),
        (Some(one), None) => {
            let text = std::str::from_utf8(one.as_bytes()).map_err(|_| wrong())?;
            line(text, REASON_MAX).map(Some).map_err(|_| wrong())
        }
        (None, _) => {
            let said: Option<Said> = serde_json::from_slice(body).ok();
            let text = said.and_then(|said| said.reason);
            // The handler that parses the body reports an invalid one.
            Ok(text.and_then(|text| line(&text, REASON_MAX).ok()))
        }
    }
}

/// Whether an operator has to give a reason: always, once there are people. Before that, the configured admin key sets
/// up the service without one.
fn must_say(app: &AppState, operator: &Operator) -> bool {
    let people = app.engine.operators().staff().people;
    operator.is_person() || people.working().next().is_some()
}

/// The outcome of an operation whose first entry is `of`, by the status of its answer.
pub(super) fn outcome(of: u64, status: StatusCode) -> AuditOutcome {
    let (success, status) = (status.is_success(), status.as_u16());
    if success {
        AuditOutcome::Done { of, status }
    } else {
        AuditOutcome::Failed { of, status }
    }
}

/// Logs how an operation ended. If the outcome is unknown, the entry that it began stands alone, as after a crash.
async fn ended<B>(app: &AppState, acting: &Acting, answer: &ServiceResponse<B>) {
    let why = answer.response().error();
    let why = why.and_then(|why| why.as_error::<ApiError>());
    if why.is_some_and(ApiError::is_unknown) {
        return;
    }
    let (of, answer) = (acting.entry, answer.response());
    let came = answer.extensions().get::<ActionOutcome>().cloned();
    let acting = Acting {
        subject: CreatedSubject::of(answer).unwrap_or_else(|| acting.subject.clone()),
        reason: match came {
            Some(came) => Some(came.before(acting.why())),
            None => acting.reason.clone(),
        },
        ..acting.clone()
    };
    let outcome = outcome(of, answer.status());
    let (status, changes) = (answer.status().as_u16(), changes::of(answer));
    if let Err(why) = acting.note(app, outcome, changes).await {
        let id = acting.operation.id;
        tracing::error!(%why, id, of, status, "the outcome could not be written to the audit log");
    }
}

/// The thing that an operation created: the subject of the entry of its end. It travels with the answer as an
/// extension.
#[derive(Clone, Debug)]
pub struct CreatedSubject(pub String);

/// The answer to an operation that created something: what it is, and its name in the audit log.
pub(super) fn created(body: &impl Serialize, subject: String) -> HttpResponse {
    let mut answer = json(StatusCode::CREATED, body);
    answer.extensions_mut().insert(CreatedSubject(subject));
    answer
}

impl CreatedSubject {
    /// The thing that an answer's operation created, if it did.
    pub(crate) fn of<B>(answer: &HttpResponse<B>) -> Option<String> {
        let made = answer.extensions().get::<Self>().cloned();
        made.map(|Self(subject)| subject)
    }
}

/// The result of an operation, where the status alone does not show it: the entry of its end has it in front of the
/// reason. It travels with the answer as an extension.
#[derive(Clone, Debug)]
pub struct ActionOutcome(pub String);

impl ActionOutcome {
    /// The reason of the entry: the result, followed by the operator's reason if one was given.
    pub fn before(&self, reason: &str) -> String {
        let Self(came) = self;
        match reason {
            "" => came.clone(),
            reason => format!("{came}: {reason}"),
        }
    }
}

impl Acting {
    /// The name and reason of a decision, for records that keep both: a person signs with their own name, whatever the
    /// body says; `root` has to name somebody in the body. The reason is that of the body, if it has one; the header's
    /// is in the audit log either way.
    ///
    /// # Errors
    /// 400 that names the missing fields.
    pub fn signed(
        &self,
        by: Option<String>,
        reason: Option<String>,
    ) -> Result<(String, String), ApiError> {
        let known = self.operator.is_person() || self.second.is_some();
        let by = if known {
            Some(self.operator.name.clone())
        } else {
            by
        };
        let reason = reason.or_else(|| self.reason.clone());
        let missing = |field: &str| WrongField {
            field: field.to_owned(),
            mistake: Mistake::Required,
        };
        let wrong = [
            by.is_none().then(|| missing("by")),
            reason.is_none().then(|| missing("reason")),
        ];
        let wrong: Vec<_> = wrong.into_iter().flatten().collect();
        by.zip(reason).ok_or_else(|| ApiError::invalid(wrong))
    }

    /// The reason; empty if none was given.
    pub fn why(&self) -> &str {
        self.reason.as_deref().map_or("", |said| said)
    }

    async fn note(
        &self,
        app: &AppState,
        outcome: AuditOutcome,
        changes: Vec<FieldChange>,
    ) -> Result<u64, ApiError> {
        let noted = people::audit(
            app,
            &self.operator,
            self.operation.id,
            &self.subject,
            self.why(),
            outcome,
            AuditDetails::of_changes(changes),
        );
        Ok(noted.await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_what_the_path_names_however_it_is_spelt() {
        for (id, path, subject) in [
            ("listTenants", "/admin/tenants", "tenants"),
            ("readTenant", "/admin/tenants/tnt_1", "tnt_1"),
            ("rotateKey", "/admin/keys/abc/rotate", "abc"),
            ("revokePerson", "/admin/people/ana%40psp.ar", "ana@psp.ar"),
            ("revokePerson", "/admin/people/%61na", "ana"),
            ("revokePerson", "/admin/people/%ff", "\u{fffd}"),
        ] {
            let operation = AdminOperation::named(id).unwrap();
            assert_eq!(operation.subject(path), subject);
        }
    }
}
