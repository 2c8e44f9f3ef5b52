//! People: who has access, in which role. Credentials are issued and shown once, replaced, and revoked at once.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use caudal_actors::failure::Failure;
use caudal_actors::people::Staff;
use caudal_http::AppState;
use caudal_http::bodies::body;
use caudal_http::body::Body;
use caudal_http::body::read::text;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::request::request;
use caudal_http::respond::json;
use caudal_http::words::Mistake;
use caudal_ledger::people::audit::FieldChange;
use caudal_ledger::people::{Credential, PeopleOrder, Person, PersonName, Role};
use caudal_ledger::rejection::Rejection;

use super::access::{Acting, created};
use super::changes::Changed;
use super::people::Operator;
use super::shapes::List;
use super::{AdminState, PathPart, State, ok};
use caudal_http::declared::{declared, id};

body! {
    /// A person who works here, or did.
    struct PersonBody as Person by shown(person: &Person, credential: Option<String>) {
        name: String = person.name.to_string();
        /// `viewer`, `auditor`, `operator` or `approver`.
        role: &'static str = person.role.as_str();
        /// `active` or `revoked`.
        status: &'static str = if person.works() { "active" } else { "revoked" };
        /// What the credential begins with.
        prefix: String = format!("cdl_op_{}", person.credential.id);
        /// The whole credential; only in the answer that made it.
        #[serde(skip_serializing_if = "Option::is_none")]
        credential: Option<String> = credential;
        created_at: String = person.created_at.to_string();
        /// When the credential was issued.
        issued_at: String = person.issued_at.to_string();
        revoked_at: Option<String> = person.revoked_at.map(|at| at.to_string());
    }
}

fn role(word: &str) -> Result<Role, Mistake> {
    Role::parse(word).ok_or_else(|| Mistake::among(&Role::OF_PEOPLE))
}

declared! {
    /// Their name
    PersonInPath = Path "name" as String
        => PersonName: id(|text: &str| PersonName::parse(text).ok(), Rejection::PersonNotFound);
}

request! {
    /// A person who is to come in.
    strict struct AddPerson as NewPerson {
        /// How they are called in the audit log, for ever.
        name: PersonName = required("name", text(PersonName::parse))
            as String { example = "ana.perez", pattern = "^[a-z0-9][a-z0-9._@-]{1,47}$" };
        /// What they are here for.
        role: Role = required("role", text(role))
            as String { pattern = "^(viewer|auditor|operator|approver)$" };
    }
}

request! {
    /// Another role.
    strict struct ChangePerson as PersonChange {
        /// What they are to be here for.
        role: Role = required("role", text(role))
            as String { pattern = "^(viewer|auditor|operator|approver)$" };
    }
}

/// A new credential: its text, which is shown only this once, and the record that is kept.
fn made(app: &AppState) -> Result<(String, Credential), ApiError> {
    app.keyring.credential().map_err(|why| {
        tracing::error!(%why, "no credential could be made");
        Failure::Overloaded.into()
    })
}

fn found<'a>(staff: &'a Staff, name: &PersonName) -> Result<&'a Person, ApiError> {
    let person = staff.people.named(name.as_str());
    Ok(person.ok_or(Rejection::PersonNotFound)?)
}

/// Lists the people, also those who were revoked, by name.
#[utoipa::path(
    get,
    path = "/admin/people",
    responses((status = 200, body = List<PersonBody>))
)]
pub(super) async fn list(admin_state: State) -> HttpResponse {
    let staff = admin_state.operators().staff();
    let people = staff.people.all().map(|person| shown(person, None));
    ok(&List::of(people.collect()))
}

/// Lets a person in. This answer alone has the whole credential.
#[utoipa::path(
    post,
    path = "/admin/people",
    request_body(content = AddPerson),
    responses((status = 201, body = PersonBody))
)]
pub(super) async fn add(admin_state: State, sent: Body) -> HandlerResult {
    let AddPerson { name, role } = AddPerson::read(sent)?;
    let (text, credential) = made(&admin_state.app)?;
    let order = PeopleOrder::Add {
        name: name.clone(),
        role,
        credential,
    };
    let staff = admin_state.operators().manage(order).await?;
    tracing::warn!(role = role.as_str(), "person added; see the audit log");
    let person = shown(found(&staff, &name)?, Some(text));
    Ok(created(&person, name.to_string()))
}

/// Gives a person another role, from this answer on.
#[utoipa::path(
    patch,
    path = "/admin/people/{name}",
    params(PersonInPath),
    request_body(content = ChangePerson),
    responses((status = 200, body = PersonBody))
)]
pub(super) async fn change(admin_state: State, path: PathPart, sent: Body) -> HandlerResult {
    let name = PersonInPath::read(&path)?;
    let ChangePerson { role } = ChangePerson::read(sent)?;
    // No other change may come in between: the audit log names the old role and the new one.
    let _alone = admin_state.changes.lock().await;
    let before = found(&admin_state.operators().staff(), &name)?.role;
    let order = PeopleOrder::ChangeRole {
        name: name.clone(),
        role,
    };
    let staff = admin_state.operators().manage(order).await?;
    tracing::warn!(role = role.as_str(), "role changed; see the audit log");
    let person = shown(found(&staff, &name)?, None);
    let mut answer = ok(&person);
    answer.extensions_mut().insert(Changed(vec![FieldChange {
        field: "role".to_owned(),
        before: Some(before.as_str().to_owned()),
        after: Some(role.as_str().to_owned()),
    }]));
    Ok(answer)
}

/// Revokes a person's credential: from this answer on it does not work.
#[utoipa::path(
    delete,
    path = "/admin/people/{name}",
    params(PersonInPath),
    responses((status = 204, description = "revoked"))
)]
pub(super) async fn revoke(admin_state: State, path: PathPart) -> HandlerResult {
    let name = PersonInPath::read(&path)?;
    let order = PeopleOrder::Revoke { name };
    admin_state.operators().manage(order).await?;
    tracing::warn!("credential revoked; see the audit log");
    Ok(HttpResponse::NoContent().finish())
}

async fn replaced(
    admin_state: &AdminState,
    name: PersonName,
    instead_of: Option<String>,
) -> HandlerResult {
    let (text, credential) = made(&admin_state.app)?;
    let order = PeopleOrder::Rotate {
        name: name.clone(),
        credential,
        instead_of,
    };
    let staff = admin_state.operators().manage(order).await?;
    tracing::warn!("credential rotated; see the audit log");
    let person = shown(found(&staff, &name)?, Some(text));
    Ok(json(StatusCode::CREATED, &person))
}

/// Issues another credential to a person; the one before does not work any more.
#[utoipa::path(
    post,
    path = "/admin/people/{name}/rotate",
    params(PersonInPath),
    responses((status = 201, body = PersonBody))
)]
pub(super) async fn rotate(admin_state: State, path: PathPart) -> HandlerResult {
    replaced(&admin_state, PersonInPath::read(&path)?, None).await
}

body! {
    /// The operator who sends the request.
    struct MeBody as Me from who: Operator {
        /// The name in the audit log; `root` is the configured admin key.
        name: String = who.name;
        /// `viewer`, `auditor`, `operator`, `approver` or `root`.
        role: &'static str = who.role.as_str();
    }
}

/// Says whose credential this is.
#[utoipa::path(
    get,
    path = "/admin/me",
    responses((status = 200, body = MeBody))
)]
pub(super) async fn me(acting: Acting) -> HttpResponse {
    ok(&MeBody::from(acting.operator))
}

/// Issues another credential to whoever asks; the one that they showed does not work any more. Whoever got a
/// credential through other hands begins with this.
#[utoipa::path(
    post,
    path = "/admin/me/rotate",
    responses((status = 201, body = PersonBody))
)]
pub(super) async fn rotate_me(admin_state: State, acting: Acting) -> HandlerResult {
    let who = acting.operator;
    replaced(&admin_state, PersonInPath::read(&who.name)?, who.credential).await
}
