//! Query parameters over the whole table: a parameter that an operation does not have is refused, and the
//! answer suggests the one that was meant.

use super::schema::Document;
use super::{Ids, Operation, events, operations};
use crate::support::{TestService, named};

/// The names of an operation's query parameters in the document.
fn declared(document: &Document, operation: &Operation) -> Vec<String> {
    let parameters = &document.operation(operation.row.operation)["parameters"];
    let parameters = parameters.as_array().into_iter().flatten();
    let query = parameters.filter(|it| it["in"] == "query");
    query
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

#[actix_web::test]
async fn a_parameter_that_an_operation_does_not_have_is_refused_with_the_one_that_was_meant() {
    let service = TestService::start().await;
    let document = Document::of_the_service();
    let mut ids = Ids::of(&service.a).await;
    (ids.event, ids.delivery) = events::delivery(&service.a, &ids).await;
    let before = service.a.get("/v1/events?limit=200").await.is(200).text;
    let (mut walked, mut meant) = (0, 0);
    for mut operation in operations() {
        let known = declared(&document, &operation);
        let wallet = operation.template.starts_with("/wallet/");
        // A parameter that does not exist anywhere, and each existing one with its last letter doubled.
        let mut sent = vec![("no-such-thing".to_owned(), None)];
        for name in known.iter().filter(|name| name.len() > 1) {
            let twice = name.chars().last().unwrap();
            sent.push((format!("{name}{twice}"), Some(name.as_str())));
        }
        let usual = operation.row.query;
        let path = (operation.row.path)(&ids);
        for (name, near) in sent {
            let query = match usual {
                "" => format!("?{name}=1"),
                some => format!("{some}&{name}=1"),
            };
            operation.row.query = query.leak();
            let answer = operation.call(&service.a, &path, &ids).await;
            let answer = answer.refused(400, "invalid_request");
            assert_eq!(named(&answer.json), [name.as_str()], "{}", answer.text);
            let words = match (near, wallet, known.is_empty()) {
                (Some(near), true, _) => format!("¿quiso decir {near}?"),
                (Some(near), false, _) => format!("; did you mean {near}?"),
                (None, true, true) => "que no tiene ninguno".to_owned(),
                (None, true, false) => format!("que tiene {}", known.join(", ")),
                (None, false, true) => "which has none".to_owned(),
                (None, false, false) => format!("which has {}", known.join(", ")),
            };
            let said = answer.json["message"].as_str().unwrap();
            assert!(said.contains(&words), "{said}: {words}");
            meant += usize::from(near.is_some());
            // A caller without a key learns nothing about it.
            let without_key = service.a.with_key(None);
            let answer = operation.call(&without_key, &path, &ids).await;
            answer.refused(401, "unauthorized");
        }
        walked += 1;
    }
    assert!(walked >= 74 && meant >= 100, "{walked}, {meant}");
    let after = service.a.get("/v1/events?limit=200").await.is(200).text;
    assert_eq!(before, after, "nothing happened");
}

/// The closed sets of an operation's query parameters, with their words, from the document.
fn closed_sets(document: &Document, operation: &Operation) -> Vec<(String, Vec<String>)> {
    let parameters = &document.operation(operation.row.operation)["parameters"];
    let query = parameters.as_array().into_iter().flatten();
    let query = query.filter(|it| it["in"] == "query");
    let sets = query.map(|it| {
        let schema = document.resolved(&it["schema"]);
        let words = schema["enum"].as_array().into_iter().flatten();
        let mut words: Vec<_> = words.map(|it| it.as_str().unwrap().to_owned()).collect();
        if schema["type"] == "boolean" {
            words = vec!["true".to_owned(), "false".to_owned()];
        }
        (it["name"].as_str().unwrap().to_owned(), words)
    });
    sets.filter(|(_, words)| !words.is_empty()).collect()
}

#[actix_web::test]
async fn each_word_of_a_closed_set_is_taken_and_no_other() {
    let service = TestService::start().await;
    let document = Document::of_the_service();
    let mut ids = Ids::of(&service.a).await;
    (ids.event, ids.delivery) = events::delivery(&service.a, &ids).await;
    let (mut sets, mut taken) = (0, 0);
    for mut operation in operations().into_iter().filter(|it| it.method == "GET") {
        let usual = operation.row.query;
        let path = (operation.row.path)(&ids);
        for (name, words) in closed_sets(&document, &operation) {
            let others = usual.trim_start_matches('?').split('&');
            let others: Vec<_> = others
                .filter(|it| !it.is_empty() && it.split('=').next() != Some(&name))
                .collect();
            let with = |word: &str| {
                format!(
                    "?{}",
                    [&others[..], &[&format!("{name}={word}")]]
                        .concat()
                        .join("&")
                )
            };
            for word in &words {
                operation.row.query = with(word).leak();
                let answer = operation.call(&service.a, &path, &ids).await;
                // If the word excludes the very thing that the path names, the answer is 404, which is no
                // refusal of the word.
                let status = answer.status;
                assert!(
                    status == 200 || status == 404,
                    "{name}={word}: {}",
                    answer.text
                );
                taken += 1;
            }
            operation.row.query = with("no-such-word").leak();
            let answer = operation.call(&service.a, &path, &ids).await;
            let answer = answer.refused(400, "invalid_request");
            assert_eq!(named(&answer.json), [name.as_str()], "{}", answer.text);
            let said = answer.json["message"].as_str().unwrap();
            assert!(said.contains(&words.join(", ")), "{said}: {words:?}");
            sets += 1;
        }
        operation.row.query = usual;
    }
    assert!(sets >= 30 && taken >= 80, "{sets}, {taken}");
}

#[actix_web::test]
async fn the_wallet_family_takes_blanks_other_cases_and_days_with_times() {
    let service = TestService::start().await;
    let client = &service.a;
    let ids = Ids::of(client).await;
    let id = &ids.cuenta;
    let today = client.get("/v1/bank/conciliacion").await.is(200)["fecha"].clone();
    let today = today.as_str().unwrap();
    for (sent, same) in [
        (
            "/wallet/v1/cuentas?habilitado=True",
            "/wallet/v1/Cuentas?habilitado=true",
        ),
        (
            "/WALLET/V1/CUENTAS?habilitado=&sort=&q=&order=",
            "/wallet/v1/Cuentas",
        ),
        (
            "/wallet/v1/Cuentas?habilitado=FALSE",
            "/wallet/v1/Cuentas?habilitado=false",
        ),
        (
            "/wallet/v1/Cuentas?order=ASC&pageSize=%20",
            "/wallet/v1/Cuentas?order=asc",
        ),
        (
            &format!("/Wallet/v1/cuenta/{id}"),
            &format!("/wallet/v1/Cuenta/{id}"),
        ),
        (
            &format!("/wallet/v1/saldohistoricobyidcuenta/{id}?FECHA")
                .replace("FECHA", &format!("fecha={today}T00:00:00&date=")),
            &format!("/wallet/v1/SaldoHistoricoByIdCuenta/{id}?date={today}"),
        ),
        (
            &format!("/wallet/v1/MovimientosCliente?idCuenta={id}&cvu=&from={today}T00:00:00&to="),
            &format!("/wallet/v1/MovimientosCliente?idCuenta={id}&from={today}T00:00:00-03:00"),
        ),
    ] {
        let (answer, right) = (
            client.get(sent).await.is(200),
            client.get(same).await.is(200),
        );
        assert_eq!(answer.json, right.json, "{sent}");
    }
    // A value in a path keeps its case.
    let external = format!("Ext-{}", ids.external);
    client
        .voucher(&ids.cvu, &ids.code, "1.00", &external)
        .await
        .is(201);
    let path = format!("/wallet/v1/comprobantebyidexterno/{external}");
    assert_eq!(
        client.get(&path).await.is(200)["idExterno"],
        external.as_str()
    );
    let lower = path.to_lowercase();
    client.get(&lower).await.refused(404, "voucher_not_found");
    // A dry run is recognised in another case as well.
    let body = serde_json::json!({
        "idCuenta": id, "importe": 5, "codigo": ids.code, "idExterno": "dry-in-another-case",
    });
    client
        .post("/wallet/v1/comprobante?dryRun=True", &body)
        .await
        .is(200);
    client
        .get("/wallet/v1/ComprobanteByIdExterno/dry-in-another-case")
        .await
        .is(404);
    // A code may have dashes, in either family.
    let body = serde_json::json!({"nombre": "Carga", "codigo": "carga-1", "signo": 1});
    client
        .post("/wallet/v1/TipoComprobante", &body)
        .await
        .is(201);
    client
        .voucher(&ids.cvu, "CARGA-1", "1.00", "with-a-dash")
        .await
        .is(201);
    // The native family is strict about case, and the language does not depend on it.
    client
        .get("/V1/accounts")
        .await
        .refused(404, "route_not_found");
    client
        .get("/v1/accounts?status=")
        .await
        .refused(400, "invalid_request");
    let refused = client
        .get("/WALLET/v1/saldoclientebycvu/abc")
        .await
        .refused(400, "invalid_request");
    assert!(refused.text.contains("debe tener"), "{}", refused.text);
}
