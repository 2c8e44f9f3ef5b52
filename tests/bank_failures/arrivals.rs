//! Money that arrives twice, or where it should not.

use caudal_bank::notices::route::PATH;
use caudal_ledger::cvu::Cvu;

use super::rig::{Rig, rail_id, received};
use crate::support::client::fresh;
use crate::support::{Value, json};

#[actix_web::test]
async fn cash_in_twice_with_the_same_rail_id() {
    let rig = Rig::start().await;
    let id = rail_id();
    rig.cash_in(&rig.cvu, "50.00", Some(&id)).await;
    rig.gets("1050.00", "0.00").await;
    rig.cash_in(&rig.cvu, "50.00", Some(&id)).await;
    rig.heard().await;
    // Many notices at once, some with another amount; the first counts.
    let (race, amounts) = (rail_id(), ["8.00", "9.00"]);
    rig.order(json!({"operation": "cash_in", "mode": "lose_notice", "count": 1}))
        .await;
    rig.cash_in(&rig.cvu, "8.00", Some(&race)).await;
    let reply = (0..16).map(|n| {
        let notice = received(&rig.cvu, amounts[n % 2], &race);
        let rig = &rig;
        async move { rig.notify(&notice).await }
    });
    let mut done = Vec::new();
    for answer in futures_util::future::join_all(reply).await {
        // A notice that meets another is to be sent again.
        assert!([200, 503].contains(&answer.status), "{}", answer.text);
        if answer["result"] == "done" {
            done.push(answer);
        }
    }
    assert_eq!(done.len(), 1);
    let vouchers = rig.statement(&rig.cvu).await;
    assert_eq!(vouchers.len(), 3, "{vouchers:?}");
    assert_eq!(vouchers[1], "credit 50.00");
    let found = rig.reconciled("coelsaId", &json!(race)).await;
    let differs = vouchers[2] == "credit 9.00";
    let expected = if differs { "amount_differs" } else { "matched" };
    assert_eq!(found["result"], expected);
    let again = rig
        .notify(&received(&rig.other, "8.00", &race))
        .await
        .is(200);
    assert_eq!(again["result"], "known");
    rig.lives(u64::from(differs)).await;
}

/// Checks that money waits in suspense, and that reconciliation shows where and why.
async fn suspended(rig: &Rig, cvu: &str, reason: &str) {
    for reply in [true, false] {
        let id = rail_id();
        if reply {
            rig.cash_in(cvu, "12.34", Some(&id)).await;
            rig.heard().await;
        } else {
            // As notices sent by the test, to see the answer; twice, to see that it counts once.
            rig.order(json!({"operation": "cash_in", "mode": "lose_notice", "count": 1}))
                .await;
            rig.cash_in(cvu, "12.34", Some(&id)).await;
            let notice = received(cvu, "12.34", &id);
            for result in ["suspended", "known"] {
                assert_eq!(rig.notify(&notice).await.is(200)["result"], result);
            }
        }
        let found = rig.reconciled("coelsaId", &json!(id)).await;
        assert_eq!(
            (&found["result"], &found["voucher"], &found["cvu"]),
            (&json!("suspense"), &Value::Null, &json!(cvu))
        );
        assert_eq!(found["suspense"]["reason"], reason, "{found}");
        assert_eq!(found["amount"], "12.34");
    }
}

#[actix_web::test]
async fn cash_in_to_a_closed_cvu() {
    let mut rig = Rig::start().await;
    let closed = rig.a.cvu().await;
    rig.a.credit(&closed, "3.00").await;
    let gone = rig.a.delete(&format!("/v1/accounts/{closed}")).await;
    assert_eq!(gone.is(200)["status"], "closed");
    suspended(&rig, &closed, "account_closed").await;
    assert_eq!(rig.statement(&closed).await, ["credit 3.00"]);
    rig.end(false).await;
    rig.begin();
    suspended(&rig, &closed, "account_closed").await;
    rig.lives(4).await;
}

#[actix_web::test]
async fn cash_in_to_an_unknown_cvu() {
    let mut rig = Rig::start().await;
    // A client id beyond the last one of the same realm.
    let digits = |from, to| rig.other.get(from..to).unwrap().parse::<u64>().unwrap();
    let (client, psp) = (digits(9, 21), u16::try_from(digits(3, 7)).unwrap());
    let unknown = Cvu::compose(psp, client + 100).unwrap().to_string();
    suspended(&rig, &unknown, "account_not_found").await;
    rig.end(true).await;
    rig.begin();
    suspended(&rig, &unknown, "account_not_found").await;
    // A CVU that no account of this bank ever had: it arrived at this tenant's collector account all the same.
    let nobody = Cvu::compose(psp, 999_999_999_999).unwrap().to_string();
    suspended(&rig, &nobody, "account_not_found").await;
    rig.lives(6).await;
}

#[actix_web::test]
async fn cash_in_to_a_suspended_account() {
    let rig = Rig::start().await;
    let path = format!("/v1/accounts/{}", rig.cvu);
    let body = json!({"reason": "orden judicial"});
    rig.a.post(&format!("{path}/suspend"), &body).await.is(200);
    let id = rig.cash_in(&rig.cvu, "50.00", None).await;
    rig.gets("1050.00", "0.00").await;
    let found = rig.reconciled("coelsaId", &json!(id)).await;
    assert_eq!(
        (&found["result"], &found["suspense"]),
        (&json!("matched"), &Value::Null)
    );
    // The money that arrived cannot leave the suspended account.
    let body = json!({
        "fromCvu": rig.cvu, "to": {"alias": "destino.0"}, "amount": "1.00",
        "idExterno": format!("no-{}", fresh()),
    });
    let refused = rig.a.post("/v1/transfers", &body).await;
    refused.refused(400, "account_suspended");
    let body = json!({"reason": "levantada"});
    rig.a
        .post(&format!("{path}/reactivate"), &body)
        .await
        .is(200);
    rig.lives(0).await;
}

#[actix_web::test]
async fn cash_in_to_a_disabled_account() {
    let rig = Rig::start().await;
    rig.enable(false).await;
    let id = rig.cash_in(&rig.cvu, "50.00", None).await;
    rig.gets("1050.00", "0.00").await;
    let found = rig.reconciled("coelsaId", &json!(id)).await;
    assert_eq!(
        (&found["result"], &found["suspense"]),
        (&json!("matched"), &Value::Null)
    );
    let refused = rig.a.voucher(&rig.cvu, "OUT", "1.00", "disabled").await;
    refused.refused(400, "account_disabled");
    rig.enable(true).await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn a_notice_needs_no_key_and_knows_post_only() {
    let rig = Rig::start().await;
    let answer = rig.a.get(PATH).await.refused(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "POST");
}
