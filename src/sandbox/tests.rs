//! The sandbox bank as its own clients see it: the parts that all tests share.

mod accounts;
mod kept;
mod notices;
mod receiver;
mod transfers;
mod worlds;

use std::path::Path;

use caudal_ledger::cvu::{Cbu, Cvu};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::*;

/// When a test gives up waiting.
const HANG: Duration = Duration::from_secs(120);
const CUIT: &str = "20055361682";
const OTHER: &str = "30717449076";

struct Rig {
    bank: Running,
    client: Client,
    token: String,
}

impl Rig {
    async fn start(options: SandboxOptions) -> Self {
        let bank = Sandbox::start(options).unwrap();
        let mut rig = Self {
            bank,
            client: Client::builder()
                .tls_certs_only([])
                .no_proxy()
                .build()
                .unwrap(),
            token: String::new(),
        };
        let user = json!({"username": USERNAME, "password": PASSWORD});
        let (status, answer) = rig.ask(Method::POST, "/v1/login/jwt", user).await;
        assert_eq!(status, 200);
        assert!(answer["expires_in"].as_u64().unwrap() > 60);
        rig.token = answer["token"].as_str().unwrap().to_owned();
        rig
    }

    async fn memory() -> Self {
        Self::start(SandboxOptions::default()).await
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let url = format!("{}{path}", self.bank.url());
        let mut request = self.client.request(method, url);
        request = request.header("authorization", format!("JWT {}", self.token));
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    async fn wallet(&self, method: Method, rest: &str, body: Value) -> (u16, Value) {
        let path = format!("/v1/banks/322/accounts/{COLLECTOR}/owner/wallet/{rest}");
        self.ask(method, &path, body).await
    }

    async fn create(&self, client_id: u64, cuit: &str) -> Value {
        let body =
            json!({"client_id": client_id, "cuit": cuit, "name": "Ana Acosta", "currency": "ARS"});
        let (status, answer) = self.wallet(Method::POST, "cvu", body).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    async fn alias(&self, client_id: u64, cuit: &str, label: Value) -> (u16, Value) {
        let mut body = json!({"cuit": cuit, "cvu": cvu(client_id)});
        if !label.is_null() {
            body["label"] = label;
        }
        self.wallet(Method::POST, "alias", body).await
    }

    async fn lookup(&self, address: &str) -> (u16, Value) {
        self.ask(
            Method::GET,
            &format!("/accounts/cbu/{address}"),
            Value::Null,
        )
        .await
    }

    async fn code(&self, answer: (u16, Value)) -> String {
        assert_eq!(answer.0, 409, "{answer:?}");
        assert!(!answer.1["message"].as_str().unwrap().is_empty());
        answer.1["code"].as_str().unwrap().to_owned()
    }
}

fn cvu(client_id: u64) -> String {
    Cvu::compose(PSP, client_id).unwrap().to_string()
}

fn kept_in(folder: &Path) -> SandboxOptions {
    SandboxOptions {
        data_dir: Some(folder.to_owned()),
        ..SandboxOptions::default()
    }
}

/// Waits, with a deadline, until a condition holds.
async fn soon(what: &str, so: impl AsyncFn() -> bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(10));
    let asking = async {
        while !so().await {
            looks.tick().await;
        }
    };
    let asked = tokio::time::timeout(HANG, asking).await;
    assert!(asked.is_ok(), "in time: {what}");
}

/// An external account whose number ends in a digit.
fn destination(digit: u64) -> String {
    Cbu::compose(285, 590, 7_770 + digit).unwrap().to_string()
}

const TRANSFERS: &str = "transaction-request-types/TRANSFER-CVU";

impl Rig {
    async fn owner(&self, rest: &str) -> (u16, Value) {
        let path = format!("/v1/banks/322/accounts/{COLLECTOR}/owner{rest}");
        self.ask(Method::GET, &path, Value::Null).await
    }

    fn order(origin_id: &str, to: &Value, amount: &str) -> Value {
        json!({
            "origin_id": origin_id,
            "origin_debit": {"cvu": cvu(1), "cuit": CUIT},
            "to": to,
            "value": {"currency": "ARS", "amount": amount},
            "concept": "VAR",
        })
    }

    async fn post(&self, order: Value) -> (u16, Value) {
        let path =
            format!("/v1/banks/322/accounts/{COLLECTOR}/owner/{TRANSFERS}/transaction-requests");
        self.ask(Method::POST, &path, order).await
    }

    /// Sends 100.50 from the first CVU.
    async fn send(&self, origin_id: &str, cbu: &str) -> Value {
        let order = Self::order(origin_id, &json!({"cbu": cbu}), "100.50");
        let (status, sent) = self.post(order).await;
        assert_eq!(status, 200, "{sent}");
        sent
    }

    async fn one(&self, id: &str) -> Value {
        let (status, found) = self.owner(&format!("/{TRANSFERS}/{id}")).await;
        assert_eq!(status, 200, "{found}");
        found
    }

    async fn list(&self, headers: &[(&str, &str)]) -> (u16, Value) {
        let path = format!("/banks/322/accounts/{COLLECTOR}/owner/{TRANSFERS}");
        let mut request = self.client.get(format!("{}{path}", self.bank.url()));
        request = request.header("authorization", format!("JWT {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    async fn balance(&self) -> String {
        let (status, found) = self.owner("").await;
        assert_eq!((status, &found["id"]), (200, &json!(COLLECTOR)));
        assert_eq!(found["balance"]["currency"], "ARS");
        found["balance"]["amount"].as_str().unwrap().to_owned()
    }

    async fn tell(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::POST, &format!("/sandbox/{path}"), body)
            .await
    }

    async fn cash_in(&self, to: &str, amount: &str) -> String {
        let body = json!({"cvu": to, "amount": amount});
        let (status, answer) = self.tell("cash-in", body).await;
        assert_eq!(status, 200, "{answer}");
        answer["coelsaId"].as_str().unwrap().to_owned()
    }

    async fn behave(&self, operation: &str, mode: &str, count: u64) {
        let body = json!({"operation": operation, "mode": mode, "count": count});
        assert_eq!(self.tell("behaviour", body).await.0, 200);
    }

    async fn state(&self) -> Value {
        self.ask(Method::GET, "/sandbox/state", Value::Null).await.1
    }
}
