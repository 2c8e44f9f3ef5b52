//! Badly written texts in the bank's list: a line that cannot be read is a case, and every other line, account and
//! transfer goes on.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use caudal_service::{Banking, ServiceOptions, TEST_ADMIN_KEY};

use super::rig::Rig;
use crate::support::{SOON, Value, json, wait_until};

/// Texts of the bank's answers, and what they are replaced by on their way.
type Garbled = Arc<Mutex<Vec<(&'static str, &'static str)>>>;

/// Passes everything on to the bank at `bank`, and garbles its answers; returns the URL.
fn between(bank: String, garbled: Garbled) -> String {
    let pass = move |request: HttpRequest, body: web::Bytes| {
        let (bank, garbled) = (bank.clone(), Arc::clone(&garbled));
        async move {
            let http = reqwest::Client::builder();
            let http = http.tls_certs_only([]).no_proxy().build().unwrap();
            let method = request.method().as_str().parse().unwrap();
            let mut asked = http.request(method, format!("{bank}{}", request.uri()));
            for (name, value) in request.headers() {
                if !["host", "content-length"].contains(&name.as_str()) {
                    asked = asked.header(name.as_str(), value.as_bytes());
                }
            }
            let Ok(answer) = asked.body(body).send().await else {
                return HttpResponse::BadGateway().finish();
            };
            let status = answer.status().as_u16();
            let mut text = answer.text().await.unwrap();
            for (written, sent) in garbled.lock().unwrap().iter() {
                text = text.replace(written, sent);
            }
            let status = actix_web::http::StatusCode::from_u16(status).unwrap();
            HttpResponse::build(status)
                .content_type("application/json")
                .body(text)
        }
    };
    let server = HttpServer::new(move || App::new().default_service(web::to(pass.clone())))
        .workers(1)
        .disable_signals()
        .bind(("127.0.0.1", 0))
        .unwrap();
    let url = format!("http://{}", server.addrs()[0]);
    actix_web::rt::spawn(server.run());
    url
}

/// A service that reads the bank's list again and again, over a line that garbles it.
async fn start(garbled: &Garbled) -> Rig {
    let garbled = Arc::clone(garbled);
    Rig::start_with(move |mut options| {
        if let Banking::Remote { test, .. } = &mut options.banking {
            test.config.base_url = between(test.config.base_url.clone(), garbled);
        }
        ServiceOptions {
            catch_up: Some(Duration::from_millis(100)),
            ..options
        }
    })
    .await
}

async fn arrives(rig: &Rig, cvu: &str, amount: &str, name: &str) {
    rig.once("cash_in", "lose_notice").await;
    let body = json!({"cvu": cvu, "amount": amount, "fromName": name});
    rig.control.post("/sandbox/cash-in", &body).await.is(200);
}

async fn cases(rig: &Rig) -> Vec<Value> {
    let call = rig.admin.get("/admin/cases?kind=unbooked");
    let page = call.header("x-admin-key", TEST_ADMIN_KEY).await.is(200);
    page["items"].as_array().unwrap().clone()
}

#[actix_web::test]
async fn one_badly_written_text_stops_nothing_else() {
    let garbled = Garbled::default();
    garbled.lock().unwrap().extend([
        ("Kiosco de Eva", "Kiosco \\ud83d"),
        ("\"66.60\"", "[\"66.60\"]"),
        ("Despensa", "Des\u{1}pensa"),
    ]);
    let mut rig = start(&garbled).await;
    // The bank's notices are lost; its list has a line that cannot be read, and names as a broken program cuts them.
    arrives(&rig, &rig.cvu, "7.00", "Kiosco de Eva").await;
    arrives(&rig, &rig.cvu, "66.60", "Nadie").await;
    arrives(&rig, &rig.other, "9.00", "Despensa").await;
    rig.gets("1007.00", "0.00").await;
    wait_until("the other account has its money", SOON, async || {
        let balance = rig.a.balance(&rig.other).await;
        (balance["total"] == "9.00").then_some(())
    })
    .await;
    let case = wait_until("the line is a case", SOON, async || {
        let all = cases(&rig).await;
        assert!(all.len() < 2, "{all:?}");
        all.first().cloned()
    })
    .await;
    assert_eq!(
        (&case["reason"], &case["state"], &case["cvu"]),
        (&json!("unreadable"), &json!("open"), &json!(rig.cvu))
    );
    assert_eq!(
        (&case["amount"], &case["unbooked"]["field"]),
        (&Value::Null, &json!("value"))
    );
    let movements = rig.a.get(&format!("/v1/accounts/{}/movements", rig.cvu));
    let movements = movements.await.is(200).json;
    let mut movements = movements.as_array().unwrap().iter();
    let credit = movements.find(|it| it["amount"] == "7.00").unwrap();
    assert_eq!(credit["counterparty"]["name"], "Kiosco \u{fffd}");
    // The day is reconciled all the same.
    let found = rig.reconciled("amount", &json!("7.00")).await;
    assert_eq!(found["result"], "matched");
    // After a restart, transfers leave in spite of that line.
    rig.end(true).await;
    rig.begin();
    let sent = rig.send(0, "100.00").await;
    rig.ends(&sent, "completed").await;
    rig.has("907.00", "0.00").await;
    assert_eq!(cases(&rig).await.len(), 1);
    // The ledger's movement on a line that cannot be read is pending, and not missing at the bank.
    garbled.lock().unwrap().push(("\"100.00\"", "[\"100.00\"]"));
    let found = rig.reconciled("transferId", &sent["id"]).await;
    assert_eq!(found["result"], "pending");
    let body = json!({"outcome": "dismiss", "reason": "it was posted by hand", "by": "Ana Gómez"});
    let path = format!("/admin/cases/{}/decide", case["id"].as_str().unwrap());
    let decided = rig.admin.post(&path, &body);
    let decided = decided.header("x-admin-key", TEST_ADMIN_KEY).await.is(200);
    assert_eq!(decided["state"], "decided");
    let report = caudal_actors::verify::engine(rig.engine()).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
}
