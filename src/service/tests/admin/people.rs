//! People: each role at each operation, credentials that end at once, and the entries in the audit log.

use caudal_ledger::people::{Power, Role};
use caudal_operators::admin::access::{AuditWeight, OPERATIONS};

use super::*;

impl House {
    /// Adds a person with a role, and returns their credential.
    pub(super) async fn person(&self, name: &str, role: &str) -> String {
        let request = self.request(Method::POST, "/admin/people");
        let request = request.header("x-reason", "a test");
        let (status, body) = send(request.json(&json!({"name": name, "role": role}))).await;
        assert_eq!(status, 201, "{body}");
        assert_eq!((&body["name"], &body["role"]), (&json!(name), &json!(role)));
        text(&body["credential"])
    }

    /// A request with a credential, and without a reason.
    pub(super) fn as_person(&self, credential: &str, method: &str, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.service.admin_url);
        let request = self.client.request(method.parse().unwrap(), url);
        request.header("x-admin-key", credential)
    }

    /// The newest entries of the audit log that a query finds, without those of such questions.
    pub(super) async fn audit(&self, query: &str) -> Vec<Value> {
        let (status, body) = self.get(&format!("/admin/audit?{query}")).await;
        assert_eq!(status, 200, "{body}");
        let items = body["items"].as_array().unwrap().iter();
        let others = items.filter(|it| it["action"] != "listAudit" || it["outcome"] != "looked");
        others.cloned().collect()
    }
}

fn at_nobody(path: &str) -> String {
    let path = path.replace("{cvu}", "0000999100000200000019");
    let path = path.replace("{id}", "nobody").replace("{name}", "nobody");
    format!("/admin{path}")
}

fn outcomes(entries: &[Value]) -> Vec<String> {
    entries.iter().map(|it| text(&it["outcome"])).collect()
}

#[test]
fn the_table_has_the_operations_of_the_document_and_no_others() {
    let document = serde_json::to_value(caudal_operators::admin::openapi()).unwrap();
    let mut shown = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = text(&operation["operationId"]);
            shown.push((method.to_uppercase(), path.clone(), id));
        }
    }
    let rows = OPERATIONS.iter().map(|it| {
        let path = format!("/admin{}", it.path);
        (it.method.to_owned(), path, it.id.to_owned())
    });
    let mut rows: Vec<_> = rows.collect();
    shown.sort();
    rows.sort();
    assert_eq!(shown, rows);
    for it in OPERATIONS {
        let reads = it.method == "GET";
        let light = matches!(it.weight, AuditWeight::Reads | AuditWeight::Looks);
        assert_eq!(reads, light, "{}", it.id);
        assert!(
            reads
                || it.weight == AuditWeight::Checks
                || it.id == "rotateMe"
                || it.power != Power::Read
        );
    }
}

#[actix_web::test]
async fn each_role_gets_to_its_operations_and_to_no_others() {
    let house = House::open();
    let mut known = vec![(Role::Root, TEST_ADMIN_KEY.to_owned())];
    for (word, role) in Role::OF_PEOPLE {
        known.push((role, house.person(&format!("the.{word}"), word).await));
    }
    let (mut denied, mut let_through) = (0, 0);
    for operation in OPERATIONS {
        let path = at_nobody(operation.path);
        for (role, credential) in &known {
            if operation.id == "rotateMe" {
                continue;
            }
            let request = house.as_person(credential, operation.method, &path);
            let request = request.header("x-reason", "a walk");
            let (status, body) = send(request).await;
            let about = format!("{} as {role:?}: {status} {body}", operation.id);
            if role.may(operation.power) {
                assert!(![401, 403, 405, 500].contains(&status), "{about}");
                let_through += 1;
            } else {
                assert_eq!(
                    (status, &body["code"]),
                    (403, &json!("role_missing")),
                    "{about}"
                );
                let least = operation.power.least().as_str();
                assert!(text(&body["message"]).contains(least), "{about}");
                denied += 1;
            }
        }
    }
    assert!(denied > 40 && let_through > 100, "{denied} {let_through}");
    // Each denial is in the log, by name, and none of the operations was done.
    let entries = house.audit("operator=the.viewer&limit=200").await;
    let may_not = OPERATIONS.iter().filter(|it| !Role::Viewer.may(it.power));
    let said = entries.iter().filter(|it| it["outcome"] == "denied");
    assert_eq!(said.count(), may_not.count());
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_credential_ends_at_once_and_another_one_never_comes_back() {
    let house = House::open();
    let first = house.person("ana", "operator").await;
    let me = |credential: &str| send(house.as_person(credential, "GET", "/admin/me"));
    let ana = json!({"name": "ana", "role": "operator"});
    assert_eq!(me(&first).await, (200, ana.clone()));
    // A person who rotates their own credential can use only the new one.
    let rotate = house.as_person(&first, "POST", "/admin/me/rotate");
    let (status, body) = send(rotate.header("x-reason", "it came by mail")).await;
    assert_eq!(status, 201, "{body}");
    let second = text(&body["credential"]);
    assert_eq!((me(&first).await.0, me(&second).await.0), (401, 200));
    // A changed role applies from the next request on.
    let change = house.request(Method::PATCH, "/admin/people/ana");
    let change = change
        .header("x-reason", "moved")
        .json(&json!({"role": "viewer"}));
    assert_eq!(send(change).await.0, 200);
    let act = || house.as_person(&second, "POST", "/admin/outgoing/release");
    assert_eq!(send(act().header("x-reason", "x")).await.0, 403);
    let revoke = || {
        house
            .request(Method::DELETE, "/admin/people/ana")
            .header("x-reason", "left")
    };
    assert_eq!(send(revoke()).await.0, 204);
    assert_eq!(me(&second).await.0, 401);
    let (status, body) = send(revoke()).await;
    assert_eq!((status, &body["code"]), (404, &json!("person_not_found")));
    // Nor does it work after a restart; and the admin key belongs to nobody who could rotate it.
    let house = house.again().await;
    assert_eq!(
        send(house.as_person(&second, "GET", "/admin/me")).await.0,
        401
    );
    let own = house
        .request(Method::POST, "/admin/me/rotate")
        .header("x-reason", "x");
    assert_eq!(send(own).await.0, 404);
    let third = house.person("ana", "auditor").await;
    let (_, list) = house.get("/admin/people").await;
    assert_eq!(list["items"][0]["status"], "active");
    for credential in [&first, &second, &third] {
        // The secret itself may have underscores.
        let secret = credential.splitn(4, '_').nth(3).unwrap();
        assert!(!list.to_string().contains(secret), "{list}");
        let log = house.audit("limit=200").await;
        assert!(!json!(log).to_string().contains(secret));
    }
    // A tenant's key is not a person's credential, and a person's credential is not a tenant's key.
    assert_eq!(house.knock(&third).await, 401);
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn names_roles_and_people_that_cannot_be_are_refused() {
    let house = House::open();
    house.person("ana", "operator").await;
    for (body, status, code) in [
        (
            json!({"name": "root", "role": "viewer"}),
            400,
            "invalid_request",
        ),
        (
            json!({"name": "Ana", "role": "viewer"}),
            400,
            "invalid_request",
        ),
        (
            json!({"name": "eva", "role": "root"}),
            400,
            "invalid_request",
        ),
        (
            json!({"name": "eva", "role": "viewer", "x": 1}),
            400,
            "invalid_request",
        ),
        (
            json!({"name": "ana", "role": "viewer"}),
            409,
            "person_taken",
        ),
    ] {
        let request = house.request(Method::POST, "/admin/people").json(&body);
        let (found, answer) = send(request.header("x-reason", "a test")).await;
        assert_eq!((found, &answer["code"]), (status, &json!(code)), "{answer}");
    }
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn denials_beyond_an_allowance_are_counted_and_the_next_entry_has_the_count() {
    const TRIES: u64 = 300;
    let house = stingy();
    let since = std::time::Instant::now();
    let vera = house.person("vera", "viewer").await;
    for _ in 0..TRIES {
        let request = house.as_person(&vera, "POST", "/admin/people");
        assert_eq!(send(request.header("x-reason", "no")).await.0, 403);
    }
    // Every further entry has the count, whatever it is about.
    let request = house.as_person(&vera, "POST", "/admin/me/rotate");
    assert_eq!(send(request.header("x-reason", "a test")).await.0, 201);
    let entries = house.audit("operator=vera&limit=200").await;
    let denied = entries.iter().filter(|it| it["outcome"] == "denied");
    let written = u64::try_from(denied.count()).unwrap();
    let omitted = entries.iter().map(|it| it["omitted"].as_u64().unwrap());
    assert_eq!(written + omitted.sum::<u64>(), TRIES);
    let most = 20 + since.elapsed().as_secs() / 3 + 1;
    assert!(
        (20..=most).contains(&written),
        "{written} of at most {most}"
    );
    let last = &entries[1];
    assert!(last["omitted"].as_u64().unwrap() > 0, "{last}");
    // Somebody else's allowance is whole.
    let eva = house.person("eva", "viewer").await;
    let request = house.as_person(&eva, "POST", "/admin/people");
    assert_eq!(send(request).await.0, 403);
    assert_eq!(outcomes(&house.audit("operator=eva").await), ["denied"]);
    let report = send(house.request(Method::POST, "/admin/verify")).await;
    assert_eq!(report.1["ok"], true, "{report:?}");
    house.service.stop().await.unwrap();
}

/// A service with the allowances that it has in production.
fn stingy() -> House {
    let dir = TempDir::new().unwrap();
    let options = ServiceOptions {
        audit_burst: caudal_http::audit_rate::BURST,
        ..ServiceOptions::for_tests(dir.path())
    };
    House::open_with(dir, options)
}

#[actix_web::test]
async fn whoever_opens_too_many_pages_is_refused_and_every_look_is_recorded() {
    let house = stingy();
    let luz = house.person("luz", "viewer").await;
    let (mut shown, mut refused) = (0, 0);
    for offset in 0..200 {
        let path = format!("/admin/cases?offset={offset}");
        let (status, body) = send(house.as_person(&luz, "GET", &path)).await;
        match status {
            200 => shown += 1,
            _ => {
                assert_eq!((status, &body["code"]), (429, &json!("rate_limited")));
                refused += 1;
            }
        }
    }
    assert!(shown >= 120 && refused > 0, "{shown} {refused}");
    // The same page again needs no further entry.
    let again = house.as_person(&luz, "GET", "/admin/cases?offset=0");
    assert!([200, 429].contains(&send(again).await.0));
    let entries = house.audit("operator=luz&limit=200").await;
    assert!((shown..=shown + 1).contains(&entries.len()), "{shown}");
    assert!(entries.iter().all(|it| it["omitted"] == 0));
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn a_look_at_the_cases_leaves_an_entry_with_the_filter() {
    let house = House::open();
    let vera = house.person("vera", "viewer").await;
    let filtered = "/admin/cases?kind=transfer&mode=test&limit=10";
    for path in ["/admin/cases", filtered] {
        assert_eq!(send(house.as_person(&vera, "GET", path)).await.0, 200);
    }
    let entries = house.audit("action=listCases").await;
    let said = entries
        .iter()
        .map(|it| (text(&it["outcome"]), text(&it["subject"])));
    let looked = |subject: &str| ("looked".to_owned(), subject.to_owned());
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            looked("cases?kind=transfer&mode=test&limit=10"),
            looked("cases")
        ]
    );
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn actions_need_a_reason_and_are_audited_before_and_after() {
    let house = House::open();
    // Setting up a service takes no reason while there are no people.
    let tenant = house.tenant().await;
    let entries = house.audit("subject=tenants").await;
    assert_eq!(outcomes(&entries), ["begun"], "{entries:?}");
    let entries = house.audit(&format!("subject={tenant}")).await;
    assert_eq!(outcomes(&entries), ["done"], "{entries:?}");
    let eva = house.person("eva", "operator").await;
    let path = format!("/admin/tenants/{tenant}");
    let change = |credential: &str| house.as_person(credential, "PATCH", &path);
    let named = json!({"name": "Otra"});
    for credential in [eva.as_str(), TEST_ADMIN_KEY] {
        for reason in [None, Some(""), Some("  "), Some(&*"x".repeat(501))] {
            let mut request = change(credential).json(&named);
            if let Some(reason) = reason {
                request = request.header("x-reason", reason);
            }
            let (status, body) = send(request).await;
            assert_eq!((status, &body["code"]), (400, &json!("reason_required")));
        }
    }
    assert_eq!(house.get(&path).await.1["name"], "Una PSP");
    let reason = "pidió el cliente: ñandú".as_bytes();
    let (status, body) = send(change(&eva).header("x-reason", reason).json(&named)).await;
    assert_eq!((status, &body["name"]), (200, &json!("Otra")));
    let (status, _) = send(
        change(&eva)
            .header("x-reason", "typo")
            .json(&json!({"nam": 1})),
    )
    .await;
    assert_eq!(status, 400);
    let entries = house.audit(&format!("operator=eva&subject={tenant}")).await;
    assert_eq!(outcomes(&entries), ["failed", "begun", "done", "begun"]);
    let [failed, _, done, begun] = entries.as_slice() else {
        panic!("{entries:?}")
    };
    assert_eq!(
        (&failed["status"], &done["status"]),
        (&json!(400), &json!(200))
    );
    assert_eq!(
        (&done["of"], &done["requestId"]),
        (&begun["sequence"], &begun["requestId"])
    );
    assert_eq!(begun["reason"], "pidió el cliente: ñandú");
    assert_eq!(
        (&begun["role"], &begun["action"]),
        (&json!("operator"), &json!("changeTenant"))
    );
    // All entries are in the journal.
    let report = send(house.request(Method::POST, "/admin/verify")).await;
    assert_eq!(
        (report.0, &report.1["ok"]),
        (200, &json!(true)),
        "{report:?}"
    );
    assert!(
        report.1["auditEntries"].as_u64().unwrap() >= 6,
        "{report:?}"
    );
    let before = house.audit("limit=200").await;
    let house = house.again().await;
    assert_eq!(house.audit("limit=200").await, before);
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn the_log_is_read_by_pages_filters_and_lines() {
    let house = House::open();
    let auditor = house.person("lea", "auditor").await;
    for n in 0..5 {
        house.person(&format!("p{n}"), "viewer").await;
    }
    let mut path = "/admin/audit?limit=3&action=addPerson".to_owned();
    let mut seen = Vec::new();
    loop {
        let answer = house
            .as_person(&auditor, "GET", &path)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 200);
        let next = answer.headers().get("x-next-cursor");
        let next = next.map(|next| next.to_str().unwrap().to_owned());
        let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        let items = body["items"].as_array().unwrap();
        assert!(items.len() <= 3);
        seen.extend(items.iter().map(|it| it["sequence"].as_u64().unwrap()));
        let Some(next) = next else { break };
        path = format!("/admin/audit?limit=3&action=addPerson&cursor={next}");
    }
    let all: Vec<u64> = (1..=12).rev().collect();
    assert_eq!(seen, all);
    let lines = house.as_person(&auditor, "GET", "/admin/audit?limit=2");
    let lines = lines
        .header("accept", "application/x-ndjson")
        .send()
        .await
        .unwrap();
    assert_eq!(lines.headers()["content-type"], "application/x-ndjson");
    let lines = lines.text().await.unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(house.audit("operator=nobody").await.len(), 0);
    assert_eq!(house.audit("to=2001-01-01").await.len(), 0);
    assert_eq!(house.audit("from=2001-01-01&limit=200").await.len(), 12);
    assert_eq!(house.audit("from=2999-01-01").await.len(), 0);
    // A cursor of another list, or one that somebody made up, is refused.
    for cursor in ["YzE6MA", "YzE6MQ", "YzE6MTg0NDY3NDQwNzM3MDk1NTE2MTU"] {
        let (status, _) = house.get(&format!("/admin/audit?cursor={cursor}")).await;
        assert_eq!(status, 400, "{cursor}");
    }
    assert_eq!(house.get("/admin/audit?who=eva").await.0, 400);
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn the_admin_key_can_be_switched_off_once_somebody_can_act() {
    let dir = TempDir::new().unwrap();
    let without = |dir: &TempDir| ServiceOptions {
        admin_key_enabled: false,
        ..ServiceOptions::for_tests(dir.path())
    };
    let refused = Service::start(without(&dir)).unwrap_err().to_string();
    assert!(refused.contains("admin_key_enabled"), "{refused}");
    let house = House::open_in(dir);
    house.person("lea", "auditor").await;
    let House {
        service,
        dir,
        client,
    } = house;
    service.stop().await.unwrap();
    assert!(Service::start(without(&dir)).is_err());
    let house = House::open_in(dir);
    let ana = house.person("ana", "approver").await;
    house.service.stop().await.unwrap();
    let service = Service::start(without(&house.dir)).unwrap();
    let house = House {
        service,
        client,
        dir: house.dir,
    };
    assert_eq!(house.get("/admin/me").await.0, 401);
    assert_eq!(send(house.as_person(&ana, "GET", "/admin/me")).await.0, 200);
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn an_operator_suspends_verifies_and_reactivates_an_account() {
    let house = House::open();
    let tenant = house.tenant().await;
    let (_, key) = house.key(&tenant, "test").await;
    let account = json!({"cuit": "20123456786", "holderName": "Ada Lovelace"});
    let url = format!("{}/v1/accounts", house.service.url);
    let request = house.client.post(url).header("x-api-key", key);
    let (status, made) = send(request.header("idempotency-key", "1").json(&account)).await;
    assert_eq!(status, 201, "{made}");
    let ana = house.person("ana", "operator").await;
    let path = format!("/admin/accounts/{}", text(&made["cvu"]));
    let act = async |what: &str, body: Value| {
        let request = house.as_person(&ana, "POST", &format!("{path}/{what}"));
        send(request.json(&body)).await
    };
    let (status, body) = act("suspend", json!({})).await;
    assert_eq!((status, &body["code"]), (400, &json!("reason_required")));
    let why = json!({"reason": "oficio 17", "code": "court_order"});
    let (status, body) = act("suspend", why).await;
    assert_eq!(
        (status, &body["status"]),
        (200, &json!("suspended")),
        "{body}"
    );
    let (status, report) = act("verify", json!({})).await;
    assert_eq!((status, &report["ok"]), (200, &json!(true)), "{report}");
    let (status, body) = act("reactivate", json!({"reason": "levantado"})).await;
    assert_eq!((status, &body["status"]), (200, &json!("active")), "{body}");
    let (status, body) = act("reactivate", json!({"reason": "otra vez"})).await;
    assert_eq!(
        (status, &body["code"]),
        (400, &json!("account_not_suspended"))
    );
    let entries = house
        .audit(&format!("subject={}", text(&made["cvu"])))
        .await;
    let said: Vec<_> = entries.iter().map(|it| text(&it["reason"])).collect();
    let why = ["otra vez", "levantado", "", "oficio 17"];
    assert_eq!(said, why.map(|it| [it, it]).concat());
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn permissions_are_checked_when_a_delayed_body_arrives() {
    use std::io::{Read as _, Write as _};
    let house = House::open();
    let tenant = house.tenant().await;
    let path = format!("/admin/tenants/{tenant}");
    let host = house.service.admin_url.trim_start_matches("http://");
    for (name, change) in [("ana", None), ("eva", Some(json!({"role": "viewer"})))] {
        let credential = house.person(name, "operator").await;
        let body = r#"{"name":"Otra"}"#;
        let head = format!(
            "PATCH {path} HTTP/1.1\r\nhost: {host}\r\nx-admin-key: {credential}\r\nx-reason: late\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        let mut line = std::net::TcpStream::connect(host).unwrap();
        line.write_all(head.as_bytes()).unwrap();
        // The head is checked before the body arrives.
        for _ in 0..20 {
            house.get("/admin/clock").await;
        }
        let person = format!("/admin/people/{name}");
        let changed = match change {
            None => house.request(Method::DELETE, &person),
            Some(role) => house.request(Method::PATCH, &person).json(&role),
        };
        let changed = send(changed.header("x-reason", "now")).await;
        assert!(matches!(changed.0, 200 | 204), "{changed:?}");
        line.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        line.read_to_string(&mut answer).unwrap();
        let refused = ["HTTP/1.1 401", "HTTP/1.1 403"];
        assert!(refused.iter().any(|it| answer.starts_with(it)), "{answer}");
    }
    assert_eq!(house.get(&path).await.1["name"], "Una PSP");
    house.service.stop().await.unwrap();
}
