//! Disk format 1: a folder that was written in it is opened and read as it was, for ever.
//!
//! `format/1/data` is the data folder of a service that was stopped, and `format/1/seen.json` what its client saw then.
//! Neither is ever edited. If a change makes this test fail, the change needs disk format 2, and a way from 1 to 2.

use std::fs;
use std::path::{Path, PathBuf};

use caudal_ledger::tenants::Mode;
use caudal_service::{Service, ServiceOptions};
use tempfile::TempDir;

use crate::backup::{command, text};
use crate::support::service::admin_of;
use crate::support::{Client, Value, json};

/// Set to make the folder anew, before a release of a new format.
const MAKE: &str = "CAUDAL_MAKE_FORMAT";
/// The bytes of a segment: a folder in a repository should be small.
const SEGMENT: u32 = 64 << 10;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format/1")
}

fn options(data: &Path) -> ServiceOptions {
    let mut options = ServiceOptions::for_tests(data);
    options.storage.segment_bytes = SEGMENT;
    options.storage.reserve_bytes = 0;
    options
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        let target = to.join(item.file_name());
        if item.path().is_dir() {
            copied(&item.path(), &target);
        } else {
            fs::copy(item.path(), target).unwrap();
        }
    }
}

/// What a client sees that no clock changes.
async fn seen(client: &Client) -> Value {
    let accounts = client.get("/v1/accounts").await.is(200).json.clone();
    let mut paths = vec![
        "/v1/transfers".to_owned(),
        "/v1/events".to_owned(),
        "/v1/webhooks".to_owned(),
        "/wallet/v1/TiposComprobantes".to_owned(),
    ];
    for account in accounts["items"].as_array().unwrap() {
        let cvu = account["cvu"].as_str().unwrap();
        for list in ["movements", "holds"] {
            paths.push(format!("/v1/accounts/{cvu}/{list}?limit=200"));
        }
        for code in ["IN", "OUT"] {
            paths.push(format!(
                "/v1/fees/preview?cvu={cvu}&importe=10.00&voucherTypeCode={code}"
            ));
        }
    }
    let mut all = json!({"/v1/accounts": accounts});
    for path in paths {
        all[&path] = client.get(&path).await.is(200).json.clone();
    }
    // how a delivery went depends on when it is asked
    let hooks = all["/v1/webhooks"].as_array().unwrap().iter();
    let hooks: Vec<_> = hooks
        .map(|it| json!({"id": it["id"], "url": it["url"]}))
        .collect();
    all["/v1/webhooks"] = json!(hooks);
    all
}

/// A few accounts with vouchers, holds and transfers, in a realm with limits, fees and a webhook; returns its key.
async fn filled(service: &Service) -> String {
    let tenant = service.create_tenant("golden").await.unwrap();
    let path = format!("/admin/tenants/{}", tenant.id);
    let change = json!({
        "limits": {"dailyAmount": "1000000.00", "monthlyCount": 500},
        "feeSchedule": [{"voucherTypeCode": "OUT", "percentage": "1.5", "fixed": "0.10", "minimum": "0.50", "maximum": null,
            "charge": true}],
    });
    let key = service.issue_key(&tenant.id, Mode::Test).await.unwrap();
    let client = Client::new(&service.url, Some(&key));
    client.in_and_out().await;
    let changed = admin_of(service, "PATCH", &path, Some(&change)).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let hook = json!({"url": "http://127.0.0.1:9/golden"});
    client.post("/v1/webhooks", &hook).await.is(201);
    let mut cvus = Vec::new();
    for n in 0..3 {
        let cvu = client.cvu().await;
        for nth in 0..5 {
            let id = format!("in {n} {nth}");
            client.voucher(&cvu, "IN", "100.00", &id).await.is(201);
        }
        let id = format!("out {n}");
        client.voucher(&cvu, "OUT", "20.00", &id).await.is(201);
        cvus.push(cvu);
    }
    let held = client.hold(&cvus[0], "30.00").await;
    client.hold(&cvus[0], "5.00").await;
    client.step(&held, "confirm", "10.00").await.is(200);
    let to = json!({"cvu": cvus[1]});
    client.transfer(&cvus[0], to, "12.34").await.is(201);
    let to = json!({"alias": "destino.0"});
    let sent = client.transfer(&cvus[2], to, "43.21").await.is(201);
    client.settled(&sent.json, "completed").await;
    let limits = json!({"dailyAmount": "5000.00"});
    let path = format!("/v1/accounts/{}/limits", cvus[2]);
    client.patch(&path, &limits).await.is(200);
    key
}

#[actix_web::test]
async fn a_folder_of_disk_format_1_is_read_as_it_was() {
    let golden = golden();
    if std::env::var_os(MAKE).is_some() {
        make(&golden).await;
    }
    if !golden.exists() {
        println!(
            "not run: there is no {}; {MAKE}=1 makes it",
            golden.display()
        );
        return;
    }
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    copied(&golden.join("data"), &data);
    let before: Value =
        serde_json::from_str(&fs::read_to_string(golden.join("seen.json")).unwrap()).unwrap();
    let identity = fs::read_to_string(data.join("store/IDENTITY")).unwrap();
    assert!(identity.starts_with("caudal store, format 1\n"));
    let service = Service::start(options(&data)).unwrap();
    let client = Client::new(&service.url, before["key"].as_str());
    let now = seen(&client).await;
    for (path, was) in before["seen"].as_object().unwrap() {
        assert_eq!(now[path], *was, "{path}");
    }
    // And it goes on.
    let cvu = now["/v1/accounts"]["items"][0]["cvu"]
        .as_str()
        .unwrap()
        .to_owned();
    client.voucher(&cvu, "IN", "1.00", "later").await.is(201);
    service.stop().await.unwrap();
    let (code, report, why) = command(&["verify", "--data", text(&data), "--json"]);
    assert_eq!((code, &report["ok"]), (Some(0), &json!(true)), "{why}");
}

async fn make(golden: &Path) {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let service = Service::start(options(&data)).unwrap();
    let key = filled(&service).await;
    let seen = seen(&Client::new(&service.url, Some(&key))).await;
    service.stop().await.unwrap();
    if golden.exists() {
        fs::remove_dir_all(golden).unwrap();
    }
    copied(&data, &golden.join("data"));
    let text = serde_json::to_string_pretty(&json!({"key": key, "seen": seen})).unwrap();
    fs::write(golden.join("seen.json"), format!("{text}\n")).unwrap();
}
