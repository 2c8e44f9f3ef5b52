//! Notices as the bank writes them, and how they are signed and sent.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_bank::notices::route::PATH;

use crate::support::client::fresh;
use crate::support::{Answer, Client, Value, json};

/// Sends a notice, signed with a secret and a time; `change` alters the body after signing.
pub async fn deliver(
    client: &Client,
    (secret, seconds): (&str, u64),
    notice: &Value,
    change: impl Fn(String) -> String,
) -> Answer {
    let (id, body) = (format!("NT{}", fresh()), notice.to_string());
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{id}.{seconds}.{body}").as_bytes());
    let signature = format!("v1,{}", STANDARD.encode(tag));
    let call = client.with_key(None).call("POST", PATH).text(change(body));
    call.header("webhook-id", &id)
        .header("webhook-timestamp", &seconds.to_string())
        .header("webhook-signature", &signature)
        .await
}

/// The present time, in seconds since 1970.
pub fn now() -> u64 {
    caudal_http::clock::now().millis() / 1_000
}

/// An id like those of the rail.
pub fn rail_id() -> String {
    format!("FAILURE{:015}", fresh())
}

/// A notice of this kind, in its envelope.
pub fn notice(kind: &str, data: &Value) -> Value {
    json!({
        "id": format!("EV{}", fresh()),
        "object": "event",
        "created": caudal_http::clock::now().to_string(),
        "type": kind,
        "redeliveries": 0,
        "data": data,
    })
}

/// The notice of money that arrived.
pub fn received(cvu: &str, amount: &str, coelsa_id: &str) -> Value {
    let data = json!({
        "id": format!("1-20123456786-{}-0", fresh()),
        "coelsa_id": coelsa_id,
        "type": "TRANSFERENCIA",
        "value": {"currency": "ARS", "amount": amount},
        "details": {"origin_debit": {}, "origin_credit": {"cvu": cvu}},
    });
    notice("transfer.cvu.received", &data)
}

/// The notice of a transfer that came back.
pub fn reversed(transfer: &Value, amount: &str, coelsa_id: &str) -> Value {
    let data = json!({
        "id": transfer["bankTransferId"],
        "origin_id": transfer["originId"],
        "coelsa_id": coelsa_id,
        "value": {"currency": "ARS", "amount": amount},
        "reason": "La cuenta destino la devuelve",
    });
    notice("transfer.cvu.reversed", &data)
}

/// The notice of a transfer that ended.
pub fn ended(transfer: &Value, status: &str) -> Value {
    let kind = match status {
        "COMPLETED" => "transfer.cvu.completed",
        _ => "transfer.cvu.rejected",
    };
    let data = json!({
        "id": "1-20123456786-1-0",
        "origin_id": transfer["originId"],
        "coelsa_id": rail_id(),
        "status": status,
        "value": {"currency": "ARS", "amount": transfer["amount"]},
    });
    notice(kind, &data)
}
