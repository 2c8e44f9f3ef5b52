//! The admin API of a running service, as the commands call it.

use std::path::PathBuf;
use std::time::Duration;

use caudal_http::catalogue;
use caudal_http::secret_lines::newest;
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, ClientBuilder, Method, Response, StatusCode, Url, redirect};
use secrecy::SecretString;
use serde_json::Value;

use super::Exit;
use super::dev::{DATA, DevFile};

/// How long a command waits for an answer, unless the service has much to read for it.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// How often a command waits because it asks too fast, for one answer.
const TRIES_MAX: u32 = 5;
const MINUTE: Duration = Duration::from_secs(60);

/// Which service is meant.
#[derive(Debug, clap::Args)]
pub(super) struct WhichService {
    /// The address of the admin API, for instance http://127.0.0.1:8081; that of the running
    /// `caudal dev` unless set
    #[arg(long, value_name = "URL", env = "CAUDAL_ADMIN_URL")]
    // Read when it is needed: what is exported for other commands stops none.
    admin_url: Option<String>,
    /// Your credential or the admin key; prefer the variable to the command line
    #[arg(
        long,
        value_name = "KEY",
        env = "CAUDAL_ADMIN_KEY",
        hide_env_values = true
    )]
    admin_key: Option<SecretString>,
}

/// Which service, why, and how its answer is shown.
#[derive(Debug, clap::Args)]
pub(super) struct Asking {
    #[command(flatten)]
    which: WhichService,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// Why you do it, for the audit log; needed by whatever changes something, as soon as there are people
    #[arg(long, value_name = "TEXT", env = "CAUDAL_REASON")]
    reason: Option<String>,
}

/// A connection to a service's admin API.
#[derive(Clone, Debug)]
pub(super) struct Remote {
    base: Url,
    key: SecretString,
    client: Client,
    reason: Option<String>,
}

/// What a service returned for a request that it did not refuse.
#[derive(Debug)]
pub(super) struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The body; null if there is none.
    pub json: Value,
}

impl Asking {
    /// The service to call.
    pub(super) fn find(self) -> Result<Remote, Exit> {
        let remote = self.which.find()?;
        Ok(Remote {
            reason: self.reason,
            ..remote
        })
    }
}

impl WhichService {
    /// Finds the service: by its address, or else by the file that `caudal dev` wrote into `./caudal-data`.
    pub(super) fn find(self) -> Result<Remote, Exit> {
        let dev = DevFile::read(&PathBuf::from(DATA))?;
        let (base, key) = match (self.admin_url, self.admin_key, dev) {
            (Some(url), Some(key), _) => {
                let wrong = |why| Exit::usage(format!("the admin URL {url:?}: {why}"));
                (url.parse::<Url>().map_err(wrong)?, key)
            }
            (None, key, Some(dev)) => {
                let url = dev.admin_url.parse().map_err(Exit::failed)?;
                (url, key.unwrap_or_else(|| dev.admin_key.into()))
            }
            (Some(_), None, _) => {
                return Err(Exit::usage(
                    "no admin key: set CAUDAL_ADMIN_KEY or --admin-key",
                ));
            }
            (None, _, None) => {
                return Err(Exit::usage(format!(
                    "which service? Set CAUDAL_ADMIN_URL or --admin-url, or run this where \
                     {DATA}/dev.json of a running `caudal dev` is"
                )));
            }
        };
        Remote::of(base, key)
    }
}

impl Remote {
    /// The service with this admin URL.
    pub(super) fn to(url: &str, key: SecretString) -> Result<Self, Exit> {
        Self::of(url.parse().map_err(Exit::failed)?, key)
    }

    fn of(base: Url, key: SecretString) -> Result<Self, Exit> {
        Ok(Self {
            client: client(&[&base]).build().map_err(Exit::failed)?,
            base,
            key,
            reason: None,
        })
    }

    /// Another service, called with the same key.
    pub(super) fn also(&self, url: &str) -> Result<Self, Exit> {
        let wrong = |why| Exit::usage(format!("the admin URL {url:?}: {why}"));
        Self::of(url.parse::<Url>().map_err(wrong)?, self.key.clone())
    }

    /// Sends a request with `body` as JSON. Returns the answer's JSON, or null if it has none.
    pub(super) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Exit> {
        let reply = self.send(method, path, body, Some(TIMEOUT)).await?;
        Ok(reply.json)
    }

    /// Sends a request, and waits for the answer no longer than the given time. Returns the status with the answer.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        timeout: Option<Duration>,
    ) -> Result<Reply, Exit> {
        let answer = self.answer(method, path, body, timeout).await?;
        let status = answer.status();
        let text = answer.text().await.map_err(|why| self.away(&why))?;
        if status.is_success() && text.is_empty() {
            let json = Value::Null;
            return Ok(Reply { status, json });
        }
        let json: Option<Value> = serde_json::from_str(&text).ok();
        match json {
            Some(json) if status.is_success() => Ok(Reply { status, json }),
            Some(json) => Err(Exit::failed(refusal(&json))),
            None => Err(Exit::failed(format!(
                "{} answered {status} and no JSON: is it the admin API of Caudal?",
                self.base
            ))),
        }
    }

    /// Reads a file, of this many bytes at most.
    pub(super) async fn bytes(&self, path: &str, most: u64) -> Result<Vec<u8>, Exit> {
        let mut answer = self.answer(Method::GET, path, None, None).await?;
        if !answer.status().is_success() {
            let status = answer.status();
            let body: Value = answer.json().await.unwrap_or(Value::Null);
            return Err(Exit::failed(format!("{status}: {}", refusal(&body))));
        }
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(|why| self.away(&why))? {
            bytes.extend_from_slice(&part);
            if u64::try_from(bytes.len()).is_ok_and(|size| size > most) {
                return Err(Exit::failed(format!(
                    "the answer has more than {most} bytes"
                )));
            }
        }
        Ok(bytes)
    }

    fn away(&self, why: &reqwest::Error) -> Exit {
        let source = std::error::Error::source(why).map(ToString::to_string);
        let why = source.unwrap_or_else(|| why.to_string());
        Exit::failed(format!(
            "{} does not answer: {why}. Is the service running, and is this its admin listener?",
            self.base
        ))
    }

    /// Sends a request, again where the service limits the rate.
    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        timeout: Option<Duration>,
    ) -> Result<Response, Exit> {
        let url = self.base.join(path).map_err(Exit::failed)?;
        let request = self.client.request(method, url);
        let mut request = request.header("x-admin-key", newest(&self.key));
        if let Some(reason) = &self.reason {
            request = request.header("x-reason", reason.as_bytes());
        }
        if let Some(timeout) = timeout {
            request = request.timeout(timeout);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let mut tries = 0;
        loop {
            let again = request.try_clone();
            let answer = request.send().await.map_err(|why| self.away(&why))?;
            let (Some(again), Some(wait)) = (again, too_fast(&answer)) else {
                return Ok(answer);
            };
            tries += 1;
            if tries > TRIES_MAX {
                return Ok(answer);
            }
            tokio::time::sleep(wait).await;
            request = again;
        }
    }
}

/// A client that follows no redirections and uses no proxy, for these addresses.
pub(super) fn client(to: &[&Url]) -> ClientBuilder {
    let client = Client::builder()
        .redirect(redirect::Policy::none())
        .no_proxy();
    if to.iter().all(|url| url.scheme() == "http") {
        // Plain HTTP needs no certificates, so machines without any are supported.
        client.tls_certs_only([])
    } else {
        client
    }
}

/// The error of an answer of the API that is a refusal.
pub(super) async fn refused(answer: Response) -> Exit {
    let status = answer.status();
    let body: Value = answer.json().await.unwrap_or(Value::Null);
    Exit::failed(format!("{status}: {}", shown(&body, "message")))
}

/// How long a service that limits the rate asks to wait, a minute at most.
fn too_fast(answer: &Response) -> Option<Duration> {
    let wait = answer.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let wait = Duration::from_secs(wait.parse().ok()?);
    (answer.status() == StatusCode::TOO_MANY_REQUESTS && wait <= MINUTE).then_some(wait)
}

/// The message of an error body, and what the catalogue of errors says about its code.
pub(super) fn refusal(body: &Value) -> String {
    let message = body
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or("refused");
    let code = body.get("code").and_then(Value::as_str);
    let errors = body.get("errors").and_then(Value::as_array);
    let errors = errors.map(Vec::as_slice).unwrap_or_default();
    let mut text = message.to_owned();
    for error in errors.iter().filter(|_| errors.len() > 1) {
        let part = |name| error.get(name).and_then(Value::as_str).unwrap_or_default();
        text.push_str(&format!("\n  {} {}", part("field"), part("message")));
    }
    // The fields that are wrong say it better than the catalogue.
    let entries = catalogue::errors();
    let mut entries = entries.iter().filter(|_| errors.is_empty());
    if let Some(entry) = entries.find(|it| Some(it.code) == code) {
        text.push_str(&format!("\n{}: {}", entry.code, entry.then));
    }
    text
}

/// A field of an answer in readable form.
pub(super) fn shown(value: &Value, field: &str) -> String {
    match value.get(field) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(all)) if all.iter().all(Value::is_string) => {
            let words: Vec<_> = all.iter().filter_map(Value::as_str).collect();
            words.join(" ")
        }
        Some(other) => other.to_string(),
    }
}

/// The items of a list.
pub(super) fn items(list: &Value) -> &[Value] {
    let items = list.get("items").and_then(Value::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}
