//! What a transfer moves, by the bank's reports: read as it is, and judged by the ledger.

use caudal_ledger::money::Amount;
use caudal_ledger::transfers::BankMoved;

use super::fake::{scripted, yes};
use super::transfers::{moved, order, origin, with};
use super::*;

#[actix_web::test]
async fn an_unrelated_record_is_reported_as_unrelated() {
    let unknown = json!({"cbu": "UNAVAILABLE", "label": ""});
    for (member, value, expected) in [
        (
            "value",
            json!({"currency": "USD", "amount": "1"}),
            BankMoved {
                amount: Some(Amount::parse("1.00").unwrap()),
                currency: Some("USD".into()),
                ..moved()
            },
        ),
        (
            "origin_debit",
            json!({"cvu": "x"}),
            BankMoved {
                cvu: Some("x".into()),
                ..moved()
            },
        ),
        (
            "to",
            unknown,
            BankMoved {
                to_key: None,
                to_alias: None,
                ..moved()
            },
        ),
    ] {
        let said = with("COMPLETED", json!({member: value}));
        let (url, _requests) = scripted(vec![yes(&said)]);
        let gateway = gateway(&url);
        let sent = gateway.transfer(&order(), ID).await;
        assert_eq!(sent.result.unwrap().moved, expected, "{said}");
        let asked = gateway.transfer_status(origin(3), ID).await;
        assert_eq!(asked.result.unwrap().unwrap().moved, expected, "{said}");
    }
}
