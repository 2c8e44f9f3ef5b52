//! Reads no more of the answer to a bulk than necessary: only its end, if all items succeeded.

use serde::Deserialize;

/// The characters of a refusal that are shown.
const SHOWN: usize = 300;

/// The outcome of a request according to its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Acknowledged {
    /// Everything is done.
    All,
    /// An unexpected answer: it is unknown whether anything is done.
    Nothing,
    /// For a bulk, which items are done, and the first that is not.
    Partly(Vec<bool>, String),
}

impl Acknowledged {
    /// Whether the item at a place is done.
    pub fn done(&self, place: usize) -> bool {
        match self {
            Self::All => true,
            Self::Nothing => false,
            Self::Partly(done, _) => done.get(place).copied().unwrap_or(false),
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    status: String,
    #[serde(default)]
    error: serde_json::Value,
}

/// The outcome of a bulk with this many items, from the body of its answer.
pub fn acknowledged(body: &[u8], items: usize) -> Acknowledged {
    let end =
        format!(r#""summary":{{"recorded":{items},"replayed":0,"rejected":0,"notPosted":0}}}}"#);
    if body.ends_with(end.as_bytes()) {
        return Acknowledged::All;
    }
    let Ok(answer) = serde_json::from_slice::<Answer>(body) else {
        return Acknowledged::Nothing;
    };
    let done = |item: &Item| item.status == "recorded";
    let first = answer.results.iter().find(|item| !done(item));
    let first = first.map(|item| format!("{}: {}", item.status, item.error));
    let first = first.unwrap_or_default().chars().take(SHOWN).collect();
    Acknowledged::Partly(answer.results.iter().map(done).collect(), first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_told_apart() {
        let all = r#"{"results":[{},{}],"summary":{"recorded":2,"replayed":0,"rejected":0,"notPosted":0}}"#;
        assert_eq!(acknowledged(all.as_bytes(), 2), Acknowledged::All);
        assert_ne!(acknowledged(all.as_bytes(), 3), Acknowledged::All);
        let some = r#"{"results":[{"index":0,"status":"rejected","error":{"code":"overloaded"}},
            {"index":1,"status":"recorded"}],"summary":{"recorded":1,"replayed":0,"rejected":1}}"#;
        let found = acknowledged(some.as_bytes(), 2);
        let first = r#"rejected: {"code":"overloaded"}"#.to_owned();
        assert_eq!(found, Acknowledged::Partly(vec![false, true], first));
        assert!(!found.done(0) && found.done(1) && !found.done(2));
        assert_eq!(acknowledged(b"{}", 2), Acknowledged::Nothing);
    }
}
