//! The answers of operations: the errors and headers that they share, each written once, and which of them an
//! operation has, by what it takes.

use std::collections::BTreeMap;

use caudal_http::document::walk;
use caudal_http::problems::{BODY, CONFLICT, NOT_FOUND, NOT_OFFERED, Problem, STALE};
use utoipa::openapi::content::Content;
use utoipa::openapi::header::Header;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{ArrayItems, ObjectBuilder, Schema, Type};
use utoipa::openapi::{OpenApi, Ref, RefOr, Required};

use crate::wallet;

/// Parameters of paths that name accounts outside this service: only the bank knows whether they exist.
const PUBLIC: [&str; 2] = ["{cbu}", "{alias}"];
/// Fields and parameters that name an account.
const ACCOUNTS: [&str; 4] = ["cvu", "fromCvu", wallet::ACCOUNT, wallet::ORIGIN];
/// The schemas of accounts that come with their version.
const ACCOUNTS_WITH_ETAG: [&str; 2] = [
    "#/components/schemas/AccountResponse",
    "#/components/schemas/Cuenta",
];

/// A header of answers.
struct AnswerHeader {
    name: &'static str,
    about: &'static str,
    kind: Type,
}

const REQUEST_ID: AnswerHeader = AnswerHeader {
    name: "X-Request-Id",
    about: "The id of the request: the one that was sent, or a new one.",
    kind: Type::String,
};
const REPLAYED: AnswerHeader = AnswerHeader {
    name: "Idempotent-Replayed",
    about: "`true` when this is the answer of an earlier request with the same key or `idExterno`; absent otherwise.",
    kind: Type::String,
};
const ETAG: AnswerHeader = AnswerHeader {
    name: "ETag",
    about: "Of an account: identifies its profile, limits and state, for `If-Match` only; movements do not change it. Of a statement: identifies its bytes, for `If-None-Match`.",
    kind: Type::String,
};
const RETRY_AFTER: AnswerHeader = AnswerHeader {
    name: "Retry-After",
    about: "In how many seconds to try again.",
    kind: Type::Integer,
};
const TOTAL: AnswerHeader = AnswerHeader {
    name: "X-Total-Count",
    about: "How many rows match in all; absent where the page has looked at a part of the list only.",
    kind: Type::Integer,
};
const LOOKED_ROWS: AnswerHeader = AnswerHeader {
    name: "X-Looked-Rows",
    about: "How many rows the page has looked at, where that is not the whole list: no index answers the filter, and one request looks at so much at most. The page may then be short or empty; go on with `X-Next-Cursor` until it is absent.",
    kind: Type::Integer,
};
const LOOKED_UNTIL: AnswerHeader = AnswerHeader {
    name: "X-Looked-Until",
    about: "With `X-Looked-Rows`: when the last of those rows was written; absent where the list is not in the order of time.",
    kind: Type::String,
};
const NEXT: AnswerHeader = AnswerHeader {
    name: "X-Next-Cursor",
    about: "What to send as `cursor` for the next page; absent on the last.",
    kind: Type::String,
};
const OWNER: AnswerHeader = AnswerHeader {
    name: "Caudal-Owner",
    about: "With `not_owner`: the URL of the node that serves, where the same request is to be repeated; absent while none does.",
    kind: Type::String,
};
const HEADERS: [AnswerHeader; 9] = [
    REQUEST_ID,
    REPLAYED,
    ETAG,
    RETRY_AFTER,
    OWNER,
    TOTAL,
    NEXT,
    LOOKED_ROWS,
    LOOKED_UNTIL,
];

impl AnswerHeader {
    fn mention(&self, answer: &mut Response) {
        let place = Ref::new(format!("#/components/headers/{}", self.name));
        answer
            .headers
            .insert(self.name.to_owned(), RefOr::Ref(place));
    }
}

/// The status of an error that a standby returns.
const UNAVAILABLE: &str = "503";

/// Writes the shared parts once, and gives each operation those that it has.
pub(super) fn share(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    for named in &HEADERS {
        let schema = ObjectBuilder::new().schema_type(named.kind.clone());
        let mut header = Header::new(Schema::from(schema));
        header.description = Some(named.about.to_owned());
        components
            .headers
            .insert(named.name.to_owned(), header.into());
    }
    for problem in Problem::all() {
        let mut answer = Response::new(problem.about);
        let body = Content::new(Some(Ref::from_schema_name("Error")));
        answer
            .content
            .insert("application/json".into(), body.into());
        REQUEST_ID.mention(&mut answer);
        if problem.later {
            RETRY_AFTER.mention(&mut answer);
        }
        if problem.status == UNAVAILABLE {
            OWNER.mention(&mut answer);
        }
        components
            .responses
            .insert(problem.name.to_owned(), answer.into());
    }
    let schemas = &components.schemas;
    for (path, item) in &mut document.paths.paths {
        for operation in walk::operations_mut(item) {
            problems(path, operation, schemas);
            successes(operation, schemas);
        }
    }
}

/// Whether an operation has a parameter.
fn takes(operation: &Operation, place: ParameterIn, name: &str) -> bool {
    let known = |parameter: &RefOr<Parameter>| match parameter {
        RefOr::T(it) => it.parameter_in == place && it.name == name,
        RefOr::Ref(_) => false,
    };
    operation.parameters.iter().flatten().any(known)
}

/// Whether the body or the query has to name an account; filters of lists may name none.
fn names_account(operation: &Operation, schemas: &Schemas) -> bool {
    let in_query = |parameter: &RefOr<Parameter>| match parameter {
        RefOr::T(it) => {
            let either = it.name == wallet::ACCOUNT || it.required == Required::True;
            it.parameter_in == ParameterIn::Query && either && ACCOUNTS.contains(&it.name.as_str())
        }
        RefOr::Ref(_) => false,
    };
    let body = operation.request_body.as_ref().and_then(|body| match body {
        RefOr::T(body) => body.content.values().find_map(schema_of),
        RefOr::Ref(_) => None,
    });
    let in_body = match body.and_then(|schema| written(schema, schemas)) {
        Some(Schema::Object(object)) => {
            let mut names = object.properties.keys();
            names.any(|name| ACCOUNTS.contains(&name.as_str()))
        }
        _ => false,
    };
    in_body || operation.parameters.iter().flatten().any(in_query)
}

/// Adds the errors that follow from what an operation takes.
fn problems(path: &str, operation: &mut Operation, schemas: &Schemas) {
    let versioned = takes(operation, ParameterIn::Header, "If-Match");
    let keyed = takes(operation, ParameterIn::Header, "Idempotency-Key");
    let mut found = Vec::new();
    let named = path.split('/').filter(|part| part.starts_with('{'));
    if named.into_iter().any(|part| !PUBLIC.contains(&part)) || names_account(operation, schemas) {
        found.push(NOT_FOUND);
    }
    let mut answers = operation.responses.responses.values();
    let answers_with_a_body = |answer: &RefOr<Response>| match answer {
        RefOr::T(answer) => !answer.content.is_empty(),
        RefOr::Ref(_) => false,
    };
    if operation.security.is_none() && answers.any(answers_with_a_body) {
        found.push(NOT_OFFERED);
    }
    if versioned || keyed {
        found.push(CONFLICT);
    }
    if versioned {
        found.push(STALE);
    }
    // An operation whose caller is known by a signature declares its own.
    if operation.request_body.is_some() && operation.security.is_none() {
        found.extend(BODY);
    }
    let answers = &mut operation.responses.responses;
    answers.extend(found.into_iter().map(Problem::mentioned));
}

/// Describes a success where its operation does not, and adds its headers.
fn successes(operation: &mut Operation, schemas: &Schemas) {
    let keyed = takes(operation, ParameterIn::Header, "Idempotency-Key");
    let versioned = takes(operation, ParameterIn::Header, "If-None-Match");
    let paged = takes(operation, ParameterIn::Query, "cursor");
    // A list that is returned whole has no `order` parameter, and is never read in parts.
    let looks = takes(operation, ParameterIn::Query, "order");
    for (status, answer) in &mut operation.responses.responses {
        let RefOr::T(answer) = answer else { continue };
        if answer.description.is_empty() {
            answer.description = meaning(status, answer, schemas);
        }
        REQUEST_ID.mention(answer);
        let shape = shape(answer);
        if keyed {
            REPLAYED.mention(answer);
        }
        if versioned
            || ACCOUNTS_WITH_ETAG
                .iter()
                .any(|it| shape.as_deref() == Some(*it))
        {
            ETAG.mention(answer);
        }
        if paged {
            NEXT.mention(answer);
        }
        if looks {
            LOOKED_ROWS.mention(answer);
            LOOKED_UNTIL.mention(answer);
        }
        if paged || shape.as_deref() == Some("array") {
            TOTAL.mention(answer);
        }
    }
}

/// The description of an answer: the first sentence of its schema's description.
fn meaning(status: &str, answer: &Response, schemas: &Schemas) -> String {
    let schema = answer.content.values().find_map(schema_of);
    let (list, schema) = match schema {
        Some(RefOr::T(Schema::Array(array))) => match &array.items {
            ArrayItems::RefOrSchema(item) => (true, Some(&**item)),
            ArrayItems::False => (true, None),
        },
        other => (false, other),
    };
    let about = match schema.and_then(|schema| written(schema, schemas)) {
        Some(Schema::Object(object)) => object.description.as_deref(),
        Some(Schema::AllOf(some)) => some.description.as_deref(),
        _ => None,
    };
    let first = about.and_then(|about| about.split(['.', ';', ':', '(']).next());
    match (first.map(str::trim), list, status) {
        (Some(what), false, _) => format!("{what}."),
        (Some(what), true, _) => format!("A list: {what}."),
        (None, _, "201") => "Made.".to_owned(),
        (None, ..) => "Done.".to_owned(),
    }
}

type Schemas = BTreeMap<String, RefOr<Schema>>;

/// The schema of a body.
fn schema_of(body: &RefOr<Content>) -> Option<&RefOr<Schema>> {
    match body {
        RefOr::T(body) => body.schema.as_ref(),
        RefOr::Ref(_) => None,
    }
}

/// The schema behind a reference.
fn written<'a>(schema: &'a RefOr<Schema>, schemas: &'a Schemas) -> Option<&'a Schema> {
    match schema {
        RefOr::T(Schema::OneOf(some)) => {
            // An optional schema: besides it there is only null.
            let known = some.items.iter().find(|it| matches!(it, RefOr::Ref(_)));
            known.and_then(|it| written(it, schemas))
        }
        RefOr::T(schema) => Some(schema),
        RefOr::Ref(place) => {
            let name = place.ref_location.rsplit('/').next()?;
            written(schemas.get(name)?, schemas)
        }
    }
}

/// The reference of an answer's schema, or that it is an array.
fn shape(answer: &Response) -> Option<String> {
    match schema_of(answer.content.get("application/json")?)? {
        RefOr::Ref(place) => Some(place.ref_location.clone()),
        RefOr::T(Schema::Array(_)) => Some("array".to_owned()),
        RefOr::T(_) => None,
    }
}
