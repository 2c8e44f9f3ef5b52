//! What was taken away after the instant of a restore stays taken away.

use std::fs;

use caudal_backup::ship::ObjectLimits;
use caudal_service::TEST_ADMIN_KEY;
use tempfile::TempDir;

use super::{at, objects, restored, seen, shipped, worked};
use crate::support::service::Setup;
use crate::support::{Answer, TestService, Value, json};

const TENANT_PATH: &str = "/admin/tenants/tnt_first";

async fn acts(service: &TestService, who: &str, method: &str, path: &str, body: &Value) -> Answer {
    let call = service.admin_client().call(method, path);
    let call = call.header("x-admin-key", who);
    let call = call.header("x-reason", "seen on paper");
    match body {
        Value::Null => call.await,
        body => call.json(body).await,
    }
}

/// Adds a person; returns the credential.
async fn person(service: &TestService, name: &str, role: &str) -> String {
    let body = json!({"name": name, "role": role});
    let made = acts(service, TEST_ADMIN_KEY, "POST", "/admin/people", &body).await;
    made.is(201)["credential"].as_str().unwrap().to_owned()
}

fn lines(since: &Value, list: &str) -> Vec<String> {
    let all = since[list].as_array().unwrap_or_else(|| panic!("{since}"));
    let line = |it: &Value| {
        let part = |name: &str| it[name].as_str().unwrap().to_owned();
        format!("{} {}: {}", part("what"), part("id"), part("change"))
    };
    all.iter().map(line).collect()
}

#[actix_web::test]
async fn a_restore_to_the_past_takes_over_what_was_taken_away_since() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let mut service = TestService::with(Setup {
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service, 2).await;
    let issue = |label: &str| json!({"mode": "test", "label": label});
    let keys_path = format!("{TENANT_PATH}/keys");
    let mut keys = Vec::new();
    for label in ["leaked", "rotated", "kept"] {
        let issued = acts(&service, TEST_ADMIN_KEY, "POST", &keys_path, &issue(label)).await;
        keys.push(issued.is(201).json.clone());
    }
    let [ana, eva, leo] = [
        person(&service, "ana", "operator").await,
        person(&service, "eva", "approver").await,
        person(&service, "leo", "approver").await,
    ];
    let eyes = json!({
        "limits": {"dailyAmount": "100.00"}, "policy": {"fourEyes": {"limitRaises": true}},
    });
    let changed = acts(&service, TEST_ADMIN_KEY, "PATCH", TENANT_PATH, &eyes).await;
    changed.is(200);
    let raise = json!({"limits": {"dailyAmount": "99000.00"}});
    let asked = acts(&service, &ana, "PATCH", TENANT_PATH, &raise).await;
    let request = asked.is(202)["id"].clone();
    let hook = json!({"url": "https://psp.example/hook"});
    let hook = service.a.post("/v1/webhooks", &hook).await.is(201);
    let hook = hook["id"].as_str().unwrap().to_owned();
    let gone = json!({"url": "https://psp.example/gone"});
    let gone = service.a.post("/v1/webhooks", &gone).await.is(201);
    let gone = gone["id"].as_str().unwrap().to_owned();
    let status = service.admin_get("/admin/status").await.is(200);
    let then = status["journal"]["lastCommit"].to_string();

    // All of this happens after the instant.
    let root = TEST_ADMIN_KEY;
    let none = Value::Null;
    let key_id = |key: &Value| key["id"].as_str().unwrap().to_owned();
    let path = format!("/admin/keys/{}", key_id(&keys[0]));
    acts(&service, root, "DELETE", &path, &none).await.is(204);
    let path = format!("/admin/keys/{}/rotate", key_id(&keys[1]));
    let over = json!({"overlapSeconds": 0});
    let next = acts(&service, root, "POST", &path, &over).await.is(201);
    let next = next.json.clone();
    let path = "/admin/people/eva";
    acts(&service, root, "DELETE", path, &none).await.is(204);
    let path = "/admin/people/leo";
    let lower = json!({"role": "viewer"});
    acts(&service, root, "PATCH", path, &lower).await.is(200);
    let late = person(&service, "late", "operator").await;
    let reject = format!("/admin/approvals/{request}/reject");
    let mia = person(&service, "mia", "approver").await;
    acts(&service, &mia, "POST", &reject, &none).await.is(200);
    let strict = json!({
        "policy": {"fourEyes": {"limitRaises": true, "decisionsAbove": "0.00"}},
    });
    let changed = acts(&service, root, "PATCH", TENANT_PATH, &strict).await;
    if changed.status == 202 {
        let approve = format!("/admin/approvals/{}/approve", changed["id"]);
        let approved = acts(&service, &mia, "POST", &approve, &none).await;
        assert_eq!(approved.is(200)["state"], "done");
    }
    let path = format!("/v1/webhooks/{hook}/rotate-secret");
    service.a.post(&path, &json!({})).await.is(200);
    let path = format!("/v1/webhooks/{gone}");
    service.a.delete(&path).await.is(204);
    let secret = shipped(&service).await;
    assert_eq!(secret["error"], Value::Null);
    service.end(true).await;

    let new = dir.path().join("new");
    let done = restored(&to, &new, service.data(), &["--at", &then, "--new-history"]);
    let since = &done["restored"]["since"];
    let taken = lines(since, "takenOver");
    let locked = lines(since, "locked");
    let has = |lines: &[String], wanted: &str| {
        assert!(
            lines.iter().any(|line| line.contains(wanted)),
            "{wanted}: {lines:?}"
        );
    };
    has(&taken, &format!("key {}", key_id(&keys[0])));
    has(&taken, &format!("key {}", key_id(&keys[1])));
    has(&taken, "person eva: credential revoked");
    has(&taken, "person leo: role lowered to viewer");
    has(&taken, &format!("request {request}: rejected"));
    has(&taken, "policy tnt_first: stricter");
    has(&taken, &format!("webhook {hook}: secret rotated"));
    has(&taken, &format!("webhook {gone}: removed"));
    has(&locked, &format!("key {}", key_id(&next)));
    has(&locked, "person late: credential issued");
    has(&locked, "person mia: credential issued");
    assert!(!taken.iter().any(|it| it.contains(&key_id(&keys[2]))));

    service.moves(new);
    service.begin().await;
    let with = |key: &Value| service.a.with_key(key["key"].as_str());
    for key in [&keys[0], &keys[1], &next] {
        let read = with(key).get("/v1/accounts").await;
        read.refused(401, "unauthorized");
        let posted = with(key)
            .voucher(&cvus[0], "CREDIT", "1.00", "leaked")
            .await;
        posted.refused(401, "unauthorized");
    }
    with(&keys[2]).get("/v1/accounts").await.is(200);
    for who in [&eva, &late, &mia] {
        let looked = acts(&service, who, "PATCH", TENANT_PATH, &json!({"name": "x"})).await;
        assert_eq!(looked.status, 401, "{}", looked.text);
    }
    let acted = acts(&service, &leo, "PATCH", TENANT_PATH, &json!({"name": "x"})).await;
    acted.refused(403, "role_missing");
    let path = format!("/admin/approvals/{request}");
    let asked = service.admin_get(&path).await.is(200);
    assert_eq!(asked["state"], "rejected");
    let tenant = service.admin_get(TENANT_PATH).await.is(200);
    assert_eq!(tenant["policy"]["fourEyes"]["decisionsAbove"], "0.00");
    let hooks = service.a.get("/v1/webhooks").await.is(200);
    assert!(!hooks.text.contains(&gone) && hooks.text.contains(&hook));
    // The lists stay in the status until a person releases what is held.
    let status = service.admin_get("/admin/status").await.is(200);
    assert_eq!(&status["restored"], since);
    let release = json!({"by": "ops", "reason": "read the list"});
    let release = service.admin("POST", "/admin/outgoing/release", &release);
    release.await.is(200);
    let status = service.admin_get("/admin/status").await.is(200);
    assert_eq!(status["restored"], Value::Null);
    service.verified().await;
}

#[actix_web::test]
async fn damage_behind_the_instant_does_not_stop_a_restore_to_it() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    // No tail is replaced by a full object.
    let mut plan = at(&to).unwrap();
    plan.cut = ObjectLimits {
        run_bytes: 16 << 20,
        tails: 100,
    };
    let mut service = TestService::with(Setup {
        backup: Some(plan),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service, 2).await;
    let before = seen(&service.a, &cvus).await;
    shipped(&service).await;
    let status = service.admin_get("/admin/status").await.is(200);
    let then = status["journal"]["lastCommit"].to_string();
    service.a.credit(&cvus[0], "7.00").await;
    shipped(&service).await;
    let good = objects(&to);
    service.a.credit(&cvus[0], "7.00").await;
    shipped(&service).await;
    service.end(true).await;
    let mut damaged = 0;
    for object in objects(&to).iter().filter(|it| !good.contains(it)) {
        let mut bytes = fs::read(object).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(object, bytes).unwrap();
        damaged += 1;
    }
    assert!(damaged > 0);
    let new = dir.path().join("new");
    let more = ["--at", &then, "--new-history"];
    let done = restored(&to, &new, service.data(), &more);
    let since = &done["restored"]["since"];
    assert!(since["incomplete"].is_string(), "{since}");
    let known = since["knownCommit"].as_u64().unwrap();
    assert!(known > then.parse().unwrap(), "{since}");
    service.moves(new);
    service.begin().await;
    assert_eq!(seen(&service.a, &cvus).await, before);
}
