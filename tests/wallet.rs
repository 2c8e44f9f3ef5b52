//! The wallet family, in the words that existing clients already speak: none of our own types, only
//! their names, their quirks and their numbers.

mod changes;
mod cvu;
mod filtros;
mod lists;
mod refusals;
mod remuneracion;
mod vouchers;

use crate::support::client::fresh;
use crate::support::{Answer, Client, TestClock, TestService, Value, cuit, json};

/// Creates a wallet account of a person; returns its number.
async fn cuenta(client: &Client, nombre: &str, apellido: &str) -> u64 {
    let body = json!({"cuitCuil": cuit(fresh()), "nombre": nombre, "apellido": apellido});
    made(client, &body).await
}

/// Creates a wallet account; returns its number.
async fn made(client: &Client, body: &Value) -> u64 {
    let answer = client.post("/wallet/v1/Cuenta", body).await.is(201);
    answer["id"].as_u64().unwrap()
}

async fn read(client: &Client, id: u64) -> Answer {
    client.get(&format!("/wallet/v1/Cuenta/{id}")).await
}

/// Gives an account a CVU.
async fn cvu(client: &Client, id: u64) -> Value {
    let body = json!({"idCuenta": id, "nombreCVU": "Mi CVU"});
    client.post("/wallet/v1/CVU", &body).await.is(201).json
}

/// Creates a type; returns its number.
async fn tipo(client: &Client, codigo: &str, signo: i8) -> u64 {
    let body = json!({"nombre": codigo, "codigo": codigo, "signo": signo});
    let made = client.post("/wallet/v1/TipoComprobante", &body).await;
    made.is(201)["id"].as_u64().unwrap()
}

#[actix_web::test]
async fn a_client_that_is_there_already_does_its_day() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let mut service = TestService::at(&clock).await;
    let body = json!({
        "cuitCuil": "20-26756539-3", "nombre": "Juana", "apellido": "Azurduy", "razonSocial": "",
        "email": "juana@a.example", "celular": 1155555555_u64, "actividadAfip": 620_100,
        "esPep": false, "esUif": true, "esFacta": true, "nacionalidad": "ar", "codigo": 77,
        "habilitado": true, "fechaNacimiento": "1949-02-16", "ocupacion": "JUBILADO",
        "estadoCivil": "SOLTERO", "dni": 26_756_539,
        "domicilio": {"calle": "Maipú", "provinciaCodigo": "02", "piso": null, "departamento": ""},
        "datosDomicilio": {"calle": "Otra", "numero": 1012, "localidadId": 247, "provinciaId": 1, "cp": "1006", "barrio": "x"},
        "algoQueNadieLee": [1, 2],
    });
    let made = service.a.post("/wallet/v1/Cuenta", &body).await.is(201);
    assert_eq!(
        made.json,
        json!({"id": 1, "codigo": "77", "habilitado": true})
    );
    let own = json!({"idCuenta": "1", "nombreCVU": "Ahorros", "aliasAutomatico": true});
    let first = service.a.post("/wallet/v1/CVU", &own).await.is(201);
    service.restart().await;
    let again = service.a.post("/wallet/v1/CVU", &own).await.is(200);
    assert_eq!(again.json, first.json);
    let (carga, compra) = (
        tipo(&service.a, "carga", 1).await,
        tipo(&service.a, "COMPRA", -1).await,
    );
    assert_eq!((carga, compra), (1000, 1001));
    let credit = json!({
        "idCuenta": 1, "importe": 1234.50, "idTipoComprobante": carga, "referencia": "sueldo",
        "idExterno": "op-1", "fechaExterna": "2026-02-27", "otroCampo": null,
    });
    let credited = service
        .a
        .post("/wallet/v1/Comprobante", &credit)
        .await
        .is(201);
    assert!(
        credited.text.contains(r#""saldo":1234.50,"#),
        "{}",
        credited.text
    );
    clock.set("2026-03-03T15:00:00.000Z");
    service.restart().await;
    let debit = json!({"idCuenta": "1", "importe": "234.5", "codigo": "compra", "idExterno": 17});
    let debited = service
        .a
        .post("/wallet/v1/Comprobante", &debit)
        .await
        .is(201);
    assert_eq!(debited["availableBalance"], "1000.00");
    // The operation is found by its own id, as it was answered then.
    let reply = service
        .a
        .get("/wallet/v1/ComprobanteByIdExterno/op-1")
        .await
        .is(200);
    for (name, value) in [
        ("idComprobante", credited["id"].clone()),
        ("descripcionTipoComprobante", json!("carga")),
        ("fecha", json!("2026-03-02T15:04:05.678Z")),
        ("importe", json!(1234.5)),
        ("sentido", json!("1")),
        ("saldo", json!(1234.5)),
        ("idExterno", json!("op-1")),
        ("cvu", first["cvu"].clone()),
        ("idTipoComprobante", json!(1000)),
        ("idCuenta", json!(1)),
        ("referencia", json!("sueldo")),
        ("fechaExterna", json!("2026-02-27")),
    ] {
        assert_eq!(reply[name], value, "{name}");
    }
    let debited = service
        .a
        .get("/wallet/v1/ComprobanteByIdExterno/17")
        .await
        .is(200);
    assert_eq!(
        (&debited["sentido"], &debited["importe"]),
        (&json!("-1"), &json!(234.5))
    );
    let now = service.a.get("/wallet/v1/SaldosActuales").await.is(200);
    let balance = json!({
        "saldo": 1000.0, "availableBalance": "1000.00", "heldBalance": "0.00",
        "totalBalance": "1000.00", "cvu": first["cvu"], "idCuenta": 1,
    });
    assert_eq!(
        now.json,
        json!({"totalPages": 1, "totalRecords": 1, "items": [balance], "saldos": [balance]})
    );
    for (query, balance) in [
        ("fecha=2026-03-02", "1234.50"),
        ("date=02-03-2026", "1234.50"),
        ("fecha=2026-03-03&date=03-03-2026", "1000.00"),
        ("fecha=2026-03-01", "0.00"),
    ] {
        let path = format!("/wallet/v1/SaldoHistoricoByIdCuenta/1?{query}");
        let then = service.a.get(&path).await.is(200);
        assert_eq!(then["availableBalance"], balance, "{query}");
        assert!(
            then.text.contains(&format!(r#""saldo":{balance},"#)),
            "{}",
            then.text
        );
    }
    // The fields of every account, with the quirks resolved.
    let shown = read(&service.a, 1).await.is(200);
    for (name, value) in [
        ("id", json!(1)),
        ("cuitCuil", json!("20267565393")),
        ("nombre", json!("Juana")),
        ("apellido", json!("Azurduy")),
        ("razonSocial", json!("")),
        ("email", json!("juana@a.example")),
        ("celular", json!("1155555555")),
        ("actividadAfip", json!("620100")),
        ("habilitado", json!(true)),
        ("esPep", json!(false)),
        ("esFatca", json!(true)),
        ("esUif", json!(true)),
        ("tenantId", json!("tnt_first")),
        ("codigo", json!("77")),
        ("cvu", first["cvu"].clone()),
        ("alias", first["alias"].clone()),
        ("nombreCvu", json!("Ahorros")),
        ("cuentaCVUId", first["id"].clone()),
        ("fechaNacimiento", json!("1949-02-16")),
        ("ocupacion", json!("JUBILADO")),
        ("estadoCivil", json!("SOLTERO")),
        ("dni", json!("26756539")),
        ("fechaAltaSiscri", Value::Null),
    ] {
        assert_eq!(shown[name], value, "{name}");
    }
    let address = json!({
        "calle": "Maipú", "numero": "1012", "piso": null, "departamento": null,
        "localidadCodigo": "247", "provinciaCodigo": "02", "cp": "1006", "cpa": null,
        "localidadNombre": null, "provinciaNombre": null,
    });
    assert_eq!(shown["domicilio"], address);
    service.verified().await;
}
