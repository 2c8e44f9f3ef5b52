//! Recounts the people, their approvals and the audit log, and compares them with the state read from the index.

use std::collections::BTreeMap;

use caudal_ledger::people::approvals::{ApprovalFact, Approvals};
use caudal_ledger::people::audit::{AuditEntry, AuditFact, AuditOutcome};
use caudal_ledger::people::{People, PeopleFact};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Entry, Index, SortOrder, StoreError};

use crate::records::{
    APPROVALS, APPROVALS_STREAM, AUDIT, AUDIT_STREAM, PEOPLE, PEOPLE_STREAM, Tail, decode, reads,
};

/// The journal's state of the people who run the service.
#[derive(Debug, Default)]
pub(super) struct Recount {
    tails: [Tail; 3],
    people: People,
    approvals: Approvals,
    /// Operations that have begun and not ended: operator and action, by sequence.
    begun: BTreeMap<u64, (String, String)>,
}

/// The name of a stream of the platform.
const fn called(kind: u8) -> &'static str {
    match kind {
        PEOPLE => "the stream of people",
        APPROVALS => "the stream of approvals",
        _ => "the audit log",
    }
}

impl Recount {
    /// How many entries the audit log has.
    pub(super) const fn entries(&self) -> u64 {
        let [_, _, audit] = &self.tails;
        audit.seq
    }

    /// Takes in the next entry of the journal, if it is about the people. Returns what is wrong with it, in words.
    pub(super) fn entry(&mut self, entry: &Entry) -> Option<String> {
        let [people, approvals, audit] = &mut self.tails;
        let tail = match entry.stream.kind {
            PEOPLE => people,
            APPROVALS => approvals,
            AUDIT => audit,
            _ => return None,
        };
        let at = Timestamp::from_millis(entry.at);
        let follows = entry.seq == tail.seq + 1 && at >= tail.at;
        *tail = Tail { seq: entry.seq, at };
        let wrong = match self.says(entry, at) {
            Ok(wrong) => wrong,
            Err(why) => Some(why.to_string()),
        };
        let wrong =
            wrong.or_else(|| (!follows).then(|| "does not follow the one before".into()))?;
        let stream = called(entry.stream.kind);
        Some(format!("{stream}: entry {} {wrong}", entry.seq))
    }

    fn says(&mut self, entry: &Entry, at: Timestamp) -> Result<Option<String>, StoreError> {
        Ok(match entry.stream.kind {
            PEOPLE => {
                let fact: PeopleFact = decode(&entry.body)?;
                self.people.apply(&fact, at);
                None
            }
            APPROVALS => {
                let fact: ApprovalFact = decode(&entry.body)?;
                let wrong = self.decided(&fact);
                self.approvals.apply(&fact, at);
                wrong
            }
            _ => {
                let AuditFact::Noted(noted) = decode(&entry.body)?;
                self.noted(noted, entry.seq)
            }
        })
    }

    /// Checks a decision: nobody decides about their own request.
    fn decided(&self, fact: &ApprovalFact) -> Option<String> {
        let ApprovalFact::Decided { number, by, .. } = fact else {
            return None;
        };
        let known = self.approvals.numbered(*number).ok();
        let good = known.is_some_and(|it| it.vote.is_none() && it.proposal.by != *by);
        (!good).then(|| format!("decides approval {number}, which {by} could not"))
    }

    /// Checks an entry of the audit log: an end belongs to a beginning, and only once.
    fn noted(&mut self, entry: AuditEntry, seq: u64) -> Option<String> {
        let AuditEntry {
            operator,
            action,
            outcome,
            ..
        } = entry;
        match outcome {
            AuditOutcome::Begun => {
                self.begun.insert(seq, (operator, action));
                None
            }
            AuditOutcome::Done { of, .. } | AuditOutcome::Failed { of, .. } => {
                let good = self
                    .begun
                    .remove(&of)
                    .is_some_and(|it| it == (operator, action));
                (!good).then(|| format!("ends entry {of}, which does not begin it"))
            }
            AuditOutcome::Looked | AuditOutcome::Denied | AuditOutcome::Asked { .. } => None,
        }
    }

    /// The differences in the index. A running service moves on meanwhile: entries that it has written since do not
    /// count.
    pub(super) fn compare(&self, store: &dyn Index) -> Result<Vec<String>, StoreError> {
        let mut wrong = Vec::new();
        let streams = [PEOPLE_STREAM, APPROVALS_STREAM, AUDIT_STREAM];
        for (stream, tail) in streams.into_iter().zip(self.tails) {
            let of_last = store.read(stream, tail.seq, tail.seq, SortOrder::Ascending, 1)?;
            let same =
                of_last.first().map(|it| it.at) == (tail.seq > 0).then_some(tail.at.millis());
            let head = store.head(stream)?.map_or(0, |head| head.seq);
            if !same || head < tail.seq {
                let stream = called(stream.kind);
                wrong.push(format!("{stream}: the index disagrees with the journal"));
            }
        }
        let (mut people, mut approvals) = (People::default(), Approvals::default());
        let [upto_people, upto_approvals, _] = self.tails;
        reads::fold(store, PEOPLE_STREAM, 0, |fact: PeopleFact, seq, at| {
            if seq <= upto_people.seq {
                people.apply(&fact, at);
            }
        })?;
        reads::fold(store, APPROVALS_STREAM, 0, |fact: ApprovalFact, seq, at| {
            if seq <= upto_approvals.seq {
                approvals.apply(&fact, at);
            }
        })?;
        if people != self.people {
            wrong.push("the people are not those of the journal".to_owned());
        }
        if approvals != self.approvals {
            wrong.push("the approvals are not those of the journal".to_owned());
        }
        Ok(wrong)
    }
}

#[cfg(test)]
mod tests {
    use caudal_ledger::people::Role;
    use caudal_ledger::people::approvals::Proposal;
    use caudal_ledger::people::audit::AuditDetails;

    use super::*;
    use crate::records::entry;

    const NOON: Timestamp = Timestamp::from_millis(1_772_463_600_000);

    fn noted(seq: u64, operator: &str, outcome: AuditOutcome) -> Entry {
        let fact = AuditFact::Noted(AuditEntry {
            operator: operator.to_owned(),
            role: Role::Operator,
            action: "revokeKey".to_owned(),
            subject: "key".to_owned(),
            reason: String::new(),
            request_id: String::new(),
            outcome,
            omitted: 0,
            details: AuditDetails::default(),
        });
        entry(AUDIT_STREAM, seq, NOON, &fact).unwrap()
    }

    #[test]
    fn gaps_and_ends_without_a_beginning_are_found() {
        let done = |of| AuditOutcome::Done { of, status: 204 };
        let mut good = Recount::default();
        for entry in [
            noted(1, "ana", AuditOutcome::Begun),
            noted(2, "ana", done(1)),
        ] {
            assert_eq!(good.entry(&entry), None);
        }
        for bad in [
            noted(4, "ana", AuditOutcome::Looked),
            noted(2, "ana", AuditOutcome::Looked),
            noted(3, "ana", done(1)),
            noted(3, "ana", done(7)),
        ] {
            let mut recount = Recount::default();
            recount.entry(&noted(1, "ana", AuditOutcome::Begun));
            recount.entry(&noted(2, "ana", done(1)));
            assert!(recount.entry(&bad).is_some(), "{bad:?}");
        }
        let mut another = Recount::default();
        another.entry(&noted(1, "ana", AuditOutcome::Begun));
        assert!(another.entry(&noted(2, "eva", done(1))).is_some());
    }

    #[test]
    fn a_decision_about_ones_own_is_found() {
        let asked = ApprovalFact::Asked(Proposal {
            number: 1,
            by: "ana".to_owned(),
            role: Role::Approver,
            action: "decideTransfer".to_owned(),
            subject: "trf".to_owned(),
            reason: String::new(),
            body: String::new(),
            expires_at: NOON,
            changes: Vec::new(),
        });
        for (by, wrong) in [("ana", true), ("eva", false)] {
            let mut recount = Recount::default();
            let first = entry(APPROVALS_STREAM, 1, NOON, &asked).unwrap();
            assert_eq!(recount.entry(&first), None);
            let decided = ApprovalFact::Decided {
                number: 1,
                by: by.to_owned(),
                approved: true,
                reason: String::new(),
            };
            let second = entry(APPROVALS_STREAM, 2, NOON, &decided).unwrap();
            assert_eq!(recount.entry(&second).is_some(), wrong);
        }
    }
}
