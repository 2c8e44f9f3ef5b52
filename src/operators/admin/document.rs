//! The OpenAPI document of the admin API: its operations, and the errors that they share, each written once.

use caudal_http::catalogue::{Audience, ErrorCode, codes_for};
use caudal_http::document::{examples, numbers, parameters, texts};
use caudal_http::errors::ErrorBody;
use caudal_http::shapes::DayOrInstant;
use caudal_http::words::FieldError;
use utoipa::openapi::content::Content;
use utoipa::openapi::info::{Info, License};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::response::Response;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::server::Server;
use utoipa::openapi::tag::Tag;
use utoipa::openapi::{OpenApi, Ref, RefOr};
use utoipa::{OpenApi as _, PartialSchema as _, ToSchema as _};

use super::{
    access, accounts, actors, approvals, audit, backup, cases, collector_rules, confirmations,
    evidence, fees, find, keys, log, node, redeliveries, seal_keys, staff, status, storage,
    tenants, treasury, webhooks,
};

macro_rules! document {
    ($($tag:ident {
        $($method:ident $path:literal $($handler:ident)::+ $id:ident: $power:ident, $weight:ident;)+
    })+) => {
        #[derive(utoipa::OpenApi)]
        #[openapi(
            paths($($($($handler)::+),+),+),
            components(schemas(ErrorBody, FieldError, DayOrInstant))
        )]
        struct Operations;
    };
}
access::each_operation!(document);

/// The tags, those needed first at the front.
const TAGS: [(&str, &str); 6] = [
    (
        "Tenants",
        "PSPs that use this service, with their policy, limits, fees and banks.",
    ),
    (
        "Keys",
        "API keys of tenants: issued and shown once, rotated with overlap, revoked at once.",
    ),
    (
        "Cases",
        "What waits for a person: transfers that the bank has lost, money in suspense, reports that could not be booked, movements of the collector account that no rule classifies.",
    ),
    (
        "Actors",
        "The actors of accounts, next to what the disk says.",
    ),
    (
        "People",
        "Who may come in with which role, what takes a second one of them, and the audit log of what they did.",
    ),
    (
        "Operation",
        "Journal, backup, verification, clock, collector accounts, and the webhooks of all tenants.",
    ),
];

/// An error that operations share: status, name, meaning.
type Shared = (&'static str, &'static str, &'static str);

/// Errors of every operation.
const EVERY: [Shared; 4] = [
    (
        "400",
        "BadRequest",
        "The request is invalid; `errors` names each field.",
    ),
    (
        "401",
        "Unauthorized",
        "The credential is absent, wrong or revoked.",
    ),
    (
        "403",
        "Forbidden",
        "The credential is of a role that may not do this; `message` names the least one that may.",
    ),
    (
        "503",
        "Unavailable",
        "The service cannot do it now; try again after `Retry-After` seconds.",
    ),
];
/// The error of operations whose path names a resource.
const NOT_FOUND: Shared = ("404", "NotFound", "What the request names does not exist.");
/// The error of operations that answer with a body.
const NOT_OFFERED: Shared = (
    "406",
    "NotAcceptable",
    "`Accept` names no form of this answer; `message` names those that are offered.",
);
/// The error of operations that change something.
const CONFLICT: Shared = (
    "409",
    "Conflict",
    "The request conflicts with the present state; `code` says how.",
);
/// Errors of operations with a body.
const BODY: [Shared; 2] = [
    ("413", "BodyTooLarge", "The body is larger than 64 KiB."),
    (
        "415",
        "UnsupportedMediaType",
        "The body came without `Content-Type: application/json`, or with `Content-Encoding`.",
    ),
];
/// The error of decisions, which read the bank's list first.
const TIMEOUT: Shared = (
    "504",
    "BankTimeout",
    "The bank's list could not be read in time; nothing has changed.",
);

const DESCRIPTION: &str = "Tenants, keys, cases, actors and the journal of a Caudal service, for its \
operators.\n\nEvery request carries a person's credential, or the admin key, in `x-admin-key`. \
Whoever acts says why: in `X-Reason`, or in `reason` where the body has it. Bodies are JSON; unknown fields are refused. Errors have \
one shape, and `code` is a stable word to switch on.";

/// The OpenAPI document of the admin API.
pub fn openapi() -> OpenApi {
    let mut document = Operations::openapi();
    parameters::keep_declared(&mut document);
    let mut info = Info::new("Caudal admin API", env!("CARGO_PKG_VERSION"));
    info.description = Some(DESCRIPTION.into());
    let mut license = License::new("Apache License 2.0");
    license.identifier = Some(env!("CARGO_PKG_LICENSE").into());
    info.license = Some(license);
    document.info = info;
    let mut server = Server::new("/");
    server.description = Some("The admin listener that serves this document".into());
    document.servers = Some(vec![server]);
    let tag = |(name, about): &(&str, &str)| {
        let mut tag = Tag::new(*name);
        tag.description = Some((*about).to_owned());
        tag
    };
    document.tags = Some(TAGS.iter().map(tag).collect());
    let components = document.components.get_or_insert_default();
    let scheme = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("x-admin-key")));
    components.add_security_scheme("admin-key", scheme);
    let codes = codes_for(&[Audience::Tenants, Audience::Operators]);
    components.schemas.insert(ErrorCode::name().into(), codes);
    let alone = [NOT_FOUND, NOT_OFFERED, CONFLICT, TIMEOUT];
    for (_, name, about) in EVERY.into_iter().chain(BODY).chain(alone) {
        let mut answer = Response::new(about);
        let body = Content::new(Some(Ref::from_schema_name(ErrorBody::name())));
        answer
            .content
            .insert("application/json".into(), body.into());
        components.responses.insert(name.into(), answer.into());
    }
    let none: [&str; 0] = [];
    document.security = Some(vec![SecurityRequirement::new("admin-key", none)]);
    for (path, item) in &mut document.paths.paths {
        let named = path.contains('{');
        for it in access::OPERATIONS {
            let operation = match it.method {
                _ if path.strip_prefix("/admin") != Some(it.path) => None,
                "GET" => item.get.as_mut(),
                "POST" => item.post.as_mut(),
                "PUT" => item.put.as_mut(),
                "PATCH" => item.patch.as_mut(),
                _ => item.delete.as_mut(),
            };
            let Some(operation) = operation else { continue };
            operation.operation_id = Some(it.id.to_owned());
            operation.tags = Some(vec![it.tag.to_owned()]);
            share(operation, named, it.method != "GET");
            if it.weight == access::AuditWeight::Acts {
                explain(operation);
            }
            if path.ends_with("/decide") {
                mention(operation, TIMEOUT);
            }
        }
    }
    let shown = include_str!("document/examples.json");
    examples::show(&mut document, shown);
    texts::write_out(&mut document);
    numbers::format(&mut document);
    document
}

fn mention(operation: &mut Operation, (status, name, _): Shared) {
    let answers = &mut operation.responses.responses;
    answers.insert(status.into(), RefOr::Ref(Ref::from_response_name(name)));
}

/// Adds the header for the reason to an operation that acts.
fn explain(operation: &mut Operation) {
    let mut reason = Parameter::new(access::REASON.as_str());
    reason.parameter_in = ParameterIn::Header;
    reason.description = Some(
        "Why; required as soon as there are people, unless the body has a `reason`. At most 500 characters, in \
         UTF-8."
            .into(),
    );
    reason.schema = Some(String::schema());
    let parameters = operation.parameters.get_or_insert_default();
    parameters.push(reason.into());
}

/// Adds the shared errors to an operation.
fn share(operation: &mut Operation, named: bool, changes: bool) {
    let body = operation.request_body.is_some();
    // Every success has the same short description; its type says the rest.
    for answer in operation.responses.responses.values_mut() {
        if let RefOr::T(answer) = answer
            && answer.description.is_empty()
        {
            answer.description = "Done.".into();
        }
    }
    let all = EVERY.into_iter();
    let all = all.chain(named.then_some(NOT_FOUND));
    let mut answers = operation.responses.responses.values();
    let shown = answers.any(|it| matches!(it, RefOr::T(answer) if !answer.content.is_empty()));
    let all = all.chain(shown.then_some(NOT_OFFERED));
    let all = all.chain(changes.then_some(CONFLICT));
    for shared in all.chain(BODY.into_iter().filter(|_| body)) {
        mention(operation, shared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_the_operations_by_their_ids_and_each_reference_resolves() {
        let document = serde_json::to_value(openapi()).unwrap();
        for it in access::OPERATIONS {
            let path = format!("/admin{}", it.path);
            let shown = &document["paths"][path][it.method.to_lowercase()];
            assert_eq!(shown["operationId"], it.id);
        }
        let paths = document["paths"].as_object().unwrap().values();
        let shown = paths.map(|item| item.as_object().unwrap().len());
        assert_eq!(shown.sum::<usize>(), access::OPERATIONS.len());
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
