//! A backup knows its end: if its newest objects are gone, verification and restore say so, and an end beyond it is
//! refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::{at, command, restored, shipped, text, verified, with_pepper, worked};
use crate::cli::{caudal, said};
use crate::support::service::{Setup, TENANT, TestClock};
use crate::support::{TestService, Value};

/// A stopped service whose journal was shipped as full objects and tails, with the folder of its backup.
async fn stopped(dir: &Path) -> (TestService, PathBuf) {
    let to = dir.join("backup");
    let clock = TestClock::at("2024-03-01T12:00:00Z");
    let mut service = TestService::with(Setup {
        clock: Arc::<TestClock>::clone(&clock),
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service, 3).await;
    // stopping ships another tail
    let many = |kind: &str| names(&store_in(&to).join(kind)).len();
    loop {
        service.a.credit(&cvus[0], "1.00").await;
        assert_eq!(shipped(&service).await["error"], Value::Null);
        if many("full") > 1 && many("tail") == 1 {
            break;
        }
    }
    service.end(true).await;
    (service, to)
}

/// The only store of a backup.
fn store_in(to: &Path) -> PathBuf {
    fs::read_dir(to).unwrap().next().unwrap().unwrap().path()
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten();
    let mut all: Vec<_> = all.map(|it| it.unwrap().path()).collect();
    all.sort();
    all
}

#[actix_web::test]
async fn a_backup_without_its_newest_objects_is_refused_unless_an_older_one_is_accepted() {
    let dir = TempDir::new().unwrap();
    let (mut service, to) = stopped(dir.path()).await;
    let last = verified(&to)["commit"].as_u64().unwrap();
    let store = store_in(&to);
    let (full, tails) = (names(&store.join("full")), names(&store.join("tail")));
    assert!(!full.is_empty() && !tails.is_empty(), "{full:?} {tails:?}");
    let verify = ["backup", "verify", "--from", text(&to)];
    for (least, expected) in [(last, 0), (last + 1, 1)] {
        let least = least.to_string();
        let (code, _, why) = command(&[&verify[..], &["--at-least", &least]].concat());
        assert_eq!(code, Some(expected), "{why}");
    }
    let new = dir.path().join("new");
    with_pepper(&new, service.data());
    let restore = ["restore", "--from", text(&to), "--into", text(&new)];
    let lacks = |wanted: &str| {
        let export = ["realm", "export", "--tenant", TENANT, "--mode", "test"];
        let file = dir.path().join("realm");
        let export = [&export[..], &["--from", text(&to), "--to", text(&file)]].concat();
        for command_of in [&verify[..], &restore, &export] {
            let (code, _, why) = command(command_of);
            assert_eq!(code, Some(1), "{why}");
            assert!(
                why.contains(wanted) && why.contains("--accept-older"),
                "{why}"
            );
        }
        assert!(!new.join("store").exists() && !file.exists());
    };
    let end = store.join("end");
    let content = fs::read_to_string(&end).unwrap();
    fs::remove_file(&end).unwrap();
    lacks("/end, which says how far the store was shipped");
    // another record than the one that was shipped
    let word = content.rsplit(' ').next().unwrap();
    fs::write(&end, content.replace(word, &"0a".repeat(32))).unwrap();
    let (code, _, why) = command(&[&verify[..], &["--accept-older"]].concat());
    assert!(
        code == Some(1) && why.contains("not the one that was shipped"),
        "{why}"
    );
    fs::write(&end, &content).unwrap();
    assert_eq!(verified(&to)["commit"], last);
    for tail in &tails {
        fs::remove_file(tail).unwrap();
    }
    lacks("lacks its newest objects");
    let (code, found, why) = command(&[&verify[..], &["--accept-older", "--json"]].concat());
    assert_eq!(code, Some(0), "{why}");
    assert!(found["commit"].as_u64().unwrap() < last, "{found}");
    let older = dir.path().join("older");
    let done = restored(&to, &older, service.data(), &["--accept-older"]);
    assert_eq!(done["restored"]["commit"], found["commit"]);
    // the older store ships to the same place, which then has everything again
    service.moves(older);
    service.begin().await;
    assert_eq!(shipped(&service).await["error"], Value::Null);
    service.end(true).await;
    verified(&to);
    for object in &full {
        fs::remove_file(object).unwrap();
    }
    for tail in names(&store.join("tail")) {
        fs::remove_file(tail).unwrap();
    }
    lacks("lacks its newest objects");
}

#[actix_web::test]
async fn an_end_that_the_backup_does_not_have_is_refused() {
    let dir = TempDir::new().unwrap();
    let (service, to) = stopped(dir.path()).await;
    let last = verified(&to)["commit"].as_u64().unwrap();
    let beyond = (last + 1).to_string();
    let restore = |name: &str, at: &str| {
        let new = dir.path().join(name);
        with_pepper(&new, service.data());
        let from = ["restore", "--from", text(&to), "--into", text(&new)];
        let how = ["--new-history", "--at", at];
        let ended = said(&caudal(&[&from[..], &how].concat()).output().unwrap());
        (ended, new)
    };
    for (at, wanted) in [
        (beyond.as_str(), "it has no commit"),
        ("999999", "it has no commit 999999"),
        ("9999-01-01T00:00:00Z", "later than now"),
    ] {
        let ((code, _, why), new) = restore("beyond", at);
        assert_eq!(code, Some(2), "{why}");
        assert!(why.contains(wanted) && !new.join("store").exists(), "{why}");
    }
    let file = dir.path().join("realm");
    let export = ["realm", "export", "--tenant", TENANT, "--mode", "test"];
    let data = text(service.data()).to_owned();
    for source in [["--from", text(&to)], ["--data", &data]] {
        let how = ["--to", text(&file), "--at", &beyond];
        let (code, _, why) = command(&[&export[..], &source, &how].concat());
        assert_eq!(code, Some(2), "{why}");
        assert!(why.contains("it has no commit") && !file.exists(), "{why}");
    }
    // the output says what was restored
    for (name, at) in [
        ("last", last.to_string()),
        ("quiet", "2024-03-01T13:00:00Z".to_owned()),
    ] {
        let ((code, out, why), _) = restore(name, &at);
        assert_eq!(code, Some(0), "{why}");
        assert!(
            out.contains(&format!("restored up to commit {last},")),
            "{out}"
        );
        assert!(out.contains("nothing later than --at: all of it"), "{out}");
    }
}
