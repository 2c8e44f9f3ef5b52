//! Every shape of the interface as data: the fields in the answer of each endpoint, and their types.
//! An endpoint of the interface without a row here fails, and so does a missing field.
//!
//! Types: `s` text, `i` whole number, `n` number, `b` boolean, `o` object, `a` list; with `?` it may
//! be null; `*` is anything, also null. A field is in the body, or in the part that a path such as
//! `fee/tax` or `items/0` leads to.

use super::operations;
use super::shapes::{ELSEWHERE, ENDPOINTS};
use super::updates::UPDATES;
use crate::contract::{Ids, Row};
use crate::support::client::fresh;
use crate::support::{Client, SOON, TestService, Value, cuit, json, wait_until};

/// Whether a value is of a type.
fn is(value: &Value, kind: &str) -> bool {
    match kind.strip_suffix('?') {
        Some(kind) => value.is_null() || is(value, kind),
        None => match kind {
            "s" => value.is_string(),
            "i" => value.is_u64(),
            "n" => value.is_number(),
            "b" => value.is_boolean(),
            "o" => value.is_object(),
            "a" => value.is_array(),
            "*" => true,
            other => panic!("{other} is no type"),
        },
    }
}

/// Every difference between a body and its shape.
fn wrong(body: &Value, shape: &[(&str, &str)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, fields) in shape {
        let place = match *place {
            "" => String::new(),
            place => format!("/{place}"),
        };
        let Some(object) = body.pointer(&place).and_then(Value::as_object) else {
            wrong.push(format!("no {place}"));
            continue;
        };
        for field in fields.split_whitespace() {
            let (name, kind) = field.split_once(':').unwrap();
            match object.get(name) {
                Some(value) if is(value, kind) => {}
                found => wrong.push(format!("{place}/{name} is {found:?}, not {kind}")),
            }
        }
    }
    wrong
}

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
async fn every_endpoint_of_the_interface_answers_in_its_shape() {
    let service = TestService::start().await;
    let (operations, mut found) = (operations(), String::new());
    for (endpoint, shape) in ENDPOINTS {
        let (method, template) = endpoint.split_once(' ').unwrap();
        let operation = operations
            .iter()
            .find(|it| it.method == method && it.template == template);
        let operation = operation.unwrap_or_else(|| panic!("no {endpoint}"));
        let ids = lived(&service, &operation.row).await;
        let path = (operation.row.path)(&ids);
        let answer = operation.call(&service.a, &path, &ids).await;
        let answer = answer.is(operation.row.status);
        if shape.is_empty() {
            assert_eq!(
                (answer.status, answer.text.as_str()),
                (204, ""),
                "{endpoint}"
            );
        }
        for wrong in wrong(&answer.json, shape) {
            found += &format!("{endpoint}: {wrong}\n");
        }
    }
    assert!(found.is_empty(), "{found}");
}

#[test]
fn every_endpoint_of_the_document_has_a_shape() {
    let missing: Vec<_> = operations()
        .iter()
        .map(|it| format!("{} {}", it.method, it.template))
        .filter(|it| ENDPOINTS.iter().all(|(known, _)| known != it))
        .filter(|it| !ELSEWHERE.contains(&it.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[actix_web::test]
async fn every_error_has_the_shape_of_errors_and_the_banks_word_where_it_spoke() {
    let service = TestService::start().await;
    let of_all = "statusCode:i message:s timestamp:s code:s requestId:s";
    let none = "/v1/accounts/0000532609100002749314";
    for path in [
        none,
        "/wallet/v1/Cuenta/77",
        "/v1/treasury/positions/1",
        "/v1/nothing",
    ] {
        let answer = service.a.get(path).await;
        assert_eq!(wrong(&answer.json, &[("", of_all)]), [""; 0], "{path}");
        assert_eq!(answer["bankStatus"], Value::Null, "{path}");
    }
    let answer = service.a.get("/v1/lookup/alias/nobody.nowhere.no").await;
    let with_bank = [("", of_all), ("", "bankStatus:i bankBody:o")];
    assert_eq!(wrong(&answer.is(400).json, &with_bank), [""; 0]);
}

async fn cuenta(client: &Client, cvu: bool) -> u64 {
    let body = json!({"cuitCuil": cuit(fresh()), "nombre": "Ana", "apellido": "Paz"});
    let made = client.post("/wallet/v1/Cuenta", &body).await.is(201);
    let id = made["id"].as_u64().unwrap();
    if cvu {
        let body = json!({"idCuenta": id, "nombreCVU": "Una"});
        client.post("/wallet/v1/CVU", &body).await.is(201);
    }
    id
}

#[actix_web::test]
async fn every_field_of_the_update_is_taken_and_shown_by_itself() {
    let service = TestService::start().await;
    for (field, sent, place, shown) in UPDATES {
        let id = cuenta(&service.a, *field != "cuitCuil").await;
        let path = format!("/wallet/v1/Cuenta/{id}");
        let before = service.a.get(&path).await.is(200).json;
        let body = format!(r#"{{"{field}":{sent}}}"#);
        let answer = service.a.call("PUT", &path).text(body).await;
        assert_eq!(answer.status, 204, "{field}: {}", answer.text);
        let mut read = service.a.get(&path).await.is(200).json;
        let shown: Value = serde_json::from_str(shown).unwrap();
        if let Some(place) = place.strip_prefix("kyc") {
            // The wallet family accepts it and has no field to show it; the native family has one.
            let cvu = read["cvu"].as_str().unwrap();
            let native = service.a.get(&format!("/v1/accounts/{cvu}")).await.is(200);
            assert_eq!(native["kyc"].pointer(place), Some(&shown), "{field}");
            assert_eq!(read, before, "{field} changed something else");
            continue;
        }
        assert_eq!(read.pointer(place), Some(&shown), "{field}: {read}");
        *read.pointer_mut(place).unwrap() = before.pointer(place).unwrap().clone();
        assert_eq!(read, before, "{field} changed something else");
    }
}
