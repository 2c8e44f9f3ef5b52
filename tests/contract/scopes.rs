//! Scopes of keys over the whole table: a key with the scope that an operation needs may call it, and a key with
//! all other scopes may not.

use std::collections::BTreeMap;

use caudal_http::scopes::of_event;
use caudal_ledger::events::EventKind;
use caudal_ledger::tenants::scopes::{SCOPES, Scope};

use super::schema::Document;
use super::{Ids, operations};
use crate::support::{Answer, Client, TestService, json};

/// The scope that an operation needs, as the document says.
fn scope_of(document: &Document, id: &str) -> &'static str {
    let operation = document.operation(id);
    let word = operation["x-scope"].as_str();
    let known = SCOPES.iter().find(|(known, _)| Some(*known) == word);
    let (known, _) = known.unwrap_or_else(|| {
        panic!("{id} belongs to no group of operations: add it to GROUPS in src/http/scopes.rs")
    });
    known
}

/// Two keys for each scope: one with it alone, and one with every scope that does not cover it.
async fn keys(service: &TestService) -> BTreeMap<&'static str, (Client, Client)> {
    let mut keys = BTreeMap::new();
    for (word, scope) in SCOPES {
        let others = SCOPES.iter().filter(|(_, other)| !other.covers(scope));
        let others: Vec<_> = others.map(|(word, _)| *word).collect();
        let with = async |scopes| {
            let wanted = json!({"mode": "test", "scopes": scopes});
            service.keyed(&wanted).await
        };
        // A webhook needs the scope to read what it receives, too.
        let own = match word {
            "webhooks:write" => vec![word, "events:read"],
            word => vec![word],
        };
        keys.insert(word, (with(own).await, with(others).await));
    }
    keys
}

#[actix_web::test]
async fn every_operation_needs_the_scope_that_the_document_names() {
    let service = TestService::start().await;
    let keys = keys(&service).await;
    let reader = &keys["read"].0;
    let document = Document::of_the_service();
    let mut refused = 0;
    for operation in operations() {
        let id = operation.row.operation;
        let scope = scope_of(&document, id);
        let (with, without) = &keys[scope];
        let ids = Ids::for_row(&service.a, &operation.row).await;
        let path = (operation.row.path)(&ids);
        let before = service.a.get("/v1/events?limit=1").await.is(200).text;
        let responses = &document.operation(id)["responses"];
        assert!(responses["403"].is_object(), "{id} does not promise 403");
        let reads = operation.method.eq_ignore_ascii_case("get");
        assert_eq!(scope.ends_with(":read"), reads, "{id} {scope}");
        let inside = Scope::Read.covers(Scope::parse(scope).unwrap());
        for key in [without].into_iter().chain((!inside).then_some(reader)) {
            let answer = operation.call(key, &path, &ids).await;
            let answer = answer.refused(403, "scope_missing");
            assert!(answer.text.contains(scope), "{id}: {}", answer.text);
            refused += 1;
        }
        let after = service.a.get("/v1/events?limit=1").await.is(200).text;
        assert_eq!(before, after, "{id} did something");
        if operation.row.endless {
            for key in [with].into_iter().chain(inside.then_some(reader)) {
                let answer = key.get(&operation.path(&path)).raw().send().await.unwrap();
                assert_eq!(answer.status().as_u16(), operation.row.status, "{id}");
            }
            continue;
        }
        for key in [with].into_iter().chain(inside.then_some(reader)) {
            let answer = operation.call(key, &path, &ids).await;
            answer.is(operation.row.status);
        }
    }
    assert!(refused > 90, "{refused}");
}

/// `read` covers every read but those that ask the bank.
#[test]
fn questions_to_the_bank_need_a_scope_of_their_own() {
    let document = Document::of_the_service();
    for (id, scope) in [
        ("lookupCbu", "lookups:read"),
        ("lookupAlias", "lookups:read"),
        ("walletCuentaByCbuCvuOrAlias", "lookups:read"),
        ("reconcile", "reconciliation:read"),
    ] {
        assert_eq!(scope_of(&document, id), scope);
        assert!(!Scope::Read.covers(Scope::parse(scope).unwrap()), "{id}");
    }
    // The bank's own operation takes no key.
    assert!(document.operation("takeBankNotice")["x-scope"].is_null());
}

/// The page of scopes has each scope with its operations, as the document has them.
#[test]
fn the_page_of_scopes_lists_every_operation() {
    let document = Document::of_the_service();
    let page = std::fs::read_to_string("docs/scopes.md").unwrap();
    for (word, _) in SCOPES.iter().filter(|(word, _)| *word != "read") {
        let of_scope = document.operations().into_iter();
        let of_scope = of_scope.filter(|(_, _, it)| it["x-scope"] == *word);
        let ids: Vec<_> = of_scope
            .map(|(_, _, it)| format!("`{}`", it["operationId"].as_str().unwrap()))
            .collect();
        let row = format!("| `{word}` | {} |", ids.join(", "));
        assert!(
            page.lines().any(|line| line == row),
            "docs/scopes.md lacks\n{row}"
        );
    }
    for kind in EventKind::ALL {
        let scope = of_event(*kind).word().unwrap();
        let row = format!("| `{}` | `{scope}` |", kind.as_str());
        assert!(
            page.lines().any(|line| line == row),
            "docs/scopes.md lacks\n{row}"
        );
    }
}

/// A webhook needs a key that may read what it receives: when it is made, when its address or types change, and when a
/// delivery is sent again.
#[actix_web::test]
async fn a_webhook_needs_the_scopes_to_read_what_it_receives() {
    let service = TestService::start().await;
    let with = async |more: &[&str]| {
        let scopes: Vec<_> = ["webhooks:write"].iter().chain(more).collect();
        service
            .keyed(&json!({"mode": "test", "scopes": scopes}))
            .await
    };
    let refused = |answer: Answer, scope: &str| {
        let refused = answer.refused(403, "scope_missing");
        assert!(refused.text.contains(scope), "{}", refused.text);
    };
    let body =
        |types: Option<&[&str]>| json!({"url": "https://psp.example/caudal", "types": types});
    let (alone, vouchers) = (with(&[]).await, with(&["vouchers:read"]).await);
    let (events, reader) = (with(&["events:read"]).await, with(&["read"]).await);
    for kind in EventKind::ALL {
        let scope = of_event(*kind).word().unwrap();
        let wanted = body(Some(&[kind.as_str()]));
        refused(alone.post("/v1/webhooks", &wanted).await, scope);
        let own = with(&[scope]).await;
        let made = own.post("/v1/webhooks", &wanted).await.is(201);
        own.delete(&format!("/v1/webhooks/{}", made["id"].as_str().unwrap()))
            .await
            .is(204);
    }
    for (types, scope) in [
        (None, "events:read"),
        (Some(&["account.*"][..]), "accounts:read"),
        (Some(&["voucher.created", "hold.*"]), "holds:read"),
    ] {
        refused(vouchers.post("/v1/webhooks", &body(types)).await, scope);
        for key in [&events, &reader, &service.a] {
            key.post("/v1/webhooks", &body(types)).await.is(201);
        }
    }
    // What the webhook receives before and after a change counts.
    let own = vouchers
        .post("/v1/webhooks", &body(Some(&["voucher.*"])))
        .await
        .is(201);
    let other = service
        .a
        .post("/v1/webhooks", &body(Some(&["account.*"])))
        .await
        .is(201);
    let path = |made: &Answer| format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    let moved = json!({"url": "https://elsewhere.example/caudal"});
    vouchers.patch(&path(&own), &moved).await.is(200);
    refused(
        vouchers.patch(&path(&own), &json!({"types": null})).await,
        "events:read",
    );
    refused(
        vouchers
            .patch(&path(&own), &json!({"types": ["hold.*"]}))
            .await,
        "holds:read",
    );
    refused(vouchers.patch(&path(&other), &moved).await, "accounts:read");
    let narrowed = json!({"types": ["voucher.*"]});
    refused(
        vouchers.patch(&path(&other), &narrowed).await,
        "accounts:read",
    );
    vouchers
        .patch(&path(&other), &json!({"active": false}))
        .await
        .is(200);
}
