//! Transfers in doubt: decided by a person, against the bank's late word, with every outcome.

use super::{by, shows, start, with};
use crate::support::{TestService, Value, json};

/// A transfer that the bank has taken and keeps pending.
async fn pending(service: &TestService, from: &str) -> Value {
    let to = json!({"alias": "DESTINO.2"});
    let sent = service.a.transfer(from, to, "10.00").await.is(201).json;
    service.a.settled(&sent, "in_progress").await
}

/// A transfer that the bank has given up on.
async fn lost(service: &TestService, from: &str) -> Value {
    let sent = pending(service, from).await;
    let origin = sent["originId"].clone();
    service.bank.settle(&origin, "UNKNOWN_FOREVER").await;
    service.a.settled(&sent, "audit").await
}

#[actix_web::test]
async fn a_decision_is_seen_everywhere() {
    let (mut service, cvu, _) = start().await;
    service.a.credit(&cvu, "100.00").await;
    for (outcome, total) in [("completed", "90.00"), ("rejected", "90.00")] {
        let sent = lost(&service, &cvu).await;
        let open = service.cases("?kind=transfer").await;
        assert_eq!(
            (&open["total"], &open["items"][0]["id"]),
            (&json!(1), &sent["id"])
        );
        assert_eq!(open["items"][0]["state"], "open");
        assert!(open["items"][0]["ageSeconds"].is_u64());
        assert_eq!(open["items"][0]["transfer"]["status"], "audit");
        let body = with(by(outcome), "bankReference", "1-30-7-0");
        let decided = service.decide(&sent, &body).await.is(200);
        shows(&decided.json, "Ana Gómez");
        assert_eq!(decided["state"], "decided");
        assert_eq!(decided["decision"]["bankReference"], "1-30-7-0");
        assert_eq!(decided["decision"]["forced"], false);
        // Deciding again moves nothing.
        let again = service.decide(&sent, &body).await;
        again.refused(400, "transfer_not_open");
        let path = format!("/v1/transfers/{}", sent["id"].as_str().unwrap());
        for restart in [false, true] {
            if restart {
                service.crash().await;
                service.hear().await;
            }
            let read = service.a.get(&path).await.is(200);
            assert_eq!(read["status"], outcome);
            shows(&read.json, "Ana Gómez");
            let listed = service.a.get("/v1/transfers?limit=1").await.is(200);
            shows(&listed["items"][0], "Ana Gómez");
            for kind in ["transfer.decided", &format!("transfer.{outcome}")] {
                let answer = service.events_of(kind).await;
                let last = &answer.last().unwrap()["data"];
                assert_eq!(
                    (&last["id"], &last["status"]),
                    (&sent["id"], &json!(outcome))
                );
                shows(last, "Ana Gómez");
            }
            let found = service.today("transferId", &sent["id"]).await;
            let [item] = found.as_slice() else {
                panic!("{found:?}")
            };
            assert_eq!(item["result"], "decided");
            assert_eq!(item["contradicted"], false);
            shows(item, "Ana Gómez");
        }
        assert_eq!(service.a.balance(&cvu).await["total"], total);
        assert_eq!(service.cases("").await["total"], 0);
        service.verified().await;
    }
}

#[actix_web::test]
async fn only_who_insists_decides_before_the_bank_gives_up() {
    let (service, cvu, _) = start().await;
    service.a.credit(&cvu, "100.00").await;
    let sent = pending(&service, &cvu).await;
    // The transfer is not waiting for a decision.
    assert_eq!(service.cases("").await["total"], 0);
    assert_eq!(service.case(&sent).await["state"], "not_waiting");
    let refused = service.decide(&sent, &by("completed")).await;
    refused.refused(400, "transfer_not_in_audit");
    let not = with(by("completed"), "force", false);
    let refused = service.decide(&sent, &not).await;
    refused.refused(400, "transfer_not_in_audit");
    let path = format!("/admin/transfers/{}/decide", sent["id"].as_str().unwrap());
    let refused = service.admin("POST", &path, &by("completed")).await;
    refused.refused(400, "transfer_not_in_audit");
    assert_eq!(service.a.balance(&cvu).await["held"], "10.00");
    let force = with(by("rejected"), "force", true);
    let done = service.admin("POST", &path, &force).await.is(200);
    assert_eq!(done["status"], "rejected");
    assert_eq!(done["decision"]["forced"], true);
    shows(&done.json, "Ana Gómez");
    service.verified().await;
}

#[actix_web::test]
async fn the_banks_late_word_moves_nothing_and_a_contradiction_is_shown() {
    let (service, cvu, _) = start().await;
    service.a.credit(&cvu, "100.00").await;
    let mut contradictions = 0;
    let mut total = 10_000;
    for (outcome, word, contradicted) in [
        ("completed", "COMPLETED", false),
        ("completed", "FAILED", true),
        ("rejected", "FAILED", false),
        ("rejected", "COMPLETED", true),
    ] {
        let sent = lost(&service, &cvu).await;
        service.decide(&sent, &by(outcome)).await.is(200);
        total -= if outcome == "completed" { 1000 } else { 0 };
        let before = service.a.balance(&cvu).await;
        service.bank.settle(&sent["originId"], word).await;
        service.heard().await;
        let mut after = service.a.balance(&cvu).await;
        after["asOf"] = before["asOf"].clone();
        assert_eq!(after, before, "{outcome} {word}");
        let right = format!("{}.{:02}", total / 100, total % 100);
        assert_eq!(after["total"], right);
        let found = service.today("transferId", &sent["id"]).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["result"], "decided", "{found:?}");
        assert_eq!(found[0]["contradicted"], contradicted, "{found:?}");
        contradictions += u64::from(contradicted);
        let day = service.a.get("/v1/bank/conciliacion").await.is(200);
        assert_eq!(day["summary"]["contradicted"], contradictions);
    }
    service.verified().await;
}

#[actix_web::test]
async fn pending_movements_are_in_no_sum() {
    let (service, cvu, _) = start().await;
    service.a.credit(&cvu, "100.00").await;
    let sent = pending(&service, &cvu).await;
    let found = service.today("transferId", &sent["id"]).await;
    assert_eq!(found[0]["result"], "pending");
    let day = service.a.get("/v1/bank/conciliacion").await.is(200);
    let right = json!({"matched": 0, "missingInLedger": 0, "missingAtBank": 0,
        "amountDiffers": 0, "pending": 1, "decided": 0, "suspense": 0, "collector": 0, "contradicted": 0,
        "amountIn": "0.00", "amountOut": "0.00"});
    assert_eq!(day["summary"], right);
    service.bank.settle(&sent["originId"], "COMPLETED").await;
    service.a.settled(&sent, "completed").await;
    let found = service.today("transferId", &sent["id"]).await;
    assert_eq!(found[0]["result"], "matched");
}

#[actix_web::test]
async fn what_makes_no_decision_is_refused() {
    let (service, cvu, _) = start().await;
    service.a.credit(&cvu, "100.00").await;
    let sent = lost(&service, &cvu).await;
    let mut nameless = by("completed");
    nameless.as_object_mut().unwrap().remove("by");
    let mut groundless = by("completed");
    groundless.as_object_mut().unwrap().remove("reason");
    let referred = with(groundless.clone(), "bankReference", "x");
    for (body, field) in [
        (nameless, "by"),
        (groundless, "reason"),
        (referred, "reason"),
        (with(by("completed"), "by", " "), "by"),
        (with(by("completed"), "reason", ""), "reason"),
        (with(by("completed"), "reason", "x".repeat(501)), "reason"),
        (with(by("completed"), "force", "yes"), "force"),
        (with(by("completed"), "cvu", cvu.clone()), "cvu"),
        (by("credit"), "outcome"),
        (by("lost"), "outcome"),
        (json!({"by": "x", "reason": "y"}), "outcome"),
    ] {
        let refused = service.decide(&sent, &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(crate::support::named(&refused.json), [field], "{body}");
    }
    for id in ["trf_0", "sus_0", "x"] {
        let nobody = json!({"id": id});
        let refused = service.decide(&nobody, &by("completed")).await;
        refused.refused(404, "case_not_found");
    }
    // A well-formed id that leads nowhere.
    let text = sent["id"].as_str().unwrap();
    let suspense = json!({"id": text.replace("trf_", "sus_")});
    let refused = service.decide(&suspense, &by("return")).await;
    refused.refused(404, "case_not_found");
    assert_eq!(service.case(&sent).await["state"], "open");
    service.verified().await;
}

#[actix_web::test]
async fn one_of_many_concurrent_decisions_succeeds() {
    let (service, cvu, _) = start().await;
    service.a.credit(&cvu, "100.00").await;
    let sent = lost(&service, &cvu).await;
    let bodies: Vec<_> = (0..8)
        .map(|n| {
            let outcome = if n % 2 == 0 { "completed" } else { "rejected" };
            with(by(outcome), "by", format!("P{n}"))
        })
        .collect();
    let all = bodies.iter().map(|body| service.decide(&sent, body));
    let answers = futures_util::future::join_all(all).await;
    let done: Vec<_> = answers.iter().filter(|it| it.status == 200).collect();
    assert_eq!(done.len(), 1);
    let who = done[0]["decision"]["by"].clone();
    assert_eq!(service.case(&sent).await["decision"]["by"], who);
    assert_eq!(service.events_of("transfer.decided").await.len(), 1);
    assert_eq!(service.a.balance(&cvu).await["held"], "0.00");
    service.verified().await;
}
