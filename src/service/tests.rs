//! A service as a whole: started, stopped, killed, started again; its folder and its pepper.

mod admin;
mod timers;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use secrecy::SecretString;
use tempfile::TempDir;

use super::*;

fn start(dir: &TempDir) -> Service {
    Service::start(ServiceOptions::for_tests(dir.path().join("data"))).unwrap()
}

fn refused(options: ServiceOptions) -> StartError {
    match Service::start(options) {
        Ok(_) => panic!("it should not start"),
        Err(why) => why,
    }
}

async fn get(url: &str) -> (u16, String) {
    let client = reqwest::Client::builder().tls_certs_only([]).no_proxy();
    let answer = client.build().unwrap().get(url).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[actix_web::test]
async fn two_services_live_in_one_process_and_share_nothing() {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (first, second) = (start(&one), start(&two));
    let tenant = first.create_tenant("uno").await.unwrap();
    let key = first.issue_key(&tenant.id, Mode::Test).await.unwrap();
    assert!(first.keyring.identify(&key, &first.engine).is_some());
    assert!(second.keyring.identify(&key, &second.engine).is_none());
    for url in [&first.url, &second.url, &first.admin_url, &second.admin_url] {
        assert_eq!(get(&format!("{url}/readyz")).await.0, 200);
        assert_eq!(get(&format!("{url}/livez")).await.0, 200);
    }
    first.stop().await.unwrap();
    assert_eq!(get(&format!("{}/readyz", second.url)).await.0, 200);
    second.kill().await;
}

#[actix_web::test]
async fn the_folder_opens_again_after_a_stop_and_after_a_crash() {
    let dir = TempDir::new().unwrap();
    let mut keys = Vec::<String>::new();
    for round in 0..4 {
        let service = start(&dir);
        for key in &keys {
            let known = service.keyring.identify(key, &service.engine);
            assert!(known.is_some(), "round {round}");
        }
        let tenant = service.create_tenant("uno").await.unwrap();
        keys.push(service.issue_key(&tenant.id, Mode::Live).await.unwrap());
        if round % 2 == 0 {
            service.kill().await;
        } else {
            service.stop().await.unwrap();
        }
    }
}

#[actix_web::test]
async fn a_folder_has_one_service_and_says_so() {
    let dir = TempDir::new().unwrap();
    let service = start(&dir);
    let why = refused(ServiceOptions::for_tests(dir.path().join("data")));
    assert!(
        matches!(why, StartError::Storage(OpenError::Busy(_))),
        "{why}"
    );
    service.kill().await;
}

#[actix_web::test]
async fn a_cleared_folder_says_nothing_of_the_store_before() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let service = start(&dir);
    assert!(matches!(
        super::clear(&data),
        Err(StartError::Storage(OpenError::Busy(_)))
    ));
    service.stop().await.unwrap();
    for name in ["log.place", "outgoing.held", "of a person"] {
        std::fs::write(data.join(name), "postgres://elsewhere/books\n").unwrap();
    }
    super::clear(&data).unwrap();
    let left = std::fs::read_dir(&data).unwrap();
    let left: Vec<_> = left.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["of a person"]);
    start(&dir).stop().await.unwrap();
}

#[actix_web::test]
async fn stored_files_are_readable_only_by_their_owner() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    start(&dir).stop().await.unwrap();
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("store")), 0o700);
    assert_eq!(mode(&data.join("pepper")), 0o600);
    assert_eq!(mode(&data.join("pepper.check")), 0o600);
}

#[actix_web::test]
async fn another_pepper_or_none_does_not_start() {
    let dir = TempDir::new().unwrap();
    start(&dir).stop().await.unwrap();
    let options = || ServiceOptions::for_tests(dir.path().join("data"));
    let pepper = dir.path().join("data/pepper");
    let right = std::fs::read_to_string(&pepper).unwrap();
    let with = |pepper: &str| ServiceOptions {
        pepper: Some(SecretString::from(pepper)),
        ..options()
    };
    let why = refused(with("another pepper of more than 32 characters"));
    assert!(
        why.to_string().contains("the pepper is not the one"),
        "{why}"
    );
    std::fs::remove_file(&pepper).unwrap();
    let why = refused(options());
    assert!(why.to_string().contains("pepper is missing"), "{why}");
    // A new one goes before it; from then on it is needed.
    let newer = "a newer pepper of more than 32 characters";
    let both = format!("{newer}\n{right}");
    for pepper in [right.as_str(), &format!("{right}\n{newer}"), &both, newer] {
        Service::start(with(pepper)).unwrap().stop().await.unwrap();
    }
    let why = refused(with(&right));
    assert!(
        why.to_string().contains("the pepper is not the one"),
        "{why}"
    );
}

#[actix_web::test]
async fn an_address_that_is_taken_is_named() {
    let dir = TempDir::new().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let why = refused(ServiceOptions {
        listen: taken.local_addr().unwrap(),
        ..ServiceOptions::for_tests(dir.path())
    });
    assert!(
        matches!(&why, StartError::Setting(reply) if reply.starts_with("listen: ")),
        "{why}"
    );
}

#[actix_web::test]
async fn a_store_that_is_gone_or_another_is_never_replaced_by_an_empty_one() {
    type Change = fn(&Path);
    let changes: [(&str, Change, &str); 6] = [
        (
            "emptied",
            |data| {
                std::fs::remove_dir_all(data.join("store")).unwrap();
                std::fs::create_dir(data.join("store")).unwrap();
            },
            "is its volume mounted?",
        ),
        (
            "gone",
            |data| std::fs::remove_dir_all(data.join("store")).unwrap(),
            "holds no store",
        ),
        (
            "gone, of an older version",
            |data| {
                std::fs::remove_dir_all(data.join("store")).unwrap();
                std::fs::remove_file(data.join("store.id")).unwrap();
            },
            "holds no store",
        ),
        (
            "another",
            |data| {
                std::fs::remove_dir_all(data.join("store")).unwrap();
                std::fs::rename(data.with_file_name("other/store"), data.join("store")).unwrap();
            },
            "has had the store",
        ),
        (
            "its id is unreadable",
            |data| std::fs::write(data.join("store.id"), "x").unwrap(),
            "store.id",
        ),
        (
            "its witness is gone",
            |data| {
                std::fs::remove_file(data.join("store/WITNESS")).unwrap();
            },
            "WITNESS: it is missing",
        ),
    ];
    for (what, change, reply) in changes {
        let dir = TempDir::new().unwrap();
        let data = dir.path().join("data");
        start(&dir).stop().await.unwrap();
        let other = ServiceOptions::for_tests(dir.path().join("other"));
        Service::start(other).unwrap().stop().await.unwrap();
        change(&data);
        let why = refused(ServiceOptions::for_tests(&data));
        assert!(
            matches!(&why, StartError::Storage(open) if !open.passes()),
            "{what}: {why}"
        );
        assert!(why.to_string().contains(reply), "{what}: {why}");
        assert!(
            !data.join("store/journal").exists() || !what.contains("gone,"),
            "{what}"
        );
    }
}

#[actix_web::test]
async fn a_folder_of_an_older_version_opens_and_is_known_from_then_on() {
    let dir = TempDir::new().unwrap();
    start(&dir).stop().await.unwrap();
    let data = dir.path().join("data");
    std::fs::remove_file(data.join("store.id")).unwrap();
    std::fs::remove_file(data.join("store/WITNESS")).unwrap();
    start(&dir).stop().await.unwrap();
    assert!(data.join("store.id").is_file() && data.join("store/WITNESS").is_file());
    assert_eq!(mode(&data.join("store.id")), 0o600);
}

#[actix_web::test]
async fn a_store_put_in_the_place_of_one_in_use_is_not_opened() {
    let dir = TempDir::new().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    start(&dir).stop().await.unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([&data, &copy])
        .status();
    assert!(copied.unwrap().success());
    let service = start(&dir);
    std::fs::rename(data.join("store"), dir.path().join("away")).unwrap();
    std::fs::rename(copy.join("store"), data.join("store")).unwrap();
    let why = refused(ServiceOptions::for_tests(&data));
    assert!(
        matches!(why, StartError::Storage(OpenError::Busy(_))),
        "{why}"
    );
    service.kill().await;
}

#[actix_web::test]
async fn a_damaged_journal_stops_the_start() {
    let dir = TempDir::new().unwrap();
    let service = start(&dir);
    service.create_tenant("uno").await.unwrap();
    service.create_tenant("dos").await.unwrap();
    service.stop().await.unwrap();
    let journal = dir.path().join("data/store/journal");
    let segment = std::fs::read_dir(journal)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let why = refused(ServiceOptions::for_tests(dir.path().join("data")));
    assert!(
        matches!(why, StartError::Storage(OpenError::Corrupt(_))),
        "{why}"
    );
}

#[actix_web::test]
async fn what_was_accepted_before_a_stop_is_there_after_it() {
    let dir = TempDir::new().unwrap();
    let service = start(&dir);
    let tenant = service.create_tenant("uno").await.unwrap();
    let key = service.issue_key(&tenant.id, Mode::Test).await.unwrap();
    let url = format!("{}/v1/accounts", service.url);
    let opened = Arc::new(AtomicUsize::new(0));
    let open = |n: u32| {
        let (url, key, opened) = (url.clone(), key.clone(), Arc::clone(&opened));
        async move {
            let client = reqwest::Client::builder()
                .tls_certs_only([])
                .no_proxy()
                .build()
                .unwrap();
            let mut accepted = Vec::new();
            for round in 0.. {
                let body = serde_json::json!({
                    "cuit": "20123456786", "holderName": "Ada", "externalId": format!("{n}-{round}"),
                });
                let request = client.post(&url).header("x-api-key", &key).json(&body);
                let request = request.header("idempotency-key", format!("{n}-{round}"));
                match request.send().await {
                    Ok(answer) if answer.status().as_u16() == 201 => {
                        let account: serde_json::Value = answer.json().await.unwrap();
                        accepted.push(account["cvu"].as_str().unwrap().to_owned());
                        opened.fetch_add(1, Ordering::Relaxed);
                    }
                    // Not ready any more, or gone.
                    Ok(answer) => {
                        assert_eq!(answer.status().as_u16(), 503);
                        break;
                    }
                    Err(_) => break,
                }
            }
            accepted
        }
    };
    let clients: Vec<_> = (0..6).map(|n| actix_web::rt::spawn(open(n))).collect();
    let enough = async {
        while opened.load(Ordering::Relaxed) < 12 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), enough)
        .await
        .unwrap();
    service.stop().await.unwrap();
    let mut accepted = Vec::new();
    for client in clients {
        accepted.extend(client.await.unwrap());
    }
    assert!(accepted.len() > 5, "{accepted:?}");
    let service = start(&dir);
    for cvu in accepted {
        let cvu = caudal_ledger::cvu::Cvu::parse(&cvu).unwrap();
        assert!(service.engine.operators().locate(cvu).await.is_ok());
    }
    let report = caudal_actors::verify::engine(&service.engine)
        .await
        .unwrap();
    assert_eq!(report.count, 0, "{:?}", report.differences);
    service.stop().await.unwrap();
}
