//! Acts from the console: with a reason, by people with the right role, and recorded in both their
//! beginning and their end.

use super::browser::{Browser, credential, order};
use crate::support::{TestService, Value, canary, json};

/// The audit entries of an action, newest first.
pub async fn entries(service: &TestService, action: &str) -> Vec<Value> {
    let path = format!("/admin/audit?action={action}");
    let page = service.admin_get(&path).await.is(200);
    page["items"].as_array().unwrap().clone()
}

/// A browser in which a person with a role is logged in.
pub async fn person(service: &TestService, name: &str, role: &str) -> Browser {
    let credential = credential(service, name, role).await;
    let mut browser = Browser::new(service);
    let fields = [("key", credential.as_str())];
    browser.send("/console/login", &fields).await.is(303);
    browser
}

#[actix_web::test]
async fn an_account_is_suspended_and_goes_on_with_a_reason() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let (page, read) = (
        format!("/console/accounts/{cvu}"),
        format!("/v1/accounts/{cvu}"),
    );
    let mut browser = Browser::entered(&service).await;
    let suspend = format!("{page}/act?what=suspend");
    browser
        .act(&page, &suspend, &[("code", "fraud")])
        .await
        .is(400);
    browser
        .act(&page, &suspend, &[("reason", "why"), ("code", "x")])
        .await
        .is(400);
    assert_eq!(service.a.get(&read).await["status"], "active");
    let fields = [("code", "fraud"), ("reason", "pedido <b>judicial</b>")];
    let done = browser.act(&page, &suspend, &fields).await.is(303);
    assert_eq!(done.header("location"), format!("{page}?done=1"));
    let account = service.a.get(&read).await;
    assert_eq!(account["suspension"]["code"], "fraud");
    assert_eq!(account["suspension"]["reason"], "pedido <b>judicial</b>");
    let shown = browser.get(&page).await.is(200).text;
    assert!(shown.contains("pedido &#60;b&#62;judicial"), "{shown}");
    let written = entries(&service, "suspendAccountByOperator").await;
    let ends: Vec<_> = written
        .iter()
        .map(|it| it["outcome"].as_str().unwrap())
        .collect();
    // The act with a wrong code was begun and failed; the one without a reason was not begun.
    assert_eq!(ends, ["done", "begun", "failed", "begun"]);
    assert_eq!(written[0]["subject"], cvu);
    assert_eq!(written[0]["reason"], "pedido <b>judicial</b>");

    let reactivate = format!("{page}/act?what=reactivate");
    browser
        .act(&page, &reactivate, &[("reason", "resuelto")])
        .await
        .is(303);
    assert_eq!(service.a.get(&read).await["status"], "active");
    let away = format!("{page}/act?what=passivate");
    browser
        .act(&page, &away, &[("reason", "a look")])
        .await
        .is(303);
    browser
        .act(
            &page,
            &format!("{page}/act?what=close"),
            &[("reason", "no")],
        )
        .await
        .is(404);
    browser
        .act(&page, "/console/accounts/x/act?what=suspend", &fields)
        .await
        .is(404);
}

/// A service with a transfer of 10.00 that the bank has lost: its CVU and its id.
async fn in_doubt() -> (TestService, String, String) {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    let to = json!({"alias": "DESTINO.2"});
    let sent = service.a.transfer(&cvu, to, "10.00").await.is(201).json;
    let sent = service.a.settled(&sent, "in_progress").await;
    let origin = &sent["originId"];
    service.bank.settle(origin, "UNKNOWN_FOREVER").await;
    service.a.settled(&sent, "audit").await;
    let id = sent["id"].as_str().unwrap().to_owned();
    (service, cvu, id)
}

#[actix_web::test]
async fn what_takes_two_waits_for_the_second_and_is_done_once() {
    let (service, cvu, id) = in_doubt().await;
    let policy = json!({"policy": {"fourEyes": {"decisionsAbove": "5.00"}}});
    order(&service, "PATCH", "/admin/tenants/tnt_first", &policy)
        .await
        .is(200);
    let mut operator = person(&service, "olga", "operator").await;
    let mut approver = person(&service, "eva", "approver").await;
    let (page, read) = (
        format!("/console/cases/{id}"),
        format!("/v1/transfers/{id}"),
    );
    let fields = [("outcome", "rejected"), ("reason", "no salió")];
    let asked = operator.act(&page, &page, &fields).await.is(303);
    assert_eq!(asked.header("location"), "/console/approvals");
    assert_eq!(service.a.get(&read).await["status"], "audit");
    let listed = operator.get("/console/approvals").await.is(200).text;
    assert!(
        listed.contains("/console/approvals/1") && listed.contains("olga"),
        "{listed}"
    );
    let approval = "/console/approvals/1";
    // Both see the whole case: amount, holder, account, tenant and what is decided; the form is for the second.
    let account = service.a.get(&format!("/v1/accounts/{cvu}")).await;
    let holder = account["holder"]["name"].as_str().unwrap();
    let own = operator.get(approval).await.is(200).text;
    let shown = approver.get(approval).await.is(200).text;
    for page in [&own, &shown] {
        for text in [
            "10,00",
            "90,00",
            holder,
            "no salió",
            "Rechazada: el dinero vuelve a la cuenta",
            &format!("href=\"/console/accounts/{cvu}\""),
            &format!("href=\"/console/cases/{id}\""),
            "href=\"/console/tenants/tnt_first\"",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
    }
    assert!(shown.contains("name=\"outcome\""), "{shown}");
    assert!(!own.contains("name=\"outcome\""), "{own}");
    let approve = [("outcome", "approve"), ("reason", "visto")];
    operator.act(approval, approval, &approve).await.is(403);
    approver
        .act(approval, approval, &[("reason", "visto")])
        .await
        .is(400);
    let token = approver.token(approval).await;
    let approve = [approve[0], approve[1], ("token", token.as_str())];
    approver.send(approval, &approve).await.is(303);
    let decided = service.a.get(&read).await;
    assert_eq!(
        (&decided["status"], &decided["decision"]["by"]),
        (&json!("rejected"), &json!("olga + eva"))
    );
    assert_eq!(service.a.available(&cvu).await, "100.00");
    // Both reasons stay with the decision: in the case, in the approval and in the audit log.
    let decision = &decided["decision"];
    assert_eq!(
        (&decision["reason"], &decision["approvalReason"]),
        (&json!("no salió"), &json!("visto"))
    );
    for shown in [page.as_str(), approval] {
        let shown = operator.get(shown).await.is(200).text;
        assert!(
            shown.contains("no salió") && shown.contains("visto"),
            "{shown}"
        );
    }
    let entry = entries(&service, "decideCase").await.remove(0);
    assert_eq!(
        [&entry["outcome"], &entry["operator"], &entry["reason"]],
        ["done", "olga", "no salió"]
    );
    assert_eq!(
        [&entry["approvedBy"], &entry["approvalReason"]],
        ["eva", "visto"]
    );
    approver.send(approval, &approve).await.is(409);
    approver.get("/console/approvals/2").await.is(404);
}

#[actix_web::test]
async fn an_approver_sees_what_would_change_and_a_new_key_once() {
    let service = TestService::start().await;
    let tenant = "/admin/tenants/tnt_first";
    let policy = json!({"policy": {"fourEyes": {"limitRaises": true}}});
    order(&service, "PATCH", tenant, &policy).await.is(200);
    let mut approver = person(&service, "eva", "approver").await;
    let relation = json!({"bank": {"test": {"pspCode": 77}}});
    order(&service, "PATCH", tenant, &relation).await.is(202);
    let shown = approver.get("/console/approvals/1").await.is(200).text;
    assert!(
        shown.contains("bank.test.pspCode") && shown.contains("77"),
        "{shown}"
    );
    let issue = json!({"mode": "live", "label": "caja"});
    order(&service, "POST", &format!("{tenant}/keys"), &issue)
        .await
        .is(202);
    let page = "/console/approvals/2";
    let approve = [("outcome", "approve"), ("reason", "visto")];
    let approved = approver.act(page, page, &approve).await.is(200).text;
    let key = approved.split_once("cdl_live_").expect("a key").1;
    let key = key.split(|it: char| !it.is_ascii_alphanumeric() && !"_-".contains(it));
    let key = format!("cdl_live_{}", key.into_iter().next().unwrap());
    canary::learn(&key);
    service
        .a
        .with_key(Some(&key))
        .get("/v1/accounts")
        .await
        .is(200);
    for path in [page, "/console/approvals", "/console/tenants/tnt_first"] {
        let later = approver.get(path).await.is(200).text;
        assert!(!later.contains(&key), "{later}");
    }
}

#[actix_web::test]
async fn a_transfer_in_doubt_is_decided_once() {
    let (service, cvu, id) = in_doubt().await;
    let page = format!("/console/cases/{id}");
    let mut browser = Browser::entered(&service).await;
    let token = browser.token(&page).await;
    let sane = [
        ("token", token.as_str()),
        ("outcome", "rejected"),
        ("by", "Ana Gómez"),
        ("reason", "no salió"),
        ("bankReference", "1-30"),
    ];
    for missing in ["outcome", "by", "reason"] {
        let fields: Vec<_> = sane
            .into_iter()
            .filter(|(name, _)| *name != missing)
            .collect();
        browser.send(&page, &fields).await.is(400);
    }
    browser.send(&page, &sane).await.is(303);
    let read = service.a.get(&format!("/v1/transfers/{id}")).await;
    assert_eq!(
        (&read["status"], &read["decision"]["by"]),
        (&json!("rejected"), &json!("Ana Gómez"))
    );
    assert_eq!(service.a.available(&cvu).await, "100.00");
    let again = browser.send(&page, &sane).await.is(400);
    assert!(again.text.contains("transfer_not_open"), "{}", again.text);
    let shown = browser.get(&page).await.is(200).text;
    assert!(
        shown.contains("Ana Gómez") && !shown.contains("name=\"outcome\""),
        "{shown}"
    );
}

#[actix_web::test]
async fn roles_hold_at_the_console_as_at_the_api() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let page = format!("/console/accounts/{cvu}");
    let suspend = format!("{page}/act?what=suspend");
    let fields = [("code", "fraud"), ("reason", "why")];
    let mut viewer = person(&service, "vera", "viewer").await;
    let refused = viewer.act(&page, &suspend, &fields).await.is(403);
    assert!(refused.text.contains("role_missing"), "{}", refused.text);
    viewer.get("/console/audit").await.is(403);
    let denied = entries(&service, "suspendAccountByOperator").await;
    assert_eq!((denied.len(), &denied[0]["outcome"]), (1, &json!("denied")));
    let mut auditor = person(&service, "aldo", "auditor").await;
    let log = auditor
        .get("/console/audit?action=suspendAccountByOperator")
        .await
        .is(200)
        .text;
    assert!(log.contains("vera") && log.contains(&cvu), "{log}");
    let mut operator = person(&service, "olga", "operator").await;
    operator.act(&page, &suspend, &fields).await.is(303);
    assert_eq!(
        service.a.get(&format!("/v1/accounts/{cvu}")).await["status"],
        "suspended"
    );
    // The log also shows who looked at an account, and that somebody logged in.
    let looks = entries(&service, "openPage").await;
    assert!(
        looks
            .iter()
            .any(|it| it["operator"] == "vera" && it["subject"] == page),
        "{looks:?}"
    );
    assert_eq!(entries(&service, "logIn").await.len(), 3);
}
