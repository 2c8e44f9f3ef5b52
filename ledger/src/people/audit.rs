//! The audit log: who did what to whom, why, and what came of it.
//!
//! **Shape.** An entry says one thing. What is done has two: one before it is done, durable before anything of it
//! happens, and one when it ended, which names the first. Whoever finds the first alone knows that the end is
//! not known. A look has one. What was refused for want of a power has one, too.
//!
//! **Bounds.** Texts are cut at named lengths when an entry is made; nothing in it is a secret.

use serde::{Deserialize, Serialize};

use super::Role;

/// The longest word of an action, in characters.
pub const ACTION_MAX: usize = 64;
/// The longest subject, in characters.
pub const SUBJECT_MAX: usize = 200;
/// The longest reason, in characters.
pub const REASON_MAX: usize = 500;
/// The longest id of a request, in characters.
pub const REQUEST_ID_MAX: usize = 80;

/// What came of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// It is about to be done.
    Begun,
    /// It was done.
    Done {
        /// The sequence of the entry that says that it was begun.
        of: u64,
        /// The HTTP status of its answer.
        status: u16,
    },
    /// It was refused or failed.
    Failed {
        /// The sequence of the entry that says that it was begun.
        of: u64,
        /// The HTTP status of its answer.
        status: u16,
    },
    /// Somebody looked at it.
    Looked,
    /// Somebody tried who may not.
    Denied,
    /// It waits for a second person.
    Asked {
        /// The number of what waits.
        approval: u64,
    },
}

impl Outcome {
    /// All words.
    pub const WORDS: [&'static str; 6] = ["begun", "done", "failed", "looked", "denied", "asked"];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done { .. } => "done",
            Self::Failed { .. } => "failed",
            Self::Looked => "looked",
            Self::Denied => "denied",
            Self::Asked { .. } => "asked",
        }
    }
}

/// What the audit log says once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The name of the person; [`super::ROOT`] is the configured admin key.
    pub operator: String,
    /// The role that they had.
    pub role: Role,
    /// What was done, as a word.
    pub action: String,
    /// What it was done to: a tenant, a CVU, an account, a case, a name.
    pub subject: String,
    /// Why; empty where nobody had to say.
    pub reason: String,
    /// The id of the request.
    pub request_id: String,
    /// What came of it.
    pub outcome: Outcome,
}

impl AuditEntry {
    /// The same with texts of no more than their lengths.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let texts = [
            (&mut self.operator, super::NAME_MAX),
            (&mut self.action, ACTION_MAX),
            (&mut self.subject, SUBJECT_MAX),
            (&mut self.reason, REASON_MAX),
            (&mut self.request_id, REQUEST_ID_MAX),
        ];
        for (text, most) in texts {
            if let Some((end, _)) = text.char_indices().nth(most) {
                text.truncate(end);
            }
        }
        self
    }
}

/// What happened, in the stream of the audit log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AuditFact {
    /// Somebody did something.
    Noted(AuditEntry),
}

/// Which entries are wanted; what is `None` does not matter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditFilter {
    /// Those of a person.
    pub operator: Option<String>,
    /// Those of an action.
    pub action: Option<String>,
    /// Those about a subject.
    pub subject: Option<String>,
    /// Those of a request.
    pub request_id: Option<String>,
}

impl AuditFilter {
    /// Whether an entry is wanted.
    pub fn fits(&self, entry: &AuditEntry) -> bool {
        let same = |wanted: &Option<String>, found: &String| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        same(&self.operator, &entry.operator)
            && same(&self.action, &entry.action)
            && same(&self.subject, &entry.subject)
            && same(&self.request_id, &entry.request_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_whole_characters() {
        let entry = AuditEntry {
            operator: "ana".to_owned(),
            role: Role::Viewer,
            action: "a".repeat(ACTION_MAX),
            subject: "ñ".repeat(SUBJECT_MAX + 1),
            reason: "\u{1f30a}".repeat(REASON_MAX + 7),
            request_id: String::new(),
            outcome: Outcome::Looked,
        };
        let cut = entry.clone().bounded();
        let lengths = |it: &AuditEntry| {
            [&it.operator, &it.action, &it.subject, &it.reason].map(|text| text.chars().count())
        };
        assert_eq!(lengths(&cut), [3, ACTION_MAX, SUBJECT_MAX, REASON_MAX]);
        assert_eq!(cut.clone().bounded(), cut);
    }
}
