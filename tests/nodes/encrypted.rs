//! Nodes that know each other by certificates: what they forward to each other, whom they refuse, and how they report
//! files that they cannot use.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix_web::App;
use caudal::http::tls::Tls;
use caudal::http::wire::{Bounds, ConnectionLimits, Listening, listen};
use rcgen::{ExtendedKeyUsagePurpose, date_time_ymd};
use reqwest::{Certificate, Identity, StatusCode};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::account;
use super::cluster::{Cluster, SECRET};
use crate::batch::item;
use crate::support::authority::{self, Authority, files, write};
use crate::support::client::fresh;
use crate::support::{SOON, wait_until};

/// Asks a listener of nodes as a client that trusts an authority and shows a certificate or none.
async fn asks(
    address: &str,
    knows: &Authority,
    shows: Option<&authority::Certificate>,
) -> reqwest::Result<StatusCode> {
    let known = Certificate::from_pem(knows.pem.as_bytes()).unwrap();
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(SOON)
        .tls_certs_only([known]);
    let client = match shows {
        Some(own) => {
            let both = format!("{}{}", own.key, own.pem);
            client.identity(Identity::from_pem(both.as_bytes()).unwrap())
        }
        None => client,
    };
    let client = client.build().unwrap();
    let call = client.get(format!("https://{address}/livez"));
    let answer = call.header("x-caudal-node", SECRET).send().await?;
    Ok(answer.status())
}

#[actix_web::test]
async fn nodes_pass_on_what_is_encrypted_and_refuse_whoever_shows_no_certificate_of_theirs() {
    let ours = Authority::new();
    let Some(mut nodes) = Cluster::encrypted(2, &ours).await else {
        return;
    };
    let owner = nodes.owner().await;
    let client = nodes.client(1 - owner);
    let cvu = client.cvu().await;
    let mut stream = client.get("/v1/events/stream").raw().send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    client.voucher(&cvu, "IN", "12.50", "one").await.is(201);
    let mut heard = String::new();
    let listen = async {
        while !heard.contains("12.50") {
            let piece = stream.chunk().await.unwrap().unwrap();
            heard += &String::from_utf8_lossy(&piece);
        }
    };
    tokio::time::timeout(SOON, listen).await.unwrap();
    // More than one TLS record, and more than is read as a whole.
    let items = |n: usize| item(&cvu, "IN", "1.00", &format!("many-{n}"));
    let items: Vec<_> = (0..300).map(items).collect();
    let body = json!({"mode": "independent", "items": items});
    let call = client.post("/v1/comprobantes/batch", &body);
    call.key("many").await.is(200);
    assert_eq!(nodes.client(owner).available(&cvu).await, "312.50");
    let path = format!("/v1/accounts/{cvu}/movements");
    let list = async |n: usize| {
        let call = nodes.client(n).get(&path).header("accept", "text/csv");
        call.await.is(200).text
    };
    let (here, there) = (list(owner).await, list(1 - owner).await);
    assert!(here.len() > 32 * 1024 && here == there, "{here}\n{there}");
    // A client that is not a node.
    let address = nodes.address(owner).await;
    let plain = format!("http://{address}/livez");
    let stranger = reqwest::Client::builder().no_proxy().timeout(SOON);
    let said = stranger.build().unwrap().get(plain).send().await;
    let said = said.map_err(|why| assert!(!why.is_timeout(), "{why}"));
    assert!(said.is_err(), "{said:?}");
    let theirs = Authority::new();
    assert!(asks(&address, &ours, None).await.is_err());
    assert!(asks(&address, &ours, Some(&theirs.signs())).await.is_err());
    assert!(asks(&address, &theirs, Some(&ours.signs())).await.is_err());
    // A certificate alone is not enough: the secret is still needed.
    let known = asks(&address, &ours, Some(&ours.signs())).await.unwrap();
    assert_eq!(known, 404);
    nodes.stop().await;
}

#[actix_web::test]
async fn certificates_are_replaced_while_nodes_run_and_nothing_is_lost_on_the_way() {
    let (old, new) = (Authority::new(), Authority::new());
    let Some(mut nodes) = Cluster::encrypted(2, &old).await else {
        return;
    };
    let owner = nodes.owner().await;
    let other = 1 - owner;
    let cvu = account(&nodes.client(other)).await;
    let later = |authority: &Authority, year: i32| {
        authority.signs_with("127.0.0.1", |it| it.not_after = date_time_ymd(year, 1, 1))
    };
    let ends = |year: i32| date_time_ymd(year, 1, 1).unix_timestamp().to_string();
    let until = "caudal_cell_certificate_until_seconds";
    // A certificate of an authority that the owner does not trust yet.
    write(
        &nodes.certificates(other),
        &later(&new, 2101),
        &[&old, &new],
    );
    nodes
        .measures(other, until, |found| found == ends(2101))
        .await;
    let again = "caudal_cell_passed_again_total";
    let before: u64 = nodes.measured(other, again).await.parse().unwrap();
    let client = nodes.client(other);
    let id = format!("waits-{}", fresh());
    let sent = client.voucher(&cvu, "IN", "1.00", &id).key(&id);
    let waits = tokio::spawn(sent.answer());
    let tried = |found: &str| found.parse::<u64>().unwrap() > before;
    nodes.measures(other, again, tried).await;
    assert!(!waits.is_finished());
    let ready = async |is: u16| {
        wait_until("what the other node says of itself", SOON, async || {
            let (status, body) = nodes.admin(other, "GET", "/readyz", None).await;
            (status == is).then_some(body)
        })
        .await
    };
    let why = ready(503).await;
    let why = why["message"].as_str().unwrap().to_owned();
    assert!(why.contains("refuses this one: compare"), "{why}");
    let address = nodes.address(owner).await;
    write(&nodes.certificates(owner), &later(&new, 2103), &[&new]);
    nodes
        .measures(owner, until, |found| found == ends(2103))
        .await;
    let answer = tokio::time::timeout(SOON, waits).await.unwrap().unwrap();
    assert_eq!(answer.unwrap().status, 201);
    assert_eq!(nodes.client(owner).available(&cvu).await, "1.00");
    assert_eq!(ready(200).await["part"], "follower");
    assert!(asks(&address, &new, Some(&old.signs())).await.is_err());
    assert_eq!(asks(&address, &new, Some(&new.signs())).await.unwrap(), 404);
    nodes.stop().await;
}

#[test]
fn new_files_are_taken_when_two_looks_find_them_and_wrong_ones_are_told_until_they_are_mended() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new();
    let ends =
        |year: i32| ours.signs_with("127.0.0.1", |it| it.not_after = date_time_ymd(year, 1, 1));
    write(dir.path(), &ends(2101), &[&ours]);
    let tls = Tls::read(files(dir.path()), "127.0.0.1").unwrap();
    let look = || tls.look().map(|found| found.is_some());
    let before = tls.until();
    assert_eq!(look(), Ok(false));
    // The key of another certificate.
    let wrong = authority::Certificate {
        key: ours.signs().key,
        ..ends(2102)
    };
    write(dir.path(), &wrong, &[&ours]);
    assert_eq!(look(), Ok(false));
    // Examined again each time, since the fault may pass: a certificate may just not be valid yet.
    for _ in 0..2 {
        let why = look().unwrap_err();
        assert!(why.contains("not that of the certificate"), "{why}");
        assert_eq!(tls.until(), before);
    }
    write(dir.path(), &ends(2103), &[&ours]);
    assert_eq!(look(), Ok(false));
    tls.put(tls.look().unwrap().unwrap());
    let until = tls.until().unwrap().to_string();
    assert!(until.starts_with("2103-01-01T"), "{until}");
    assert_eq!(look(), Ok(false));
}

#[actix_web::test]
async fn whoever_says_nothing_in_a_handshake_makes_room() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new();
    write(dir.path(), &ours.signs(), &[&ours]);
    let tls = Tls::read(files(dir.path()), "127.0.0.1").unwrap();
    let limits = ConnectionLimits {
        connections: 1,
        ..ConnectionLimits::default()
    };
    // Longer than the test waits.
    let long = SOON * 10;
    let how = Listening {
        workers: 1,
        bounds: Arc::new(Bounds::new(limits, Arc::default(), Arc::default())),
        head: long,
        answer: long,
        grace: Duration::ZERO,
        tls: Some(Arc::new(tls)),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = listen(App::new, listener, &how).unwrap();
    let handle = server.handle();
    let served = actix_web::rt::spawn(server);
    let mut first = TcpStream::connect(address).await.unwrap();
    let second = TcpStream::connect(address).await.unwrap();
    let ends = tokio::time::timeout(SOON, first.read(&mut [0])).await;
    assert!(matches!(ends.unwrap(), Ok(0) | Err(_)));
    drop(second);
    handle.stop(false).await;
    served.await.unwrap().unwrap();
}

#[test]
fn files_that_cannot_be_used_are_refused_in_clear_words() {
    let dir = TempDir::new().unwrap();
    let (ours, theirs) = (Authority::new(), Authority::new());
    let host = "one.internal";
    let read = |dir: &Path| Tls::read(files(dir), host).err();
    let right = ours.signs_with(host, |_| {});
    write(dir.path(), &right, &[&theirs, &ours]);
    assert_eq!(read(dir.path()), None);
    let only = |purpose: ExtendedKeyUsagePurpose| {
        ours.signs_with(host, |it| it.extended_key_usages = vec![purpose])
    };
    let made = [
        (
            theirs.signs_with(host, |_| {}),
            "of no authority in cell.tls.authority_file",
        ),
        (
            ours.signs_with("two.internal", |_| {}),
            "it is not for one.internal",
        ),
        (
            ours.signs_with(host, |it| it.not_after = date_time_ymd(2001, 2, 3)),
            "has expired at 2001-02-03T",
        ),
        (
            ours.signs_with(host, |it| it.not_before = date_time_ymd(2500, 2, 3)),
            "is not valid before 2500-02-03T",
        ),
        (only(ExtendedKeyUsagePurpose::ServerAuth), "for both ends"),
        (only(ExtendedKeyUsagePurpose::ClientAuth), "for both ends"),
        (
            authority::Certificate {
                pem: right.pem.clone(),
                key: theirs.signs().key,
            },
            "the key is not that of the certificate",
        ),
        (
            authority::Certificate {
                pem: right.pem.clone(),
                key: right.pem.clone(),
            },
            "cell.tls.key_file",
        ),
        (
            authority::Certificate {
                pem: String::new(),
                key: right.key.clone(),
            },
            "no certificate was found in it",
        ),
    ];
    for (own, expected) in made {
        write(dir.path(), &own, &[&ours]);
        let why = read(dir.path()).expect(expected);
        assert!(why.contains(expected), "{expected}: {why}");
        assert!(!why.contains("PRIVATE"), "{why}");
    }
}

#[test]
fn files_that_are_missing_empty_or_too_large_are_named_by_their_setting() {
    let dir = TempDir::new().unwrap();
    let ours = Authority::new();
    let right = ours.signs();
    let read = || Tls::read(files(dir.path()), "127.0.0.1").err();
    write(dir.path(), &right, &[&ours]);
    assert_eq!(read(), None);
    let all = files(dir.path());
    for (file, setting) in [
        (all.certificate, "certificate_file"),
        (all.key, "key_file"),
        (all.authority, "authority_file"),
    ] {
        let text = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let named = format!("cell.tls.{setting}: {}: ", file.display());
        assert_eq!(read(), Some(format!("{named}the file is missing")));
        for (bytes, why) in [
            (0, "found in it"),
            ((1 << 20) + 1, "larger than 1048576 bytes"),
        ] {
            fs::write(&file, vec![b'-'; bytes]).unwrap();
            let said = read().unwrap();
            assert!(
                said.starts_with(&named) && said.contains(why),
                "{why}: {said}"
            );
        }
        fs::write(&file, text).unwrap();
    }
    assert_eq!(read(), None);
}
