//! The rows of events and webhooks.

use super::{Ids, ROW, Row};
use crate::support::client::fresh;
use crate::support::{Client, SOON, json, wait_until};

/// An address where nobody listens.
const NOWHERE: &str = "http://127.0.0.1:1/caudal";

/// A webhook of the realm: an existing one if possible, since a realm may have only a few.
pub async fn webhook(client: &Client) -> String {
    let there = client.get("/v1/webhooks").await.is(200);
    let made = match there.json[0]["id"].as_str() {
        Some(id) => return id.to_owned(),
        None => client.post("/v1/webhooks", &json!({"url": NOWHERE})).await,
    };
    made.is(201)["id"].as_str().unwrap().to_owned()
}

/// An event and its delivery to a webhook, once a first attempt was made.
pub async fn delivery(client: &Client, ids: &Ids) -> (String, String) {
    let path = format!("/v1/webhooks/{}/deliveries", ids.webhook);
    wait_until("a delivery", SOON, async || {
        let answer = client.get(&path).await;
        let first = &answer["items"][0];
        let id = first["id"].as_str()?.to_owned();
        Some((first["eventId"].as_str()?.to_owned(), id))
    })
    .await
}

#[expect(clippy::too_many_lines, reason = "a table")]
pub fn rows() -> Vec<Row> {
    let webhook = Row {
        path: |ids| vec![&ids.webhook],
        ..ROW
    };
    vec![
        Row {
            operation: "listEvents",
            query: "?types=voucher.created,hold.*&limit=5",
            ..ROW
        },
        Row {
            operation: "streamEvents",
            endless: true,
            ..ROW
        },
        Row {
            operation: "listWebhooks",
            ..ROW
        },
        Row {
            operation: "createWebhook",
            status: 201,
            body: Some(|_| json!({"url": NOWHERE, "types": ["hold.*"], "description": "Año"})),
            ..ROW
        },
        Row {
            operation: "readWebhook",
            ..webhook
        },
        Row {
            operation: "changeWebhook",
            body: Some(
                |_| json!({"types": null, "description": format!("row {}", fresh()), "active": true}),
            ),
            ..webhook
        },
        Row {
            operation: "deleteWebhook",
            status: 204,
            ..webhook
        },
        Row {
            operation: "rotateWebhookSecret",
            body: Some(|_| json!({"overlapSeconds": 60})),
            bodiless: true,
            ..webhook
        },
        Row {
            operation: "testWebhook",
            body: Some(|_| json!({})),
            bodiless: true,
            ..webhook
        },
        Row {
            operation: "listWebhookDeliveries",
            query: "?status=failing&limit=5&order=asc",
            tried: true,
            ..webhook
        },
        Row {
            operation: "redeliver",
            status: 202,
            path: |ids| vec![&ids.delivery],
            body: Some(|_| json!({})),
            bodiless: true,
            tried: true,
            ..ROW
        },
        Row {
            operation: "redeliverRange",
            status: 202,
            body: Some(|ids| json!({"from": ids.event})),
            tried: true,
            ..webhook
        },
    ]
}
