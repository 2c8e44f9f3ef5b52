//! Fields that are cleared, and fields that identify a holder, seen from both families.

use crate::support::client::fresh;
use crate::support::{Client, TestService, Value, cuit, json, named};

/// Opens a wallet account with a CVU and every field that can be cleared; returns its number and
/// its CVU.
async fn cuenta(client: &Client) -> (u64, String) {
    let body = json!({
        "cuitCuil": cuit(fresh()), "nombre": "Juan", "apellido": "Pérez", "email": "j@p.example",
        "celular": "1155551234", "codigo": format!("c-{}", fresh()), "esPep": true, "esUif": true,
        "esFatca": true, "nacionalidad": "AR", "actividadAfip": "620100", "ocupacion": "x",
        "estadoCivil": "y", "dni": "26756539", "fechaNacimiento": "1989-02-16",
        "domicilio": {"calle": "Maipú", "numero": "1", "piso": "3", "departamento": "B",
            "localidadCodigo": "247", "provinciaCodigo": "1", "cp": "1006", "cpa": "C1006ABC",
            "localidadNombre": "Retiro", "provinciaNombre": "CABA"},
    });
    let made = client.post("/wallet/v1/Cuenta", &body).await.is(201);
    let id = made["id"].as_u64().unwrap();
    let made = client
        .post("/wallet/v1/CVU", &json!({"idCuenta": id}))
        .await;
    (id, made.is(201)["cvu"].as_str().unwrap().to_owned())
}

/// Each field of the wallet family that can be cleared, with its value afterwards.
const OPTIONAL: [(&str, Value); 12] = [
    ("email", Value::Null),
    ("celular", Value::Null),
    ("codigo", Value::Null),
    ("esPep", Value::Bool(false)),
    ("esUif", Value::Bool(false)),
    ("esFatca", Value::Bool(false)),
    ("actividadAfip", Value::Null),
    ("ocupacion", Value::Null),
    ("estadoCivil", Value::Null),
    ("dni", Value::Null),
    ("fechaNacimiento", Value::Null),
    ("domicilio", Value::Null),
];

#[actix_web::test]
async fn null_or_an_empty_text_clears_in_the_wallet_family() {
    let service = TestService::start().await;
    for nothing in [Value::Null, json!(""), json!(" ")] {
        let (id, cvu) = cuenta(&service.a).await;
        let path = format!("/wallet/v1/Cuenta/{id}");
        for (field, cleared) in OPTIONAL {
            let before = service.a.get(&path).await.is(200).json;
            service.a.put(&path, &json!({field: nothing})).await.is(204);
            let mut after = service.a.get(&path).await.is(200).json;
            match field {
                // The interface shows texts that were never given as empty.
                "email" | "celular" | "actividadAfip" => assert_eq!(after[field], ""),
                "domicilio" => {
                    let parts = after[field].as_object().unwrap();
                    assert!(parts.values().all(Value::is_null), "{parts:?}");
                }
                _ => assert_eq!(after[field], cleared, "{field}"),
            }
            assert_ne!(before[field], after[field], "{field}");
            after[field] = before[field].clone();
            assert_eq!(before, after, "{field} cleared something else");
        }
        let native = service.a.get(&format!("/v1/accounts/{cvu}")).await.is(200);
        assert_eq!(
            (&native["email"], &native["externalId"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(
            (&native["kyc"]["pep"], &native["kyc"]["dni"]),
            (&Value::Null, &Value::Null)
        );
    }
}

#[actix_web::test]
async fn a_part_of_an_address_is_cleared_by_itself_and_what_is_required_stays() {
    let service = TestService::start().await;
    let (id, cvu) = cuenta(&service.a).await;
    let path = format!("/wallet/v1/Cuenta/{id}");
    let body = json!({"domicilio": {"calle": "Otra", "numero": "5", "piso": null}});
    service.a.put(&path, &body).await.is(204);
    let read = service.a.get(&path).await.is(200);
    assert_eq!(
        read["domicilio"],
        json!({"calle": "Otra", "numero": "5", "piso": null, "departamento": "B",
            "localidadCodigo": "247", "provinciaCodigo": "1", "cp": "1006", "cpa": "C1006ABC",
            "localidadNombre": "Retiro", "provinciaNombre": "CABA"})
    );
    for field in ["cuitCuil", "habilitado"] {
        let refused = service.a.put(&path, &json!({field: null})).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field]);
    }
    // A person must keep a name, but may clear a business name that they do not need.
    for field in ["nombre", "apellido"] {
        let refused = service.a.put(&path, &json!({field: ""})).await;
        refused.refused(400, "name_required");
    }
    service
        .a
        .put(&path, &json!({"razonSocial": ""}))
        .await
        .is(204);
    let after = service.a.get(&path).await.is(200);
    assert_eq!(
        (&after["nombre"], &after["apellido"]),
        (&json!("Juan"), &json!("Pérez"))
    );
    // The native family clears the same fields, by null alone.
    let kyc = format!("/v1/accounts/{cvu}/kyc");
    let body = json!({"pep": null, "email": null, "address": {"apartment": null}});
    let changed = service.a.patch(&kyc, &body).await.is(200);
    assert_eq!(
        (
            &changed["kyc"]["pep"],
            &changed["email"],
            &changed["kyc"]["address"]["apartment"]
        ),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(changed["kyc"]["address"]["street"], "Otra");
    let read = service.a.get(&path).await.is(200);
    assert_eq!(
        (&read["esPep"], &read["email"]),
        (&json!(false), &json!(""))
    );
    assert_eq!(read["domicilio"]["departamento"], Value::Null);
    let changed = service
        .a
        .patch(&kyc, &json!({"address": null}))
        .await
        .is(200);
    let address = changed["kyc"]["address"].as_object().unwrap();
    assert!(address.values().all(Value::is_null), "{address:?}");
    service
        .a
        .patch(&kyc, &json!({"occupation": ""}))
        .await
        .refused(400, "invalid_request");
}

#[actix_web::test]
async fn what_was_cleared_stays_cleared_after_a_restart_and_its_code_is_free() {
    let mut service = TestService::start().await;
    let (id, _) = cuenta(&service.a).await;
    let path = format!("/wallet/v1/Cuenta/{id}");
    let code = service.a.get(&path).await.is(200)["codigo"].clone();
    let body = json!({"codigo": null, "dni": "", "nombre": "Juan Carlos"});
    service.a.put(&path, &body).await.is(204);
    let other = json!({"cuitCuil": cuit(fresh()), "razonSocial": "Otra SA", "codigo": code});
    service.a.post("/wallet/v1/Cuenta", &other).await.is(201);
    let before = service.a.get(&path).await.is(200).json;
    assert_eq!(
        (&before["codigo"], &before["dni"]),
        (&Value::Null, &Value::Null)
    );
    service.restart().await;
    assert_eq!(service.a.get(&path).await.is(200).json, before);
}

#[actix_web::test]
async fn a_native_rename_keeps_the_family_name_that_it_ends_with() {
    let service = TestService::start().await;
    let (id, cvu) = cuenta(&service.a).await;
    let holder =
        service.a.get(&format!("/v1/accounts/{cvu}")).await.is(200)["holder"]["cuit"].clone();
    for (name, nombre, apellido) in [
        ("Juan Carlos Pérez", "Juan Carlos", "Pérez"),
        ("Juan Pérez Gómez", "Juan Pérez Gómez", ""),
    ] {
        let body = json!({"titulares": [{"cuit": holder, "name": name}]});
        let path = format!("/v1/accounts/{cvu}/identidad");
        let done = service.a.patch(&path, &body).await.is(200);
        assert_eq!(done["holder"]["name"], name);
        let read = service
            .a
            .get(&format!("/wallet/v1/Cuenta/{id}"))
            .await
            .is(200);
        assert_eq!(
            (&read["nombre"], &read["apellido"]),
            (&json!(nombre), &json!(apellido))
        );
        let at_the_bank = service
            .a
            .get(&format!("/v1/lookup/cbu/{cvu}"))
            .await
            .is(200);
        assert_eq!(at_the_bank["holderName"], name);
    }
}

#[actix_web::test]
async fn a_document_fits_its_kind_and_nobody_is_born_in_the_future() {
    let service = TestService::start().await;
    let (id, cvu) = cuenta(&service.a).await;
    let kyc = format!("/v1/accounts/{cvu}/kyc");
    for (body, field) in [
        (json!({"documentType": "DNI", "dni": "AAB123456"}), "dni"),
        (json!({"dni": "12345"}), "dni"),
        (
            json!({"documentType": "PASAPORTE", "dni": "AAB 12345"}),
            "dni",
        ),
        (json!({"documentType": "PASAPORTE", "dni": "AA"}), "dni"),
        (json!({"birthDate": "2999-01-01"}), "birthDate"),
    ] {
        let refused = service.a.patch(&kyc, &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{body}");
    }
    let body = json!({"documentType": "PASAPORTE", "dni": "AAB12345"});
    assert_eq!(
        service.a.patch(&kyc, &body).await.is(200)["kyc"]["dni"],
        "AAB12345"
    );
    let path = format!("/wallet/v1/Cuenta/{id}");
    service
        .a
        .put(&path, &json!({"dni": "AAB123456"}))
        .await
        .is(204);
    assert_eq!(service.a.get(&path).await.is(200)["dni"], "AAB123456");
    for (body, field) in [
        (json!({"dni": "AAB-123"}), "dni"),
        (json!({"fechaNacimiento": "01-01-2999"}), "fechaNacimiento"),
    ] {
        let refused = service.a.put(&path, &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{body}");
    }
}
