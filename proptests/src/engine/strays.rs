//! Money that arrives for nobody: a person returns it, and credits whatever stays.

use caudal_actors::engine::Engine;
use caudal_actors::engine::cases::Case;
use caudal_actors::failure::Failure;
use caudal_actors::ports::fake_bank::PSP;
use caudal_ledger::cases::{CaseKind, Decision, Parked, ParkedState};
use caudal_ledger::clients::DRAWS;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::time::Timestamp;

use super::ACCOUNTS;
use super::ask::{REALM, is_open, target};
use super::bank::Arrival;
use super::book::Outcome;

/// The most cases that a story has.
const CASES: usize = 1_000;

/// A decision of a person.
pub(super) fn decision() -> Decision {
    Decision {
        by: "Ana".to_owned(),
        reason: "asked".to_owned(),
        approval_reason: None,
        at: Timestamp::default(),
        bank_reference: None,
        forced: false,
    }
}

/// A CVU that nobody has; money that arrives for it and is not returned is credited to this account.
pub(super) fn nobodys(account: u64) -> Cvu {
    Cvu::compose(PSP, DRAWS - account).unwrap()
}

async fn undecided(engine: &Engine) -> Result<Vec<Parked>, Failure> {
    let kinds = vec![CaseKind::Suspense];
    let (cases, _) = engine
        .operators()
        .cases(vec![REALM], kinds, (0, CASES))
        .await?;
    let cases = cases.into_iter().map(|(_, case)| match case {
        Case::Suspense(parked) => *parked,
        other => panic!("{other:?}"),
    });
    Ok(cases.collect())
}

/// The bank reports money for nobody, and a person returns it: once, however often this is asked.
pub(super) async fn give_back(engine: &Engine, arrival: &Arrival) -> Result<Outcome, Failure> {
    engine
        .ledger()
        .notice(REALM.mode(), arrival.notice(), "story")
        .await?;
    let id = arrival.coelsa_id();
    let open = undecided(engine).await?;
    let case = open.iter().find(|it| it.suspense.cash_in.coelsa_id == id);
    let Some(case) = case.filter(|it| it.tries == 0) else {
        return Ok(Outcome::Untold);
    };
    let decided =
        engine
            .operators()
            .return_suspense(case.id(REALM), decision(), "story".to_owned());
    decided.await.map(|_| Outcome::Untold)
}

/// A person credits the money that waits. Returns whether money is still being returned, or could not be credited yet.
pub(super) async fn credit(engine: &Engine) -> bool {
    let mut open = false;
    for case in undecided(engine).await.unwrap() {
        if case.state != ParkedState::Waiting {
            open = true;
            continue;
        }
        let cvu = case.suspense.cash_in.cvu;
        let of = (1..=ACCOUNTS).find(|of| nobodys(*of) == cvu).unwrap();
        let id = case.id(REALM);
        let credited =
            engine
                .operators()
                .credit_suspense(id, target(of), decision(), "story".to_owned());
        if let Err(why) = credited.await {
            assert!(is_open(&why), "{why}");
            open = true;
        }
    }
    open
}
