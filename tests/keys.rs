//! Keys with restricted rights: how operators issue them, what the keys are refused, and how they are shown.

use crate::support::{Setup, TestClock, TestService, Value, json, named};

const KEYS: &str = "/admin/tenants/tnt_first/keys";

/// The entry of a key in the list.
async fn listed(service: &TestService, id: &str) -> Value {
    let list = service.admin_get(KEYS).await.is(200);
    let items = list["items"].as_array().unwrap();
    let found = items.iter().find(|key| key["id"] == id);
    found.unwrap().clone()
}

#[actix_web::test]
async fn invalid_options_of_a_key_are_refused() {
    let service = TestService::start().await;
    for (wanted, field) in [
        (json!({"scopes": []}), "scopes"),
        (json!({"scopes": ["everything"]}), "scopes"),
        (json!({"scopes": ["treasury:write"]}), "scopes"),
        (json!({"scopes": ["read", "read"]}), "scopes"),
        (json!({"scopes": "read"}), "scopes"),
        (json!({"ipAllow": []}), "ipAllow"),
        (json!({"ipAllow": ["10.0.0.0/33"]}), "ipAllow"),
        (json!({"ipAllow": ["a.example"]}), "ipAllow"),
        (json!({"ipAllow": vec!["10.0.0.1"; 33]}), "ipAllow"),
        (json!({"expiresAt": "2020-01-01T00:00:00Z"}), "expiresAt"),
        (json!({"expiresAt": "tomorrow"}), "expiresAt"),
        (json!({"expiresIn": 0}), "expiresIn"),
        (
            json!({"expiresIn": 60, "expiresAt": "2999-01-01T00:00:00Z"}),
            "expiresIn",
        ),
    ] {
        let mut wanted = wanted;
        wanted["mode"] = json!("test");
        let answer = service.admin("POST", KEYS, &wanted).await;
        let answer = answer.refused(400, "invalid_request");
        assert_eq!(named(&answer.json), [field], "{}", answer.text);
    }
}

#[actix_web::test]
async fn a_key_ends_when_it_was_issued_to_end_and_a_rotation_gives_one_for_as_long() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    let wanted = json!({"mode": "test", "label": "auditor", "scopes": ["read"], "expiresIn": 60});
    let issued = service.admin("POST", KEYS, &wanted).await.is(201);
    let id = issued["id"].as_str().unwrap();
    let key = service.a.with_key(issued["key"].as_str());
    let shown = listed(&service, id).await;
    assert_eq!(
        (
            &shown["status"],
            &shown["mode"],
            &shown["scopes"],
            &shown["ipAllow"],
            &shown["lastUsedAt"]
        ),
        (
            &json!("active"),
            &json!("test"),
            &json!(["read"]),
            &Value::Null,
            &Value::Null
        )
    );
    assert_eq!(shown["expiresAt"], "2026-03-02T15:01:00.000Z");
    key.get("/v1/accounts").await.is(200);
    assert_eq!(
        listed(&service, id).await["lastUsedAt"],
        "2026-03-02T15:00:00.000Z"
    );

    let path = format!("/admin/keys/{id}/rotate");
    let next = service
        .admin("POST", &path, &json!({"overlapSeconds": 10}))
        .await
        .is(201);
    assert_eq!(listed(&service, id).await["status"], "ending");
    assert_eq!(
        (&next["scopes"], &next["status"]),
        (&json!(["read"]), &json!("active"))
    );
    let next = service.a.with_key(next["key"].as_str());
    clock.set("2026-03-02T15:00:10Z");
    key.get("/v1/accounts").await.refused(401, "unauthorized");
    next.get("/v1/accounts").await.is(200);
    assert_eq!(listed(&service, id).await["status"], "expired");
    clock.set("2026-03-02T15:01:00Z");
    next.get("/v1/accounts").await.refused(401, "unauthorized");
}

#[actix_web::test]
async fn a_key_works_only_from_its_addresses_also_behind_a_proxy() {
    let mut service = TestService::start().await;
    let wanted = json!({"mode": "test", "ipAllow": ["203.0.113.0/24", "2001:db8::7"]});
    let text = service.keyed(&wanted).await.key;
    for turn in 0..2 {
        let key = service.a.with_key(text.as_deref());
        // The tests run on this machine, where the service trusts a proxy.
        for (forwarded, allowed) in [
            ("203.0.113.7", true),
            ("10.0.0.1, 203.0.113.7", true),
            ("2001:db8::7", true),
            ("203.0.113.7, 198.51.100.1", false),
            ("2001:db8::8", false),
            ("nobody", false),
        ] {
            let answer = key
                .get("/v1/accounts")
                .header("x-forwarded-for", forwarded)
                .await;
            if allowed {
                drop(answer.is(200))
            } else {
                drop(answer.refused(403, "key_address"))
            }
        }
        let refused = key.get("/v1/accounts").await.refused(403, "key_address");
        assert!(refused.text.contains("127.0.0.1"), "{}", refused.text);
        let spanish = key
            .get("/wallet/v1/Cuentas")
            .await
            .refused(403, "key_address");
        assert!(spanish.text.contains("direcciones"), "{}", spanish.text);
        if turn == 0 {
            service.restart().await;
        }
    }
}

#[actix_web::test]
async fn whom_nobody_believes_cannot_say_where_a_request_comes_from() {
    let mut setup = Setup::default();
    setup.limits.proxies = Vec::new();
    let service = TestService::with(setup).await;
    let wanted = json!({"mode": "test", "ipAllow": ["203.0.113.0/24"]});
    let key = service.keyed(&wanted).await;
    let spoofed = key
        .get("/v1/accounts")
        .header("x-forwarded-for", "203.0.113.7");
    spoofed.await.refused(403, "key_address");
    let own = json!({"mode": "test", "ipAllow": ["127.0.0.1"]});
    service.keyed(&own).await.get("/v1/accounts").await.is(200);
}

/// Null in a change of a tenant clears, or is a mistake that names the field; it never stays without effect.
#[actix_web::test]
async fn null_in_a_change_of_a_tenant_clears_or_is_refused() {
    let service = TestService::start().await;
    let (tenant, platform) = ("/admin/tenants/tnt_first", "/admin/platform");
    let fee = json!([{"voucherTypeCode": "TRANSFER_OUT", "fixed": "1.00", "charge": true}]);
    let limits = json!({"dailyAmount": "100.00"});
    for path in [tenant, platform] {
        let whole = json!({"feeSchedule": fee, "limits": limits});
        service.admin("PATCH", path, &whole).await.is(200);
    }
    let before = service.admin_get(tenant).await.is(200);
    for (path, field) in [
        (tenant, "name"),
        (tenant, "policy"),
        (tenant, "policy.fourEyes"),
        (tenant, "policy.fourEyes.limitRaises"),
        (tenant, "policy.closeRequiresZeroBalance"),
        (tenant, "policy.relaxedTestCuit"),
        (tenant, "limits"),
        (tenant, "bank"),
        (tenant, "realms"),
        (tenant, "realms.live"),
        (tenant, "realms.test"),
        (platform, "limits"),
    ] {
        let nested = field
            .rsplit('.')
            .fold(Value::Null, |inner, name| json!({name: inner}));
        let refused = service.admin("PATCH", path, &nested).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{}", refused.text);
    }
    assert_eq!(
        service.admin_get(tenant).await.is(200)["feeSchedule"],
        before["feeSchedule"]
    );
    for path in [tenant, platform] {
        for cleared in [
            json!({"feeSchedule": null}),
            json!({"limits": {"dailyAmount": null}}),
        ] {
            service.admin("PATCH", path, &cleared).await.is(200);
        }
        let after = service.admin_get(path).await.is(200);
        assert_eq!(after["feeSchedule"], json!([]), "{path}");
        assert_eq!(after["limits"]["dailyAmount"], Value::Null, "{path}");
    }
}
