//! The fields that the update of a wallet account accepts, and where they are shown.

use crate::support::client::fresh;
use crate::support::{Client, TestService, Value, cuit, json};

/// Fields that the update of a wallet account accepts: the value sent, the place where it is shown,
/// and the value there.
const UPDATES: &[(&str, &str, &str, &str)] = &[
    (
        "cuitCuil",
        r#""27-31254756-8""#,
        "/cuitCuil",
        r#""27312547568""#,
    ),
    ("nombre", r#""Bea""#, "/nombre", r#""Bea""#),
    ("apellido", r#""Sol""#, "/apellido", r#""Sol""#),
    ("razonSocial", r#""Sol SA""#, "/razonSocial", r#""Sol SA""#),
    (
        "email",
        r#""b@sol.example""#,
        "/email",
        r#""b@sol.example""#,
    ),
    (
        "celular",
        r#""+54 11 5555-5555""#,
        "/celular",
        r#""+54 11 5555-5555""#,
    ),
    (
        "actividadAfip",
        r#""620100""#,
        "/actividadAfip",
        r#""620100""#,
    ),
    ("esPep", "true", "/esPep", "true"),
    ("esUif", "true", "/esUif", "true"),
    ("esFatca", "true", "/esFatca", "true"),
    ("esFacta", "true", "/esFatca", "true"),
    ("nacionalidad", r#""AR""#, "kyc/nationality", r#""AR""#),
    ("codigo", r#""C-77""#, "/codigo", r#""C-77""#),
    ("habilitado", "false", "/habilitado", "false"),
    (
        "fechaNacimiento",
        r#""1949-02-16""#,
        "/fechaNacimiento",
        r#""1949-02-16""#,
    ),
    ("ocupacion", r#""JUBILADO""#, "/ocupacion", r#""JUBILADO""#),
    (
        "estadoCivil",
        r#""SOLTERO""#,
        "/estadoCivil",
        r#""SOLTERO""#,
    ),
    ("dni", r#""26756539""#, "/dni", r#""26756539""#),
    (
        "domicilio",
        r#"{"calle":"Maipú"}"#,
        "/domicilio/calle",
        r#""Maipú""#,
    ),
    (
        "domicilio",
        r#"{"numero":"1012"}"#,
        "/domicilio/numero",
        r#""1012""#,
    ),
    ("domicilio", r#"{"piso":"3"}"#, "/domicilio/piso", r#""3""#),
    (
        "domicilio",
        r#"{"departamento":"B"}"#,
        "/domicilio/departamento",
        r#""B""#,
    ),
    (
        "domicilio",
        r#"{"localidadCodigo":"247"}"#,
        "/domicilio/localidadCodigo",
        r#""247""#,
    ),
    (
        "domicilio",
        r#"{"provinciaCodigo":"02"}"#,
        "/domicilio/provinciaCodigo",
        r#""02""#,
    ),
    (
        "domicilio",
        r#"{"localidadId":247}"#,
        "/domicilio/localidadCodigo",
        r#""247""#,
    ),
    (
        "domicilio",
        r#"{"provinciaId":2}"#,
        "/domicilio/provinciaCodigo",
        r#""2""#,
    ),
    (
        "domicilio",
        r#"{"cp":"1006"}"#,
        "/domicilio/cp",
        r#""1006""#,
    ),
    (
        "datosDomicilio",
        r#"{"calle":"Maipú"}"#,
        "/domicilio/calle",
        r#""Maipú""#,
    ),
    (
        "datosDomicilio",
        r#"{"provinciaId":2}"#,
        "/domicilio/provinciaCodigo",
        r#""2""#,
    ),
];

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
