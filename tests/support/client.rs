//! A small client: one call per line, and answers that check themselves.

use std::future::IntoFuture;
use std::ops::Index;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::{canary, cuit};

/// Numbers for names that must be unique.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// A number that no other test of this process gets.
pub fn fresh() -> u32 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A connection pool to the loopback that trusts nobody and follows nothing.
pub fn http() -> reqwest::Client {
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        // The sandbox bank closes a connection that is idle for five seconds, and a request must not meet that.
        .pool_idle_timeout(Duration::from_secs(2))
        .build()
        .unwrap()
}

/// A client with a key, or without one.
#[derive(Clone)]
pub struct Client {
    pub http: reqwest::Client,
    pub url: String,
    pub key: Option<String>,
}

impl Client {
    pub fn new(url: &str, key: Option<&str>) -> Self {
        canary::watch();
        key.into_iter().for_each(canary::learn);
        Self {
            http: http(),
            url: url.to_owned(),
            key: key.map(str::to_owned),
        }
    }

    /// The same connection with another key, or with none.
    pub fn with_key(&self, key: Option<&str>) -> Self {
        Self {
            key: key.map(str::to_owned),
            ..self.clone()
        }
    }

    pub fn call(&self, method: &str, path: &str) -> Call {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(key) = &self.key {
            request = request.header("x-api-key", key);
        }
        Call(request)
    }

    pub fn get(&self, path: &str) -> Call {
        self.call("GET", path)
    }

    pub fn post(&self, path: &str, body: &Value) -> Call {
        self.call("POST", path).json(body)
    }

    pub fn patch(&self, path: &str, body: &Value) -> Call {
        self.call("PATCH", path).json(body)
    }

    pub fn put(&self, path: &str, body: &Value) -> Call {
        self.call("PUT", path).json(body)
    }

    pub fn delete(&self, path: &str) -> Call {
        self.call("DELETE", path)
    }

    /// Opens an account of a new holder; returns its body.
    pub async fn open_account(&self) -> Value {
        let number = fresh();
        self.open_with(
            json!({"cuit": cuit(number), "holderName": format!("Holder Number {number}")}),
        )
        .await
    }

    /// Opens an account with this body; returns the account's body.
    pub async fn open_with(&self, body: Value) -> Value {
        let key = format!("open-{}", fresh());
        self.post("/v1/accounts", &body)
            .key(&key)
            .await
            .is(201)
            .json
    }

    /// Opens an account; returns its CVU.
    pub async fn cvu(&self) -> String {
        self.open_account().await["cvu"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Creates a voucher type; returns its body.
    pub async fn create_type(&self, code: &str, sense: &str) -> Value {
        let body = json!({"code": code, "name": format!("Type {code}"), "sense": sense});
        self.post("/v1/voucher-types", &body).await.is(201).json
    }

    /// The types `IN` (credit) and `OUT` (debit).
    pub async fn in_and_out(&self) {
        self.create_type("IN", "credit").await;
        self.create_type("OUT", "debit").await;
    }

    /// Posts a voucher of a type.
    pub fn voucher(&self, cvu: &str, code: &str, amount: &str, id_externo: &str) -> Call {
        let body = json!({"voucherTypeCode": code, "amount": amount, "idExterno": id_externo});
        self.post(&format!("/v1/accounts/{cvu}/comprobantes"), &body)
    }

    /// Posts a credit of the type `IN` with a new external id.
    pub async fn credit(&self, cvu: &str, amount: &str) -> Value {
        self.voucher(cvu, "IN", amount, &format!("in-{}", fresh()))
            .await
            .is(201)
            .json
    }

    /// Posts a debit of the type `OUT` with a new external id.
    pub async fn debit(&self, cvu: &str, amount: &str) -> Value {
        self.voucher(cvu, "OUT", amount, &format!("out-{}", fresh()))
            .await
            .is(201)
            .json
    }

    /// Opens a hold with a new external id; returns its body.
    pub async fn hold(&self, cvu: &str, amount: &str) -> Value {
        let body = json!({"amount": amount, "idExterno": format!("hold-{}", fresh())});
        let path = format!("/v1/accounts/{cvu}/holds");
        self.post(&path, &body).await.is(201).json
    }

    /// Takes a step of a hold, such as a capture, for this amount.
    pub fn step(&self, hold: &Value, step: &str, amount: &str) -> Call {
        let id = hold["id"].as_str().unwrap();
        let path = format!("/v1/holds/{id}/{step}");
        self.post(&path, &json!({"amount": amount}))
    }

    /// Sends a transfer with a new external id.
    pub fn transfer(&self, from: &str, to: Value, amount: &str) -> Call {
        let id = format!("transfer-{}", fresh());
        let body = json!({"fromCvu": from, "to": to, "amount": amount, "idExterno": id});
        self.post("/v1/transfers", &body)
    }

    /// Waits until a transfer has this status; returns its body.
    pub async fn settled(&self, transfer: &Value, status: &str) -> Value {
        let id = transfer["id"].as_str().unwrap();
        let path = format!("/v1/transfers/{id}");
        let what = format!("{id} {status}");
        let reached = async || {
            let read = self.get(&path).await.is(200);
            (read["status"] == status).then_some(read.json)
        };
        super::wait_until(&what, super::SOON, reached).await
    }

    /// The available and the held amount of an account.
    pub async fn funds(&self, cvu: &str) -> (String, String) {
        let balance = self.balance(cvu).await;
        let text = |name: &str| balance[name].as_str().unwrap().to_owned();
        (text("available"), text("held"))
    }

    /// The balance of an account.
    pub async fn balance(&self, cvu: &str) -> Value {
        self.get(&format!("/v1/accounts/{cvu}/balance"))
            .await
            .is(200)
            .json
    }

    /// The available amount of an account.
    pub async fn available(&self, cvu: &str) -> String {
        self.balance(cvu).await["available"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// A request that is sent when it is awaited.
pub struct Call(reqwest::RequestBuilder);

impl Call {
    pub fn json(self, body: &Value) -> Self {
        canary::learn_of(body);
        self.text(body.to_string())
    }

    /// Sends a body that claims to be JSON, whatever it is.
    pub fn text(self, body: impl Into<reqwest::Body>) -> Self {
        Self(self.0.header("content-type", "application/json").body(body))
    }

    pub fn header(self, name: &str, value: &str) -> Self {
        Self(self.0.header(name, value))
    }

    /// Sends a body without a content type.
    pub fn body(self, body: String) -> Self {
        Self(self.0.body(body))
    }

    pub fn key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    /// The underlying request, for calls that this client has no method for.
    pub fn raw(self) -> reqwest::RequestBuilder {
        self.0
    }

    /// Sends the request; `None` when the connection ended without an answer.
    pub async fn answer(self) -> Option<Answer> {
        let response = self.0.send().await.ok()?;
        Answer::read(response).await
    }
}

impl IntoFuture for Call {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let response = self.0.send().await.unwrap();
            Answer::read(response).await.unwrap()
        })
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
    /// The body as text, as far as it is one.
    pub text: String,
    /// The body as JSON; null if it is not JSON.
    pub json: Value,
}

impl Answer {
    async fn read(response: reqwest::Response) -> Option<Self> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.ok()?.to_vec();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let json = serde_json::from_str(&text).unwrap_or_default();
        canary::learn_of(&json);
        canary::sings();
        Some(Self {
            status,
            headers,
            bytes,
            text,
            json,
        })
    }

    /// Fails with the whole answer unless it has this status.
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Checks that this is a whole and consistent error body of this status and code.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Self {
        let answer = self.is(status);
        assert_eq!(answer["code"], code, "{}", answer.text);
        answer.error()
    }

    /// Checks that this is a whole and consistent error body.
    #[track_caller]
    pub fn error(self) -> Self {
        let text = |name: &str| {
            self[name]
                .as_str()
                .unwrap_or_else(|| panic!("no {name}: {}", self.text))
        };
        assert_eq!(
            self.header("content-type"),
            "application/json",
            "{}",
            self.text
        );
        assert_eq!(self["statusCode"], self.status, "{}", self.text);
        assert!(!text("message").is_empty());
        let code = text("code");
        assert!(
            !code.is_empty() && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{code}"
        );
        let timestamp = text("timestamp");
        assert!(
            timestamp.len() == 24 && timestamp.ends_with('Z'),
            "{timestamp}"
        );
        assert_eq!(text("requestId"), self.header("x-request-id"));
        let allowed = [
            "statusCode",
            "message",
            "timestamp",
            "code",
            "requestId",
            "bankStatus",
            "bankBody",
            "errors",
            "details",
        ];
        for name in self.json.as_object().unwrap().keys() {
            assert!(allowed.contains(&name.as_str()), "{name} in {}", self.text);
        }
        self
    }

    /// A header as text; empty when it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap())
            .unwrap_or_default()
    }

    /// The body of an error without the fields that differ from request to request.
    pub fn essence(&self, id: &str) -> Value {
        let mut body = self.json.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.remove("timestamp");
            fields.remove("requestId");
        }
        if id.is_empty() {
            return body;
        }
        serde_json::from_str(&body.to_string().replace(id, "<id>")).unwrap()
    }

    /// Whether the answer is marked as a replay.
    pub fn replayed(&self) -> bool {
        self.header("idempotent-replayed") == "true"
    }
}

impl Index<&str> for Answer {
    type Output = Value;
    fn index(&self, name: &str) -> &Value {
        &self.json[name]
    }
}
