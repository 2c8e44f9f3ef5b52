//! The commands around a service, each as a separate process.

mod cuts;
mod documents;
mod operations;
mod people;
mod shell;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use caudal_sandbox as sandbox;
use caudal_service::TEST_ADMIN_KEY;
use tempfile::TempDir;

use crate::support::{Client, SOON, TestService, Value, json, wait_until};
use crate::webhooks::inbox::Inbox;

/// A command without the `CAUDAL_` variables of the environment that runs the tests.
pub fn caudal(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_caudal"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CAUDAL_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

pub fn said(ended: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (
        ended.status.code(),
        text(&ended.stdout),
        text(&ended.stderr),
    )
}

#[actix_web::test]
async fn status_and_health_tell_how_a_service_is() {
    let mut service = TestService::start().await;
    let admin = service.admin_client().url;
    let status = |more: &[&str]| {
        let mut command = caudal(&["status", "--admin-url", &admin]);
        let command = command.args(more).env("CAUDAL_ADMIN_KEY", TEST_ADMIN_KEY);
        said(&command.output().unwrap())
    };
    let (code, out, _) = status(&["--json"]);
    let reply: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(0), "{out}");
    assert_eq!(
        (
            &reply["ready"],
            &reply["tenants"],
            &reply["realms"]["count"],
            &reply["cases"]["open"]
        ),
        (&json!(true), &json!(2), &json!(4), &json!(0))
    );
    assert!(
        reply["version"].is_string() && reply["uptimeSeconds"].is_u64(),
        "{out}"
    );
    let (_, page, _) = status(&[]);
    for line in [
        "No problems.",
        "\nclock in doubt  no",
        "\nrealms\n  count  4\n",
        "\ntenants         2\n",
    ] {
        assert!(page.contains(line), "{page}");
    }
    let health = |url: &str| said(&caudal(&["health", "--url", url]).output().unwrap());
    for url in [&service.a.url, &admin] {
        assert_eq!(health(url), (Some(0), "ready".into(), String::new()));
    }
    let url = service.a.url.clone();
    service.end(true).await;
    let (code, out, why) = health(&url);
    assert_eq!((code, out.as_str()), (Some(1), ""), "{why}");
    assert!(why.contains("does not answer"), "{why}");
}

#[actix_web::test]
async fn verify_of_a_folder_works_whatever_is_exported() {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    for (name, value) in [
        ("CAUDAL_ADMIN_URL", "http://elsewhere"),
        ("CAUDAL_ADMIN_URL", "no url"),
        ("CAUDAL_ADMIN_KEY", "k"),
        ("CAUDAL_LISTEN", "nowhere"),
        ("CAUDAL_CONFIG", "caudal.toml"),
    ] {
        let mut verify = caudal(&["verify", "--data", data.to_str().unwrap()]);
        let (code, _, why) = said(&verify.env(name, value).output().unwrap());
        assert_eq!(code, Some(2), "{why}");
        assert!(why.contains("holds no store"), "{name}={value}: {why}");
    }
}

/// A command that runs until the test ends.
pub struct Going(pub Child);

impl Drop for Going {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_bench_that_fails_says_why_though_it_has_no_log() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "no folder").unwrap();
    let mut bench = caudal(&["bench", "--quick", "--dir"]);
    let (code, out, told) = said(&bench.arg(&file).output().unwrap());
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(
        told.starts_with("caudal: making ") && told.contains("Not a directory"),
        "{told}"
    );
    // With a log, the error goes there.
    let (code, _, told) = said(&bench.env("CAUDAL_LOG", "error").output().unwrap());
    let line: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        (code, &line["message"]),
        (Some(1), &json!("the process ends"))
    );
}

#[test]
fn serve_without_settings_says_where_to_get_some() {
    let (code, out, why) = said(&caudal(&["serve"]).output().unwrap());
    assert_eq!((code, out.as_str()), (Some(2), ""), "{why}");
    assert!(
        why.contains("caudal serve --example > caudal.toml"),
        "{why}"
    );
    assert!(why.contains("--config FILE"), "{why}");
    let (code, out, _) = said(&caudal(&["serve", "--example"]).output().unwrap());
    assert_eq!(code, Some(0));
    assert!(out.contains("[bank"), "{out}");
}

#[actix_web::test]
async fn a_sandbox_bank_begins_with_the_funds_in_pesos_that_it_is_given() {
    for (sent, there) in [(None, "0.00"), (Some("1234.5"), "1234.50")] {
        let mut bank = caudal(&["sandbox-bank", "--listen", "127.0.0.1:0"]);
        bank.args(sent.iter().flat_map(|pesos| ["--funds", pesos]));
        let mut going = Going(bank.stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        let out = going.0.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let bank = Client::new(line.split_whitespace().last().unwrap(), None);
        let user = json!({"username": sandbox::USERNAME, "password": sandbox::PASSWORD});
        let login = bank.post("/v1/login/jwt", &user).await.is(200);
        let token = format!("JWT {}", login["token"].as_str().unwrap());
        let path = format!("/v1/banks/322/accounts/{}/owner", sandbox::COLLECTOR);
        let found = bank
            .get(&path)
            .header("authorization", &token)
            .await
            .is(200);
        assert_eq!(
            found["balance"],
            json!({"currency": "ARS", "amount": there})
        );
    }
    for wrong in ["-1", "1.234", "mucho"] {
        let (code, _, why) = said(
            &caudal(&["sandbox-bank", "--funds", wrong])
                .output()
                .unwrap(),
        );
        assert_eq!(code, Some(2), "{why}");
    }
}

#[actix_web::test]
async fn the_printed_sandbox_bank_keeps_its_data_over_a_restart() {
    let printed = include_str!("../docs/operations.md");
    let printed = printed.split("caudal sandbox-bank --data").nth(1).unwrap();
    let folder = printed.split_whitespace().next().unwrap();
    let home = TempDir::new().unwrap();
    let order =
        json!({"client_id": 7, "cuit": "20055361682", "name": "Ana Acosta", "currency": "ARS"});
    for round in 0..2 {
        let mut bank = caudal(&["sandbox-bank", "--data", folder, "--listen", "127.0.0.1:0"]);
        let bank = bank.current_dir(home.path()).stdout(Stdio::piped());
        let mut going = Going(bank.spawn().unwrap());
        let mut line = String::new();
        let out = going.0.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let bank = Client::new(line.split_whitespace().last().unwrap(), None);
        let state = bank.get("/sandbox/state").await.is(200);
        assert_eq!(state["accountsTotal"], round);
        let user = json!({"username": sandbox::USERNAME, "password": sandbox::PASSWORD});
        let login = bank.post("/v1/login/jwt", &user).await.is(200);
        let token = format!("JWT {}", login["token"].as_str().unwrap());
        let path = format!(
            "/v1/banks/322/accounts/{}/owner/wallet/cvu",
            sandbox::COLLECTOR
        );
        let made = bank.post(&path, &order).header("authorization", &token);
        made.await.is(200);
    }
}

#[actix_web::test]
async fn listen_brings_events_to_a_url_as_a_webhook_would() {
    let service = TestService::start().await;
    let (inbox, folder) = (Inbox::start(), TempDir::new().unwrap());
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let first = service.a.get("/v1/events?limit=1").await.is(200);
    let first = first["items"][0]["id"].as_str().unwrap().to_owned();
    service.a.credit(&cvu, "10.00").await;
    let out = folder.path().join("out.txt");
    let key = service
        .keyed(&json!({"mode": "test", "scopes": ["events:read"]}))
        .await
        .key;
    let mut listen = caudal(&["listen", "--forward", &inbox.url("/hooks")]);
    listen.args([
        "--url",
        &service.a.url,
        "--after",
        &first,
        "--types",
        "voucher.*",
    ]);
    listen.env("CAUDAL_API_KEY", key.unwrap());
    listen.stdout(fs::File::create(&out).unwrap());
    let _going = Going(listen.spawn().unwrap());
    wait_until("what was before is there", SOON, async || {
        (inbox.calls().len() == 1).then_some(())
    })
    .await;
    let later = service.a.debit(&cvu, "4.00").await;
    wait_until("what comes is there", SOON, async || {
        (inbox.calls().len() == 2).then_some(())
    })
    .await;
    let printed = fs::read_to_string(&out).unwrap();
    let secret = printed
        .lines()
        .find_map(|line| line.trim().strip_prefix("whsec_"));
    let secret = format!("whsec_{}", secret.unwrap());
    for call in inbox.calls() {
        assert_eq!(call.signed(&secret), Ok(()));
        assert_eq!(
            (call.body()["type"].as_str(), call.body()["id"].as_str()),
            (Some("voucher.created"), Some(call.id.as_str()))
        );
    }
    assert_eq!(inbox.calls()[1].body()["data"]["id"], later["id"]);
    let lines = || {
        fs::read_to_string(&out)
            .unwrap()
            .matches("voucher.created")
            .count()
    };
    wait_until("each has its line", SOON, async || {
        (lines() == 2).then_some(())
    })
    .await;
    // A client that may not read events is told so, and the command ends.
    let other = service
        .keyed(&json!({"mode": "test", "scopes": ["vouchers:write"]}))
        .await
        .key;
    let mut listen = caudal(&["listen", "--forward", &inbox.url("/hooks")]);
    listen.args(["--url", &service.a.url, "--key", &other.unwrap()]);
    let (code, _, why) = said(&listen.output().unwrap());
    assert_eq!(code, Some(1));
    assert!(why.contains("events:read"), "{why}");
}
