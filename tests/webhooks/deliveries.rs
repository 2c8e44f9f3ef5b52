//! Deliveries to a tenant's receivers: their content, time and signature, and what the tenant sees
//! of them.

use std::sync::Arc;

use super::hook::{Hook, feed, hasty, quick};
use super::inbox::{Fate, Inbox};
use super::receiver::Request;
use super::verifier::Doubt;
use crate::support::{Client, SOON, Setup, TestClock, TestService, Value, json, wait_until};

pub(super) fn say(head: &str) -> Fate {
    Fate::Say(head.to_owned())
}

/// This field of each call, event or delivery, such as its id.
pub(super) fn ids(of: &[Value], name: &str) -> Vec<String> {
    let text = |value: &Value| value[name].as_str().unwrap().to_owned();
    of.iter().map(text).collect()
}

pub(super) fn came(inbox: &Inbox) -> Vec<String> {
    inbox.calls().iter().map(|call| call.id.clone()).collect()
}

/// Gives a client the types `IN` and `OUT` and an account, whose events come before the test;
/// returns the CVU.
pub(super) async fn account(client: &Client) -> String {
    client.in_and_out().await;
    client.cvu().await
}

#[actix_web::test]
async fn what_happens_arrives_signed_and_as_the_feed_has_it() {
    let service = TestService::with(quick()).await;
    let (a, inbox, some) = (&service.a, Inbox::start(), Inbox::start());
    let hook = Hook::new(a, &inbox.url("/in?of=a")).await;
    let types = ["hold.*", "account.limits.updated"];
    Hook::of(a, &some.url("/"), &types).await;
    let cvu = account(a).await;
    a.credit(&cvu, "100.00").await;
    let hold = a.hold(&cvu, "10.00").await;
    a.step(&hold, "confirm", "4.00").await.is(200);
    a.step(&hold, "release", "6.00").await.is(200);
    let limits = json!({"maxPerTransaction": "5.00"});
    let path = format!("/v1/accounts/{cvu}/limits");
    let changed = a.patch(&path, &limits).await;
    assert_eq!(changed.status, 200, "{}", changed.text);

    let events = feed(a).await;
    let calls = inbox.came(events.len()).await;
    for call in &calls {
        assert_eq!(call.request.line, "POST /in?of=a HTTP/1.1");
        assert_eq!(call.signed(&hook.secret), Ok(()));
        assert!(events.contains(&call.body()), "{}", call.body());
    }
    let (mut right, mut found) = (ids(&events, "id"), came(&inbox));
    right.sort();
    found.sort();
    assert_eq!(found, right);
    let few: Vec<_> = events
        .iter()
        .filter(|event| {
            let kind = event["type"].as_str().unwrap();
            kind.starts_with("hold.") || kind == "account.limits.updated"
        })
        .cloned()
        .collect();
    assert_eq!(few.len(), 4);
    some.came(4).await;
    assert_eq!(
        came(&some),
        ids(&few, "id"),
        "those of one account in their order"
    );
    let read = hook.caught_up(SOON).await;
    assert_eq!(read["progress"]["delivered"], events.len());
    assert_eq!(
        read["progress"]["position"],
        *ids(&events, "id").last().unwrap()
    );
    assert!(read["progress"]["lastSuccessAt"].is_string());
    // None of it belongs to another realm.
    assert_eq!(feed(&service.b).await, Vec::<Value>::new());
}

#[actix_web::test]
async fn a_test_is_sent_at_once_and_is_no_event() {
    let service = TestService::with(hasty()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let hook = Hook::of(a, &inbox.url("/"), &["hold.*"]).await;
    let test = async || {
        a.post(&format!("{}/test", hook.path), &json!({}))
            .await
            .is(200)
    };
    let said = test().await;
    assert_eq!(
        (&said["delivered"], &said["responseStatus"], &said["error"]),
        (&json!(true), &json!(200), &json!(null))
    );
    let calls = inbox.calls();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].signed(&hook.secret), Ok(()));
    let body = calls[0].body();
    assert_eq!(
        (&body["type"], &body["id"], &body["data"]),
        (
            &json!("webhook.test"),
            &json!(calls[0].id),
            &json!({"webhookId": hook.id})
        )
    );
    for (fate, status, error) in [
        (say("410 Gone"), json!(410), json!(null)),
        (say("302 Found\r\nlocation: /x"), json!(302), json!(null)),
        (Fate::HangUp, json!(null), json!("connection_broken")),
        (Fate::Hang, json!(null), json!("timed_out")),
    ] {
        inbox.behave(move |_| fate.clone());
        let said = test().await;
        assert_eq!(
            (&said["delivered"], &said["responseStatus"], &said["error"]),
            (&json!(false), &status, &error)
        );
    }
    assert_eq!(inbox.calls().len(), 5, "none is tried again");
    assert_eq!(hook.read().await["status"], "active", "and none counts");
    assert_eq!(feed(a).await, Vec::<Value>::new());
    assert_eq!(hook.deliveries("").await, Vec::<Value>::new());
}

#[actix_web::test]
async fn while_a_secret_rotates_both_verify_and_then_only_the_new_one() {
    let clock = TestClock::at("2026-03-02T15:00:00.000Z");
    let service = TestService::with(Setup {
        clock: Arc::<TestClock>::clone(&clock),
        ..quick()
    })
    .await;
    let (a, inbox) = (&service.a, Inbox::start());
    let hook = Hook::new(a, &inbox.url("/")).await;
    let seconds = |text| {
        caudal_ledger::time::Timestamp::parse(text)
            .unwrap()
            .millis()
            / 1_000
    };
    let rotate = async |body: Value| {
        let said = a.post(&format!("{}/rotate-secret", hook.path), &body).await;
        said.is(200)["secret"].as_str().unwrap().to_owned()
    };
    let second = rotate(json!({"overlapSeconds": 3600})).await;
    let (old, new) = (Err(Doubt::Signature), Ok(()));
    let mut next = 0;
    let mut heard = async |at: &'static str, secrets: &[&String]| {
        clock.set(at);
        next += 1;
        a.create_type(&format!("TYPE_{next}"), "credit").await;
        let call = inbox.came(next).await.pop().unwrap();
        let said: Vec<_> = secrets
            .iter()
            .map(|secret| call.signed_at(secret, seconds(at)))
            .collect();
        // A recorded request cannot be replayed as a new one.
        let late = call.signed_at(secrets.last().unwrap(), seconds(at) + 301);
        assert_eq!(late, Err(Doubt::Time));
        said
    };
    let both = [&hook.secret, &second];
    assert_eq!(heard("2026-03-02T15:00:00.000Z", &both).await, [new, new]);
    assert_eq!(heard("2026-03-02T15:59:59.999Z", &both).await, [new, new]);
    assert_eq!(heard("2026-03-02T16:00:00.000Z", &both).await, [old, new]);
    // A leaked secret can be ended at once.
    let third = rotate(json!({"overlapSeconds": 0})).await;
    let all = [&hook.secret, &second, &third];
    assert_eq!(
        heard("2026-03-02T16:00:01.000Z", &all).await,
        [old, old, new]
    );
    // The overlap is a day by default; and another rotation does not keep a secret longer that ends
    // sooner.
    let fourth = rotate(json!({})).await;
    let fifth = rotate(json!({"overlapSeconds": 604_800})).await;
    let all = [&second, &third, &fourth, &fifth];
    assert_eq!(
        heard("2026-03-03T16:00:00.000Z", &all).await,
        [old, new, new, new]
    );
    assert_eq!(
        heard("2026-03-03T16:00:01.000Z", &all).await,
        [old, old, new, new]
    );
    assert_eq!(
        heard("2026-03-09T16:00:01.000Z", &all).await,
        [old, old, old, new]
    );
    for path in [
        "/v1/webhooks",
        &hook.path,
        &format!("{}/deliveries", hook.path),
    ] {
        assert!(!a.get(path).await.is(200).text.contains("whsec_"), "{path}");
    }
    let changed = a.patch(&hook.path, &json!({"active": true})).await.is(200);
    assert!(!changed.text.contains("whsec_"));
}

#[actix_web::test]
async fn a_stopped_webhook_continues_where_it_was_when_enabled() {
    let mut service = TestService::with(quick()).await;
    let inbox = Inbox::start();
    inbox.behave(|_| say("410 Gone"));
    let cvu = account(&service.a).await;
    let mut hook = Hook::new(&service.a, &inbox.url("/")).await;
    service.a.credit(&cvu, "1.00").await;
    let read = hook.reaches("gone").await;
    assert_eq!(read["active"], true);
    assert_eq!(read["progress"]["lastFailure"]["responseStatus"], 410);
    for _ in 0..3 {
        service.a.credit(&cvu, "1.00").await;
    }
    // It stays so after a crash.
    service.crash().await;
    hook.client = service.a.clone();
    service.a.credit(&cvu, "1.00").await;
    let read = hook.read().await;
    assert_eq!(
        (&read["status"], &read["progress"]["behind"]),
        (&json!("gone"), &json!(4))
    );
    assert_eq!(inbox.calls().len(), 1);

    inbox.behave(|_| Fate::Take);
    let on = hook.change(&json!({"active": true})).await;
    assert_eq!(on["active"], true);
    let read = hook.caught_up(SOON).await;
    assert_eq!(
        (&read["status"], &read["progress"]["delivered"]),
        (&json!("active"), &json!(5))
    );
    let events = ids(&feed(&service.a).await, "id");
    let last = &events[events.len() - 5..];
    assert_eq!(came(&inbox)[1..], *last, "in order, and nothing is lost");
    let tried = hook.lists("order=asc", 5).await;
    assert_eq!(tried[0]["attemptCount"], 2);
    let outcomes = ids(tried[0]["attempts"].as_array().unwrap(), "outcome");
    assert_eq!(outcomes, ["failed", "delivered"]);
}

#[actix_web::test]
async fn a_pause_loses_nothing() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let other = Inbox::start();
    let cvu = account(a).await;
    let hook = Hook::new(a, &inbox.url("/")).await;
    let second = Hook::new(a, &other.url("/")).await;
    a.credit(&cvu, "1.00").await;
    inbox.came(1).await;
    let paused = hook.change(&json!({"active": false})).await;
    assert_eq!(
        (&paused["active"], &paused["status"]),
        (&json!(false), &json!("paused"))
    );
    for _ in 0..4 {
        a.credit(&cvu, "1.00").await;
    }
    // The other webhook has all of them, so this one would have them too.
    other.came(5).await;
    second.caught_up(SOON).await;
    assert_eq!(inbox.calls().len(), 1);
    // A test is sent even while the webhook is paused.
    let tested = a
        .post(&format!("{}/test", hook.path), &json!({}))
        .await
        .is(200);
    assert_eq!(tested["delivered"], true);
    let read = hook.read().await;
    assert_eq!(
        (&read["status"], &read["progress"]["behind"]),
        (&json!("paused"), &json!(4))
    );
    hook.change(&json!({"active": true})).await;
    inbox.came(6).await;
    let events = ids(&feed(a).await, "id");
    assert_eq!(came(&inbox)[2..], events[events.len() - 4..]);
}

#[actix_web::test]
async fn test_calls_have_a_rate_in_their_realm() {
    const BURST: usize = 10;
    let service = TestService::with(quick()).await;
    let inbox = Inbox::start();
    let url = inbox.url("/");
    let (hook, other) = (
        Hook::new(&service.a, &url).await,
        Hook::new(&service.b, &url).await,
    );
    let test = async |hook: &Hook| {
        let path = format!("{}/test", hook.path);
        hook.client.post(&path, &json!({})).await
    };
    let since = std::time::Instant::now();
    let mut sent = 0;
    for _ in 0..4 * BURST {
        let answer = test(&hook).await;
        match answer.status {
            429 => {
                answer.refused(429, "rate_limited");
            }
            _ => {
                answer.is(200);
                sent += 1;
            }
        }
    }
    let most = BURST + usize::try_from(since.elapsed().as_secs()).unwrap() + 1;
    assert!((BURST..=most).contains(&sent), "{sent} of at most {most}");
    assert_eq!(inbox.calls().len(), sent);
    // Another realm has a rate of its own.
    test(&other).await.is(200);
}

#[actix_web::test]
async fn a_slow_receiver_holds_nobody_up() {
    let service = TestService::with(quick()).await;
    let a = &service.a;
    let (slow, fast) = (Inbox::start(), Inbox::start());
    slow.behave(|_| Fate::Hang);
    let cvu = account(a).await;
    let others = [a.cvu().await, a.cvu().await];
    // First in the realm, in case webhooks took turns.
    let slow_hook = Hook::new(a, &slow.url("/")).await;
    Hook::new(a, &fast.url("/")).await;
    for _ in 0..20 {
        for cvu in [&cvu, &others[0], &others[1]] {
            a.credit(cvu, "1.00").await;
        }
    }
    fast.came(60).await;
    // Receivers of other realms do not wait either.
    let theirs = Inbox::start();
    for client in [&service.b, &service.live] {
        Hook::new(client, &theirs.url("/")).await;
        client.create_type("IN", "credit").await;
    }
    theirs.came(2).await;
    // The slow receiver's first attempts are still under way, one for each account.
    assert_eq!(slow.calls().len(), 3);
    assert_eq!(
        slow_hook.read().await["progress"]["lastFailure"],
        Value::Null
    );
}

#[actix_web::test]
async fn within_one_receiver_an_account_waits_for_its_own_events_only() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let (bad, good) = (account(a).await, a.cvu().await);
    let name = bad.clone();
    let of = move |request: &Request| {
        let text = String::from_utf8_lossy(&request.body).into_owned();
        text.contains(&name)
    };
    let refused = of.clone();
    inbox.behave(move |request| {
        if refused(request) {
            say("500 No")
        } else {
            Fate::Take
        }
    });
    let hook = Hook::new(a, &inbox.url("/")).await;
    for _ in 0..5 {
        a.credit(&bad, "1.00").await;
        a.credit(&good, "1.00").await;
    }
    let failing = hook.lists("status=failing", 1).await;
    hook.lists("status=delivered", 5).await;
    let first = failing[0]["eventId"].as_str().unwrap();
    let events = feed(a).await;
    let of_bad = events
        .iter()
        .filter(|event| event["data"]["cvu"] == bad.as_str());
    let of_bad: Vec<_> = of_bad
        .filter(|event| event["type"] == "voucher.created")
        .cloned()
        .collect();
    assert_eq!(
        first, of_bad[0]["id"],
        "the first one is in the way of its account's others"
    );
    assert_eq!(hook.read().await["progress"]["waiting"], 1);
    let attempt = &failing[0]["attempts"][0];
    assert_eq!(
        (
            &attempt["responseStatus"],
            &attempt["outcome"],
            &attempt["error"]
        ),
        (&json!(500), &json!("failed"), &json!(null))
    );
    assert!(
        attempt["nextAttemptAt"].as_str() > attempt["at"].as_str(),
        "{attempt}"
    );
    inbox.behave(|_| Fate::Take);
    hook.caught_up(SOON).await;
    let mut taken: Vec<_> = inbox
        .calls()
        .iter()
        .filter(|call| of(&call.request))
        .map(|call| call.id.clone())
        .collect();
    taken.dedup();
    assert_eq!(taken, ids(&of_bad, "id"));
}

#[actix_web::test]
async fn what_was_delivered_comes_again_when_it_is_asked_for() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let cvu = account(a).await;
    let hook = Hook::of(a, &inbox.url("/"), &["voucher.created"]).await;
    for _ in 0..6 {
        a.credit(&cvu, "1.00").await;
        a.create_type(&format!("T{}", crate::support::client::fresh()), "credit")
            .await;
    }
    inbox.came(6).await;
    let listed = hook.lists("order=asc&limit=4&status=delivered", 6).await;
    let (events, deliveries) = (ids(&listed, "eventId"), ids(&listed, "id"));
    assert_eq!(events, came(&inbox));
    let mut newest = hook.deliveries("limit=1").await;
    newest.reverse();
    assert_eq!(newest, listed, "the newest first unless asked otherwise");
    let one = &listed[2];
    assert_eq!(
        (&one["webhookId"], &one["eventType"], &one["attemptCount"]),
        (&json!(hook.id), &json!("voucher.created"), &json!(1))
    );

    let path = format!("/v1/webhooks/deliveries/{}/redeliver", deliveries[2]);
    let answer = a.post(&path, &json!({})).await.is(202);
    assert_eq!(answer.json, json!({"from": events[2], "to": events[2]}));
    inbox.came(7).await;
    // A range has the events that the webhook wants, and ends with the last one by default.
    let path = format!("{}/redeliver", hook.path);
    let last = ids(&feed(a).await, "id").pop().unwrap();
    let answer = a.post(&path, &json!({"from": events[3]})).await.is(202);
    assert_eq!(answer.json, json!({"from": events[3], "to": last}));
    inbox.came(10).await;
    let range = json!({"from": events[0], "to": events[1]});
    a.post(&path, &range).await.is(202);
    let calls = inbox.came(12).await;
    let again = [
        &events[2], &events[3], &events[4], &events[5], &events[0], &events[1],
    ];
    assert_eq!(came(&inbox)[6..].iter().collect::<Vec<_>>(), again);
    for call in &calls {
        assert_eq!(call.signed(&hook.secret), Ok(()));
        let first = calls.iter().find(|first| first.id == call.id).unwrap();
        assert_eq!(
            call.request.body, first.request.body,
            "byte by byte the same"
        );
    }
    wait_until("every delivery has two attempts", SOON, async || {
        let listed = hook.deliveries("").await;
        listed
            .iter()
            .all(|it| it["attemptCount"] == 2)
            .then_some(())
    })
    .await;
    for wrong in [
        json!({"from": events[1], "to": events[0]}),
        json!({"from": "evt_00000000000000000000000000"}),
        json!({"from": deliveries[0]}),
    ] {
        a.post(&path, &wrong).await.refused(400, "invalid_request");
    }
    let absent = "dlv_00000000000000000000000000";
    let path = format!("/v1/webhooks/deliveries/{absent}/redeliver");
    a.post(&path, &json!({}))
        .await
        .refused(404, "delivery_not_found");
    assert_eq!(inbox.calls().len(), 12);
}

#[actix_web::test]
async fn retry_after_of_a_receiver_is_respected() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let cvu = account(a).await;
    let mut asked = false;
    inbox.behave(move |_| {
        if std::mem::replace(&mut asked, true) {
            Fate::Take
        } else {
            say("429 Too Many Requests\r\nretry-after: 1")
        }
    });
    Hook::new(a, &inbox.url("/")).await;
    a.credit(&cvu, "1.00").await;
    inbox.came(1).await;
    for _ in 0..3 {
        a.credit(&cvu, "1.00").await;
    }
    let calls = inbox.came(5).await;
    let pause = calls[1].at - calls[0].at;
    assert!(pause >= 990, "{pause} ms");
}
