//! The sending side of webhooks against receivers of every kind, with a verifier that shares no code with
//! ours.

mod addresses;
mod deliveries;
pub mod hook;
pub mod inbox;
mod patience;
pub mod receiver;
mod receivers;
mod tenants;
pub mod verifier;

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caudal_actors::ports::webhooks::{
    AttemptResult, NoResponse, Parcel, ParcelContents, WebhookSink,
};
use caudal_http::webhooks::resolve::{LookingUp, NameLookup};
use caudal_http::webhooks::{AllowedAddresses, AttemptLimits, HttpSink, Sealer, SigningSecret};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::events::{Event, EventId, EventKind, Subject};
use caudal_ledger::ids::{AccountNo, RealmId, Tag};
use caudal_ledger::money::Amount;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{CashIn, Counterparty, Suspense};
use caudal_ledger::webhooks::WebhookFormat;
use secrecy::ExposeSecret as _;

use crate::support::{SOON, Value, json};
use receiver::Receiver;
use verifier::{Doubt, NEAR, check};

const PEPPER: &str = "a pepper of tests";
const TENANT: &str = "tnt_first";
const AT: &str = "2026-03-02T15:04:05.678Z";

fn at() -> Timestamp {
    Timestamp::parse(AT).unwrap()
}

/// The time of the attempts, in seconds.
fn seconds() -> u64 {
    at().millis() / 1_000
}

/// A machine's resolver that gives these answers in order, and repeats the last one.
#[derive(Debug, Default)]
struct Names(Mutex<Vec<Vec<IpAddr>>>);

impl Names {
    fn saying(answers: &[&[&str]]) -> Arc<Self> {
        let read = |texts: &&[&str]| texts.iter().map(|ip| ip.parse().unwrap()).collect();
        Arc::new(Self(Mutex::new(answers.iter().map(read).collect())))
    }
}

impl NameLookup for Names {
    fn lookup(&self, name: &str) -> LookingUp {
        let mut answers = self.0.lock().unwrap();
        let answer = match answers.len() {
            0 => Err(io::Error::other(format!("nobody knows {name}"))),
            1 => Ok(answers[0].clone()),
            _ => Ok(answers.remove(0)),
        };
        Box::pin(async { answer })
    }
}

fn sink_with(reach: AllowedAddresses, limits: AttemptLimits, names: &Arc<Names>) -> HttpSink {
    let sealer = Sealer::new(&PEPPER.into()).unwrap();
    HttpSink::with(reach, sealer, limits, Arc::<Names>::clone(names)).unwrap()
}

/// A sink that reaches this machine, with the usual limits.
fn sink() -> HttpSink {
    sink_with(
        AllowedAddresses::loopback(),
        AttemptLimits::default(),
        &Arc::default(),
    )
}

/// A sink with a short total time.
fn hasty() -> HttpSink {
    let limits = AttemptLimits {
        // Lookup and connection may take so long that only `total` ends them.
        lookup: SOON,
        connect: SOON,
        total: Duration::from_millis(400),
        rest: Duration::from_millis(100),
        ..AttemptLimits::default()
    };
    sink_with(AllowedAddresses::loopback(), limits, &Arc::default())
}

/// New secrets, as texts and as sealed bytes in the store.
fn secrets<const N: usize>() -> ([String; N], Vec<Vec<u8>>) {
    let sealer = Sealer::new(&PEPPER.into()).unwrap();
    let made = [(); N].map(|()| SigningSecret::new().unwrap());
    let sealed = made.iter().map(|one| sealer.seal(TENANT, one).unwrap());
    let sealed = sealed.collect();
    (
        made.map(|one| one.text().expose_secret().to_owned()),
        sealed,
    )
}

fn event() -> Event {
    let cash_in = CashIn {
        coelsa_id: "80V1JXON1874QG39Z64EL7".into(),
        bank_id: "1-20055361682-4711-0".into(),
        cvu: Cvu::parse("0000999100000000000017").unwrap(),
        amount: Amount::parse("1234.5").unwrap(),
        from: Counterparty {
            name: Some("Año Nuevo S.R.L.".into()),
            ..Counterparty::default()
        },
        at: at(),
    };
    let reason = "account_not_found".into();
    Event {
        id: EventId {
            realm: RealmId(4),
            number: 7,
            tag: Tag::NONE,
        },
        at: at(),
        kind: EventKind::CashInSuspended,
        account: AccountNo(0),
        subject: Subject::Suspense(Box::new(Suspense { cash_in, reason })),
    }
}

fn parcel(url: String, secrets: Vec<Vec<u8>>) -> Parcel {
    Parcel {
        caused_by: None,
        tenant: TENANT.into(),
        url,
        secrets,
        contents: ParcelContents::Event(Box::new(event())),
        format: WebhookFormat::Standard,
        at: at(),
    }
}

/// Sends a parcel that is signed with a new secret.
async fn send(sink: &HttpSink, url: String) -> AttemptResult {
    sink.send(parcel(url, secrets::<1>().1)).await
}

#[actix_web::test]
async fn an_event_arrives_as_the_specification_says_and_as_the_feed_shows_it() {
    let receiver = Receiver::answering("204 No Content");
    let ([secret], sealed) = secrets();
    let sent = sink()
        .send(parcel(receiver.url("/caudal?key=a%20b"), sealed))
        .await;
    assert_eq!(sent.result, Ok(204));
    assert!(sent.is_delivered() && sent.retry_after.is_none());
    let came = receiver.next().unwrap();
    assert_eq!(came.line, "POST /caudal?key=a%20b HTTP/1.1");
    assert_eq!(came.header("content-type"), Some("application/json"));
    let us = concat!("caudal/", env!("CARGO_PKG_VERSION"));
    assert_eq!(came.header("user-agent"), Some(us));
    assert_eq!(
        came.header("host"),
        Some(receiver.addr.to_string().as_str())
    );
    assert_eq!(came.header("webhook-timestamp"), Some("1772463845"));
    for name in [
        "traceparent",
        "cookie",
        "authorization",
        "referer",
        "accept-encoding",
    ] {
        assert_eq!(came.header(name), None, "{name}");
    }
    let header = |name: &str| came.header(name);
    assert_eq!(check(&secret, header, &came.body, seconds()), Ok(()));

    let shown = caudal_http::bodies::events::event(TENANT, &event());
    assert_eq!(came.header("webhook-id"), Some(shown.id.as_str()));
    let body: Value = serde_json::from_slice(&came.body).unwrap();
    assert_eq!(body, json!(shown));
    assert_eq!(body["type"], "cash_in.suspended");
    assert_eq!(body["sequence"], 7);
    assert_eq!(body["data"]["amount"], "1234.50");
}

#[actix_web::test]
async fn whatever_was_changed_on_the_way_is_not_believed() {
    let receiver = Receiver::answering("200 OK");
    let ([secret, other], sealed) = secrets();
    let newest = sealed.into_iter().take(1).collect();
    sink().send(parcel(receiver.url("/"), newest)).await;
    let came = receiver.next().unwrap();
    let header = |name: &str| came.header(name);
    let now = seconds();
    assert_eq!(check(&secret, header, &came.body, now), Ok(()));
    assert_eq!(
        check(&other, header, &came.body, now),
        Err(Doubt::Signature)
    );
    for at in 0..came.body.len() {
        let mut changed = came.body.clone();
        changed[at] ^= 1;
        assert_eq!(check(&secret, header, &changed, now), Err(Doubt::Signature));
    }
    let old = |now| check(&secret, header, &came.body, now);
    assert_eq!(old(now + NEAR), Ok(()));
    assert_eq!(old(now + NEAR + 1), Err(Doubt::Time));
    assert_eq!(old(now - NEAR - 1), Err(Doubt::Time));
    // A time or an id other than the signed one.
    for (name, value) in [("webhook-timestamp", "1772463846"), ("webhook-id", "evt_1")] {
        let other = |asked: &str| {
            if asked == name {
                Some(value)
            } else {
                came.header(asked)
            }
        };
        assert_eq!(
            check(&secret, other, &came.body, now),
            Err(Doubt::Signature)
        );
    }
}

#[actix_web::test]
async fn while_a_secret_rotates_both_verify() {
    let receiver = Receiver::answering("200 OK");
    let ([new, old, other], mut sealed) = secrets();
    sealed.truncate(2);
    sink().send(parcel(receiver.url("/"), sealed)).await;
    let came = receiver.next().unwrap();
    let header = |name: &str| came.header(name);
    assert_eq!(check(&new, header, &came.body, seconds()), Ok(()));
    assert_eq!(check(&old, header, &came.body, seconds()), Ok(()));
    assert_eq!(
        check(&other, header, &came.body, seconds()),
        Err(Doubt::Signature)
    );
    // The newest signature comes first, for receivers that check only one.
    let (first, second) = came
        .header("webhook-signature")
        .unwrap()
        .split_once(' ')
        .unwrap();
    let only = |name: &str| match name {
        "webhook-signature" => Some(first),
        _ => came.header(name),
    };
    assert_eq!(check(&new, only, &came.body, seconds()), Ok(()));
    assert!(second.starts_with("v1,") && !second.contains(' '));
}

#[actix_web::test]
async fn a_try_is_signed_too_and_is_no_event() {
    let receiver = Receiver::answering("200 OK");
    let ([secret], sealed) = secrets();
    let contents = ParcelContents::Test {
        id: "test_1".into(),
        webhook: "whk_1".into(),
    };
    let parcel = Parcel {
        contents,
        ..parcel(receiver.url("/"), sealed)
    };
    assert!(sink().send(parcel).await.is_delivered());
    let came = receiver.next().unwrap();
    let header = |name: &str| came.header(name);
    assert_eq!(check(&secret, header, &came.body, seconds()), Ok(()));
    assert_eq!(came.header("webhook-id"), Some("test_1"));
    let right = json!({
        "id": "test_1", "sequence": 0, "type": "webhook.test", "timestamp": AT,
        "data": {"webhookId": "whk_1"},
    });
    assert_eq!(serde_json::from_slice::<Value>(&came.body).unwrap(), right);
}

#[actix_web::test]
async fn what_cannot_be_signed_is_not_sent() {
    let receiver = Receiver::answering("200 OK");
    let (_, sealed) = secrets::<2>();
    let elsewhere = Sealer::new(&"another pepper".into()).unwrap();
    let strange = elsewhere
        .seal(TENANT, &SigningSecret::new().unwrap())
        .unwrap();
    let good = parcel(receiver.url("/"), sealed.clone());
    let mixed = vec![sealed[0].clone(), strange];
    let id = "evil\r\nx-injected: 1".to_owned();
    let webhook = String::new();
    for parcel in [
        Parcel {
            secrets: Vec::new(),
            ..good.clone()
        },
        Parcel {
            secrets: vec![b"nonsense".to_vec()],
            ..good.clone()
        },
        Parcel {
            secrets: mixed,
            ..good.clone()
        },
        Parcel {
            tenant: "tnt_other".into(),
            ..good.clone()
        },
        Parcel {
            contents: ParcelContents::Test { id, webhook },
            ..good.clone()
        },
    ] {
        assert_eq!(
            sink().send(parcel).await.result,
            Err(NoResponse::Unsendable)
        );
    }
    assert!(receiver.next().is_none());
    assert!(sink().send(good).await.is_delivered());
}
