//! Cases that wait for a person: listed, decided once, with a name and a reason, and shown
//! everywhere afterwards.

mod eyes;
mod list;
mod returns;
mod suspense;
mod transfers;

use caudal_ledger::cvu::Cvu;

use crate::support::{Answer, SOON, TestService, Value, json, wait_until};

/// A service that hears the bank, with an open and a closed account.
pub async fn start() -> (TestService, String, String) {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let (open, closed) = (service.a.cvu().await, service.a.cvu().await);
    let path = format!("/v1/accounts/{closed}");
    service.a.delete(&path).await.is(200);
    (service, open, closed)
}

/// A CVU with a client id of the same realm that was given to nobody.
fn unknown_like(cvu: &str) -> String {
    let client: u64 = cvu.get(9..21).unwrap().parse().unwrap();
    Cvu::compose(999, client + 77).unwrap().to_string()
}

impl TestService {
    /// The CBU of an external account, whose behaviour depends on its digit.
    async fn elsewhere(&self, digit: u8) -> String {
        let path = format!("/v1/lookup/alias/DESTINO.{digit}");
        let found = self.a.get(&path).await.is(200);
        found["cbu"].as_str().unwrap().to_owned()
    }

    /// Has money arrive from that account that no account can take; waits for its case and returns
    /// it.
    pub async fn parked(&self, cvu: &str, amount: &str, digit: u8) -> Value {
        let from = self.elsewhere(digit).await;
        let rail = self.bank.cash_in_from(cvu, amount, &from).await;
        wait_until("the money waits", SOON, async || {
            // A notice does not say on which collector account money for an unknown CVU arrived; the list does.
            self.catch_up().await;
            let open = self.cases("?kind=suspense").await;
            let mut all = open["items"].as_array().unwrap().iter();
            all.find(|it| it["suspense"]["coelsaId"] == rail).cloned()
        })
        .await
    }

    async fn cases(&self, query: &str) -> Value {
        let path = format!("/admin/cases{query}");
        self.admin_get(&path).await.is(200).json
    }

    async fn case(&self, case: &Value) -> Value {
        let path = format!("/admin/cases/{}", case["id"].as_str().unwrap());
        self.admin_get(&path).await.is(200).json
    }

    async fn decide(&self, case: &Value, body: &Value) -> Answer {
        let path = format!("/admin/cases/{}/decide", case["id"].as_str().unwrap());
        self.admin("POST", &path, body).await
    }

    /// Waits until a case has a state, and returns it.
    async fn becomes(&self, case: &Value, state: &str) -> Value {
        wait_until(&format!("the case is {state}"), SOON, async || {
            let now = self.case(case).await;
            (now["state"] == state).then_some(now)
        })
        .await
    }

    /// The events of a type, oldest first.
    async fn events_of(&self, kind: &str) -> Vec<Value> {
        let path = format!("/v1/events?types={kind}&limit=200");
        let page = self.a.get(&path).await.is(200);
        page["items"].as_array().unwrap().clone()
    }

    /// Today's reconciliation of the movements that have this value in a field.
    async fn today(&self, field: &str, value: &Value) -> Vec<Value> {
        let day = self.a.get("/v1/bank/conciliacion").await.is(200);
        let items = day["items"].as_array().unwrap().iter();
        items.filter(|it| it[field] == *value).cloned().collect()
    }

    /// The incoming amount that the treasury shows in transit.
    async fn incoming(&self) -> Value {
        let treasury = self.a.get("/v1/treasury").await.is(200);
        treasury["inTransit"]["incoming"].clone()
    }

    /// The value of a metric with these labels.
    async fn figure(&self, name: &str, labels: &[&str]) -> String {
        let page = self.admin_get("/metrics").await.text;
        let mut lines = page.lines().filter(|line| line.starts_with(name));
        let found = lines.find(|line| labels.iter().all(|label| line.contains(label)));
        let found = found.unwrap_or_else(|| panic!("no {name} {labels:?} in {page}"));
        found.rsplit(' ').next().unwrap().to_owned()
    }
}

fn by(outcome: &str) -> Value {
    json!({"outcome": outcome, "reason": "the clerk has it on paper", "by": "Ana Gómez"})
}

fn with(mut body: Value, name: &str, value: impl Into<Value>) -> Value {
    body[name] = value.into();
    body
}

/// Checks that a decision is shown, with the person who made it.
fn shows(found: &Value, by: &str) {
    let decision = &found["decision"];
    assert_eq!(decision["by"], by, "{found}");
    assert_eq!(decision["reason"], "the clerk has it on paper", "{found}");
    assert!(decision["at"].is_string(), "{found}");
}
