//! The checks that every operation of the table has to pass.

use std::collections::BTreeSet;

use futures_util::future::join_all;

use super::schema::Document;
use super::{Ids, Operation, Row, events, operations};
use crate::support::client::fresh;
use crate::support::{Client, SOON, Setup, TestService, json, wait_until};

/// A day with something in every list: one of everything, and money that came in.
async fn lived(service: &TestService, row: &Row) -> Ids {
    service.hear().await;
    let ids = Ids::for_row(&service.a, row).await;
    let own = json!({"cuitCuil": "20267565393", "razonSocial": "Una"});
    service.a.post("/wallet/v1/Cuenta", &own).await.is(201);
    service.bank.cash_in(&ids.cvu, "3.00").await;
    wait_until("the money", SOON, async || {
        let balance = service.a.balance(&ids.cvu).await;
        (balance["total"] == "12.00").then_some(())
    })
    .await;
    ids
}

#[actix_web::test]
async fn every_operation_is_reached_and_answers_what_its_document_says() {
    let service = TestService::start().await;
    let document = Document::of_the_service();
    // Operations whose answer has no end, and those about closed days, have tests of their own.
    let answered = |operation: &Operation| !operation.row.endless && !operation.row.past;
    for operation in operations().into_iter().filter(answered) {
        let ids = lived(&service, &operation.row).await;
        let answer = operation
            .call(&service.a, &(operation.row.path)(&ids), &ids)
            .await;
        let answer = answer.is(operation.row.status);
        let id = operation.row.operation;
        let items = answer.json.as_array().or(answer["items"].as_array());
        assert!(items.is_none_or(|items| !items.is_empty()), "{id}");
        let responses = document.operation(id)["responses"].clone();
        let declared = &responses[answer.status.to_string()];
        assert!(
            declared.is_object(),
            "{id}: {} is not declared",
            answer.status
        );
        if answer.status == 204 {
            assert_eq!(answer.text, "");
        } else {
            assert_eq!(answer.header("content-type"), "application/json", "{id}");
            let schema = &declared["content"]["application/json"]["schema"];
            document
                .check(schema, &answer.json)
                .unwrap_or_else(|why| panic!("{id}: {why}: {}", answer.text));
        }
    }
}

#[actix_web::test]
async fn every_operation_wants_a_right_key() {
    let service = TestService::start().await;
    let mut ids = Ids::of(&service.a).await;
    (ids.event, ids.delivery) = events::delivery(&service.a, &ids).await;
    let right = service.a.key.clone().unwrap();
    let at = right.len() - 20;
    let flipped: String = right
        .char_indices()
        .map(|(i, c)| {
            if i != at {
                c
            } else if c == 'A' {
                'B'
            } else {
                'A'
            }
        })
        .collect();
    let unknown =
        caudal_http::keys::Keyring::new(&"other".into(), caudal_ledger::ids::Shard::default())
            .issue("tnt_first", caudal_ledger::tenants::Mode::Test, None);
    let unknown = unknown.unwrap().text;
    let cut = right.get(..right.len() - 1).unwrap();
    let wrong = [
        Some(""),
        Some("x"),
        Some(flipped.as_str()),
        Some(&unknown),
        Some(cut),
        None,
    ];
    for operation in operations() {
        let path = (operation.row.path)(&ids);
        let mut seen = BTreeSet::new();
        for key in wrong {
            let answer = operation.call(&service.a.with_key(key), &path, &ids).await;
            let answer = answer.refused(401, "unauthorized");
            seen.insert(answer.essence("").to_string());
        }
        // A key sent twice is no key, even if both values are right.
        let twice = operation
            .call_with(&service.a, &path, &ids, &[("x-api-key", &right)])
            .await;
        seen.insert(twice.refused(401, "unauthorized").essence("").to_string());
        assert_eq!(seen.len(), 1, "one answer for every cause: {seen:?}");
    }
    // A key in the query is no key.
    let path = format!("/v1/accounts?x-api-key={right}");
    service
        .a
        .with_key(None)
        .get(&path)
        .await
        .refused(401, "unauthorized");
    // None of these calls had an effect.
    // (a credit, a hold and a transfer made the ids)
    assert_eq!(service.a.balance(&ids.cvu).await["sequence"], 3);
}

#[actix_web::test]
async fn resources_of_another_tenant_are_not_found() {
    let service = TestService::start().await;
    let (mut mine, unknown) = (Ids::of(&service.a).await, Ids::unknown());
    (mine.event, mine.delivery) = events::delivery(&service.a, &mine).await;
    let mut addressed = 0;
    for other in [&service.b, &service.live] {
        let mut theirs = Ids::of(other).await;
        (theirs.event, theirs.delivery) = events::delivery(other, &theirs).await;
        let before = everything(other, &theirs).await;
        for operation in operations()
            .iter()
            .filter(|operation| operation.addresses())
        {
            let name = operation.row.operation;
            let path = (operation.row.path)(&theirs);
            let foreign = operation
                .call(&service.a, &path, &mine)
                .await
                .is(404)
                .error();
            let path_unknown = (operation.row.path)(&unknown);
            let nothing = operation
                .call(&service.a, &path_unknown, &mine)
                .await
                .is(404)
                .error();
            assert_eq!(
                foreign.essence(path[0]),
                nothing.essence(path_unknown[0]),
                "{name}"
            );
            for id in theirs.all().iter().filter(|id| **id != path[0]) {
                assert!(
                    !foreign.text.contains(id),
                    "{name} gives {id} away: {}",
                    foreign.text
                );
            }
            addressed += 1;
        }
        assert_eq!(
            everything(other, &theirs).await,
            before,
            "another tenant changed something"
        );
    }
    assert!(
        addressed >= 64,
        "only {addressed} operations address something"
    );
}

/// Everything that a realm shows of itself, without the instants of the requests.
pub(super) async fn everything(client: &Client, ids: &Ids) -> String {
    let mut seen = String::new();
    for path in [
        "/v1/accounts",
        "/v1/voucher-types",
        "/v1/comprobantes/internal",
        "/v1/transfers",
        "/v1/events",
    ] {
        seen += &client.get(path).await.is(200).text;
    }
    for what in ["movements", "holds"] {
        let path = format!("/v1/accounts/{}/{what}", ids.cvu);
        seen += &client.get(&path).await.is(200).text;
    }
    seen
}

#[actix_web::test]
async fn malformed_ids_are_named() {
    let service = TestService::start().await;
    let ids = Ids::of(&service.a).await;
    for operation in operations() {
        for bad in operation.row.malformed {
            let answer = operation.call(&service.a, &[bad], &ids).await;
            let answer = answer.refused(400, "invalid_request");
            assert_eq!(
                crate::support::named(&answer.json).len(),
                1,
                "{}",
                answer.text
            );
        }
    }
    // An id that was never given out is simply not found, whatever its letters.
    for id in ["1", "cmp_", "cmp_zzzzzzzzzzzzzzzzzzzzzzzzzz", "%00"] {
        service
            .a
            .get(&format!("/v1/comprobantes/{id}"))
            .await
            .refused(404, "voucher_not_found");
        for (path, code) in [
            ("holds", "hold_not_found"),
            ("transfers", "transfer_not_found"),
            ("webhooks", "webhook_not_found"),
        ] {
            let prefix = match path {
                "holds" => "hld_",
                "transfers" => "trf_",
                _ => "whk_",
            };
            let id = id.replace("cmp_", prefix);
            let path = format!("/v1/{path}/{id}");
            service.a.get(&path).await.refused(404, code);
        }
    }
}

#[actix_web::test]
async fn bodies_are_read_strictly() {
    let service = TestService::start().await;
    for operation in operations()
        .iter()
        .filter(|operation| operation.row.body.is_some())
    {
        let ids = Ids::for_row(&service.a, &operation.row).await;
        let path = operation.path(&(operation.row.path)(&ids));
        let name = operation.row.operation;
        let call = || {
            let call = service.a.call(&operation.method, &path);
            if operation.row.keyed {
                call.key(&format!("strict-{}", fresh()))
            } else {
                call
            }
        };
        let good = (operation.row.body.unwrap())(&ids);
        let mut more = good.clone();
        more["tenantId"] = json!("tnt_other");
        if operation.row.lenient {
            let done = call().json(&more).await;
            done.is(operation.row.status);
        } else {
            let refused = call().json(&more).await.refused(400, "invalid_request");
            assert!(
                crate::support::named(&refused.json).contains(&"tenantId"),
                "{name}: {}",
                refused.text
            );
        }
        let all = [
            "",
            "[]",
            "null",
            "{",
            "{} x",
            "{\"a\":1,\"a\":1}",
            "\u{feff}{}",
        ];
        let optional = operation.row.bodiless;
        for bad in all.into_iter().skip(usize::from(optional)) {
            call().text(bad).await.refused(400, "malformed_body");
        }
        call()
            .text(vec![b'{', 0xff, b'}'])
            .await
            .refused(400, "malformed_body");
        let other = call()
            .header("content-type", "text/plain")
            .raw()
            .body(good.to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(other.status(), 415, "{name}");
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(operation.row.bytes));
        call().text(large).await.refused(413, "body_too_large");
    }
}

#[actix_web::test]
async fn other_methods_and_paths_are_told_apart() {
    let service = TestService::start().await;
    let ids = Ids::unknown();
    let operations = operations();
    let templates: BTreeSet<_> = operations.iter().map(|o| o.template.clone()).collect();
    for template in templates {
        let here: Vec<_> = operations
            .iter()
            .filter(|o| o.template == template)
            .collect();
        let known: BTreeSet<_> = here.iter().map(|o| o.method.as_str()).collect();
        let path = here[0].path(&(here[0].row.path)(&ids));
        for method in [
            "GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "BREW",
        ] {
            if known.contains(method) {
                continue;
            }
            let answer = service
                .a
                .call(method, &path)
                .await
                .refused(405, "method_not_allowed");
            let allowed: BTreeSet<_> = answer.header("allow").split(", ").collect();
            assert_eq!(allowed, known, "{method} {path}");
        }
    }
    for path in ["/livez", "/v1/voucher-types"] {
        let (get, head) = (
            service.a.get(path).await,
            service.a.call("HEAD", path).await,
        );
        let length = get.header("content-length");
        assert_eq!(
            (
                head.status,
                head.text.as_str(),
                head.header("content-length")
            ),
            (200, "", length),
            "HEAD {path}"
        );
    }
    for path in [
        "/v1",
        "/v1/",
        "/v2/accounts",
        "/v1/accounts/",
        "/v1//accounts",
        "/admin/tenants",
        "/metrics",
        "/v1/account",
        "/wallet/v1/Nada",
        "/V1/accounts",
    ] {
        service.a.get(path).await.refused(404, "route_not_found");
    }
}

#[actix_web::test]
async fn every_answer_has_its_frame() {
    let service = TestService::start().await;
    let no_key = service.a.with_key(None);
    for (client, path) in [
        (&service.a, "/v1/accounts"),
        (&service.a, "/v1/accounts/1"),
        (&service.a, "/nowhere"),
        (&no_key, "/v1/accounts"),
        (&no_key, "/livez"),
        (&no_key, "/readyz"),
        (&no_key, "/openapi.json"),
        (&no_key, "/docs/"),
    ] {
        let answer = client.get(path).header("x-request-id", "mine-1").await;
        assert_eq!(answer.header("x-request-id"), "mine-1", "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert!(!answer.header("cache-control").is_empty(), "{path}");
        for name in [
            "server",
            "x-powered-by",
            "access-control-allow-origin",
            "set-cookie",
        ] {
            assert_eq!(answer.header(name), "", "{path}: {name}");
        }
        // An id that could be used to inject text into logs is not accepted.
        let answer = client.get(path).header("x-request-id", "a b\tc").await;
        assert!(answer.header("x-request-id").starts_with("req_"), "{path}");
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let answer = client
            .get(path)
            .header("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"))
            .await;
        assert_eq!(answer.header("x-request-id"), trace, "{path}");
    }
    let ids: BTreeSet<_> = [service.a.get("/livez").await, service.a.get("/livez").await]
        .iter()
        .map(|answer| answer.header("x-request-id").to_owned())
        .collect();
    assert_eq!(ids.len(), 2, "each request has an id of its own");
}

#[actix_web::test]
async fn the_document_that_is_served_is_the_one_of_the_service() {
    let service = TestService::start().await;
    let no_key = service.a.with_key(None);
    let served = no_key.get("/openapi.json").await.is(200);
    assert_eq!(served.json, Document::of_the_service().0);
}

#[actix_web::test]
async fn a_rate_limit_is_told_and_holds_for_one_key() {
    let rate = Some((1, 3));
    let service = TestService::with(Setup {
        rate,
        ..Setup::default()
    })
    .await;
    let paths = ["/v1/accounts", "/v1/voucher-types", "/v1/accounts/1"];
    for path in paths {
        let answer = service.a.get(path).await;
        assert_eq!(answer.header("ratelimit-policy"), "\"key\";q=3;w=3");
        assert!(
            answer.header("ratelimit").starts_with("\"key\";r="),
            "{path}"
        );
    }
    // A bucket that refills once a second cannot let all of these pass.
    let answers = join_all((0..20).map(|_| service.a.get("/v1/accounts").into_future())).await;
    let refused: Vec<_> = answers
        .into_iter()
        .filter(|answer| answer.status != 200)
        .collect();
    assert!(!refused.is_empty());
    for answer in refused {
        let answer = answer.refused(429, "rate_limited");
        assert!(answer.header("retry-after").parse::<u32>().unwrap() >= 1);
        assert_eq!(answer.header("ratelimit-policy"), "\"key\";q=3;w=3");
        assert!(
            answer.header("ratelimit").starts_with("\"key\";r=0"),
            "{}",
            answer.header("ratelimit")
        );
    }
    service.b.get("/v1/accounts").await.is(200);
    service.a.get("/livez").await.is(200);
}

/// A form that an operation does not offer is 406 with those it offers, a body that is encoded is 415, and neither does
/// anything. A wrong key comes first.
#[actix_web::test]
async fn forms_that_are_not_offered_and_encoded_bodies_are_refused() {
    let service = TestService::start().await;
    let document = Document::of_the_service();
    let nobody = service.a.with_key(Some("wrong"));
    for operation in operations() {
        let ids = Ids::for_row(&service.a, &operation.row).await;
        let id = operation.row.operation;
        let values = (operation.row.path)(&ids);
        let before = service.a.get("/v1/events?limit=200").await.is(200).text;
        let responses = &document.operation(id)["responses"];
        let offered = responses[operation.row.status.to_string()]["content"].as_object();
        let ask = async |client: &Client, header| {
            operation.call_with(client, &values, &ids, &[header]).await
        };
        let image = ("accept", "image/png, text/html;q=0.9");
        if let Some(offered) = offered.filter(|offered| !offered.is_empty()) {
            let refused = ask(&service.a, image).await.refused(406, "not_acceptable");
            for form in offered.keys() {
                assert!(refused.text.contains(form), "{id}: {}", refused.text);
            }
            assert!(responses["406"].is_object(), "{id} does not promise 406");
        }
        let encoded = ("content-encoding", "gzip");
        if operation.row.body.is_some() {
            ask(&service.a, encoded)
                .await
                .refused(415, "unsupported_media_type");
        }
        for header in [image, encoded] {
            ask(&nobody, header).await.refused(401, "unauthorized");
        }
        let after = service.a.get("/v1/events?limit=200").await.is(200).text;
        assert_eq!(before, after, "{id} did something");
    }
    let admin = service.admin_client();
    let list = |accept| {
        let call = admin.get("/admin/audit").header("accept", accept);
        call.header("x-admin-key", caudal_service::TEST_ADMIN_KEY)
    };
    list("text/csv").await.refused(406, "not_acceptable");
    list("application/x-ndjson").await.is(200);
    let body = json!({"name": "Encoded"});
    let call = admin
        .post("/admin/tenants", &body)
        .header("content-encoding", "gzip");
    let call = call.header("x-admin-key", caudal_service::TEST_ADMIN_KEY);
    call.await.refused(415, "unsupported_media_type");
}
