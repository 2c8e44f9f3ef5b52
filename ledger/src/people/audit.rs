//! The audit log: who did what to what, why, and with what result.
//!
//! **Shape.** An entry records one thing. An action has two entries: one before it, durable before anything happens,
//! and one when it has ended, which names the first. If only the first is there, the end is unknown. A look has one
//! entry, and so has an attempt that was refused for lack of a power.
//!
//! Looks, checks and denials beyond an allowance have no entries of their own; the next entry of the operator has their number.
//!
//! **Bounds.** Texts are cut at named lengths when an entry is made; an entry contains no secrets.

use serde::{Deserialize, Serialize};

use super::Role;

/// The longest name of an action, in characters.
pub const ACTION_MAX: usize = 64;
/// The longest subject, in characters.
pub const SUBJECT_MAX: usize = 200;
/// The longest reason, in characters.
pub const REASON_MAX: usize = 500;
/// The longest id of a request, in characters.
pub const REQUEST_ID_MAX: usize = 80;

/// The result of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AuditOutcome {
    /// It is about to be done.
    Begun,
    /// It was done.
    Done {
        /// The sequence of the entry that recorded the beginning.
        of: u64,
        /// The HTTP status of its answer.
        status: u16,
    },
    /// It was refused or failed.
    Failed {
        /// The sequence of the entry that recorded the beginning.
        of: u64,
        /// The HTTP status of its answer.
        status: u16,
    },
    /// Somebody looked at it.
    Looked,
    /// Somebody without the power tried it.
    Denied,
    /// It waits for a second person.
    Asked {
        /// The number of the waiting proposal.
        approval: u64,
    },
}

impl AuditOutcome {
    /// All result words.
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

/// One entry of the audit log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The name of the person; [`super::ROOT`] is the configured admin key.
    pub operator: String,
    /// Their role at that time.
    pub role: Role,
    /// The action, as a word.
    pub action: String,
    /// The subject of the action: a tenant, a CVU, an account, a case, a name.
    pub subject: String,
    /// The reason; empty if none was required.
    pub reason: String,
    /// The id of the request.
    pub request_id: String,
    /// The result.
    pub outcome: AuditOutcome,
    /// How many looks, checks and denials of the operator since the entry before this one have no entry of their own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AuditEntry {
    /// The entry with its texts cut to their lengths.
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

/// A fact in the stream of the audit log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AuditFact {
    /// Somebody did something.
    Noted(AuditEntry),
}

/// Selects entries; a field that is `None` selects all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AuditFilter {
    /// Entries of this person.
    pub operator: Option<String>,
    /// Entries of this action.
    pub action: Option<String>,
    /// Entries about this subject.
    pub subject: Option<String>,
    /// Entries of this request.
    pub request_id: Option<String>,
}

impl AuditFilter {
    /// Whether the filter selects an entry.
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
            outcome: AuditOutcome::Looked,
            omitted: 0,
        };
        let cut = entry.clone().bounded();
        let lengths = |it: &AuditEntry| {
            [&it.operator, &it.action, &it.subject, &it.reason].map(|text| text.chars().count())
        };
        assert_eq!(lengths(&cut), [3, ACTION_MAX, SUBJECT_MAX, REASON_MAX]);
        assert_eq!(cut.clone().bounded(), cut);
    }
}
