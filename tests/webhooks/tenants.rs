//! Webhooks as their tenant orders them: refusals, and isolation from other tenants.

use caudal_http::webhooks::AllowedAddresses;

use super::hook::{Hook, feed, quick};
use super::inbox::Inbox;
use crate::support::{Setup, TestClock, TestService, Value, json, named};

const GOOD: &str = "https://hooks.example.com/caudal";
const NONE: &str = "whk_00000000000000000000000000";

/// A service that sends to public addresses only, as in production.
async fn public() -> TestService {
    TestService::with(Setup {
        reach: AllowedAddresses::public(Vec::new()),
        ..quick()
    })
    .await
}

#[actix_web::test]
async fn a_webhook_is_made_read_changed_and_removed() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    let a = &service.a;
    let inbox = Inbox::start();
    let body = json!({
        "url": inbox.url("/caudal?x=1"),
        "types": ["hold.*", "voucher.created"],
        "description": "what the shop hears",
    });
    let made = a.post("/v1/webhooks", &body).await.is(201);
    let (id, secret) = (
        made["id"].as_str().unwrap(),
        made["secret"].as_str().unwrap(),
    );
    assert!(id.starts_with("whk_") && id.len() == 30, "{id}");
    assert!(secret.starts_with("whsec_"), "{secret}");
    let mut right = json!({
        "id": id,
        "url": body["url"],
        "types": body["types"],
        "description": body["description"],
        "format": "standard",
        "active": true,
        "status": "active",
        "progress": {
            "position": null, "behind": 0, "waiting": 0, "retrying": 0, "delivered": 0, "parked": 0,
            "lastSuccessAt": null, "lastFailure": null,
        },
        "secret": secret,
        "createdAt": "2026-03-02T15:04:05.678Z",
        "updatedAt": "2026-03-02T15:04:05.678Z",
    });
    assert_eq!(made.json, right);
    // From here on the answers leave out the secret.
    right.as_object_mut().unwrap().remove("secret");
    let path = format!("/v1/webhooks/{id}");
    assert_eq!(a.get(&path).await.is(200).json, right);
    assert_eq!(a.get("/v1/webhooks").await.is(200).json, json!([right]));

    clock.set("2026-03-02T16:00:00.000Z");
    right["updatedAt"] = json!("2026-03-02T16:00:00.000Z");
    for (change, shown) in [
        (json!({"description": null}), json!(null)),
        (json!({"description": "again"}), json!("again")),
    ] {
        right["description"] = shown;
        assert_eq!(a.patch(&path, &change).await.is(200).json, right);
    }
    right["types"] = json!(null);
    right["url"] = json!(inbox.url("/other"));
    let change = json!({"types": null, "url": inbox.url("/other")});
    assert_eq!(a.patch(&path, &change).await.is(200).json, right);
    (right["active"], right["status"]) = (json!(false), json!("paused"));
    let change = json!({"active": false});
    assert_eq!(a.patch(&path, &change).await.is(200).json, right);
    assert_eq!(a.get(&path).await.is(200).json, right);

    let gone = a.delete(&path).await.is(204);
    assert_eq!(gone.text, "");
    for call in [a.get(&path), a.delete(&path), a.patch(&path, &json!({}))] {
        call.await.refused(404, "webhook_not_found");
    }
    assert_eq!(a.get("/v1/webhooks").await.is(200).json, json!([]));
    assert!(inbox.calls().is_empty());
}

#[actix_web::test]
async fn what_is_wrong_is_named() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let url = inbox.url("/");
    let long = "x".repeat(201);
    let many: Vec<_> = (0..65).map(|_| "hold.*").collect();
    let rows = [
        (json!({}), "url"),
        (json!({"url": null}), "url"),
        (json!({"url": 7}), "url"),
        (json!({"url": ""}), "url"),
        (json!({"url": url, "types": []}), "types"),
        (json!({"url": url, "types": "hold.*"}), "types"),
        (json!({"url": url, "types": [1]}), "types"),
        (json!({"url": url, "types": many}), "types"),
        (json!({"url": url, "types": ["voucher.made"]}), "types"),
        (json!({"url": url, "types": ["hold"]}), "types"),
        (json!({"url": url, "types": ["*.created"]}), "types"),
        (json!({"url": url, "types": ["webhook.test"]}), "types"),
        (json!({"url": url, "description": ""}), "description"),
        (json!({"url": url, "description": long}), "description"),
        (
            json!({"url": url, "description": "two\nlines"}),
            "description",
        ),
        (json!({"url": url, "secret": "whsec_mine"}), "secret"),
    ];
    let hook = Hook::new(a, &url).await;
    for (body, field) in rows {
        let made = a.post("/v1/webhooks", &body).await;
        assert_eq!(
            named(&made.refused(400, "invalid_request").json),
            [field],
            "{body}"
        );
        if body != json!({}) {
            let changed = a.patch(&hook.path, &body).await;
            // In a change, null leaves the URL as it is.
            if body["url"] != json!(null) {
                assert_eq!(named(&changed.is(400).json), [field], "{body}");
            }
        }
    }
    let said = a
        .post("/v1/webhooks", &json!({"url": url, "types": ["x"]}))
        .await;
    assert!(said.text.contains("`x` is neither"), "{}", said.text);
    assert!(said.text.contains("voucher.created"), "{}", said.text);
    for (step, body, field) in [
        (
            "rotate-secret",
            json!({"overlapSeconds": -1}),
            "overlapSeconds",
        ),
        (
            "rotate-secret",
            json!({"overlapSeconds": 604_801}),
            "overlapSeconds",
        ),
        ("rotate-secret", json!({"overlap": 1}), "overlap"),
        ("test", json!({"x": 1}), "x"),
        ("redeliver", json!({}), "from"),
        ("redeliver", json!({"from": "evt_1"}), "from"),
    ] {
        let path = format!("{}/{step}", hook.path);
        let said = a.post(&path, &body).await.refused(400, "invalid_request");
        assert_eq!(named(&said.json), [field], "{step} {body}");
    }
    for (query, field) in [
        ("status=failed", "status"),
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("offset=1", "offset"),
        ("order=up", "order"),
        ("cursor=x", "cursor"),
    ] {
        let path = format!("{}/deliveries?{query}", hook.path);
        let said = a.get(&path).await;
        assert_eq!(named(&said.json), [field], "{query}");
        said.refused(400, "invalid_request");
    }
    assert_eq!(
        a.get("/v1/webhooks").await.is(200).json[0]["url"],
        json!(url)
    );
}

#[actix_web::test]
async fn a_realm_has_so_many_webhooks_and_no_more() {
    let service = public().await;
    let a = &service.a;
    let make = async || a.post("/v1/webhooks", &json!({"url": GOOD})).await;
    let mut paths = Vec::new();
    for _ in 0..16 {
        let id = make().await.is(201)["id"].as_str().unwrap().to_owned();
        paths.push(format!("/v1/webhooks/{id}"));
    }
    make().await.refused(400, "too_many_webhooks");
    assert_eq!(
        a.get("/v1/webhooks")
            .await
            .is(200)
            .json
            .as_array()
            .unwrap()
            .len(),
        16
    );
    // Other realms have webhooks of their own.
    for client in [&service.live, &service.b] {
        client
            .post("/v1/webhooks", &json!({"url": GOOD}))
            .await
            .is(201);
    }
    a.delete(&paths[3]).await.is(204);
    let id = make().await.is(201)["id"].as_str().unwrap().to_owned();
    assert!(
        !paths.contains(&format!("/v1/webhooks/{id}")),
        "a number is not used again"
    );
    make().await.refused(400, "too_many_webhooks");
}

/// URLs that no webhook may have, each with a part of the refusal.
const NOWHERE: &[(&str, &str)] = &[
    ("http://hooks.example.com/", "must begin with https://"),
    ("ftp://hooks.example.com/", "must begin with https://"),
    ("file:///etc/passwd", "must begin with https://"),
    ("hooks.example.com", "is no URL"),
    ("//hooks.example.com/", "is no URL"),
    ("https://", "is no URL"),
    ("https:hooks.example.com", "names no host"),
    ("https://hooks.example.com:80/", "use 443 or 8443"),
    ("https://hooks.example.com:22/", "use 443 or 8443"),
    ("https://hooks.example.com:6379/", "use 443 or 8443"),
    ("https://u:p@hooks.example.com/", "must not carry a user"),
    (
        "https://hooks.example.com@127.0.0.1/",
        "must not carry a user",
    ),
    ("https://hooks.example.com/#f", "must not have a fragment"),
    ("https://hooks.example.com\\@127.0.0.1/", "backslash"),
    ("https://hooks.example.com/\u{e1}", "outside of ASCII"),
    ("https://localhost/", "no public name"),
    ("https://localhost./", "no public name"),
    ("https://db.localhost/", "no public name"),
    ("https://intranet/", "no public name"),
    ("https://2130706433/", "would be read as `127.0.0.1`"),
    ("https://0x7f000001/", "would be read as `127.0.0.1`"),
    ("https://0x7f.1/", "would be read as `127.0.0.1`"),
    ("https://0177.0.0.1/", "would be read as `127.0.0.1`"),
    ("https://127.1/", "would be read as `127.0.0.1`"),
    ("https://%31%32%37.0.0.1/", "would be read as `127.0.0.1`"),
    ("https://0.0.0.0/", "an address of this network"),
    ("https://0.1.2.3/", "an address of this network"),
    ("https://10.0.0.1/", "a private address"),
    ("https://100.64.0.1/", "inside a carrier"),
    ("https://127.0.0.1/", "of this machine"),
    ("https://127.255.255.254/", "of this machine"),
    ("https://168.63.129.16/", "a cloud's own services"),
    (
        "https://169.254.169.254/latest/meta-data/",
        "a link-local address",
    ),
    ("https://172.16.0.1/", "a private address"),
    ("https://172.31.255.255/", "a private address"),
    ("https://192.0.0.8/", "an address of protocols"),
    ("https://192.168.1.1/", "a private address"),
    ("https://198.18.0.1/", "an address of benchmarks"),
    ("https://198.19.255.255/", "an address of benchmarks"),
    ("https://224.0.0.1/", "of many receivers"),
    ("https://240.0.0.1/", "a reserved address"),
    ("https://255.255.255.255/", "of all receivers"),
    ("https://[::]/", "an address of this network"),
    ("https://[::1]/", "of this machine"),
    ("https://[::ffff:127.0.0.1]/", "inside one of version 6"),
    ("https://[::ffff:a9fe:a9fe]/", "inside one of version 6"),
    ("https://[::127.0.0.1]/", "inside one of version 6"),
    ("https://[64:ff9b::7f00:1]/", "inside one of version 6"),
    ("https://[2002:7f00:1::]/", "inside one of version 6"),
    ("https://[fc00::1]/", "a private address"),
    ("https://[fd12:3456::1]/", "a private address"),
    ("https://[fe80::1]/", "a link-local address"),
    ("https://[fec0::1]/", "a private address"),
    ("https://[ff02::1]/", "of many receivers"),
    ("https://[2001:db8::1]/", "an address of documentation"),
];

#[actix_web::test]
async fn a_webhook_leads_to_the_internet_and_nowhere_else() {
    let service = public().await;
    let a = &service.a;
    let hook = Hook::new(a, GOOD).await;
    for (url, why) in NOWHERE {
        for said in [
            a.post("/v1/webhooks", &json!({"url": url})).await,
            a.patch(&hook.path, &json!({"url": url})).await,
        ] {
            let said = said.refused(400, "invalid_request");
            assert_eq!(named(&said.json), ["url"], "{url}");
            let message = said["errors"][0]["message"].as_str().unwrap();
            assert!(message.contains(why), "{url}: {message}");
        }
    }
    assert_eq!(
        a.get("/v1/webhooks")
            .await
            .is(200)
            .json
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(hook.read().await["url"], GOOD);
    for url in [
        "https://hooks.example.com:8443/x?y=z",
        "https://HOOKS.example.com/",
        "https://93.184.216.34/",
        "https://[2606:4700::1111]/",
    ] {
        hook.change(&json!({"url": url})).await;
    }
}

#[actix_web::test]
async fn only_the_address_that_an_operator_allows_is_allowed() {
    let service = TestService::with(Setup {
        reach: AllowedAddresses::public(vec!["10.20.0.0/16".parse().unwrap()]),
        ..quick()
    })
    .await;
    let make = async |url: &str| service.a.post("/v1/webhooks", &json!({"url": url})).await;
    make("https://10.20.255.1/x").await.is(201);
    for url in [
        "https://10.21.0.1/",
        "http://10.20.0.1/",
        "https://10.20.0.1:5432/",
    ] {
        make(url).await.refused(400, "invalid_request");
    }
}

/// The answers to every call about a webhook and a delivery.
async fn every(client: &crate::support::Client, hook: &str, delivery: &str) -> Vec<Value> {
    let path = format!("/v1/webhooks/{hook}");
    let redeliver = format!("/v1/webhooks/deliveries/{delivery}/redeliver");
    let range = json!({"from": "evt_00000000000000000000000000"});
    let mut said = Vec::new();
    for (call, id) in [
        (client.get(&path), hook),
        (client.patch(&path, &json!({"active": false})), hook),
        (client.delete(&path), hook),
        (
            client.post(&format!("{path}/rotate-secret"), &json!({})),
            hook,
        ),
        (client.post(&format!("{path}/test"), &json!({})), hook),
        (client.get(&format!("{path}/deliveries")), hook),
        (client.post(&redeliver, &json!({})), delivery),
        (client.post(&format!("{path}/redeliver"), &range), hook),
    ] {
        said.push(call.await.error().essence(id));
    }
    said
}

#[actix_web::test]
async fn another_tenants_webhook_is_as_one_that_does_not_exist() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let hook = Hook::new(a, &inbox.url("/")).await;
    a.in_and_out().await;
    inbox.came(2).await;
    let delivery = hook.lists("status=delivered", 2).await[0]["id"].clone();
    let delivery = delivery.as_str().unwrap();
    let event = feed(a).await[0]["id"].clone();
    let absent = NONE.replace("whk_", "dlv_");
    for client in [&service.b, &service.live] {
        let theirs = every(client, &hook.id, delivery).await;
        assert_eq!(theirs, every(client, NONE, &absent).await);
        assert_eq!(client.get("/v1/webhooks").await.is(200).json, json!([]));
        // Nor can a range begin with another realm's event.
        let own = Hook::new(client, &inbox.url("/own")).await;
        let path = format!("{}/redeliver", own.path);
        let said = client.post(&path, &json!({"from": event})).await;
        assert_eq!(named(&said.is(400).json), ["from"]);
    }
    let read = hook.read().await;
    assert_eq!(
        (&read["active"], &read["status"]),
        (&json!(true), &json!("active"))
    );
    assert_eq!(inbox.calls().len(), 2, "nothing was sent for others");
}

#[actix_web::test]
async fn a_key_makes_one_of_many_requests() {
    let service = TestService::with(quick()).await;
    let (a, inbox) = (&service.a, Inbox::start());
    let body = json!({"url": inbox.url("/"), "types": ["voucher_type.*"]});
    let make = async || a.post("/v1/webhooks", &body).key("make").await.is(201);
    let (first, again) = (make().await, make().await);
    assert_eq!(first["id"], again["id"]);
    assert!(!first.replayed() && again.replayed());
    assert_eq!(
        a.get("/v1/webhooks")
            .await
            .is(200)
            .json
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let other = json!({"url": inbox.url("/other")});
    a.post("/v1/webhooks", &other).key("make").await.is(409);

    let path = format!("/v1/webhooks/{}", first["id"].as_str().unwrap());
    let post = async |step: &str, body: Value, key: &str| {
        a.post(&format!("{path}/{step}"), &body).key(key).await
    };
    for replayed in [false, true] {
        let tested = post("test", json!({}), "try").await.is(200);
        assert_eq!(tested.replayed(), replayed);
        assert_eq!(tested["delivered"], true);
    }
    assert_eq!(inbox.calls().len(), 1);
    let keys = a.get("/v1/idempotency/try").await.is(200);
    assert_eq!(keys["requests"][0]["body"]["responseStatus"], 200);

    a.in_and_out().await;
    inbox.came(3).await;
    let from = feed(a).await[0]["id"].clone();
    for replayed in [false, true] {
        let order = json!({"from": from});
        let answer = post("redeliver", order, "again").await.is(202);
        assert_eq!((answer.replayed(), &answer["from"]), (replayed, &from));
    }
    let calls = inbox.came(5).await;
    for _ in 0..2 {
        let rotated = post("rotate-secret", json!({"overlapSeconds": 0}), "new").await;
        rotated.is(200);
    }
    // One more request for the new event, and nothing else came in the meantime.
    a.create_type("MORE", "credit").await;
    let calls_then = inbox.came(6).await;
    assert_eq!((calls.len(), calls_then.len()), (5, 6));
}
