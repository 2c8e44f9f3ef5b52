//! Every list can be read in pages by a cursor, whatever its shape.

use super::schema::Document;
use crate::support::client::fresh;
use crate::support::{Client, TestService, Value, cuit, json};

/// Operations with items that are no lists: they are about one day, or the items are parts of one
/// answer.
const NO_LISTS: &[&str] = &[
    "reconcile",
    "readCollectorDay",
    "listBookAccounts",
    "readTrialBalance",
];

/// The schema of an operation's successful answer.
fn success(operation: &Value) -> &Value {
    &operation["responses"]["200"]["content"]["application/json"]["schema"]
}

#[test]
fn every_list_takes_a_cursor_and_says_where_it_goes_on() {
    let document = Document::of_the_service();
    let mut lists = 0;
    for (path, method, operation) in document.operations() {
        let id = operation["operationId"].as_str().unwrap();
        let schema = document.resolved(success(&operation));
        let is_array = schema["type"] == "array";
        let mut fields = serde_json::Map::new();
        document.gather(&schema, &mut fields, &mut Vec::new());
        if method != "GET" || NO_LISTS.contains(&id) || !(is_array || fields.contains_key("items"))
        {
            continue;
        }
        lists += 1;
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let mut names = parameters.filter_map(|it| it["name"].as_str());
        assert!(names.any(|name| name == "cursor"), "{id} takes no cursor");
        let next = fields.contains_key("next");
        assert!(
            next || is_array || path.starts_with("/wallet/"),
            "{id} has no next"
        );
    }
    assert!(lists >= 15, "{lists}");
}

/// All items of a list in pages of one, following the cursors of the answers.
async fn walked(client: &Client, path: &str) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client
            .get(&format!("{path}limit=1&cursor={cursor}"))
            .await
            .is(200);
        let items = page
            .json
            .as_array()
            .or(page["items"].as_array())
            .unwrap()
            .clone();
        assert!(items.len() <= 1, "{}", page.text);
        found.extend(items);
        let header = page
            .headers
            .get("x-next-cursor")
            .map(|it| it.to_str().unwrap().to_owned());
        let next = page["next"].as_str().map(str::to_owned).or(header.clone());
        if page["next"].is_string() && header.is_some() {
            assert_eq!(next, header, "{path}");
        }
        match next {
            Some(next) => cursor = next,
            None => return found,
        }
    }
}

#[actix_web::test]
async fn short_lists_and_events_are_walked_by_cursor_too() {
    let service = TestService::start().await;
    let client = &service.a;
    client.in_and_out().await;
    for _ in 0..3 {
        let body = json!({"url": format!("http://127.0.0.1:9/{}", fresh())});
        client.post("/v1/webhooks", &body).await.is(201);
    }
    let number = cuit(fresh());
    for _ in 0..3 {
        let names = json!({"cuitCuil": number, "razonSocial": "Tres SA"});
        client.post("/wallet/v1/Cuenta", &names).await.is(201);
    }
    let by_cuit = format!("/wallet/v1/CuentaByCuit?cuit={number}&");
    for (path, least) in [
        ("/v1/voucher-types?", 5),
        ("/wallet/v1/TiposComprobantes?", 5),
        ("/v1/webhooks?", 3),
        (by_cuit.as_str(), 3),
        ("/v1/events?", 3),
    ] {
        let whole = client.get(path.trim_end_matches(['?', '&'])).await.is(200);
        let items = whole.json.as_array().or(whole["items"].as_array()).unwrap();
        assert!(items.len() >= least, "{path}");
        assert_eq!(&walked(client, path).await, items, "{path}");
        if whole.json.is_array() {
            assert_eq!(whole.header("x-total-count"), items.len().to_string());
        }
        let refused = client.get(&format!("{path}cursor=zz")).await;
        refused.refused(400, "invalid_request");
    }
    let last = client.get("/v1/events").await.is(200);
    let id = last["items"][0]["id"].as_str().unwrap();
    let both = client
        .get(&format!("/v1/events?after={id}&cursor={id}"))
        .await;
    both.refused(400, "invalid_request");
}
