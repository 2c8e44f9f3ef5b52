//! The list of cases: by kind, tenant and mode, longest first, in pages.

use super::start;
use crate::support::service::{OTHER, TENANT};
use crate::support::{SOON, Value, json, named, wait_until};

fn ids(page: &Value) -> Vec<Value> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|it| it["id"].clone()).collect()
}

#[actix_web::test]
async fn cases_are_listed_longest_first() {
    let (service, open, closed) = start().await;
    service.a.credit(&open, "100.00").await;
    let first = service.parked(&closed, "1.00", 0).await;
    let to = json!({"alias": "DESTINO.2"});
    let sent = service.a.transfer(&open, to, "10.00").await.is(201).json;
    service.a.settled(&sent, "in_progress").await;
    service
        .bank
        .settle(&sent["originId"], "UNKNOWN_FOREVER")
        .await;
    service.a.settled(&sent, "audit").await;
    let third = service.parked(&closed, "3.00", 0).await;
    // Another tenant has a case of its own.
    let own = service.b.cvu().await;
    service
        .b
        .delete(&format!("/v1/accounts/{own}"))
        .await
        .is(200);
    service.bank.cash_in(&own, "4.00").await;
    let foreign = wait_until("the other tenant's waits", SOON, async || {
        let page = service.cases(&format!("?tenant={OTHER}")).await;
        page["items"].get(0).cloned()
    });
    let foreign = foreign.await;
    assert_eq!(
        (&foreign["tenantId"], &foreign["mode"]),
        (&json!(OTHER), &json!("test"))
    );
    let all = [&first, &sent, &third, &foreign].map(|it| it["id"].clone());
    let page = service.cases("").await;
    assert_eq!(ids(&page), all);
    assert_eq!((&page["total"], &page["offset"]), (&json!(4), &json!(0)));
    for (query, right) in [
        ("?kind=transfer".to_owned(), &all[1..2]),
        (format!("?tenant={TENANT}"), &all[..3]),
        (format!("?kind=suspense&tenant={OTHER}"), &all[3..]),
        ("?mode=live".to_owned(), &all[..0]),
        ("?mode=test&limit=2&offset=1".to_owned(), &all[1..3]),
        ("?limit=1&offset=9".to_owned(), &all[..0]),
    ] {
        assert_eq!(ids(&service.cases(&query).await), right, "{query}");
    }
    for (query, field) in [
        ("?kind=alias", "kind"),
        ("?mode=dead", "mode"),
        ("?limit=0", "limit"),
        ("?limit=201", "limit"),
        ("?cursor=YzE6MQ", "cursor"),
    ] {
        let refused = service.admin_get(&format!("/admin/cases{query}")).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field]);
    }
    let refused = service.admin_get("/admin/cases?tenant=tnt_nobody").await;
    refused.refused(404, "tenant_not_found");
    let calls = service.case(&sent).await["bankCalls"].clone();
    assert!(!calls.as_array().unwrap().is_empty());
    let labels = [TENANT, "test", "transfer"];
    assert_eq!(service.figure("caudal_cases_open", &labels).await, "1");
    let age = service.figure("caudal_cases_oldest_seconds", &labels).await;
    assert!(age.parse::<u64>().is_ok());
    service.verified().await;
}

#[actix_web::test]
async fn nothing_of_it_is_seen_without_the_admin_key() {
    let (service, _, closed) = start().await;
    let case = service.parked(&closed, "1.00", 0).await;
    let path = format!("/admin/cases/{}", case["id"].as_str().unwrap());
    for path in [
        "/admin/cases".to_owned(),
        path.clone(),
        format!("{path}/decide"),
    ] {
        let refused = service.admin_bare(&path).await;
        refused.refused(401, "unauthorized");
        // The public listener does not know the path either.
        service.a.get(&path).await.refused(404, "route_not_found");
    }
}
