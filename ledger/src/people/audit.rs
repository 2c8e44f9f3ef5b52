//! The audit log: who did what to what, why, and with what result.
//!
//! **Shape.** An entry records one thing. An action has two entries: one before it, durable before anything happens,
//! and one when it has ended, which names the first. If only the first is there, the end is unknown. A look has one
//! entry, and so has an attempt that was refused for lack of a power.
//!
//! Checks and denials beyond an allowance have no entries of their own; the next entry of the operator has their number.
//!
//! Reads with keys of tenants have entries, too: a count of what a key was shown, of some accounts each.
//!
//! **Bounds.** Texts are cut at named lengths when an entry is made, and so are lists; an entry contains no secrets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Role;

/// The longest name of an action, in characters.
pub const ACTION_MAX: usize = 64;
/// The longest subject, in characters: a page with its query.
pub const SUBJECT_MAX: usize = 1_000;
/// The longest reason, in characters.
pub const REASON_MAX: usize = 500;
/// The longest id of a request, in characters.
pub const REQUEST_ID_MAX: usize = 80;
/// The most CVUs that an entry names: those on a page of any list.
pub const SHOWN_MAX: usize = 500;
/// The most changed fields that an entry has: those of a tenant with a whole fee schedule.
pub const CHANGES_MAX: usize = 2_000;
/// The longest name or value of a changed field, in characters.
pub const CHANGE_TEXT_MAX: usize = 500;

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

/// A field that was changed, or would be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FieldChange {
    /// Its name, as the admin API has it, with the names of the objects around it.
    pub field: String,
    /// Its value before; `None` when it had none.
    pub before: Option<String>,
    /// Its value after; `None` when it has none.
    pub after: Option<String>,
}

/// The approval of a second person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SecondPerson {
    /// The number of the approval.
    pub approval: u64,
    /// The name of the person.
    pub by: String,
    /// Their reason.
    pub reason: String,
}

/// What an entry says besides who, what and why.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AuditDetails {
    /// The CVUs that were shown, with how often. `TENANT/MODE/*` stands for lists of that realm that are too long to name
    /// their accounts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shown: BTreeMap<String, u64>,
    /// The fields that changed, or that would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
    /// Who approved it, where it took a second person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<SecondPerson>,
}

impl AuditDetails {
    /// The details of an entry about fields that changed.
    pub fn of_changes(changes: Vec<FieldChange>) -> Self {
        Self {
            changes,
            ..Self::default()
        }
    }

    /// The details with their texts and lists cut to their lengths.
    fn bounded(mut self) -> Self {
        while self.shown.len() > SHOWN_MAX {
            self.shown.pop_last();
        }
        self.changes.truncate(CHANGES_MAX);
        for change in &mut self.changes {
            let values = [&mut change.before, &mut change.after];
            let texts = values.into_iter().flatten().chain([&mut change.field]);
            texts.for_each(|text| cut(text, CHANGE_TEXT_MAX));
        }
        if let Some(second) = &mut self.second {
            cut(&mut second.by, super::NAME_MAX);
            cut(&mut second.reason, REASON_MAX);
        }
        self
    }
}

/// Cuts a text at a number of characters.
fn cut(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
    }
}

/// One entry of the audit log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The name of the person, [`super::ROOT`] for the configured admin key, or the id of a tenant's key.
    pub operator: String,
    /// Their role at that time.
    pub role: Role,
    /// The action, as a word.
    pub action: String,
    /// The subject of the action: a tenant, a CVU, an account, a case, a name; of a look, the page with its query.
    pub subject: String,
    /// The reason; empty if none was required.
    pub reason: String,
    /// The id of the request.
    pub request_id: String,
    /// The result.
    pub outcome: AuditOutcome,
    /// How many checks and denials of the operator since the entry before this one have no entry of their own.
    #[serde(default, skip_serializing_if = "crate::words::is_default")]
    pub omitted: u64,
    /// What was shown, what changed, and who approved it.
    #[serde(default, skip_serializing_if = "crate::words::is_default")]
    pub details: AuditDetails,
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
            cut(text, most);
        }
        self.details = self.details.bounded();
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
    /// Entries about one of these subjects: names of the same thing. Empty selects all.
    pub subjects: Vec<String>,
    /// Entries of this request.
    pub request_id: Option<String>,
}

impl AuditFilter {
    /// Whether the filter selects an entry. Counts of reads with keys, which are many, are selected only by a subject, an
    /// action or a key.
    pub fn fits(&self, entry: &AuditEntry) -> bool {
        let same = |wanted: &Option<String>, found: &String| {
            wanted.as_ref().is_none_or(|wanted| wanted == found)
        };
        let named = self.operator.is_some() || self.action.is_some() || !self.subjects.is_empty();
        same(&self.operator, &entry.operator)
            && same(&self.action, &entry.action)
            && (self.subjects.is_empty() || self.subjects.iter().any(|it| entry.is_about(it)))
            && same(&self.request_id, &entry.request_id)
            && (named || entry.role != Role::Key)
    }
}

impl AuditEntry {
    /// Whether the entry is about a subject: it is the subject, a part of the page or a value of the query that was looked
    /// at, or a CVU that was shown.
    fn is_about(&self, subject: &str) -> bool {
        let mut parts = self.subject.split(['/', '?', '&', '=']);
        self.subject == subject
            || self.details.shown.contains_key(subject)
            || parts.any(|part| part == subject)
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
            details: AuditDetails {
                shown: (0..=SHOWN_MAX).map(|nth| (nth.to_string(), 1)).collect(),
                ..AuditDetails::of_changes(vec![FieldChange {
                    field: "limits".to_owned(),
                    before: None,
                    after: Some("ñ".repeat(CHANGE_TEXT_MAX + 1)),
                }])
            },
        };
        let cut = entry.clone().bounded();
        let lengths = |it: &AuditEntry| {
            [&it.operator, &it.action, &it.subject, &it.reason].map(|text| text.chars().count())
        };
        assert_eq!(lengths(&cut), [3, ACTION_MAX, SUBJECT_MAX, REASON_MAX]);
        assert_eq!(cut.details.shown.len(), SHOWN_MAX);
        let after = cut.details.changes.first().and_then(|it| it.after.as_ref());
        assert_eq!(
            after.map(|text| text.chars().count()),
            Some(CHANGE_TEXT_MAX)
        );
        assert_eq!(cut.clone().bounded(), cut);
    }

    #[test]
    fn an_entry_is_found_by_what_it_is_about_was_asked_and_showed() {
        let entry = |role, subject: &str, shown: &str| AuditEntry {
            operator: "ana".to_owned(),
            role,
            action: "openPage".to_owned(),
            subject: subject.to_owned(),
            reason: String::new(),
            request_id: String::new(),
            outcome: AuditOutcome::Looked,
            omitted: 0,
            details: AuditDetails {
                shown: BTreeMap::from([(shown.to_owned(), 1)]),
                ..AuditDetails::default()
            },
        };
        let about = |subjects: &[&str]| AuditFilter {
            subjects: subjects.iter().map(|it| (*it).to_owned()).collect(),
            ..AuditFilter::default()
        };
        let page = entry(Role::Viewer, "/console/search?q=20300742387&x=1", "000");
        for subject in ["20300742387", "000", "search", &page.subject] {
            assert!(about(&["nobody", subject]).fits(&page), "{subject}");
        }
        assert!(!about(&["2030074238"]).fits(&page));
        assert!(AuditFilter::default().fits(&page));
        // Reads with keys are found by what was read, and are no part of the whole log.
        let read = entry(Role::Key, "tnt_1/live", "000");
        assert!(about(&["000"]).fits(&read) && about(&["tnt_1"]).fits(&read));
        assert!(!AuditFilter::default().fits(&read));
    }
}
