//! Statements as camt.053 and PDF, read by programs of other people: days, signs, texts and sums are those of the
//! statement, and the PDF conforms to its standard.

use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use super::{ADDRESS, FORMS, HOSTILE, begun, statement};
use crate::support::client::fresh;
use crate::support::service::TestClock;
use crate::support::{TestService, cuit, json};

/// When movements are posted: around the end of a day in Buenos Aires, which is 03:00 UTC, and between 21:00 and then,
/// when it is already the next day in UTC.
const INSTANTS: [&str; 6] = [
    "2026-10-05T23:59:59.999Z",
    "2026-10-06T00:00:00.000Z",
    "2026-10-06T02:59:59.999Z",
    "2026-10-06T03:00:00.000Z",
    "2026-11-01T01:30:00.000Z",
    "2026-11-01T23:30:00.000Z",
];
/// The instant of the last requests: 22:00 of 2026-11-01 in Buenos Aires, a day that has not ended.
const NOW: &str = "2026-11-02T01:00:00.000Z";
/// The days of the statements of each account.
const PERIODS: [(&str, &str); 5] = [
    ("2026-10-01", "2026-10-31"),
    ("2026-09-30", "2026-10-05"),
    ("2026-10-05", "2026-10-05"),
    ("2026-10-06", "2026-10-06"),
    ("2026-11-01", "2026-11-01"),
];

/// An account with a movement of every direction at each instant.
async fn busy(service: &TestService, clock: &Arc<TestClock>, text: Option<&str>) -> String {
    let client = &service.a;
    let body = json!({"cuit": cuit(fresh()), "holderName": HOSTILE});
    let cvu = client.open_with(body).await["cvu"].clone();
    let cvu = cvu.as_str().unwrap().to_owned();
    for (instant, cents) in INSTANTS.into_iter().zip(11..) {
        clock.set(instant);
        let body = json!({
            "voucherTypeCode": "IN", "amount": format!("1234567.{cents}"), "idExterno": format!("read-{}", fresh()),
            "description": text,
        });
        let path = format!("/v1/accounts/{cvu}/comprobantes");
        client.post(&path, &body).await.is(201);
        client.debit(&cvu, "0.07").await;
        let hold = client.hold(&cvu, "500.00").await;
        client.step(&hold, "confirm", "200.01").await.is(200);
        client.step(&hold, "release", "100.00").await.is(200);
    }
    cvu
}

/// Fifteen statements, three of them of a day that has not ended. Machines without the readers only write them, unless
/// `CAUDAL_STATEMENT_READERS` says where `.ci/readers/install` has put the readers.
#[actix_web::test]
async fn readers_of_other_people_find_the_days_signs_texts_and_sums() {
    let dir = TempDir::new().unwrap();
    let (service, clock) = begun(&dir).await;
    service.a.in_and_out().await;
    let stated = json!({"cuit": "30500001735", "address": ADDRESS});
    service.tenant(&json!({"provider": stated})).await;
    let long = "Alquiler de octubre, expensas y cochera: ".repeat(4);
    let texts = [Some(HOSTILE), Some(long.trim()), None];
    let mut cvus = Vec::new();
    for text in texts {
        clock.set("2026-09-30T12:00:00Z");
        cvus.push(busy(&service, &clock, text).await);
    }
    clock.set(NOW);
    let files = dir.path().join("statements");
    std::fs::create_dir(&files).unwrap();
    for (cvu, days) in cvus.iter().flat_map(|cvu| PERIODS.map(|days| (cvu, days))) {
        for (form, ending) in [(FORMS[0], "json"), (FORMS[2], "xml"), (FORMS[3], "pdf")] {
            let given = statement(&service.a, cvu, days, form).await;
            assert_eq!(given.status, 200);
            let name = format!("{cvu}-{}-{}.{ending}", days.0, days.1);
            std::fs::write(files.join(name), &given.bytes).unwrap();
        }
    }
    let Some(tools) = std::env::var_os("CAUDAL_STATEMENT_READERS") else {
        println!("not run: no readers are installed");
        return;
    };
    let mut check = Command::new("tests/statements/readers/check");
    let said = check.arg(&files).arg(tools).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, why) = (text(&said.stdout), text(&said.stderr));
    assert!(said.status.success(), "{out}{why}");
    assert_eq!(out.matches("15 statements are read").count(), 2, "{out}");
    assert!(out.contains("15 statements conform to PDF/A-2u"), "{out}");
}
