//! The file: the state that a restart keeps, and damage that it refuses.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use super::super::log::Line;
use super::*;

#[actix_web::test]
async fn a_restart_keeps_what_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(kept_in(folder.path())).await;
    rig.create(1, CUIT).await;
    rig.create(2, OTHER).await;
    rig.alias(1, CUIT, json!("primero")).await;
    rig.alias(1, CUIT, json!("segundo")).await;
    rig.wallet(
        Method::DELETE,
        &format!("cvu/{}/{OTHER}", cvu(2)),
        Value::Null,
    )
    .await;
    let (_, before) = rig.ask(Method::GET, "/sandbox/state", Value::Null).await;
    let busy = Sandbox::start(kept_in(folder.path())).unwrap_err();
    assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
    rig.bank.stop().await.unwrap();

    // As a crash in the middle of a line leaves it.
    let file = folder.path().join(log::FILE);
    let whole = fs::read(&file).unwrap();
    fs::write(
        &file,
        [&whole[..], b"{\"format\":1,\"clientId\":7"].concat(),
    )
    .unwrap();
    let rig = Rig::start(kept_in(folder.path())).await;
    let (_, after) = rig.ask(Method::GET, "/sandbox/state", Value::Null).await;
    assert_eq!(before["accounts"], after["accounts"]);
    assert_eq!(fs::read(&file).unwrap(), whole);
    let answer = rig.alias(1, CUIT, json!("SEGUNDO")).await;
    assert_eq!(rig.code(answer).await, "VW010");
    rig.create(2, OTHER).await;
    let answer = rig.alias(2, OTHER, json!("primero")).await;
    assert_eq!(rig.code(answer).await, "VW007");
    rig.bank.stop().await.unwrap();

    for damage in ["x\n", "{\"format\":9}\n"] {
        fs::write(&file, [damage.as_bytes(), &whole[..]].concat()).unwrap();
        let why = Sandbox::start(kept_in(folder.path())).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::InvalidData);
        assert!(why.to_string().contains("line 1"), "{why}");
    }
}

#[actix_web::test]
async fn a_restart_keeps_enrolments_and_what_the_bank_was_told_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(kept_in(folder.path())).await;
    rig.create(1, CUIT).await;
    let order = json!({"reference": "1-2", "cvu": cvu(1), "cuit": CUIT, "brokerage_account": "72"});
    let (status, made) = rig.wallet(Method::POST, "remuneration", order).await;
    assert_eq!((status, &made["status"]), (200, &json!("PENDING")));
    let sent = json!({"status": "SUSPENDED", "units": "7.5", "day": "2026-03-08"});
    let path = format!("/sandbox/remuneration/{}", cvu(1));
    assert_eq!(rig.ask(Method::POST, &path, sent).await.0, 200);
    let read = async |rig: &Rig| {
        rig.wallet(Method::GET, "remuneration/1-2", Value::Null)
            .await
    };
    let before = read(&rig).await;
    assert_eq!(before.1["price"]["date"], "2026-03-06");
    rig.bank.stop().await.unwrap();
    let rig = Rig::start(kept_in(folder.path())).await;
    assert_eq!(read(&rig).await, before);
    rig.bank.stop().await.unwrap();
}

#[actix_web::test]
async fn a_long_file_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(kept_in(folder.path())).await;
    rig.create(1, CUIT).await;
    rig.bank.stop().await.unwrap();
    let file = folder.path().join(log::FILE);
    let line = fs::read_to_string(&file).unwrap();
    fs::write(&file, line.repeat(1_001)).unwrap();
    for _ in 0..2 {
        let rig = Rig::start(kept_in(folder.path())).await;
        assert_eq!(fs::read_to_string(&file).unwrap(), line);
        rig.create(1, CUIT).await;
        rig.bank.stop().await.unwrap();
    }
}

#[actix_web::test]
async fn a_restart_keeps_transfers_and_what_was_to_happen() {
    let folder = tempfile::tempdir().unwrap();
    let rig = Rig::start(kept_in(folder.path())).await;
    rig.create(1, CUIT).await;
    rig.create(2, OTHER).await;
    rig.send("K5", &cvu(2)).await;
    rig.cash_in(&cvu(1), "7").await;
    let mut sent = Vec::new();
    // The last two are decided 2 s later, by the next bank.
    for digit in 0..5 {
        sent.push(rig.send(&format!("K{digit}"), &destination(digit)).await);
    }
    let first = &sent[0];
    rig.bank.stop().await.unwrap();
    let file = folder.path().join(log::FILE);
    let lines = fs::read_to_string(&file).unwrap();
    // An account in the format from before transfers were kept, and an unknown format.
    assert!(lines.starts_with("{\"format\":1,\"clientId\":1,"));
    let strange = "{\"kind\":\"transfers\",\"format\":9,\"transfers\":[]}\n";
    fs::write(&file, [lines.as_str(), strange].concat()).unwrap();
    let why = Sandbox::start(kept_in(folder.path())).unwrap_err();
    assert_eq!(why.kind(), io::ErrorKind::InvalidData);
    // Half a line, as a crash leaves it.
    fs::write(&file, [lines.as_str(), "{\"kind\":\"transfers\","].concat()).unwrap();

    let receiver = receiver::Receiver::start(&[]);
    let rig = Rig::start(SandboxOptions {
        notice_url: Some(receiver.url()),
        ..kept_in(folder.path())
    })
    .await;
    assert_eq!(rig.one("K0").await, *first);
    let again = rig.send("K0", &destination(1)).await;
    assert_eq!(again["warning"], "TRANSACTION_ALREADY_CREATED");
    assert_eq!(again["coelsa_id"], first["coelsa_id"]);
    let got = receiver.wait(2).await;
    let kinds: Vec<_> = got.iter().map(|it| it.body["type"].clone()).collect();
    assert_eq!(kinds, ["transfer.cvu.reversed", "transfer.cvu.completed"]);
    assert_eq!(rig.one("K4").await["status"], "COMPLETED");
    assert_eq!(rig.one("K3").await["reversed"], true);
    let after = rig.state().await;
    assert_eq!(after["transfersTotal"], 9);
    // 7 came in; of 100.50 each, two completed at once, one late, and one came back.
    let balance = "-194.00";
    assert_eq!(rig.balance().await, balance);
    rig.bank.stop().await.unwrap();

    // A long file is rewritten with all of its records.
    let lines = fs::read_to_string(&file).unwrap();
    let many = lines.repeat(100);
    fs::write(&file, &many).unwrap();
    let rig = Rig::start(kept_in(folder.path())).await;
    assert!(fs::read_to_string(&file).unwrap().len() <= lines.len());
    assert_eq!(rig.state().await["transfers"], after["transfers"]);
    assert_eq!(rig.balance().await, balance);
    rig.bank.stop().await.unwrap();
}

#[test]
fn lines_have_the_bytes_that_they_always_had() {
    for text in [
        r#"{"kind":"transfers","format":1,"transfers":[]}"#,
        r#"{"kind":"clock","format":1,"collector":"3220001805007351350083","days":3}"#,
    ] {
        let line: Line<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&line).unwrap(), text);
    }
}
