//! The sandbox bank of a test, with its switches, and how long it is waited for.

use std::net::SocketAddr;
use std::time::Duration;

use caudal::bank::{Config, Patience};
use caudal::service::{Banking, Usual};
use caudal_sandbox::{self as sandbox, Sandbox};

use super::client::{Answer, Client};
use super::{Value, json};

/// How long a bank has that answers: no machine is so busy.
pub const PATIENT: Duration = Duration::from_secs(60);
/// How long one has that says nothing.
pub const IMPATIENT: Duration = Duration::from_millis(400);

/// The sandbox bank, with its switches.
pub struct Bank {
    running: sandbox::Running,
    client: Client,
    patience: Patience,
}

impl Bank {
    pub fn start() -> Self {
        Self::at(sandbox::SandboxOptions::default().listen)
    }

    /// The same at another address.
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
            patience: Patience::new(PATIENT),
        }
    }

    /// Tells the service at `url` what happens, with the secret that it knows.
    pub fn tells(&self, url: &str) {
        let url = format!("{url}{}", caudal::notices::PATH);
        let secret = Some(sandbox::NOTICE_SECRET.into());
        self.running.notify(Some(&url), secret).unwrap();
    }

    /// Takes an operation and says nothing, for some calls or until it speaks again. It is given up soon,
    /// and nothing else should be asked of it meanwhile that has to succeed at once.
    pub async fn is_silent(&self, operation: &str, calls: Option<u64>) {
        self.patience.set(IMPATIENT);
        let mut order = json!({"operation": operation, "mode": "timeout"});
        if let Some(calls) = calls {
            order["count"] = json!(calls);
        }
        self.behave(order).await;
    }

    /// Does an operation as it should, and is waited for.
    pub async fn speaks(&self, operation: &str) {
        self.patience.set(PATIENT);
        let order = json!({"operation": operation, "mode": "ok"});
        self.behave(order).await;
    }

    /// Makes an operation misbehave.
    pub async fn behave(&self, order: Value) {
        self.client.post("/sandbox/behaviour", &order).await.is(200);
    }

    /// Refuses to tell the balance: the treasury has the ledger's side alone, as of now.
    pub async fn is_away(&self) {
        let behaviour = json!({"operation": "balance", "mode": "reject"});
        self.behave(behaviour).await;
    }

    /// Whoever calls the bank beside the service.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    pub async fn state(&self) -> Answer {
        self.client.get("/sandbox/state").await.is(200)
    }

    /// Has money arrive on a CVU; gives its id on the rail.
    pub async fn cash_in(&self, cvu: &str, amount: &str) -> String {
        self.arrive(&json!({"cvu": cvu, "amount": amount})).await
    }

    async fn arrive(&self, body: &Value) -> String {
        let arrived = self.client.post("/sandbox/cash-in", body).await;
        assert!((200..300).contains(&arrived.status), "{}", arrived.text);
        arrived["coelsaId"].as_str().unwrap().to_owned()
    }

    /// The same from an account that the test names.
    pub async fn cash_in_from(&self, cvu: &str, amount: &str, cbu: &str) -> String {
        let body = json!({"cvu": cvu, "amount": amount, "fromCbu": cbu});
        self.arrive(&body).await
    }

    /// Tells of money once more that arrived before.
    pub async fn again(&self, cvu: &str, amount: &str, coelsa: &Value) -> String {
        let body = json!({"cvu": cvu, "amount": amount, "coelsaId": coelsa});
        self.arrive(&body).await
    }

    /// Tells how a transfer ends that the bank keeps pending.
    pub async fn settle(&self, origin: &Value, status: &str) {
        let path = format!("/sandbox/transfers/{}/settle", origin.as_str().unwrap());
        let answer = self.client.post(&path, &json!({"status": status})).await;
        assert!((200..300).contains(&answer.status), "{}", answer.text);
    }

    /// Has a transfer that was completed come back.
    pub async fn reverse(&self, origin: &Value) {
        let path = format!("/sandbox/transfers/{}/reverse", origin.as_str().unwrap());
        let answer = self.client.call("POST", &path).await;
        assert!((200..300).contains(&answer.status), "{}", answer.text);
    }

    /// Tells something of the enrolment of a CVU in remuneration.
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
        // The live rail is another world, and each live realm has one of its own on it.
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
