//! Operators' functions are for operators: every operation of the admin API, called by everybody else.

use std::collections::BTreeSet;

use caudal_service::TEST_ADMIN_KEY;

use crate::support::{Answer, Client, TestService, Value, json};

/// The paths and methods of a document, with each id filled in.
fn operations(document: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let ids = |part: &str| {
            if part.starts_with('{') {
                "nobody".to_owned()
            } else {
                part.to_owned()
            }
        };
        let path = path.split('/').map(ids).collect::<Vec<_>>().join("/");
        let methods = item
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, it)| it["responses"].is_object());
        found.extend(methods.map(|(method, _)| (method.to_uppercase(), path.clone())));
    }
    found
}

async fn ask(
    client: &Client,
    (method, path): &(String, String),
    headers: &[(&str, &str)],
) -> Answer {
    let mut call = client
        .call(method, path)
        .header("x-reason", "a walk")
        .json(&json!({}));
    for (name, value) in headers {
        call = call.header(name, value);
    }
    call.await
}

/// The audit log, without the entries of those who read it.
async fn noted(service: &TestService) -> Vec<Value> {
    let log = service.admin_get("/admin/audit?limit=200").await.is(200);
    let items = log["items"].as_array().unwrap().iter();
    let others = items.filter(|it| it["action"] != "listAudit");
    others.cloned().collect()
}

#[actix_web::test]
async fn what_operators_do_is_closed_to_every_key_of_a_tenant_and_not_there_for_the_public() {
    let service = TestService::start().await;
    let admin = service.admin_client();
    let document = admin.get("/openapi.json").await.is(200).json;
    let operations: Vec<_> = operations(&document)
        .into_iter()
        .filter(|(_, path)| path.starts_with("/admin"))
        .collect();
    assert!(operations.len() >= 50, "{}", operations.len());
    let keys = [&service.a, &service.live, &service.b].map(|client| client.key.clone().unwrap());
    let before = noted(&service).await;
    let mut seen = BTreeSet::new();
    for operation in &operations {
        for key in &keys {
            for name in ["x-admin-key", "x-api-key"] {
                let answer = ask(&admin, operation, &[(name, key)]).await;
                seen.insert(answer.refused(401, "unauthorized").essence("").to_string());
            }
        }
        let cookie = format!("caudal_session={TEST_ADMIN_KEY}; x-admin-key={TEST_ADMIN_KEY}");
        let twice = [
            ("x-admin-key", TEST_ADMIN_KEY),
            ("x-admin-key", TEST_ADMIN_KEY),
        ];
        for headers in [&[][..], &[("cookie", cookie.as_str())], &twice] {
            let answer = ask(&admin, operation, headers).await;
            seen.insert(answer.refused(401, "unauthorized").essence("").to_string());
        }
        // The public listener knows none of them, whoever calls.
        for client in [&service.a, &service.a.with_key(None)] {
            let answer = ask(client, operation, &[("x-admin-key", TEST_ADMIN_KEY)]).await;
            answer.refused(404, "route_not_found");
        }
    }
    assert_eq!(seen.len(), 1, "one answer for every cause: {seen:?}");
    let after = noted(&service).await;
    assert_eq!(before, after, "somebody without power did something");
}

#[actix_web::test]
async fn tenant_keys_do_not_open_the_admin_api() {
    let service = TestService::start().await;
    let document = service
        .a
        .with_key(None)
        .get("/openapi.json")
        .await
        .is(200)
        .json;
    let credential = crate::console::browser::credential(&service, "olga", "operator").await;
    let public = operations(&document).into_iter();
    let public: Vec<_> = public
        .filter(|(_, path)| ["/v1/", "/wallet/"].iter().any(|it| path.starts_with(it)))
        .collect();
    assert!(public.len() >= 60, "{}", public.len());
    for operation in public {
        for key in [TEST_ADMIN_KEY, &credential] {
            let client = service.a.with_key(Some(key));
            ask(&client, &operation, &[("x-admin-key", key)])
                .await
                .refused(401, "unauthorized");
        }
    }
}
