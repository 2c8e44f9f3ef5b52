//! The sandbox bank of a test, with its switches, and how long the service waits for it.

use std::net::SocketAddr;
use std::time::Duration;

use caudal_bank::{CallTimeout, Config};
use caudal_sandbox::{self as sandbox, Sandbox};
use caudal_service::{Banking, Usual};

use super::client::{Answer, Client};
use super::{Value, json};

/// How long the service waits for a bank that answers: longer than even a busy machine needs.
pub const PATIENT: Duration = Duration::from_secs(60);
/// How long the service waits for a bank that is silent.
pub const IMPATIENT: Duration = Duration::from_millis(400);

/// The sandbox bank, with its switches.
pub struct Bank {
    running: sandbox::Running,
    client: Client,
    patience: CallTimeout,
}

impl Bank {
    pub fn start() -> Self {
        Self::at(sandbox::SandboxOptions::default().listen)
    }

    /// A sandbox bank at another address.
    pub fn at(listen: SocketAddr) -> Self {
        let options = sandbox::SandboxOptions {
            listen,
            ..sandbox::SandboxOptions::default()
        };
        let running = Sandbox::start(options).unwrap();
        let client = Client::new(&running.url(), None);
        Self {
            running,
            client,
            patience: CallTimeout::new(PATIENT),
        }
    }

    /// Sends the bank's notices to the service at `url`, signed with the secret that the service knows.
    pub fn tells(&self, url: &str) {
        let url = format!("{url}{}", caudal_bank::notices::route::PATH);
        let secret = Some(sandbox::NOTICE_SECRET.into());
        self.running.notify(Some(&url), secret).unwrap();
    }

    /// Takes an operation and does not answer, for `calls` calls or until it speaks again. The service
    /// then gives up soon on every call, so a test should not meanwhile ask the bank for anything else
    /// that has to succeed at once.
    pub async fn is_silent(&self, operation: &str, calls: Option<u64>) {
        self.patience.set(IMPATIENT);
        let mut order = json!({"operation": operation, "mode": "timeout"});
        if let Some(calls) = calls {
            order["count"] = json!(calls);
        }
        self.behave(order).await;
    }

    /// Answers an operation normally again, and the service waits for it patiently.
    pub async fn speaks(&self, operation: &str) {
        self.patience.set(PATIENT);
        let order = json!({"operation": operation, "mode": "ok"});
        self.behave(order).await;
    }

    /// Makes an operation misbehave.
    pub async fn behave(&self, order: Value) {
        self.client.post("/sandbox/behaviour", &order).await.is(200);
    }

    /// Refuses to give the balance: the treasury then has only the ledger's side, as of now.
    pub async fn is_away(&self) {
        let behaviour = json!({"operation": "balance", "mode": "reject"});
        self.behave(behaviour).await;
    }

    /// A client that calls the bank directly, past the service.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    pub async fn state(&self) -> Answer {
        self.client.get("/sandbox/state").await.is(200)
    }

    /// Has money arrive on a CVU; returns its id on the rail.
    pub async fn cash_in(&self, cvu: &str, amount: &str) -> String {
        self.arrive(&json!({"cvu": cvu, "amount": amount})).await
    }

    async fn arrive(&self, body: &Value) -> String {
        let arrived = self.client.post("/sandbox/cash-in", body).await;
        assert!((200..300).contains(&arrived.status), "{}", arrived.text);
        arrived["coelsaId"].as_str().unwrap().to_owned()
    }

    /// Has money arrive from an account that the test names.
    pub async fn cash_in_from(&self, cvu: &str, amount: &str, cbu: &str) -> String {
        let body = json!({"cvu": cvu, "amount": amount, "fromCbu": cbu});
        self.arrive(&body).await
    }

    /// Notifies again of money that arrived before.
    pub async fn again(&self, cvu: &str, amount: &str, coelsa: &Value) -> String {
        let body = json!({"cvu": cvu, "amount": amount, "coelsaId": coelsa});
        self.arrive(&body).await
    }

    /// Moves money out of a collector account, past the service.
    pub async fn sweep(&self, collector: &str, amount: &str) {
        let login = json!({"username": sandbox::USERNAME, "password": sandbox::PASSWORD});
        let login = self.client.post("/v1/login/jwt", &login).await.is(200);
        let token = format!("JWT {}", login["token"].as_str().unwrap());
        let order = json!({
            "origin_id": format!("SWEEP{}", super::client::fresh()),
            "to": {"label": "DESTINO.0"},
            "value": {"currency": "ARS", "amount": amount},
            "concept": "VAR",
        });
        let path = format!(
            "/v1/banks/322/accounts/{collector}/owner/transaction-request-types/TRANSFER/transaction-requests"
        );
        let call = self.client.post(&path, &order);
        let sent = call.header("authorization", &token).await.is(200);
        assert_eq!(sent["status"], "COMPLETED", "{}", sent.text);
    }

    /// Settles a transfer that the bank keeps pending, with this status.
    pub async fn settle(&self, origin: &Value, status: &str) {
        let path = format!("/sandbox/transfers/{}/settle", origin.as_str().unwrap());
        let answer = self.client.post(&path, &json!({"status": status})).await;
        assert!((200..300).contains(&answer.status), "{}", answer.text);
    }

    /// Reverses a transfer that was completed.
    pub async fn reverse(&self, origin: &Value) {
        let path = format!("/sandbox/transfers/{}/reverse", origin.as_str().unwrap());
        let answer = self.client.call("POST", &path).await;
        assert!((200..300).contains(&answer.status), "{}", answer.text);
    }

    /// Orders an event of a CVU's enrolment in remuneration.
    pub async fn remunerate(&self, cvu: &str, order: &Value) {
        let path = format!("/sandbox/remuneration/{cvu}");
        self.client.post(&path, order).await.is(200);
    }

    /// The CVUs that a CUIT has at the bank.
    pub async fn accounts_of(&self, cuit: &str) -> Vec<Value> {
        let state = self.state().await;
        let accounts = state["accounts"].as_array().unwrap().iter();
        accounts
            .filter(|account| account["cuit"] == cuit)
            .cloned()
            .collect()
    }

    /// How often an operation was called.
    pub async fn calls(&self, operation: &str) -> u64 {
        self.state().await["calls"][operation].as_u64().unwrap()
    }

    /// This bank for both modes.
    pub fn banking(&self, patience: Duration) -> Banking {
        let mut config = Config::new(
            &self.client.url,
            sandbox::USERNAME,
            sandbox::PASSWORD,
            sandbox::COLLECTOR,
        );
        self.patience.set(patience);
        config.attempt_timeout = self.patience.clone();
        config.deadline = patience;
        config.replica_lag = Duration::from_millis(20);
        config.notice_secret = Some(sandbox::NOTICE_SECRET.into());
        // The live rail is a separate world, in which each live realm has one of its own.
        let live = Usual {
            config: config.clone(),
            worlds: true,
        };
        Banking::Remote {
            live: Some(Box::new(live)),
            test: Box::new(config.into()),
        }
    }
}
