//! A client of a walletentidad in which only URL and header were changed, with the bodies that its
//! documentation publishes: each call with the expected answer, and the notices that such a client gets.

use caudal_ledger::tenants::Policy;

use crate::support::{Client, SOON, TestService, Value, json, wait_until};
use crate::webhooks::hook::Hook;
use crate::webhooks::inbox::Inbox;

/// The paths of that API's services, and the one path that replaces them.
const SERVICES: [&str; 3] = [
    "/walletentidad-cuenta/v1/api/v1.201/",
    "/walletentidad-comprobante/v1/api/v1.201/",
    "/walletentidad-operaciones/v1/api/v1.201/",
];
const HERE: &str = "/wallet/v1/";

/// A call as published; `{name}` stands for a value from an earlier answer.
struct Step {
    /// Method and path.
    call: &'static str,
    body: &'static str,
    status: u16,
    /// Places in the answer, each with the expected value; empty if any value will do.
    shows: &'static [(&'static str, &'static str)],
    /// Values kept for later steps: a name, and its place in the answer.
    keeps: &'static [(&'static str, &'static str)],
}

const STEP: Step = Step {
    call: "",
    body: "",
    status: 200,
    shows: &[],
    keeps: &[],
};

const CUENTA: &str = r#"{"codigo":"codigo125","cuitCuil":"20374315679","nombre":"Juan","apellido":"Perez",
    "razonSocial":"Juan Perez SA","email":"juanperez@gmail.com","celular":"1168599999",
    "actividadAfip":"000012","habilitado":true,"datosDomicilio":{"calle":"Maipu","numero":"1012",
    "piso":"7","departamento":null,"localidadId":247,"provinciaId":1,"cp":"1006"},"esPep":false,
    "esFacta":false,"esUif":false,"nacionalidad":"AR","fechaNacimiento":"1989-02-16",
    "ocupacion":"ESTUDIANTE","estadoCivil":"CASADO","dni":"37431567"}"#;
const COMPROBANTE: &str = r#"{"idTipoComprobante":{tipo},"idCuenta":{cuenta},"importe":1000,
    "referencia":"Recarga","idComprobanteRelacionado":null,"idExterno":"123","fechaExterna":"2024-09-03"}"#;
const TRANSFERENCIA: &str = r#"{"cvu_origen":"{cvu}","cbu_cvu_destino":"0000531909000067076630",
    "cuit_destino":"27334312758","alias_destino":null,"importe":100.21,"referencia":"futbol 5",
    "concepto":"VAR","emails":["roberto@gmail.com"],"idExterno":"1234"}"#;

/// The calls of such a client in its first days.
const CALLS: &[Step] = &[
    // Accounts.
    Step {
        call: "POST /walletentidad-cuenta/v1/api/v1.201/Cuenta",
        body: CUENTA,
        status: 201,
        shows: &[("/habilitado", "true")],
        keeps: &[("cuenta", "/id")],
    },
    Step {
        call: "POST /walletentidad-cuenta/v1/api/v1.201/Cuenta",
        body: CUENTA,
        status: 409,
        ..STEP
    },
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/Cuenta/{cuenta}",
        shows: &[
            ("/cuitCuil", r#""20374315679""#),
            ("/esFatca", "false"),
            ("/domicilio/localidadCodigo", r#""247""#),
            ("/domicilio/departamento", "null"),
        ],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/CuentaByCuit?cuit=20374315679",
        shows: &[("/0/codigo", r#""codigo125""#)],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/Cuentas?pageNumber=0&pageSize=5",
        shows: &[("/totalRecords", "1"), ("/items/0/id", "{cuenta}")],
        ..STEP
    },
    Step {
        call: "PUT /walletentidad-cuenta/v1/api/v1.201/Cuenta/{cuenta}",
        body: CUENTA,
        status: 204,
        ..STEP
    },
    Step {
        call: "PATCH /walletentidad-cuenta/v1/api/v1.201/Habilitado/Cuenta/{cuenta}",
        body: r#"{"habilitado":true}"#,
        status: 204,
        ..STEP
    },
    // CVU and alias.
    Step {
        call: "POST /walletentidad-cuenta/v1/api/v1.201/CVU",
        body: r#"{"idCuenta":{cuenta},"nombreCVU":"Juan Alberto Perez"}"#,
        status: 201,
        shows: &[("/nombreCvu", r#""Juan Alberto Perez""#), ("/alias", "")],
        keeps: &[("registro", "/id"), ("cvu", "/cvu")],
    },
    Step {
        call: "PATCH /walletentidad-cuenta/v1/api/v1.201/AsignarAlias/CVU/{registro}",
        body: r#"{"alias":"Carlitos.perez7896"}"#,
        shows: &[("/id", "{registro}"), ("/alias", r#""Carlitos.perez7896""#)],
        ..STEP
    },
    Step {
        call: "PATCH /walletentidad-cuenta/v1/api/v1.201/AsignarAlias/CVU/{cuenta}",
        body: r#"{"alias":"Carlitos.perez7897","idEsCuenta":true}"#,
        shows: &[("/alias", r#""Carlitos.perez7897""#)],
        ..STEP
    },
    // Types and vouchers.
    Step {
        call: "POST /walletentidad-comprobante/v1/api/v1.201/TipoComprobante",
        body: r#"{"nombre":"Carga de saldo en efectivo","codigo":"CARGA","descripcion":"Carga","signo":1,
            "tipoMovimiento":"003"}"#,
        status: 201,
        keeps: &[("tipo", "/id")],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-comprobante/v1/api/v1.201/TiposComprobantes",
        shows: &[
            ("/13/id", "{tipo}"),
            ("/13/signo", "1"),
            ("/13/habilitado", "true"),
        ],
        ..STEP
    },
    Step {
        call: "POST /walletentidad-comprobante/v1/api/v1.201/Comprobante",
        body: COMPROBANTE,
        status: 201,
        shows: &[("/saldo", "1000.0")],
        keeps: &[("comprobante", "/id")],
    },
    // A repeat returns the first voucher, and posts no second one.
    Step {
        call: "POST /walletentidad-comprobante/v1/api/v1.201/Comprobante",
        body: COMPROBANTE,
        status: 201,
        shows: &[("/id", r#""{comprobante}""#), ("/saldo", "1000.0")],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-comprobante/v1/api/v1.201/Comprobante/{comprobante}",
        shows: &[("/signo", "1"), ("/sentido", r#""1""#)],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-comprobante/v1/api/v1.201/ComprobanteByIdExterno/123",
        shows: &[
            ("/idComprobante", r#""{comprobante}""#),
            ("/fechaExterna", r#""2024-09-03""#),
        ],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-comprobante/v1/api/v1.201/ComprobantesByFilters?fechaDesde=2024-09-01&fechaHasta=2999-09-04&pageNumber=1&pageSize=3",
        shows: &[
            ("/totalRecords", "1"),
            ("/comprobantes/0/idComprobante", r#""{comprobante}""#),
        ],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-comprobante/v1/api/v1.201/ComprobantesByFilters?fechaDesde=2024-09-01&fechaHasta=2024-09-04&pageNumber=1&pageSize=3&idCuenta={cuenta}&signo=-1&orderByDesc=false",
        shows: &[("/totalRecords", "0"), ("/comprobantes", "[]")],
        ..STEP
    },
    // Balances.
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/SaldoActualByIdCuenta/{cuenta}",
        shows: &[("/saldo", "1000.0")],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/SaldoActualByCVU/{cvu}",
        shows: &[("/saldo", "1000.0")],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/SaldosActuales?pageNumber=1&pageSize=3",
        shows: &[
            ("/saldos/0/idCuenta", "{cuenta}"),
            ("/saldos/0/saldo", "1000.0"),
        ],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/SaldoHistoricoByCVU?cvu={cvu}&fecha=2024-03-01",
        shows: &[("/saldo", "0.0")],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/SaldoHistoricoByIdCuenta?idCuenta={cuenta}&fecha=01-06-2024",
        shows: &[("/saldo", "0.0")],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/MovimientosCliente?idCuenta={cuenta}",
        shows: &[("/items/0/idComprobante", r#""{comprobante}""#)],
        ..STEP
    },
    // Transfers.
    Step {
        call: "GET /walletentidad-cuenta/v1/api/v1.201/CuentaCVUByCbuCvuOrAlias?cbuOrCvu=0000532609100002749314&alias=null",
        shows: &[("/moneda", r#""ARS""#), ("/entidad", r#""0532""#)],
        ..STEP
    },
    Step {
        call: "POST /walletentidad-operaciones/v1/api/v1.201/transferir",
        body: TRANSFERENCIA,
        shows: &[
            ("/importe", "100.21"),
            ("/esTransferenciaInterna", "false"),
            ("/cvuCbuContraparte", r#""0000531909000067076630""#),
        ],
        keeps: &[("operacion", "/operacionId")],
        ..STEP
    },
    Step {
        call: "POST /walletentidad-operaciones/v1/api/v1.201/transferir",
        body: TRANSFERENCIA,
        shows: &[("/operacionId", r#""{operacion}""#)],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-operaciones/v1/api/v1.201/Operacion/{operacion}",
        shows: &[("/tipoOperacionId", "1"), ("/cuentaId", "{cuenta}")],
        ..STEP
    },
    Step {
        call: "GET /walletentidad-operaciones/v1/api/v1.201/OperacionByIdExterno/1234",
        shows: &[("/id", r#""{operacion}""#), ("/importe", "100.21")],
        ..STEP
    },
    // The end.
    Step {
        call: "DELETE /walletentidad-comprobante/v1/api/v1.201/TipoComprobante/{tipo}",
        status: 204,
        ..STEP
    },
    Step {
        call: "DELETE /walletentidad-cuenta/v1/api/v1.201/CVU/{registro}",
        status: 204,
        ..STEP
    },
];

/// The client, with the values it has kept.
struct Migrated<'a> {
    client: &'a Client,
    names: Vec<(&'static str, String)>,
}

impl Migrated<'_> {
    fn filled(&self, text: &str) -> String {
        let fill = |text: String, (name, value): &(&str, String)| {
            text.replace(&format!("{{{name}}}"), value)
        };
        self.names.iter().fold(text.to_owned(), fill)
    }

    /// Takes a step; returns every deviation from the expected answer.
    async fn take(&mut self, step: &Step) -> String {
        let (method, path) = step.call.split_once(' ').unwrap();
        let service = SERVICES.iter().find(|it| path.starts_with(**it)).unwrap();
        let path = self.filled(&path.replace(service, HERE));
        let mut call = self.client.call(method, &path);
        if !step.body.is_empty() {
            call = call.text(self.filled(step.body));
        }
        let answer = call.await;
        let mut wrong = String::new();
        if answer.status != step.status {
            wrong += &format!("{} {path}: {} {}\n", method, answer.status, answer.text);
        }
        for (place, right) in step.shows {
            let found = answer.json.pointer(place);
            let right = self.filled(right);
            let right = (!right.is_empty()).then(|| serde_json::from_str::<Value>(&right).unwrap());
            let fits = match &right {
                Some(right) => found == Some(right),
                None => found.is_some(),
            };
            if !fits {
                wrong += &format!("{method} {path}: {place} is {found:?}, not {right:?}\n");
            }
        }
        for (name, place) in step.keeps {
            let value = answer.json.pointer(place).cloned().unwrap_or_default();
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            self.names.push((name, text));
        }
        wrong
    }
}

/// The service as `caudal dev` configures it: the published CUITs have wrong check digits.
async fn service() -> TestService {
    let service = TestService::start().await;
    let relaxed_test_cuit = true;
    service
        .policy(Policy {
            relaxed_test_cuit,
            ..Policy::default()
        })
        .await;
    service
}

#[actix_web::test]
async fn a_client_runs_with_its_url_and_header_changed() {
    let service = service().await;
    let mut migrated = Migrated {
        client: &service.a,
        names: Vec::new(),
    };
    let mut wrong = String::new();
    let (closing, steps) = CALLS.split_last().unwrap();
    for step in steps {
        wrong += &migrated.take(step).await;
    }
    // Before the CVU is closed, since the bank would refuse a transfer from a closed one.
    let path = migrated.filled("/wallet/v1/Operacion/{operacion}");
    let ended = wait_until("the transfer's end", SOON, async || {
        let read = service.a.get(&path).await.is(200);
        (read["estadoOperacionId"] == 2).then_some(read.json)
    });
    let ended = ended.await;
    assert_eq!(ended["estadoOperacionNombre"], "Aprobada");
    wrong += &migrated.take(closing).await;
    assert!(wrong.is_empty(), "{wrong}");
    service.verified().await;
}

/// The fields of an operation's notice, which are always all there.
const NOTICE: &[&str] = &[
    "mensajeId",
    "evento",
    "operacionId",
    "operacionTipo",
    "operacionEstado",
    "cuentaId",
    "importe",
    "nombreContraparte",
    "bancoContraparte",
    "referencia",
    "cuitContraparte",
    "cvuCbuContraparte",
    "aliasContraparte",
    "coelsaId",
    "idExterno",
    "motivoRechazo",
    "comprobanteId",
    "comprobanteDevolucionId",
    "fechaCreacion",
    "fechaActualizacion",
];

#[actix_web::test]
async fn a_webhook_may_carry_the_notices_that_such_a_client_knows() {
    let service = service().await;
    service.hear().await;
    let (a, inbox) = (&service.a, Inbox::start());
    let first = a.cvu().await;
    let second = a.cvu().await;
    let body = json!({"url": inbox.url("/avisos"), "format": "walletentidad"});
    let hook = Hook::with(a, &body).await;
    assert_eq!(hook.read().await["format"], "walletentidad");
    // This format carries no adjustments; it carries money that arrives, money that leaves, and refused
    // transfers.
    a.in_and_out().await;
    a.credit(&first, "500.00").await;
    let coelsa = service.bank.cash_in(&first, "30.00").await;
    wait_until("the money", SOON, async || {
        (a.available(&first).await == "530.00").then_some(())
    })
    .await;
    let mut sent = Vec::new();
    for (to, status) in [
        (json!({"cvu": second}), "completed"),
        (json!({"alias": "DESTINO.0"}), "completed"),
        (json!({"alias": "DESTINO.1"}), "rejected"),
    ] {
        let made = a.transfer(&first, to, "10.00").await.is(201).json;
        sent.push(a.settled(&made, status).await);
    }
    let account = a.get(&format!("/v1/accounts/{first}")).await.is(200)["walletAccountId"].clone();
    let path = format!("/wallet/v1/Habilitado/Cuenta/{account}");
    a.patch(&path, &json!({"habilitado": false})).await.is(204);

    let came = inbox.came(6).await;
    let mut reply = Vec::new();
    for call in &came {
        assert_eq!(call.signed(&hook.secret), Ok(()));
        let body = call.body();
        assert_eq!(body["mensajeId"], call.id.as_str());
        if body["evento"] != "DESHABILITAR_CUENTA" {
            let names: Vec<_> = body.as_object().unwrap().keys().collect();
            let mut right = NOTICE.to_vec();
            right.sort_unstable();
            assert_eq!(names, right);
        }
        let text = |name: &str| body[name].as_str().unwrap_or("-").to_owned();
        reply.push((text("evento"), text("operacionEstado"), text("operacionId")));
    }
    reply.sort();
    let id = |at: usize| sent[at]["id"].as_str().unwrap().to_owned();
    let incoming = |evento: &str| {
        let found = came.iter().find(|call| call.body()["evento"] == evento);
        let body = found.unwrap_or_else(|| panic!("no {evento}")).body();
        assert_eq!(body["operacionId"], body["comprobanteId"]);
        body
    };
    let arrived = incoming("TRANSFERENCIA_ENTRANTE");
    assert_eq!(arrived["coelsaId"], coelsa.as_str());
    assert_eq!(
        (&arrived["importe"], &arrived["cuentaId"]),
        (&json!(30.0), &account)
    );
    let inside = incoming("TRANSFERENCIA_ENTRANTE_INTERNA");
    let of = |body: &Value| body["operacionId"].as_str().unwrap().to_owned();
    let mut right = vec![
        ("DESHABILITAR_CUENTA", "-", "-".to_owned()),
        ("TRANSFERENCIA_ENTRANTE", "Aprobada", of(&arrived)),
        ("TRANSFERENCIA_ENTRANTE_INTERNA", "Aprobada", of(&inside)),
        ("TRANSFERENCIA_SALIENTE", "Aprobada", id(1)),
        ("TRANSFERENCIA_SALIENTE", "Rechazada", id(2)),
        ("TRANSFERENCIA_SALIENTE_INTERNA", "Aprobada", id(0)),
    ];
    right.sort();
    let right: Vec<_> = right
        .into_iter()
        .map(|(event, state, id)| (event.to_owned(), state.to_owned(), id))
        .collect();
    assert_eq!(reply, right);
    // Each operation can be read under the id in its notice.
    for (_, _, id) in reply.iter().filter(|(_, _, id)| id != "-") {
        let read = a.get(&format!("/wallet/v1/Operacion/{id}")).await.is(200);
        assert_eq!(read["id"], id.as_str());
    }
    // A requested test has the same form, and another format applies from the change on.
    a.call("POST", &format!("{}/test", hook.path)).await.is(200);
    let tried = inbox.came(7).await.pop().unwrap().body();
    assert_eq!(tried["evento"], "PRUEBA");
    hook.change(&json!({"format": "standard", "types": ["account.enabled"]}))
        .await;
    a.patch(&path, &json!({"habilitado": true})).await.is(204);
    let standard = inbox.came(8).await.pop().unwrap().body();
    assert_eq!(standard["type"], "account.enabled");
    let wrong = a.patch(&hook.path, &json!({"format": "flat"})).await;
    wrong.refused(400, "invalid_request");
}
