//! The JSON of bodies that are ours. An answer that an idempotency key keeps is made here, so it is written whole or
//! not at all: an empty answer would be kept, too.

use serde::Serialize;

/// The JSON of a body.
///
/// # Panics
/// When the body is not one of ours: structs of texts, numbers and lists can always be written.
#[expect(
    clippy::expect_used,
    reason = "no key of a body is anything but a text, and memory takes all"
)]
pub fn json<T: Serialize>(body: &T) -> String {
    serde_json::to_string(body).expect("a body that can be written")
}

/// The JSON of a body that is about this many bytes long.
///
/// # Panics
/// As [`json`] does.
#[expect(clippy::expect_used, reason = "as for json, which is UTF-8")]
pub fn long_json<T: Serialize>(body: &T, bytes: usize) -> String {
    let mut text = Vec::with_capacity(bytes);
    serde_json::to_writer(&mut text, body).expect("a body that can be written");
    String::from_utf8(text).expect("JSON is UTF-8")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_body_is_written_whole() {
        assert_eq!(json(&["a", "ñ"]), r#"["a","ñ"]"#);
        assert_eq!(long_json(&["a", "ñ"], 2), r#"["a","ñ"]"#);
    }

    #[test]
    #[should_panic(expected = "a body that can be written")]
    fn a_body_that_cannot_be_written_is_no_empty_answer() {
        json(&BTreeMap::from([((1, 2), "no key of JSON")]));
    }
}
