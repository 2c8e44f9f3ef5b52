//! Backups of several cells: at whatever moment a machine is lost, the objects in the depot fit together, and a
//! restore to an instant brings all cells to it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use caudal::backup::run::Plan;
use tempfile::TempDir;

use super::moments::Remembering;
use super::{asked, at, command, objects, restored, shipped, text, verified, with_pepper};
use crate::cells::{begun, brought, standing};
use crate::portable::instant::{copied, instant};
use crate::portable::{issued, shown, worked};
use crate::support::service::{OTHER, Setup, TestClock};
use crate::support::{Client, SOON, TestService, Value, json, wait_until};

/// The chains of all cells in a backup, with the number of each cell's last commit.
fn of_cells(found: &Value) -> Vec<(Value, Value)> {
    let cells = found["cells"].as_array().unwrap();
    let part = |it: &Value| (it["commit"].clone(), it["chain"].clone());
    cells.iter().map(part).collect()
}

/// A service with so many cells that ships into a folder of its own.
async fn of(cells: u32) -> (TempDir, PathBuf, TestService) {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let service = TestService::with(Setup {
        cells,
        backup: at(&to),
        ..Setup::default()
    });
    let service = service.await;
    (dir, to, service)
}

#[actix_web::test]
async fn all_cells_are_shipped_and_go_on_from_what_is_restored() {
    // the last cell stays empty
    let (dir, to, mut service) = of(3).await;
    let cvus = worked(&service).await;
    let behind = service
        .admin_get("/admin/backup")
        .await
        .is(200)
        .json
        .clone();
    assert!(behind["lagBytes"].as_u64().unwrap() > 0, "{behind}");
    brought(&service, 1).await;
    let first = shipped(&service).await;
    assert_eq!(first["error"], Value::Null);
    let cells = first["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3);
    for cell in cells {
        assert_eq!(cell["lagBytes"], 0, "{first}");
        assert!(cell["commit"] == cell["lastCommit"], "{first}");
    }
    let metrics = service.admin_bare("/metrics").await.text;
    for line in [
        "caudal_backup_lag_seconds{cell=\"2\"} 0",
        "caudal_journal_queued_commits{cell=\"1\"} ",
        "caudal_check_findings_total{cell=\"0\"} 0",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let journal = service
        .admin_get("/admin/journal")
        .await
        .is(200)
        .json
        .clone();
    assert!(
        journal["cells"][1]["commits"].as_u64().unwrap() > 0,
        "{journal}"
    );
    service.b.credit(&cvus[0], "1.00").await;
    let before = shown(&service.b, &cvus).await;
    service.end(true).await;
    let whole = verified(&to);
    let new = dir.path().join("new");
    let done = restored(&to, &new, service.data(), &[]);
    assert_eq!(of_cells(&done["restored"]), of_cells(&whole));
    service.moves(new.clone());
    service.begin().await;
    assert_eq!(shown(&service.b, &cvus).await, before);
    assert_eq!(standing(&service).await["cell"], 1);
    service.b.credit(&cvus[0], "5.00").await;
    brought(&service, 2).await;
    let on = shipped(&service).await;
    assert_eq!(
        (&on["error"], &on["store"]),
        (&Value::Null, &first["store"])
    );
    service.verified().await;
    service.end(true).await;
    // the folder of the stopped service has nothing more to ship
    let data = text(&new).to_owned();
    let (code, done, why) = command(&["backup", "--data", &data, "--to", text(&to), "--json"]);
    assert_eq!((code, &done["objects"]), (Some(0), &json!(0)), "{why}");
    refused_in_part(&to, &service, &dir);
}

/// A missing or shortened cell is named in the error, and nothing is restored.
fn refused_in_part(to: &Path, service: &TestService, dir: &TempDir) {
    let from = ["--from", text(to)];
    let new = dir.path().join("in-part");
    with_pepper(&new, service.data());
    let restore = ["restore", "--data", text(&new)];
    let commit = ["--at", "5", "--new-history"];
    let (code, _, why) = command(&[&restore[..], &from, &commit].concat());
    assert!(code == Some(2) && why.contains("name an instant"), "{why}");
    let store = fs::read_dir(to).unwrap().next().unwrap().unwrap().path();
    let cell = store.join("cells").join("2");
    let aside = dir.path().join("aside");
    fs::rename(&cell, &aside).unwrap();
    // if an older backup is accepted, the cell is missed only because of what the first cell says
    for (more, wanted) in [
        (&[][..], "cells/2) lacks its newest objects"),
        (&["--accept-older"], "do not fit together: cell 2"),
    ] {
        for command_of in [&["backup", "verify"][..], &restore] {
            let (code, _, why) = command(&[command_of, &from, more].concat());
            assert!(code != Some(0) && why.contains(wanted), "{code:?} {why}");
        }
    }
    let (code, _, why) = command(&["verify", "--data", text(&new)]);
    assert!(matches!(code, Some(2 | 3)), "{why}");
    fs::rename(&aside, &cell).unwrap();
    // the same command starts anew over what the first one has left
    let (code, _, why) = command(&[&restore[..], &from].concat());
    assert_eq!(code, Some(0), "{why}");
}

/// Creates a tenant in cell 1 with an account that has money; returns its client and the CVU.
async fn created(service: &TestService) -> (Client, String) {
    let new = json!({"name": "late", "cell": 1});
    let made = service.admin("POST", "/admin/tenants", &new).await;
    let id = made.is(201)["id"].as_str().unwrap().to_owned();
    let client = issued(service, &id).await;
    client.in_and_out().await;
    let cvu = client.cvu().await;
    client.credit(&cvu, "3.00").await;
    (client, cvu)
}

#[actix_web::test]
async fn a_cell_whose_objects_are_gone_is_missed() {
    let (dir, to, mut service) = of(2).await;
    let store = shipped(&service).await["store"].clone();
    let store = to.join(store.as_str().unwrap());
    // nothing was ever in the cell, so it is not missed
    assert_eq!(verified(&to)["cells"][1]["commit"], 0);
    // only the cell itself says what it had: the tenant was not moved there
    created(&service).await;
    assert_eq!(shipped(&service).await["error"], Value::Null);
    service.end(true).await;
    let aside = dir.path().join("aside");
    let cell = store.join("cells").join("1");
    fs::rename(&cell, &aside).unwrap();
    let new = dir.path().join("new");
    with_pepper(&new, service.data());
    let restore = ["restore", "--data", text(&new)];
    for command_of in [&["backup", "verify"][..], &restore] {
        let from = ["--from", text(&to)];
        let (code, _, why) = command(&[command_of, &from].concat());
        assert_eq!(code, Some(1), "{why}");
        assert!(why.contains("cells/1) lacks its newest objects"), "{why}");
    }
    fs::rename(&aside, &cell).unwrap();
    verified(&to);
}

#[actix_web::test]
async fn a_cell_that_cannot_be_shipped_slows_no_other_down() {
    let depot = Arc::new(Remembering::refusing("/cells/1/"));
    let mut service = TestService::with(Setup {
        cells: 2,
        backup: Some(Plan {
            every: Duration::from_millis(10),
            ..asked(depot).unwrap()
        }),
        ..Setup::default()
    })
    .await;
    created(&service).await;
    // if failures led to pauses, so many rounds would take ten minutes
    wait_until("many rounds have failed in part", SOON, async || {
        let now = service.admin_get("/admin/backup").await;
        (now.is(200)["failures"].as_u64().unwrap() > 16).then_some(())
    })
    .await;
    service.a.cvu().await;
    wait_until("the first cell is shipped", SOON, async || {
        let now = service.admin_get("/admin/backup").await;
        let now = now.is(200).json.clone();
        let why = now["error"].as_str().unwrap();
        assert!(why.contains("cell 1"), "{why}");
        assert_eq!(now["cells"][1]["commit"], 0);
        (now["cells"][0]["lagBytes"] == 0).then_some(())
    })
    .await;
    service.end(true).await;
}

#[actix_web::test]
async fn a_realm_whose_last_records_are_missing_is_not_exported() {
    let (dir, to, mut service) = of(2).await;
    worked(&service).await;
    // an object of another tenant, and after it the copy of the realm
    created(&service).await;
    shipped(&service).await;
    brought(&service, 1).await;
    assert_eq!(shipped(&service).await["error"], Value::Null);
    service.end(true).await;
    let export = |name: &str, more: &[&str]| {
        let file = dir.path().join(name);
        let tenant = ["realm", "export", "--tenant", OTHER, "--mode", "test"];
        let from = ["--from", text(&to), "--to", text(&file), "--json"];
        let (code, _, why) = command(&[&tenant[..], &from, more].concat());
        (code, why, file.exists())
    };
    let (code, why, there) = export("whole", &[]);
    assert_eq!((code, there), (Some(0), true), "{why}");
    let in_cell = |it: &PathBuf| it.iter().any(|part| part == "cells");
    let mut all: Vec<_> = objects(&to).into_iter().filter(in_cell).collect();
    all.sort_by_key(|it| it.file_name().map(OsStr::to_owned));
    assert!(all.len() > 1, "{all:?}");
    while let Some(last) = all.pop() {
        fs::remove_file(last).unwrap();
        let (code, why, there) = export("short", &[]);
        assert!(!there && code != Some(0), "{code:?} {why}");
        assert!(why.contains("cells/1) lacks its newest objects"), "{why}");
        let (code, why, there) = export("short", &["--accept-older"]);
        assert!(!there && code != Some(0), "{code:?} {why}");
        assert!(why.contains("the last ones are missing"), "{why}");
    }
}

#[actix_web::test]
async fn whatever_lies_there_at_any_moment_fits_together() {
    let depot = Arc::new(Remembering::default());
    let mut service = TestService::with(Setup {
        cells: 2,
        backup: asked(Arc::<Remembering>::clone(&depot)),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service).await;
    for cell in [1, 0, 1] {
        // between two rounds a whole move happens, and more of the realm follows it
        shipped(&service).await;
        brought(&service, cell).await;
        service.b.credit(&cvus[0], "1.00").await;
        service.a.cvu().await;
        assert_eq!(shipped(&service).await["error"], Value::Null);
    }
    // a copy into that cell, and after it later entries of the first cell
    let present = instant(&service).await;
    copied(&service, &present).await;
    created(&service).await;
    assert_eq!(shipped(&service).await["error"], Value::Null);
    service.end(true).await;
    let seen = depot.fits_at_every_moment().await;
    assert!(seen > 12, "{seen}");
}

#[actix_web::test]
async fn a_restore_to_an_instant_brings_all_cells_there() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let clock = TestClock::at("2026-03-02T12:00:00Z");
    let mut service = TestService::with(Setup {
        clock: Arc::<TestClock>::clone(&clock),
        cells: 2,
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service).await;
    let mut wanted = vec![("2026-03-02T12:00:30Z", 0, shown(&service.b, &cvus).await)];
    // a move that is interrupted, so that it was under way at an instant
    clock.set("2026-03-02T12:01:00Z");
    begun(&service, 1).await;
    wait_until("the move is known", SOON, async || {
        let now = standing(&service).await;
        (!now["generations"].as_array().unwrap().is_empty()).then_some(())
    })
    .await;
    service.crash().await;
    let cut_off = standing(&service).await["cell"] == 0;
    clock.set("2026-03-02T12:02:00Z");
    service.b.credit(&cvus[0], "7.00").await;
    if cut_off {
        wanted.push(("2026-03-02T12:01:30Z", 0, wanted[0].2.clone()));
    }
    clock.set("2026-03-02T12:03:00Z");
    brought(&service, 1).await;
    wanted.push(("2026-03-02T12:03:30Z", 1, shown(&service.b, &cvus).await));
    clock.set("2026-03-02T12:04:00Z");
    service.b.credit(&cvus[0], "9.00").await;
    let first = shipped(&service).await;
    assert_eq!(first["error"], Value::Null);
    service.end(true).await;
    for (nth, (instant, cell, before)) in wanted.iter().enumerate() {
        let new = dir.path().join(format!("new-{nth}"));
        let how = ["--at", instant, "--new-history"];
        let done = restored(&to, &new, service.data(), &how);
        let done = &done["restored"];
        assert_ne!(done["became"], done["store"]);
        service.moves(new);
        service.begin().await;
        assert_eq!(standing(&service).await["cell"], *cell, "{instant}");
        assert_eq!(&shown(&service.b, &cvus).await, before, "{instant}");
        service.verified().await;
        let beside = shipped(&service).await;
        assert_eq!(
            (&beside["error"], &beside["store"]),
            (&Value::Null, &done["became"])
        );
        // the service goes on, and the interrupted move does not hinder it
        service.b.credit(&cvus[0], "2.00").await;
        brought(&service, 1 - cell).await;
        service.b.credit(&cvus[0], "2.00").await;
        service.verified().await;
        service.end(true).await;
        let own = to.join(done["became"].as_str().unwrap());
        fs::remove_dir_all(own).unwrap();
    }
}
