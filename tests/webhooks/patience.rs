//! Events that are not taken: retried, parked, and sent again later.

use std::sync::Arc;

use caudal_http::webhooks::AllowedAddresses;

use super::deliveries::{account, came, ids, say};
use super::hook::{Hook, feed, quick};
use super::inbox::{Fate, Inbox};
use crate::problems::codes;
use crate::support::{SOON, Setup, TestClock, TestService, Value, json, wait_until};

/// The start of a service whose clock stands still, and some later instants.
const START: &str = "2026-03-02T15:00:00.000Z";
const SECOND_LATER: &str = "2026-03-02T15:00:01.000Z";
const THREE_DAYS_LATER: &str = "2026-03-05T15:00:02.000Z";

#[actix_web::test]
async fn what_nobody_takes_for_three_days_is_parked_and_may_be_sent_again() {
    let clock = TestClock::at(START);
    let service = TestService::with(Setup {
        clock: Arc::<TestClock>::clone(&clock),
        ..quick()
    })
    .await;
    let (a, inbox) = (&service.a, Inbox::start());
    let (bad, good) = (account(a).await, a.cvu().await);
    let name = bad.clone();
    inbox.behave(move |request| {
        if String::from_utf8_lossy(&request.body).contains(&name) {
            say("400 No")
        } else {
            Fate::Take
        }
    });
    let hook = Hook::new(a, &inbox.url("/")).await;
    a.credit(&bad, "1.00").await;
    inbox.came(1).await;
    clock.set(SECOND_LATER);
    a.credit(&good, "1.00").await;
    hook.lists("status=delivered", 1).await;
    clock.set(THREE_DAYS_LATER);
    let parked = hook.lists("status=parked", 1).await;
    let attempts = parked[0]["attempts"].as_array().unwrap();
    assert_eq!(attempts.last().unwrap()["outcome"], "parked");
    assert_eq!(attempts.last().unwrap()["nextAttemptAt"], Value::Null);
    let read = hook.caught_up(SOON).await;
    assert_eq!(
        (&read["status"], &read["progress"]["parked"]),
        (&json!("active"), &json!(1))
    );

    inbox.behave(|_| Fate::Take);
    let before = inbox.calls().len();
    let path = format!(
        "/v1/webhooks/deliveries/{}/redeliver",
        ids(&parked, "id")[0]
    );
    a.post(&path, &json!({})).await.is(202);
    let calls = inbox.came(before + 1).await;
    assert_eq!(calls[before].id, ids(&parked, "eventId")[0]);
    hook.lists("status=delivered", 2).await;
}

#[actix_web::test]
async fn a_redelivery_that_arrives_lets_the_account_go_on_before_the_next_try_is_due() {
    let clock = TestClock::at(START);
    let service = TestService::with(Setup {
        clock: Arc::<TestClock>::clone(&clock),
        ..Setup::default()
    })
    .await;
    let (a, inbox) = (&service.a, Inbox::start());
    inbox.behave(|_| say("500 No"));
    let cvu = account(a).await;
    let hook = Hook::new(a, &inbox.url("/")).await;
    a.credit(&cvu, "1.00").await;
    a.credit(&cvu, "2.00").await;
    let failing = hook.lists("status=failing", 1).await;
    let status = service.admin_get("/admin/status").await.is(200);
    assert_eq!(status["webhooks"]["failing"], 1, "{status:?}");
    // The clock stands still, so no further attempt is made on its own.
    inbox.behave(|_| Fate::Take);
    let path = format!(
        "/v1/webhooks/deliveries/{}/redeliver",
        ids(&failing, "id")[0]
    );
    a.post(&path, &json!({})).await.is(202);
    hook.lists("status=delivered", 2).await;
    hook.caught_up(SOON).await;
    let events = ids(&feed(a).await, "id");
    let two = &events[events.len() - 2..];
    assert_eq!(came(&inbox), [&two[..1], two].concat());
}

#[actix_web::test]
async fn a_webhook_that_fails_for_three_days_is_stopped_and_can_be_enabled_again() {
    let clock = TestClock::at(START);
    let service = TestService::with(Setup {
        clock: Arc::<TestClock>::clone(&clock),
        ..quick()
    })
    .await;
    let (a, inbox) = (&service.a, Inbox::start());
    inbox.behave(|_| say("500 No"));
    let cvu = account(a).await;
    let hook = Hook::new(a, &inbox.url("/")).await;
    for _ in 0..3 {
        a.credit(&cvu, "1.00").await;
    }
    hook.lists("status=failing", 1).await;
    clock.set(THREE_DAYS_LATER);
    let parked = hook.reaches("parked").await;
    let stopped = codes(&service).await;
    assert!(
        stopped.contains(&"webhook_stopped".to_owned()),
        "{stopped:?}"
    );
    assert_eq!(
        (&parked["active"], &parked["progress"]["parked"]),
        (&json!(true), &json!(0))
    );
    inbox.behave(|_| Fate::Take);
    let before = inbox.calls().len();
    // A change of another field does not end the parking.
    hook.change(&json!({"description": "still parked"})).await;
    assert_eq!(hook.read().await["status"], "parked");
    assert_eq!(inbox.calls().len(), before);
    assert_eq!(hook.change(&json!({"active": true})).await["active"], true);
    hook.caught_up(SOON).await;
    let events = ids(&feed(a).await, "id");
    assert_eq!(came(&inbox)[before..], events[events.len() - 3..]);
}

#[actix_web::test]
async fn a_failing_webhook_gets_one_event_at_a_time() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    inbox.behave(|_| Fate::HangUp);
    let cvus = [account(a).await, a.cvu().await, a.cvu().await];
    let hook = Hook::new(a, &inbox.url("/")).await;
    for cvu in &cvus {
        a.credit(cvu, "1.00").await;
    }
    let failing = hook.reaches("failing").await;
    let last = &failing["progress"]["lastFailure"];
    assert_eq!(
        (&last["error"], &last["responseStatus"], &last["outcome"]),
        (&json!("connection_broken"), &json!(null), &json!("failed"))
    );
    inbox.behave(|_| Fate::Take);
    let read = hook.caught_up(SOON).await;
    assert_eq!(
        (&read["status"], &read["progress"]["delivered"]),
        (&json!("active"), &json!(3))
    );
}

#[actix_web::test]
async fn where_a_webhook_leads_is_judged_again_when_it_is_sent() {
    let mut service = TestService::with(quick()).await;
    let inbox = Inbox::start();
    let cvu = account(&service.a).await;
    let mut hook = Hook::new(&service.a, &inbox.url("/")).await;
    service.a.credit(&cvu, "1.00").await;
    hook.lists("status=delivered", 1).await;
    service.end(true).await;
    service.reaches(AllowedAddresses::public(Vec::new()));
    service.begin().await;
    hook.client = service.a.clone();
    service.a.credit(&cvu, "1.00").await;
    let failing = hook.lists("status=failing", 1).await;
    let attempt = &failing[0]["attempts"][0];
    assert_eq!(
        (&attempt["error"], &attempt["responseStatus"]),
        (&json!("address_forbidden"), &json!(null))
    );
    let test = format!("{}/test", hook.path);
    let said = service.a.post(&test, &json!({})).await.is(200);
    assert_eq!(said["error"], "address_forbidden");
    assert_eq!(inbox.calls().len(), 1);
}

#[actix_web::test]
async fn waiting_redeliveries_are_bounded() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let hook = Hook::new(a, &inbox.url("/")).await;
    a.in_and_out().await;
    inbox.came(2).await;
    hook.change(&json!({"active": false})).await;
    let events = ids(&feed(a).await, "id");
    let path = format!("{}/redeliver", hook.path);
    let one = json!({"from": events[0], "to": events[0]});
    for _ in 0..16 {
        a.post(&path, &one).await.is(202);
    }
    let more = a.post(&path, &one).await;
    more.refused(400, "too_many_redeliveries");
    assert_eq!(inbox.calls().len(), 2, "they wait while it is paused");
    hook.change(&json!({"active": true})).await;
    let calls = inbox.came(18).await;
    assert!(calls[2..].iter().all(|call| call.id == events[0]));
    wait_until("there is room again", SOON, async || {
        let said = a.post(&path, &one).await;
        (said.status == 202).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn a_deleted_webhook_receives_nothing_while_others_do() {
    let service = TestService::with(quick()).await;
    let (a, inbox, other) = (&service.a, Inbox::start(), Inbox::start());
    inbox.behave(|_| say("503 Busy"));
    let cvu = account(a).await;
    let hook = Hook::new(a, &inbox.url("/")).await;
    Hook::new(a, &other.url("/")).await;
    a.credit(&cvu, "1.00").await;
    hook.lists("status=failing", 1).await;
    a.delete(&hook.path).await.is(204);
    a.credit(&cvu, "1.00").await;
    other.came(2).await;
    let tried = inbox.calls().len();
    for _ in 0..10 {
        a.credit(&cvu, "1.00").await;
    }
    other.came(12).await;
    // One attempt may have been under way when the webhook was removed.
    let since = inbox.calls().len() - tried;
    assert!(since <= 1, "{since} tries after it was removed");
    let gone = a.get(&format!("{}/deliveries", hook.path)).await;
    gone.refused(404, "webhook_not_found");
}
