//! A bank that remembers more than the service, because an older copy of the service's folder was
//! put back: the service takes in what had left before it sends anything new, and nothing is paid
//! twice.

use std::path::Path;

use tempfile::TempDir;

use super::rig::{Rig, calls};
use super::{call, reconciled};
use crate::support::client::fresh;
use crate::support::{Value, json};

pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A copy of the folder of a stopped service.
pub fn copied(rig: &Rig) -> TempDir {
    let kept = TempDir::new().unwrap();
    copy(rig.data(), kept.path());
    kept
}

/// Puts a copy back, and starts the service on it.
pub async fn put_back(rig: &mut Rig, kept: &TempDir) {
    rig.end(false).await;
    std::fs::remove_dir_all(rig.data()).unwrap();
    copy(kept.path(), rig.data());
    rig.begin();
}

fn order(rig: &Rig, digit: u8, amount: &str, id: &str) -> Value {
    json!({
        "fromCvu": rig.cvu, "to": {"alias": format!("destino.{digit}")},
        "amount": amount, "idExterno": id,
    })
}

#[actix_web::test]
async fn what_left_in_a_past_that_is_gone_is_taken_in_before_anything_new_leaves() {
    let mut rig = Rig::start().await;
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    let lost = order(&rig, 0, "100.00", "lost");
    let lost_as = rig.a.post("/v1/transfers", &lost).await.is(201).json;
    let lost_as = rig.ends(&lost_as, "completed").await;
    put_back(&mut rig, &kept).await;
    rig.has("1000.00", "0.00").await;
    // A different transfer is a different one at the bank: both are paid, and both are in the
    // books.
    let sent = rig.send(5, "300.00").await;
    let sent = rig.ends(&sent, "completed").await;
    assert_ne!(sent["originId"], lost_as["originId"]);
    assert_ne!(sent["bankTransferId"], lost_as["bankTransferId"]);
    rig.has("600.00", "0.00").await;
    let at_bank = rig.at_bank(&sent).await.unwrap();
    assert_eq!(at_bank["value"]["amount"], "300.00");
    let matched = (json!("matched"), json!("completed"));
    assert_eq!(reconciled(&rig, &sent).await, matched);
    // A client that repeats the order because it is not there gets the existing transfer, and the
    // bank pays nothing.
    let again = rig.a.post("/v1/transfers", &lost).await.is(201).json;
    assert_eq!(
        (
            &again["status"],
            &again["originId"],
            &again["bankTransferId"]
        ),
        (
            &json!("completed"),
            &lost_as["originId"],
            &lost_as["bankTransferId"]
        )
    );
    assert_eq!(reconciled(&rig, &again).await, matched);
    for other in [
        order(&rig, 0, "100.01", "lost"),
        order(&rig, 4, "100.00", "lost"),
    ] {
        let refused = rig.a.post("/v1/transfers", &other).await;
        refused.refused(409, "id_externo_reused");
    }
    rig.has("600.00", "0.00").await;
    rig.lives(0).await;
}

#[actix_web::test]
async fn the_same_order_again_is_paid_once_also_when_the_list_does_not_tell() {
    let mut rig = Rig::start().await;
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    let lost = order(&rig, 2, "100.00", "slow");
    let lost_as = rig.a.post("/v1/transfers", &lost).await.is(201).json;
    rig.called(&lost_as, "transfer", Some(200)).await;
    // The transfer is still on its way when the copy is put back, so the list does not show it as
    // gone.
    put_back(&mut rig, &kept).await;
    let again = rig.a.post("/v1/transfers", &lost).await.is(201).json;
    assert_eq!(again["originId"], lost_as["originId"]);
    rig.tell(&again, "settle", json!({"status": "COMPLETED"}))
        .await
        .is(200);
    rig.ends(&again, "completed").await;
    rig.has("900.00", "0.00").await;
    assert_eq!(rig.bank().await["transfersTotal"], 1);
    rig.lives(0).await;
}

#[actix_web::test]
async fn orders_wait_until_the_list_was_read() {
    let mut rig = Rig::start().await;
    rig.end(true).await;
    rig.behave("transfer_list", "error").await;
    rig.begin();
    let sent = rig.send(0, "100.00").await;
    let asked = rig.bank().await["calls"]["transfer_list"].clone();
    crate::support::wait_until("it is asked for again", crate::support::SOON, async || {
        let now = rig.bank().await["calls"]["transfer_list"].clone();
        (now.as_u64() > asked.as_u64().map(|asked| asked + 3)).then_some(())
    })
    .await;
    let waits = rig.read(&sent).await;
    assert_eq!(
        (&waits["status"], calls(&waits)),
        (&json!("requested"), vec![])
    );
    assert_eq!(rig.at_bank(&sent).await, None);
    rig.has("1000.00", "100.00").await;
    rig.heal().await;
    let done = rig.ends(&sent, "completed").await;
    assert_eq!(calls(&done), [call("transfer", 200)]);
    rig.lives(0).await;
}

#[actix_web::test]
async fn a_client_id_that_is_somebody_elses_at_the_bank_is_drawn_again() {
    let mut rig = Rig::start().await;
    rig.end(true).await;
    let kept = copied(&rig);
    rig.begin();
    let lost = [rig.a.cvu().await, rig.a.cvu().await];
    put_back(&mut rig, &kept).await;
    for _ in 0..3 {
        let given = rig.a.cvu().await;
        assert!(!lost.contains(&given));
        rig.a
            .credit(&given, format!("{}.00", fresh() % 100 + 1).as_str())
            .await;
    }
}
