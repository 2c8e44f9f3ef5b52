//! Limits: outgoing money in a day, in a month and in one movement, and the largest balance.

use crate::support::{Answer, TestClock, TestService, Value, json};

/// A service at noon on the second of March, and an account with 1000.
async fn funded() -> (TestService, String, std::sync::Arc<TestClock>) {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "1000.00").await;
    (service, cvu, clock)
}

async fn limit(service: &TestService, cvu: &str, limits: Value) {
    let path = format!("/v1/accounts/{cvu}/limits");
    service.a.patch(&path, &limits).await.is(200);
}

async fn usage(service: &TestService, cvu: &str) -> Value {
    let path = format!("/v1/accounts/{cvu}/limits");
    service.a.get(&path).await.is(200)["usage"].clone()
}

/// Makes a movement of this kind, each of which takes money out.
async fn out(service: &TestService, cvu: &str, kind: &str, amount: &str) -> Answer {
    let id = format!("{kind}-{}", crate::support::client::fresh());
    match kind {
        "debit" => service.a.voucher(cvu, "OUT", amount, &id).await,
        "hold" => {
            let body = json!({"amount": amount, "idExterno": id});
            service
                .a
                .post(&format!("/v1/accounts/{cvu}/holds"), &body)
                .await
        }
        "bank" => {
            let to = json!({"alias": "DESTINO.2"});
            service.a.transfer(cvu, to, amount).await
        }
        _ => {
            let to = service.a.cvu().await;
            service.a.transfer(cvu, json!({"cvu": to}), amount).await
        }
    }
}

const KINDS: [&str; 4] = ["debit", "hold", "internal", "bank"];

#[actix_web::test]
async fn a_refusal_says_how_far_the_limit_is_and_when_it_ends() {
    let (service, cvu, _) = funded().await;
    let day = "2026-03-03T03:00:00.000Z";
    let month = "2026-04-01T03:00:00.000Z";
    for (limits, right) in [
        (
            json!({"maxPerTransaction": "10"}),
            json!({"limit": "maxPerTransaction", "level": "account", "window": "transaction",
                "maximum": "10.00", "used": "0.00", "requested": "10.01", "remaining": "10.00",
                "resetsAt": null}),
        ),
        (
            json!({"maxPerTransaction": null, "dailyAmount": "10"}),
            json!({"limit": "dailyAmount", "level": "account", "window": "day",
                "maximum": "10.00", "used": "0.00", "requested": "10.01", "remaining": "10.00",
                "resetsAt": day}),
        ),
        (
            json!({"dailyAmount": null, "dailyCount": 0}),
            json!({"limit": "dailyCount", "level": "account", "window": "day", "maximum": 0,
                "used": 0, "requested": 1, "remaining": 0, "resetsAt": day}),
        ),
        (
            json!({"dailyCount": null, "monthlyAmount": "10"}),
            json!({"limit": "monthlyAmount", "level": "account", "window": "month",
                "maximum": "10.00", "used": "0.00", "requested": "10.01", "remaining": "10.00",
                "resetsAt": month}),
        ),
        (
            json!({"monthlyAmount": null, "monthlyCount": 0}),
            json!({"limit": "monthlyCount", "level": "account", "window": "month", "maximum": 0,
                "used": 0, "requested": 1, "remaining": 0, "resetsAt": month}),
        ),
    ] {
        limit(&service, &cvu, limits).await;
        for kind in KINDS {
            let refused = out(&service, &cvu, kind, "10.01").await;
            let refused = refused.refused(400, "limit_exceeded");
            assert_eq!(refused["details"], right, "{kind}");
        }
    }
    assert_eq!(service.a.available(&cvu).await, "1000.00");
}

#[actix_web::test]
async fn all_that_goes_out_counts_and_what_returns_is_given_back() {
    let (service, cvu, clock) = funded().await;
    limit(
        &service,
        &cvu,
        json!({"dailyAmount": "40", "dailyCount": 4}),
    )
    .await;
    for kind in KINDS {
        out(&service, &cvu, kind, "10.00").await.is(201);
    }
    let used = json!({"dailyAmount": "40.00", "dailyCount": 4, "monthlyAmount": "40.00", "monthlyCount": 4});
    assert_eq!(usage(&service, &cvu).await, used);
    for kind in KINDS {
        let refused = out(&service, &cvu, kind, "0.01").await;
        let refused = refused.refused(400, "limit_exceeded");
        assert_eq!(refused["details"]["limit"], "dailyAmount");
        assert_eq!(refused["details"]["remaining"], "0.00");
    }
    // A released hold does not count as a movement; a confirmed one does.
    let holds = service
        .a
        .get(&format!("/v1/accounts/{cvu}/holds?status=open"))
        .await
        .is(200);
    let hold = holds.json[0].clone();
    service.a.step(&hold, "confirm", "4.00").await.is(200);
    assert_eq!(usage(&service, &cvu).await["dailyAmount"], "40.00");
    service.a.step(&hold, "release", "6.00").await.is(200);
    let now = usage(&service, &cvu).await;
    assert_eq!(
        (&now["dailyAmount"], &now["dailyCount"]),
        (&json!("34.00"), &json!(4))
    );
    // The next day begins at midnight in Buenos Aires.
    clock.set("2026-03-03T02:59:59.999Z");
    let refused = out(&service, &cvu, "debit", "6.01").await;
    refused.refused(400, "limit_exceeded");
    clock.set("2026-03-03T03:00:00Z");
    out(&service, &cvu, "debit", "40.00").await.is(201);
    assert_eq!(usage(&service, &cvu).await["monthlyAmount"], "74.00");
}

#[actix_web::test]
async fn limits_are_inherited_from_the_psp() {
    let (service, cvu, _) = funded().await;
    service
        .tenant(&json!({"limits": {"dailyAmount": "5"}}))
        .await;
    let refused = out(&service, &cvu, "debit", "5.01").await;
    let refused = refused.refused(400, "limit_exceeded");
    assert_eq!(refused["details"]["level"], "psp");
    limit(&service, &cvu, json!({"dailyAmount": "6"})).await;
    out(&service, &cvu, "debit", "5.01").await.is(201);
    limit(&service, &cvu, json!({"dailyAmount": null})).await;
    let refused = out(&service, &cvu, "debit", "0.01").await;
    let refused = refused.refused(400, "limit_exceeded");
    assert_eq!(refused["details"]["used"], "5.01");
}

#[actix_web::test]
async fn the_largest_balance_stops_credits_of_the_tenant_and_no_money_from_the_bank() {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let (cvu, from) = (service.a.cvu().await, service.a.cvu().await);
    service.a.credit(&from, "100.00").await;
    limit(&service, &cvu, json!({"maxBalance": "10"})).await;
    service.a.credit(&cvu, "9.00").await;
    let credit = service.a.voucher(&cvu, "IN", "1.01", "over").await;
    let credit = credit.refused(400, "limit_exceeded");
    let details = json!({"limit": "maxBalance", "level": "account", "window": "balance",
        "maximum": "10.00", "used": "9.00", "requested": "1.01", "remaining": "1.00",
        "resetsAt": null});
    assert_eq!(credit["details"], details);
    let internal = service.a.transfer(&from, json!({"cvu": cvu}), "1.01").await;
    internal.refused(400, "limit_exceeded");
    service
        .a
        .transfer(&from, json!({"cvu": cvu}), "1.00")
        .await
        .is(201);
    service.bank.cash_in(&cvu, "50.00").await;
    crate::support::wait_until("the money arrives", crate::support::SOON, async || {
        (service.a.available(&cvu).await == "60.00").then_some(())
    })
    .await;
}

#[actix_web::test]
async fn a_tenant_has_limits_over_the_sum_of_its_accounts() {
    let (mut service, first, clock) = funded().await;
    let second = service.a.cvu().await;
    service.a.credit(&second, "1000.00").await;
    let limits = json!({"limits": {
        "dailyOutgoingTotal": "100", "monthlyOutgoingTotal": "5000.50", "perMinuteCount": 7
    }});
    service.tenant(&limits).await;
    // Transfers inside the tenant do not count.
    out(&service, &first, "internal", "500.00").await.is(201);
    out(&service, &first, "debit", "40.00").await.is(201);
    out(&service, &second, "hold", "30.00").await.is(201);
    service.restart().await;
    for kind in ["debit", "hold", "bank"] {
        for cvu in [&first, &second] {
            let refused = out(&service, cvu, kind, "30.01").await.is(400).clone();
            assert_eq!(refused["code"], "limit_exceeded", "{kind}");
            assert_eq!(
                refused["details"],
                json!({"limit": "dailyOutgoingTotal", "level": "psp", "window": "day",
                    "maximum": "100.00", "used": "70.00", "requested": "30.01",
                    "remaining": "30.00", "resetsAt": "2026-03-03T03:00:00.000Z"}),
                "{kind}"
            );
        }
    }
    out(&service, &second, "bank", "30.00").await.is(201);
    let refused = out(&service, &first, "debit", "0.01").await.is(400).clone();
    assert_eq!(refused["details"]["remaining"], "0.00");
    // The other tenant, and this one's live accounts, have sums of their own.
    service.b.in_and_out().await;
    let other = service.b.cvu().await;
    service.b.credit(&other, "200.00").await;
    let id = format!("other-{}", crate::support::client::fresh());
    service
        .b
        .voucher(&other, "OUT", "200.00", &id)
        .await
        .is(201);
    clock.set("2026-03-03T15:00:00Z");
    service
        .tenant(&json!({"limits": {"perMinuteCount": 1, "dailyOutgoingTotal": null}}))
        .await;
    out(&service, &first, "debit", "300.00").await.is(201);
    let refused = out(&service, &second, "debit", "1.00")
        .await
        .is(400)
        .clone();
    assert_eq!(
        refused["details"],
        json!({"limit": "perMinuteCount", "level": "psp", "window": "minute", "maximum": 1,
            "used": 1, "requested": 1, "remaining": 0, "resetsAt": "2026-03-03T15:01:00.000Z"})
    );
    // These are no limits of accounts, nor of the platform.
    let path = format!("/v1/accounts/{first}/limits");
    let change = json!({"perMinuteCount": 1});
    service.a.patch(&path, &change).await.is(400);
    let platform = json!({"limits": {"dailyOutgoingTotal": "1"}});
    service
        .admin("PATCH", "/admin/platform", &platform)
        .await
        .is(400);
    service.verified().await;
}

#[actix_web::test]
async fn limits_of_a_type_hold_for_postings_at_once_for_batches_and_after_a_restart() {
    let (mut service, cvu, _) = funded().await;
    let limits = json!({"limits": {"dailyAmount": "100.00"}});
    let path = "/v1/voucher-types/OUT";
    service.a.patch(path, &limits).await.is(200);
    let calls: Vec<_> = (0..32)
        .map(|n| {
            service
                .a
                .voucher(&cvu, "OUT", "7.00", &format!("at-once-{n}"))
        })
        .collect();
    let calls = calls.into_iter().map(|call| async { call.await.status });
    let statuses = futures_util::future::join_all(calls).await;
    let posted = statuses.iter().filter(|status| **status == 201).count();
    assert_eq!(posted, 14, "14 times 7.00 are within 100.00: {statuses:?}");
    let item =
        |id: &str| json!({"cvu": cvu, "voucherTypeCode": "OUT", "amount": "1.00", "idExterno": id});
    let items = ["b-1", "b-2", "b-3"].map(item);
    let batch = json!({"items": items});
    let done = service.a.post("/v1/comprobantes/batch", &batch).await;
    let done = done.is(200)["results"].clone();
    let codes = [0, 1, 2].map(|n: usize| done[n]["error"]["code"].clone());
    assert_eq!(codes, [json!(null), json!(null), json!("limit_exceeded")]);
    service.restart().await;
    let refused = service.a.voucher(&cvu, "OUT", "0.01", "after").await;
    let refused = refused.refused(400, "limit_exceeded");
    assert_eq!(refused["details"]["used"], "100.00");
    service.verified().await;
}
