//! Relations to banks and live keys: which secrets a relation can name, where they are sent, and that one operator cannot
//! be the bank.

use std::os::unix::fs::symlink;

use super::approvals::wary;
use super::*;

/// A secret of notices, long enough.
const SECRET: &str = "a secret of notices for these tests";

impl House {
    /// Stores a secret for the bank at a base URL, as whoever runs the machine does.
    fn store_secret(&self, name: &str, base_url: &str, secret: &str) {
        let folder = self.dir.path().join(crate::SECRETS);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), format!("{base_url}\n{secret}\n")).unwrap();
    }

    fn bank(&self) -> String {
        self.service.bank_url.clone().unwrap()
    }

    /// Another tenant, without a policy.
    async fn other(&self) -> String {
        let body = Some(json!({"name": "Una PSP"}));
        let (status, body) = self
            .acts(TEST_ADMIN_KEY, "POST", "/admin/tenants", body)
            .await;
        assert_eq!(status, 201, "{body}");
        text(&body["id"])
    }

    async fn relation(&self, path: &str, mode: &str) -> Value {
        self.get(path).await.1["bank"][mode].clone()
    }
}

#[actix_web::test]
async fn a_relation_to_a_bank_waits_for_a_second_person_wherever_a_policy_is_on() {
    let (house, path, [ana, _, leo]) = wary().await;
    house.store_secret("notices", &house.bank(), SECRET);
    let other = format!("/admin/tenants/{}", house.other().await);
    // Tenants may share the collector account, so a policy of one of them counts for all.
    for path in [&path, &other] {
        for mode in ["live", "test"] {
            let change = json!({"bank": {mode: {"noticeSecretFile": "notices"}}});
            let (status, asked) = house.acts(&ana, "PATCH", path, Some(change.clone())).await;
            assert_eq!(status, 202, "{asked}");
            let field = format!("bank.{mode}.noticeSecretFile");
            let changes = json!([{"field": field, "before": null, "after": "notices"}]);
            assert_eq!(asked["changes"], changes);
            assert_eq!(asked["tenantName"], "Una PSP");
            assert_eq!(
                house.relation(path, mode).await["noticeSecretFile"],
                Value::Null
            );
            let (_, done) = house.votes(&leo, &asked["id"], "approve").await;
            assert_eq!(
                (&done["state"], &done["changes"]),
                (&json!("done"), &changes),
                "{done}"
            );
            assert_eq!(
                house.relation(path, mode).await["noticeSecretFile"],
                "notices"
            );
            // What changes nothing waits for nobody.
            assert_eq!(house.acts(&ana, "PATCH", path, Some(change)).await.0, 200);
        }
    }
    // A wrong relation is reported at once.
    let wrong = json!({"bank": {"live": {"noticeSecretFile": "absent"}}});
    assert_eq!(house.acts(&ana, "PATCH", &path, Some(wrong)).await.0, 400);
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_live_key_waits_for_a_second_person_who_alone_sees_it_once() {
    let (house, path, [ana, eva, _]) = wary().await;
    let other = house.other().await;
    let keys = |path: &str| format!("{path}/keys");
    let own = path.trim_start_matches("/admin/tenants/").to_owned();
    let mut last = String::new();
    for tenant in [&own, &other] {
        let path = keys(&format!("/admin/tenants/{tenant}"));
        let issue = Some(json!({"mode": "live", "label": "caja", "scopes": ["read"]}));
        for who in [ana.as_str(), TEST_ADMIN_KEY] {
            let (status, asked) = house.acts(who, "POST", &path, issue.clone()).await;
            assert_eq!(
                (status, &asked["state"]),
                (202, &json!("waiting")),
                "{asked}"
            );
            assert_eq!(asked["request"], issue.clone().unwrap());
            assert_eq!(&asked["tenantId"], tenant);
            assert!(!asked.to_string().contains("cdl_live_"), "{asked}");
            let (_, done) = house.votes(&eva, &asked["id"], "approve").await;
            assert_eq!(
                (&done["state"], &done["status"]),
                (&json!("done"), &json!(201)),
                "{done}"
            );
            let key = text(&done["answer"]["key"]);
            assert_eq!(house.knock(&key).await, 200);
            // The key is shown this once, and to nobody else.
            let (_, read) = house
                .get(&format!("/admin/approvals/{}", asked["id"]))
                .await;
            assert_eq!(read.get("answer"), None);
            let secret = key.splitn(4, '_').nth(3).unwrap();
            let everything = [
                house.get("/admin/approvals").await.1,
                house.get("/admin/audit?limit=200").await.1,
                house.get(&path).await.1,
            ];
            assert!(everything.iter().all(|it| !it.to_string().contains(secret)));
            last = text(&done["answer"]["id"]);
        }
        assert_eq!(house.get(&path).await.1["total"], 2);
    }
    // The log names the key that was made.
    let ends = house.audit(&format!("subject={last}")).await;
    assert_eq!(
        (&ends[0]["outcome"], &ends[0]["action"]),
        (&json!("done"), &json!("issueKey"))
    );
    let rotate = format!("/admin/keys/{last}/rotate");
    let (status, asked) = house.acts(&ana, "POST", &rotate, Some(json!({}))).await;
    assert_eq!(status, 202, "{asked}");
    assert_eq!(
        (&asked["tenantId"], &asked["key"]["id"]),
        (&json!(other), &json!(last))
    );
    assert_eq!(asked["key"]["label"], "caja");
    let (_, done) = house.votes(&eva, &asked["id"], "approve").await;
    assert_eq!(
        house.knock(&text(&done["answer"]["key"])).await,
        200,
        "{done}"
    );
    // Mistakes are reported at once, and what has ended by then is not carried out.
    let past = Some(json!({"mode": "live", "expiresAt": "2001-01-01T00:00:00Z"}));
    assert_eq!(house.acts(&ana, "POST", &keys(&path), past).await.0, 400);
    let (_, asked) = house.acts(&ana, "POST", &rotate, Some(json!({}))).await;
    assert_eq!(
        house
            .acts(&ana, "DELETE", &format!("/admin/keys/{last}"), None)
            .await
            .0,
        204
    );
    let (_, failed) = house.votes(&eva, &asked["id"], "approve").await;
    assert_eq!(failed["state"], "failed", "{failed}");
    // A test key moves no money.
    let test = Some(json!({"mode": "test"}));
    let (status, key) = house.acts(&ana, "POST", &keys(&path), test).await;
    assert_eq!(status, 201);
    let rotate = format!("/admin/keys/{}/rotate", text(&key["id"]));
    assert_eq!(
        house.acts(&ana, "POST", &rotate, Some(json!({}))).await.0,
        201
    );
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_role_that_was_raised_after_a_request_cannot_approve_it() {
    let (house, path, [ana, ..]) = wary().await;
    let lea = house.person("lea", "auditor").await;
    let raise = json!({"limits": {"dailyAmount": "200.00"}});
    let ask = async || {
        house
            .acts(&ana, "PATCH", &path, Some(raise.clone()))
            .await
            .1["id"]
            .clone()
    };
    let before = ask().await;
    // Let the clock move on.
    let begun = std::time::Instant::now();
    while begun.elapsed().as_millis() < 5 {
        house.get("/admin/clock").await;
    }
    let role = Some(json!({"role": "approver"}));
    let raised = house
        .acts(TEST_ADMIN_KEY, "PATCH", "/admin/people/lea", role)
        .await;
    assert_eq!(raised.0, 200);
    let (status, body) = house.votes(&lea, &before, "approve").await;
    assert_eq!(
        (status, &body["code"]),
        (403, &json!("approval_own")),
        "{body}"
    );
    // It counts for a later request, also after a restart.
    let after = ask().await;
    let house = house.again().await;
    assert_eq!(house.votes(&lea, &before, "approve").await.0, 403);
    assert_eq!(
        house.votes(&lea, &after, "approve").await.1["state"],
        "done"
    );
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_secret_is_a_name_in_one_folder_and_all_other_names_get_one_error() {
    let house = House::open();
    let path = format!("/admin/tenants/{}", house.tenant().await);
    house.store_secret("notices", &house.bank(), SECRET);
    house.store_secret("another", "https://bank.example", SECRET);
    let folder = house.dir.path().join(crate::SECRETS);
    let outside = house.dir.path().join("settings.toml");
    std::fs::write(&outside, format!("{}\n{SECRET}\n", house.bank())).unwrap();
    symlink(&outside, folder.join("out")).unwrap();
    symlink("/no/such/file", folder.join("gone")).unwrap();
    let set = async |field: &str, name: &str| {
        let change = json!({"bank": {"test": {field: name}}});
        house.patch(&path, change).await
    };
    for field in ["passwordFile", "noticeSecretFile"] {
        for names in [
            &["out", "gone", "absent", "another"][..],
            &[
                "/etc/passwd",
                "/no/such",
                "../settings.toml",
                "../absent",
                "..",
                ".",
                "a/b",
                "ñ",
            ],
        ] {
            let mut said = Vec::new();
            for name in names {
                let (status, body) = set(field, name).await;
                assert_eq!(status, 400, "{name}: {body}");
                let wrong = body["errors"].clone();
                assert_eq!(wrong[0]["field"], format!("bank.test.{field}"), "{body}");
                said.push((text(&body["code"]), wrong));
            }
            said.dedup();
            assert_eq!(said.len(), 1, "{said:?}");
        }
    }
    assert_eq!(
        house.relation(&path, "test").await["noticeSecretFile"],
        Value::Null
    );
    assert_eq!(set("noticeSecretFile", "notices").await.0, 200);
    assert_eq!(
        house.relation(&path, "test").await["noticeSecretFile"],
        "notices"
    );
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_new_base_url_never_receives_a_secret_of_another_one() {
    let house = House::open();
    let path = format!("/admin/tenants/{}", house.tenant().await);
    // A server that would be sent the password.
    let trap = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let evil = format!("http://{}", trap.local_addr().unwrap());
    house.store_secret("password", "http://127.0.0.1:9/bank", "their password");
    let relation = json!({
        "baseUrl": "http://127.0.0.1:9/bank", "username": "psp", "passwordFile": "password",
        "collectorCbu": "3220001805007351350083",
    });
    let relate = async |change: Value| house.patch(&path, json!({"bank": {"test": change}})).await;
    let (status, body) = relate(relation.clone()).await;
    assert_eq!(status, 200, "{body}");
    let mut whole = relation;
    whole["baseUrl"] = json!(evil);
    for change in [
        json!({"baseUrl": evil}),
        json!({"baseUrl": "http://127.0.0.1:9/bank/other"}),
        json!({"baseUrl": null, "noticeSecretFile": "password"}),
        whole,
    ] {
        let (status, body) = relate(change.clone()).await;
        assert_eq!(status, 400, "{change}: {body}");
        assert_eq!(
            house.relation(&path, "test").await["baseUrl"],
            "http://127.0.0.1:9/bank"
        );
    }
    assert!(trap.accept().is_err(), "somebody called");
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_relation_has_a_kind_and_an_unknown_one_is_refused() {
    let house = House::open();
    let path = format!("/admin/tenants/{}", house.tenant().await);
    let relate = async |kind: Value| {
        let change = json!({"bank": {"test": {"kind": kind}}});
        house.patch(&path, change).await
    };
    assert_eq!(house.relation(&path, "test").await["kind"], "api_bank");
    for kind in [json!("another_bank"), json!(null), json!(1)] {
        let (status, body) = relate(kind).await;
        assert_eq!(status, 400, "{body}");
        assert_eq!(body["errors"][0]["field"], "bank.test.kind", "{body}");
    }
    let (status, body) = relate(json!("api_bank")).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(house.relation(&path, "test").await["kind"], "api_bank");
    house.service.stop().await.unwrap();
}
