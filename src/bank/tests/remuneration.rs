//! Remuneration: enrolled once by a reference, and positions that are either sound or absent.

use caudal_actors::ports::EnrolmentOrder;
use caudal_ledger::remuneration::{BrokerageAccount, EnrolmentState};

use super::fake::{canned, no, scripted, yes};
use super::*;

pub(super) fn order(cvu: Cvu, code: &str) -> EnrolmentOrder {
    EnrolmentOrder {
        reference: "5-1".into(),
        cvu,
        cuit: holder().cuit,
        brokerage_account: BrokerageAccount::parse(code).unwrap(),
        fund: None,
    }
}

#[actix_web::test]
async fn a_cvu_is_enrolled_once_by_its_reference() {
    let (bank, gateway) = rig();
    let cvu = gateway.create_cvu(5, &holder(), ID).await.result.unwrap();
    let unknown = gateway.fund_position("5-1", ID).await;
    assert_eq!(unknown.result, Ok(None));
    let order = order(cvu, "COMITENTE-7");
    let first = gateway.enrol(&order, ID).await;
    let word = first.result.clone().unwrap();
    assert_eq!(word.state, EnrolmentState::Active);
    assert!(!format!("{:?}", first.calls).contains("COMITENTE"));
    assert_eq!(gateway.enrol(&order, ID).await.result, Ok(word.clone()));
    let other = EnrolmentOrder {
        reference: "5-2".into(),
        ..order.clone()
    };
    let refused_other = refused(gateway.enrol(&other, ID).await);
    assert_eq!(refused_other, (409, "RM003".into()));
    let changed = EnrolmentOrder {
        fund: Some("Otro".into()),
        ..order
    };
    let reused = refused(gateway.enrol(&changed, ID).await);
    assert_eq!(reused, (409, "RM002".into()));
    let record = gateway.fund_position("5-1", ID).await.result.unwrap();
    let record = record.unwrap();
    assert_eq!(record.word, word);
    let position = record.position.unwrap();
    assert!(position.daily_yield().is_some() && position.yearly_rate().is_some());
    let state = state(&bank).await;
    assert_eq!(state["enrolments"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn a_nonsensical_answer_leaves_the_outcome_unknown() {
    let good = || {
        json!({
            "reference": "5-1", "status": "ACTIVE", "fund": "F\u{202e}", "units": "656402.1234",
            "price": {"date": "2026-03-03", "value": "1524.891234"},
            "previous": {"date": "2026-03-02", "value": "1523.456789"},
            "month": null,
        })
    };
    let (url, requests) = scripted(vec![yes(&good())]);
    let record = gateway(&url).fund_position("5-1", ID).await.result;
    let record = record.unwrap().unwrap();
    assert_eq!(record.word.fund.as_deref(), Some("F"));
    let position = record.position.unwrap();
    let shown = [
        position.value().unwrap().to_string(),
        position.daily_yield().unwrap().to_string(),
        position.yearly_rate().unwrap().to_string(),
    ];
    assert_eq!(shown, ["1000941.84", "0.094157", "34.37"]);
    let asked = requests.try_iter().nth(1).unwrap();
    let path = format!("/base/v1/banks/322/accounts/{COLLECTOR}/owner/wallet/remuneration/5-1 ");
    assert!(asked.starts_with(&format!("GET {path}")), "{asked}");
    for (member, value) in [
        ("reference", json!("5-2")),
        ("status", json!("MAYBE")),
        ("units", json!("-1")),
        ("units", json!(5)),
        ("price", json!({"date": "2026-03-03", "value": "0"})),
        ("price", json!({"date": "2026-03-02", "value": "1"})),
        ("previous", json!({"date": "2026-03-04", "value": "1"})),
        ("previous", json!({"date": "x", "value": "1"})),
        ("month", json!({"date": "2026-03-03", "value": "1"})),
    ] {
        let mut record = good();
        record[member] = value;
        let (url, _requests) = scripted(vec![yes(&record)]);
        let reply = gateway(&url).fund_position("5-1", ID).await;
        assert!(
            matches!(reply.result, Err(BankError::Failed { .. })),
            "{record}"
        );
    }
    // Without units there is a state and no position.
    let bare = json!({"reference": "5-1", "status": "PENDING"});
    let (url, _requests) = scripted(vec![yes(&bare)]);
    let record = gateway(&url).fund_position("5-1", ID).await.result;
    assert_eq!(record.unwrap().unwrap().position, None);
    let (url, _requests) = scripted(vec![no("RM004")]);
    let reply = gateway(&url).fund_position("5-1", ID).await;
    assert!(
        matches!(reply.result, Err(BankError::Failed { .. })),
        "{reply:?}"
    );
    let (url, _requests) = canned("404 Not Found", "<html>".into());
    let cvu = Cvu::compose(999, 5).unwrap();
    let reply = gateway(&url).enrol(&order(cvu, "7"), ID).await;
    assert!(
        matches!(reply.result, Err(BankError::Failed { .. })),
        "{reply:?}"
    );
}
