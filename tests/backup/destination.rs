//! The destination of a backup goes away, is replaced, or loses its newest objects: nothing is written there, the lag
//! grows, and shipping continues where it ended when the destination is back.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{at, objects, shipped, text, verified, worked};
use crate::bank_failures::past::copy;
use crate::support::service::Setup;
use crate::support::{SOON, TestService, Value, wait_until};

/// A service that has shipped to a folder, and the CVU of an account.
async fn shipping(to: &Path) -> (TestService, String) {
    let service = TestService::with(Setup {
        backup: at(to),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service, 3).await;
    let told = shipped(&service).await;
    assert_eq!(told["error"], Value::Null, "{told}");
    (service, cvus[0].clone())
}

/// Asks for a round that has to fail; returns the error.
async fn refused(service: &TestService) -> String {
    let told = shipped(service).await;
    let why = told["error"].as_str().unwrap_or_else(|| panic!("{told}"));
    assert!(why.contains("Nothing was written"), "{why}");
    why.to_owned()
}

/// Posts, ships, and checks that the backup has everything.
async fn goes_on(service: &TestService, cvu: &str, to: &Path) {
    service.a.credit(cvu, "1.00").await;
    let told = shipped(service).await;
    assert_eq!(told["error"], Value::Null, "{told}");
    assert_eq!(told["commit"], told["lastCommit"]);
    assert_eq!(verified(to)["commit"], told["lastCommit"]);
}

/// The object of the only store that says which backup it is.
fn end_of(to: &Path) -> PathBuf {
    let store = fs::read_dir(to).unwrap().next().unwrap().unwrap();
    store.path().join("end")
}

#[actix_web::test]
async fn a_destination_that_goes_away_is_not_made_again() {
    let dir = TempDir::new().unwrap();
    let (to, away) = (dir.path().join("backup"), dir.path().join("away"));
    let (mut service, cvu) = shipping(&to).await;
    fs::rename(&to, &away).unwrap();
    // even if there is nothing to ship, the lag grows
    refused(&service).await;
    wait_until("the lag grows", SOON, async || {
        let told = service.admin_get("/admin/backup").await;
        (told.is(200)["lagSeconds"].as_u64().unwrap() > 0).then_some(())
    })
    .await;
    service.a.credit(&cvu, "1.00").await;
    let why = refused(&service).await;
    assert!(
        why.contains("Is its volume mounted?") && !to.exists(),
        "{why}"
    );
    // the folder below a volume that is not mounted
    fs::create_dir(&to).unwrap();
    refused(&service).await;
    service.restart().await;
    service.a.credit(&cvu, "1.00").await;
    refused(&service).await;
    assert!(fs::read_dir(&to).unwrap().next().is_none());
    fs::remove_dir(&to).unwrap();
    fs::rename(&away, &to).unwrap();
    goes_on(&service, &cvu, &to).await;
    service.end(true).await;
    // nor does the command make it again
    fs::rename(&to, &away).unwrap();
    let data = text(service.data()).to_owned();
    let (code, _, why) = super::command(&["backup", "--data", &data, "--to", text(&to)]);
    assert!(code == Some(1) || code == Some(2), "{code:?} {why}");
    assert!(!to.exists(), "{why}");
}

#[actix_web::test]
async fn another_backup_in_its_place_is_refused_until_it_is_chosen() {
    let dir = TempDir::new().unwrap();
    let (to, away) = (dir.path().join("backup"), dir.path().join("away"));
    let (service, cvu) = shipping(&to).await;
    // an older copy lacks what was shipped since
    copy(&to, &away);
    goes_on(&service, &cvu, &to).await;
    let newer = dir.path().join("newer");
    fs::rename(&to, &newer).unwrap();
    fs::rename(&away, &to).unwrap();
    let before = objects(&to);
    for _ in 0..3 {
        service.a.credit(&cvu, "1.00").await;
        let why = refused(&service).await;
        assert!(why.contains("older copy"), "{why}");
    }
    assert_eq!(objects(&to), before);
    fs::rename(&to, &away).unwrap();
    fs::rename(&newer, &to).unwrap();
    goes_on(&service, &cvu, &to).await;
    // a backup that another service began
    let (end, lines) = (end_of(&to), fs::read_to_string(end_of(&to)).unwrap());
    let mut other: Vec<_> = lines.lines().collect();
    other[0] = "backup 00112233445566778899aabbccddeeff";
    fs::write(&end, other.join("\n")).unwrap();
    service.a.credit(&cvu, "1.00").await;
    let why = refused(&service).await;
    assert!(why.contains("remove backup.chosen"), "{why}");
    fs::remove_file(service.data().join("backup.chosen")).unwrap();
    goes_on(&service, &cvu, &to).await;
}

#[actix_web::test]
async fn lost_objects_stop_the_backup_until_they_are_back_or_given_up() {
    let dir = TempDir::new().unwrap();
    let (to, aside) = (dir.path().join("backup"), dir.path().join("aside"));
    let (mut service, cvu) = shipping(&to).await;
    goes_on(&service, &cvu, &to).await;
    let last = || {
        let mut all = objects(&to);
        all.sort_by_key(|it| it.file_name().map(ToOwned::to_owned));
        all.pop().unwrap()
    };
    let lost = last();
    fs::rename(&lost, &aside).unwrap();
    let before = objects(&to);
    service.a.credit(&cvu, "1.00").await;
    let why = refused(&service).await;
    assert!(why.contains("which was shipped"), "{why}");
    service.restart().await;
    refused(&service).await;
    assert_eq!(objects(&to), before);
    fs::rename(&aside, &lost).unwrap();
    goes_on(&service, &cvu, &to).await;
    fs::remove_file(last()).unwrap();
    refused(&service).await;
    fs::remove_file(service.data().join("backup.chosen")).unwrap();
    goes_on(&service, &cvu, &to).await;
    service.end(true).await;
}
