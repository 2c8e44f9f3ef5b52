//! Statements over HTTP: they add up in every format, their bytes never change, and nobody sees another tenant's.

mod camt;
mod forms;
mod pdf;
mod readers;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tempfile::TempDir;

use crate::backup::{at, command, restored, shipped, text};
use crate::support::client::fresh;
use crate::support::service::{Setup, TestClock};
use crate::support::{Client, TestService, Value, cuit, json};

/// The media types of a statement.
const FORMS: [&str; 4] = [
    "application/json",
    "text/csv",
    "application/xml",
    "application/pdf",
];
/// A text by somebody malicious, which is also the name of a transfer's other side.
const HOSTILE: &str = "=HYPERLINK(\"x\")&<b>]]> \u{5d0}\u{5d1} Ñandú";

/// The address of a provider, longer than a line of any form.
const ADDRESS: &str = "Avenida General San Martín 12345, piso 23, oficina «B», Entre Ríos y Corrientes, \
     Ciudad Autónoma de Buenos Aires, C1000ABC, República Argentina";

/// A statement in one form.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Form {
    status: u16,
    headers: BTreeMap<String, String>,
    bytes: Vec<u8>,
}

impl Form {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    fn tag(&self) -> &str {
        &self.headers["etag"]
    }
}

/// The statement of the days `from..=to` in a form.
async fn statement(client: &Client, cvu: &str, days: (&str, &str), accept: &str) -> Form {
    let path = format!(
        "/v1/accounts/{cvu}/statements?from={}&to={}",
        days.0, days.1
    );
    let answer = client.get(&path).header("accept", accept).raw();
    let answer = answer.send().await.unwrap();
    let names = ["content-type", "content-disposition", "etag", "vary"];
    let header = |name: &str| {
        let value = answer.headers().get(name)?.to_str().ok()?;
        Some((name.to_owned(), value.to_owned()))
    };
    Form {
        status: answer.status().as_u16(),
        headers: names.into_iter().filter_map(header).collect(),
        bytes: answer.bytes().await.unwrap().to_vec(),
    }
}

/// The statement of October, in all forms.
async fn october(client: &Client, cvu: &str) -> Vec<Form> {
    let mut all = Vec::new();
    for accept in FORMS {
        let form = statement(client, cvu, ("2026-10-01", "2026-10-31"), accept).await;
        assert_eq!(form.status, 200, "{:?}", form);
        let tag = URL_SAFE_NO_PAD.encode(digest(&SHA256, &form.bytes));
        assert_eq!(form.tag(), format!("\"{tag}\""), "{accept}");
        all.push(form);
    }
    all
}

/// An account whose October has a movement of every kind, with hostile texts; it had money before.
async fn worked(service: &TestService, clock: &TestClock) -> String {
    let client = &service.a;
    client.in_and_out().await;
    let body = json!({"cuit": cuit(fresh()), "holderName": HOSTILE});
    let cvu = client.open_with(body).await["cvu"]
        .as_str()
        .unwrap()
        .to_owned();
    let other = json!({"cuit": cuit(fresh()), "holderName": "Otra & Cía"});
    let other = client.open_with(other).await["cvu"].clone();
    client.credit(&cvu, "100.00").await;
    clock.set("2026-10-05T15:04:05.678Z");
    let body = json!({
        "voucherTypeCode": "IN", "amount": "1234567.89", "idExterno": format!("=1+1 {}", "x".repeat(50)),
        "description": HOSTILE,
    });
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    client.post(&path, &body).await.is(201);
    client.debit(&cvu, "34.56").await;
    let hold = client.hold(&cvu, "500.00").await;
    client.step(&hold, "confirm", "200.00").await.is(200);
    client.step(&hold, "release", "100.00").await.is(200);
    clock.set("2026-10-20T02:59:59.999Z");
    let sent = client.transfer(&cvu, json!({"cvu": other}), "4.00").await;
    client.settled(&sent.is(201).json, "completed").await;
    let other = other.as_str().unwrap();
    let back = client.transfer(other, json!({"cvu": cvu}), "2.50").await;
    client.settled(&back.is(201).json, "completed").await;
    cvu
}

async fn begun(to: &TempDir) -> (TestService, Arc<TestClock>) {
    let clock = TestClock::at("2026-09-30T12:00:00Z");
    let service = TestService::with(Setup {
        clock: Arc::<TestClock>::clone(&clock),
        backup: at(&to.path().join("backup")),
        ..Setup::default()
    });
    (service.await, clock)
}

#[actix_web::test]
async fn its_bytes_are_the_same_for_ever() {
    let dir = TempDir::new().unwrap();
    let (mut service, clock) = begun(&dir).await;
    let cvu = worked(&service, &clock).await;
    let provider = json!({"cuit": "30500001735", "address": ADDRESS});
    service.tenant(&json!({"provider": provider})).await;
    clock.set("2026-11-01T03:05:00.001Z");
    let then = october(&service.a, &cvu).await;
    assert_eq!(then[0].json()["final"], true);

    // whatever happens later
    let again = "a name of today";
    let holder = then[0].json()["cuit"].clone();
    let holders = json!({"titulares": [{"cuit": holder, "name": again}]});
    let path = format!("/v1/accounts/{cvu}/identidad");
    let renamed = service.a.patch(&path, &holders).await;
    renamed.is(200);
    let path = format!("/v1/accounts/{cvu}/alias");
    let alias = json!({"alias": format!("nuevo.{}", fresh())});
    service.a.put(&path, &alias).await.is(200);
    let provider = json!({"address": again, "cuit": null});
    service
        .tenant(&json!({"name": again, "provider": provider}))
        .await;
    service.a.credit(&cvu, "1.00").await;
    assert_eq!(october(&service.a, &cvu).await, then);
    let days = ("2026-11-01", "2026-11-01");
    let today = statement(&service.a, &cvu, days, FORMS[0]).await.json();
    let names = ["holderName", "provider", "providerAddress"];
    let stated = names.map(|name| today[name].as_str());
    assert_eq!(stated, [Some(again); 3]);
    assert_eq!(today["providerCuit"], Value::Null);
    let then_stated = then[0].json();
    assert_eq!(then_stated["providerAddress"], ADDRESS);
    assert_eq!(then_stated["providerCuit"], "30500001735");
    assert_eq!(today["opening"], then[0].json()["closing"]);

    let file = dir.path().join("statement.pdf");
    let key = service.a.key.clone().unwrap();
    let program = [
        "statement",
        "--cvu",
        &cvu,
        "--first",
        "2026-10-01",
        "--last",
        "2026-10-31",
        "--url",
        &service.a.url,
        "--key",
        &key,
        "--to",
        text(&file),
    ];
    let (code, _, why) = command(&program);
    assert_eq!(code, Some(0), "{why}");
    assert_eq!(std::fs::read(&file).unwrap(), then[3].bytes);
    let (code, _, why) = command(&program);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("is there already"), "{why}");

    service.restart().await;
    assert_eq!(october(&service.a, &cvu).await, then, "after a restart");
    service.end(true).await;
    service.lose_index();
    service.begin().await;
    assert_eq!(october(&service.a, &cvu).await, then, "of another index");
    shipped(&service).await;
    service.end(true).await;
    let elsewhere = dir.path().join("elsewhere");
    restored(&dir.path().join("backup"), &elsewhere, service.data(), &[]);
    service.moves(elsewhere);
    service.begin().await;
    assert_eq!(october(&service.a, &cvu).await, then, "of a restore");
}

#[actix_web::test]
async fn the_program_writes_a_file_of_its_own_or_none() {
    let dir = TempDir::new().unwrap();
    let (service, _) = begun(&dir).await;
    let cvu = service.a.cvu().await;
    let key = service.a.key.clone().unwrap();
    let (file, half) = (dir.path().join("it.csv"), dir.path().join("it.csv.half"));
    let days = [
        "--first",
        "2026-09-30",
        "--last",
        "2026-09-30",
        "--format",
        "csv",
    ];
    let whence = [
        "--cvu",
        &cvu,
        "--url",
        &service.a.url,
        "--key",
        &key,
        "--to",
        text(&file),
    ];
    let program = [&["statement"], &days[..], &whence[..]].concat();
    std::fs::write(&half, "another's").unwrap();
    let (code, _, why) = command(&program);
    assert_eq!(code, Some(1), "{why}");
    assert!(
        why.contains("it.csv.half is there already: remove it"),
        "{why}"
    );
    assert_eq!(std::fs::read(&half).unwrap(), b"another's");
    assert!(!file.exists());
    std::fs::remove_file(&half).unwrap();
    let (code, _, why) = command(&program);
    assert_eq!(code, Some(0), "{why}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!((mode & 0o777, half.exists()), (0o600, false));
}

#[actix_web::test]
async fn it_is_provisional_until_nothing_can_get_into_it() {
    let dir = TempDir::new().unwrap();
    let (service, clock) = begun(&dir).await;
    let client = &service.a;
    client.in_and_out().await;
    let cvu = client.cvu().await;
    let days = ("2026-09-30", "2026-09-30");
    let of = async |accept| statement(client, &cvu, days, accept).await;
    let mut before = of(FORMS[0]).await;
    assert_eq!(before.json()["movements"], 0);
    for (at, is_final) in [
        ("2026-09-30T12:00:00Z", false),
        ("2026-10-01T02:59:59.999Z", false),
        ("2026-10-01T03:00:00Z", false),
        ("2026-10-01T03:04:59.999Z", false),
        ("2026-10-01T03:05:00Z", true),
    ] {
        clock.set(at);
        client.credit(&cvu, "1.00").await;
        let now = of(FORMS[0]).await;
        assert_eq!(now.json()["final"], is_final, "{at}");
        let camt = camt::read(of(FORMS[2]).await.text());
        let closing = if is_final { "CLBD" } else { "ITBD" };
        assert!(camt.balances.contains_key(closing), "{at}: {camt:?}");
        assert_eq!(camt.balances.len(), 3, "{at}");
        // In Buenos Aires, three hours behind: while the day is open, at its last movement.
        let created = match at {
            "2026-09-30T12:00:00Z" => "2026-09-30T09:00:00.000-03:00",
            _ => "2026-09-30T23:59:59.999-03:00",
        };
        assert_eq!(camt.created, created, "{at}");
        let moved = at < "2026-10-01T03";
        assert_eq!(now.tag() != before.tag(), moved || is_final, "{at}");
        before = now;
    }
    assert_eq!(before.json()["movements"], 2);
    let path = format!("/v1/accounts/{cvu}/statements?from={0}&to={0}", days.0);
    let same = client
        .get(&path)
        .header("if-none-match", before.tag())
        .await;
    assert_eq!(same.is(304).text, "");
    let other = of(FORMS[1]).await;
    let other = client.get(&path).header("if-none-match", other.tag()).await;
    other.is(200);
}

#[actix_web::test]
async fn a_long_one_is_written_as_it_leaves() {
    let dir = TempDir::new().unwrap();
    let (service, clock) = begun(&dir).await;
    let client = &service.a;
    client.in_and_out().await;
    let cvu = client.cvu().await;
    let lines = 2600;
    let item = |number: u32| {
        json!({
            "cvu": cvu, "voucherTypeCode": "IN", "amount": "0.01", "idExterno": format!("long-{number}"),
            "description": "x".repeat(150),
        })
    };
    for part in 0..2 {
        let items: Vec<_> = (0..lines / 2).map(|it| item(part * lines + it)).collect();
        let body = json!({"mode": "independent", "items": items});
        let posted = client.post("/v1/comprobantes/batch", &body).await.is(200);
        assert_eq!(posted["summary"]["recorded"], lines / 2);
    }
    clock.set("2026-10-02T12:00:00Z");
    let days = ("2026-09-30", "2026-09-30");
    for accept in FORMS {
        let form = statement(client, &cvu, days, accept).await;
        let tag = URL_SAFE_NO_PAD.encode(digest(&SHA256, &form.bytes));
        assert_eq!(form.tag(), format!("\"{tag}\""), "{accept}");
        if accept == FORMS[0] {
            assert!(form.bytes.len() > 1 << 20);
            let found = form.json()["lines"].as_array().unwrap().len();
            assert_eq!(found, usize::try_from(lines).unwrap());
        }
    }
}

#[actix_web::test]
async fn wrong_periods_and_others_accounts_are_refused() {
    let dir = TempDir::new().unwrap();
    let (service, _) = begun(&dir).await;
    let cvu = service.a.cvu().await;
    let ask = async |client: &Client, query: &str| {
        let path = format!("/v1/accounts/{cvu}/statements{query}");
        client.get(&path).await
    };
    for (query, field, why) in [
        ("", "from", "is required"),
        ("?from=2026-09-01", "to", "is required"),
        ("?from=ayer&to=2026-09-30", "from", "YYYY-MM-DD"),
        (
            "?from=2026-09-02&to=2026-09-01",
            "from",
            "must not be after to",
        ),
        (
            "?from=2026-09-30&to=2026-10-01",
            "to",
            "must not be in the future",
        ),
        ("?from=2025-09-29&to=2026-09-30", "to", "at most 366 days"),
        (
            "?from=2026-09-01&to=2026-09-30T12:00:00Z",
            "to",
            "YYYY-MM-DD",
        ),
    ] {
        let refused = ask(&service.a, query).await.refused(400, "invalid_request");
        let wrong = &refused["errors"][0];
        assert_eq!(wrong["field"], field, "{query}: {}", refused.text);
        assert!(
            wrong["message"].as_str().unwrap().contains(why),
            "{}",
            refused.text
        );
    }
    let good = "?from=2026-09-30&to=2026-09-30";
    ask(&service.a, good).await.is(200);
    ask(&service.b, good)
        .await
        .refused(404, "account_not_found");
    ask(&service.live, good)
        .await
        .refused(404, "account_not_found");
    let keys = json!({"mode": "test", "scopes": ["accounts:read"]});
    let narrow = service.keyed(&keys).await;
    ask(&narrow, good).await.refused(403, "scope_missing");
    // for a time before the account existed the statement is empty, and already final
    let old = ask(&service.a, "?from=2020-02-28&to=2020-02-29")
        .await
        .is(200);
    assert_eq!(
        (&old["movements"], &old["final"]),
        (&0.into(), &true.into())
    );
    assert_eq!(old["lastSequence"], 0);
}
