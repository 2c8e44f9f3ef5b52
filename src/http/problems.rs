//! What the OpenAPI document says of every operation: its errors.
//!
//! **Shape.** Each error is written once, among the components of the document, and an operation refers to
//! those that it has. Every operation has [`EVERY`], by [`Problems`]; whoever asks the bank before it answers
//! says [`BankProblems`]. The rest follows from what an operation takes; the document adds it ([`NOT_FOUND`] and
//! those after it).

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::response::Response;
use utoipa::openapi::{Ref, RefOr};

/// An error as the document has it.
#[derive(Clone, Copy, Debug)]
pub struct Problem {
    /// The status.
    pub status: &'static str,
    /// Its name among the components.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Whether the answer says when to try again.
    pub later: bool,
}

const fn problem(status: &'static str, name: &'static str, about: &'static str) -> Problem {
    Problem {
        status,
        name,
        about,
        later: false,
    }
}

/// Of every operation.
pub const EVERY: [Problem; 5] = [
    problem(
        "400",
        "BadRequest",
        "The request is invalid, or the ledger refuses it; `code` says which.",
    ),
    problem("401", "Unauthorized", "The API key is absent or invalid."),
    problem(
        "403",
        "Forbidden",
        "The key lacks the scope of the operation, or may not be used from this address.",
    ),
    Problem {
        later: true,
        ..problem(
            "429",
            "TooManyRequests",
            "Too many requests with this key; try again after `Retry-After` seconds.",
        )
    },
    Problem {
        later: true,
        ..problem(
            "503",
            "Unavailable",
            "The service is overloaded, shutting down or cannot write; try again after `Retry-After` seconds.",
        )
    },
];
/// Of whoever asks the bank before it answers.
pub const BANK: [Problem; 2] = [
    problem(
        "502",
        "BankFailed",
        "The bank failed; `bankStatus` and `bankBody` have its answer.",
    ),
    problem("504", "BankTimeout", "The bank did not answer in time."),
];
/// Of whoever names something by an id.
pub const NOT_FOUND: Problem = problem(
    "404",
    "NotFound",
    "What the request names does not exist, or belongs to another tenant.",
);
/// Of whoever takes an idempotency key or `If-Match`.
pub const CONFLICT: Problem = Problem {
    later: true,
    ..problem(
        "409",
        "Conflict",
        "The request conflicts with the present state, or with a request that is not finished.",
    )
};
/// Of whoever takes `If-Match`.
pub const STALE: Problem = problem(
    "412",
    "PreconditionFailed",
    "`If-Match` names another version than the present one.",
);
/// Of whoever takes a body.
pub const BODY: [Problem; 2] = [
    problem(
        "413",
        "BodyTooLarge",
        "The body is larger than 64 KiB (1 MiB for a batch).",
    ),
    problem(
        "415",
        "UnsupportedMediaType",
        "The body came without `Content-Type: application/json`.",
    ),
];

impl Problem {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        let one = [NOT_FOUND, CONFLICT, STALE];
        EVERY.into_iter().chain(BANK).chain(one).chain(BODY)
    }

    /// Its status, and the reference to where it is written.
    pub fn mentioned(self) -> (String, RefOr<Response>) {
        let place = Ref::from_response_name(self.name);
        (self.status.to_owned(), RefOr::Ref(place))
    }
}

/// Says that the errors of every operation are an operation's.
#[derive(Debug)]
pub struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        EVERY.into_iter().map(Problem::mentioned).collect()
    }
}

/// What whoever is known by a signature has instead: no key, and no type of its body to be wrong.
#[derive(Debug)]
pub struct NoticeProblems;

impl IntoResponses for NoticeProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let own = EVERY.into_iter().chain(BODY);
        let own = own.filter(|it| ["400", "401", "413", "503"].contains(&it.status));
        own.map(Problem::mentioned).collect()
    }
}

/// Like [`Problems`], of whoever asks the bank before it answers.
#[derive(Debug)]
pub struct BankProblems;

impl IntoResponses for BankProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let all = EVERY.into_iter().chain(BANK);
        all.map(Problem::mentioned).collect()
    }
}
