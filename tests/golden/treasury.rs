//! The bodies of clients' positions, in both families.

use super::Golden;

/// Operations whose exact bodies are tested elsewhere: those of the treasury show an instant of the
/// bank's clock, which does not stand still, and the stream has no end.
pub const ELSEWHERE: &[&str] = &[
    "GET /v1/treasury",
    "GET /wallet/v1/Tesoreria",
    "GET /v1/events/stream",
];

/// The answers about one client, which has a credit and a hold.
pub const TREASURY: &[Golden] = &[
    Golden {
        request: "GET /v1/treasury/positions?min=100&limit=2",
        body: r#""#,
        status: 200,
        answer: r#"
            {"items":[{"cvu":"0000999100000287336728","alias":"Mar.De.Sal","walletAccountId":1,
            "holderName":"Ana Paz","cuit":"27312547568","status":"active","available":"70.10",
            "held":"30.00","total":"100.10","lastMovementAt":"2026-03-02T15:04:05.678Z"}],
            "total":1,"limit":2,"offset":0,"next":null}"#,
    },
    Golden {
        request: "GET /v1/treasury/positions/0000999100000287336728",
        body: r#""#,
        status: 200,
        answer: r#"
            {"cvu":"0000999100000287336728","alias":"Mar.De.Sal","walletAccountId":1,
            "holderName":"Ana Paz","cuit":"27312547568","status":"active","available":"70.10",
            "held":"30.00","total":"100.10","lastMovementAt":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "GET /v1/treasury/positions/0000999100000287336728/movements?limit=1",
        body: r#""#,
        status: 200,
        answer: r#"
            [{"id":"cmp_00000040000000200000005qskt6g8z5","cvu":"0000999100000287336728","sequence":2,
            "ledgerType":"hold","amount":"30.00","availableAfter":"70.10","heldAfter":"30.00",
            "totalAfter":"100.10","voucherTypeCode":"HOLD","voucherTypeName":"Hold",
            "idExterno":"reserva-1","referenceType":"hold",
            "referenceId":"hld_00000040000000200000005qskt6g8z5","description":null,"counterparty":null,
            "createdAt":"2026-03-02T15:04:05.678Z"}]"#,
    },
    Golden {
        request: "GET /v1/treasury/positions/0000999100000287336728/balance/historical?date=2026-03-02",
        body: r#""#,
        status: 200,
        answer: r#"
            {"cvu":"0000999100000287336728","date":"2026-03-02","available":"70.10",
            "held":"30.00","total":"100.10","sequence":2,
            "lastMovementAt":"2026-03-02T15:04:05.678Z","final":false}"#,
    },
    Golden {
        request: "GET /v1/accounts/0000999100000287336728/statements?from=2026-03-02&to=2026-03-02",
        body: r#""#,
        status: 200,
        answer: r#"
            {"cvu":"0000999100000287336728","alias":"Mar.De.Sal","walletAccountId":1,"holderName":"Ana Paz",
            "cuit":"27312547568","provider":"Tenant tnt_first","from":"2026-03-02","to":"2026-03-02",
            "final":false,"currency":"ARS","opening":{"available":"0.00","held":"0.00","total":"0.00"},
            "closing":{"available":"70.10","held":"30.00","total":"100.10"},"sums":{"credit":{"count":1,
            "amount":"100.10"},"debit":{"count":0,"amount":"0.00"},"hold":{"count":1,"amount":"30.00"},
            "release":{"count":0,"amount":"0.00"},"confirmHold":{"count":0,"amount":"0.00"}},"movements":2,
            "lastSequence":2,"hash":"64e6b19a83c7262b9b0de51781bfc54c9fea303ad0f99e7ee6bd810afb9fc5f3",
            "lines":[{"sequence":1,"id":"cmp_00000040000000200000002fnbb8vryk",
            "createdAt":"2026-03-02T15:04:05.678Z","ledgerType":"credit","amount":"100.10",
            "availableAfter":"100.10","heldAfter":"0.00","totalAfter":"100.10","voucherTypeCode":"CARGA",
            "voucherTypeName":"Type CARGA","idExterno":"a","referenceType":"adjustment",
            "referenceId":"cmp_00000040000000200000002fnbb8vryk","description":null,"counterpartyName":null,
            "counterpartyCuit":null,"counterpartyCbu":null},{"sequence":2,
            "id":"cmp_00000040000000200000005qskt6g8z5","createdAt":"2026-03-02T15:04:05.678Z",
            "ledgerType":"hold","amount":"30.00","availableAfter":"70.10","heldAfter":"30.00",
            "totalAfter":"100.10","voucherTypeCode":"HOLD","voucherTypeName":"Hold","idExterno":"reserva-1",
            "referenceType":"hold","referenceId":"hld_00000040000000200000005qskt6g8z5","description":null,
            "counterpartyName":null,"counterpartyCuit":null,"counterpartyCbu":null}]}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldosClientes?q=paz&pageSize=1",
        body: r#""#,
        status: 200,
        answer: r#"
            {"totalPages":1,"totalRecords":1,"items":[{"idCuenta":1,
            "cvu":"0000999100000287336728","alias":"Mar.De.Sal","nombre":"Ana Paz",
            "cuitCuil":"27312547568","saldo":70.10,"availableBalance":"70.10",
            "heldBalance":"30.00","totalBalance":"100.10",
            "fechaUltimoMovimiento":"2026-03-02T15:04:05.678Z"}]}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldoClienteByCVU/0000999100000287336728",
        body: r#""#,
        status: 200,
        answer: r#"
            {"idCuenta":1,"cvu":"0000999100000287336728","alias":"Mar.De.Sal",
            "nombre":"Ana Paz","cuitCuil":"27312547568","saldo":70.10,
            "availableBalance":"70.10","heldBalance":"30.00","totalBalance":"100.10",
            "fechaUltimoMovimiento":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldoClienteByIdCuenta/1",
        body: r#""#,
        status: 200,
        answer: r#"
            {"idCuenta":1,"cvu":"0000999100000287336728","alias":"Mar.De.Sal",
            "nombre":"Ana Paz","cuitCuil":"27312547568","saldo":70.10,
            "availableBalance":"70.10","heldBalance":"30.00","totalBalance":"100.10",
            "fechaUltimoMovimiento":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "GET /wallet/v1/MovimientosCliente?idCuenta=1",
        body: r#""#,
        status: 200,
        answer: r#"
            {"totalRecords":2,"items":[{"idComprobante":"cmp_00000040000000200000005qskt6g8z5",
            "descripcionTipoComprobante":"Retención","fecha":"2026-03-02T15:04:05.678Z",
            "importe":30.00,"sentido":"-1","signo":-1,"saldo":70.10,"idExterno":"reserva-1",
            "cvu":"0000999100000287336728","idTipoComprobante":3,"codigo":"HOLD","idCuenta":1,
            "referencia":null,"fechaExterna":null,"contraparte":null,"sentidoLedger":"hold",
            "availableBalance":"70.10","heldBalance":"30.00","totalBalance":"100.10",
            "fechaNegocio":"2026-03-02","fechaProceso":"2026-03-02",
            "fechaPublicacion":"2026-03-03"},{"idComprobante":"cmp_00000040000000200000002fnbb8vryk",
            "descripcionTipoComprobante":"Type CARGA","fecha":"2026-03-02T15:04:05.678Z",
            "importe":100.10,"sentido":"1","signo":1,"saldo":100.10,"idExterno":"a",
            "cvu":"0000999100000287336728","idTipoComprobante":1000,"codigo":"CARGA","idCuenta":1,
            "referencia":null,"fechaExterna":null,"contraparte":null,"sentidoLedger":"credit",
            "availableBalance":"100.10","heldBalance":"0.00","totalBalance":"100.10",
            "fechaNegocio":"2026-03-02","fechaProceso":"2026-03-02",
            "fechaPublicacion":"2026-03-03"}]}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldoClienteHistoricoByCVU/0000999100000287336728?date=02-03-2026",
        body: r#""#,
        status: 200,
        answer: r#"
            {"date":"2026-03-02","saldo":70.10,"availableBalance":"70.10","heldBalance":"30.00",
            "totalBalance":"100.10","cvu":"0000999100000287336728","idCuenta":1}"#,
    },
];
