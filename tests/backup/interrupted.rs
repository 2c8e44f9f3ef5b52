//! A restore is killed in each of its phases: nothing uses the folder, and the same command begins anew.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use caudal_service::Service;
use tempfile::TempDir;

use super::{at, command, shipped, text, verified, with_pepper, worked};
use crate::cli::caudal;
use crate::support::TestService;
use crate::support::service::Setup;

/// How often a phase is tried: it may be over before the process is killed.
const TRIES: usize = 200;

/// Whether a restore into a folder is in a phase.
type Phase = fn(&Path) -> bool;

/// Each phase, from the first to the last.
const PHASES: &[(&str, Phase)] = &[
    ("begun", |data| !data.join("store").exists()),
    ("writing the journal", |data| {
        data.join("store/RESTORE").exists()
    }),
    ("building the index", |data| {
        data.join("store/IDENTITY").exists() && !data.join("store.id").exists()
    }),
    ("verifying", |data| data.join("store.id").exists()),
];

fn is_unfinished(data: &Path) -> bool {
    data.join("restore.unfinished").exists()
}

/// Kills a restore as soon as it is in a phase; returns whether it was in that phase when it ended.
fn killed_in(phase: Phase, data: &Path, mut restore: Child) -> bool {
    while restore.try_wait().unwrap().is_none() {
        if is_unfinished(data) && phase(data) {
            break;
        }
        std::thread::yield_now();
    }
    restore.kill().unwrap();
    restore.wait().unwrap();
    is_unfinished(data) && phase(data)
}

#[actix_web::test]
async fn a_restore_that_is_killed_begins_anew_and_nothing_uses_the_folder_before() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let mut service = TestService::with(Setup {
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    worked(&service, 100).await;
    shipped(&service).await;
    service.end(true).await;
    for (name, phase) in PHASES {
        let chain = verified(&to)["chain"].clone();
        let killed = (0..TRIES).find_map(|nth| {
            let new = dir.path().join(format!("{name} {nth}"));
            with_pepper(&new, service.data());
            let mut restore = caudal(&["restore", "--from", text(&to), "--into", text(&new)]);
            let restore = restore.stdout(Stdio::null()).stderr(Stdio::null());
            if killed_in(*phase, &new, restore.spawn().unwrap()) {
                return Some(new);
            }
            fs::remove_dir_all(&new).unwrap();
            None
        });
        let new = killed.unwrap_or_else(|| panic!("never killed in: {name}"));
        let (code, _, why) = command(&["verify", "--data", text(&new)]);
        assert_eq!(code, Some(2), "{name}: {why}");
        assert!(why.contains("run `caudal restore`"), "{name}: {why}");
        service.moves(new.clone());
        let started = Service::start(service.options());
        let why = started
            .err()
            .unwrap_or_else(|| panic!("{name}: it started"));
        assert!(
            why.to_string().contains("has not finished"),
            "{name}: {why}"
        );
        // another restore would do, too
        let again = [
            "restore",
            "--from",
            text(&to),
            "--into",
            text(&new),
            "--json",
        ];
        let (code, done, why) = command(&again);
        assert_eq!(code, Some(0), "{name}: {why}");
        assert_eq!(done["restored"]["chain"], chain, "{name}");
        assert!(!is_unfinished(&new));
        service.begin().await;
        service.verified().await;
        service.end(true).await;
    }
}

#[actix_web::test]
async fn an_interrupted_restore_leaves_no_outgoing_pause() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let mut service = TestService::with(Setup {
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    worked(&service, 1).await;
    service.end(true).await;
    let new = dir.path().join("new");
    with_pepper(&new, service.data());
    let held = new.join("outgoing.held");
    let restoring = caudal_service::Restoring::begin(&new, None, true).unwrap();
    let busy = caudal_service::Restoring::begin(&new, None, true).unwrap_err();
    assert!(busy.to_string().contains("another process"), "{busy}");
    drop(restoring);
    assert!(held.exists() && is_unfinished(&new));
    let restore = ["restore", "--from", text(&to), "--into", text(&new)];
    let (code, _, why) = command(&restore);
    assert_eq!(code, Some(0), "{why}");
    assert!(!held.exists() && !is_unfinished(&new));
    // a complete one is not touched
    let (code, _, why) = command(&restore);
    assert!(
        code == Some(2) && why.contains("Nothing was changed"),
        "{why}"
    );
}
