//! Batches of vouchers: each item with its own result, or all or nothing.

use crate::support::client::fresh;
use crate::support::{Answer, TestService, Value, json, named};

const PATH: &str = "/v1/comprobantes/batch";

async fn start() -> (TestService, String) {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    (service, cvu)
}

/// An item of a batch.
pub fn item(cvu: &str, code: &str, amount: &str, id: &str) -> Value {
    json!({"cvu": cvu, "voucherTypeCode": code, "amount": amount, "idExterno": id})
}

async fn post(service: &TestService, mode: &str, items: &[Value]) -> Answer {
    service
        .a
        .post(PATH, &json!({"mode": mode, "items": items}))
        .await
}

fn states(results: &Value) -> Vec<&str> {
    let rows = results.as_array().unwrap().iter();
    rows.map(|row| row["status"].as_str().unwrap()).collect()
}

#[actix_web::test]
async fn each_item_has_its_own_result_in_the_order_sent() {
    let (service, cvu) = start().await;
    let theirs = service.b.cvu().await;
    let items = [
        item(&cvu, "IN", "10.00", "b-1"),
        item(&cvu, "OUT", "4.00", "b-1"),
        item(&cvu, "OUT", "100.00", "b-2"),
        item(&cvu, "IN", "0", "b-3"),
        item(&theirs, "IN", "1.00", "b-4"),
        item(&cvu, "IN", "10.00", "b-1"),
        item(&cvu, "IN", "11.00", "b-1"),
        json!("x"),
        json!({"cvu": cvu, "voucherTypeCode": "IN", "amount": "1", "idExterno": "b-5", "x": 1}),
        item(&cvu, "NO_SUCH", "1.00", "b-6"),
    ];
    let done = post(&service, "independent", &items).await.is(200);
    let results = &done["results"];
    let right = [
        "recorded", "recorded", "rejected", "rejected", "rejected", "replayed", "rejected",
        "rejected", "rejected", "rejected",
    ];
    assert_eq!(states(results), right);
    let codes: Vec<_> = [2, 3, 4, 6, 7, 8, 9]
        .map(|at| results[at]["error"]["code"].clone())
        .into();
    let right = [
        "insufficient_funds",
        "invalid_request",
        "account_not_found",
        "id_externo_reused",
        "invalid_request",
        "invalid_request",
        "voucher_type_unknown",
    ];
    assert_eq!(codes, right);
    assert_eq!(named(&results[3]["error"]), ["amount"]);
    assert_eq!(named(&results[8]["error"]), ["x"]);
    assert_eq!(results[2]["error"]["details"]["available"], "6.00");
    assert_eq!(results[5]["voucher"], results[0]["voucher"]);
    assert_eq!(
        done["summary"],
        json!({"recorded": 2, "replayed": 1, "rejected": 7, "notPosted": 0})
    );
    let first = results[0]["voucher"]["id"].as_str().unwrap();
    let read = service
        .a
        .get(&format!("/v1/comprobantes/{first}"))
        .await
        .is(200);
    assert_eq!(read.json, results[0]["voucher"]);
    assert_eq!(service.a.available(&cvu).await, "6.00");
    // Repeating the batch posts nothing more.
    let again = post(&service, "independent", &items).await.is(200);
    assert_eq!(
        again["summary"],
        json!({"recorded": 0, "replayed": 3, "rejected": 7, "notPosted": 0})
    );
    assert_eq!(service.a.available(&cvu).await, "6.00");
    // Without a mode the batch is independent.
    let body = json!({"items": [item(&cvu, "OUT", "7.00", "b-7")]});
    let alone = service.a.post(PATH, &body).await.is(200);
    assert_eq!(states(&alone["results"]), ["rejected"]);
    service.verified().await;
}

#[actix_web::test]
async fn an_atomic_batch_is_posted_whole_or_not_at_all() {
    let (mut service, cvu) = start().await;
    let other = service.a.cvu().await;
    service.a.credit(&cvu, "10.00").await;
    let good = [
        item(&cvu, "OUT", "4.00", "a-1"),
        item(&other, "IN", "4.00", "a-1"),
        item(&other, "OUT", "1.00", "a-2"),
    ];
    let mut bad = good.to_vec();
    bad.push(item(&cvu, "OUT", "6.01", "a-3"));
    let refused = post(&service, "atomic", &bad).await;
    let refused = refused.refused(400, "batch_rejected");
    let results = &refused["details"]["results"];
    assert_eq!(results[3]["error"]["code"], "insufficient_funds");
    let refusals = ["not_posted", "not_posted", "not_posted", "rejected"];
    assert_eq!(states(results), refusals);
    let summary = json!({"recorded": 0, "replayed": 0, "rejected": 1, "notPosted": 3});
    assert_eq!(refused["details"]["summary"], summary);
    assert_eq!(results.as_array().unwrap().len(), 4);
    let mut malformed = good.to_vec();
    malformed.insert(1, json!({"cvu": cvu}));
    let refused = post(&service, "atomic", &malformed).await;
    let refused = refused.refused(400, "batch_rejected");
    let results = &refused["details"]["results"];
    assert_eq!(results[1]["error"]["code"], "invalid_request");
    let refusals = ["not_posted", "rejected", "not_posted", "not_posted"];
    assert_eq!(states(results), refusals);
    assert_eq!(refused["details"]["summary"], summary);
    assert_eq!(service.a.available(&cvu).await, "10.00");
    assert_eq!(service.a.balance(&other).await["sequence"], 0);
    let done = post(&service, "atomic", &good).await.is(200);
    assert_eq!(states(&done["results"]), ["recorded"; 3]);
    service.crash().await;
    assert_eq!(service.a.available(&cvu).await, "6.00");
    assert_eq!(service.a.available(&other).await, "3.00");
    let again = post(&service, "atomic", &good).await.is(200);
    assert_eq!(states(&again["results"]), ["replayed"; 3]);
    service.verified().await;
}

#[actix_web::test]
async fn a_batch_has_its_limits() {
    let (service, cvu) = start().await;
    let small = |n: usize| json!({"cvu": cvu, "voucherTypeCode": "IN", "amount": 1, "idExterno": format!("{n:x}")});
    let items: Vec<_> = (0..10_000).map(small).collect();
    let done = post(&service, "independent", &items).await.is(200);
    assert_eq!(done["summary"]["recorded"], 10_000);
    assert_eq!(service.a.available(&cvu).await, "10000.00");
    let many = vec![json!(1); 10_001];
    for items in [&[][..], &many] {
        let refused = post(&service, "independent", items).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["items"]);
    }
    for (body, fields) in [
        (json!({}), vec!["items"]),
        (json!({"mode": "both", "items": [1]}), vec!["mode"]),
        (json!({"items": [1], "dryRun": true}), vec!["dryRun"]),
    ] {
        let refused = service.a.post(PATH, &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), fields);
    }
    let padded = |bytes: usize| format!("{{\"items\":[1]{}}}", " ".repeat(bytes - 13));
    let largest = service.a.call("POST", PATH).text(padded(1024 * 1024)).await;
    assert_eq!(states(&largest.is(200)["results"]), ["rejected"]);
    let larger = service
        .a
        .call("POST", PATH)
        .text(padded(1024 * 1024 + 1))
        .await;
    larger.refused(413, "body_too_large");
    service.a.get(PATH).await.refused(405, "method_not_allowed");
}

#[actix_web::test]
async fn a_key_keeps_the_answer_of_a_batch() {
    let (service, cvu) = start().await;
    let body =
        json!({"items": [item(&cvu, "IN", "1.00", "k-1"), item(&cvu, "OUT", "9.00", "k-2")]});
    let first = service.a.post(PATH, &body).key("batch").await.is(200);
    assert!(!first.replayed());
    assert_eq!(states(&first["results"]), ["recorded", "rejected"]);
    let again = service.a.post(PATH, &body).key("batch").await.is(200);
    assert!(again.replayed());
    assert_eq!(again.text, first.text);
    let other = json!({"items": [item(&cvu, "IN", "2.00", "k-3")]});
    let refused = service.a.post(PATH, &other).key("batch").await;
    let refused = refused.refused(409, "idempotency_key_reused");
    assert_eq!(named(&refused.json), ["items"]);
    // The refusal of an atomic batch is kept under its key as well.
    let bad = json!({"mode": "atomic", "items": [item(&cvu, "OUT", "9.00", "k-4")]});
    let first = service.a.post(PATH, &bad).key("bad").await;
    let first = first.refused(400, "batch_rejected");
    service.a.credit(&cvu, "100.00").await;
    let again = service.a.post(PATH, &bad).key("bad").await;
    assert_eq!(
        (again.status, again.replayed(), &again.text),
        (400, true, &first.text)
    );
}

/// However far the first item is when the second one is examined.
#[actix_web::test]
async fn one_external_id_twice_in_a_batch_is_never_in_flight() {
    let (service, one) = start().await;
    let two = service.a.cvu().await;
    let between = |id: &str, many: usize| -> Vec<Value> {
        let filling = (0..many).map(|n| item(&one, "IN", "1.00", &format!("{id}-{n}")));
        let last = item(&two, "IN", "2.00", id);
        let first = std::iter::once(item(&one, "IN", "1.00", id));
        first.chain(filling).chain(std::iter::once(last)).collect()
    };
    for (id, many) in [("near", 0), ("far", 200)] {
        let items = between(id, many);
        for mode in ["independent", "atomic"] {
            let body = json!({"mode": mode, "items": items});
            let rehearsed = service.a.post(&format!("{PATH}?dryRun=true"), &body).await;
            let sent = service
                .a
                .post(PATH, &body)
                .key(&format!("{id}-{mode}"))
                .await;
            for answer in [&rehearsed, &sent] {
                let last = match mode {
                    "atomic" => answer["details"]["results"][many + 1].clone(),
                    _ => answer["results"][many + 1].clone(),
                };
                assert_eq!(last["index"], many + 1, "{last}");
                assert_eq!(last["error"]["code"], "id_externo_reused", "{last}");
                assert_eq!(named(&last["error"]), ["cvu", "amount"]);
            }
            // The refusal is final: the key keeps it.
            let again = service
                .a
                .post(PATH, &body)
                .key(&format!("{id}-{mode}"))
                .await;
            assert!(again.replayed(), "{mode}");
            assert_eq!(again.text, sent.text);
        }
    }
    // An id whose first item was refused is free for others afterwards.
    let items = [
        item(&one, "OUT", "9000.00", "poor"),
        item(&two, "OUT", "1.00", "poor"),
    ];
    let done = post(&service, "independent", &items).await.is(200);
    let code = |place: usize| done["results"][place]["error"]["code"].clone();
    assert_eq!(
        (code(0), code(1)),
        (json!("insufficient_funds"), json!("id_externo_reused"))
    );
    service.a.credit(&two, "1.00").await;
    service.a.voucher(&two, "OUT", "1.00", "poor").await.is(201);
    assert_eq!(service.a.available(&two).await, "0.00");
    service.verified().await;
}

#[actix_web::test]
async fn batches_at_once_over_the_same_accounts_lose_nothing() {
    let (mut service, first) = start().await;
    let second = service.a.cvu().await;
    service.a.credit(&first, "1000.00").await;
    service.a.credit(&second, "1000.00").await;
    let calls = (0..20).map(|n| {
        let (from, to) = if n % 2 == 0 {
            (&first, &second)
        } else {
            (&second, &first)
        };
        let id = format!("many-{}", fresh());
        let items = [item(from, "OUT", "3.00", &id), item(to, "IN", "3.00", &id)];
        let body = json!({"mode": "atomic", "items": items});
        service.a.post(PATH, &body).into_future()
    });
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(states(&answer.is(200)["results"]), ["recorded"; 2]);
    }
    service.crash().await;
    assert_eq!(service.a.available(&first).await, "1000.00");
    assert_eq!(service.a.available(&second).await, "1000.00");
    assert_eq!(service.verified().await, 42);
}
