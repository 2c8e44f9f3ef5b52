//! Restores to the past, and older copies of the folder: no history is shipped over another, and after a restore
//! outgoing orders wait for an operator.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::{at, command, journal, restored, seen, shipped, text, verified, worked};
use crate::problems::codes;
use crate::support::client::fresh;
use crate::support::service::{Setup, TestClock, opening};
use crate::support::{TestService, Value, cuit, json};
use crate::webhooks::inbox::Inbox;

/// A service whose clock stands at noon, and which is backed up to this folder.
async fn at_noon(to: &Path) -> (Arc<TestClock>, TestService) {
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let setup = Setup {
        clock: Arc::<TestClock>::clone(&clock),
        backup: at(to),
        ..Setup::default()
    };
    (clock, TestService::with(setup).await)
}

#[actix_web::test]
async fn a_restore_to_the_past_is_a_history_of_its_own() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let (clock, mut service) = at_noon(&to).await;
    let cvus = worked(&service, 3).await;
    let then = journal(&service).await["lastCommit"].to_string();
    let before = seen(&service.a, &cvus).await;
    let last = before[1][0]["createdAt"].as_str();
    let last = last.unwrap_or_else(|| panic!("{}", before[1])).to_owned();
    clock.set("2026-03-02T12:01:00Z");
    service.a.credit(&cvus[0], "7.00").await;
    let first = shipped(&service).await;
    service.end(true).await;
    let from = ["--from", text(&to)];
    for (at, name) in [(then.as_str(), "by-commit"), (last.as_str(), "by-instant")] {
        let new = dir.path().join(name);
        let plain = ["restore", "--into", text(&new), "--at", at];
        let (code, _, why) = command(&[&plain[..], &from].concat());
        assert_eq!(code, Some(2), "{why}");
        assert!(why.contains("--new-history") && !new.exists(), "{why}");
        let done = restored(&to, &new, service.data(), &["--at", at, "--new-history"]);
        let done = &done["restored"];
        assert_eq!(done["cut"], true);
        if at == then {
            assert_eq!(done["commit"].to_string(), then);
        }
        assert_eq!(done["store"], first["store"]);
        assert_ne!(done["became"], first["store"]);
        service.moves(new);
        service.begin().await;
        assert_eq!(seen(&service.a, &cvus).await, before);
        service.a.credit(&cvus[0], "9.00").await;
        // its backup is written next to the other one, and not over it
        let beside = shipped(&service).await;
        assert_eq!(
            (&beside["error"], &beside["store"]),
            (&Value::Null, &done["became"])
        );
        service.end(true).await;
        let (code, _, why) = command(&["backup", "verify", "--from", text(&to)]);
        assert_eq!(code, Some(2), "{why}");
        assert!(why.contains(first["store"].as_str().unwrap()), "{why}");
        for store in [&first["store"], &done["became"]] {
            let store = store.as_str().unwrap();
            let one = ["backup", "verify", "--store", store, "--json"];
            let (code, found, why) = command(&[&one[..], &from].concat());
            assert_eq!(code, Some(0), "{why}");
            assert_eq!(found["store"], store);
        }
        let own = to.join(done["became"].as_str().unwrap());
        fs::remove_dir_all(own).unwrap();
    }
}

#[actix_web::test]
async fn a_restore_to_an_instant_goes_by_the_machines_clock() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let (clock, mut service) = at_noon(&to).await;
    // Every time of the realm is a month after the machine's from here on.
    let order = json!({"daysAhead": 30});
    service
        .a
        .post("/v1/simulations/clock", &order)
        .await
        .is(200);
    let cvus = worked(&service, 2).await;
    let before = seen(&service.a, &cvus).await;
    assert!(
        before[1].to_string().contains("2026-04-01T12:00:00"),
        "{}",
        before[1]
    );
    clock.set("2026-03-02T12:05:00Z");
    service.a.credit(&cvus[0], "7.00").await;
    shipped(&service).await;
    service.end(true).await;
    let new = dir.path().join("new");
    let how = ["--at", "2026-03-02T12:01:00Z", "--new-history"];
    let done = restored(&to, &new, service.data(), &how);
    assert_eq!(done["restored"]["cut"], true);
    service.moves(new);
    service.begin().await;
    assert_eq!(seen(&service.a, &cvus).await, before);
    service.a.credit(&cvus[0], "9.00").await;
    service.end(true).await;
}

#[actix_web::test]
async fn outgoing_calls_of_a_new_history_wait_for_an_operator() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let mut service = TestService::with(Setup {
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    let inbox = Inbox::start();
    let hook = json!({"url": inbox.url("/hooks"), "types": ["voucher.created"]});
    service.a.post("/v1/webhooks", &hook).await.is(201);
    let cvus = worked(&service, 2).await;
    let known = inbox.came(4).await.len();
    shipped(&service).await;
    service.end(true).await;
    let new = dir.path().join("new");
    restored(&to, &new, service.data(), &["--new-history"]);
    service.moves(new);
    service.begin().await;
    assert!(codes(&service).await.contains(&"outgoing_held".to_owned()));
    let told = service
        .admin_get("/admin/outgoing")
        .await
        .is(200)
        .json
        .clone();
    assert_eq!(told, json!({"held": true, "error": null}));
    let sent = service.bank.calls("transfer").await;
    let order = json!({
        "fromCvu": cvus[0], "to": {"alias": "destino.0"}, "amount": "1.00", "idExterno": "held",
    });
    let transfer = service
        .a
        .post("/v1/transfers", &order)
        .await
        .is(201)
        .json
        .clone();
    // a second transfer, which a person rejects before anything is released
    let to_bank = || json!({"alias": "destino.0"});
    let rejected = service.a.transfer(&cvus[0], to_bank(), "2.00").await;
    let rejected = rejected.is(201).json.clone();
    service.a.credit(&cvus[0], "7.00").await;
    // the account is not opened, and the client is told so
    let body = opening(&cuit(fresh()));
    let opened = service
        .a
        .post("/v1/accounts", &body)
        .header("idempotency-key", "held");
    assert!(matches!(opened.await.status, 502..=504));
    // outgoing orders stay held after a restart
    service.restart().await;
    assert_eq!(service.bank.calls("transfer").await, sent);
    let id = rejected["id"].as_str().unwrap();
    let decision = json!({"outcome": "rejected", "force": true, "by": "ops", "reason": "it was sent otherwise"});
    let path = format!("/admin/transfers/{id}/decide");
    let decided = service.admin("POST", &path, &decision).await;
    assert_eq!(decided.is(200)["status"], "rejected");
    let order = json!({"by": "ops", "reason": "looked at the bank's list"});
    let told = service
        .admin("POST", "/admin/outgoing/release", &order)
        .await;
    assert_eq!(told.is(200).json, json!({"held": false, "error": null}));
    service.a.settled(&transfer, "completed").await;
    // a later transfer is sent after all that waited
    let later = service.a.transfer(&cvus[0], to_bank(), "0.50").await;
    let later = later.is(201).json.clone();
    service.a.settled(&later, "completed").await;
    let ordered = service.bank.state().await["transfers"].clone();
    let is_ordered = |it: &Value| {
        let all = ordered.as_array().unwrap();
        all.iter().any(|one| one["origin_id"] == it["originId"])
    };
    assert!(is_ordered(&transfer) && is_ordered(&later));
    assert!(!is_ordered(&rejected));
    inbox.came(known + 1).await;
    service.restart().await;
    let status = service
        .admin_get("/admin/status")
        .await
        .is(200)
        .json
        .clone();
    assert_eq!(status["outgoingHeld"], false);
}

#[actix_web::test]
async fn an_older_copy_is_not_shipped_over_what_a_newer_one_has() {
    let dir = TempDir::new().unwrap();
    let (to, older) = (dir.path().join("backup"), dir.path().join("older"));
    let mut service = TestService::with(Setup {
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service, 2).await;
    service.end(true).await;
    crate::bank_failures::past::copy(service.data(), &older);
    service.begin().await;
    service.a.credit(&cvus[0], "7.00").await;
    service.end(true).await;
    let whole = verified(&to);
    service.moves(older);
    service.begin().await;
    for _ in 0..3 {
        // clients notice nothing
        service.a.credit(&cvus[1], "1.00").await;
        let told = shipped(&service).await;
        let why = told["error"].as_str().unwrap();
        assert!(
            why.contains("older copy") && why.contains("--new-history"),
            "{why}"
        );
    }
    assert_eq!(verified(&to), whole, "nothing was written");
    let status = service
        .admin_get("/admin/status")
        .await
        .is(200)
        .json
        .clone();
    assert!(
        status["backup"]["error"].is_string() && status["ready"] == true,
        "{status}"
    );
}
