//! A bank whose record under our reference differs from the order: it settles nothing, by whichever
//! way it comes, until a person decides.
//!
//! Between the service and its bank is a proxy that changes the bank's answers.

use std::sync::{Arc, Mutex};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use caudal_bank::Config;
use caudal_service::{Banking, ServiceOptions};

use super::decide;
use super::letters::{ended, rail_id, reversed};
use super::rig::{Rig, calls};
use crate::support::{Value, json};

/// A change of the bank's answers: the way that they come, the member, and its new value.
type Change = (&'static str, &'static str, Value);

/// The proxy in between.
#[derive(Clone)]
struct Liar {
    bank: String,
    http: reqwest::Client,
    changes: Arc<Mutex<Vec<Change>>>,
}

/// The way that an answer comes: to an order, in the list, or to a question about a transfer's
/// state.
fn way(request: &HttpRequest) -> &'static str {
    let path = request.path();
    match (request.method().as_str(), path.split_once("TRANSFER-CVU")) {
        ("POST", Some(_)) => "answer",
        (_, Some((_, "" | "/"))) => "list",
        (_, Some(_)) => "status",
        (_, None) => "other",
    }
}

async fn pass(request: HttpRequest, body: web::Bytes, liar: web::Data<Liar>) -> HttpResponse {
    let url = format!("{}{}", liar.bank, request.uri());
    let method = reqwest::Method::from_bytes(request.method().as_str().as_bytes()).unwrap();
    let mut call = liar.http.request(method, url).body(body);
    for (name, value) in request.headers() {
        if !["host", "content-length"].contains(&name.as_str()) {
            call = call.header(name.as_str(), value.as_bytes());
        }
    }
    let answer = call.send().await.unwrap();
    let status = actix_web::http::StatusCode::from_u16(answer.status().as_u16()).unwrap();
    let mut reply: Value = answer.json().await.unwrap();
    if status.is_success() {
        let way = way(&request);
        let changes = liar.changes.lock().unwrap().clone();
        for (_, member, value) in changes.iter().filter(|(when, ..)| *when == way) {
            *reply.pointer_mut(member).unwrap() = value.clone();
        }
    }
    HttpResponse::build(status).json(reply)
}

impl Liar {
    /// Puts the proxy between a service and its bank.
    fn between(options: ServiceOptions) -> (ServiceOptions, Arc<Mutex<Vec<Change>>>) {
        let Banking::Remote { live, test } = options.banking.clone() else {
            unreachable!("the rig's bank is a remote one");
        };
        let liar = Self {
            bank: test.config.base_url.trim_end_matches('/').to_owned(),
            http: reqwest::Client::builder()
                .no_proxy()
                .tls_certs_only([])
                .pool_max_idle_per_host(0)
                .build()
                .unwrap(),
            changes: Arc::default(),
        };
        let changes = Arc::clone(&liar.changes);
        let liar = web::Data::new(liar);
        let app = move || {
            App::new()
                .app_data(liar.clone())
                .default_service(web::to(pass))
        };
        let server = HttpServer::new(app).workers(1).disable_signals();
        let server = server.bind(("127.0.0.1", 0)).unwrap();
        let base_url = format!("http://{}", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        let test = Config {
            base_url,
            ..test.config
        };
        let banking = Banking::Remote {
            live,
            test: Box::new(test.into()),
        };
        let options = ServiceOptions { banking, ..options };
        (options, changes)
    }

    async fn rig() -> (Rig, Arc<Mutex<Vec<Change>>>) {
        let mut changes = None;
        let rig = Rig::start_with(|options| {
            let (options, made) = Self::between(options);
            changes = Some(made);
            options
        });
        (rig.await, changes.unwrap())
    }
}

/// The ways in which a record can differ: the member, its value, and the field reported as
/// different.
fn lies() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("/value/amount", json!("100.01"), "amount"),
        ("/value/amount", json!("99.99"), "amount"),
        ("/value/currency", json!("USD"), "currency"),
        ("/origin_debit/cvu", json!("0000532609100002749314"), "cvu"),
        ("/to/cbu", json!("2850590940090418135201"), "to"),
        ("/to/label", json!("otro.destino"), "to"),
    ]
}

/// Checks that a transfer of 100.00 waits for a person, and shows both records.
async fn disputed(rig: &Rig, transfer: &Value, differs: &str) {
    let now = rig.ends(transfer, "audit").await;
    let dispute = &now["dispute"];
    assert_eq!(dispute["differs"], json!([differs]), "{now}");
    assert_eq!(now["amount"], "100.00");
    assert!(dispute["bankTransferId"].is_string());
    rig.has("1000.00", "100.00").await;
}

async fn to_key(rig: &Rig) -> Value {
    let key = rig.a.get("/v1/lookup/alias/destino.0").await;
    let key = key.is(200)["cbu"].as_str().unwrap().to_owned();
    let body = json!({
        "fromCvu": rig.cvu, "to": {"cbu": key}, "amount": "100.00",
        "idExterno": format!("key-{}", crate::support::client::fresh()),
    });
    rig.a.post("/v1/transfers", &body).await.is(201).json
}

#[actix_web::test]
async fn an_answer_of_something_else_settles_nothing() {
    for (member, value, differs) in lies() {
        let (rig, changes) = Liar::rig().await;
        *changes.lock().unwrap() = vec![("answer", member, value)];
        let sent = match member {
            "/to/cbu" => to_key(&rig).await,
            _ => rig.send(0, "100.00").await,
        };
        disputed(&rig, &sent, differs).await;
        let mut sent = rig.read(&sent).await;
        assert_eq!(sent["bankTransferId"], Value::Null);
        sent["bankTransferId"] = sent["dispute"]["bankTransferId"].clone();
        // No later word of the bank changes that, and the service does not ask the bank any more.
        changes.lock().unwrap().clear();
        let made = calls(&rig.read(&sent).await);
        for (word, back) in [("COMPLETED", false), ("FAILED", false), ("COMPLETED", true)] {
            let notice = if back {
                reversed(&sent, "100.00", &rail_id())
            } else {
                ended(&sent, word)
            };
            assert_ne!(rig.notify(&notice).await.is(200)["result"], "done");
        }
        disputed(&rig, &sent, differs).await;
        assert_eq!(calls(&rig.read(&sent).await), made);
        decide(&rig, &sent, "completed").await.is(200);
        rig.has("900.00", "0.00").await;
        rig.lives(0).await;
    }
}

#[actix_web::test]
async fn a_status_of_something_else_settles_nothing() {
    for (member, value, differs) in lies() {
        for (digit, status) in [(0, "COMPLETED"), (1, "FAILED"), (2, "PENDING")] {
            if member == "/to/cbu" || (status != "COMPLETED" && member != "/value/amount") {
                continue;
            }
            let (rig, changes) = Liar::rig().await;
            *changes.lock().unwrap() = vec![
                ("answer", "/status", json!("IN_PROGRESS")),
                ("status", member, value.clone()),
            ];
            let sent = rig.send(digit, "100.00").await;
            disputed(&rig, &sent, differs).await;
            decide(&rig, &sent, "rejected").await.is(200);
            rig.has("1000.00", "0.00").await;
        }
    }
}

#[actix_web::test]
async fn a_notice_of_something_else_settles_nothing() {
    for (member, value, differs) in lies() {
        for word in ["COMPLETED", "FAILED"] {
            if member == "/to/cbu" {
                continue;
            }
            let rig = Rig::start().await;
            rig.behave("transfer_status", "error").await;
            let sent = rig.send(2, "100.00").await;
            rig.called(&sent, "transfer_status", Some(500)).await;
            let mut notice = ended(&sent, word);
            notice["data"]["origin_debit"] = json!({"cvu": rig.cvu});
            notice["data"]["to"] = json!({"label": "DESTINO.2"});
            *notice["data"].pointer_mut(member).unwrap() = value.clone();
            assert_eq!(rig.notify(&notice).await.is(200)["result"], "done");
            disputed(&rig, &sent, differs).await;
            assert_eq!(rig.notify(&notice).await.is(200)["result"], "known");
            // The right notice comes too late: the bank has contradicted itself.
            let right = ended(&sent, word);
            assert_eq!(rig.notify(&right).await.is(200)["result"], "known");
            disputed(&rig, &sent, differs).await;
            decide(&rig, &sent, "rejected").await.is(200);
            rig.has("1000.00", "0.00").await;
        }
    }
}
