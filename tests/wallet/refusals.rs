//! Refusals: every field is named, and the texts for people are Spanish.

use std::collections::BTreeSet;

use caudal_http::current::Language;
use caudal_http::words::ledger::RULES;
use caudal_http::words::{Mistake, Refusal, Say as _};
use caudal_ledger::balance::Direction;

use super::cuenta;
use crate::support::{Answer, TestService, Value, cuit, json, named};

/// Words that none of our Spanish sentences contains.
const ENGLISH: &[&str] = &[
    "must", " is ", " the ", "The ", "should", " has ", "does not", "send ",
];

fn spanish(answer: &Answer) {
    let mut texts = vec![answer["message"].as_str().unwrap()];
    let errors = answer["errors"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    texts.extend(
        errors
            .iter()
            .map(|error| error["message"].as_str().unwrap()),
    );
    for text in texts {
        assert!(
            !ENGLISH
                .iter()
                .any(|word| format!(" {text} ").contains(word)),
            "{}",
            answer.text
        );
    }
}

async fn refuse(service: &TestService, path: &str, good: &Value, table: &[(Value, Vec<&str>)]) {
    for (change, fields) in table {
        let mut body = good.clone();
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let refused = service
            .a
            .post(path, &body)
            .await
            .refused(400, "invalid_request");
        let found: BTreeSet<_> = named(&refused.json).into_iter().collect();
        assert_eq!(found, fields.iter().copied().collect(), "{body}");
        spanish(&refused);
    }
}

#[actix_web::test]
async fn bodies_that_cannot_be_read_name_every_field() {
    let service = TestService::start().await;
    let good = json!({"cuitCuil": cuit(1), "nombre": "Ana", "apellido": "Paz"});
    refuse(
        &service,
        "/wallet/v1/Cuenta",
        &good,
        &[
            (json!({"cuitCuil": null}), vec!["cuitCuil"]),
            (json!({"cuitCuil": "20267565392"}), vec!["cuitCuil"]),
            (json!({"cuitCuil": "2026756539"}), vec!["cuitCuil"]),
            (json!({"cuitCuil": "99123456781"}), vec!["cuitCuil"]),
            (
                json!({"cuitCuil": true, "nombre": ""}),
                vec!["cuitCuil", "nombre"],
            ),
            (
                json!({"nombre": null, "apellido": " "}),
                vec!["nombre", "apellido"],
            ),
            (
                json!({"nombre": "x".repeat(101), "email": "nada"}),
                vec!["nombre", "email"],
            ),
            (
                json!({"razonSocial": "a\u{202e}b", "celular": "12"}),
                vec!["razonSocial", "celular"],
            ),
            (
                json!({"actividadAfip": "12", "nacionalidad": "ARG", "dni": "1"}),
                vec!["actividadAfip", "nacionalidad", "dni"],
            ),
            (
                json!({"esPep": 1, "esFacta": "x", "habilitado": "si"}),
                vec!["esPep", "esFacta", "habilitado"],
            ),
            (
                json!({"fechaNacimiento": "1989-02-30", "codigo": "x".repeat(65)}),
                vec!["fechaNacimiento", "codigo"],
            ),
            (
                json!({"domicilio": [], "datosDomicilio": {"cp": {}}}),
                vec!["domicilio", "datosDomicilio.cp"],
            ),
        ],
    )
    .await;
    let good = json!({"nombre": "N", "codigo": "CC", "signo": 1});
    refuse(
        &service,
        "/wallet/v1/TipoComprobante",
        &good,
        &[
            (json!({"nombre": null}), vec!["nombre"]),
            (json!({"codigo": "A"}), vec!["codigo"]),
            (json!({"signo": null}), vec!["sentido"]),
            (json!({"signo": 2}), vec!["signo"]),
            (json!({"sentido": "arriba"}), vec!["sentido"]),
        ],
    )
    .await;
    let good = json!({"idCuenta": 1, "importe": 1, "codigo": "CC", "idExterno": "a"});
    refuse(
        &service,
        "/wallet/v1/Comprobante",
        &good,
        &[
            (
                json!({"idCuenta": null, "importe": 0}),
                vec!["idCuenta", "importe"],
            ),
            (
                json!({"idCuenta": "x", "importe": "1.001"}),
                vec!["idCuenta", "importe"],
            ),
            (
                json!({"importe": -1, "codigo": null}),
                vec!["importe", "idTipoComprobante"],
            ),
            (
                json!({"idTipoComprobante": 1.5, "idExterno": "a "}),
                vec!["idTipoComprobante", "idExterno"],
            ),
            (
                json!({"referencia": "x".repeat(51), "fechaExterna": "2026-02-30"}),
                vec!["referencia", "fechaExterna"],
            ),
            (
                json!({"fechaExterna": "2026-02-03T10h"}),
                vec!["fechaExterna"],
            ),
            (
                json!({"importe": 1_000_000_000_000_000_u64, "idExterno": "x".repeat(65)}),
                vec!["importe", "idExterno"],
            ),
        ],
    )
    .await;
    refuse(
        &service,
        "/wallet/v1/CVU",
        &json!({"idCuenta": 1}),
        &[
            (json!({"idCuenta": null}), vec!["idCuenta"]),
            (
                json!({"nombreCVU": 5, "aliasAutomatico": "tal vez"}),
                vec!["nombreCVU", "aliasAutomatico"],
            ),
        ],
    )
    .await;
    let id = cuenta(&service.a, "Ana", "Paz").await;
    let path = format!("/wallet/v1/Habilitado/Cuenta/{id}");
    for body in [
        json!({}),
        json!({"habilitado": null}),
        json!({"habilitado": 1}),
    ] {
        let refused = service
            .a
            .patch(&path, &body)
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["habilitado"]);
        spanish(&refused);
    }
    for (query, field) in [
        ("", "fecha"),
        ("?fecha=ayer", "fecha"),
        ("?date=2026-02-30", "date"),
        ("?fecha=2999-01-01", "fecha"),
        ("?fecha=2026-01-01&date=2026-01-02", "fecha"),
    ] {
        let path = format!("/wallet/v1/SaldoHistoricoByIdCuenta/{id}{query}");
        let refused = service.a.get(&path).await.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{query}");
        spanish(&refused);
    }
    for query in ["", "?cuit=1", "?cuit=abc"] {
        let path = format!("/wallet/v1/CuentaByCuit{query}");
        let refused = service.a.get(&path).await.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["cuit"]);
        spanish(&refused);
    }
}

#[actix_web::test]
async fn types_are_credit_or_debit_by_whichever_word_wins() {
    let service = TestService::start().await;
    let create = async |body: Value| service.a.post("/wallet/v1/TipoComprobante", &body).await;
    for (number, (body, sense)) in [
        (json!({"signo": 1}), "credit"),
        (json!({"signo": "-1"}), "debit"),
        (json!({"sentido": "debit", "signo": 1}), "debit"),
        (
            json!({"sentido": "credit", "signo": "cualquiera"}),
            "credit",
        ),
        (json!({"sentido": "", "signo": -1}), "debit"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = body;
        // A code may be a number, and a type has texts for people.
        body["codigo"] = json!(100 + number);
        body["nombre"] = json!("Tipo");
        body["descripcion"] = json!("Un tipo");
        body["tipoMovimiento"] = json!("001");
        let id = create(body).await.is(201)["id"].clone();
        let types = service.a.get("/v1/voucher-types").await.is(200);
        let made = types
            .json
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["legacyId"] == id)
            .unwrap()
            .clone();
        assert_eq!(
            (&made["sense"], &made["code"]),
            (&json!(sense), &json!(format!("{}", 100 + number)))
        );
    }
    for sentido in ["hold", "release", "confirm_hold"] {
        let body = json!({"codigo": "RET", "nombre": "R", "sentido": sentido, "signo": 1});
        spanish(&create(body).await.refused(400, "voucher_type_sense"));
    }
    spanish(
        &create(json!({"codigo": 100, "nombre": "R", "signo": 1}))
            .await
            .refused(409, "voucher_type_taken"),
    );
    spanish(
        &create(json!({"codigo": "fee", "nombre": "R", "signo": 1}))
            .await
            .refused(409, "voucher_type_taken"),
    );
}

#[actix_web::test]
async fn every_refusal_is_spanish_here_and_english_there() {
    let service = TestService::start().await;
    let none = service.a.with_key(None);
    for answer in [
        none.get("/wallet/v1/Cuentas")
            .await
            .refused(401, "unauthorized"),
        service
            .a
            .get("/wallet/v1/Nada")
            .await
            .refused(404, "route_not_found"),
        service
            .a
            .delete("/wallet/v1/Cuenta/1")
            .await
            .refused(405, "method_not_allowed"),
        service
            .a
            .get("/wallet/v1/Cuenta/1")
            .await
            .refused(404, "account_not_found"),
        service
            .a
            .call("POST", "/wallet/v1/Cuenta")
            .text("{")
            .await
            .refused(400, "malformed_body"),
        service
            .a
            .post("/wallet/v1/CVU", &json!({"idCuenta": 5}))
            .key("a")
            .await
            .refused(404, "account_not_found"),
    ] {
        spanish(&answer);
    }
    // A replayed refusal is in the same language as the first.
    let again = service
        .a
        .post("/wallet/v1/CVU", &json!({"idCuenta": 5}))
        .key("a")
        .await;
    assert!(again.replayed());
    spanish(&again);
    let there = service.a.get("/v1/accounts/0000532609100002749314").await;
    assert_eq!(
        there.refused(404, "account_not_found")["message"],
        "account not found"
    );
}

/// A mistake or rule without a Spanish sentence does not compile; this test checks that the
/// sentences really are Spanish.
#[test]
fn every_sentence_is_in_the_language_that_it_says() {
    let tables = Mistake::SENTENCES.iter().chain(Refusal::SENTENCES);
    let sentences = tables.map(|(_, spanish)| *spanish);
    for sentence in sentences.chain(RULES.iter().map(|(_, spanish)| *spanish)) {
        let mut words = ENGLISH.iter();
        let found = words.find(|word| format!(" {sentence} ").contains(**word));
        assert_eq!(found, None, "{sentence}");
    }
}

/// The compiler cannot notice a direction that the sentence leaves out.
#[test]
fn the_sentence_about_directions_names_each_of_them() {
    for direction in Direction::ALL {
        for language in [Language::English, Language::Spanish] {
            let said = Mistake::NotAVoucherKind.text(language);
            assert!(said.contains(direction.as_str()), "{direction}: {said}");
        }
    }
}

#[actix_web::test]
async fn a_wrong_cvu_is_told_in_spanish_wherever_it_stands() {
    let service = TestService::start().await;
    for path in [
        "SaldoClienteByCVU/abc",
        "Remuneracion/Estado/abc",
        "MovimientosCliente?cvu=1",
        "MovimientosCliente?cvu=0000532609100002749315",
        "SaldoClienteByCVU/2850590940090418135201",
    ] {
        let refused = service.a.get(&format!("/wallet/v1/{path}")).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["cvu"], "{path}");
        spanish(&refused);
    }
}

#[actix_web::test]
async fn types_of_the_system_have_spanish_names() {
    let service = TestService::start().await;
    let client = &service.a;
    client.in_and_out().await;
    let (cvu, other) = (client.cvu().await, client.cvu().await);
    client.credit(&cvu, "100.00").await;
    client.hold(&cvu, "5.00").await;
    client
        .transfer(&cvu, json!({"cvu": other}), "1.00")
        .await
        .is(201);
    let path = format!("/wallet/v1/MovimientosCliente?cvu={cvu}");
    let page = client.get(&path).await.is(200);
    let items = page["items"].as_array().unwrap().iter();
    let names: BTreeSet<_> = items
        .map(|it| it["descripcionTipoComprobante"].as_str().unwrap())
        .collect();
    for name in ["Retención", "Transferencia interna enviada"] {
        assert!(names.contains(name), "{names:?}");
    }
    let types = client.get("/wallet/v1/TiposComprobantes").await.is(200);
    let types = types.json.as_array().unwrap().clone();
    assert!(
        types
            .iter()
            .any(|it| it["nombre"] == "Transferencia recibida")
    );
}
