//! The admin API over HTTP, on a whole service.

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Service, ServiceOptions, TEST_ADMIN_KEY};

mod approvals;
mod parameters;
mod people;
mod relations;
mod webhooks;

/// A service, and a client that knows its admin key.
struct House {
    service: Service,
    client: Client,
    dir: TempDir,
}

/// A status and a body; null when there is none.
type Answer = (u16, Value);

async fn send(request: RequestBuilder) -> Answer {
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    let body = serde_json::from_str(&text);
    (
        status,
        body.unwrap_or(if text.is_empty() {
            Value::Null
        } else {
            json!(text)
        }),
    )
}

impl House {
    fn open() -> Self {
        Self::open_in(TempDir::new().unwrap())
    }

    fn open_in(dir: TempDir) -> Self {
        let options = ServiceOptions::for_tests(dir.path());
        Self::open_with(dir, options)
    }

    fn open_with(dir: TempDir, options: ServiceOptions) -> Self {
        let client = Client::builder().tls_certs_only([]).no_proxy();
        Self {
            service: Service::start(options).unwrap(),
            client: client.build().unwrap(),
            dir,
        }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.service.admin_url);
        self.client
            .request(method, url)
            .header("x-admin-key", TEST_ADMIN_KEY)
    }

    async fn get(&self, path: &str) -> Answer {
        send(self.request(Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        send(self.request(Method::POST, path).json(&body)).await
    }

    async fn patch(&self, path: &str, body: Value) -> Answer {
        send(self.request(Method::PATCH, path).json(&body)).await
    }

    /// The status of a call to the public API with a key.
    async fn knock(&self, key: &str) -> u16 {
        let url = format!("{}/v1/voucher-types", self.service.url);
        send(self.client.get(url).header("x-api-key", key)).await.0
    }

    async fn tenant(&self) -> String {
        let (status, body) = self
            .post("/admin/tenants", json!({"name": "Una PSP"}))
            .await;
        assert_eq!(status, 201, "{body}");
        text(&body["id"])
    }

    async fn key(&self, tenant: &str, mode: &str) -> (String, String) {
        let path = format!("/admin/tenants/{tenant}/keys");
        let (status, body) = self
            .post(&path, json!({"mode": mode, "label": "caja"}))
            .await;
        assert_eq!(status, 201, "{body}");
        (text(&body["id"]), text(&body["key"]))
    }

    async fn again(self) -> Self {
        self.service.stop().await.unwrap();
        Self::open_in(self.dir)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

const NOBODY: &str = "/admin/tenants/tnt_nobody";
const PATHS: [(&str, &str); 21] = [
    ("GET", "/admin/tenants"),
    ("POST", "/admin/tenants"),
    ("GET", NOBODY),
    ("PATCH", NOBODY),
    ("GET", "/admin/tenants/tnt_nobody/keys"),
    ("POST", "/admin/tenants/tnt_nobody/keys"),
    ("POST", "/admin/keys/abc/rotate"),
    ("DELETE", "/admin/keys/abc"),
    ("GET", "/admin/platform"),
    ("GET", "/admin/actors"),
    ("POST", "/admin/actors/0000999100000200000019/passivate"),
    ("GET", "/admin/webhooks"),
    ("GET", "/admin/journal"),
    ("GET", "/admin/memory"),
    ("GET", "/admin/node"),
    ("POST", "/admin/node/hand-over"),
    ("GET", "/admin/backup"),
    ("POST", "/admin/backup"),
    ("GET", "/admin/outgoing"),
    ("POST", "/admin/outgoing/release"),
    ("POST", "/admin/verify"),
];

#[actix_web::test]
async fn nothing_opens_without_the_admin_key_and_all_refusals_are_one() {
    let house = House::open();
    let tenant = house.tenant().await;
    let (_, key) = house.key(&tenant, "live").await;
    let mut bodies = Vec::new();
    let unknown = ("GET", "/admin/nothing");
    for (method, path) in PATHS.into_iter().chain([unknown]) {
        let method: Method = method.parse().unwrap();
        let url = format!("{}{path}", house.service.admin_url);
        let bare = || house.client.request(method.clone(), &url);
        let wrong = format!("{TEST_ADMIN_KEY}x");
        let attempts = [
            bare(),
            bare().header("x-admin-key", ""),
            bare().header("x-admin-key", &wrong),
            bare().header("x-admin-key", &key),
            bare().header("x-api-key", &key),
            bare().header("x-api-key", TEST_ADMIN_KEY),
            bare()
                .header("x-admin-key", TEST_ADMIN_KEY)
                .header("x-admin-key", TEST_ADMIN_KEY),
        ];
        for attempt in attempts {
            let (status, mut body) = send(attempt).await;
            assert_eq!(status, 401, "{method} {path}: {body}");
            for field in ["requestId", "timestamp"] {
                assert!(body.as_object_mut().unwrap().remove(field).is_some());
            }
            bodies.push(body.to_string());
        }
        // On the public port the path does not exist, whichever credential is sent.
        let public = format!("{}{path}", house.service.url);
        let request = house.client.request(method.clone(), public);
        let request = request
            .header("x-admin-key", TEST_ADMIN_KEY)
            .header("x-api-key", &key);
        assert_eq!(send(request).await.0, 404, "{method} {path}");
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_tenant_is_created_changed_and_kept() {
    let house = House::open();
    let new = json!({
        "name": "Pagos del Sur",
        "policy": {"relaxedTestCuit": true},
        "limits": {"dailyAmount": "1500.50", "dailyCount": 0, "maxBalance": 10},
        "feeSchedule": [{
            "voucherTypeCode": "transfer_out", "percentage": "0.6", "fixed": 1, "minimum": "0.10",
            "maximum": null, "charge": true,
        }],
    });
    let (status, made) = house.post("/admin/tenants", new).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(made["policy"]["relaxedTestCuit"], true);
    assert_eq!(made["policy"]["closeRequiresZeroBalance"], false);
    assert_eq!(made["limits"]["dailyAmount"], "1500.50");
    assert_eq!(made["limits"]["dailyCount"], 0);
    assert_eq!(made["limits"]["maxBalance"], "10.00");
    assert_eq!(made["limits"]["monthlyAmount"], Value::Null);
    let fee = json!([{
        "voucherTypeCode": "TRANSFER_OUT", "percentage": "0.6", "fixed": "1.00", "minimum": "0.10",
        "maximum": null, "charge": true, "taxRate": "21",
    }]);
    assert_eq!(made["feeSchedule"], fee);
    let path = format!("/admin/tenants/{}", text(&made["id"]));
    assert_eq!(house.get(&path).await, (200, made.clone()));
    let change = json!({
        "policy": {"closeRequiresZeroBalance": true},
        "limits": {"dailyAmount": null, "monthlyCount": 7},
    });
    let (status, changed) = house.patch(&path, change).await;
    assert_eq!(status, 200, "{changed}");
    let policy = json!({
        "closeRequiresZeroBalance": true,
        "relaxedTestCuit": true,
        "fourEyes": {"decisionsAbove": null, "limitRaises": false},
    });
    assert_eq!(changed["policy"], policy);
    assert_eq!(changed["limits"]["dailyAmount"], Value::Null);
    assert_eq!(changed["limits"]["dailyCount"], 0);
    assert_eq!(changed["limits"]["monthlyCount"], 7);
    assert_eq!(changed["feeSchedule"], fee);
    let platform = json!({"limits": {"maxPerTransaction": "5"}, "feeSchedule": fee});
    let (status, set) = house.patch("/admin/platform", platform).await;
    assert_eq!(
        (status, &set["limits"]["maxPerTransaction"]),
        (200, &json!("5.00"))
    );
    let house = house.again().await;
    assert_eq!(house.get(&path).await, (200, changed.clone()));
    assert_eq!(house.get("/admin/platform").await, (200, set));
    let (_, list) = house.get("/admin/tenants").await;
    assert_eq!(list, json!({"items": [changed], "total": 1}));
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn bad_requests_are_refused_and_every_mistake_is_named() {
    let house = House::open();
    let tenant = house.tenant().await;
    let path = format!("/admin/tenants/{tenant}");
    let before = house.get(&path).await;
    let rows = [
        (json!({"nam": "x"}), "nam"),
        (json!({"name": ""}), "name"),
        (json!({"name": 5}), "name"),
        (json!({"policy": {"other": true}}), "policy.other"),
        (
            json!({"policy": {"relaxedTestCuit": "yes"}}),
            "policy.relaxedTestCuit",
        ),
        (json!({"policy": 1}), "policy"),
        (
            json!({"limits": {"dailyAmount": "-1"}}),
            "limits.dailyAmount",
        ),
        (json!({"limits": {"dailyCount": 1.5}}), "limits.dailyCount"),
        (json!({"limits": {"daily": 1}}), "limits.daily"),
        (
            json!({"feeSchedule": [{"charge": true}]}),
            "feeSchedule.0.voucherTypeCode",
        ),
        (
            json!({"feeSchedule": [{"voucherTypeCode": "AB"}]}),
            "feeSchedule.0.charge",
        ),
        (json!({"feeSchedule": "none"}), "feeSchedule"),
        (
            json!({"feeSchedule": [{"voucherTypeCode": "AB", "charge": true, "percentage": 101}]}),
            "feeSchedule.0.percentage",
        ),
        (
            json!({"feeSchedule": [
                {"voucherTypeCode": "AB", "charge": true, "minimum": 2, "maximum": 1},
            ]}),
            "feeSchedule.0.minimum",
        ),
        (
            json!({"feeSchedule": [
                {"voucherTypeCode": "AB", "charge": true}, {"voucherTypeCode": "ab", "charge": true},
            ]}),
            "feeSchedule",
        ),
    ];
    for (body, field) in rows {
        let (status, answer) = house.patch(&path, body.clone()).await;
        assert_eq!(
            (status, &answer["code"]),
            (400, &json!("invalid_request")),
            "{body}: {answer}"
        );
        let named = answer["errors"].as_array().unwrap();
        assert!(
            named.iter().any(|error| error["field"] == field),
            "{body}: {answer}"
        );
    }
    assert_eq!(house.get(&path).await, before);
    let (status, _) = house.post("/admin/tenants", json!({"policy": {}})).await;
    assert_eq!(status, 400);
    let text = house
        .request(Method::POST, "/admin/tenants")
        .body("{\"name\":\"x\"}");
    assert_eq!(send(text).await.0, 415);
    let (status, body) = house.patch(NOBODY, json!({"name": "x"})).await;
    assert_eq!((status, &body["code"]), (404, &json!("tenant_not_found")));
    let (status, body) = house.get("/admin/nothing").await;
    assert_eq!((status, &body["code"]), (404, &json!("route_not_found")));
    let put = house.request(Method::PUT, &path).send().await.unwrap();
    assert_eq!(put.status().as_u16(), 405);
    assert_eq!(put.headers()["allow"], "GET, PATCH");
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_key_is_issued_used_rotated_and_revoked() {
    let house = House::open();
    let tenant = house.tenant().await;
    let (id, key) = house.key(&tenant, "test").await;
    assert_eq!(house.knock(&key).await, 200);
    let (status, rotated) = house
        .post(
            &format!("/admin/keys/{id}/rotate"),
            json!({"overlapSeconds": 3600}),
        )
        .await;
    assert_eq!(status, 201, "{rotated}");
    assert_eq!(
        (&rotated["mode"], &rotated["label"]),
        (&json!("test"), &json!("caja"))
    );
    let new = text(&rotated["key"]);
    assert_eq!(
        (house.knock(&key).await, house.knock(&new).await),
        (200, 200)
    );
    // Without overlap, the old key ends at once.
    let path = format!("/admin/keys/{}/rotate", text(&rotated["id"]));
    let (_, last) = house.post(&path, json!({"overlapSeconds": 0})).await;
    assert_eq!(
        (
            house.knock(&new).await,
            house.knock(&text(&last["key"])).await
        ),
        (401, 200)
    );
    let (status, body) = house.post(&path, json!({})).await;
    assert_eq!((status, &body["code"]), (400, &json!("key_not_active")));
    for wrong in [json!({"overlapSeconds": 604_801}), json!({"overlap": 1})] {
        assert_eq!(
            house
                .post(&format!("/admin/keys/{id}/rotate"), wrong)
                .await
                .0,
            400
        );
    }
    let revoke = |id: &str| house.request(Method::DELETE, &format!("/admin/keys/{id}"));
    assert_eq!(send(revoke(&id)).await, (204, Value::Null));
    assert_eq!(house.knock(&key).await, 401);
    assert_eq!(send(revoke(&id)).await.0, 204);
    assert_eq!(send(revoke("nobody")).await.0, 404);

    let (_, list) = house.get(&format!("/admin/tenants/{tenant}/keys")).await;
    let found = list["items"].as_array().unwrap().iter();
    let statuses: Vec<_> = found.map(|key| text(&key["status"])).collect();
    assert_eq!(statuses, ["active", "expired", "revoked"]);
    // The secret is base64url and may have `_` itself: it begins after the id.
    let secret = key.strip_prefix(&format!("cdl_test_{id}_")).unwrap();
    assert!(!list.to_string().contains(secret));
    assert_eq!(list["items"][2]["prefix"], format!("cdl_test_{id}"));
    assert!(list["items"][2].get("key").is_none());

    let house = house.again().await;
    let last = text(&last["key"]);
    assert_eq!(
        (house.knock(&key).await, house.knock(&last).await),
        (401, 200)
    );
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn keys_are_refused_to_nobody_and_beyond_the_limit() {
    let house = House::open();
    let tenant = house.tenant().await;
    let path = format!("/admin/tenants/{tenant}/keys");
    assert_eq!(house.get("/admin/tenants/tnt_nobody/keys").await.0, 404);
    let (status, body) = house
        .post("/admin/tenants/tnt_nobody/keys", json!({"mode": "test"}))
        .await;
    assert_eq!((status, &body["code"]), (404, &json!("tenant_not_found")));
    for wrong in [
        json!({}),
        json!({"mode": "both"}),
        json!({"mode": "test", "tenant": "x"}),
    ] {
        assert_eq!(house.post(&path, wrong).await.0, 400);
    }
    for _ in 0..50 {
        house.key(&tenant, "test").await;
    }
    let (status, body) = house.post(&path, json!({"mode": "test"})).await;
    assert_eq!((status, &body["code"]), (400, &json!("too_many_keys")));
    house.key(&tenant, "live").await;
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn actors_are_seen_beside_the_disk_and_everything_verifies() {
    let house = House::open();
    let tenant = house.tenant().await;
    let (_, key) = house.key(&tenant, "test").await;
    let account = json!({"cuit": "20123456786", "holderName": "Ada Lovelace"});
    let request = house
        .client
        .post(format!("{}/v1/accounts", house.service.url));
    let request = request
        .header("x-api-key", &key)
        .header("idempotency-key", "1")
        .json(&account);
    let (status, made) = send(request).await;
    assert_eq!(status, 201, "{made}");
    let path = format!("/admin/actors/{}", text(&made["cvu"]));
    let (_, seen) = house.get(&path).await;
    assert_eq!(
        (&seen["resident"], &seen["agree"]),
        (&json!(true), &json!(true)),
        "{seen}"
    );
    assert_eq!(
        (&seen["tenantId"], &seen["mode"]),
        (&json!(tenant), &json!("test"))
    );
    assert_eq!(seen["live"], seen["disk"]);
    assert_eq!(seen["bankCalls"][0]["operation"], "set_alias");
    assert!(!seen.to_string().contains("Ada"), "a name leaks: {seen}");
    let (_, realms) = house.get("/admin/actors").await;
    assert_eq!(
        (&realms["total"], &realms["items"][1]["resident"]),
        (&json!(2), &json!(1))
    );

    let report = send(house.request(Method::POST, "/admin/verify")).await;
    assert_eq!(
        (report.0, &report.1["ok"]),
        (200, &json!(true)),
        "{report:?}"
    );
    assert_eq!(
        (&report.1["accounts"], &report.1["actors"]),
        (&json!(1), &json!(1))
    );

    let gone = send(house.request(Method::POST, &format!("{path}/passivate"))).await;
    assert_eq!((gone.0, &gone.1["passivated"]), (200, &json!(true)));
    let (_, seen) = house.get(&path).await;
    assert_eq!(
        (&seen["resident"], &seen["live"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(house.get("/admin/actors/123").await.0, 400);
    let (status, body) = house.get("/admin/actors/0000999100009999999999").await;
    assert!([400, 404].contains(&status), "{body}");

    let (_, memory) = house.get("/admin/memory").await;
    let accounts = (&memory["accounts"], &memory["accountsMax"]);
    assert_eq!(accounts, (&json!(0), &json!(150_000)), "{memory}");
    assert!(memory["takenBytes"].as_u64().unwrap() > 1 << 20, "{memory}");
    assert!(memory["tableBytes"].as_u64().unwrap() > 0, "{memory}");
    let (_, journal) = house.get("/admin/journal").await;
    assert_eq!(journal["writable"], true);
    assert!(journal["commits"].as_u64().unwrap() >= 3, "{journal}");
    let url = format!("{}/metrics", house.service.admin_url);
    let (status, page) = send(house.client.get(url)).await;
    let label = format!("caudal_actors_passivations_total{{tenant=\"{tenant}\",mode=\"test\"}} 1");
    assert!(status == 200 && text(&page).contains(&label), "{page}");
    let url = format!("{}/metrics", house.service.url);
    assert_eq!(send(house.client.get(url)).await.0, 404);
    house.service.stop().await.unwrap();
}
