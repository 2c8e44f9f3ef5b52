//! Collector accounts are checked at intervals: missing money and an unreachable bank are reported wherever
//! people and programs look.

use std::time::Duration;

use caudal_sandbox as sandbox;
use caudal_service::TEST_ADMIN_KEY;

use super::snapshot;
use crate::cli::{caudal, said};
use crate::console::browser::Browser;
use crate::support::service::{OTHER, TENANT};
use crate::support::{Client, SOON, Setup, TestService, Value, json, wait_until};
use crate::webhooks::inbox::{Call, Inbox};

/// The time between two checks.
const EVERY: Duration = Duration::from_millis(100);
/// The labels of the first tenant's test realm.
const LABELS: &str = r#"{tenant="tnt_first",mode="test",collector="3220001805007351350083"}"#;

async fn checked() -> TestService {
    let service = TestService::with(Setup {
        coverage_check: Some(EVERY),
        ..Setup::default()
    })
    .await;
    service.hear().await;
    service.a.in_and_out().await;
    service
}

/// The data of the events of the treasury, with their types, oldest first.
async fn told(client: &Client) -> Vec<(String, Value)> {
    let page = client.get("/v1/events?types=treasury.*").await.is(200);
    let items = page["items"].as_array().unwrap().iter();
    let told = |it: &Value| (it["type"].as_str().unwrap().to_owned(), it["data"].clone());
    items.map(told).collect()
}

/// The events of the treasury, once there are this many.
async fn once_told(client: &Client, count: usize) -> Vec<(String, Value)> {
    wait_until("the events", SOON, async || {
        let told = told(client).await;
        (told.len() >= count).then_some(told)
    })
    .await
}

/// The value of a metric of the first tenant's collector account.
async fn metric(service: &TestService, name: &str) -> Option<String> {
    let page = service.admin_get("/metrics").await.is(200).text;
    let start = format!("caudal_treasury_{name}{LABELS} ");
    let mut lines = page.lines().filter_map(|line| line.strip_prefix(&start));
    lines.next().map(str::to_owned)
}

async fn has_metric(service: &TestService, name: &str, value: &str) {
    wait_until(&format!("{name} is {value}"), SOON, async || {
        let found = metric(service, name).await;
        (found.as_deref() == Some(value)).then_some(())
    })
    .await;
}

/// What the status of the service says about the first tenant's collector account, and the exit code and page of the
/// command that shows it.
async fn status(service: &TestService) -> (Value, Option<i32>, String) {
    let body = service.admin_get("/admin/status").await.is(200).json;
    let mut items = body["problems"].as_array().unwrap().iter();
    let own = json!([{"tenant": TENANT, "mode": "test"}]);
    let own = items.find(|it| it["realms"] == own).cloned();
    let admin = service.admin_client().url;
    let mut command = caudal(&["status", "--admin-url", &admin]);
    let ended = command.env("CAUDAL_ADMIN_KEY", TEST_ADMIN_KEY).output();
    let (code, page, _) = said(&ended.unwrap());
    (own.unwrap_or_default(), code, page)
}

/// Checks that one line of a page has all of these.
fn has_row(page: &str, parts: &[&str]) {
    let has = |line: &str| parts.iter().all(|part| line.contains(part));
    assert!(page.lines().any(has), "{parts:?} in {page}");
}

/// The first block of the overview in both languages.
async fn overview(service: &TestService) -> [String; 2] {
    let mut pages = [String::new(), String::new()];
    for (page, language) in pages.iter_mut().zip(["es", "en"]) {
        let mut browser = Browser::entered(service).await.reads(language);
        let shown = browser.get("/console/").await.is(200).text;
        let (_, shown) = shown.split_once("</h1>").unwrap();
        let (first, _) = shown.split_once("<div hx-get=").unwrap();
        *page = first.to_owned();
    }
    pages
}

/// Checks that every place that reports coverage shows 30.00 of 100.00 missing.
async fn is_short(service: &TestService) {
    has_metric(service, "uncovered", "1").await;
    let (item, code, page) = status(service).await;
    assert_eq!(item["amount"], "30.00", "{item}");
    assert_eq!(item["subject"], sandbox::COLLECTOR);
    let right = json!(["money_missing", "page", "/docs/alerts#caudaluncovered"]);
    assert_eq!(
        json!([item["code"], item["severity"], item["runbook"]]),
        right
    );
    assert!(item["at"].is_string());
    assert_eq!(code, Some(1));
    has_row(
        &page,
        &[
            "page",
            "money_missing",
            "tnt_first",
            sandbox::COLLECTOR,
            "30.00",
        ],
    );
    assert!(
        page.contains("\n  uncovered    1\n  unreachable  0\n"),
        "{page}"
    );
    let [spanish, english] = overview(service).await;
    for (page, mode, texts) in [
        (
            &spanish,
            "Tenant tnt_first · Prueba · 3220001805007351350083",
            ["Problemas", "Falta dinero de clientes", "30,00"],
        ),
        (
            &english,
            "Tenant tnt_first · Test · 3220001805007351350083",
            ["Problems", "Client money is missing", "30.00"],
        ),
    ] {
        for text in texts {
            assert!(page.contains(text), "{text} is not in {page}");
        }
        assert!(page.contains(mode));
        assert!(page.contains("href=\"/docs/alerts#caudaluncovered\""));
    }
    let link = "/console/treasury?tenant=tnt_first&mode=test";
    assert!(english.contains(&link.replace('&', "&#38;")), "{english}");
    let treasury = Browser::entered(service).await.get(link).await.is(200).text;
    assert_eq!(treasury.matches("<h2>Cuenta recaudadora ").count(), 1);
    assert!(treasury.contains(sandbox::COLLECTOR), "{treasury}");
}

#[actix_web::test]
async fn missing_money_is_told_once_everywhere_over_restarts_until_it_is_there() {
    let mut service = checked().await;
    let cvu = service.a.cvu().await;
    service.bank.cash_in(&cvu, "100.00").await;
    snapshot(&service.a, "the money", |taken| {
        taken["clientFunds"]["total"] == "100.00"
    })
    .await;
    for (name, value) in [
        ("client_funds_pesos", "100.00"),
        ("bank_balance_pesos", "100.00"),
        ("coverage_ratio", "1.0000"),
        ("uncovered", "0"),
        ("bank_unreachable_since_timestamp_seconds", "0"),
        ("waiting_transfers", "0"),
        ("waiting_pesos", "0.00"),
    ] {
        has_metric(&service, name, value).await;
    }
    assert_ne!(
        metric(&service, "checked_timestamp_seconds")
            .await
            .as_deref(),
        Some("0")
    );
    assert_eq!(told(&service.a).await, []);
    let (item, code, page) = status(&service).await;
    assert_eq!((item, code), (Value::Null, Some(0)), "{page}");
    let inbox = Inbox::start();
    let hook = json!({"url": inbox.url("/"), "types": ["treasury.*"]});
    service.a.post("/v1/webhooks", &hook).await.is(201);
    service.bank.sweep(sandbox::COLLECTOR, "30.00").await;
    let events = once_told(&service.a, 1).await;
    let (kind, data) = &events[0];
    assert_eq!(kind, "treasury.uncovered");
    let as_of = data["asOf"].as_str().unwrap();
    let right = json!({"asOf": as_of, "bankBalance": "70.00", "clientFunds": "100.00",
        "freeBalance": "-30.00", "coverageRatio": "0.7000", "covered": false, "shared": false});
    assert_eq!(*data, right);
    let sent = inbox.came(1).await[0].body();
    assert_eq!((&sent["type"], &sent["data"]), (&json!(kind), data));
    is_short(&service).await;
    for crash in [false, true] {
        if crash {
            service.crash().await;
        } else {
            service.restart().await;
        }
        is_short(&service).await;
        // Several checks later there is still one event.
        let before = service.bank.calls("balance").await;
        wait_until("more checks", SOON, async || {
            let calls = service.bank.calls("balance").await;
            (calls > before + 20).then_some(())
        })
        .await;
        assert_eq!(told(&service.a).await, events);
    }
    has_metric(&service, "coverage_ratio", "0.7000").await;
    // Now clients own as much as is there.
    service.a.debit(&cvu, "30.00").await;
    let after = once_told(&service.a, 2).await;
    let (kind, data) = &after[1];
    assert_eq!(kind, "treasury.covered");
    assert_eq!(
        (&data["covered"], &data["freeBalance"], &data["clientFunds"]),
        (&json!(true), &json!("0.00"), &json!("70.00"))
    );
    assert_eq!(after.len(), 2);
    wait_until("the webhook gets it", SOON, async || {
        let calls = inbox.calls();
        let ends = |call: &Call| call.body()["type"] == "treasury.covered";
        calls.iter().any(|call| ends(call)).then_some(())
    })
    .await;
    has_metric(&service, "uncovered", "0").await;
    let (item, code, page) = status(&service).await;
    assert_eq!((item, code), (Value::Null, Some(0)), "{page}");
    let notes = overview(&service).await;
    let nothing = |page: &String| page.contains("class=\"note good\"");
    assert!(notes.iter().all(nothing), "{notes:?}");
    // No other realm has an event.
    assert_eq!(
        (told(&service.b).await, told(&service.live).await),
        (vec![], vec![])
    );
    service.verified().await;
}

#[actix_web::test]
async fn a_bank_that_is_not_reachable_is_told_with_what_waits_for_it() {
    let service = checked().await;
    let cvu = service.a.cvu().await;
    service.bank.cash_in(&cvu, "100.00").await;
    snapshot(&service.a, "the money", |taken| {
        taken["clientFunds"]["total"] == "100.00"
    })
    .await;
    let to = json!({"alias": "DESTINO.2"});
    let sent = service.a.transfer(&cvu, to, "40.00").await.is(201).json;
    service.a.settled(&sent, "in_progress").await;
    has_metric(&service, "waiting_transfers", "1").await;
    has_metric(&service, "bank_unreachable_since_timestamp_seconds", "0").await;
    let away = |mode: &str| json!({"operation": "balance", "mode": mode});
    service.bank.behave(away("error")).await;
    wait_until("the bank is away", SOON, async || {
        let since = metric(&service, "bank_unreachable_since_timestamp_seconds").await;
        (since.as_deref() != Some("0")).then_some(())
    })
    .await;
    has_metric(&service, "waiting_pesos", "40.00").await;
    // What the bank said last stays.
    has_metric(&service, "bank_balance_pesos", "100.00").await;
    let (item, code, page) = status(&service).await;
    assert_eq!(
        (&item["code"], &item["count"], &item["amount"]),
        (&json!("bank_unreachable"), &json!(1), &json!("40.00"))
    );
    assert_eq!(code, Some(1));
    has_row(
        &page,
        &[
            "page",
            "bank_unreachable",
            "tnt_first",
            sandbox::COLLECTOR,
            "40.00",
        ],
    );
    let [spanish, english] = overview(&service).await;
    let text = "El banco no responde y hay transferencias en espera";
    assert!(spanish.contains(text), "{spanish}");
    let text = "The bank does not respond, and transfers wait for it";
    assert!(english.contains(text), "{english}");
    let mut browser = Browser::entered(&service).await.reads("en");
    let banks = browser.get("/console/banks").await.is(200).text;
    for text in ["Does not respond", "Tenant tnt_first · Test", "40.00"] {
        assert!(banks.contains(text), "{text} is not in {banks}");
    }
    service.bank.behave(away("ok")).await;
    has_metric(&service, "bank_unreachable_since_timestamp_seconds", "0").await;
    wait_until("the command says so", SOON, async || {
        let (_, code, _) = status(&service).await;
        (code == Some(0)).then_some(())
    })
    .await;
    assert_eq!(told(&service.a).await, []);
}

#[actix_web::test]
async fn each_realm_on_a_shared_account_is_told_and_sees_no_amounts_of_the_others() {
    let service = TestService::start().await;
    service.hear().await;
    let path = format!("/admin/tenants/{OTHER}");
    let shared = json!({"bank": {"test": {"collectorCbu": sandbox::COLLECTOR}}});
    service.admin("PATCH", &path, &shared).await.is(200);
    let (one, two) = (service.a.cvu().await, service.b.cvu().await);
    service.bank.cash_in(&one, "10.00").await;
    service.bank.cash_in(&two, "30.00").await;
    for (client, total) in [(&service.a, "10.00"), (&service.b, "30.00")] {
        snapshot(client, "the money", |taken| {
            taken["clientFunds"]["total"] == total
        })
        .await;
    }
    service.bank.sweep(sandbox::COLLECTOR, "5.00").await;
    // Money that is missing once may be on its way.
    service.check_coverage().await;
    assert_eq!(
        (told(&service.a).await, told(&service.b).await),
        (vec![], vec![])
    );
    service.check_coverage().await;
    for client in [&service.a, &service.b] {
        let events = told(client).await;
        let [(kind, data)] = events.as_slice() else {
            panic!("{events:?}");
        };
        let right = json!({"asOf": data["asOf"], "bankBalance": null, "clientFunds": null,
            "freeBalance": null, "coverageRatio": "0.8750", "covered": false, "shared": true});
        assert_eq!((kind.as_str(), data), ("treasury.uncovered", &right));
    }
    let body = service.admin_get("/admin/status").await.is(200).json;
    let items = body["problems"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{body}");
    assert_eq!(items[0]["amount"], "5.00");
    let realms = json!([{"tenant": TENANT, "mode": "test"}, {"tenant": OTHER, "mode": "test"}]);
    assert_eq!(items[0]["realms"], realms);
    service.verified().await;
}
