//! Orders that are repeated after an older copy was put back, or by a new store at a bank that knows
//! them: accounts get the CVUs that they had, enrolments are found, and nobody gets another's.

use std::collections::BTreeSet;

use super::past::{copied, put_back};
use super::rig::Rig;
use crate::support::client::fresh;
use crate::support::{Value, cuit, json};

/// Opens an account for a holder, with the tenant's own code if there is one; returns its CVU.
async fn open(rig: &Rig, holder: u32, code: Option<&str>) -> Value {
    let mut body = json!({"cuit": cuit(holder), "holderName": format!("Holder Number {holder}")});
    if let Some(code) = code {
        body["externalId"] = json!(code);
    }
    rig.a.open_with(body).await["cvu"].clone()
}

/// How many CVUs the bank has given out.
async fn given(rig: &Rig) -> usize {
    let state = rig.bank().await;
    state["accounts"].as_array().unwrap().len()
}

#[actix_web::test]
async fn accounts_that_are_opened_again_get_their_cvus_back_in_any_order() {
    let mut rig = Rig::start().await;
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    let (ana, eva) = (fresh(), fresh());
    let of_ana = open(&rig, ana, None).await;
    let of_eva = open(&rig, eva, None).await;
    // Two accounts of one holder, told apart by the tenant's codes.
    let both = fresh();
    let (shop, home) = (format!("shop-{both}"), format!("home-{both}"));
    let of_shop = open(&rig, both, Some(&shop)).await;
    let of_home = open(&rig, both, Some(&home)).await;
    let all = BTreeSet::from([&of_ana, &of_eva, &of_shop, &of_home].map(Value::to_string));
    assert_eq!(all.len(), 4);
    let before = given(&rig).await;
    put_back(&mut rig, &kept).await;
    assert_eq!(open(&rig, both, Some(&home)).await, of_home);
    assert_eq!(open(&rig, eva, None).await, of_eva);
    assert_eq!(open(&rig, both, Some(&shop)).await, of_shop);
    assert_eq!(open(&rig, ana, None).await, of_ana);
    assert_eq!(given(&rig).await, before);
    rig.lives(0).await;
}

#[actix_web::test]
async fn a_holders_accounts_without_codes_come_back_in_the_order_of_their_opening() {
    let mut rig = Rig::start().await;
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    let holder = fresh();
    let mut had = Vec::new();
    for _ in 0..4 {
        had.push(open(&rig, holder, None).await);
        // Another holder's account in between makes no difference.
        rig.a.cvu().await;
    }
    put_back(&mut rig, &kept).await;
    for cvu in had {
        assert_eq!(open(&rig, holder, None).await, cvu);
    }
    let more = open(&rig, holder, None).await;
    rig.a.credit(more.as_str().unwrap(), "1.00").await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn accounts_of_one_holder_that_are_opened_at_once_have_one_cvu_each() {
    let mut rig = Rig::start().await;
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    let holder = fresh();
    let at_once = async |rig: &Rig| {
        let all = (0..6).map(|_| open(rig, holder, None));
        let all = futures_util::future::join_all(all).await;
        let all: BTreeSet<_> = all.iter().map(Value::to_string).collect();
        assert_eq!(all.len(), 6);
        all
    };
    let had = at_once(&rig).await;
    // Opened at once, the accounts are in no order: each gets some CVU of the holder's, and together
    // they get the same ones as before.
    put_back(&mut rig, &kept).await;
    assert_eq!(at_once(&rig).await, had);
    rig.lives(0).await;
}

#[actix_web::test]
async fn a_code_that_an_account_gives_up_gives_nobody_its_cvu() {
    let rig = Rig::start().await;
    let (holder, code) = (fresh(), format!("code-{}", fresh()));
    let body = json!({"cuit": cuit(holder), "holderName": "Ana Paz", "externalId": code});
    let first = rig.a.open_with(body.clone()).await;
    let path = format!("/wallet/v1/Cuenta/{}", first["walletAccountId"]);
    let known = rig.a.get(&path).await.is(200).json;
    let mut change = known;
    change["codigo"] = json!(format!("other-{}", fresh()));
    rig.a.put(&path, &change).await.is(204);
    let second = rig.a.open_with(body).await;
    assert_ne!(second["cvu"], first["cvu"]);
    rig.lives(0).await;
}

#[actix_web::test]
async fn a_store_that_begins_anew_gives_nobody_the_cvu_of_somebody_else() {
    let mut rig = Rig::start().await;
    let (ana, eva) = (fresh(), fresh());
    let of_ana = open(&rig, ana, None).await;
    let of_eva = open(&rig, eva, None).await;
    rig.end(true).await;
    std::fs::remove_dir_all(rig.data()).unwrap();
    rig.begin_anew().await;
    // The tenant's id is another one, even if the number of its realm is the same.
    let again = open(&rig, eva, None).await;
    let other = open(&rig, ana, None).await;
    let all = BTreeSet::from([&of_ana, &of_eva, &again, &other].map(Value::to_string));
    assert_eq!(all.len(), 4);
}

#[actix_web::test]
async fn an_enrolment_that_is_asked_for_again_is_found() {
    let mut rig = Rig::start().await;
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    let path = "/wallet/v1/Remuneracion/Alta";
    let body = json!({"cvu": rig.cvu, "cuentaComitente": "12345"});
    let lost = rig.a.post(path, &body).await.is(201).json;
    assert_eq!(lost["estado"], "ACTIVA");
    put_back(&mut rig, &kept).await;
    // First the account changes in another way.
    let alias = json!({"alias": format!("otra.{}", fresh())});
    let set = format!("/v1/accounts/{}/alias", rig.cvu);
    rig.a.put(&set, &alias).await.is(200);
    let again = rig.a.post(path, &body).await.is(201).json;
    assert_eq!(
        (&again["estado"], &again["id"]),
        (&json!("ACTIVA"), &lost["id"])
    );
    // An enrolment of another account is another one.
    let body = json!({"cvu": rig.other, "cuentaComitente": "12345"});
    let other = rig.a.post(path, &body).await.is(201).json;
    assert_eq!(other["estado"], "ACTIVA");
    assert_ne!(other["id"], lost["id"]);
    // When an enrolment has ended, the same order makes a new one.
    let over = format!("/sandbox/remuneration/{}", rig.cvu);
    rig.control
        .post(&over, &json!({"status": "ENDED"}))
        .await
        .is(200);
    let state = format!("/wallet/v1/Remuneracion/Estado/{}", rig.cvu);
    assert_eq!(rig.a.get(&state).await.is(200)["estado"], "BAJA");
    let body = json!({"cvu": rig.cvu, "cuentaComitente": "12345"});
    let second = rig.a.post(path, &body).await.is(201).json;
    assert_eq!(second["estado"], "ACTIVA");
    assert_ne!(second["id"], lost["id"]);
    rig.lives(0).await;
}
