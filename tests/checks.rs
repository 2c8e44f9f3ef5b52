//! The background check of journal and index, as operators see it.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use caudal_ledger::tenants::Mode;
use caudal_service::{Service, ServiceOptions, TEST_ADMIN_KEY};
use tempfile::TempDir;

use crate::support::{Client, SOON, Value, json, wait_until};

/// Options with small segments, and a check that never rests.
fn options(data: &Path) -> ServiceOptions {
    let options = ServiceOptions::for_tests(data);
    ServiceOptions {
        storage: caudal_storage::StoreOptions {
            segment_bytes: 64 << 10,
            table_bytes: 64 << 10,
            check_bytes_per_second: 1 << 30,
            check_every: Duration::ZERO,
            ..options.storage
        },
        ..options
    }
}

async fn ask(service: &Service, path: &str) -> (u16, String) {
    let client = reqwest::Client::builder().tls_certs_only([]).no_proxy();
    let client = client.build().unwrap();
    let url = format!("{}{path}", service.admin_url);
    let answer = client.get(url).header("x-admin-key", TEST_ADMIN_KEY);
    let answer = answer.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

async fn journal(service: &Service) -> Value {
    let (status, body) = ask(service, "/admin/journal").await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// A service with some full segments.
struct Filled {
    service: Service,
    client: Client,
    cvu: String,
}

/// Starts a service in an empty folder, and posts this many vouchers of one peso to one account, in
/// batches of 500.
async fn filled(data: &Path, vouchers: usize) -> Filled {
    let service = Service::start(options(data)).unwrap();
    let tenant = service.create_tenant("uno").await.unwrap();
    let key = service.issue_key(&tenant.id, Mode::Test).await.unwrap();
    let client = Client::new(&service.url, Some(&key));
    client.in_and_out().await;
    let cvu = client.cvu().await;
    let items: Vec<_> = (0..vouchers)
        .map(|n| {
            let id = format!("v-{n}");
            json!({"cvu": cvu, "voucherTypeCode": "IN", "amount": "1", "idExterno": id})
        })
        .collect();
    for items in items.chunks(500) {
        let body = json!({"mode": "independent", "items": items});
        client.post("/v1/comprobantes/batch", &body).await.is(200);
    }
    Filled {
        service,
        client,
        cvu,
    }
}

#[actix_web::test]
async fn operators_see_how_far_the_check_is_and_what_it_found() {
    let dir = TempDir::new().unwrap();
    let Filled {
        service,
        client,
        cvu,
    } = filled(dir.path(), 1_500).await;
    let sound = wait_until("two rounds over full segments", SOON, async || {
        let check = journal(&service).await["check"].clone();
        let rounds = check["rounds"].as_u64().unwrap();
        let total = check["totalBytes"].as_u64().unwrap();
        (total > 4 << 16 && rounds > 2).then_some(check)
    })
    .await;
    assert_eq!(
        (&sound["count"], &sound["findings"]),
        (&json!(0), &json!([]))
    );
    assert!(sound["doneBytes"].as_u64() <= sound["totalBytes"].as_u64());
    assert!(
        sound["lastRoundAt"].as_str().unwrap().starts_with("20"),
        "{sound}"
    );
    assert!(sound["openingJournalBytes"].as_u64().unwrap() > 0);
    assert_eq!(sound["bytesPerSecond"], 1 << 30);
    // flips a bit in the header of a record, after the header of its segment
    let segment = dir.path().join("store/journal/0000000002.segment");
    let file = fs::OpenOptions::new().read(true).write(true).open(&segment);
    let (file, mut byte) = (file.unwrap(), [0]);
    file.read_exact_at(&mut byte, 4100).unwrap();
    file.write_all_at(&[byte[0] ^ 1], 4100).unwrap();
    let rotten = fs::read(&segment).unwrap();
    let seen = wait_until("the check has found it", SOON, async || {
        let seen = journal(&service).await;
        (seen["check"]["count"] != 0).then_some(seen)
    })
    .await;
    let finding = &seen["check"]["findings"][0];
    assert_eq!(
        (&finding["place"], &finding["offset"]),
        (&json!("0000000002.segment"), &json!(4096)),
        "{seen}"
    );
    assert!(seen["reason"].is_string(), "{seen}");
    assert_eq!(seen["writable"], false);
    let (status, body) = ask(&service, "/readyz").await;
    assert_eq!(status, 503, "{body}");
    let (_, metrics) = ask(&service, "/metrics").await;
    assert!(
        metrics.contains("caudal_check_findings_total 1"),
        "{metrics}"
    );
    assert!(metrics.contains("caudal_check_rounds_total "), "{metrics}");
    let refused = client.voucher(&cvu, "IN", "1", "late").await;
    refused.is(503);
    service.stop().await.unwrap();
    let why = Service::start(options(dir.path()))
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(why.contains("0000000002.segment at offset 4096"), "{why}");
    assert!(fs::read(&segment).unwrap() == rotten, "it was changed");
}
