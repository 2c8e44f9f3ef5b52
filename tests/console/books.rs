//! The walk of an accountant: from the trial balance of a day to one voucher and back.

use super::browser::Browser;
use crate::support::{SOON, TestService, json, wait_until};
use crate::treasury::books::centavos;

const REALM: &str = "/console/tenants/tnt_first/test";

/// The first address on a page that begins so.
#[track_caller]
fn link(html: &str, beginning: &str) -> String {
    let mut links = html.split("href=\"").skip(1);
    let found = links.find_map(|rest| {
        let address = rest.split('"').next().unwrap();
        let address = address.replace("&#38;", "&").replace("&amp;", "&");
        address.starts_with(beginning).then_some(address)
    });
    found.unwrap_or_else(|| panic!("no link to {beginning}: {html}"))
}

/// The rows of CSV that have a text.
fn rows<'a>(csv: &'a str, text: &str) -> Vec<Vec<&'a str>> {
    let found = csv.lines().filter(|row| row.contains(text));
    found.map(|row| row.split(',').collect()).collect()
}

/// A service on whose books a day has an arrival, a toll, a bank fee and money within the realm; with the CVU and the id of
/// the toll's voucher.
async fn booked() -> (TestService, String, String) {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let (cvu, other) = (service.a.cvu().await, service.a.cvu().await);
    service.bank.cash_in(&cvu, "100.00").await;
    wait_until("the arrival is booked", SOON, async || {
        let has = service.a.balance(&cvu).await["total"].clone();
        (has == "100.00").then_some(())
    })
    .await;
    let fee = json!({"kind": "fee", "amount": "1.50"});
    service.bank_moves(fee).await;
    let toll = service.a.debit(&cvu, "4.00").await;
    let to = json!({"cvu": other});
    service.a.transfer(&cvu, to, "6.00").await.is(201);
    let toll = toll["id"].as_str().unwrap().to_owned();
    (service, cvu, toll)
}

async fn csv(service: &TestService, path: &str) -> String {
    let call = service.a.get(path).header("accept", "text/csv");
    call.await.is(200).text
}

#[actix_web::test]
async fn the_books_of_a_day_agree_with_positions_and_bank() {
    let (service, _, toll) = booked().await;
    let day = service.engine().now().business_day();
    let collector = service.a.get("/v1/treasury/collector").await.is(200);
    let positions = service.a.get("/v1/treasury/positions").await.is(200);
    let of_clients = positions["items"].as_array().unwrap().iter();
    let of_clients: i64 = of_clients.map(|it| centavos(&it["total"])).sum();
    let balance = csv(&service, &format!("/v1/books/trial-balance?date={day}")).await;
    let line = |account: &str| rows(&balance, &format!("{account},"))[0].clone();
    assert_eq!(centavos(&json!(line("clients")[3])), of_clients);
    assert_eq!(json!(line("bank")[2]), collector["closing"]);
    let income = ["income", "0.00", "4.00", "4.00"];
    assert_eq!(line("adjustments:out")[1..], income);
    let entries = format!("/v1/books/entries?account=adjustments:out&from={day}&to={day}");
    let entries = csv(&service, &entries).await;
    let found = rows(&entries, "adjustments:out");
    assert_eq!(found.len(), 1);
    let entry = ["adjustments:out", "0.00", "4.00", "voucher", &toll];
    assert_eq!(found[0][3..8], entry);
    let voucher = service.a.get(&format!("/v1/comprobantes/{toll}")).await;
    assert_eq!(voucher.is(200)["amount"], "4.00");
}

#[actix_web::test]
async fn the_books_lead_from_the_treasury_to_a_voucher_and_back() {
    let (service, cvu, toll) = booked().await;
    let day = service.engine().now().business_day();
    service.a.get("/v1/treasury/collector").await.is(200);
    let mut browser = Browser::entered(&service).await.reads("en");
    let treasury = browser.get("/console/treasury").await.is(200);
    let books = link(&treasury.text, &format!("{REALM}/books"));
    browser.get(&books).await.is(200);
    let books = format!("{books}?date={day}");
    let shown = browser.get(&books).await.is(200);
    for figure in ["96.00", "98.50", "4.00", "1.50"] {
        assert!(shown.text.contains(figure), "{figure}: {}", shown.text);
    }
    let of = |account: &str| format!("{REALM}/books/entries?account={account}&");
    let listed = browser
        .get(&link(&shown.text, &of("adjustments:out")))
        .await;
    let voucher = link(&listed.is(200).text, "/console/vouchers/");
    assert_eq!(voucher, format!("/console/vouchers/{toll}"));
    let one = browser.get(&voucher).await.is(200);
    assert!(one.text.contains("4.00") && one.text.contains(&cvu));
    let back = browser.get(&link(&one.text, &of("clients"))).await.is(200);
    assert!(back.text.contains(&voucher), "{}", back.text);
    assert_eq!(link(&back.text, &format!("{REALM}/books?")), books);
    // A movement of the collector account is a case.
    let listed = browser.get(&link(&shown.text, &of("unclassified"))).await;
    let case = link(&listed.is(200).text, "/console/cases/col_");
    assert!(browser.get(&case).await.is(200).text.contains("1.50"));
}
