//! Realms that an operator closes and opens while the service runs: nobody else notices, and no notice of the bank is
//! lost in the meantime.

use crate::support::service::OTHER;
use crate::support::{SOON, TestService, Value, json, wait_until};

async fn turn(service: &TestService, word: &str) -> Value {
    let path = format!("/admin/tenants/{OTHER}");
    let body = json!({"realms": {"test": word}});
    service
        .admin("PATCH", &path, &body)
        .await
        .is(200)
        .json
        .clone()
}

#[actix_web::test]
async fn a_realm_is_closed_and_opened_while_others_go_on() {
    let mut service = TestService::start().await;
    service.hear().await;
    let (a, b) = (service.a.cvu().await, service.b.cvu().await);
    service.b.in_and_out().await;
    service.a.in_and_out().await;
    service.b.credit(&b, "5.00").await;
    let shown = turn(&service, "closed").await;
    let realms = json!({"live": "open", "test": "closed", "testDaysAhead": 0});
    assert_eq!(shown["realms"], realms);
    let path = format!("/v1/accounts/{b}/balance");
    for again in [false, true] {
        if again {
            service.restart().await;
            service.hear().await;
        }
        let refused = service.b.get(&path).await.refused(503, "realm_closed");
        assert!(!refused.header("retry-after").is_empty());
        service
            .b
            .voucher(&b, "IN", "1.00", "meanwhile")
            .await
            .refused(503, "realm_closed");
        service
            .b
            .get("/wallet/v1/SaldosActuales")
            .await
            .refused(503, "realm_closed");
        service.a.credit(&a, "1.00").await;
        service.admin_get("/admin/actors").await.is(200);
        service.admin_get("/admin/status").await.is(200);
    }
    // the bank reports money, is not heard, and reports it again
    service.bank.cash_in(&b, "2.00").await;
    wait_until("the bank was not heard", SOON, async || {
        let state = service.bank.state().await;
        let mut told = state["notices"]["last"].as_array()?.iter();
        let refused = |notice: &Value| {
            notice["error"]
                .as_str()
                .is_some_and(|it| it.contains("503"))
        };
        told.any(refused).then_some(())
    })
    .await;
    let shown = turn(&service, "open").await;
    assert_eq!(shown["realms"]["test"], "open");
    service.b.credit(&b, "1.00").await;
    wait_until("the money arrives", SOON, async || {
        (service.b.available(&b).await == "8.00").then_some(())
    })
    .await;
    turn(&service, "open").await;
    let wrong = json!({"realms": {"test": "imported"}});
    let path = format!("/admin/tenants/{OTHER}");
    service
        .admin("PATCH", &path, &wrong)
        .await
        .refused(400, "invalid_request");
    service.verified().await;
}
