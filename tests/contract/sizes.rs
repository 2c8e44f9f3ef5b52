//! Bounds of requests: every number in every query has its bounds, and a value beyond them is refused by name.

use super::schema::Document;
use super::{Ids, events, operations};
use crate::support::{TestService, Value, named};

/// Values that are valid for no number.
const NEVER: &[&str] = &[
    "-1",
    "1e9",
    "0x10",
    "1.5",
    "NaN",
    "18446744073709551616",
    "99999999999999999999999999999999999999",
];
/// The largest page of any list.
const PAGE_MAX: u64 = 1_000;

/// Whether a schema is that of a number, including one that may be left out.
fn is_number(schema: &Value) -> bool {
    let kind = &schema["type"];
    let named = |it: &Value| it == "integer";
    named(kind) || kind.as_array().is_some_and(|all| all.iter().any(named))
}

#[actix_web::test]
async fn every_number_of_a_query_has_its_bounds() {
    let service = TestService::start().await;
    let document = Document::of_the_service();
    let mut ids = Ids::of(&service.a).await;
    (ids.event, ids.delivery) = events::delivery(&service.a, &ids).await;
    let (mut numbers, mut pages) = (0, 0);
    for mut operation in operations() {
        let id = operation.row.operation;
        let parameters = document.operation(id)["parameters"].clone();
        let path = (operation.row.path)(&ids);
        let usual = operation.row.query;
        for parameter in parameters.as_array().into_iter().flatten() {
            let schema = document.resolved(&parameter["schema"]);
            if parameter["in"] != "query" || !is_number(&schema) {
                continue;
            }
            let name = parameter["name"].as_str().unwrap();
            let others = usual.trim_start_matches('?').split('&');
            let others = others.filter(|it| !it.is_empty() && it.split('=').next() != Some(name));
            let others: Vec<_> = others.collect();
            let with = |value: &str| {
                format!(
                    "?{}",
                    [&others[..], &[&format!("{name}={value}")]]
                        .concat()
                        .join("&")
                )
            };
            let largest = schema["maximum"].as_u64();
            let beyond = largest
                .and_then(|it| it.checked_add(1))
                .map(|it| it.to_string());
            for value in NEVER.iter().copied().chain(beyond.as_deref()) {
                let value: String =
                    url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
                operation.row.query = with(&value).leak();
                let answer = operation.call(&service.a, &path, &ids).await;
                let about = format!("{id} {name}={value}: {}", answer.text);
                assert_eq!(
                    (answer.status, named(&answer.json)),
                    (400, vec![name]),
                    "{about}"
                );
            }
            numbers += 1;
            if ["limit", "pageSize"].contains(&name) {
                let largest = largest.unwrap_or_else(|| panic!("{id}: {name} has no maximum"));
                assert!(largest <= PAGE_MAX, "{id}: {name} up to {largest}");
                pages += 1;
            }
        }
    }
    assert!(numbers > 20 && pages >= 15, "{numbers}, {pages}");
}

/// The most distant places that a query can ask for: the answer is empty and immediate, and no error of the service.
#[actix_web::test]
async fn the_end_of_every_list_is_a_place_like_any_other() {
    let service = TestService::start().await;
    let document = Document::of_the_service();
    let ids = Ids::of(&service.a).await;
    let mut asked = 0;
    for mut operation in operations() {
        let id = operation.row.operation;
        let parameters = document.operation(id)["parameters"].clone();
        let names = parameters
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|it| it["name"].as_str());
        let names: Vec<_> = names
            .filter(|it| ["offset", "pageNumber", "page"].contains(it))
            .collect();
        let path = (operation.row.path)(&ids);
        let usual = operation.row.query;
        for name in names {
            for value in [
                "4294967295",
                "9223372036854775807",
                "9223372036854775808",
                "18446744073709551615",
            ] {
                let kept = usual.trim_start_matches('?').split('&');
                let kept: Vec<_> = kept
                    .filter(|it| !it.is_empty() && it.split('=').next() != Some(name))
                    .collect();
                let query = [&kept[..], &[&format!("{name}={value}")]]
                    .concat()
                    .join("&");
                operation.row.query = format!("?{query}").leak();
                let answer = operation.call(&service.a, &path, &ids).await;
                assert!(
                    [200, 400].contains(&answer.status),
                    "{id} {name}={value}: {}",
                    answer.text
                );
                let items = answer.json.as_array().or(answer["items"].as_array());
                assert!(
                    items.is_none_or(Vec::is_empty),
                    "{id} {name}={value}: {}",
                    answer.text
                );
                asked += 1;
            }
        }
        operation.row.query = usual;
    }
    assert!(asked >= 20, "{asked}");
}
