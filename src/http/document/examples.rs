//! Examples of bodies: real requests and answers, by the id of the operation.

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::openapi::content::Content;
use utoipa::openapi::{OpenApi, RefOr};

use super::walk;

/// The media type of the examples; an answer may come in others, too.
const JSON: &str = "application/json";

/// The request of one operation, and its answer at success.
#[derive(Deserialize)]
struct Example {
    body: Option<serde_json::Value>,
    answer: Option<serde_json::Value>,
}

/// Puts each example of a file next to its schema.
///
/// # Panics
/// When the file is not one of ours.
#[expect(
    clippy::expect_used,
    reason = "the file is compiled in, and a test reads it"
)]
pub fn show(document: &mut OpenApi, examples: &str) {
    let mut known: BTreeMap<String, Example> =
        serde_json::from_str(examples).expect("examples that can be read");
    for item in document.paths.paths.values_mut() {
        for operation in walk::operations_mut(item) {
            let id = operation.operation_id.as_ref();
            let Some(Example { body, answer }) = id.and_then(|id| known.remove(id)) else {
                continue;
            };
            if let Some(RefOr::T(sent)) = &mut operation.request_body {
                put(sent.content.get_mut(JSON), body);
            }
            let answers = operation.responses.responses.iter_mut();
            let made = answers.filter(|(status, _)| status.starts_with('2'));
            // The status of a creation comes after that of a dry run.
            if let Some((_, RefOr::T(answered))) = made.last() {
                put(answered.content.get_mut(JSON), answer);
            }
        }
    }
    debug_assert!(
        known.is_empty(),
        "examples of no operation: {:?}",
        known.keys()
    );
}

fn put(content: Option<&mut RefOr<Content>>, example: Option<serde_json::Value>) {
    if let Some(RefOr::T(content)) = content {
        content.example = example;
    }
}
