//! Scopes of keys over the whole table: a key with the scope that an operation needs may call it, and a key with
//! all other scopes may not.

use std::collections::BTreeMap;

use caudal::http::scopes::needed;
use caudal_ledger::tenants::scopes::{SCOPES, Scope};

use super::schema::Document;
use super::{Ids, Operation, operations};
use crate::support::{Client, TestService, json};

/// The scope that an operation needs, as a word.
fn scope_of(operation: &Operation) -> &'static str {
    let method = operation.method.to_uppercase().parse().unwrap();
    let scope = needed(&method, &operation.template).and_then(Scope::word);
    scope.unwrap_or_else(|| {
        panic!(
            "{} {} belongs to no group of operations: add it to GROUPS in src/http/scopes.rs",
            operation.method, operation.template
        )
    })
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
        keys.insert(word, (with(vec![word]).await, with(others).await));
    }
    keys
}

#[actix_web::test]
async fn every_operation_needs_one_scope_and_reading_needs_no_more_than_read() {
    let service = TestService::start().await;
    let keys = keys(&service).await;
    let reader = &keys["read"].0;
    let document = Document::of_the_service();
    let mut refused = 0;
    for operation in operations() {
        let (scope, id) = (scope_of(&operation), operation.row.operation);
        let (with, without) = &keys[scope];
        let ids = Ids::for_row(&service.a, &operation.row).await;
        let path = (operation.row.path)(&ids);
        let before = service.a.get("/v1/events?limit=1").await.is(200).text;
        let responses = &document.operation(id)["responses"];
        assert!(responses["403"].is_object(), "{id} does not promise 403");
        let reads = operation.method.eq_ignore_ascii_case("get");
        assert_eq!(scope.ends_with(":read"), reads, "{id} {scope}");
        for key in [without].into_iter().chain((!reads).then_some(reader)) {
            let answer = operation.call(key, &path, &ids).await;
            let answer = answer.refused(403, "scope_missing");
            assert!(answer.text.contains(scope), "{id}: {}", answer.text);
            refused += 1;
        }
        let after = service.a.get("/v1/events?limit=1").await.is(200).text;
        assert_eq!(before, after, "{id} did something");
        if operation.row.endless {
            for key in [with, reader] {
                let answer = key.get(&operation.path(&path)).raw().send().await.unwrap();
                assert_eq!(answer.status().as_u16(), operation.row.status, "{id}");
            }
            continue;
        }
        for key in [with].into_iter().chain(reads.then_some(reader)) {
            let answer = operation.call(key, &path, &ids).await;
            answer.is(operation.row.status);
        }
    }
    assert!(refused > 90, "{refused}");
}
