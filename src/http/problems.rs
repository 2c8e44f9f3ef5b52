//! The errors of every operation, as the OpenAPI document shows them.
//!
//! **Shape.** Each error is written once, among the components of the document, and an operation refers to those that
//! it has. Every operation has [`EVERY`], by [`Problems`]; operations that ask the bank before they answer use
//! [`BankProblems`]. The other errors follow from what an operation takes; the document adds them ([`NOT_FOUND`] and
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

/// The errors of every operation.
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
            "Too much of the realm is in flight, or the key or the realm asks too often; nothing was done: try again after `Retry-After` seconds.",
        )
    },
    Problem {
        later: true,
        ..problem(
            "503",
            "Unavailable",
            "The service is overloaded, shutting down or cannot write, or this node is a standby (`not_owner`: nothing was done; `Caudal-Owner` has the URL of the node that serves); try again after `Retry-After` seconds.",
        )
    },
];
/// The errors of operations that ask the bank before they answer.
pub const BANK: [Problem; 2] = [
    problem(
        "502",
        "BankFailed",
        "The bank failed; `bankStatus` and `bankBody` have its answer.",
    ),
    problem("504", "BankTimeout", "The bank did not answer in time."),
];
/// The error of operations that name something by an id.
pub const NOT_FOUND: Problem = problem(
    "404",
    "NotFound",
    "What the request names does not exist, or belongs to another tenant.",
);
/// The error of operations that answer with a body.
pub const NOT_OFFERED: Problem = problem(
    "406",
    "NotAcceptable",
    "`Accept` names no form of this answer; `message` names those that are offered.",
);
/// The error of operations that take an idempotency key or `If-Match`.
pub const CONFLICT: Problem = Problem {
    later: true,
    ..problem(
        "409",
        "Conflict",
        "The request conflicts with the present state, or with a request that is not finished.",
    )
};
/// The error of operations that take `If-Match`.
pub const STALE: Problem = problem(
    "412",
    "PreconditionFailed",
    "`If-Match` names another version than the present one.",
);
/// The errors of operations that take a body.
pub const BODY: [Problem; 2] = [
    problem(
        "413",
        "BodyTooLarge",
        "The body is larger than 64 KiB (1 MiB for a batch).",
    ),
    problem(
        "415",
        "UnsupportedMediaType",
        "The body came without `Content-Type: application/json`, or with `Content-Encoding`.",
    ),
];

impl Problem {
    /// All errors.
    pub fn all() -> impl Iterator<Item = Self> {
        let one = [NOT_FOUND, NOT_OFFERED, CONFLICT, STALE];
        EVERY.into_iter().chain(BANK).chain(one).chain(BODY)
    }

    /// Its status, and the reference to its component.
    pub fn mentioned(self) -> (String, RefOr<Response>) {
        let place = Ref::from_response_name(self.name);
        (self.status.to_owned(), RefOr::Ref(place))
    }
}

/// Gives an operation the errors that every operation has.
#[derive(Debug)]
pub struct Problems;

impl IntoResponses for Problems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        EVERY.into_iter().map(Problem::mentioned).collect()
    }
}

/// Gives the errors of an operation whose caller is known by a signature: none about a key's scope or rate.
#[derive(Debug)]
pub struct NoticeProblems;

impl IntoResponses for NoticeProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let own = EVERY.into_iter().chain(BODY);
        let own = own.filter(|it| ["400", "401", "413", "415", "503"].contains(&it.status));
        own.map(Problem::mentioned).collect()
    }
}

/// Like [`Problems`], for operations that ask the bank before they answer.
#[derive(Debug)]
pub struct BankProblems;

impl IntoResponses for BankProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let all = EVERY.into_iter().chain(BANK);
        all.map(Problem::mentioned).collect()
    }
}
