//! A caller with nothing but the token that the nodes show each other can only carry out what an authorised person
//! has begun.

use caudal_ledger::people::Role;
use caudal_ledger::people::audit::{AuditEntry, Outcome};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::super::cluster::shown;
use super::{Parted, ROOT};
use crate::support::Client;

impl Parted {
    /// Calls the listener that a node has for the others.
    async fn forged(
        &self,
        node: usize,
        (to, path): (&str, &str),
        acting: Option<&Value>,
        body: &Value,
    ) -> (u16, Value) {
        let url = format!("http://{}", self.nodes.address(node).await);
        let call = Client::new(&url, None).call("POST", path).json(body);
        let mut call = call
            .header("x-caudal-node", &shown())
            .header("x-caudal-for", to);
        if let Some(acting) = acting {
            call = call.header("x-caudal-acting", &acting.to_string());
        }
        let answer = call.await;
        (answer.status, answer.json)
    }

    /// Sends a path to a node's listener for clients exactly as it is written, without a key. Returns the head of the answer.
    async fn sent_raw(&self, node: usize, path: &str, body: &Value) -> String {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: caudal\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let url = self.nodes.client(node).url;
        let address = url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }

    /// The sequence of the newest entry of an action with this outcome.
    async fn entry(&self, action: &str, outcome: &str) -> u64 {
        let all = self.written(action).await;
        let mut found = all.iter().filter(|it| it["outcome"] == outcome);
        found.next().unwrap()["sequence"].as_u64().unwrap()
    }
}

fn acting(subject: &str, entry: u64, approved: bool) -> Value {
    json!({"name": "root", "role": "Root", "credential": null, "reason": "none",
        "subject": subject, "entry": entry, "approved": approved})
}

#[actix_web::test]
async fn a_node_carries_out_for_another_one_only_what_was_begun() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let cvu = parted.tenants[1].cvu.clone();
    let body = json!({"reason": "a test", "code": "fraud"});
    let path = |what: &str| format!("/admin/accounts/{cvu}/{what}");
    for what in ["suspend", "reactivate", "suspend"] {
        parted.does(0, ("POST", &path(what)), &body).await;
    }
    let looked = format!("/admin/actors/{cvu}");
    parted.does(0, ("GET", &looked), &Value::Null).await;
    let (suspended, reactivated) = ("suspendAccountByOperator", "reactivateAccountByOperator");
    let entries = [
        ("none", 0),
        ("one that is not there", 1_000_000),
        ("of another action", parted.entry(suspended, "begun").await),
        ("one that ended", parted.entry(reactivated, "begun").await),
        ("an end", parted.entry(reactivated, "done").await),
        ("a look", parted.entry("readActor", "looked").await),
    ];
    for (which, entry) in entries {
        for (subject, approved) in [(cvu.as_str(), false), (&cvu, true), ("tnt_first", false)] {
            let acting = acting(subject, entry, approved);
            let about = ("cell 1", path("reactivate"));
            let (status, why) = parted
                .forged(1, (about.0, &about.1), Some(&acting), &body)
                .await;
            assert_eq!(status, 401, "{which} {subject} {approved}: {why}");
        }
    }
    // The owner of the first cell never accepts from another node what it does itself.
    let person = json!({"name": "mallory", "role": "operator"});
    let begun = parted.entry(suspended, "begun").await;
    let written = acting("people", begun, true);
    let people = ("cell 0", "/admin/people");
    let (status, why) = parted.forged(0, people, Some(&written), &person).await;
    assert_eq!(status, 401, "{why}");
    // Nor does it record for another node that an operation begins, or how somebody else's ended.
    for (operator, outcome) in [
        ("root", json!("Begun")),
        ("nobody", json!("Begun")),
        ("root", json!({"Done": {"of": 1_000_000, "status": 200}})),
        ("mallory", json!({"Done": {"of": begun, "status": 200}})),
        ("root", json!({"Asked": {"approval": 1}})),
    ] {
        let entry = json!({"operator": operator, "role": "Root", "action": suspended,
            "subject": cvu, "reason": "", "request_id": "forged", "outcome": outcome});
        let (status, why) = parted
            .forged(0, ("cell 0", "/node/audit"), None, &entry)
            .await;
        assert_eq!(status, 401, "{entry}: {why}");
    }
    let page = "/admin/audit?limit=200";
    let (_, all) = parted.asks((0, ROOT), ("GET", page), &Value::Null).await;
    assert!(!all.to_string().contains("forged") && !all.to_string().contains("mallory"));
    let shown = parted
        .client(0, 1)
        .get(&format!("/v1/accounts/{cvu}"))
        .await;
    assert_eq!(shown.is(200)["status"], "suspended");
    // With an entry of its beginning, and only until it has ended, the order is one that the owner of a realm's cell
    // carries out for another node.
    let note = async |outcome| {
        let entry = AuditEntry {
            operator: "root".to_owned(),
            role: Role::Root,
            action: reactivated.to_owned(),
            subject: cvu.clone(),
            reason: String::new(),
            request_id: "a test".to_owned(),
            outcome,
            omitted: 0,
        };
        let owner = parted.nodes.services().next().unwrap();
        owner.engine.audit(entry).await.unwrap()
    };
    let of = note(Outcome::Begun).await;
    let written = acting(&cvu, of, false);
    let path = path("reactivate");
    for (ended, expected) in [(false, 200), (true, 401)] {
        if ended {
            note(Outcome::Done { of, status: 200 }).await;
        }
        let about = ("cell 1", path.as_str());
        let (status, why) = parted.forged(1, about, Some(&written), &body).await;
        assert_eq!(status, expected, "{why}");
    }
    parted.nodes.stop().await;
}

#[actix_web::test]
async fn no_path_of_a_client_becomes_one_of_the_nodes_own() {
    let Some(mut parted) = Parted::start().await else {
        return;
    };
    let entry = json!({"operator": "root", "role": "Root", "action": "readActor",
        "subject": "forged", "reason": "", "request_id": "forged", "outcome": "Looked"});
    for family in ["/v1", "/wallet/v1", "/bank/v1"] {
        for up in ["/..", "/%2e%2e", "/.%2E", "\\..", "/x/../.."] {
            let to_the_top = up.repeat(family.matches('/').count());
            for node in 0..3 {
                let path = format!("{family}{to_the_top}/node/audit");
                let answer = parted.sent_raw(node, &path, &entry).await;
                assert!(answer.contains(" 404 "), "{path} at {node}: {answer}");
            }
        }
    }
    // Nor does the nodes' listener take an errand that does not say whose it is, as no request of a client can.
    let url = format!("http://{}", parted.nodes.address(0).await);
    let call = Client::new(&url, None).call("POST", "/node/audit");
    let answer = call.json(&entry).header("x-caudal-node", &shown()).await;
    assert_eq!(answer.status, 404, "{}", answer.json);
    let page = "/admin/audit?limit=200";
    let (_, all) = parted.asks((0, ROOT), ("GET", page), &Value::Null).await;
    assert!(!all.to_string().contains("forged"), "{all}");
    parted.nodes.stop().await;
}
