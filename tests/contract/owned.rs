//! Fields that only the service sets, in every body: each field of every answer that is no field of the request is
//! refused by name, or ignored where a family ignores unknown fields; none of it is kept.

use std::collections::BTreeMap;

use serde_json::Map;

use super::checks::everything;
use super::schema::Document;
use super::{Ids, operations};
use crate::support::client::fresh;
use crate::support::{TestService, Value, json, named};

/// How many fields are sent at a time: some bodies name no more errors than this.
const AT_ONCE: usize = 8;
/// The planted value, as a number or within a text: the service would never show it by itself.
const SAYS: &str = "8172635409";

/// The planted value for a field of this type.
fn planted(kind: &Value) -> Value {
    let is = |name: &str| {
        *kind == name
            || kind
                .as_array()
                .is_some_and(|all| all.contains(&json!(name)))
    };
    match kind {
        _ if is("integer") || is("number") => json!(SAYS.parse::<u64>().unwrap()),
        _ if is("boolean") => json!(true),
        _ => json!(format!("{SAYS}-planted")),
    }
}

/// The names of all fields below a schema, each with its planted value.
fn fields(document: &Document, schema: &Value, found: &mut BTreeMap<String, Value>, depth: usize) {
    let schema = document.resolved(schema);
    let mut properties = Map::new();
    document.gather(&schema, &mut properties, &mut Vec::new());
    let choices = ["oneOf", "anyOf", "allOf"].map(|name| schema[name].as_array());
    let inner = choices
        .into_iter()
        .flatten()
        .flatten()
        .chain(schema.get("items"));
    let inner: Vec<_> = inner.chain(properties.values()).cloned().collect();
    for (name, schema) in properties {
        let kind = &document.resolved(&schema)["type"];
        found.entry(name).or_insert_with(|| planted(kind));
    }
    // No field of an answer is nested more deeply.
    if depth > 0 {
        for schema in &inner {
            fields(document, schema, found, depth - 1);
        }
    }
}

/// Every field that the service shows anywhere, and fields that it keeps without showing them.
fn shown(document: &Document) -> BTreeMap<String, Value> {
    let hidden = [
        "tenantId",
        "realm",
        "hash",
        "profileSeq",
        "system",
        "role",
        "isAdmin",
        "scopes",
        "__proto__",
    ];
    let hidden = hidden.map(|name| (name.to_owned(), planted(&Value::Null)));
    let mut found: BTreeMap<_, _> = hidden.into();
    for (_, _, operation) in document.operations() {
        for answer in operation["responses"].as_object().into_iter().flatten() {
            let schema = &answer.1["content"]["application/json"]["schema"];
            fields(document, schema, &mut found, 5);
        }
    }
    found
}

#[actix_web::test]
async fn service_headers_of_clients_are_ignored() {
    let service = TestService::start().await;
    let document = Document::of_the_service();
    let shown = shown(&document);
    assert!(shown.len() > 150, "{}", shown.len());
    let (mut refused, mut passed) = (0, 0);
    for operation in operations().iter().filter(|it| it.row.body.is_some()) {
        let name = operation.row.operation;
        let ids = Ids::for_row(&service.a, &operation.row).await;
        let path = operation.path(&(operation.row.path)(&ids));
        let good = (operation.row.body.unwrap())(&ids);
        let mut taken = BTreeMap::new();
        let schema =
            &document.operation(name)["requestBody"]["content"]["application/json"]["schema"];
        fields(&document, schema, &mut taken, 0);
        let owned: Vec<_> = shown
            .iter()
            .filter(|(it, _)| !taken.contains_key(*it) && good[it.as_str()].is_null())
            .collect();
        for part in owned.chunks(AT_ONCE) {
            let mut body = good.clone();
            for (field, says) in part {
                body[field.as_str()] = (*says).clone();
            }
            let call = service.a.call(&operation.method, &path).json(&body);
            let call = if operation.row.keyed {
                call.key(&format!("owned-{}", fresh()))
            } else {
                call
            };
            let answer = call.await;
            if operation.row.lenient {
                assert!(!answer.text.contains(SAYS), "{name}: {}", answer.text);
                // The first order succeeds; later ones may find it done already, or no money left. No field may be
                // called wrong.
                let fine = answer.status < 500 && answer["code"] != "invalid_request";
                assert!(fine, "{name} reads some of {part:?}: {}", answer.text);
                passed += 1;
                continue;
            }
            let answer = answer.refused(400, "invalid_request");
            let named = named(&answer.json);
            let kept: Vec<_> = part
                .iter()
                .filter(|(it, _)| !named.contains(&it.as_str()))
                .collect();
            assert!(kept.is_empty(), "{name} takes {kept:?}: {}", answer.text);
            refused += part.len();
        }
        let seen = everything(&service.a, &ids).await;
        assert!(
            !seen.contains(SAYS),
            "{name} kept what only the service sets: {seen}"
        );
    }
    assert!(refused > 2_000 && passed > 10, "{refused}, {passed}");
    let accounts = service
        .a
        .get("/wallet/v1/Cuentas?pageSize=200")
        .await
        .is(200);
    assert!(!accounts.text.contains(SAYS), "{}", accounts.text);
    service.verified().await;
}
