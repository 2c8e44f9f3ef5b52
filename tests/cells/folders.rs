//! Cells on disk: tenants that are created in one, and folders that do not belong together.

use std::path::Path;

use caudal::service::{Service, ServiceOptions};

use super::{brought, standing, with_cells};
use crate::backup::{command, text};
use crate::portable::{issued, shown, worked};
use crate::support::json;

#[actix_web::test]
async fn tenants_are_where_the_fewest_are_or_where_they_are_said_to_be() {
    let mut service = with_cells(3).await;
    let mut found = Vec::new();
    for (name, cell) in [
        ("one", None),
        ("two", None),
        ("three", Some(1)),
        ("four", None),
    ] {
        let mut body = json!({"name": name});
        if let Some(cell) = cell {
            body["cell"] = json!(cell);
        }
        let made = service.admin("POST", "/admin/tenants", &body).await;
        let id = made.is(201)["id"].as_str().unwrap().to_owned();
        let path = format!("/admin/tenants/{id}/restores");
        found.push(service.admin_get(&path).await.is(200)["live"]["cell"].clone());
        let client = issued(&service, &id).await;
        client.in_and_out().await;
        let cvu = client.cvu().await;
        client.credit(&cvu, "7.00").await;
        let out = client
            .transfer(&cvu, json!({"alias": "destino.0"}), "1.00")
            .await;
        client.settled(&out.is(201).json, "completed").await;
        service.crash().await;
        let again = service.a.with_key(client.key.as_deref());
        assert_eq!(again.available(&cvu).await, "6.00", "{name}");
    }
    assert_eq!(found, [1, 2, 1, 2]);
    let wrong = json!({"name": "five", "cell": 3});
    let wrong = service.admin("POST", "/admin/tenants", &wrong).await;
    wrong.refused(404, "cell_not_found");
    let cells = service.admin_get("/admin/cells").await.is(200).json.clone();
    let realms: Vec<_> = cells
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["realms"].clone())
        .collect();
    assert_eq!(realms, [4, 4, 4]);
    let metrics = service.admin_bare("/metrics").await.text;
    assert!(
        metrics.contains("caudal_cells_realms{cell=\"2\"} 4"),
        "{metrics}"
    );
    let vouchers = service.verified().await;
    service.end(true).await;
    let data = text(service.data()).to_owned();
    let (code, report, why) = command(&["verify", "--data", &data, "--json"]);
    assert_eq!(
        (code, &report["vouchers"]),
        (Some(0), &json!(vouchers)),
        "{why}"
    );
    let to = format!("{data}-backup");
    let (code, done, why) = command(&["backup", "--data", &data, "--to", &to, "--json"]);
    assert_eq!(code, Some(0), "{why}");
    assert_eq!(done["cells"].as_array().unwrap().len(), 3, "{done}");
}

fn refused(options: &ServiceOptions) -> String {
    match Service::start(options.clone()) {
        Err(why) => why.to_string(),
        Ok(_) => panic!("it starts"),
    }
}

/// The store of the first cell, and the file that identifies it.
const FIRST: [&str; 2] = ["store", "store.id"];

fn put(from: &Path, to: &Path) {
    match from.is_dir() {
        true => copy(from, to),
        false => drop(std::fs::copy(from, to).unwrap()),
    }
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let place = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &place),
            false => drop(std::fs::copy(entry.path(), &place).unwrap()),
        }
    }
}

#[actix_web::test]
async fn cells_in_each_others_place_are_refused() {
    let mut service = with_cells(3).await;
    let cvus = worked(&service).await;
    brought(&service, 2).await;
    let before = shown(&service.b, &cvus).await;
    service.end(true).await;
    let cells = service.data().join("cells");
    let swap = || {
        for (from, to) in [("1", "aside"), ("2", "1"), ("aside", "2")] {
            std::fs::rename(cells.join(from), cells.join(to)).unwrap();
        }
    };
    swap();
    let why = refused(&service.options());
    assert!(why.contains("bring back the right one"), "{why}");
    swap();
    service.begin().await;
    assert_eq!(shown(&service.b, &cvus).await, before);
}

#[actix_web::test]
async fn cells_that_do_not_fit_together_are_refused() {
    let mut service = with_cells(2).await;
    let cvus = worked(&service).await;
    service.end(true).await;
    let data = service.data().to_owned();
    let older = data.join("cells").join("older");
    let cell = data.join("cells").join("1");
    copy(&cell, &older);
    let before_move = data.join("before");
    std::fs::create_dir(&before_move).unwrap();
    for name in FIRST {
        put(&data.join(name), &before_move.join(name));
    }
    service.begin().await;
    brought(&service, 1).await;
    let before = shown(&service.b, &cvus).await;
    service.end(true).await;
    let good = service.options();
    let fewer = ServiceOptions {
        cells: 1,
        ..good.clone()
    };
    let why = refused(&fewer);
    assert!(why.contains("Set it to 2"), "{why}");
    let aside = data.join("cells").join("aside");
    std::fs::rename(&cell, &aside).unwrap();
    let why = refused(&good);
    assert!(
        why.contains("holds no store") && !cell.join("store").exists(),
        "{why}"
    );
    std::fs::rename(&older, &cell).unwrap();
    let why = refused(&good);
    assert!(why.contains("older copy"), "{why}");
    std::fs::remove_dir_all(&cell).unwrap();
    std::fs::rename(&aside, &cell).unwrap();
    // only the first cell is from an earlier moment
    let of_now = data.join("now");
    std::fs::create_dir(&of_now).unwrap();
    for name in FIRST {
        std::fs::rename(data.join(name), of_now.join(name)).unwrap();
        put(&before_move.join(name), &data.join(name));
    }
    let why = refused(&good);
    assert!(why.contains("first cell is an older copy"), "{why}");
    for name in FIRST {
        let there = data.join(name);
        match there.is_dir() {
            true => std::fs::remove_dir_all(&there).unwrap(),
            false => std::fs::remove_file(&there).unwrap(),
        }
        std::fs::rename(of_now.join(name), &there).unwrap();
    }
    // more cells can be added, and nothing else has changed
    service.cells(3);
    service.begin().await;
    assert_eq!(shown(&service.b, &cvus).await, before);
    assert_eq!(standing(&service).await["cell"], 1);
    brought(&service, 2).await;
    assert_eq!(shown(&service.b, &cvus).await, before);
    service.verified().await;
    service.end(true).await;
    let file = data.join("realm");
    let tenant = ["realm", "export", "--tenant", "tnt_other", "--mode", "test"];
    let from = ["--data", text(&data), "--to", text(&file)];
    let exported = |from: &[&str]| {
        let (code, done, why) = command(&[&tenant[..], from, &["--json"]].concat());
        assert_eq!(code, Some(0), "{why}");
        done
    };
    let made = exported(&from);
    let (code, checked, why) = command(&["realm", "check", text(&file), "--json"]);
    assert_eq!((code, &checked), (Some(0), &made), "{why}");
    let (backup, other) = (data.join("backup"), data.join("other"));
    let (code, _, why) = command(&["backup", "--data", text(&data), "--to", text(&backup)]);
    assert_eq!(code, Some(0), "{why}");
    let of_backup = exported(&["--from", text(&backup), "--to", text(&other)]);
    assert_eq!(of_backup, made);
    let late = data.join("late");
    let commit = ["--at", "999999", "--data", text(&data), "--to", text(&late)];
    let (code, _, why) = command(&[&tenant[..], &commit].concat());
    assert!(code == Some(2) && why.contains("name an instant"), "{why}");
}
