//! Decisions that need a second person: no money moves before the approval, and it moves once.

use caudal_service::TEST_ADMIN_KEY;

use super::start;
use crate::cli::{caudal, said};
use crate::support::{Answer, TestService, Value, json};

const TENANT_PATH: &str = "/admin/tenants/tnt_first";

impl TestService {
    async fn says(&self, who: &str, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let call = self.admin_client().call(method, path);
        let call = call
            .header("x-admin-key", who)
            .header("x-reason", "seen on paper");
        match body {
            Some(body) => call.json(body).await,
            None => call.await,
        }
    }

    async fn person(&self, name: &str, role: &str) -> String {
        let body = json!({"name": name, "role": role});
        let made = self
            .says(TEST_ADMIN_KEY, "POST", "/admin/people", Some(&body))
            .await;
        made.is(201)["credential"].as_str().unwrap().to_owned()
    }
}

#[actix_web::test]
async fn a_decision_above_the_amount_waits_and_one_below_does_not() {
    let (mut service, open, closed) = start().await;
    let [ana, eva] = [("ana", "operator"), ("eva", "approver")];
    let ana = service.person(ana.0, ana.1).await;
    let eva = service.person(eva.0, eva.1).await;
    let policy = json!({"policy": {"fourEyes": {"decisionsAbove": "5.00"}}});
    service
        .says(TEST_ADMIN_KEY, "PATCH", TENANT_PATH, Some(&policy))
        .await
        .is(200);
    let small = service.parked(&closed, "5.00", 0).await;
    let large = service.parked(&closed, "5.01", 0).await;
    let decide = |case: &Value| format!("/admin/cases/{}/decide", case["id"].as_str().unwrap());
    let credit = json!({"outcome": "credit", "cvu": open});
    let done = service
        .says(&ana, "POST", &decide(&small), Some(&credit))
        .await
        .is(200);
    // The decision is made by the person of the credential, whoever else the body might name.
    assert_eq!(done["decision"]["by"], "ana");
    assert_eq!(done["decision"]["reason"], "seen on paper");
    let asked = service
        .says(&ana, "POST", &decide(&large), Some(&credit))
        .await
        .is(202);
    // The second person sees the whole case, and the account that would be credited.
    let read = format!("/admin/approvals/{}", asked["id"]);
    let read = service.says(&eva, "GET", &read, None).await.is(200);
    assert_eq!(
        [
            &read["case"]["amount"],
            &read["case"]["tenantId"],
            &read["request"]["outcome"]
        ],
        ["5.01", "tnt_first", "credit"]
    );
    assert!(
        read["case"]["suspense"]["counterparty"].is_object(),
        "{}",
        read.text
    );
    let account = service.a.get(&format!("/v1/accounts/{open}")).await;
    let accounts = read["accounts"].as_array().unwrap().iter();
    let credited = accounts.filter(|it| it["cvu"] == open).collect::<Vec<_>>();
    assert_eq!(
        [
            &credited[0]["holderName"],
            &credited[0]["cuit"],
            &credited[0]["available"]
        ],
        [
            &account["holder"]["name"],
            &account["holder"]["cuit"],
            &json!("5.00")
        ]
    );
    assert_eq!(service.case(&large).await["state"], "open");
    assert_eq!(service.a.balance(&open).await["total"], "5.00");
    let approve = format!("/admin/approvals/{}/approve", asked["id"]);
    service
        .says(&ana, "POST", &approve, None)
        .await
        .refused(403, "role_missing");
    let approved = service.says(&eva, "POST", &approve, None).await.is(200);
    assert_eq!(approved["state"], "done", "{}", approved.json);
    let decided = service.case(&large).await;
    assert_eq!(decided["decision"]["by"], "ana + eva");
    assert_eq!(decided["decision"]["approvalReason"], "seen on paper");
    assert_eq!(service.a.balance(&open).await["total"], "10.01");
    service
        .says(&eva, "POST", &approve, None)
        .await
        .refused(409, "approval_ended");
    // A decision that was asked for twice is done once; the second approval fails when it is
    // carried out.
    let third = service.parked(&closed, "7.00", 0).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let asked = service
            .says(&ana, "POST", &decide(&third), Some(&credit))
            .await
            .is(202);
        ids.push(asked["id"].clone());
    }
    let admin = service.admin_client().url;
    for (id, end, expected) in [(&ids[0], "done", 0), (&ids[1], "failed", 1)] {
        let mut command = caudal(&["approvals", "approve", &id.to_string()]);
        let command = command.env("CAUDAL_ADMIN_URL", &admin);
        let command = command.env("CAUDAL_ADMIN_KEY", &eva);
        let command = command.env("CAUDAL_REASON", "seen on paper");
        let (code, out, err) = said(&command.output().unwrap());
        assert_eq!(code, Some(expected), "{out} {err}");
        assert!(out.contains(end) && out.contains("seen on paper"), "{out}");
        // The reason for the failure is in the output and in the error message.
        let told = out.contains("case_decided") && err.contains("could not be carried out");
        assert_eq!(told, end == "failed", "{out} {err}");
    }
    assert_eq!(service.a.balance(&open).await["total"], "17.01");
    service.crash().await;
    service.hear().await;
    assert_eq!(service.a.balance(&open).await["total"], "17.01");
    service.verified().await;
}

/// The reason of the body belongs to the decision, and the header's to the operator's entry in the audit log. With one of
/// them, it is both.
#[actix_web::test]
async fn both_reasons_of_a_decision_are_kept() {
    let (service, open, closed) = start().await;
    let ana = service.person("ana", "operator").await;
    for (header, body, decision, audit) in [
        (Some("ticket 12"), Some("seen"), "seen", "ticket 12"),
        (Some("ticket 13"), None, "ticket 13", "ticket 13"),
        (None, Some("seen"), "seen", "seen"),
    ] {
        let case = service.parked(&closed, "5.00", 0).await;
        let path = format!("/admin/cases/{}/decide", case["id"].as_str().unwrap());
        let mut sent = json!({"outcome": "credit", "cvu": open});
        if let Some(body) = body {
            sent["reason"] = json!(body);
        }
        let call = service.admin_client().call("POST", &path);
        let mut call = call.header("x-admin-key", &ana).json(&sent);
        if let Some(header) = header {
            call = call.header("x-reason", header);
        }
        let decided = call.await.is(200);
        assert_eq!(decided["decision"]["reason"], decision);
        let request = decided.header("x-request-id");
        let log = format!("/admin/audit?requestId={request}");
        let log = service.admin_get(&log).await.is(200);
        let entries = log["items"].as_array().unwrap();
        assert!(!entries.is_empty(), "{request}");
        assert!(
            entries.iter().all(|it| it["reason"] == audit),
            "{}",
            log.text
        );
    }
}

/// Rules that let nobody do more alone take one person; weaker ones take two.
#[actix_web::test]
async fn stricter_rules_take_one_person_and_weaker_ones_two() {
    let (service, ..) = start().await;
    let ana = service.person("ana", "operator").await;
    for (rules, status) in [
        (json!({"decisionsAbove": "5.00"}), 200),
        (json!({"decisionsAbove": "4.00", "limitRaises": true}), 200),
        (json!({"decisionsAbove": "0.00"}), 200),
        (json!({"decisionsAbove": "0.00", "limitRaises": true}), 200),
        (json!({"decisionsAbove": "0.01"}), 202),
        (json!({"decisionsAbove": null}), 202),
        (json!({"limitRaises": false}), 202),
        (json!({"decisionsAbove": "1.00"}), 202),
    ] {
        let policy = json!({"policy": {"fourEyes": rules}});
        let answer = service
            .says(&ana, "PATCH", TENANT_PATH, Some(&policy))
            .await;
        assert_eq!(answer.status, status, "{rules}: {}", answer.text);
    }
}
