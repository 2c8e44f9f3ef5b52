//! Evidence about an account, a person, a case and a day: complete, checked by hashes, of one realm, and for auditors.

use std::collections::BTreeMap;
use std::process::Command;

use aws_lc_rs::digest::{SHA256, digest};
use tempfile::TempDir;

use crate::audit::{entries, person};
use crate::cli::{caudal, said};
use crate::console::browser::order;
use crate::support::sheets::{csv, unzipped};
use crate::support::{Answer, TestClock, TestService, Value, json};

/// A service in which one person's transfer was decided, and whom others looked at.
struct Story {
    service: TestService,
    auditor: String,
    cuit: String,
    cvu: String,
    transfer: String,
    /// The account of another tenant, of the same person.
    foreign: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn story() -> Story {
    let service = TestService::start().await;
    service.hear().await;
    let client = &service.a;
    client.in_and_out().await;
    let cuit = crate::support::cuit(31_337);
    let body = json!({"cuit": cuit, "holderName": "Eva Dencia"});
    let cvu = text(&client.open_with(body.clone()).await["cvu"]);
    let foreign = text(&service.b.open_with(body).await["cvu"]);
    client
        .voucher(&cvu, "IN", "1234.50", "order-1")
        .await
        .is(201);
    let path = format!("/v1/accounts/{cvu}/alias");
    client
        .call("PUT", &path)
        .json(&json!({"alias": "EVA.DENCIA"}))
        .await
        .is(200);
    let sent = client.transfer(&cvu, json!({"alias": "DESTINO.2"}), "10.00");
    let sent = client
        .settled(&sent.await.is(201).json, "in_progress")
        .await;
    service
        .bank
        .settle(&sent["originId"], "UNKNOWN_FOREVER")
        .await;
    client.settled(&sent, "audit").await;
    let transfer = text(&sent["id"]);
    let verdict = json!({"outcome": "rejected", "by": "Ana", "reason": "the bank has no record"});
    let decide = format!("/admin/cases/{transfer}/decide");
    order(&service, "POST", &decide, &verdict).await.is(200);
    let (auditor, mut browser) = person(&service, "vera", "auditor").await;
    // One look at both accounts: a search over all tenants.
    browser
        .get(&format!("/console/search?q={cuit}"))
        .await
        .is(200);
    browser
        .get(&format!("/console/accounts/{cvu}"))
        .await
        .is(200);
    browser
        .get(&format!("/console/accounts/{foreign}"))
        .await
        .is(200);
    Story {
        service,
        auditor,
        cuit,
        cvu,
        transfer,
        foreign,
    }
}

impl Story {
    async fn asks(&self, who: &str, query: &str) -> Answer {
        let path = format!("/admin/tenants/tnt_first/evidence?{query}");
        let call = self.service.admin_client().get(&path);
        call.header("x-admin-key", who).await
    }

    /// The files of the evidence about something, each with the hash that the index says.
    async fn files(&self, query: &str) -> BTreeMap<String, String> {
        let answer = self.asks(&self.auditor, query).await.is(200);
        assert_eq!(answer.header("content-type"), "application/zip");
        let index = unzipped(&answer.bytes, "index.json");
        let parsed: Value = serde_json::from_str(&index).unwrap();
        let mut files = BTreeMap::from([("index.json".to_owned(), index)]);
        for file in parsed["files"].as_array().unwrap() {
            let name = text(&file["name"]);
            let content = unzipped(&answer.bytes, &name);
            let hash = digest(&SHA256, content.as_bytes());
            let hash: String = hash
                .as_ref()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(file["sha256"], hash, "{name}");
            assert_eq!(file["bytes"], content.len(), "{name}");
            files.insert(name, content);
        }
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&answer.bytes)).unwrap();
        assert_eq!(archive.len(), files.len());
        assert!(archive.by_index(0).is_ok());
        files
    }
}

fn lines(files: &BTreeMap<String, String>, name: &str) -> Vec<Value> {
    let lines = files[name].lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[actix_web::test]
async fn evidence_has_what_happened_who_decided_and_who_looked() {
    let story = story().await;
    let (cvu, cuit) = (&story.cvu, &story.cuit);
    let case = format!("mode=test&case={}", story.transfer);
    for query in [
        format!("mode=test&cvu={cvu}"),
        format!("mode=test&cuit={cuit}"),
        case,
    ] {
        let files = story.files(&query).await;
        let rows = csv(&files[&format!("accounts/{cvu}/movements.csv")]);
        let amount = rows[0]
            .iter()
            .position(|column| column == "amount")
            .unwrap();
        assert!(
            rows.iter().any(|row| row[amount] == "1234.50"),
            "{query}: {rows:?}"
        );
        let account: Value =
            serde_json::from_str(&files[&format!("accounts/{cvu}/account.json")]).unwrap();
        assert_eq!(account["holder"]["name"], "Eva Dencia");
        let changes = lines(&files, "changes.ndjson");
        let kinds: Vec<_> = changes.iter().map(|it| text(&it["type"])).collect();
        assert!(
            kinds.contains(&"account.alias.updated".to_owned()),
            "{query}: {kinds:?}"
        );
        let cases = lines(&files, "cases.ndjson");
        assert_eq!(cases.len(), 1, "{query}");
        assert_eq!(cases[0]["decision"]["reason"], "the bank has no record");
        let acts = lines(&files, "acts.ndjson");
        let decided = acts
            .iter()
            .find(|it| it["action"] == "decideCase" && it["outcome"] == "done");
        assert_eq!(decided.unwrap()["subject"], story.transfer, "{query}");
        let looks = lines(&files, "looks.ndjson");
        assert!(
            looks.iter().any(|it| it["operator"] == "vera"),
            "{query}: {looks:?}"
        );
        let calls = lines(&files, "bank-calls.ndjson");
        assert!(
            calls.iter().any(|it| it["transferId"] == story.transfer),
            "{query}"
        );
        let days = files
            .keys()
            .filter(|name| name.starts_with("reconciliation/"))
            .count();
        let index: Value = serde_json::from_str(&files["index.json"]).unwrap();
        let missing = &index["reconciliation"]["missing"];
        assert_eq!((days, missing), (1, &json!([])), "{query}");
        assert!(
            files["README.md"].contains("# Evidencia") && files["README.md"].contains("# Evidence")
        );
    }
}

#[actix_web::test]
async fn a_day_has_the_realm_and_the_cases_that_wait() {
    let story = story().await;
    story.service.a.cvu().await;
    let today = story.service.engine().now().business_day();
    let files = story.files(&format!("mode=test&date={today}")).await;
    let rows = csv(&files["movements.csv"]);
    assert!(rows.len() > 2, "{rows:?}");
    let acts = lines(&files, "acts.ndjson");
    assert!(
        acts.iter().any(|it| it["subject"] == story.transfer),
        "{acts:?}"
    );
    let looks = lines(&files, "looks.ndjson");
    assert!(looks.iter().any(|it| it["operator"] == "vera"), "{looks:?}");
    assert!(files.contains_key(&format!("reconciliation/{today}.csv")));
    let before = story.files("mode=test&date=2020-01-01").await;
    assert_eq!(csv(&before["movements.csv"]).len(), 1);
}

#[actix_web::test]
async fn nothing_of_another_tenant_and_no_secret_is_inside() {
    let story = story().await;
    let today = story.service.engine().now().business_day();
    let (cvu, cuit) = (&story.cvu, &story.cuit);
    let key = story.service.a.key.clone().unwrap();
    for query in [
        format!("mode=test&cvu={cvu}"),
        format!("mode=test&cuit={cuit}"),
        format!("mode=test&case={}", story.transfer),
        format!("mode=test&date={today}"),
    ] {
        for (name, content) in story.files(&query).await {
            for secret in [&story.foreign, &key, &story.auditor] {
                assert!(!content.contains(secret.as_str()), "{query}: {name}");
            }
            assert!(
                !content.to_lowercase().contains("authorization"),
                "{query}: {name}"
            );
        }
    }
    for (query, code) in [
        (
            format!("mode=test&cvu={}", story.foreign),
            "account_not_found",
        ),
        (format!("mode=live&cvu={cvu}"), "account_not_found"),
        (format!("mode=live&cuit={cuit}"), "account_not_found"),
        (
            format!("mode=live&case={}", story.transfer),
            "case_not_found",
        ),
        ("mode=test&case=x".to_owned(), "case_not_found"),
    ] {
        story.asks(&story.auditor, &query).await.refused(404, code);
    }
}

#[actix_web::test]
async fn evidence_needs_an_auditor_and_one_subject_and_is_a_look() {
    let story = story().await;
    let cvu = &story.cvu;
    let (viewer, _) = person(&story.service, "otto", "viewer").await;
    let query = format!("mode=test&cvu={cvu}");
    story
        .asks(&viewer, &query)
        .await
        .refused(403, "role_missing");
    for (wrong, field) in [
        (format!("cvu={cvu}"), "mode"),
        ("mode=test".to_owned(), "cvu"),
        (format!("mode=test&cvu={cvu}&cuit={}", story.cuit), "cvu"),
        ("mode=test&date=2999-01-01".to_owned(), "date"),
        (
            "mode=test&date=2026-01-01&from=2026-01-01".to_owned(),
            "date",
        ),
        (
            format!("mode=test&cvu={cvu}&from=2026-01-02&to=2026-01-01"),
            "from",
        ),
    ] {
        let refused = story
            .asks(&story.auditor, &wrong)
            .await
            .refused(400, "invalid_request");
        assert_eq!(refused["errors"][0]["field"], field, "{wrong}");
    }
    story.files(&format!("mode=test&cuit={}", story.cuit)).await;
    let looks = entries(&story.service, "action=readEvidence&operator=vera").await;
    assert_eq!(looks.len(), 1);
    assert_eq!(looks[0]["shown"], json!({cvu: 1}));
}

#[actix_web::test]
async fn the_command_writes_a_folder_that_its_index_proves() {
    let story = story().await;
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("evidence");
    let run = |more: &[&str]| {
        let mut args = vec![
            "evidence",
            "--tenant",
            "tnt_first",
            "--mode",
            "test",
            "--out",
        ];
        args.push(out.to_str().unwrap());
        args.extend(more);
        caudal(&args)
            .env("CAUDAL_ADMIN_URL", story.service.admin_client().url)
            .env("CAUDAL_ADMIN_KEY", caudal_service::TEST_ADMIN_KEY)
            .output()
            .unwrap()
    };
    let (code, _, err) = said(&run(&["--cvu", &story.foreign]));
    assert!(code == Some(1) && err.contains("404"), "{err}");
    assert!(!out.exists());
    let (code, said_, err) = said(&run(&["--cvu", &story.cvu]));
    assert_eq!(code, Some(0), "{err}");
    let index = std::fs::read(out.join("index.json")).unwrap();
    let hash: String = digest(&SHA256, &index)
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert!(said_.contains(&hash), "{said_}");
    let index: Value = serde_json::from_slice(&index).unwrap();
    for file in index["files"].as_array().unwrap() {
        let content = std::fs::read(out.join(text(&file["name"]))).unwrap();
        let hash = digest(&SHA256, &content);
        let hash: String = hash
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(file["sha256"], hash, "{file}");
    }
    let (code, _, err) = said(&run(&["--cvu", &story.cvu]));
    assert!(code == Some(2) && err.contains("is there already"), "{err}");
}

/// What `caudal verify-day`, and the script if there is python3, say about files of closed days.
fn verified(folder: &TempDir, key: &str) -> Vec<(bool, String)> {
    let mut files: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    let mut python = Command::new("python3");
    python.arg(folder.path().join("verify_day.py"));
    let mut own = Command::new(env!("CARGO_BIN_EXE_caudal"));
    own.arg("verify-day");
    let mut found = Vec::new();
    for program in [&mut own, &mut python] {
        match program.args(["--key", key]).args(&files).output() {
            Ok(said) => {
                let text = String::from_utf8(said.stdout).unwrap();
                found.push((said.status.success(), text));
            }
            Err(why) => {
                let needed = std::env::var_os("CAUDAL_REQUIRE_VERIFIERS").is_some();
                assert!(
                    !needed,
                    "CAUDAL_REQUIRE_VERIFIERS is set, and {program:?}: {why}"
                );
                println!("not run: {program:?}: {why}");
            }
        }
    }
    assert!(!found.is_empty());
    found
}

#[actix_web::test]
async fn closed_days_in_the_evidence_are_verified_by_programs_without_the_service() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    for day in 2..5 {
        clock.set(&format!("2026-03-0{day}T15:00:00Z"));
        service.a.credit(&cvu, "10.05").await;
        service.a.hold(&cvu, "1.00").await;
        let other = service.a.cvu().await;
        service.a.credit(&other, "7.00").await;
    }
    clock.set("2026-03-06T15:00:00Z");
    service.close_days().await;
    let path = format!("/admin/tenants/tnt_first/evidence?mode=test&cvu={cvu}");
    let archive = service.admin_get(&path).await.is(200);
    let index: Value = serde_json::from_str(&unzipped(&archive.bytes, "index.json")).unwrap();
    assert_eq!(
        index["sealedDays"],
        json!(["2026-03-02", "2026-03-03", "2026-03-04"])
    );
    let folder = TempDir::new().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    put("verify_day.py", &unzipped(&archive.bytes, "verify_day.py"));
    for day in ["2026-03-02", "2026-03-03", "2026-03-04"] {
        for name in [format!("{day}.json"), format!("{day}-{cvu}.json")] {
            put(&name, &unzipped(&archive.bytes, &format!("days/{name}")));
        }
    }
    let key = text(&service.a.get("/v1/days/2026-03-04").await.is(200)["key"]);
    let balance = format!("CVU {cvu} has 27.15 available and 3.00 held after its voucher 6");
    for (accepted, said) in verified(&folder, &key) {
        assert!(accepted, "{said}");
        assert!(said.contains(&balance), "{said}");
        assert!(said.contains("2026-03-04 follows 2026-03-03"), "{said}");
    }
    // A centavo more is refused.
    let name = format!("2026-03-04-{cvu}.json");
    let proof = unzipped(&archive.bytes, &format!("days/{name}"));
    assert!(proof.len() < 4096);
    put(&name, &proof.replacen("27.15", "27.16", 1));
    for (accepted, said) in verified(&folder, &key) {
        assert!(!accepted && said.contains("not part of"), "{said}");
    }
}
