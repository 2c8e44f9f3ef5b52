//! Changes: the entry of each has the fields with their values before and after, and, where a second person approved it,
//! the reasons of both.

use super::{entries, person};
use crate::cli::{caudal, said};
use crate::console::browser::order;
use crate::support::{TestService, Value, json};

const TENANT: &str = "/admin/tenants/tnt_first";

/// The newest entry of an action, which is done.
async fn done(service: &TestService, action: &str) -> Value {
    let newest = entries(service, &format!("action={action}"))
        .await
        .remove(0);
    assert_eq!(newest["outcome"], "done", "{newest}");
    newest
}

fn change(field: &str, before: Value, after: Value) -> Value {
    json!({"field": field, "before": before, "after": after})
}

#[actix_web::test]
async fn every_change_has_both_values_in_the_audit_log() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let account = |what: &str| format!("/admin/accounts/{cvu}/{what}");
    let fee = |fixed: &str| json!({"feeSchedule": [{"voucherTypeCode": "OUT", "fixed": fixed, "charge": true}]});
    let person = json!({"name": "eva", "role": "viewer"});
    order(&service, "POST", "/admin/people", &person)
        .await
        .is(201);
    let null = Value::Null;
    for (method, path, body, action, expected) in [
        (
            "PATCH",
            TENANT.to_owned(),
            json!({"limits": {"dailyAmount": "500.00", "perMinuteCount": 9}}),
            "changeTenant",
            vec![
                change("limits.dailyAmount", null.clone(), json!("500.00")),
                change("limits.perMinuteCount", null.clone(), json!("9")),
            ],
        ),
        (
            "PATCH",
            TENANT.to_owned(),
            json!({"name": "Otro"}),
            "changeTenant",
            vec![change("name", json!("Tenant tnt_first"), json!("Otro"))],
        ),
        (
            "PATCH",
            TENANT.to_owned(),
            fee("1.00"),
            "changeTenant",
            vec![change("feeSchedule.OUT.fixed", null.clone(), json!("1.00"))],
        ),
        (
            "PATCH",
            TENANT.to_owned(),
            fee("2.00"),
            "changeTenant",
            vec![change(
                "feeSchedule.OUT.fixed",
                json!("1.00"),
                json!("2.00"),
            )],
        ),
        (
            "PATCH",
            "/admin/platform".to_owned(),
            json!({"limits": {"monthlyCount": 7}}),
            "changePlatform",
            vec![change("limits.monthlyCount", null.clone(), json!("7"))],
        ),
        (
            "PUT",
            account("fee-schedule"),
            fee("3.00"),
            "setFeeSchedule",
            vec![change("feeSchedule.OUT.fixed", null.clone(), json!("3.00"))],
        ),
        (
            "POST",
            account("suspend"),
            json!({"code": "fraud", "reason": "paper"}),
            "suspendAccountByOperator",
            vec![
                change("status", json!("active"), json!("suspended")),
                change("suspension.code", null.clone(), json!("fraud")),
            ],
        ),
        (
            "POST",
            account("reactivate"),
            json!({}),
            "reactivateAccountByOperator",
            vec![change("status", json!("suspended"), json!("active"))],
        ),
        (
            "PATCH",
            "/admin/people/eva".to_owned(),
            json!({"role": "operator"}),
            "changePerson",
            vec![change("role", json!("viewer"), json!("operator"))],
        ),
        (
            "PATCH",
            TENANT.to_owned(),
            json!({"policy": {"fourEyes": {"limitRaises": true}}}),
            "changeTenant",
            vec![change(
                "policy.fourEyes.limitRaises",
                json!("false"),
                json!("true"),
            )],
        ),
    ] {
        order(&service, method, &path, &body).await.is(200);
        let entry = done(&service, action).await;
        let changes = entry["changes"].as_array().unwrap();
        for one in &expected {
            assert!(changes.contains(one), "{body}: {entry}");
        }
        assert_eq!(entry["reason"], "a test");
    }
    let (_, mut browser) = super::person(&service, "luz", "approver").await;
    let page = format!("/console/accounts/{cvu}");
    let fields = [("code", "fraud"), ("reason", "visto")];
    browser
        .act(&page, &format!("{page}/act?what=suspend"), &fields)
        .await
        .is(303);
    let entry = done(&service, "suspendAccountByOperator").await;
    let suspended = change("status", json!("active"), json!("suspended"));
    assert!(
        entry["changes"].as_array().unwrap().contains(&suspended),
        "{entry}"
    );
    let run = caudal(&["audit", "--action", "changeTenant"])
        .env("CAUDAL_ADMIN_URL", service.admin_client().url)
        .env("CAUDAL_ADMIN_KEY", caudal_service::TEST_ADMIN_KEY)
        .output();
    let (code, out, err) = said(&run.unwrap());
    assert!(
        code == Some(0) && out.contains("limits.dailyAmount: - → 500.00"),
        "{out} {err}"
    );
    let mut root = crate::console::browser::Browser::entered(&service).await;
    let log = root
        .get("/console/audit?action=changeTenant")
        .await
        .is(200)
        .text;
    assert!(log.contains("limits.dailyAmount: – → 500.00"), "{log}");
}

#[actix_web::test]
async fn a_change_that_waits_shows_what_would_change_and_keeps_both_reasons() {
    let service = TestService::start().await;
    let rules =
        json!({"limits": {"dailyAmount": "500.00"}, "policy": {"fourEyes": {"limitRaises": true}}});
    order(&service, "PATCH", TENANT, &rules).await.is(200);
    let (olga, mut requester) = person(&service, "olga", "operator").await;
    let (eva, mut approver) = person(&service, "eva", "approver").await;
    let says = async |who: &str, why: &str, method: &str, path: &str, body: Value| {
        let call = service.admin_client().call(method, path);
        let call = call.header("x-admin-key", who).header("x-reason", why);
        call.json(&body).await
    };
    let raise = json!({"limits": {"dailyAmount": "900.00"}});
    let asked = says(&olga, "campaign", "PATCH", TENANT, raise)
        .await
        .is(202);
    let raised = json!([change(
        "limits.dailyAmount",
        json!("500.00"),
        json!("900.00")
    )]);
    assert_eq!(asked["changes"], raised);
    let waits = entries(&service, "action=changeTenant").await.remove(0);
    assert_eq!(
        (&waits["outcome"], &waits["changes"]),
        (&json!("asked"), &raised)
    );
    // What it would change follows what is in force by now.
    let lower = json!({"limits": {"dailyAmount": "400.00"}});
    says(&olga, "less", "PATCH", TENANT, lower).await.is(200);
    let path = "/admin/approvals/1";
    let read = says(&eva, "", "GET", path, json!({})).await.is(200);
    assert_eq!(read["changes"][0]["before"], "400.00");
    let page = "/console/approvals/1";
    let shown = approver.get(page).await.is(200).text;
    for text in [
        "limits.dailyAmount",
        "400.00",
        "900.00",
        "campaign",
        "/console/tenants/tnt_first",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(
        shown.contains("name=\"outcome\"") && shown.contains("value=\"approve\""),
        "{shown}"
    );
    // Whoever asked for it sees it and cannot decide.
    let own = requester.get(page).await.is(200).text;
    assert!(
        own.contains("900.00") && !own.contains("name=\"outcome\""),
        "{own}"
    );
    let approved = says(
        &eva,
        "seen",
        "POST",
        "/admin/approvals/1/approve",
        json!({}),
    )
    .await;
    let approved = approved.is(200);
    assert_eq!(
        (
            &approved["state"],
            &approved["reason"],
            &approved["decisionReason"]
        ),
        (&json!("done"), &json!("campaign"), &json!("seen"))
    );
    assert_eq!(approved["changes"], raised);
    let entry = done(&service, "changeTenant").await;
    let now = change("limits.dailyAmount", json!("400.00"), json!("900.00"));
    assert_eq!(entry["changes"], json!([now]));
    assert_eq!(
        [
            &entry["operator"],
            &entry["reason"],
            &entry["approvedBy"],
            &entry["approvalReason"]
        ],
        ["olga", "campaign", "eva", "seen"]
    );
    assert_eq!(entry["approval"], 1);
    // Without the power to approve there is no form, and neither is there one when it is decided.
    let decided = approver.get(page).await.is(200).text;
    assert!(
        decided.contains("seen") && !decided.contains("name=\"outcome\""),
        "{decided}"
    );
    service.verified().await;
}
