//! Samples of the facts about the people who run the service.

use caudal_ledger::people::approvals::{ApprovalFact, Proposal};
use caudal_ledger::people::audit::{
    AuditDetails, AuditEntry, AuditFact, AuditOutcome, FieldChange, SecondPerson,
};
use caudal_ledger::people::{Credential, PeopleFact, PersonName, Role};

use caudal_ledger::tenants::{FourEyes, Provider};

use super::*;

fn ana() -> PersonName {
    PersonName::parse("ana").unwrap()
}

pub(super) fn facts() -> Vec<PeopleFact> {
    vec![
        PeopleFact::Issued {
            name: ana(),
            role: Role::Approver,
            credential: Credential {
                id: "aaaaaaaaaa".into(),
                mac: Digest([3; 32]),
                pepper: None,
            },
        },
        PeopleFact::RoleChanged {
            name: ana(),
            role: Role::Viewer,
        },
        PeopleFact::Revoked { name: ana() },
    ]
}

/// A credential whose pepper is known.
pub(super) fn peppered() -> PeopleFact {
    PeopleFact::Issued {
        name: ana(),
        role: Role::Viewer,
        credential: Credential {
            id: "bbbbbbbbbb".into(),
            mac: Digest([4; 32]),
            pepper: Some(PepperId(7)),
        },
    }
}

pub(super) fn approvals() -> Vec<ApprovalFact> {
    vec![
        ApprovalFact::Asked(Proposal {
            number: 1,
            by: "ana".into(),
            role: Role::Operator,
            action: "decideTransfer".into(),
            subject: "trf_1".into(),
            reason: "por qué".into(),
            body: "{}".into(),
            expires_at: at(5),
            changes: Vec::new(),
        }),
        ApprovalFact::Decided {
            number: 1,
            by: "eva".into(),
            approved: true,
            reason: "seen".into(),
        },
        ApprovalFact::Ended {
            number: 1,
            status: 200,
        },
    ]
}

fn changes() -> Vec<FieldChange> {
    vec![FieldChange {
        field: "limits.dailyAmount".into(),
        before: None,
        after: Some("5.00".into()),
    }]
}

/// A proposal of a change.
pub(super) fn asked() -> ApprovalFact {
    ApprovalFact::Asked(Proposal {
        number: 2,
        by: "ana".into(),
        role: Role::Operator,
        action: "changeTenant".into(),
        subject: "tnt_1".into(),
        reason: "por qué".into(),
        body: "{}".into(),
        expires_at: at(5),
        changes: changes(),
    })
}

/// The entry of a change that a second person approved.
pub(super) fn change() -> AuditFact {
    let second = SecondPerson {
        approval: 2,
        by: "eva".into(),
        reason: "seen".into(),
    };
    noted(
        AuditOutcome::Done { of: 1, status: 200 },
        Role::Operator,
        AuditDetails {
            second: Some(second),
            ..AuditDetails::of_changes(changes())
        },
    )
}

/// The entry of what a key was shown.
pub(super) fn reads() -> AuditFact {
    let shown = [("0000031100000000000018".to_owned(), 3)];
    noted(
        AuditOutcome::Looked,
        Role::Key,
        AuditDetails {
            shown: shown.into(),
            ..AuditDetails::default()
        },
    )
}

/// A tenant for which some operations need a second person.
pub(super) fn four_eyes() -> PlatformFact {
    PlatformFact::TenantChanged {
        id: "tnt_1".into(),
        name: "Uno".into(),
        policy: Policy {
            four_eyes: FourEyes {
                decisions_above: Some(Money::from_centavos(500)),
                limit_raises: true,
            },
            ..Policy::default()
        },
        limits: Limits::default(),
        fees: Vec::new(),
        total_limits: TotalLimits::default(),
        provider: Provider::default(),
    }
}

pub(super) fn outcomes() -> Vec<AuditOutcome> {
    vec![
        AuditOutcome::Begun,
        AuditOutcome::Done { of: 1, status: 200 },
        AuditOutcome::Failed { of: 3, status: 409 },
        AuditOutcome::Looked,
        AuditOutcome::Denied,
        AuditOutcome::Asked { approval: 1 },
    ]
}

/// One entry for each outcome, by people of each role.
pub(super) fn entries() -> Vec<AuditFact> {
    let roles = [
        Role::Viewer,
        Role::Auditor,
        Role::Operator,
        Role::Approver,
        Role::Root,
    ];
    let each = outcomes().into_iter().zip(roles.into_iter().cycle());
    each.map(|(outcome, role)| noted(outcome, role, AuditDetails::default()))
        .collect()
}

fn noted(outcome: AuditOutcome, role: Role, details: AuditDetails) -> AuditFact {
    AuditFact::Noted(AuditEntry {
        operator: "ana".into(),
        role,
        action: "revokeKey".into(),
        subject: "aaaaaaaaaa".into(),
        reason: "por qué".into(),
        request_id: "req_1".into(),
        outcome,
        omitted: 0,
        details,
    })
}
