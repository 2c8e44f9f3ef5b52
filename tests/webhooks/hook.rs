//! A webhook as its tenant sees it, over HTTP.

use std::time::Duration;

use caudal_http::webhooks::AttemptLimits;
use caudal_ledger::deliveries::Schedule;

use crate::support::{Client, SOON, Setup, Value, json, wait_until};

/// A service that waits for milliseconds where the documents say minutes.
pub fn quick() -> Setup {
    Setup {
        schedule: Schedule {
            pauses: [30; 9],
            brake: [30; 5],
        },
        ..Setup::default()
    }
}

/// The same service with little patience for answers.
pub fn hasty() -> Setup {
    Setup {
        attempt: AttemptLimits::within(Duration::from_secs(2)),
        ..quick()
    }
}

/// A webhook of a tenant; see the module.
pub struct Hook {
    pub id: String,
    /// Its path in the API.
    pub path: String,
    pub secret: String,
    pub client: Client,
}

impl Hook {
    /// Creates a webhook for all events.
    pub async fn new(client: &Client, url: &str) -> Self {
        Self::with(client, &json!({"url": url})).await
    }

    pub async fn of(client: &Client, url: &str, types: &[&str]) -> Self {
        Self::with(client, &json!({"url": url, "types": types})).await
    }

    pub async fn with(client: &Client, body: &Value) -> Self {
        let made = client.post("/v1/webhooks", body).await.is(201);
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Self {
            path: format!("/v1/webhooks/{}", text("id")),
            id: text("id"),
            secret: text("secret"),
            client: client.clone(),
        }
    }

    pub async fn read(&self) -> Value {
        self.client.get(&self.path).await.is(200).json
    }

    pub async fn change(&self, body: &Value) -> Value {
        self.client.patch(&self.path, body).await.is(200).json
    }

    /// Waits until the webhook has this status; returns it.
    pub async fn reaches(&self, status: &str) -> Value {
        let what = format!("{} {status}", self.id);
        wait_until(&what, SOON, async || {
            let read = self.read().await;
            (read["status"] == status).then_some(read)
        })
        .await
    }

    /// Waits until the service has nothing more to send to it; returns the webhook.
    pub async fn caught_up(&self, limit: Duration) -> Value {
        let what = format!("{} has caught up", self.id);
        wait_until(&what, limit, async || {
            let read = self.read().await;
            let progress = &read["progress"];
            (progress["behind"] == 0 && progress["waiting"] == 0).then_some(read)
        })
        .await
    }

    /// The deliveries that a query finds, from all pages.
    pub async fn deliveries(&self, query: &str) -> Vec<Value> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("{}/deliveries?{query}&cursor={cursor}", self.path);
            let page = self.client.get(&path).await.is(200);
            page.header("x-next-cursor").clone_into(&mut cursor);
            assert_eq!(page["next"].as_str().unwrap_or_default(), cursor);
            found.extend(page["items"].as_array().unwrap().iter().cloned());
            if cursor.is_empty() {
                return found;
            }
        }
    }

    /// Waits until a query finds this many deliveries; returns them.
    pub async fn lists(&self, query: &str, count: usize) -> Vec<Value> {
        let what = format!("{count} deliveries of {} for {query}", self.id);
        wait_until(&what, SOON, async || {
            let found = self.deliveries(query).await;
            (found.len() == count).then_some(found)
        })
        .await
    }
}

/// The whole feed of a realm.
pub async fn feed(client: &Client) -> Vec<Value> {
    let page = client.get("/v1/events?limit=200").await.is(200);
    assert_eq!(page["next"], Value::Null);
    page["items"].as_array().unwrap().clone()
}
