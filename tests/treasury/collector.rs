//! The collector account's day: every movement that the bank lists, between the bank's own balances.

use crate::support::service::{OTHER, TENANT};
use crate::support::{Answer, Client, TestService, Value, json, named};

const PATH: &str = "/v1/treasury/collector";

impl TestService {
    /// Has the bank move money of the collector account itself; returns the bank's id.
    pub async fn bank_moves(&self, order: Value) -> String {
        let bank = self.bank.client();
        let done = bank.post("/sandbox/collector-movements", &order).await;
        done.is(200)["id"].as_str().unwrap().to_owned()
    }

    /// Has the bank change a movement of the collector account.
    pub(super) async fn rethinks(&self, id: &str, change: Value) {
        let bank = self.bank.client();
        let path = format!("/sandbox/collector-movements/{id}");
        bank.post(&path, &change).await.is(200);
    }

    /// Sends money out of the collector account at the bank, without the service.
    async fn takes_out(&self, origin: &str, amount: &str) {
        let bank = self.bank.client();
        let who =
            json!({"username": caudal_sandbox::USERNAME, "password": caudal_sandbox::PASSWORD});
        let token = bank.post("/v1/login/jwt", &who).await.is(200)["token"].clone();
        let path = format!(
            "/v1/banks/322/accounts/{}/owner/transaction-request-types/TRANSFER/transaction-requests",
            caudal_sandbox::COLLECTOR
        );
        let order = json!({"origin_id": origin, "to": {"label": "DESTINO.0"},
            "value": {"currency": "ARS", "amount": amount}});
        let token = format!("JWT {}", token.as_str().unwrap());
        let sent = bank.post(&path, &order).header("authorization", &token);
        assert_eq!(sent.await.is(200)["status"], "COMPLETED");
    }

    /// The day of the collector account, whose equation holds.
    async fn day(&self) -> Answer {
        let day = self.a.get(PATH).await.is(200);
        assert_eq!(day["unexplained"], "0.00", "{}", day.text);
        day
    }
}

/// The item with the bank's id.
fn item(day: &Answer, id: &str) -> Value {
    let mut items = day["items"].as_array().unwrap().iter();
    let found = items.find(|item| item["bankId"] == id);
    found
        .unwrap_or_else(|| panic!("no {id} in {}", day.text))
        .clone()
}

fn classes(day: &Answer) -> Vec<&str> {
    let items = day["items"].as_array().unwrap().iter();
    items.map(|item| item["class"].as_str().unwrap()).collect()
}

#[actix_web::test]
async fn money_taken_out_of_the_collector_is_in_the_day_and_waits_for_a_person() {
    let service = TestService::start().await;
    service.hear().await;
    let cvu = service.a.cvu().await;
    let arrived = service.bank.cash_in(&cvu, "2000000.00").await;
    service.takes_out("SWEEP0001", "1300000.00").await;
    let day = service.day().await;
    assert_eq!(
        (&day["opening"], &day["closing"]),
        (&json!("0.00"), &json!("700000.00"))
    );
    assert_eq!(
        (&day["in"], &day["out"]),
        (&json!("2000000.00"), &json!("1300000.00"))
    );
    assert_eq!(classes(&day), ["matched", "unclassified"]);
    let (theirs, own) = (&day["items"][0], &day["items"][1]);
    assert_eq!(theirs["counterparty"]["coelsaId"], json!(arrived));
    assert_eq!(
        (&own["direction"], &own["amount"]),
        (&json!("out"), &json!("1300000.00"))
    );
    // The day's reconciliation has it as well, and its sums are the bank's.
    let listed = service.a.get("/v1/bank/conciliacion").await.is(200);
    assert_eq!(listed["summary"]["amountOut"], "1300000.00");
    assert_eq!(listed["summary"]["collector"], 1);
    let mut items = listed["items"].as_array().unwrap().iter();
    let found = items.find(|item| item["result"] == "collector").unwrap();
    assert_eq!(
        (&found["class"], &found["direction"]),
        (&json!("unclassified"), &json!("out"))
    );
    // A person says what it is, once.
    let id = own["caseId"].as_str().unwrap();
    let case = service
        .admin_get(&format!("/admin/cases/{id}"))
        .await
        .is(200);
    assert_eq!(
        (&case["kind"], &case["state"]),
        (&json!("collector"), &json!("open"))
    );
    assert_eq!(case["collector"]["class"], "unclassified");
    let open = service
        .admin_get("/admin/cases?kind=collector")
        .await
        .is(200);
    assert_eq!(
        (&open["total"], &open["items"][0]["id"]),
        (&json!(1), &json!(id))
    );
    let decide = format!("/admin/cases/{id}/decide");
    let decision =
        |outcome| json!({"outcome": outcome, "by": "ana", "reason": "to our own account"});
    let refused = service
        .admin("POST", &decide, &decision("unclassified"))
        .await;
    assert_eq!(
        named(&refused.refused(400, "invalid_request").json),
        ["outcome"]
    );
    let decided = service
        .admin("POST", &decide, &decision("sweep"))
        .await
        .is(200);
    assert_eq!(
        (&decided["state"], &decided["decision"]["by"]),
        (&json!("decided"), &json!("ana"))
    );
    let again = service.admin("POST", &decide, &decision("funding")).await;
    again.refused(409, "case_decided");
    assert_eq!(classes(&service.day().await), ["matched", "sweep"]);
    service.verified().await;
}

#[actix_web::test]
async fn rules_say_what_the_bank_does_by_itself() {
    let service = TestService::start().await;
    let fee = service
        .bank_moves(json!({"kind": "fee", "amount": "12.10"}))
        .await;
    assert_eq!(classes(&service.day().await), ["unclassified"]);
    let path = format!("/admin/tenants/{TENANT}/collector-rules");
    let rules = json!([
        {"direction": "out", "textContains": "comisión", "class": "bank_fee"},
        {"direction": "out", "textContains": "ley 25413", "class": "bank_tax"},
        {"direction": "in", "textContains": "interes", "class": "interest"},
        {"direction": "in", "counterpartyCuit": "30712345671", "class": "funding"}]);
    let set = service.admin("PUT", &path, &rules).await.is(200);
    assert_eq!(set.json[3]["counterpartyCuit"], "30712345671");
    assert_eq!(service.admin_get(&path).await.is(200).json, set.json);
    for kind in ["tax", "interest", "funding", "sweep"] {
        service
            .bank_moves(json!({"kind": kind, "amount": "5.00"}))
            .await;
    }
    // What waited is classified by the rule, too; what no rule takes waits.
    let day = service.day().await;
    let right = [
        "bank_fee",
        "bank_tax",
        "interest",
        "funding",
        "unclassified",
    ];
    assert_eq!(classes(&day), right);
    assert_eq!(
        (&day["in"], &day["out"], &day["closing"]),
        (&json!("10.00"), &json!("22.10"), &json!("-12.10"))
    );
    let id = item(&day, &fee)["caseId"].clone();
    let case = service
        .admin_get(&format!("/admin/cases/{}", id.as_str().unwrap()))
        .await
        .is(200);
    assert_eq!(
        (&case["state"], &case["decision"]),
        (&json!("decided"), &Value::Null)
    );
    for (rule, field) in [
        (
            json!({"direction": "up", "class": "sweep"}),
            "rules.0.direction",
        ),
        (
            json!({"direction": "in", "class": "unclassified"}),
            "rules.0.class",
        ),
        (
            json!({"direction": "in", "class": "sweep", "counterpartyCuit": "1"}),
            "rules.0.counterpartyCuit",
        ),
        (
            json!({"direction": "in", "class": "sweep", "amount": "1"}),
            "rules.0.amount",
        ),
    ] {
        let refused = service.admin("PUT", &path, &json!([rule])).await;
        assert_eq!(
            named(&refused.refused(400, "invalid_request").json),
            [field]
        );
    }
    service.verified().await;
}

#[actix_web::test]
async fn what_the_bank_takes_back_changes_or_hides_is_a_difference() {
    let service = TestService::start().await;
    let mut ids = Vec::new();
    for (kind, amount) in [("funding", "100.00"), ("fee", "10.00"), ("tax", "1.00")] {
        ids.push(
            service
                .bank_moves(json!({"kind": kind, "amount": amount}))
                .await,
        );
    }
    service.day().await;
    service.rethinks(&ids[1], json!({"amount": "11.00"})).await;
    service.rethinks(&ids[2], json!({"withdrawn": true})).await;
    let day = service.day().await;
    assert_eq!(
        (&day["out"], &day["closing"]),
        (&json!("11.00"), &json!("89.00"))
    );
    let seen = |id: &String| {
        let it = item(&day, id);
        (
            it["listed"].clone(),
            it["changed"].clone(),
            it["amount"].clone(),
        )
    };
    assert_eq!(seen(&ids[0]), (json!(true), json!(false), json!("100.00")));
    assert_eq!(seen(&ids[1]), (json!(true), json!(true), json!("11.00")));
    assert_eq!(seen(&ids[2]), (json!(false), json!(false), json!("1.00")));
    // What the list hides is in the bank's balance all the same.
    service.rethinks(&ids[1], json!({"hidden": true})).await;
    let day = service.a.get(PATH).await.is(200);
    assert_eq!(
        (&day["unexplained"], &day["closing"]),
        (&json!("-11.00"), &json!("89.00"))
    );
    assert_eq!(item(&day, &ids[1])["listed"], false);
    service.verified().await;
}

#[actix_web::test]
async fn a_day_begins_with_the_balance_at_which_the_last_one_ended() {
    let service = TestService::start().await;
    let empty = service.day().await;
    for name in ["opening", "in", "out", "closing"] {
        assert_eq!(empty[name], "0.00", "{name}");
    }
    let today = service.engine().now().business_day();
    let late = json!({"kind": "funding", "amount": "50.00", "date": today.before().to_string()});
    let late = service.bank_moves(late).await;
    let day = service.day().await;
    assert_eq!(
        (&day["opening"], &day["closing"]),
        (&json!("50.00"), &json!("50.00"))
    );
    assert_eq!(
        (&day["date"], &day["items"]),
        (&json!(today.to_string()), &json!([]))
    );
    let before = service
        .a
        .get(&format!("{PATH}?date={}", today.before()))
        .await
        .is(200);
    assert_eq!(
        (&before["opening"], &before["in"], &before["closing"]),
        (&json!("0.00"), &json!("50.00"), &json!("50.00"))
    );
    assert_eq!(item(&before, &late)["direction"], "in");
    let tomorrow = format!("?date={}", today.next());
    for (query, field) in [
        (tomorrow.as_str(), "date"),
        ("?date=ayer", "date"),
        ("?day=1", "day"),
    ] {
        let refused = service.a.get(&format!("{PATH}{query}")).await;
        assert_eq!(
            named(&refused.refused(400, "invalid_request").json),
            [field]
        );
    }
}

#[actix_web::test]
async fn a_shared_account_is_nobodys_and_a_silent_bank_is_told() {
    let service = TestService::start().await;
    service
        .bank_moves(json!({"kind": "fee", "amount": "1.00"}))
        .await;
    let silent = json!({"operation": "statement", "mode": "error"});
    service.bank.behave(silent).await;
    service.a.get(PATH).await.refused(502, "bank_failed");
    service
        .bank
        .behave(json!({"operation": "statement", "mode": "ok"}))
        .await;
    service.day().await;
    let shared = json!({"bank": {"test": {"collectorCbu": caudal_sandbox::COLLECTOR}}});
    let other = format!("/admin/tenants/{OTHER}");
    service.admin("PATCH", &other, &shared).await.is(200);
    for client in [&service.a, &service.b] {
        client.get(PATH).await.refused(409, "collector_shared");
    }
    // Its movements are in the reconciliation of the realm that keeps it, and in no other.
    let counts = async |client: &Client| {
        let listed = client.get("/v1/bank/conciliacion").await.is(200);
        listed["summary"]["collector"].clone()
    };
    assert_eq!(
        (counts(&service.a).await, counts(&service.b).await),
        (json!(1), json!(0))
    );
}

#[actix_web::test]
async fn readers_at_the_same_time_record_a_movement_once() {
    let service = TestService::start().await;
    service
        .bank_moves(json!({"kind": "fee", "amount": "1.00"}))
        .await;
    let reads = (0..8).map(|_| std::future::IntoFuture::into_future(service.a.get(PATH)));
    for day in futures_util::future::join_all(reads).await {
        let day = day.is(200);
        assert_eq!(
            (classes(&day), &day["closing"]),
            (vec!["unclassified"], &json!("-1.00"))
        );
    }
    let open = service.admin_get("/admin/cases?kind=collector").await;
    assert_eq!(open.is(200)["total"], 1);
    service.verified().await;
}
