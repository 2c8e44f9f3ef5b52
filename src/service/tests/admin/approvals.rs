//! Four eyes: which operations wait for a second person, who that can be, and that each is carried out once.

use super::*;

/// A house with a tenant whose policy requires a second person, two approvers and an operator; its path and their
/// credentials.
pub(super) async fn wary() -> (House, String, [String; 3]) {
    let house = House::open();
    let tenant = house.tenant().await;
    let path = format!("/admin/tenants/{tenant}");
    let change = json!({
        "limits": {"dailyAmount": "100.00", "dailyOutgoingTotal": "1000.00"},
        "policy": {"fourEyes": {"limitRaises": true, "decisionsAbove": "50.00"}},
    });
    let (status, body) = house.patch(&path, change).await;
    assert_eq!(status, 200, "{body}");
    let eyes = json!({"decisionsAbove": "50.00", "limitRaises": true});
    assert_eq!(body["policy"]["fourEyes"], eyes);
    let mut people = Vec::new();
    for (name, role) in [
        ("ana", "operator"),
        ("eva", "approver"),
        ("leo", "approver"),
    ] {
        people.push(house.person(name, role).await);
    }
    (house, path, people.try_into().unwrap())
}

impl House {
    pub(super) async fn acts(
        &self,
        who: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let request = self
            .as_person(who, method, path)
            .header("x-reason", "a test");
        send(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    pub(super) async fn votes(&self, who: &str, id: &Value, how: &str) -> Answer {
        let path = format!("/admin/approvals/{id}/{how}");
        self.acts(who, "POST", &path, None).await
    }
}

#[actix_web::test]
async fn a_raise_waits_for_another_approver_and_is_carried_out_once() {
    let (house, path, [ana, eva, leo]) = wary().await;
    let raise = |amount: &str| Some(json!({"limits": {"dailyAmount": amount}}));
    // A change that lowers a limit needs no second person.
    let (status, body) = house.acts(&ana, "PATCH", &path, raise("90.00")).await;
    assert_eq!(
        (status, &body["limits"]["dailyAmount"]),
        (200, &json!("90.00"))
    );
    let (status, asked) = house.acts(&eva, "PATCH", &path, raise("200.00")).await;
    assert_eq!(
        (status, &asked["state"]),
        (202, &json!("waiting")),
        "{asked}"
    );
    assert_eq!(asked["request"], raise("200.00").unwrap());
    let daily = || async { house.get(&path).await.1["limits"]["dailyAmount"].clone() };
    assert_eq!(daily().await, "90.00");
    let id = &asked["id"];
    // Neither the person who asked, nor an operator, nor the admin key may approve.
    let (status, body) = house.votes(&eva, id, "approve").await;
    assert_eq!((status, &body["code"]), (403, &json!("approval_own")));
    for who in [ana.as_str(), TEST_ADMIN_KEY] {
        let (status, body) = house.votes(who, id, "approve").await;
        assert_eq!((status, &body["code"]), (403, &json!("role_missing")));
    }
    assert_eq!(daily().await, "90.00");
    let (status, done) = house.votes(&leo, id, "approve").await;
    assert_eq!((status, &done["state"]), (200, &json!("done")), "{done}");
    assert_eq!(
        (&done["status"], &done["decidedBy"]),
        (&json!(200), &json!("leo"))
    );
    assert_eq!(done["answer"]["limits"]["dailyAmount"], "200.00");
    assert_eq!(daily().await, "200.00");
    house.acts(&ana, "PATCH", &path, raise("10.00")).await;
    let (status, body) = house.votes(&leo, id, "approve").await;
    assert_eq!((status, &body["code"]), (409, &json!("approval_ended")));
    assert_eq!(daily().await, "10.00");
    // The log has who asked, who approved, and how it ended.
    let entries = house.audit("action=changeTenant&operator=eva").await;
    let outcomes: Vec<_> = entries.iter().map(|it| text(&it["outcome"])).collect();
    assert_eq!(outcomes, ["done", "begun", "asked", "begun"]);
    for entry in &entries[..2] {
        assert_eq!(
            (&entry["approvedBy"], &entry["approval"]),
            (&json!("leo"), &json!(id)),
            "{entry}"
        );
    }
    let report = send(house.request(Method::POST, "/admin/verify")).await;
    assert_eq!(
        (report.0, &report.1["ok"]),
        (200, &json!(true)),
        "{report:?}"
    );
    // Everything is still there after a restart.
    let house = house.again().await;
    let (_, kept) = house.get(&format!("/admin/approvals/{id}")).await;
    assert_eq!(
        (&kept["state"], &kept["decidedBy"]),
        (&json!("done"), &json!("leo"))
    );
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn what_takes_two_takes_two_to_be_switched_off() {
    let (house, path, [ana, eva, leo]) = wary().await;
    let off = json!({"policy": {"fourEyes": {"limitRaises": false}}});
    let total = json!({"limits": {"dailyOutgoingTotal": null}});
    for body in [off.clone(), total] {
        for who in [ana.as_str(), TEST_ADMIN_KEY] {
            let (status, answer) = house.acts(who, "PATCH", &path, Some(body.clone())).await;
            assert_eq!(status, 202, "{answer}");
        }
    }
    // Raising the platform's limit raises what this tenant inherits, unless the tenant sets that limit itself.
    let everybody = |field: &str, amount: &str| Some(json!({"limits": {field: amount}}));
    let set = house
        .acts(
            &ana,
            "PATCH",
            "/admin/platform",
            everybody("monthlyAmount", "5"),
        )
        .await;
    assert_eq!(set.0, 200, "{set:?}");
    let set = house
        .acts(
            &ana,
            "PATCH",
            "/admin/platform",
            everybody("monthlyAmount", "6"),
        )
        .await;
    assert_eq!(set.0, 202, "{set:?}");
    let set = house
        .acts(
            &ana,
            "PATCH",
            "/admin/platform",
            everybody("dailyAmount", "7"),
        )
        .await;
    assert_eq!(set.0, 200, "{set:?}");
    let (_, list) = house.get("/admin/approvals").await;
    assert_eq!(list["total"], 5);
    // A rejected request is not done, and a revoked person's request can no longer be approved.
    let (status, body) = house.votes(&eva, &json!(2), "reject").await;
    assert_eq!((status, &body["state"]), (200, &json!("rejected")));
    assert_eq!(house.votes(&leo, &json!(2), "approve").await.0, 409);
    let revoke = house.acts(&eva, "DELETE", "/admin/people/ana", None).await;
    assert_eq!(revoke.0, 204);
    assert_eq!(house.votes(&eva, &json!(1), "approve").await.0, 409);
    assert_eq!(
        house.get(&path).await.1["policy"]["fourEyes"]["limitRaises"],
        true
    );
    for missing in ["0", "99", "x", "18446744073709551616"] {
        let (status, body) = house.get(&format!("/admin/approvals/{missing}")).await;
        assert_eq!((status, &body["code"]), (404, &json!("approval_not_found")));
    }
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn mistakes_are_refused_immediately_and_approvals_need_a_reason() {
    let (house, path, [ana, eva, _]) = wary().await;
    // A mistake is reported at once, before anybody is asked to approve.
    let both = json!({"limits": {"dailyAmount": null}, "feeSchedule": [
        {"voucherTypeCode": "NO_SUCH_TYPE", "charge": true},
    ]});
    let (status, body) = house.acts(&ana, "PATCH", &path, Some(both)).await;
    assert_eq!((status, &body["code"]), (400, &json!("invalid_request")));
    let (_, list) = house.get("/admin/approvals").await;
    assert_eq!(list["total"], 0);
    let raise = json!({"limits": {"dailyAmount": null}});
    let (_, asked) = house.acts(&ana, "PATCH", &path, Some(raise)).await;
    let request = house.as_person(&eva, "POST", "/admin/approvals/1/approve");
    let (status, body) = send(request).await;
    assert_eq!((status, &body["code"]), (400, &json!("reason_required")));
    let (_, done) = house.votes(&eva, &asked["id"], "approve").await;
    assert_eq!(done["state"], "done");
    assert_eq!(
        house.get(&path).await.1["limits"]["dailyAmount"],
        Value::Null
    );
    house.service.stop().await.unwrap();
}

#[actix_web::test]
async fn another_credential_neither_keeps_a_request_nor_makes_a_second_person() {
    let (house, path, [ana, eva, leo]) = wary().await;
    let raise = json!({"limits": {"dailyAmount": "200.00"}});
    let ask = async |who: &str| house.acts(who, "PATCH", &path, Some(raise.clone())).await;
    for who in [&ana, &eva] {
        assert_eq!(ask(who).await.0, 202);
    }
    // Let the clock move on.
    let begun = std::time::Instant::now();
    while begun.elapsed().as_millis() < 5 {
        house.get("/admin/clock").await;
    }
    let newer = house.person("own", "approver").await;
    let (status, body) = house.votes(&newer, &json!(1), "approve").await;
    assert_eq!((status, &body["code"]), (403, &json!("approval_own")));
    let rotated = house.acts(&ana, "POST", "/admin/me/rotate", None).await;
    assert_eq!(rotated.0, 201);
    let (status, body) = house.votes(&leo, &json!(1), "approve").await;
    assert_eq!((status, &body["code"]), (409, &json!("approval_ended")));
    assert_eq!(
        house.get(&path).await.1["limits"]["dailyAmount"],
        json!("100.00")
    );
    // A new approver may reject; another person's request still proceeds.
    assert_eq!(house.votes(&newer, &json!(1), "reject").await.0, 200);
    assert_eq!(house.votes(&leo, &json!(2), "approve").await.0, 200);
    house.service.stop().await.unwrap();
}
