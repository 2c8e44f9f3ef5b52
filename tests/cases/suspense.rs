//! Money in suspense: credited to an account of its realm, once.

use super::{by, shows, start, unknown_like, with};
use crate::support::{TestService, Value, json};

async fn credited(service: &TestService, case: &Value, cvu: &str) -> Value {
    let body = with(by("credit"), "cvu", cvu);
    service.decide(case, &body).await.is(200).json
}

#[actix_web::test]
async fn it_is_credited_once_and_seen_everywhere() {
    let (mut service, open, closed) = start().await;
    let mut arrived = 0;
    for cvu in [closed.clone(), unknown_like(&open)] {
        let case = service.parked(&cvu, "777.00", 0).await;
        assert_eq!(
            (&case["state"], &case["cvu"]),
            (&json!("open"), &json!(cvu))
        );
        assert_eq!(service.incoming().await, "777.00");
        let count = service.figure("caudal_cases_open", &["tnt_first", "test", "suspense"]);
        assert_eq!(count.await, "1");
        let sum = service.figure("caudal_suspense_pesos", &["tnt_first", "test"]);
        assert_eq!(sum.await, "777.00");
        let rail = case["suspense"]["coelsaId"].clone();
        let found = service.today("coelsaId", &rail).await;
        assert_eq!(found[0]["result"], "suspense");
        assert_eq!(found[0]["suspense"]["state"], "waiting");
        let done = credited(&service, &case, &open).await;
        arrived += 1;
        shows(&done, "Ana Gómez");
        assert_eq!(done["state"], "decided");
        let voucher = done["suspense"]["voucherId"].as_str().unwrap().to_owned();
        // Neither another decision nor the same notice moves anything.
        let again = with(by("credit"), "cvu", open.clone());
        for body in [again, by("return")] {
            let refused = service.decide(&case, &body).await;
            refused.refused(409, "case_decided");
        }
        let twice = service.bank.again(&cvu, "777.00", &rail).await;
        assert_eq!(twice, rail);
        service.heard().await;
        for restart in [false, true] {
            if restart {
                service.crash().await;
                service.hear().await;
            }
            assert_eq!(service.incoming().await, "0.00");
            let total = format!("{}.00", 777 * arrived);
            assert_eq!(service.a.available(&open).await, total);
            let path = format!("/v1/comprobantes/{voucher}");
            let read = service.a.get(&path).await.is(200);
            assert_eq!((&read["cvu"], &read["referenceId"]), (&json!(open), &rail));
            assert_eq!(read["referenceType"], "cash_in");
            assert_eq!(read["voucherTypeCode"], "TRANSFER_IN");
            let answer = service.events_of("suspense.resolved").await;
            assert_eq!(answer.len(), arrived);
            let last = &answer[arrived - 1]["data"];
            shows(last, "Ana Gómez");
            assert_eq!(last["outcome"], "credited");
            assert_eq!(
                (&last["creditedCvu"], &last["cvu"]),
                (&json!(open), &json!(cvu))
            );
            assert_eq!(
                (&last["voucherId"], &last["id"]),
                (&json!(voucher), &case["id"])
            );
            let found = service.today("coelsaId", &rail).await;
            let [item] = found.as_slice() else {
                panic!("{found:?}")
            };
            assert_eq!(item["result"], "decided");
            assert_eq!(item["suspense"]["state"], "credited");
            assert_eq!(item["voucher"]["id"], voucher);
            shows(item, "Ana Gómez");
            let day = service.a.get("/v1/bank/conciliacion").await.is(200);
            assert_eq!(
                day["summary"]["missingAtBank"],
                0,
                "{day:?}",
                day = day.json
            );
        }
        assert_eq!(service.cases("").await["total"], 0);
        service.verified().await;
    }
    // The rows of cases are rebuilt from the journal.
    service.end(true).await;
    service.lose_index();
    service.begin().await;
    assert_eq!(service.events_of("suspense.resolved").await.len(), 2);
    service.verified().await;
}

#[actix_web::test]
async fn an_account_that_cannot_take_it_leaves_it_where_it_is() {
    let (service, _, closed) = start().await;
    let case = service.parked(&closed, "5.00", 0).await;
    service.b.in_and_out().await;
    let foreign = service.b.cvu().await;
    let nobody = unknown_like(&closed);
    for (cvu, status, code) in [
        (closed.clone(), 400, "account_closed"),
        (foreign.clone(), 404, "account_not_found"),
        (nobody, 404, "account_not_found"),
    ] {
        let body = with(by("credit"), "cvu", cvu);
        let refused = service.decide(&case, &body).await;
        refused.refused(status, code);
    }
    assert_eq!(service.b.available(&foreign).await, "0.00");
    for (body, field) in [
        (by("credit"), "cvu"),
        (by("completed"), "outcome"),
        (with(by("return"), "cvu", closed.clone()), "cvu"),
        (with(by("return"), "force", true), "force"),
    ] {
        let refused = service.decide(&case, &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(crate::support::named(&refused.json), [field]);
    }
    assert_eq!(service.case(&case).await["state"], "open");
    assert_eq!(service.incoming().await, "5.00");
    service.verified().await;
}

#[actix_web::test]
async fn one_of_many_concurrent_credits_succeeds() {
    let (service, open, closed) = start().await;
    let other = service.a.cvu().await;
    let case = service.parked(&closed, "5.00", 0).await;
    let bodies: Vec<_> = (0..12)
        .map(|n| match n % 3 {
            0 => with(by("credit"), "cvu", open.clone()),
            1 => with(by("credit"), "cvu", other.clone()),
            _ => by("return"),
        })
        .collect();
    let all = bodies.iter().map(|body| service.decide(&case, body));
    let answers = futures_util::future::join_all(all).await;
    let done = answers.iter().filter(|it| it.status == 200);
    assert_eq!(done.count(), 1);
    for refused in answers.iter().filter(|it| it.status != 200) {
        assert_eq!(refused.status, 409, "{}", refused.text);
    }
    let done = service.becomes(&case, "decided").await;
    let mut sum = 0;
    for cvu in [&open, &other] {
        sum += u64::from(service.a.available(cvu).await == "5.00");
    }
    let returned = done["suspense"]["outcome"] == "returned";
    assert_eq!(sum, u64::from(!returned), "{done}");
    assert_eq!(service.events_of("suspense.resolved").await.len(), 1);
    assert_eq!(service.incoming().await, "0.00");
    service.verified().await;
}
