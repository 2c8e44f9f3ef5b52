//! Realms as files: out of one installation and into another, by commands in separate processes.

mod closed;
pub mod dying;
mod shards;

use std::fs;
use std::path::{Path, PathBuf};

use caudal_backup::portable::format;
use caudal_backup::portable::read::FileReader;
use tempfile::TempDir;

use crate::backup::{at, command, seen, shipped, text};
use crate::support::service::{OTHER, Setup, TENANT};
use crate::support::{Client, TestService, Value, json};

/// The description of a movement of the other tenant.
const CANARY: &str = "nobody else's business";

/// Works in a realm with something of every kind, and in another tenant next to it; returns the accounts of the
/// first.
pub async fn worked(service: &TestService) -> Vec<String> {
    let (b, a) = (&service.b, &service.a);
    b.in_and_out().await;
    let cvus = vec![b.cvu().await, b.cvu().await];
    for cvu in &cvus {
        for _ in 0..3 {
            b.credit(cvu, "10.00").await;
        }
        let hold = b.hold(cvu, "3.00").await;
        b.step(&hold, "confirm", "1.00").await.is(200);
        b.hold(cvu, "0.50").await;
        b.debit(cvu, "2.00").await;
    }
    let inside = b.transfer(&cvus[0], json!({"cvu": cvus[1]}), "4.00").await;
    b.settled(&inside.is(201).json, "completed").await;
    let outside = b
        .transfer(&cvus[0], json!({"alias": "destino.0"}), "1.00")
        .await;
    b.settled(&outside.is(201).json, "completed").await;
    a.in_and_out().await;
    let beside = a.cvu().await;
    let mut body = json!({
        "voucherTypeCode": "IN", "amount": "5.00", "idExterno": "beside", "description": CANARY,
    });
    let path = format!("/v1/accounts/{beside}/comprobantes");
    let posted = a.post(&path, &body).await;
    if posted.status == 400 {
        body["description"] = Value::Null;
    }
    posted.is(201);
    cvus
}

/// Everything that both families show of a realm.
pub async fn shown(client: &Client, cvus: &[String]) -> Vec<Value> {
    let mut all = seen(client, cvus).await;
    let lists = [
        "/v1/accounts?limit=200",
        "/v1/comprobantes/internal?limit=200",
        "/v1/voucher-types",
        "/wallet/v1/Cuentas",
        "/wallet/v1/SaldosActuales",
    ];
    let holds = cvus
        .iter()
        .map(|cvu| format!("/v1/accounts/{cvu}/holds?limit=200"));
    let transfers = cvus
        .iter()
        .map(|cvu| format!("/v1/transfers?fromCvu={cvu}"));
    for path in lists
        .into_iter()
        .map(str::to_owned)
        .chain(holds)
        .chain(transfers)
    {
        all.push(client.get(&path).await.is(200).json.clone());
    }
    all
}

/// Runs a command that has to succeed; returns its JSON output.
pub fn done(arguments: &[&str]) -> Value {
    let (code, told, why) = command(&[arguments, &["--json"]].concat());
    assert_eq!(code, Some(0), "{arguments:?}: {why}");
    told
}

/// Runs a command that has to be refused with this code; returns its message.
pub fn refused(arguments: &[&str], wanted: i32) -> String {
    let (code, _, why) = command(arguments);
    assert_eq!(code, Some(wanted), "{arguments:?}: {why}");
    why
}

/// Exports the test realm of the other tenant.
pub fn exported(data: &Path, to: &Path, more: &[&str]) -> Value {
    let tenant = ["realm", "export", "--tenant", OTHER, "--mode", "test"];
    let from = ["--data", text(data), "--to", text(to)];
    done(&[&tenant[..], &from, more].concat())
}

/// Another installation with a tenant of its own: its folder, a client of that tenant, and an account. The service
/// has stopped.
pub async fn elsewhere(service: &mut TestService, folder: &Path) -> (PathBuf, Client, String) {
    service.end(true).await;
    let data = folder.join("elsewhere");
    service.moves(data.clone());
    service.begin().await;
    let made = service
        .admin("POST", "/admin/tenants", &json!({"name": "Home"}))
        .await;
    let home = made.is(201)["id"].as_str().unwrap().to_owned();
    let client = issued(service, &home).await;
    client.in_and_out().await;
    let cvu = client.cvu().await;
    client.credit(&cvu, "7.00").await;
    service.end(true).await;
    (data, client, cvu)
}

/// A client with a new key of a tenant's test realm.
pub async fn issued(service: &TestService, tenant: &str) -> Client {
    let path = format!("/admin/tenants/{tenant}/keys");
    let key = service.admin("POST", &path, &json!({"mode": "test"})).await;
    service.a.with_key(key.is(201)["key"].as_str())
}

#[actix_web::test]
async fn a_realm_goes_on_elsewhere_as_it_was() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    let cvus = worked(&service).await;
    let before = shown(&service.b, &cvus).await;
    service.end(true).await;
    let file = dir.path().join("realm");
    let made = exported(service.data(), &file, &[]);
    assert_eq!(done(&["realm", "check", text(&file)]), made);
    assert_eq!(
        (&made["realm"], &made["closed"]),
        (&json!(4), &json!(false))
    );
    let (data, mut home, cvu) = elsewhere(&mut service, dir.path()).await;
    let import = ["realm", "import", text(&file), "--data", text(&data)];
    let put = done(&import);
    assert_eq!(
        (&put["digest"], &put["opened"]),
        (&made["digest"], &json!(false))
    );
    // the second export has the same streams with the same hashes, and nobody is served yet
    let again = dir.path().join("again");
    let there = exported(&data, &again, &[]);
    for name in ["realm", "entries", "streams", "digest"] {
        assert_eq!(there[name], made[name], "{name}");
    }
    service.begin().await;
    let client = issued(&service, OTHER).await;
    home.url.clone_from(&client.url);
    client
        .get("/v1/accounts")
        .await
        .refused(503, "realm_closed");
    client
        .voucher(&cvus[0], "IN", "1.00", "early")
        .await
        .refused(503, "realm_closed");
    home.credit(&cvu, "1.00").await;
    service.end(true).await;
    let which = ["--data", text(&data), "--tenant", OTHER, "--mode", "test"];
    let turn = |word: &'static str| [&["realm", word], &which[..]].concat();
    assert_eq!(command(&turn("open")).0, Some(0));
    let why = refused(&turn("open"), 2);
    assert!(why.contains("the realm is open"), "{why}");
    service.begin().await;
    let (mut client, mut home) = (client, home);
    client.url.clone_from(&service.a.url);
    home.url.clone_from(&service.a.url);
    assert_eq!(shown(&client, &cvus).await, before);
    client.credit(&cvus[0], "1.00").await;
    assert_eq!(client.cvu().await.len(), 22);
    home.credit(&cvu, "1.00").await;
    service.verified().await;
    service.end(true).await;
    // the realm goes home with what it did elsewhere, once it is closed there
    let why = refused(&import, 2);
    assert!(why.contains("open and has entries"), "{why}");
    assert_eq!(command(&turn("close")).0, Some(0));
    let back = dir.path().join("back");
    assert_eq!(exported(&data, &back, &[])["closed"], true);
}

#[actix_web::test]
async fn nothing_of_anybody_else_is_in_a_file() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    worked(&service).await;
    service.end(true).await;
    let beside = dir.path().join("beside");
    let tenant = ["realm", "export", "--tenant", TENANT, "--mode", "test"];
    done(
        &[
            &tenant[..],
            &["--data", text(service.data()), "--to", text(&beside)],
        ]
        .concat(),
    );
    let own = dir.path().join("own");
    exported(service.data(), &own, &[]);
    assert!(says(&beside, CANARY), "the test would see it");
    assert!(!says(&own, CANARY));
    assert!(
        !fs::read(&own)
            .unwrap()
            .windows(TENANT.len())
            .any(|it| it == TENANT.as_bytes())
    );
    let why = refused(
        &[
            "realm",
            "export",
            "--tenant",
            "nobody",
            "--mode",
            "live",
            "--data",
            text(service.data()),
            "--to",
            "x",
        ],
        2,
    );
    assert!(why.contains("there is no tenant nobody"), "{why}");
}

/// Whether some entry of a file contains a text.
fn says(file: &Path, wanted: &str) -> bool {
    let mut reader = FileReader::open(file).unwrap();
    let mut found = false;
    while let Some(frame) = reader.entries().unwrap() {
        let mut look = |item: caudal_backup::portable::tally::RealmEntry<'_>| {
            let mut windows = item.body.windows(wanted.len());
            found |= windows.any(|it| it == wanted.as_bytes());
            Ok(())
        };
        format::items(&frame, &mut look).unwrap();
    }
    found
}

#[actix_web::test]
async fn damage_is_named_and_nothing_of_it_is_imported() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    worked(&service).await;
    service.end(true).await;
    let file = dir.path().join("realm");
    exported(service.data(), &file, &[]);
    let whole = fs::read(&file).unwrap();
    let (data, ..) = elsewhere(&mut service, dir.path()).await;
    let before = done(&["verify", "--data", text(&data)]);
    let import = ["realm", "import", text(&file), "--data", text(&data)];
    let length = whole.len();
    for place in [3, 30, 300, 515, 520, 600, length / 2, length - 2] {
        let mut flipped = whole.clone();
        flipped[place] ^= 4;
        fs::write(&file, &flipped).unwrap();
        for command in [&["realm", "check", text(&file)][..], &import] {
            let why = refused(command, 1);
            assert!(
                why.contains(text(&file)) && why.contains(" at offset "),
                "{why}"
            );
        }
    }
    for cut in [0, 100, 512, 514, 700, length / 2, length - 1] {
        fs::write(&file, &whole[..cut]).unwrap();
        let why = refused(&import, 1);
        assert!(
            why.contains("cut short") || why.contains("not begin"),
            "{cut}: {why}"
        );
    }
    fs::write(&file, [&whole[..], b"x"].concat()).unwrap();
    let why = refused(&import, 1);
    assert!(why.contains("something follows its end"), "{why}");
    assert_eq!(
        done(&["verify", "--data", text(&data)]),
        before,
        "nothing was changed"
    );
    let export = [
        "realm",
        "export",
        "--tenant",
        OTHER,
        "--mode",
        "test",
        "--to",
        text(&file),
    ];
    let why = refused(&[&export[..], &["--data", text(&data)]].concat(), 2);
    assert!(why.contains("is there already"), "{why}");
}

#[actix_web::test]
async fn a_backup_store_exports_the_same_file_while_the_service_runs() {
    let dir = TempDir::new().unwrap();
    let to = dir.path().join("backup");
    let mut service = TestService::with(Setup {
        backup: at(&to),
        ..Setup::default()
    })
    .await;
    let cvus = worked(&service).await;
    let then = shipped(&service).await["commit"].to_string();
    let past = shown(&service.b, &cvus).await;
    service.b.credit(&cvus[0], "7.00").await;
    shipped(&service).await;
    let export = |more: &[&str], name: &str| {
        let path = dir.path().join(name);
        let tenant = ["realm", "export", "--tenant", OTHER, "--mode", "test"];
        let told = done(&[&tenant[..], &["--to", text(&path)], more].concat());
        (path, told)
    };
    let from = ["--from", text(&to)];
    let (_, now) = export(&from, "now");
    let (file, earlier) = export(&[&from[..], &["--at", &then]].concat(), "then");
    assert_eq!(earlier["commit"].to_string(), then);
    assert!(now["entries"].as_u64() > earlier["entries"].as_u64());
    service.end(true).await;
    let data = service.data().to_owned();
    let at = now["commit"].to_string();
    let (_, same) = export(&["--data", text(&data), "--at", &at], "same");
    assert_eq!(same, now);
    // the earlier export continues elsewhere from there, and a later one extends it until the realm is opened
    let (other, ..) = elsewhere(&mut service, dir.path()).await;
    let import = |file: &Path| done(&["realm", "import", text(file), "--data", text(&other)]);
    import(&file);
    let last = dir.path().join("now");
    assert_eq!(import(&last)["digest"], now["digest"]);
    let why = refused(&["realm", "import", text(&file), "--data", text(&other)], 2);
    assert!(why.contains("is not the beginning of"), "{why}");
    drop(past);
}

#[actix_web::test]
async fn a_realm_whose_number_is_taken_is_refused() {
    let dir = TempDir::new().unwrap();
    let mut service = TestService::start().await;
    service.b.cvu().await;
    service.end(true).await;
    let file = dir.path().join("realm");
    exported(service.data(), &file, &[]);
    let (data, ..) = elsewhere(&mut service, dir.path()).await;
    service.begin().await;
    service
        .admin("POST", "/admin/tenants", &json!({"name": "Second"}))
        .await
        .is(201);
    service.end(true).await;
    let why = refused(&["realm", "import", text(&file), "--data", text(&data)], 2);
    assert!(why.contains("a realm keeps its number"), "{why}");
}
