//! Notices to the service: a bounded queue and one sender.
//!
//! **Order.** First attempts go out in the order in which things happened, unless a behaviour says otherwise;
//! redeliveries come between them when they are due, at the [`Pace`] of the bank.
//!
//! **Bounds.** At most [`QUEUE_MAX`] notices wait; further ones are lost, and counted as failed. While there is no
//! address, the last [`UNADDRESSED_MAX`] wait for one. An attempt ends after [`Pace::attempt`].
//!
//! **Failure.** The queue is in memory: a notice that waits when the bank ends is never sent, as with any bank that
//! loses a notice. The lists of transfers have everything.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use caudal_ledger::time::Timestamp;
use caudal_signing::Message;
use reqwest::{Client, StatusCode, redirect, retry};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use url::Url;

use super::behaviours::{Behaviour, Mode};
use super::clock::now;
use super::locked;
use super::names::rail_id;
use super::shapes::Notice;

/// How many notices wait at most.
const QUEUE_MAX: usize = 10_000;
/// How many wait at most while there is no address.
const UNADDRESSED_MAX: usize = 100;
/// How many of the last notices are shown.
const SHOWN_MAX: usize = 100;

/// How fast notices are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// How long an attempt may take.
    pub attempt: Duration,
    /// How long after a failed attempt the next one comes.
    pub redeliveries: [Duration; 2],
    /// The longest that `reorder_notice` keeps a notice back.
    pub kept_back: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(3),
            redeliveries: [Duration::from_secs(1), Duration::from_secs(3)],
            kept_back: Duration::from_secs(2),
        }
    }
}

/// The address of notices, with its client.
#[derive(Clone, Debug)]
struct NoticeTarget {
    url: Url,
    client: Client,
}

/// A notice on its way.
#[derive(Clone, Debug)]
struct Delivery {
    id: String,
    notice: Arc<Notice>,
    redeliveries: usize,
    /// Whether it waits until a later notice has been sent before it.
    kept_back: bool,
    /// Its place in the order in which things happened.
    place: u64,
}

/// A notice as the view of the state shows it.
#[derive(Debug)]
struct Shown {
    place: u64,
    id: String,
    notice: Arc<Notice>,
    status: &'static str,
    attempts: usize,
    error: Option<String>,
}

#[derive(Default, Debug)]
struct State {
    pace: Pace,
    target: Option<NoticeTarget>,
    secret: Option<SecretString>,
    queue: BTreeMap<(Instant, u64), Delivery>,
    in_flight: usize,
    places: u64,
    sent: u64,
    failed: u64,
    lost: u64,
    last: VecDeque<Shown>,
}

impl State {
    fn shown(&mut self, delivery: &Delivery, status: &'static str) {
        while self.last.len() >= SHOWN_MAX {
            self.last.pop_front();
        }
        self.last.push_back(Shown {
            place: delivery.place,
            id: delivery.id.clone(),
            notice: Arc::clone(&delivery.notice),
            status,
            attempts: 0,
            error: None,
        });
    }

    fn mark(&mut self, place: u64, attempts: usize, status: &'static str, error: Option<String>) {
        if let Some(shown) = self.last.iter_mut().find(|shown| shown.place == place) {
            (shown.status, shown.attempts, shown.error) = (status, attempts, error);
        }
    }

    /// The next delivery.
    fn delivery(&mut self, id: &str, notice: &Arc<Notice>, kept_back: bool) -> Delivery {
        self.places += 1;
        Delivery {
            id: id.to_owned(),
            notice: Arc::clone(notice),
            redeliveries: 0,
            kept_back,
            place: self.places,
        }
    }

    fn push(&mut self, id: &str, notice: &Arc<Notice>, wait: Duration, kept_back: bool) {
        let delivery = self.delivery(id, notice, kept_back);
        self.shown(&delivery, "pending");
        if self.target.is_none() && self.queue.len() >= UNADDRESSED_MAX {
            if let Some((_, first)) = self.queue.pop_first() {
                self.failed += 1;
                self.mark(
                    first.place,
                    0,
                    "failed",
                    Some("there was no address".into()),
                );
            }
        } else if self.queue.len() >= QUEUE_MAX {
            self.failed += 1;
            self.mark(delivery.place, 0, "failed", Some("too many wait".into()));
            return;
        }
        self.queue.insert((after(wait), delivery.place), delivery);
    }

    /// Releases notices that were kept back until a later one was sent before them.
    fn let_go(&mut self, sent: u64) {
        let keys = self
            .queue
            .iter()
            .filter(|(_, it)| it.kept_back && it.place < sent);
        let keys: Vec<_> = keys.map(|(key, _)| *key).collect();
        for key in keys {
            if let Some(mut delivery) = self.queue.remove(&key) {
                delivery.kept_back = false;
                self.queue
                    .insert((Instant::now(), delivery.place), delivery);
            }
        }
    }

    fn ended(&mut self, mut delivery: Delivery, result: Result<(), String>) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let place = delivery.place;
        let attempts = delivery.redeliveries.saturating_add(1);
        let wait = self.pace.redeliveries.get(delivery.redeliveries).copied();
        match (result, wait) {
            (Ok(()), _) => {
                self.sent += 1;
                self.mark(place, attempts, "sent", None);
            }
            (Err(why), Some(wait)) => {
                self.mark(place, attempts, "pending", Some(why));
                delivery.redeliveries = attempts;
                delivery.kept_back = false;
                self.queue.insert((after(wait), place), delivery);
            }
            (Err(why), None) => {
                self.failed += 1;
                self.mark(place, attempts, "failed", Some(why));
            }
        }
        self.let_go(place);
    }
}

/// The instant after a wait.
fn after(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or(now)
}

/// The next step of the sender.
enum Step {
    Send(Box<(Delivery, NoticeTarget, SecretString)>),
    WaitUntil(Instant),
    Wait,
}

/// All waiting notices, and the results of the earlier ones.
#[derive(Debug)]
pub(super) struct Notices {
    state: Mutex<State>,
    news: Notify,
}

impl Notices {
    /// An empty queue that sends at a pace.
    pub(crate) fn at(pace: Pace) -> Self {
        let state = State {
            pace,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            news: Notify::new(),
        }
    }

    /// Sends notices to this address from now on; without an address they wait.
    pub(crate) fn address(
        &self,
        url: Option<&str>,
        secret: Option<SecretString>,
    ) -> Result<(), String> {
        let mut state = locked(&self.state);
        let target = url.map(|url| target(url, state.pace)).transpose()?;
        state.target = target;
        if secret.is_some() {
            state.secret = secret;
        }
        drop(state);
        self.news.notify_one();
        Ok(())
    }

    /// The secret that signs notices from now on.
    pub(crate) fn secret(&self) -> String {
        let state = locked(&self.state);
        let secret = state.secret.as_ref().map(ExposeSecret::expose_secret);
        secret.unwrap_or_default().to_owned()
    }

    /// Adds a notice that happened after all the earlier ones.
    pub(crate) fn post(&self, notice: Notice, behaviour: &Behaviour) {
        let id = rail_id().unwrap_or_default();
        let id = format!("NT{id}");
        let notice = Arc::new(notice);
        let mut state = locked(&self.state);
        match behaviour.mode {
            Mode::LoseNotice => {
                state.lost += 1;
                let delivery = state.delivery(&id, &notice, false);
                state.shown(&delivery, "lost");
            }
            Mode::DuplicateNotice => {
                state.push(&id, &notice, Duration::ZERO, false);
                state.push(&id, &notice, Duration::ZERO, false);
            }
            Mode::ReorderNotice => {
                let most = state.pace.kept_back;
                state.push(&id, &notice, most, true);
            }
            Mode::Late => state.push(&id, &notice, behaviour.delay(), false),
            _ => state.push(&id, &notice, Duration::ZERO, false),
        }
        drop(state);
        self.news.notify_one();
    }

    fn step(&self) -> Step {
        let mut state = locked(&self.state);
        let (Some(target), Some(secret)) = (state.target.clone(), state.secret.clone()) else {
            return Step::Wait;
        };
        let Some(first) = state.queue.first_entry() else {
            return Step::Wait;
        };
        let due = first.key().0;
        if due > Instant::now() {
            return Step::WaitUntil(due);
        }
        let delivery = first.remove();
        state.in_flight += 1;
        Step::Send(Box::new((delivery, target, secret)))
    }

    /// Sends notices as they come, until the bank stops.
    pub(crate) async fn run(&self, mut leaving: watch::Receiver<bool>) {
        let sending = async {
            loop {
                match self.step() {
                    Step::Send(it) => {
                        let (delivery, target, secret) = *it;
                        let result = attempt(&delivery, &target, &secret).await;
                        if let Err(why) = &result {
                            tracing::debug!(%why, kind = delivery.notice.kind, "notice refused");
                        }
                        locked(&self.state).ended(delivery, result);
                    }
                    Step::WaitUntil(due) => {
                        // Both the timeout and the notification end the wait.
                        tokio::time::timeout_at(due.into(), self.news.notified())
                            .await
                            .ok();
                    }
                    Step::Wait => self.news.notified().await,
                }
            }
        };
        tokio::select! {
            () = sending => {}
            _ = leaving.wait_for(|leaving| *leaving) => {}
        }
    }

    /// The notices as the view of the state shows them, the newest first.
    pub(crate) fn view(&self) -> Value {
        let state = locked(&self.state);
        let last = state.last.iter().rev().map(|it| {
            json!({
                "id": it.id,
                "type": it.notice.kind,
                "coelsaId": it.notice.data.get("coelsa_id"),
                "originId": it.notice.data.get("origin_id"),
                "status": it.status,
                "attempts": it.attempts,
                "error": it.error,
            })
        });
        let last: Vec<_> = last.collect();
        json!({
            "url": state.target.as_ref().map(|target| target.url.as_str()),
            "sent": state.sent,
            "failed": state.failed,
            "lost": state.lost,
            "pending": state.queue.len().saturating_add(state.in_flight),
            "last": last,
        })
    }
}

fn target(url: &str, pace: Pace) -> Result<NoticeTarget, String> {
    let url = Url::parse(url).map_err(|why| format!("the address of notices: {why}"))?;
    let builder = match url.scheme() {
        "https" => Client::builder().https_only(true),
        // The sandbox must run where no certificates are installed; then no server is trusted.
        "http" => Client::builder().tls_certs_only([]),
        _ => return Err("the address of notices must be http or https".into()),
    };
    let client = builder
        .user_agent(concat!("caudal-sandbox/", env!("CARGO_PKG_VERSION")))
        .timeout(pace.attempt)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .no_proxy()
        // A connection that the service has already closed must not cost a redelivery.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|why| format!("the client of notices: {why}"))?;
    Ok(NoticeTarget { url, client })
}

async fn attempt(
    delivery: &Delivery,
    target: &NoticeTarget,
    secret: &SecretString,
) -> Result<(), String> {
    let (id, notice) = (&delivery.id, &delivery.notice);
    let body = json!({
        "id": id,
        "object": "event",
        "created": Timestamp::from_millis(notice.at).to_string(),
        "type": notice.kind,
        "redeliveries": delivery.redeliveries,
        "data": notice.data,
    })
    .to_string();
    let stamp = (now() / 1_000).to_string();
    let message = Message {
        id,
        timestamp: &stamp,
        body: body.as_bytes(),
    };
    let signed = message.sign(secret.expose_secret().as_bytes());
    let answer = target
        .client
        .post(target.url.clone())
        .header("content-type", "application/json")
        .header("webhook-id", id)
        .header("webhook-timestamp", stamp)
        .header("webhook-signature", signed)
        .body(body)
        .send()
        .await
        .map_err(|why| why.without_url().to_string())?;
    match answer.status() {
        StatusCode::OK => Ok(()),
        other => Err(format!("the answer was {}", other.as_u16())),
    }
}
