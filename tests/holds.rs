//! Holds: money set apart, then confirmed or released in parts until nothing of it is left.

use crate::support::{Call, Client, SOON, TestClock, TestService, Value, json, named, wait_until};

fn id(hold: &Value) -> &str {
    hold["id"].as_str().unwrap()
}

/// A service with an account that has this amount.
async fn funded(amount: &str) -> (TestService, String) {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, amount).await;
    (service, cvu)
}

fn pair(available: &str, held: &str) -> (String, String) {
    (available.to_owned(), held.to_owned())
}

#[actix_web::test]
async fn a_hold_is_confirmed_and_released_in_parts() {
    let (mut service, cvu) = funded("100.00").await;
    let hold = service.a.hold(&cvu, "60.00").await;
    let right = [
        ("cvu", json!(cvu)),
        ("amount", json!("60.00")),
        ("confirmed", json!("0.00")),
        ("released", json!("0.00")),
        ("remaining", json!("60.00")),
        ("status", json!("open")),
        ("expiresAt", Value::Null),
    ];
    for (name, value) in right {
        assert_eq!(hold[name], value, "{name}");
    }
    assert_eq!(hold.as_object().unwrap().len(), 12, "{hold}");
    assert!(id(&hold).starts_with("hld_"));
    assert_eq!(service.a.funds(&cvu).await, pair("40.00", "60.00"));
    let step = service.a.step(&hold, "confirm", "10.00").await.is(200);
    assert_eq!(
        (&step["confirmed"], &step["remaining"]),
        (&json!("10.00"), &json!("50.00"))
    );
    assert_eq!(service.a.funds(&cvu).await, pair("40.00", "50.00"));
    let step = service.a.step(&hold, "release", "20.00").await.is(200);
    assert_eq!(
        (&step["released"], &step["status"]),
        (&json!("20.00"), &json!("open"))
    );
    assert_eq!(service.a.funds(&cvu).await, pair("60.00", "30.00"));
    service.crash().await;
    // Without a body, the whole rest is confirmed.
    let path = format!("/v1/holds/{}/confirm", id(&hold));
    let done = service.a.call("POST", &path).await.is(200);
    assert_eq!(
        (&done["confirmed"], &done["remaining"]),
        (&json!("40.00"), &json!("0.00"))
    );
    assert_eq!(done["status"], "confirmed");
    assert_eq!(service.a.funds(&cvu).await, pair("60.00", "0.00"));
    let read = service.a.get(&format!("/v1/holds/{}", id(&hold))).await;
    let mut done = done.json;
    // Only the answer to a step has its voucher and the balance after it.
    let fields = done.as_object_mut().unwrap();
    let (balance, voucher) = (fields.remove("balance"), fields.remove("voucherId"));
    assert_eq!(balance.unwrap()["total"], "60.00");
    let voucher = voucher.unwrap();
    let voucher = service
        .a
        .get(&format!("/v1/comprobantes/{}", voucher.as_str().unwrap()));
    assert_eq!(voucher.await.is(200)["ledgerType"], "confirm_hold");
    assert_eq!(read.is(200).json, done);
    for step in ["confirm", "release"] {
        let late = service.a.step(&hold, step, "0.01").await;
        let late = late.refused(400, "hold_not_open");
        let last = service
            .a
            .get(&format!("/v1/accounts/{cvu}/movements?limit=1"));
        let ended = last.await.json[0]["createdAt"].clone();
        let right = json!({"holdId": hold["id"], "status": "confirmed", "endedAt": ended});
        assert_eq!(late["details"], right, "{step}");
        let said = late["message"].as_str().unwrap();
        let how = format!("it was confirmed at {}", ended.as_str().unwrap());
        assert!(said.contains(id(&hold)) && said.contains(&how), "{said}");
    }
    let path = format!("/v1/accounts/{cvu}/movements?order=asc&referenceType=hold");
    let movements = service.a.get(&path).await.is(200).json;
    let answer: Vec<_> = movements.as_array().unwrap().iter().collect();
    let kinds: Vec<_> = answer
        .iter()
        .map(|it| it["ledgerType"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["hold", "confirm_hold", "release", "confirm_hold"]);
    assert!(
        answer.iter().all(|it| it["referenceId"] == hold["id"]),
        "{movements}"
    );
    service.verified().await;
}

#[actix_web::test]
async fn how_a_hold_ended_is_told() {
    let (service, cvu) = funded("100.00").await;
    for (step, status) in [("confirm", "confirmed"), ("release", "released")] {
        let hold = service.a.hold(&cvu, "1.00").await;
        let path = format!("/v1/holds/{}/{step}", id(&hold));
        let ended = service.a.post(&path, &json!({})).await.is(200);
        assert_eq!(
            (&ended["status"], &ended["remaining"]),
            (&json!(status), &json!("0.00"))
        );
    }
    assert_eq!(service.a.funds(&cvu).await, pair("99.00", "0.00"));
}

#[actix_web::test]
async fn a_hold_is_opened_once_by_its_external_id() {
    let (service, cvu) = funded("100.00").await;
    let path = format!("/v1/accounts/{cvu}/holds");
    let body = json!({"amount": "5.00", "idExterno": "h-1", "description": "a table for two"});
    let first = service.a.post(&path, &body).await.is(201);
    assert!(!first.replayed());
    let again = service.a.post(&path, &body).await.is(201);
    assert!(again.replayed());
    assert_eq!(again.json, first.json);
    // A repeated order does not change the expiry or the description.
    for (name, value) in [
        ("expiresAt", json!("2099-01-01T00:00:00Z")),
        ("description", json!("another table")),
    ] {
        let mut other = body.clone();
        other[name] = value;
        let again = service.a.post(&path, &other).await.is(201);
        assert!(again.replayed());
        assert_eq!(again.json, first.json);
    }
    let mut other = body.clone();
    other["amount"] = json!("5.01");
    let refused = service.a.post(&path, &other).await;
    let refused = refused.refused(409, "id_externo_reused");
    assert_eq!(named(&refused.json), ["amount"]);
    // A credit and a hold may have the same external id.
    let credit = service.a.voucher(&cvu, "IN", "1.00", "h-1").await.is(201);
    assert!(!credit.replayed());
    assert_eq!(service.a.funds(&cvu).await, pair("96.00", "5.00"));
    // Under an idempotency key the answer is repeated, and the step is taken once.
    let step = format!("/v1/holds/{}/confirm", id(&first.json));
    let one = json!({"amount": "1.00"});
    let taken = service.a.post(&step, &one).key("step-1").await.is(200);
    let again = service.a.post(&step, &one).key("step-1").await.is(200);
    assert!(again.replayed());
    assert_eq!(again.json, taken.json);
    assert_eq!(service.a.funds(&cvu).await, pair("96.00", "4.00"));
}

#[actix_web::test]
async fn dry_runs_of_holds_change_nothing() {
    let (service, cvu) = funded("10.00").await;
    let path = format!("/v1/accounts/{cvu}/holds?dryRun=true");
    let body = json!({"amount": "4.00", "idExterno": "dry"});
    let dry = service.a.post(&path, &body).await.is(200);
    assert_eq!(
        (&dry["remaining"], &dry["status"]),
        (&json!("4.00"), &json!("open"))
    );
    let much = json!({"amount": "10.01", "idExterno": "dry"});
    let refused = service.a.post(&path, &much).await;
    refused.refused(400, "insufficient_funds");
    assert_eq!(service.a.funds(&cvu).await, pair("10.00", "0.00"));
    let hold = service.a.hold(&cvu, "4.00").await;
    for (step, field) in [("confirm", "confirmed"), ("release", "released")] {
        let path = format!("/v1/holds/{}/{step}?dryRun=true", id(&hold));
        let dry = service
            .a
            .post(&path, &json!({"amount": "3.00"}))
            .await
            .is(200);
        assert_eq!(
            (&dry[field], &dry["remaining"]),
            (&json!("3.00"), &json!("1.00"))
        );
    }
    assert_eq!(service.a.funds(&cvu).await, pair("6.00", "4.00"));
}

#[actix_web::test]
async fn what_a_hold_cannot_do_is_refused_with_its_reason() {
    let (service, cvu) = funded("10.00").await;
    let path = format!("/v1/accounts/{cvu}/holds");
    for (body, fields) in [
        (json!({}), vec!["amount", "idExterno"]),
        (json!({"amount": "0", "idExterno": "x"}), vec!["amount"]),
        (
            json!({"amount": "1", "idExterno": "x", "expiresAt": "mañana"}),
            vec!["expiresAt"],
        ),
        (
            json!({"amount": "1", "idExterno": "x", "cvu": cvu}),
            vec!["cvu"],
        ),
    ] {
        let refused = service.a.post(&path, &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), fields);
    }
    let past = json!({"amount": "1", "idExterno": "x", "expiresAt": "2020-01-01T00:00:00Z"});
    let refused = service.a.post(&path, &past).await;
    refused.refused(400, "expiry_in_the_past");
    let much = json!({"amount": "10.01", "idExterno": "x"});
    let refused = service.a.post(&path, &much).await;
    let refused = refused.refused(400, "insufficient_funds");
    let details = json!({"available": "10.00", "requested": "10.01"});
    assert_eq!(refused["details"], details);
    let hold = service.a.hold(&cvu, "3.00").await;
    for step in ["confirm", "release"] {
        let refused = service.a.step(&hold, step, "3.01").await;
        let refused = refused.refused(400, "hold_remaining");
        let details = json!({"remaining": "3.00", "requested": "3.01"});
        assert_eq!(refused["details"], details);
        let zero = service.a.step(&hold, step, "0").await;
        zero.refused(400, "invalid_request");
    }
    // The id of a voucher or a transfer is not found as a hold.
    for prefix in ["cmp_", "trf_", "HLD_", ""] {
        let path = format!("/v1/holds/{}", id(&hold).replace("hld_", prefix));
        service.a.get(&path).await.refused(404, "hold_not_found");
    }
    assert_eq!(service.a.funds(&cvu).await, pair("7.00", "3.00"));
}

#[actix_web::test]
async fn a_hold_whose_time_has_come_releases_itself() {
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let mut service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "10.00").await;
    let path = format!("/v1/accounts/{cvu}/holds");
    let body =
        |id: &str| json!({"amount": "4.00", "idExterno": id, "expiresAt": "2026-03-02T13:00:00Z"});
    let whole = service.a.post(&path, &body("whole")).await.is(201).json;
    assert_eq!(whole["expiresAt"], "2026-03-02T13:00:00.000Z");
    let part = service.a.post(&path, &body("part")).await.is(201).json;
    service.a.step(&part, "confirm", "1.00").await.is(200);
    clock.set("2026-03-02T12:59:59.999Z");
    assert_eq!(service.a.funds(&cvu).await, pair("2.00", "7.00"));
    service.restart().await;
    clock.set("2026-03-02T13:00:00Z");
    wait_until("both are released", SOON, async || {
        (service.a.funds(&cvu).await == pair("9.00", "0.00")).then_some(())
    })
    .await;
    for (hold, status) in [(&whole, "expired"), (&part, "confirmed")] {
        let read = service
            .a
            .get(&format!("/v1/holds/{}", id(hold)))
            .await
            .is(200);
        assert_eq!(
            (&read["status"], &read["remaining"]),
            (&json!(status), &json!("0.00"))
        );
        let late = service.a.step(hold, "confirm", "1.00").await;
        let late = late.refused(400, "hold_not_open");
        assert_eq!(late["details"]["status"], status);
        assert_eq!(late["details"]["endedAt"], "2026-03-02T13:00:00.000Z");
    }
    service.verified().await;
}

#[actix_web::test]
async fn holds_are_listed_by_state_and_page() {
    let (service, cvu) = funded("100.00").await;
    let mut all = Vec::new();
    for n in 0..7 {
        let hold = service.a.hold(&cvu, "1.00").await;
        if n % 2 == 0 {
            service.a.step(&hold, "release", "1.00").await.is(200);
        }
        all.insert(0, hold["id"].clone());
    }
    let path = format!("/v1/accounts/{cvu}/holds");
    let ids = |list: &Value| -> Vec<Value> {
        let items = list.as_array().unwrap().iter();
        items.map(|item| item["id"].clone()).collect()
    };
    let listed = service.a.get(&path).await.is(200);
    assert_eq!(
        (listed.header("x-total-count"), ids(&listed.json)),
        ("7", all.clone())
    );
    assert_eq!(listed.header("x-next-cursor"), "");
    for (status, count) in [
        ("open", 3),
        ("released", 4),
        ("confirmed", 0),
        ("expired", 0),
    ] {
        let some = service
            .a
            .get(&format!("{path}?status={status}"))
            .await
            .is(200);
        assert_eq!(some.header("x-total-count"), count.to_string());
        let items = some.json.as_array().unwrap();
        assert!(items.iter().all(|item| item["status"] == status));
    }
    // Read by cursor, every hold comes once.
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = format!("{path}?limit=3&cursor={cursor}");
        let page = service.a.get(&page).await.is(200);
        seen.extend(ids(&page.json));
        cursor = page.header("x-next-cursor").to_owned();
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(seen, all);
    let refused = service.a.get(&format!("{path}?status=shut&limit=0")).await;
    let refused = refused.refused(400, "invalid_request");
    assert_eq!(named(&refused.json), ["status", "limit"]);
    // Another account shows none of them.
    let other = service.a.cvu().await;
    let none = service.a.get(&format!("/v1/accounts/{other}/holds")).await;
    assert_eq!(none.is(200).text, "[]");
}

/// Changes a hold.
fn change(client: &Client, hold: &Value, body: &Value) -> Call {
    client.patch(&format!("/v1/holds/{}", id(hold)), body)
}

#[actix_web::test]
async fn a_hold_is_raised_lowered_extended_and_captured_above_as_a_card_needs_it() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let mut service = TestService::at(&clock).await;
    let a = service.a.clone();
    a.in_and_out().await;
    let cvu = a.cvu().await;
    a.credit(&cvu, "200.00").await;
    let meal = json!({"code": "MEAL", "name": "Meal", "sense": "debit", "captureTolerance": 20});
    assert_eq!(
        a.post("/v1/voucher-types", &meal).await.is(201)["captureTolerance"],
        20
    );
    let path = format!("/v1/accounts/{cvu}/holds");
    let order = json!({"amount": "100", "idExterno": "auth-1", "voucherTypeCode": "MEAL",
        "expiresAt": "2026-03-02T16:00:00Z"});
    let hold = a.post(&path, &order).await.is(201).json;
    let balance = |available: &str, held: &str, total: &str| json!({"available": available, "held": held, "total": total});
    assert_eq!(hold["balance"], balance("100.00", "100.00", "200.00"));
    assert_eq!(hold["captureTolerance"], 20);
    // A tip, then less, then more time; each has the balance after it.
    let dry = format!("/v1/holds/{}?dryRun=true", id(&hold));
    a.patch(&dry, &json!({"amount": "150"})).await.is(200);
    for (body, amount, after) in [
        (json!({"amount": "115.50"}), "115.50", ["84.50", "115.50"]),
        (json!({"amount": "90"}), "90.00", ["110.00", "90.00"]),
        (
            json!({"expiresAt": "2026-03-02T18:00:00Z"}),
            "90.00",
            ["110.00", "90.00"],
        ),
        (json!({"amount": "90"}), "90.00", ["110.00", "90.00"]),
    ] {
        let changed = change(&a, &hold, &body).await.is(200);
        assert_eq!(changed["amount"], amount, "{body}");
        assert_eq!(changed["balance"], balance(after[0], after[1], "200.00"));
    }
    // The last one had nothing to do; the extension is a release and a hold of what is left.
    let kinds = a
        .get(&format!("/v1/accounts/{cvu}/movements?order=asc"))
        .await
        .is(200)
        .json;
    let kinds: Vec<_> = kinds
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["ledgerType"])
        .collect();
    assert_eq!(
        kinds,
        ["credit", "hold", "hold", "release", "release", "hold"]
    );
    let events = a.get("/v1/events?types=hold.*&limit=50").await.is(200);
    let events = events["items"].as_array().unwrap();
    let kinds: Vec<_> = events.iter().map(|it| &it["type"]).collect();
    assert_eq!(
        kinds,
        [
            "hold.created",
            "hold.updated",
            "hold.updated",
            "hold.updated"
        ]
    );
    assert_eq!(events[3]["data"]["expiresAt"], "2026-03-02T18:00:00.000Z");
    for (body, status, code) in [
        (json!({"amount": "200.01"}), 400, "insufficient_funds"),
        (
            json!({"expiresAt": "2026-03-02T14:00:00Z"}),
            400,
            "expiry_in_the_past",
        ),
        (json!({}), 400, "invalid_request"),
        (json!({"amount": "0"}), 400, "invalid_request"),
    ] {
        change(&a, &hold, &body).await.refused(status, code);
    }
    change(&service.b, &hold, &json!({"amount": "1"}))
        .await
        .refused(404, "hold_not_found");
    service.crash().await;
    let a = service.a.clone();
    // It outlives its first end, and its last one is not yet.
    clock.set("2026-03-02T17:00:00Z");
    let part = service.a.step(&hold, "confirm", "30").await.is(200);
    assert_eq!(part["balance"], balance("110.00", "60.00", "170.00"));
    // 20 % of 90.00 more than the 60.00 that are left.
    a.step(&hold, "confirm", "78.01")
        .await
        .refused(400, "hold_remaining");
    let done = a.step(&hold, "confirm", "78").await.is(200);
    assert_eq!(
        (&done["amount"], &done["confirmed"], &done["status"]),
        (&json!("108.00"), &json!("108.00"), &json!("confirmed"))
    );
    assert_eq!(done["balance"], balance("92.00", "0.00", "92.00"));
    change(&a, &hold, &json!({"amount": "1"}))
        .await
        .refused(400, "hold_not_open");
    let verified = service.admin("POST", "/admin/verify", &json!({})).await;
    assert_eq!(verified.is(200)["ok"], true);
}

#[actix_web::test]
async fn concurrent_changes_and_steps_of_one_hold_end_in_one_consistent_sum() {
    let (service, cvu) = funded("1000.00").await;
    let a = &service.a;
    let hold = a.hold(&cvu, "500.00").await;
    let calls = (1..=64).map(|n| match n % 4 {
        0 => change(a, &hold, &json!({"amount": format!("{}", 500 + n)})),
        1 => a.step(&hold, "confirm", "7"),
        2 => a.step(&hold, "release", "3"),
        _ => change(
            a,
            &hold,
            &json!({"expiresAt": format!("2099-01-01T00:00:{n:02}Z").replace(":6", ":0")}),
        ),
    });
    let done = futures_util::future::join_all(calls.map(|call| async { call.await.status })).await;
    assert!(done.iter().all(|status| *status == 200), "{done:?}");
    let now = a.get(&format!("/v1/holds/{}", id(&hold))).await.is(200);
    let centavos = |value: &Value| crate::treasury::books::centavos(value);
    let [amount, confirmed, released, remaining] =
        ["amount", "confirmed", "released", "remaining"].map(|name| centavos(&now[name]));
    assert_eq!((confirmed, released), (16 * 700, 16 * 300));
    assert_eq!(remaining, amount - confirmed - released);
    let (available, held) = a.funds(&cvu).await;
    assert_eq!(centavos(&json!(held)), remaining);
    assert_eq!(centavos(&json!(available)), 100_000 - confirmed - remaining);
    let verified = service.admin("POST", "/admin/verify", &json!({})).await;
    assert_eq!(verified.is(200)["ok"], true);
}

#[actix_web::test]
async fn the_holds_of_the_realm_are_listed_by_account_state_time_and_own_id() {
    let (service, cvu) = funded("100.00").await;
    let a = &service.a;
    let other = a.cvu().await;
    a.credit(&other, "100.00").await;
    let mut ids = Vec::new();
    for (cvu, n) in [(&cvu, 1), (&other, 2), (&cvu, 3)] {
        let order = json!({"amount": "1", "idExterno": format!("own-{n}")});
        let hold = a
            .post(&format!("/v1/accounts/{cvu}/holds"), &order)
            .await
            .is(201);
        ids.push(id(&hold.json).to_owned());
    }
    let first = json!({"id": ids[0]});
    a.step(&first, "release", "1").await.is(200);
    let listed = async |query: &str| {
        let page = a.get(&format!("/v1/holds?{query}")).await.is(200);
        let items = page["items"].as_array().unwrap().iter();
        let place = |it: &Value| ids.iter().position(|known| it["id"] == known.as_str());
        items.map(|it| place(it).unwrap() + 1).collect::<Vec<_>>()
    };
    for (query, right) in [
        ("", vec![3, 2, 1]),
        ("order=asc&limit=2", vec![1, 2]),
        ("status=open", vec![3, 2]),
        (&format!("cvu={cvu}"), vec![3, 1]),
        ("idExterno=own-2", vec![2]),
        ("idExterno=own-9", vec![]),
        ("from=2020-01-01&to=2020-01-02", vec![]),
        ("status=released&from=2020-01-01", vec![1]),
    ] {
        assert_eq!(listed(query).await, right, "{query}");
    }
    let theirs = service.b.get("/v1/holds").await.is(200);
    assert_eq!(theirs["items"], json!([]));
    let csv = a
        .get("/v1/holds")
        .header("accept", "text/csv")
        .await
        .is(200);
    assert_eq!(csv.text.lines().count(), 4);
}
