//! The rows: how each operation is called successfully.

use super::{Ids, ROW, Row};
use crate::support::client::fresh;
use crate::support::{Value, cuit, json};

const BAD_NUMBERS: &[&str] = &["abc", "-1", "1.5", "1e3", "%00", "%201"];
pub const BAD_CVUS: &[&str] = &[
    "1",
    "abc",
    "0000532609100002749315",
    "000053260910000274931",
    "00005326091000027493140",
    "2850590940090418135201",
    "0000000000000000000000",
    "000053260910000274931%00",
];
const BAD_CBUS: &[&str] = &[
    "1",
    "abc",
    "2850590940090418135200",
    "285059094009041813520",
    "28505909400904181352010",
    "2850590940090418135201%00",
];
const BAD_CODES: &[&str] = &[
    "A",
    "con%20espacio",
    "%C3%91ANDU",
    "A+B",
    "AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDE",
];

#[expect(clippy::too_many_lines, reason = "a table")]
pub fn table() -> Vec<Row> {
    let cvu = Row {
        path: |ids| vec![&ids.cvu],
        malformed: BAD_CVUS,
        ..ROW
    };
    let hold = Row {
        path: |ids| vec![&ids.hold],
        ..ROW
    };
    let wallet = Row {
        lenient: true,
        ..ROW
    };
    // Each realm counts its own numbers: one that means nothing here cannot be told from another
    // realm's.
    let cuenta = Row {
        path: |ids| vec![&ids.cuenta],
        malformed: BAD_NUMBERS,
        public: true,
        ..wallet
    };
    // The record of a CVU; its id belongs to one realm alone.
    let record = Row {
        path: |ids| vec![&ids.record],
        malformed: BAD_NUMBERS,
        ..wallet
    };
    let code = Row {
        path: |ids| vec![&ids.code],
        malformed: BAD_CODES,
        ..ROW
    };
    vec![
        Row {
            operation: "createAccount",
            status: 201,
            body: Some(|_| json!({"cuit": cuit(fresh()), "holderName": "Juana Azurduy"})),
            keyed: true,
            ..ROW
        },
        Row {
            operation: "listAccounts",
            query: "?limit=1&q=0&status=active&sort=alias&order=asc",
            ..ROW
        },
        Row {
            operation: "readAccount",
            ..cvu
        },
        Row {
            operation: "closeAccount",
            ..cvu
        },
        Row {
            operation: "readLimits",
            ..cvu
        },
        Row {
            operation: "changeLimits",
            body: Some(|_| json!({"dailyAmount": "1000", "dailyCount": null})),
            ..cvu
        },
        Row {
            operation: "suspendAccount",
            body: Some(|_| json!({"reason": "a test", "code": "fraud"})),
            ..cvu
        },
        Row {
            operation: "reactivateAccount",
            path: |ids| vec![&ids.suspended],
            ..cvu
        },
        Row {
            operation: "changeIdentity",
            body: Some(identity),
            ..cvu
        },
        Row {
            operation: "changeKyc",
            body: Some(|_| json!({"pep": false, "address": {"street": "Maipú"}})),
            ..cvu
        },
        Row {
            operation: "setAlias",
            body: Some(|_| json!({"alias": format!("alias.{}", fresh())})),
            ..cvu
        },
        Row {
            operation: "listVoucherTypes",
            ..ROW
        },
        Row {
            operation: "createVoucherType",
            status: 201,
            body: Some(
                |_| json!({"code": format!("made_{}", fresh()), "name": "Made", "sense": "debit"}),
            ),
            ..ROW
        },
        Row {
            operation: "toggleVoucherType",
            body: Some(|_| json!({"active": false})),
            ..code
        },
        Row {
            operation: "deleteVoucherType",
            status: 204,
            ..code
        },
        Row {
            operation: "listComprobantes",
            query: "?limit=10&type=credit&sort=amount",
            ..cvu
        },
        Row {
            operation: "createComprobante",
            status: 201,
            body: Some(adjustment),
            ..cvu
        },
        Row {
            operation: "listMovements",
            query: "?from=2020-01-01&q=e",
            ..cvu
        },
        Row {
            operation: "listInternalComprobantes",
            query: "?desde=2020-01-01&importeMin=0",
            ..ROW
        },
        Row {
            operation: "listRealmComprobantes",
            query: "?from=2020-01-01&type=credit&referenceType=adjustment&limit=5",
            ..ROW
        },
        Row {
            operation: "readComprobanteByExternal",
            path: |ids| vec![&ids.external],
            malformed: &["%20a", "a%C2%A0", "a%E2%80%8Bb", "%00"],
            query: "?direction=credit",
            ..ROW
        },
        Row {
            operation: "readComprobante",
            path: |ids| vec![&ids.voucher],
            ..ROW
        },
        Row {
            operation: "reverseComprobante",
            status: 201,
            path: |ids| vec![&ids.voucher],
            body: Some(|_| json!({"amount": "0.01", "idExterno": format!("row-{}", fresh())})),
            ..ROW
        },
        Row {
            operation: "readHistoricalBalance",
            query: "?date=2024-02-29",
            ..cvu
        },
        Row {
            operation: "readBalance",
            ..cvu
        },
        Row {
            operation: "readStatement",
            query: "?from=2026-01-01&to=2026-01-31",
            ..cvu
        },
        Row {
            operation: "createComprobantes",
            body: Some(batch),
            bytes: 1024 * 1024,
            ..ROW
        },
        Row {
            operation: "createHold",
            status: 201,
            body: Some(|_| json!({"amount": "0.10", "idExterno": format!("row-{}", fresh())})),
            ..cvu
        },
        Row {
            operation: "listHolds",
            query: "?status=open&limit=5",
            ..cvu
        },
        Row {
            operation: "readHold",
            ..hold
        },
        Row {
            operation: "changeHold",
            body: Some(|_| json!({"expiresAt": null})),
            ..hold
        },
        Row {
            operation: "listRealmHolds",
            query: "?status=open&from=2020-01-01&limit=5",
            ..ROW
        },
        Row {
            operation: "confirmHold",
            body: Some(|_| json!({"amount": "1.00"})),
            bodiless: true,
            ..hold
        },
        Row {
            operation: "releaseHold",
            body: Some(|_| json!({"amount": 2.5})),
            bodiless: true,
            ..hold
        },
        Row {
            operation: "createTransfer",
            status: 201,
            body: Some(transfer),
            ..ROW
        },
        Row {
            operation: "listTransfers",
            query: "?status=completed&from=2020-01-01&fromCvu=OWN_CVU",
            ..ROW
        },
        Row {
            operation: "readTransfer",
            path: |ids| vec![&ids.transfer],
            ..ROW
        },
        Row {
            operation: "previewFee",
            query: "?cvu=OWN_CVU&importe=100.00&voucherTypeCode=TRANSFER_OUT",
            ..ROW
        },
        Row {
            operation: "lookupCbu",
            path: |_| vec!["2850590940090418135201"],
            malformed: BAD_CBUS,
            public: true,
            ..ROW
        },
        Row {
            operation: "lookupAlias",
            path: |_| vec!["DESTINO.0"],
            malformed: &[
                "corto",
                "con%20espacio",
                "%C3%B1and%C3%BA.s",
                "a_b.c.d",
                "%00",
            ],
            public: true,
            ..ROW
        },
        Row {
            operation: "reconcile",
            ..ROW
        },
        Row {
            operation: "createCuenta",
            status: 201,
            body: Some(
                |_| json!({"cuitCuil": cuit(fresh()), "nombre": "Juana", "apellido": "Azurduy"}),
            ),
            ..wallet
        },
        Row {
            operation: "updateCuenta",
            status: 204,
            body: Some(|_| json!({"email": format!("a{}@b.example", fresh())})),
            ..cuenta
        },
        Row {
            operation: "readCuenta",
            ..cuenta
        },
        Row {
            operation: "enableCuenta",
            status: 204,
            body: Some(|_| json!({"habilitado": false})),
            ..cuenta
        },
        Row {
            operation: "listCuentas",
            query: "?pageNumber=0&pageSize=2&q=canary&habilitado=true&sort=nombre&order=asc",
            ..wallet
        },
        Row {
            operation: "listCuentasByCuit",
            query: "?cuit=20-26756539-3",
            ..wallet
        },
        Row {
            operation: "createWalletCvu",
            status: 201,
            body: Some(|ids| json!({"idCuenta": ids.bare, "nombreCVU": "Canary"})),
            ..wallet
        },
        Row {
            operation: "assignWalletAlias",
            body: Some(|_| json!({"alias": format!("alias.{}", fresh())})),
            ..record
        },
        Row {
            operation: "closeWalletCvu",
            status: 204,
            ..record
        },
        Row {
            operation: "listComprobantesByFilters",
            query: "?fechaDesde=2020-01-01&fechaHasta=31-12-2999&pageNumber=0&pageSize=100&orderByDesc=true&signo=1",
            ..ROW
        },
        Row {
            operation: "walletTransferir",
            body: Some(|ids| {
                json!({
                    "cvu_origen": ids.cvu, "cbu_cvu_destino": ids.suspended, "cuit_destino": "27334312758",
                    "alias_destino": null, "importe": 0.25, "referencia": "futbol 5", "concepto": "VAR",
                    "emails": ["a@b.example"],
                })
            }),
            ..wallet
        },
        Row {
            operation: "walletOperacion",
            path: |ids| vec![&ids.transfer],
            ..ROW
        },
        Row {
            operation: "walletOperacionByIdExterno",
            path: |ids| vec![&ids.sent],
            malformed: &["%20a", "a%C2%A0", "a%E2%80%8Bb", "%00"],
            ..ROW
        },
        Row {
            operation: "walletCuentaByCbuCvuOrAlias",
            query: "?cbuOrCvu=2850590940090418135201&alias=null",
            ..ROW
        },
        Row {
            operation: "listTiposComprobantes",
            ..ROW
        },
        Row {
            operation: "deleteTipoComprobante",
            status: 204,
            path: |ids| vec![&ids.tipo],
            malformed: BAD_NUMBERS,
            public: true,
            ..ROW
        },
        Row {
            operation: "readWalletComprobante",
            path: |ids| vec![&ids.voucher],
            ..ROW
        },
        Row {
            operation: "readSaldoActualByIdCuenta",
            ..cuenta
        },
        Row {
            operation: "readSaldoActualByCVU",
            ..cvu
        },
        Row {
            operation: "readSaldoHistoricoOfCuenta",
            query: "?idCuenta=1&fecha=2024-02-29",
            ..ROW
        },
        Row {
            operation: "readSaldoHistoricoByCVU",
            query: "?cvu=OWN_CVU&fecha=29-02-2024",
            ..ROW
        },
        Row {
            operation: "createTipoComprobante",
            status: 201,
            body: Some(
                |_| json!({"nombre": "Hecho", "codigo": format!("hecho_{}", fresh()), "signo": 1}),
            ),
            ..wallet
        },
        Row {
            operation: "createWalletComprobante",
            status: 201,
            body: Some(|ids| {
                let external = format!("row-{}", fresh());
                json!({"idCuenta": ids.cuenta, "importe": 1.5, "codigo": ids.code, "idExterno": external})
            }),
            ..wallet
        },
        Row {
            operation: "reverseWalletComprobante",
            status: 201,
            body: Some(|ids| {
                let external = format!("row-{}", fresh());
                json!({"idComprobante": ids.voucher, "importe": 0.01, "idExterno": external})
            }),
            ..wallet
        },
        Row {
            operation: "readWalletComprobanteByExternal",
            path: |ids| vec![&ids.external],
            malformed: &["%20a", "a%C2%A0", "a%E2%80%8Bb", "%00"],
            query: "?sentido=1",
            ..ROW
        },
        Row {
            operation: "listSaldosActuales",
            query: "?page=1&pageSize=200",
            ..wallet
        },
        Row {
            operation: "readSaldoHistorico",
            query: "?fecha=29-02-2024",
            ..cuenta
        },
        Row {
            operation: "walletRemuneracionAlta",
            status: 201,
            body: Some(|ids| json!({"cvu": ids.cvu, "cuentaComitente": 12_345})),
            ..wallet
        },
        Row {
            operation: "walletRemuneracionEstado",
            ..cvu
        },
        Row {
            operation: "simulateCashIn",
            body: Some(|ids| json!({"cvu": ids.cvu, "amount": "1.00"})),
            ..ROW
        },
        Row {
            operation: "simulateTransferOutcome",
            status: 400,
            body: Some(|ids| json!({"transferId": ids.transfer, "outcome": "completed"})),
            ..ROW
        },
        Row {
            operation: "simulateReversal",
            status: 400,
            body: Some(|ids| json!({"transferId": ids.transfer})),
            ..ROW
        },
        Row {
            operation: "simulateBankBehaviour",
            status: 204,
            body: Some(|_| json!({"operation": "transfer", "mode": "ok"})),
            ..ROW
        },
        Row {
            operation: "simulateClock",
            body: Some(|_| json!({"daysAhead": 0})),
            ..ROW
        },
        Row {
            operation: "readIdempotencyKey",
            path: |ids| vec![&ids.key],
            malformed: &["a%20b", "%00"],
            ..ROW
        },
    ]
}

fn identity(_: &Ids) -> Value {
    // `Operation::call_with` fills in the CUIT of the account.
    json!({"holderName": "Juana Azurduy de Padilla", "titulares": [{"cuit": "own", "name": "Juana Azurduy de Padilla"}]})
}

fn adjustment(ids: &Ids) -> Value {
    json!({"voucherTypeCode": ids.code, "amount": "1.50", "idExterno": format!("row-{}", fresh())})
}

fn batch(ids: &Ids) -> Value {
    let mut item = adjustment(ids);
    item["cvu"] = json!(ids.cvu);
    json!({"mode": "atomic", "items": [item]})
}

fn transfer(ids: &Ids) -> Value {
    json!({
        "fromCvu": ids.cvu, "to": {"cvu": ids.suspended}, "amount": "0.25", "concept": "fac",
        "idExterno": format!("row-{}", fresh()),
    })
}
