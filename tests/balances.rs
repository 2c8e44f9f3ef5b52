//! Present and past balances, over business days of Buenos Aires, with a clock that the test sets.

use crate::support::{TestClock, TestService, Value, json, named};

const DAYS: [(&str, &str, &str, &str); 7] = [
    // Time, type, amount, available afterwards.
    ("2026-03-02T15:00:00Z", "IN", "100.00", "100.00"),
    ("2026-03-03T02:59:59.999Z", "OUT", "30.00", "70.00"),
    ("2026-03-03T03:00:00.000Z", "IN", "5.00", "75.00"),
    ("2026-03-03T12:00:00.000Z", "OUT", "75.00", "0.00"),
    ("2026-03-06T12:00:00.000Z", "IN", "8.00", "8.00"),
    ("2026-03-06T12:00:00.000Z", "IN", "1.00", "9.00"),
    ("2027-01-01T02:00:00.000Z", "OUT", "9.00", "0.00"),
];

/// A service with the movements of [`DAYS`]; returns it with its account.
async fn past(clock: &std::sync::Arc<TestClock>) -> (TestService, String) {
    let service = TestService::at(clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    for (n, (at, code, amount, after)) in DAYS.iter().enumerate() {
        clock.set(at);
        let posted = service
            .a
            .voucher(&cvu, code, amount, &format!("day-{n}"))
            .await
            .is(201);
        assert_eq!(
            (&posted["availableAfter"], &posted["createdAt"]),
            (&json!(after), &json!(stamp(at)))
        );
    }
    clock.set("2027-01-02T12:00:00Z");
    (service, cvu)
}

fn stamp(at: &str) -> String {
    caudal_ledger::time::Timestamp::parse(at)
        .unwrap()
        .to_string()
}

#[actix_web::test]
async fn the_closing_balance_of_a_day_is_that_after_its_last_movement() {
    let clock = TestClock::at("2026-03-01T12:00:00Z");
    let (mut service, cvu) = past(&clock).await;
    let last = |n: usize| json!(stamp(DAYS[n].0));
    let days = [
        ("1970-01-01", "0.00", 0, Value::Null),
        ("2026-03-01", "0.00", 0, Value::Null),
        // A movement one millisecond before midnight in Buenos Aires belongs to the day that ends.
        ("2026-03-02", "70.00", 2, last(1)),
        ("2026-03-03", "0.00", 4, last(3)),
        ("2026-03-04", "0.00", 4, last(3)),
        ("2026-03-05", "0.00", 4, last(3)),
        ("2026-03-06", "9.00", 6, last(5)),
        ("2026-12-30", "9.00", 6, last(5)),
        // Two in the morning UTC is still New Year's Eve.
        ("2026-12-31", "0.00", 7, last(6)),
        ("2027-01-01", "0.00", 7, last(6)),
        ("2027-01-02", "0.00", 7, last(6)),
    ];
    for round in ["live", "passivated", "restarted"] {
        match round {
            "passivated" => {
                let target = caudal_actors::realms::Target::Cvu(
                    caudal_ledger::cvu::Cvu::parse(&cvu).unwrap(),
                );
                let realm = caudal_ledger::ids::RealmId(2);
                crate::support::wait_until("the actor is gone", crate::support::SOON, async || {
                    service
                        .engine()
                        .operators()
                        .passivate(realm, target)
                        .await
                        .unwrap()
                        .then_some(())
                })
                .await;
            }
            "restarted" => service.crash().await,
            _ => {}
        }
        for (date, available, sequence, last) in &days {
            let found = service
                .a
                .get(&format!(
                    "/v1/accounts/{cvu}/balance/historical?date={date}"
                ))
                .await
                .is(200);
            let expected = json!({
                "cvu": cvu, "date": date, "available": available, "held": "0.00", "total": available,
                "sequence": sequence, "lastMovementAt": last, "final": *date != "2027-01-02",
            });
            assert_eq!(found.json, expected, "{round}");
        }
    }
}

#[actix_web::test]
async fn the_balance_at_an_instant_counts_what_was_posted_up_to_it() {
    let clock = TestClock::at("2026-03-01T12:00:00Z");
    let (service, cvu) = past(&clock).await;
    for (at, available, sequence) in [
        ("2026-03-02T14:59:59.999Z", "0.00", 0),
        ("2026-03-02T15:00:00Z", "100.00", 1),
        ("2026-03-02T12:00:00.000-03:00", "100.00", 1),
        ("2026-03-03T02:59:59.998Z", "100.00", 1),
        ("2026-03-03T02:59:59.999Z", "70.00", 2),
        ("2026-03-03T03:00:00Z", "75.00", 3),
        // Of two movements at one instant the later one counts.
        ("2026-03-06T12:00:00Z", "9.00", 6),
        ("2027-01-02T12:00:00Z", "0.00", 7),
    ] {
        let path = format!(
            "/v1/accounts/{cvu}/balance/historical?at={}",
            at.replace('+', "%2B")
        );
        let found = service.a.get(&path).await.is(200);
        assert_eq!(
            (&found["available"], &found["sequence"]),
            (&json!(available), &json!(sequence)),
            "{at}"
        );
        assert_eq!(found["at"], stamp(at));
    }
}

#[actix_web::test]
async fn days_that_are_none_or_not_yet_are_refused() {
    let clock = TestClock::at("2026-03-02T02:59:59.999Z");
    let service = TestService::at(&clock).await;
    let cvu = service.a.cvu().await;
    let path = format!("/v1/accounts/{cvu}/balance/historical");
    for (query, field) in [
        ("", "date"),
        ("?date=", "date"),
        // It is still the first of March in Buenos Aires.
        ("?date=2026-03-02", "date"),
        ("?date=2026-02-29", "date"),
        ("?date=01-03-2026", "date"),
        ("?date=2026-3-1", "date"),
        ("?date=9999-12-31", "date"),
        ("?date=today", "date"),
        ("?date=2026-03-01T10:00:00Z", "date"),
        ("?date=-001-01-01", "date"),
        ("?at=2026-03-02T03:00:00Z", "at"),
        ("?at=2026-03-01", "at"),
        ("?at=1", "at"),
        ("?date=2026-03-01&at=2026-03-01T10:00:00Z", "at"),
    ] {
        let refused = service
            .a
            .get(&format!("{path}{query}"))
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{query}");
    }
    let today = service
        .a
        .get(&format!("{path}?date=2026-03-01"))
        .await
        .is(200);
    assert_eq!(
        (&today["final"], &today["total"]),
        (&json!(false), &json!("0.00"))
    );
    clock.set("2026-03-02T03:00:00Z");
    let yesterday = service
        .a
        .get(&format!("{path}?date=2026-03-01"))
        .await
        .is(200);
    assert_eq!(yesterday["final"], true);
    service
        .a
        .get(&format!("{path}?date=2026-03-02"))
        .await
        .is(200);
}

#[actix_web::test]
async fn a_clock_that_goes_back_does_not_turn_movements_round() {
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "10.00").await;
    clock.set("2026-03-01T12:00:00Z");
    let later = service.a.credit(&cvu, "5.00").await;
    assert_eq!(
        later["createdAt"], "2026-03-02T12:00:00.000Z",
        "no movement is older than the one before it"
    );
    clock.set("2026-03-03T12:00:00Z");
    let found = service
        .a
        .get(&format!(
            "/v1/accounts/{cvu}/balance/historical?date=2026-03-01"
        ))
        .await
        .is(200);
    assert_eq!(
        (&found["total"], &found["sequence"]),
        (&json!("0.00"), &json!(0))
    );
    let found = service
        .a
        .get(&format!(
            "/v1/accounts/{cvu}/balance/historical?date=2026-03-02"
        ))
        .await
        .is(200);
    assert_eq!(
        (&found["total"], &found["sequence"]),
        (&json!("15.00"), &json!(2))
    );
}
