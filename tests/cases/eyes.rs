//! Decisions that take a second person: nothing moves before, and it moves once.

use caudal::service::TEST_ADMIN_KEY;

use super::start;
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
    // The person of the credential decides, whoever else the body could name.
    assert_eq!(done["decision"]["by"], "ana");
    assert_eq!(done["decision"]["reason"], "seen on paper");
    let asked = service
        .says(&ana, "POST", &decide(&large), Some(&credit))
        .await
        .is(202);
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
    assert_eq!(service.a.balance(&open).await["total"], "10.01");
    service
        .says(&eva, "POST", &approve, None)
        .await
        .refused(409, "approval_ended");
    // What was asked for twice is done once; the second time it fails when it is carried out.
    let third = service.parked(&closed, "7.00", 0).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let asked = service
            .says(&ana, "POST", &decide(&third), Some(&credit))
            .await
            .is(202);
        ids.push(asked["id"].clone());
    }
    let mut ends = Vec::new();
    for id in ids {
        let path = format!("/admin/approvals/{id}/approve");
        let voted = service.says(&eva, "POST", &path, None).await.is(200);
        ends.push(voted["state"].clone());
    }
    assert_eq!(ends, ["done", "failed"]);
    assert_eq!(service.a.balance(&open).await["total"], "17.01");
    service.crash().await;
    service.hear().await;
    assert_eq!(service.a.balance(&open).await["total"], "17.01");
    service.verified().await;
}
