//! A service that hears its bank: both over HTTP, with short pauses, and the checks that every test
//! of a failure ends with.

use std::time::Duration;

use caudal_actors::accounts::ChangeProfile;
use caudal_actors::engine::{self, Engine, Requester};
use caudal_actors::realms::Target;
use caudal_actors::settings::Pauses;
use caudal_bank::notices::route::PATH;
use caudal_bank::{CallTimeout, Config};
use caudal_ledger::accounts::ProfileOrder;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::tenants::Mode;
use caudal_sandbox::{self as sandbox, Sandbox};
use caudal_service::{Banking, Service, ServiceOptions};
use tempfile::TempDir;

pub use super::letters::{deliver, ended, now, rail_id, received, reversed};
use crate::support::bank::{IMPATIENT, PATIENT};
use crate::support::canary;
use crate::support::client::fresh;
use crate::support::{Answer, Client, SOON, Value, json, wait_until};

/// The notice secret of the live bank, from which no test ever hears.
const LIVE_SECRET: &str = "a-bank-that-nobody-ever-hears-from-in-tests";
/// The first account's balance, in centavos.
const FIRST: i64 = 100_000;

/// A running service, its bank, and two accounts: one with 1000.00, one with nothing.
pub struct Rig {
    pub a: Client,
    pub admin: Client,
    pub control: Client,
    pub cvu: String,
    pub other: String,
    bank: sandbox::Running,
    patience: CallTimeout,
    running: Option<Service>,
    options: ServiceOptions,
    _folder: TempDir,
}

fn banking(bank: &sandbox::Running, patience: &CallTimeout) -> Banking {
    let config = Config {
        attempt_timeout: patience.clone(),
        deadline: PATIENT,
        replica_lag: Duration::from_millis(20),
        notice_secret: Some(sandbox::NOTICE_SECRET.into()),
        ..Config::new(
            bank.url(),
            sandbox::USERNAME,
            sandbox::PASSWORD,
            sandbox::COLLECTOR,
        )
    };
    let live = Config {
        notice_secret: Some(LIVE_SECRET.into()),
        ..config.clone()
    };
    Banking::Remote {
        live: Some(Box::new(live.into())),
        test: Box::new(config.into()),
    }
}

/// A client for a bank that hangs up on idle connections: it opens a new connection for each call.
pub fn client_of_bank(url: &str) -> Client {
    let http = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .pool_max_idle_per_host(0)
        .build();
    Client {
        http: http.unwrap(),
        url: url.to_owned(),
        key: None,
    }
}

/// Parses an amount such as `12.50` into centavos.
pub fn centavos(text: &Value) -> i64 {
    text.as_str().unwrap().replace('.', "").parse().unwrap()
}

/// A call to the bank: its operation, and the status of the answer.
pub type Called = (String, Option<u64>);

impl Rig {
    pub async fn start() -> Self {
        Self::start_with(|options| options).await
    }

    pub async fn start_with(change: impl FnOnce(ServiceOptions) -> ServiceOptions) -> Self {
        canary::watch();
        let patience = CallTimeout::new(PATIENT);
        let folder = TempDir::new().unwrap();
        let bank = Sandbox::start(sandbox::SandboxOptions::default()).unwrap();
        let options = ServiceOptions {
            engine: engine::EngineOptions {
                arbiters: 1,
                pauses: Pauses {
                    first: Duration::from_millis(20),
                    last: Duration::from_millis(200),
                },
                bank_reads: engine::BankReadLimits {
                    kept: Duration::ZERO,
                    ..engine::BankReadLimits::default()
                },
                ..engine::EngineOptions::default()
            },
            storage: caudal_storage::StoreOptions::small(),
            banking: banking(&bank, &patience),
            ..ServiceOptions::for_tests(folder.path().join("data"))
        };
        let options = change(options);
        let running = Service::start(options.clone()).unwrap();
        let tenant = running.create_tenant("Failing").await.unwrap();
        let key = running.issue_key(&tenant.id, Mode::Test).await.unwrap();
        let a = Client::new(&running.url, Some(&key));
        a.in_and_out().await;
        let (cvu, other) = (a.cvu().await, a.cvu().await);
        a.credit(&cvu, "1000.00").await;
        let mut rig = Self {
            control: client_of_bank(&bank.url()),
            admin: Client::new(&running.admin_url, None),
            a,
            cvu,
            other,
            bank,
            patience,
            running: None,
            options,
            _folder: folder,
        };
        rig.meet(running);
        rig
    }

    /// Points all clients and the bank to the running service.
    fn meet(&mut self, running: Service) {
        self.a.url.clone_from(&running.url);
        self.admin.url.clone_from(&running.admin_url);
        self.running = Some(running);
        self.listen();
    }

    /// Lets the bank send its notices, those that waited first.
    pub fn listen(&self) {
        let url = format!("{}{PATH}", self.a.url);
        self.bank.notify(Some(&url), None).unwrap();
    }

    /// Keeps the notices waiting at the bank.
    pub fn deafen(&self) {
        self.bank.notify(None, None).unwrap();
    }

    pub async fn end(&mut self, gracefully: bool) {
        match self.running.take() {
            Some(running) if gracefully => running.stop().await.unwrap(),
            Some(running) => running.kill().await,
            None => {}
        }
    }

    pub fn begin(&mut self) {
        let running = Service::start(self.options.clone()).unwrap();
        self.meet(running);
    }

    /// Starts the service on an empty folder, with a tenant of its own.
    pub async fn begin_anew(&mut self) {
        self.begin();
        let running = self.running.as_ref().unwrap();
        let tenant = running.create_tenant("Anew").await.unwrap();
        let key = running.issue_key(&tenant.id, Mode::Test).await.unwrap();
        self.a = Client::new(&running.url, Some(&key));
    }

    /// The folder with all of the service's data.
    pub fn data(&self) -> &std::path::Path {
        &self.options.data
    }

    pub fn engine(&self) -> &Engine {
        &self.running.as_ref().unwrap().engine
    }

    /// Makes an operation of the bank misbehave.
    pub async fn behave(&self, operation: &str, mode: &str) {
        self.order(json!({"operation": operation, "mode": mode}))
            .await;
    }

    /// Makes an operation of the bank misbehave once.
    pub async fn once(&self, operation: &str, mode: &str) {
        self.order(json!({"operation": operation, "mode": mode, "count": 1}))
            .await;
    }

    pub async fn order(&self, order: Value) {
        self.patience.set(PATIENT);
        self.control
            .post("/sandbox/behaviour", &order)
            .await
            .is(200);
    }

    /// The bank takes this operation without answering: the service gives up soon, until it is told
    /// otherwise.
    pub async fn silence(&self, operation: &str) {
        self.behave(operation, "timeout").await;
        self.patience.set(IMPATIENT);
    }

    /// From now on the service gives up soon on a bank that is late.
    pub fn give_up_soon(&self) {
        self.patience.set(IMPATIENT);
    }

    /// Has the bank do everything correctly again.
    pub async fn heal(&self) {
        for operation in ["transfer", "transfer_status", "transfer_list", "cash_in"] {
            self.behave(operation, "ok").await;
        }
    }

    pub async fn bank(&self) -> Answer {
        self.control.get("/sandbox/state").await.is(200)
    }

    /// The bank's record of a transfer; there is never more than one.
    pub async fn at_bank(&self, transfer: &Value) -> Option<Value> {
        let state = self.bank().await;
        let all = state["transfers"].as_array().unwrap().iter();
        let mut ours = all.filter(|it| it["origin_id"] == transfer["originId"]);
        let found = ours.next().cloned();
        assert_eq!(ours.next(), None, "the bank has it twice");
        found
    }

    /// Waits until the bank has a transfer.
    pub async fn taken(&self, transfer: &Value) -> Value {
        wait_until("the bank has it", SOON, async || {
            self.at_bank(transfer).await
        })
        .await
    }

    /// Enables or disables the first account, as the wallet's clients do.
    pub async fn enable(&self, enabled: bool) {
        let cvu = Cvu::parse(&self.cvu).unwrap();
        let (realm, account) = self.engine().operators().locate(cvu).await.unwrap();
        let (target, order) = (Target::Account(account), ProfileOrder::SetEnabled(enabled));
        let requester = Requester {
            keyed: None,
            request_id: "enable".to_owned(),
            admitted: None,
        };
        let changed =
            self.engine()
                .ledger()
                .order(realm, ChangeProfile::new(target, order), requester);
        assert!(changed.await.is_ok());
    }

    /// Sends money to an external account, chosen by the digit of its alias.
    pub async fn send(&self, digit: u8, amount: &str) -> Value {
        let body = json!({
            "fromCvu": self.cvu,
            "to": {"alias": format!("destino.{digit}")},
            "amount": amount,
            "idExterno": format!("trf-{}", fresh()),
        });
        let sent = self.a.post("/v1/transfers", &body).await.is(201).json;
        assert_eq!(
            (&sent["kind"], &sent["status"]),
            (&json!("bank"), &json!("requested"))
        );
        // A repeated request returns the same transfer.
        let again = self.a.post("/v1/transfers", &body).await.is(201);
        assert!(again.replayed() && again["id"] == sent["id"]);
        sent
    }

    pub async fn read(&self, transfer: &Value) -> Value {
        let id = transfer["id"].as_str().unwrap();
        self.a
            .get(&format!("/v1/transfers/{id}"))
            .await
            .is(200)
            .json
    }

    /// Waits until a transfer has a status, and returns it.
    pub async fn ends(&self, transfer: &Value, status: &str) -> Value {
        wait_until(&format!("it is {status}"), SOON, async || {
            let now = self.read(transfer).await;
            (now["status"] == status).then_some(now)
        })
        .await
    }

    /// Waits until this call to the bank was made for a transfer, and returns the transfer.
    pub async fn called(&self, transfer: &Value, operation: &str, status: Option<u64>) -> Value {
        let wanted = (operation.to_owned(), status);
        wait_until(&format!("{operation} gave {status:?}"), SOON, async || {
            let now = self.read(transfer).await;
            calls(&now).contains(&wanted).then_some(now)
        })
        .await
    }

    /// Tells the bank how a transfer ends, or that it is reversed.
    pub async fn tell(&self, transfer: &Value, what: &str, body: Value) -> Answer {
        let origin = transfer["originId"].as_str().unwrap();
        let path = format!("/sandbox/transfers/{origin}/{what}");
        self.control.post(&path, &body).await
    }

    /// Has money arrive at the bank; returns its id on the rail.
    pub async fn cash_in(&self, cvu: &str, amount: &str, coelsa_id: Option<&str>) -> String {
        let mut body = json!({"cvu": cvu, "amount": amount});
        if let Some(id) = coelsa_id {
            body["coelsaId"] = json!(id);
        }
        let answer = self.control.post("/sandbox/cash-in", &body).await.is(200);
        answer["coelsaId"].as_str().unwrap().to_owned()
    }

    /// Waits until no notice is pending.
    pub async fn heard(&self) {
        wait_until("all notices are heard", SOON, async || {
            let state = self.bank().await;
            assert_eq!(state["notices"]["failed"], 0, "{}", state["notices"]);
            (state["notices"]["pending"] == 0).then_some(())
        })
        .await;
    }

    /// Sends a notice as the bank would.
    pub async fn notify(&self, notice: &Value) -> Answer {
        let secret = (sandbox::NOTICE_SECRET, now());
        deliver(&self.a, secret, notice, |body| body).await
    }

    /// Checks the total and the held amount of the first account.
    pub async fn has(&self, total: &str, held: &str) {
        let balance = self.a.balance(&self.cvu).await;
        assert_eq!(
            (&balance["total"], &balance["held"]),
            (&json!(total), &json!(held)),
            "{balance}"
        );
    }

    /// Waits until the first account has this total and this held amount.
    pub async fn gets(&self, total: &str, held: &str) {
        wait_until(&format!("total {total}, held {held}"), SOON, async || {
            let balance = self.a.balance(&self.cvu).await;
            (balance["total"] == total && balance["held"] == held).then_some(())
        })
        .await;
    }

    /// Today's reconciliation.
    pub async fn day(&self) -> Value {
        self.a.get("/v1/bank/conciliacion").await.is(200).json
    }

    /// The reconciliation's item for a movement, found by a field.
    pub async fn reconciled(&self, field: &str, value: &Value) -> Value {
        let day = self.day().await;
        let items = day["items"].as_array().unwrap().iter();
        let mut those = items.filter(|item| item[field] == *value);
        let found = those.next().cloned().unwrap_or_default();
        assert_eq!(those.next(), None, "{field} {value} is there twice");
        found
    }

    /// The vouchers of an account, oldest first, as `type amount`; checks that their sums are
    /// right.
    pub async fn statement(&self, cvu: &str) -> Vec<String> {
        let path = format!("/v1/accounts/{cvu}/movements?order=asc&limit=200");
        let rows = self.a.get(&path).await.is(200);
        let (mut available, mut held, mut found) = (0_i64, 0_i64, Vec::new());
        for (row, number) in rows.json.as_array().unwrap().iter().zip(1..) {
            let amount = centavos(&row["amount"]);
            let (free, apart) = match row["ledgerType"].as_str().unwrap() {
                "credit" => (amount, 0),
                "debit" => (-amount, 0),
                "hold" => (-amount, amount),
                "release" => (amount, -amount),
                _ => (0, -amount),
            };
            (available, held) = (available + free, held + apart);
            assert!(available >= 0 && held >= 0, "{row}");
            assert_eq!(row["sequence"], number);
            assert_eq!(centavos(&row["availableAfter"]), available);
            assert_eq!(centavos(&row["heldAfter"]), held);
            assert_eq!(centavos(&row["totalAfter"]), available + held);
            let words = (row["ledgerType"].as_str(), row["amount"].as_str());
            found.push(format!("{} {}", words.0.unwrap(), words.1.unwrap()));
        }
        let balance = self.a.balance(cvu).await;
        let both = (centavos(&balance["available"]), centavos(&balance["held"]));
        assert_eq!(both, (available, held));
        found
    }

    /// Checks that the account can do everything, that the books of both sides agree except for so
    /// many movements, and that the ledger matches its journal.
    pub async fn lives(&self, differences: u64) {
        self.heal().await;
        self.moves().await;
        self.heard().await;
        let day = self.day().await;
        let counts = [
            "missingInLedger",
            "missingAtBank",
            "amountDiffers",
            "suspense",
        ];
        let counts = counts.map(|name| day["summary"][name].as_u64().unwrap());
        assert_eq!(counts.iter().sum::<u64>(), differences, "{day:#}");
        let mut totals = 0;
        for cvu in [&self.cvu, &self.other] {
            self.statement(cvu).await;
            totals += centavos(&self.a.balance(cvu).await["total"]);
        }
        if differences == 0 {
            let bank = centavos(&self.bank().await["balance"]);
            assert_eq!(totals, FIRST + bank, "the bank's book and ours");
        }
        let report = caudal_actors::verify::engine(self.engine()).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }

    /// Makes one movement of every kind.
    async fn moves(&self) {
        let (a, cvu) = (&self.a, &self.cvu);
        a.credit(cvu, "5.00").await;
        a.debit(cvu, "5.00").await;
        let body = json!({"amount": "3.00", "idExterno": format!("hold-{}", fresh())});
        let hold = a.post(&format!("/v1/accounts/{cvu}/holds"), &body).await;
        let id = hold.is(201)["id"].as_str().unwrap().to_owned();
        let freed = a.post(&format!("/v1/holds/{id}/release"), &json!({})).await;
        assert_eq!(freed.is(200)["status"], "released");
        for (from, to) in [(cvu, &self.other), (&self.other, cvu)] {
            let body = json!({
                "fromCvu": from, "to": {"cvu": to}, "amount": "1.00",
                "idExterno": format!("p2p-{}", fresh()),
            });
            let sent = a.post("/v1/transfers", &body).await.is(201);
            assert_eq!(sent["status"], "completed");
        }
        let sent = self.send(0, "1.00").await;
        self.ends(&sent, "completed").await;
        let alias = json!({"alias": format!("vivo.{}", fresh())});
        a.put(&format!("/v1/accounts/{cvu}/alias"), &alias)
            .await
            .is(200);
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            canary::sings();
        }
    }
}

/// The calls to the bank that were made for a transfer, without logins.
pub fn calls(transfer: &Value) -> Vec<Called> {
    let all = transfer["bankCalls"].as_array().unwrap().iter();
    all.filter(|call| call["operation"] != "login")
        .map(|call| {
            let operation = call["operation"].as_str().unwrap().to_owned();
            (operation, call["status"].as_u64())
        })
        .collect()
}
