//! Whole lists in one answer, as CSV, as a workbook or as lines of JSON: every row once, a marked end, and no formula.

use caudal_ledger::time::{BusinessDay, Timestamp};

use crate::support::client::fresh;
use crate::support::service::Setup;
use crate::support::sheets::{SheetCell, csv, workbook};
use crate::support::{Answer, Client, SOON, TestService, Value, cuit, json, wait_until};

/// The media types of the forms.
const CSV: &str = "text/csv";
const LINES: &str = "application/x-ndjson";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/// More rows than are read at a time.
pub const MANY: u64 = 1203;

async fn rows(client: &Client, path: &str, accept: &str) -> Answer {
    let answer = client.get(path).header("accept", accept).await.is(200);
    let kind = answer.header("content-type").to_owned();
    assert!(kind.starts_with(accept), "{path}: {kind}");
    assert_eq!(answer.header("vary"), "accept", "{path}");
    answer
}

/// The JSON lines of a list; checks the last one, which counts them.
async fn lines(client: &Client, path: &str) -> Vec<Value> {
    let answer = rows(client, path, LINES).await;
    assert!(answer.text.ends_with('\n'), "{path} is cut");
    let lines = answer.text.lines();
    let mut all: Vec<Value> = lines.map(|it| serde_json::from_str(it).unwrap()).collect();
    let end = all.pop().unwrap();
    assert_eq!(end, json!({"summary": {"rows": all.len()}}), "{path}");
    all
}

/// The values of a field, in the order of the rows.
fn of(rows: &[Value], field: &str) -> Vec<Value> {
    rows.iter().map(|row| row[field].clone()).collect()
}

/// A service with an account of [`MANY`] vouchers, whose texts begin like formulas.
pub async fn service() -> (TestService, String) {
    let service = TestService::with(Setup::default()).await;
    let client = &service.a;
    client.in_and_out().await;
    let name = "=cmd|' /C calc'!A0";
    let body = json!({"cuit": cuit(fresh()), "holderName": name});
    let cvu = client.open_with(body).await["cvu"]
        .as_str()
        .unwrap()
        .to_owned();
    let item = |number: u64| {
        json!({
            "cvu": cvu, "voucherTypeCode": "IN", "amount": "0.01", "idExterno": format!("many-{number}"),
            "description": format!("@SUM({number})"),
        })
    };
    let items: Vec<_> = (0..MANY).map(item).collect();
    let body = json!({"mode": "independent", "items": items});
    let posted = client.post("/v1/comprobantes/batch", &body).await.is(200);
    assert_eq!(posted["summary"]["recorded"], MANY);
    (service, cvu)
}

#[actix_web::test]
async fn a_list_is_given_whole_and_in_its_order() {
    let (service, cvu) = service().await;
    let client = &service.a;
    let hold = client.hold(&cvu, "1.00").await;
    let other = client.cvu().await;
    let sent = client
        .transfer(&cvu, json!({"cvu": other}), "2.00")
        .await
        .is(201);
    let path = format!("/v1/accounts/{cvu}/movements");
    let newest = lines(client, &path).await;
    let count = usize::try_from(MANY).unwrap() + 2;
    let sequences: Vec<_> = of(&newest, "sequence")
        .iter()
        .map(|it| it.as_u64().unwrap())
        .collect();
    let wanted: Vec<_> = (1..=MANY + 2).rev().collect();
    assert_eq!(sequences, wanted);
    let oldest = lines(client, &format!("{path}?order=asc&type=IN")).await;
    assert_eq!(oldest.len(), count - 2);
    assert_eq!(oldest[0]["idExterno"], "many-0");
    let page = client.get(&format!("{path}?limit=1")).await.is(200);
    for (field, value) in page.json[0].as_object().unwrap() {
        assert_eq!(&newest[0][field], value);
    }

    let by_amount = lines(client, &format!("{path}?sort=amount&order=asc")).await;
    assert_eq!(by_amount.len(), count);
    let vouchers = lines(client, "/v1/comprobantes/internal").await;
    assert_eq!(vouchers.len(), count);
    let accounts = lines(client, "/v1/accounts?sort=cvu").await;
    assert_eq!(accounts.len(), 2);
    let held = lines(client, &format!("/v1/accounts/{cvu}/holds")).await;
    assert_eq!(of(&held, "id"), [hold["id"].clone()]);
    let transfers = lines(client, &format!("/v1/transfers?fromCvu={cvu}")).await;
    assert_eq!(of(&transfers, "id"), [sent["id"].clone()]);
    let positions = lines(client, "/v1/treasury/positions").await;
    assert_eq!(positions.len(), 2);
    let events = lines(client, "/v1/events").await;
    let numbers: Vec<_> = of(&events, "sequence")
        .iter()
        .map(|it| it.as_u64().unwrap())
        .collect();
    let wanted: Vec<_> = (1..).take(numbers.len()).collect();
    assert!(
        numbers == wanted && numbers.len() > count,
        "{}",
        numbers.len()
    );
    let rest = lines(client, "/v1/events?types=hold.*").await;
    assert_eq!(rest.len(), 1);
}

#[actix_web::test]
async fn csv_has_a_row_for_each_and_no_formula() {
    let (service, cvu) = service().await;
    let client = &service.a;
    for (path, columns, count) in [
        (
            format!("/v1/accounts/{cvu}/comprobantes"),
            "walletAccountId,id,cvu,sequence,",
            MANY,
        ),
        (
            "/v1/accounts".to_owned(),
            "walletAccountId,cvu,alias,status,",
            1,
        ),
        (
            "/v1/treasury".to_owned(),
            "asOf,sequence,currency,collector.cbu,",
            1,
        ),
        (
            "/v1/treasury?date=2026-01-01".to_owned(),
            "asOf,sequence,currency,",
            1,
        ),
        (
            "/v1/treasury/positions".to_owned(),
            "walletAccountId,cvu,alias,",
            1,
        ),
        (
            "/v1/bank/conciliacion".to_owned(),
            "date,result,direction,amount,",
            0,
        ),
        ("/v1/transfers".to_owned(), "walletAccountId,id,kind,", 0),
    ] {
        let answer = rows(client, &path, CSV).await;
        let mut found = answer.text.lines();
        let head = found.next().unwrap();
        assert!(head.starts_with(columns), "{path}: {head}");
        let body: Vec<_> = found.collect();
        assert_eq!(u64::try_from(body.len()).unwrap(), count, "{path}");
        for row in body {
            for cell in row.split(',') {
                let cell = cell.trim_start_matches('"');
                assert!(!cell.starts_with(['=', '+', '@']), "{path}: {row}");
            }
        }
    }
    let all = rows(client, &format!("/v1/accounts/{cvu}/comprobantes"), CSV).await;
    assert!(all.text.contains("'@SUM(7)") && all.text.contains(&cvu));
}

/// The milliseconds since 1970 of an instant in the calendar of Excel.
fn millis(serial: &str) -> u64 {
    let (days, part) = serial.split_once('.').unwrap();
    let unit = 10_u64.pow(u32::try_from(part.len()).unwrap());
    let part = part.parse::<u64>().unwrap() * 86_400_000;
    (days.parse::<u64>().unwrap() - 25_569) * 86_400_000 + (part + unit / 2) / unit
}

/// A cell of a workbook next to the same cell of CSV.
fn agrees(path: &str, column: &str, cell: &SheetCell, text: &str) {
    let is_amount = text.len() > 3
        && text.bytes().rev().nth(2) == Some(b'.')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b".-".contains(&byte));
    let shown = match cell {
        SheetCell::Empty => String::new(),
        // A text that a program could take for a formula has an apostrophe in CSV only.
        SheetCell::Text(found) if format!("'{found}") == text => text.to_owned(),
        SheetCell::Text(found) => found.clone(),
        SheetCell::Number(digits, 0 | 4) => digits.clone(),
        SheetCell::Number(days, 164) => {
            let day = BusinessDay::from_days(days.parse::<i64>().unwrap() - 25_569);
            day.unwrap().to_string()
        }
        // Buenos Aires is three hours behind UTC.
        SheetCell::Number(serial, 165) => {
            Timestamp::from_millis(millis(serial) + 3 * 3_600_000).to_string()
        }
        other => panic!("{path} {column}: {other:?}"),
    };
    assert_eq!(shown, text, "{path} {column}");
    let as_amount = matches!(cell, SheetCell::Number(_, 4));
    assert_eq!(as_amount, is_amount, "{path} {column}: {text}");
}

#[actix_web::test]
async fn a_workbook_has_the_rows_of_csv_with_their_types() {
    let (service, cvu) = service().await;
    let client = &service.a;
    client.hold(&cvu, "1.00").await;
    let other = client.cvu().await;
    let sent = client.transfer(&cvu, json!({"cvu": other}), "2.00");
    sent.await.is(201);
    let mut numbers = 0;
    for path in [
        "/v1/accounts".to_owned(),
        format!("/v1/accounts/{cvu}/comprobantes"),
        format!("/v1/accounts/{cvu}/movements?sort=amount"),
        format!("/v1/accounts/{cvu}/holds"),
        "/v1/comprobantes/internal".to_owned(),
        "/v1/transfers".to_owned(),
        "/v1/events".to_owned(),
        "/v1/treasury".to_owned(),
        "/v1/treasury/positions".to_owned(),
        "/v1/treasury/collector".to_owned(),
        "/v1/books/trial-balance".to_owned(),
        "/v1/bank/conciliacion".to_owned(),
        "/v1/bank/conciliacion?from=2026-01-01&to=2026-01-02".to_owned(),
    ] {
        let table = csv(&rows(client, &path, CSV).await.text);
        let (header, found) = workbook(&rows(client, &path, XLSX).await.bytes);
        assert_eq!(header, table[0], "{path}");
        assert_eq!(found.len(), table.len() - 1, "{path}");
        for (cells, texts) in found.iter().zip(&table[1..]) {
            for (place, column) in header.iter().enumerate() {
                // The treasury is read anew for each answer.
                if !path.starts_with("/v1/treasury") || !column.contains("sOf") {
                    agrees(&path, column, &cells[place], &texts[place]);
                }
                numbers += usize::from(matches!(cells[place], SheetCell::Number(_, 4)));
            }
        }
    }
    assert!(numbers > 1000, "{numbers}");
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    let (_, found) = workbook(&rows(client, &path, XLSX).await.bytes);
    let has = |text: &str| {
        found
            .iter()
            .flatten()
            .any(|cell| *cell == SheetCell::Text(text.to_owned()))
    };
    assert!(has("@SUM(7)") && has(&cvu));
}

#[actix_web::test]
async fn a_page_of_a_stream_is_refused_and_without_a_key_there_is_nothing() {
    let (service, cvu) = service().await;
    let path = format!("/v1/accounts/{cvu}/movements");
    for query in ["limit=1", "offset=1", "cursor="] {
        let name = query.split('=').next().unwrap();
        let asked = service
            .a
            .get(&format!("{path}?{query}"))
            .header("accept", CSV);
        let refused = asked.await.refused(400, "invalid_request");
        assert_eq!(refused["errors"][0]["field"], name, "{}", refused.text);
    }
    let other = service.b.get(&path).header("accept", CSV).await;
    other.refused(404, "account_not_found");
    let wrong = service
        .a
        .get(&format!("{path}?order=up"))
        .header("accept", LINES)
        .await;
    wrong.refused(400, "invalid_request");
    let other = service.a.get(&path).header("accept", "text/html").await;
    let other = other.refused(406, "not_acceptable");
    assert!(other.text.contains("text/csv"), "{}", other.text);
}

#[actix_web::test]
async fn a_realm_has_so_many_streams_and_each_gives_its_place_back() {
    let mut setup = Setup::default();
    setup.streams.streams_max = 1;
    let service = TestService::with(setup).await;
    let cvu = service.a.cvu().await;
    let path = format!("/v1/accounts/{cvu}/movements");
    let taken = service
        .a
        .get("/v1/events/stream")
        .raw()
        .send()
        .await
        .unwrap();
    assert_eq!(taken.status(), 200);
    let full = service.a.get(&path).header("accept", CSV).await;
    full.refused(429, "too_many_streams");
    let days = format!("/v1/accounts/{cvu}/statements?from=2026-01-01&to=2026-01-01");
    let pdf = service.a.get(&days).header("accept", "application/pdf");
    let full = pdf.await;
    full.refused(429, "too_many_streams");
    // a short answer takes no place
    service.a.get(&days).header("accept", CSV).await.is(200);
    service.a.get(&path).await.is(200);
    for _ in 0..3 {
        // the place is given back when the last byte has left, and the reader may see that byte a moment
        // earlier
        wait_until("there is a place again", SOON, async || {
            let answer = service.b.get("/v1/accounts").header("accept", CSV).await;
            (answer.status == 200).then_some(())
        })
        .await;
    }
}
