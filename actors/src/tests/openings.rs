//! Openings and aliases: the bank is asked, and whatever it does, there is one account or none.

use super::*;
use crate::accounts::ChangeProfile;
use caudal_ledger::rejection::Owner;

#[actix::test]
async fn an_opening_whose_outcome_is_unknown_is_asked_again_until_it_is_known() {
    let world = World::new().await;
    world.bank.will_say(BankError::TimedOut);
    let first = world.open(Some("ana.prueba"), Some("k")).await;
    assert_eq!(first, Err(Failure::Bank(BankError::TimedOut)));
    assert_eq!(
        world.open(Some("ana.prueba"), Some("k")).await,
        Err(Failure::KeyInFlight)
    );
    wait_until(|| world.bank.called().len() >= 3).await;
    let settled = loop {
        match world.open(Some("ana.prueba"), Some("k")).await {
            Err(Failure::KeyInFlight) => {
                actix::clock::interval(Duration::from_millis(1))
                    .tick()
                    .await;
            }
            other => break other.unwrap(),
        }
    };
    let Given::Kept {
        status: 201,
        body,
        again: true,
    } = settled
    else {
        panic!("{settled:?}")
    };
    let calls = world.bank.called();
    let create = format!("create {}", harness::client(1));
    assert_eq!(calls, [&create, &create, "alias ana.prueba"]);
    // The same key always gives the same bytes; there is one account.
    let repeat = world.open(Some("ana.prueba"), Some("k")).await.unwrap();
    assert_eq!(
        repeat,
        Given::Kept {
            status: 201,
            body,
            again: true
        }
    );
    assert_eq!(world.balance().await, 0);
}

#[actix::test]
async fn an_opening_cut_off_by_a_crash_is_finished_after_the_restart() {
    let world = World::new().await;
    world.bank.will_say(BankError::TimedOut);
    world.open(Some("ana.prueba"), Some("k")).await.unwrap_err();
    let world = world.crash(usize::MAX);
    let settled = loop {
        match world.open(Some("ana.prueba"), Some("k")).await {
            Err(Failure::KeyInFlight) => {
                actix::clock::interval(Duration::from_millis(1))
                    .tick()
                    .await;
            }
            other => break other.unwrap(),
        }
    };
    assert!(
        matches!(settled, Given::Kept { status: 201, .. }),
        "{settled:?}"
    );
    let created = world
        .bank
        .called()
        .iter()
        .filter(|call| call.starts_with("create"))
        .count();
    assert!(created >= 2, "asked again with the same client id");
    assert!(
        world
            .bank
            .called()
            .iter()
            .all(|call| !call.starts_with("create 10000002"))
    );
    // Another opening gets another account, after the gap of a restart.
    let other = value(world.open(None, None).await);
    assert!(other.account.number > AccountNo(1));
    let first = Target::Account(AccountNo(1));
    let first = world.engine.queries().view(REALM, first).await.unwrap();
    let by = Some(Owner {
        account: AccountNo(1),
        cvu: first.account.cvu,
    });
    assert_eq!(
        world.open(Some("ANA.prueba"), None).await,
        Err(Failure::Rejected(Rejection::AliasTaken { by }))
    );
}

#[actix::test]
async fn a_refused_alias_undoes_the_opening_and_is_kept_for_its_key() {
    let world = World::new().await;
    let refusal = BankRefusal {
        status: 409,
        body: r#"{"code":"VW007"}"#.into(),
    };
    world.bank.will_obey();
    world.bank.will_say(BankError::Refused(refusal.clone()));
    let refused = world.open(Some("ajeno.alias"), Some("k")).await.unwrap();
    let Given::Kept {
        status: 400,
        body,
        again: false,
    } = refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!(
        world.bank.called(),
        [
            &format!("create {}", harness::client(1)),
            "alias ajeno.alias",
            "close"
        ]
    );
    let repeat = world.open(Some("ajeno.alias"), Some("k")).await.unwrap();
    assert_eq!(
        repeat,
        Given::Kept {
            status: 400,
            body,
            again: true
        }
    );
    let gone = world
        .engine
        .queries()
        .view(REALM, Target::Account(AccountNo(1)))
        .await;
    assert_eq!(gone, Err(Failure::Rejected(Rejection::AccountNotFound)));
}

#[actix::test]
async fn a_cvu_that_does_not_carry_its_client_id_opens_no_account() {
    let world = World::new().await;
    // The stray CVU is that of the same account of the next realm: its money would go there.
    world.bank.will_stray();
    let refused = world.open(Some("ana.prueba"), None).await.unwrap_err();
    let Failure::Bank(BankError::Refused(why)) = &refused else {
        panic!("{refused:?}")
    };
    assert!(why.body.contains("client id"), "{why:?}");
    let create = format!("create {}", harness::client(1));
    assert_eq!(
        world.bank.called(),
        [create],
        "it is not used, and not closed"
    );
    let gone = world
        .engine
        .queries()
        .view(REALM, Target::Account(AccountNo(1)))
        .await;
    assert_eq!(gone, Err(Failure::Rejected(Rejection::AccountNotFound)));
}

#[actix::test]
async fn a_refused_change_of_alias_changes_nothing() {
    let world = World::new().await;
    value(world.open(Some("ana.prueba"), None).await);
    let refusal = BankRefusal {
        status: 409,
        body: r#"{"code":"VW007"}"#.into(),
    };
    world.bank.will_say(BankError::Refused(refusal.clone()));
    let target = Target::Account(AccountNo(1));
    let order = ProfileOrder::SetAlias(Alias::parse("otra.prueba").unwrap());
    let refused = world
        .engine
        .ledger()
        .order(REALM, ChangeProfile::new(target, order), plain())
        .await;
    assert_eq!(refused, Err(Failure::Bank(BankError::Refused(refusal))));
    let view = world.engine.queries().view(REALM, target).await.unwrap();
    assert_eq!(view.account.alias, Alias::parse("ana.prueba").ok());
    assert_eq!(view.account.pending, None);
}
