//! One of everything: each change is published once, in its place, with the data of that moment.

use std::sync::Arc;

use caudal_ledger::events::EventKind;
use caudal_ledger::time::Timestamp;

use super::acts::whole;
use super::{FEED, all, types};
use crate::support::{Client, TestClock, TestService, Value, json};

/// The day on which everything happens, one step each second.
const START: &str = "2026-03-02T12:00:00Z";

/// An event that a step should publish: its time, its type, its data.
type Expected = (String, &'static str, Value);

/// The events that should be published, noted while they happen.
pub struct Story {
    pub service: TestService,
    pub clock: Arc<TestClock>,
    steps: u64,
    pub expected: Vec<Expected>,
}

/// The parts of an account that an event reports.
pub fn as_told(mut account: Value, remuneration: Value) -> Value {
    let own = account["limits"]["own"].take();
    account["limits"] = json!({"own": own});
    account["remuneration"] = remuneration;
    account
}

impl Story {
    pub async fn begin() -> Self {
        let clock = TestClock::at(START);
        let service = TestService::at(&clock).await;
        let (steps, expected) = (0, Vec::new());
        Self {
            service,
            clock,
            steps,
            expected,
        }
    }

    /// The time of a step.
    pub fn at(&self, later: u64) -> String {
        let start = Timestamp::parse(START).unwrap().millis();
        Timestamp::from_millis(start + (self.steps + later) * 1000).to_string()
    }

    /// Moves to the next step; returns the client.
    pub fn step(&mut self) -> &Client {
        self.steps += 1;
        self.clock.set(&self.at(0));
        &self.service.a
    }

    /// Moves to a step of the next day.
    pub fn next_day(&mut self) {
        self.steps += 24 * 60 * 60;
        self.clock.set(&self.at(0));
    }

    pub fn tell(&mut self, kind: &'static str, mut data: Value) {
        // The answer to an order about a hold or a transfer has the balance after it as well.
        let ordered = kind.starts_with("hold.") || kind.starts_with("transfer.");
        if let Some(fields) = data.as_object_mut().filter(|_| ordered) {
            fields.remove("balance");
            fields.remove("voucherId");
        }
        self.expected.push((self.at(0), kind, data));
    }

    pub async fn account(&mut self, kind: &'static str, cvu: &str) {
        let read = self.service.a.get(&format!("/v1/accounts/{cvu}")).await;
        self.tell(kind, as_told(read.is(200).json, Value::Null));
    }

    /// Notes the newest vouchers of an account, oldest first.
    pub async fn vouchers(&mut self, cvu: &str, count: usize) {
        let path = format!("/v1/accounts/{cvu}/movements?limit={count}");
        let moved = self.service.a.get(&path).await.is(200).json;
        for movement in moved.as_array().unwrap().iter().rev() {
            let path = format!("/v1/comprobantes/{}", movement["id"].as_str().unwrap());
            let voucher = self.service.a.get(&path).await.is(200).json;
            self.tell("voucher.created", voucher);
        }
    }

    /// The present state of a transfer.
    pub async fn read_transfer(&self, transfer: &Value) -> Value {
        let path = format!("/v1/transfers/{}", transfer["id"].as_str().unwrap());
        let mut read = self.service.a.get(&path).await.is(200).json;
        read.as_object_mut().unwrap().remove("bankCalls");
        read
    }

    /// Sends a transfer through the bank: notes that its money is held, and that it was requested,
    /// with the data known at that time.
    pub async fn sent(&mut self, from: &str, digit: u8, status: &str) -> Value {
        let alias = json!({"alias": format!("DESTINO.{digit}")});
        let call = self.step().transfer(from, alias, "10.00");
        let sent = call.await.is(201).json;
        let now = self.service.a.settled(&sent, status).await;
        let path = format!("/v1/transfers/{}", sent["id"].as_str().unwrap());
        assert_eq!(self.service.a.get(&path).await.json, now);
        let first = self.read_transfer(&sent).await;
        let moved = format!("/v1/accounts/{from}/movements?type=hold&limit=1");
        let moved = self.service.a.get(&moved).await.is(200).json;
        let path = format!("/v1/comprobantes/{}", moved[0]["id"].as_str().unwrap());
        let voucher = self.service.a.get(&path).await.is(200).json;
        self.tell("voucher.created", voucher);
        let mut requested = first.clone();
        for (name, value) in [
            ("status", json!("requested")),
            ("bankTransferId", Value::Null),
            ("coelsaId", Value::Null),
            ("rejection", Value::Null),
            // Nobody had been asked yet who is behind the alias.
            ("counterparty", sent["counterparty"].clone()),
        ] {
            requested[name] = value;
        }
        self.tell("transfer.requested", requested);
        first
    }

    /// Notes an event of an account without a CVU, from the wallet family's view of it.
    pub async fn without_cvu(&mut self, kind: &'static str, path: &str) {
        let read = self.service.a.get(path).await.is(200);
        let data = json!({
            "cvu": null, "alias": null, "balance": null, "remuneration": null,
            "walletAccountId": read["id"], "externalId": read["codigo"], "status": "registered",
            "enabled": read["habilitado"], "email": read["email"].as_str().filter(|text| !text.is_empty()), "createdAt": self.told_first(&read["id"]),
            "updatedAt": self.at(0), "currency": "ARS", "closedAt": null,
        });
        self.tell(kind, data);
    }

    /// The time of an account's first event, or the present.
    pub fn told_first(&self, number: &Value) -> String {
        let of = |(_, _, data): &&Expected| data["walletAccountId"] == *number;
        let first = self.expected.iter().find(of);
        first.map_or_else(|| self.at(0), |(at, _, _)| at.clone())
    }

    pub async fn opened(&mut self) -> String {
        let cvu = self.step().cvu().await;
        self.account("account.created", &cvu).await;
        cvu
    }
}

#[actix_web::test]
async fn every_kind_of_event_is_published_once_and_in_order() {
    let story = whole().await;
    let a = &story.service.a;
    let events = all(a, 200, "").await;
    let kinds: Vec<_> = story.expected.iter().map(|(_, kind, _)| *kind).collect();
    assert_eq!(types(&events), kinds);
    for (n, (event, (at, _, data))) in events.iter().zip(&story.expected).enumerate() {
        assert_eq!(
            (&event["sequence"], &event["timestamp"]),
            (&json!(n + 1), &json!(at))
        );
        for (name, value) in data.as_object().unwrap() {
            assert_eq!(&event["data"][name], value, "{name} of {event}");
        }
        // No body of the native family shows an account without a CVU, so only some fields are
        // checked.
        if data.get("cvu") != Some(&Value::Null) {
            let fields = |value: &Value| value.as_object().unwrap().len();
            assert_eq!(fields(&event["data"]), fields(data), "{event}");
        }
        assert_eq!(event.as_object().unwrap().len(), 5, "{event}");
        if event["type"] == "voucher.created" {
            let path = format!("/v1/comprobantes/{}", event["data"]["id"].as_str().unwrap());
            assert_eq!(a.get(&path).await.is(200).json, event["data"]);
        }
    }
    for pair in events.windows(2) {
        let ids = [&pair[0]["id"], &pair[1]["id"]].map(|id| id.as_str().unwrap());
        assert!(ids[0] < ids[1], "{ids:?}");
    }
    // Every kind of event occurs here.
    let missing: Vec<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let missing = missing.iter().filter(|kind| !kinds.contains(kind));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new());
    story.service.verified().await;
}

/// The first events as they are sent.
async fn wire(client: &Client, count: usize) -> String {
    let answer = client.get(&format!("{FEED}?limit={count}")).await.is(200);
    let (items, _) = answer.text.rsplit_once(r#","next":"#).unwrap();
    items.to_owned()
}

#[actix_web::test]
async fn published_events_never_change() {
    let Story {
        mut service,
        clock,
        expected,
        ..
    } = whole().await;
    let first = wire(&service.a, expected.len()).await;
    clock.set("2026-03-09T12:00:00Z");
    service.restart().await;
    assert_eq!(wire(&service.a, expected.len()).await, first);
    service.crash().await;
    assert_eq!(wire(&service.a, expected.len()).await, first);
    // Everything that an event shows has changed since: accounts, types, holds, names.
    let accounts = service.a.get("/v1/accounts?status=active").await.is(200);
    for account in accounts["items"].as_array().unwrap() {
        let cvu = account["cvu"].as_str().unwrap();
        service.a.credit(cvu, "1000.00").await;
        service.a.hold(cvu, "1.00").await;
        let path = format!("/v1/accounts/{cvu}");
        service
            .a
            .patch(&format!("{path}/limits"), &json!({"dailyCount": 7}))
            .await
            .is(200);
        service
            .a
            .patch(&format!("{path}/kyc"), &json!({"pep": false}))
            .await
            .is(200);
    }
    for code in ["IN", "OUT"] {
        let path = format!("/v1/voucher-types/{code}");
        service
            .a
            .patch(&path, &json!({"active": false}))
            .await
            .is(200);
    }
    assert_eq!(wire(&service.a, expected.len()).await, first);
    let more = all(&service.a, 200, "").await;
    assert!(more.len() > expected.len());
    service.end(true).await;
    service.lose_index();
    service.begin().await;
    assert_eq!(wire(&service.a, expected.len()).await, first);
    assert_eq!(all(&service.a, 200, "").await, more);
}
