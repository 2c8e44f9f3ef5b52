//! The bodies of what clients of a walletentidad also call.

use super::Golden;

/// A story that calls each operation.
pub const WALLETENTIDAD: &[Golden] = &[
    Golden {
        request: "POST /wallet/v1/Cuenta",
        body: r#"{"cuitCuil":"20-26756539-3","nombre":"Juana","apellido":"Azurduy","codigo":12}"#,
        status: 201,
        answer: r#"
            {"id":1,"codigo":"12","habilitado":true}"#,
    },
    Golden {
        request: "POST /wallet/v1/CVU",
        body: r#"{"idCuenta":1,"nombreCVU":"Ahorros","aliasAutomatico":false}"#,
        status: 201,
        answer: r#"
            {"id":20000001,"cvu":"0000999100000219821526","alias":"","idCuenta":1,
            "nombreCvu":"Ahorros"}"#,
    },
    Golden {
        request: "PATCH /wallet/v1/AsignarAlias/CVU/20000001",
        body: r#"{"alias":"Carlitos.perez7896"}"#,
        status: 200,
        answer: r#"
            {"id":20000001,"cvu":"0000999100000219821526","alias":"Carlitos.perez7896","idCuenta":1,
            "nombreCvu":"Ahorros"}"#,
    },
    Golden {
        request: "POST /wallet/v1/TipoComprobante",
        body: r#"{"nombre":"Carga de saldo","codigo":"carga","signo":1}"#,
        status: 201,
        answer: r#"
            {"id":1000}"#,
    },
    Golden {
        request: "GET /wallet/v1/TiposComprobantes",
        body: r#""#,
        status: 200,
        answer: r#"
            [{"id":null,"nombre":"Credit","codigo":"CREDIT","descripcion":null,"signo":1,
            "sentido":"1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Debit","codigo":"DEBIT","descripcion":null,"signo":-1,
            "sentido":"-1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Hold","codigo":"HOLD","descripcion":null,"signo":-1,
            "sentido":"-1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Release of a hold","codigo":"RELEASE","descripcion":null,"signo":1,
            "sentido":"1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Confirmation of a hold","codigo":"CONFIRM_HOLD","descripcion":null,"signo":-1,
            "sentido":"-1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Incoming transfer","codigo":"TRANSFER_IN","descripcion":null,"signo":1,
            "sentido":"1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Outgoing transfer","codigo":"TRANSFER_OUT","descripcion":null,"signo":-1,
            "sentido":"-1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Reversal of a transfer","codigo":"TRANSFER_REVERSAL","descripcion":null,"signo":1,
            "sentido":"1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Internal transfer received","codigo":"INTERNAL_P2P_IN","descripcion":null,"signo":1,
            "sentido":"1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Internal transfer sent","codigo":"INTERNAL_P2P_OUT","descripcion":null,"signo":-1,
            "sentido":"-1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Fee","codigo":"FEE","descripcion":null,"signo":-1,
            "sentido":"-1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Tax on a fee","codigo":"FEE_TAX","descripcion":null,"signo":-1,
            "sentido":"-1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":null,"nombre":"Remuneration of the balance","codigo":"REMUNERATION","descripcion":null,"signo":1,
            "sentido":"1","tipoMovimiento":null,"habilitado":true,"reservado":true},
            {"id":1000,"nombre":"Carga de saldo","codigo":"CARGA","descripcion":null,"signo":1,
            "sentido":"1","tipoMovimiento":null,"habilitado":true,"reservado":false}]"#,
    },
    Golden {
        request: "POST /wallet/v1/Comprobante",
        body: r#"{"idCuenta":1,"importe":1234.50,"idTipoComprobante":1000,"idExterno":"a","referencia":"sueldo","fechaExterna":"27-02-2026"}"#,
        status: 201,
        answer: r#"
            {"id":"cmp_00000040000000200000002fnbb8vryk","saldo":1234.50,"availableBalance":"1234.50",
            "heldBalance":"0.00","totalBalance":"1234.50"}"#,
    },
    Golden {
        request: "GET /wallet/v1/Comprobante/cmp_00000040000000200000002fnbb8vryk",
        body: r#""#,
        status: 200,
        answer: r#"
            {"idComprobante":"cmp_00000040000000200000002fnbb8vryk",
            "descripcionTipoComprobante":"Carga de saldo","fecha":"2026-03-02T15:04:05.678Z",
            "importe":1234.50,"sentido":"1","signo":1,"saldo":1234.50,"idExterno":"a",
            "cvu":"0000999100000219821526","idTipoComprobante":1000,"idCuenta":1,
            "referencia":"sueldo","fechaExterna":"2026-02-27"}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldoActualByIdCuenta/1",
        body: r#""#,
        status: 200,
        answer: r#"
            {"saldo":1234.50,"availableBalance":"1234.50","heldBalance":"0.00",
            "totalBalance":"1234.50","cvu":"0000999100000219821526","idCuenta":1}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldoActualByCVU/0000999100000219821526",
        body: r#""#,
        status: 200,
        answer: r#"
            {"saldo":1234.50,"availableBalance":"1234.50","heldBalance":"0.00",
            "totalBalance":"1234.50","cvu":"0000999100000219821526","idCuenta":1}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldoHistoricoByIdCuenta?idCuenta=1&fecha=2026-03-02",
        body: r#""#,
        status: 200,
        answer: r#"
            {"saldo":1234.50,"availableBalance":"1234.50","heldBalance":"0.00",
            "totalBalance":"1234.50","cvu":"0000999100000219821526","idCuenta":1,
            "date":"2026-03-02"}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldoHistoricoByCVU?cvu=0000999100000219821526&fecha=02-03-2026",
        body: r#""#,
        status: 200,
        answer: r#"
            {"saldo":1234.50,"availableBalance":"1234.50","heldBalance":"0.00",
            "totalBalance":"1234.50","cvu":"0000999100000219821526","idCuenta":1,
            "date":"2026-03-02"}"#,
    },
    Golden {
        request: "DELETE /wallet/v1/TipoComprobante/1000",
        body: r#""#,
        status: 204,
        answer: r#""#,
    },
    Golden {
        request: "DELETE /wallet/v1/CVU/20000001",
        body: r#""#,
        status: 204,
        answer: r#""#,
    },
];
