//! The bodies of money that waits and moves.

use super::Golden;

/// A story of two accounts.
pub const MONEY: &[Golden] = &[
    Golden {
        request: "POST /v1/accounts/0000999100000257958477/holds",
        body: r#"{"amount":"60.5","idExterno":"reserva-1","expiresAt":"2026-03-03T00:00:00-03:00"}"#,
        status: 201,
        answer: r#"
            {"id":"hld_0000004000000020000000559hyh6tet","cvu":"0000999100000257958477","amount":"60.50",
            "confirmed":"0.00","released":"0.00","remaining":"60.50","status":"open",
            "idExterno":"reserva-1","expiresAt":"2026-03-03T03:00:00.000Z",
            "createdAt":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "GET /v1/accounts/0000999100000257958477/holds?status=open",
        body: r#""#,
        status: 200,
        answer: r#"
            [{"id":"hld_0000004000000020000000559hyh6tet","cvu":"0000999100000257958477","amount":"60.50",
            "confirmed":"0.00","released":"0.00","remaining":"60.50","status":"open",
            "idExterno":"reserva-1","expiresAt":"2026-03-03T03:00:00.000Z",
            "createdAt":"2026-03-02T15:04:05.678Z"}]"#,
    },
    Golden {
        request: "POST /v1/holds/hld_0000004000000020000000559hyh6tet/confirm",
        body: r#"{"amount":10}"#,
        status: 200,
        answer: r#"
            {"id":"hld_0000004000000020000000559hyh6tet","cvu":"0000999100000257958477","amount":"60.50",
            "confirmed":"10.00","released":"0.00","remaining":"50.50","status":"open",
            "idExterno":"reserva-1","expiresAt":"2026-03-03T03:00:00.000Z",
            "createdAt":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "POST /v1/holds/hld_0000004000000020000000559hyh6tet/release",
        body: r#""#,
        status: 200,
        answer: r#"
            {"id":"hld_0000004000000020000000559hyh6tet","cvu":"0000999100000257958477","amount":"60.50",
            "confirmed":"10.00","released":"50.50","remaining":"0.00","status":"confirmed",
            "idExterno":"reserva-1","expiresAt":"2026-03-03T03:00:00.000Z",
            "createdAt":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "GET /v1/holds/hld_0000004000000020000000559hyh6tet",
        body: r#""#,
        status: 200,
        answer: r#"
            {"id":"hld_0000004000000020000000559hyh6tet","cvu":"0000999100000257958477","amount":"60.50",
            "confirmed":"10.00","released":"50.50","remaining":"0.00","status":"confirmed",
            "idExterno":"reserva-1","expiresAt":"2026-03-03T03:00:00.000Z",
            "createdAt":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "POST /v1/holds/hld_0000004000000020000000559hyh6tet/release",
        body: r#"{"amount":1}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,
            "message":"the hold hld_0000004000000020000000559hyh6tet is not open any more: it was confirmed at 2026-03-02T15:04:05.678Z",
            "timestamp":"<now>","code":"hold_not_open","requestId":"golden",
            "details":{"endedAt":"2026-03-02T15:04:05.678Z",
            "holdId":"hld_0000004000000020000000559hyh6tet","status":"confirmed"}}"#,
    },
    Golden {
        request: "POST /v1/transfers",
        body: r#"{"fromCvu":"0000999100000257958477","to":{"alias":"MAR.DE.SAL"},"amount":"5","concept":"alq","description":"marzo","idExterno":"pago-1"}"#,
        status: 201,
        answer: r#"
            {"id":"trf_0000004000000020000000bgyvkvh6sc","kind":"internal","status":"completed",
            "fromCvu":"0000999100000257958477","to":{"cvu":"0000999100000287336728",
            "alias":"MAR.DE.SAL"},"counterparty":{"name":"Ana Paz","cuit":"27312547568",
            "cbu":"0000999100000287336728","alias":"Mar.De.Sal","bank":{"code":"0999","name":null},
            "coelsaId":null,"concept":"ALQ"},"amount":"5.00","fee":null,"concept":"ALQ","description":"marzo",
            "idExterno":"pago-1","originId":null,"bankTransferId":null,"coelsaId":null,
            "reversed":"0.00","rejection":null,"createdAt":"2026-03-02T15:04:05.678Z",
            "updatedAt":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "POST /v1/transfers",
        body: r#"{"fromCvu":"0000999100000257958477","to":{"cvu":"0000999100000287336728"},"amount":"6","idExterno":"pago-1"}"#,
        status: 409,
        answer: r#"
            {"statusCode":409,
            "message":"idExterno was used before by transfer trf_0000004000000020000000bgyvkvh6sc with other data",
            "timestamp":"<now>","code":"id_externo_reused","requestId":"golden",
            "errors":[{"field":"amount","message":"differs from the first request"}],
            "details":{"transferId":"trf_0000004000000020000000bgyvkvh6sc"}}"#,
    },
    Golden {
        request: "GET /v1/transfers?limit=1",
        body: r#""#,
        status: 200,
        answer: r#"
            {"items":[{"id":"trf_0000004000000020000000bgyvkvh6sc","kind":"internal","status":"completed",
            "fromCvu":"0000999100000257958477","to":{"cvu":"0000999100000287336728",
            "alias":"MAR.DE.SAL"},"counterparty":{"name":"Ana Paz","cuit":"27312547568",
            "cbu":"0000999100000287336728","alias":"Mar.De.Sal","bank":{"code":"0999","name":null},
            "coelsaId":null,"concept":"ALQ"},"amount":"5.00","fee":null,"concept":"ALQ","description":"marzo",
            "idExterno":"pago-1","originId":null,"bankTransferId":null,"coelsaId":null,
            "reversed":"0.00","rejection":null,"createdAt":"2026-03-02T15:04:05.678Z",
            "updatedAt":"2026-03-02T15:04:05.678Z"}],"total":1,"limit":1,"offset":0,"next":null}"#,
    },
    Golden {
        request: "GET /v1/transfers/trf_0000004000000020000000bgyvkvh6sc",
        body: r#""#,
        status: 200,
        answer: r#"
            {"id":"trf_0000004000000020000000bgyvkvh6sc","kind":"internal","status":"completed",
            "fromCvu":"0000999100000257958477","to":{"cvu":"0000999100000287336728",
            "alias":"MAR.DE.SAL"},"counterparty":{"name":"Ana Paz","cuit":"27312547568",
            "cbu":"0000999100000287336728","alias":"Mar.De.Sal","bank":{"code":"0999","name":null},
            "coelsaId":null,"concept":"ALQ"},"amount":"5.00","fee":null,"concept":"ALQ","description":"marzo",
            "idExterno":"pago-1","originId":null,"bankTransferId":null,"coelsaId":null,
            "reversed":"0.00","rejection":null,"createdAt":"2026-03-02T15:04:05.678Z",
            "updatedAt":"2026-03-02T15:04:05.678Z","bankCalls":[]}"#,
    },
    Golden {
        request: "GET /v1/fees/preview?cvu=0000999100000257958477&importe=50&voucherTypeCode=TRANSFER_OUT",
        body: r#""#,
        status: 200,
        answer: r#"
            {"cvu":"0000999100000257958477","voucherTypeCode":"TRANSFER_OUT",
            "direction":"confirm_hold","importe":"50.00","currency":"ARS","fee":{"percentage":"0",
            "fixed":"0.00","minimum":null,"maximum":null,"amount":"0.00","source":"none"},
            "tax":{"rate":"0","base":"0.00","amount":"0.00"},"totalCharges":"0.00",
            "netAmount":"50.00","available":"85.00","sufficient":true}"#,
    },
    Golden {
        request: "POST /v1/comprobantes/batch",
        body: r#"{"items":[{"cvu":"0000999100000287336728","voucherTypeCode":"COMPRA","amount":"1.50","idExterno":"lote-1"},{"cvu":"0000999100000287336728","voucherTypeCode":"COMPRA","amount":"0","idExterno":"lote-2"}]}"#,
        status: 200,
        answer: r#"
            {"results":[{"index":0,"status":"recorded",
            "voucher":{"id":"cmp_0000004000000040000000422fntdkfz","cvu":"0000999100000287336728",
            "sequence":2,"ledgerType":"credit","amount":"1.50","availableAfter":"6.50",
            "heldAfter":"0.00","totalAfter":"6.50","voucherTypeCode":"COMPRA",
            "voucherTypeName":"Type COMPRA","idExterno":"lote-1","referenceType":"adjustment",
            "referenceId":"cmp_0000004000000040000000422fntdkfz","description":null,"counterparty":null,
            "createdAt":"2026-03-02T15:04:05.678Z"}},{"index":1,"status":"rejected",
            "error":{"code":"invalid_request","message":"amount must be greater than 0",
            "errors":[{"field":"amount","message":"must be greater than 0"}]}}],
            "summary":{"recorded":1,"replayed":0,"rejected":1,"notPosted":0}}"#,
    },
    Golden {
        request: "POST /v1/comprobantes/batch",
        body: r#"{"mode":"atomic","items":[{"cvu":"0000999100000287336728","voucherTypeCode":"COMPRA","amount":"1.50","idExterno":"lote-3"},{"cvu":"0000999100000287336728","voucherTypeCode":"NADA","amount":"1","idExterno":"lote-4"}]}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"nothing was posted: 1 of 2 items are refused",
            "timestamp":"<now>","code":"batch_rejected","requestId":"golden",
            "details":{"results":[{"index":0,
            "status":"not_posted"},{"error":{"code":"voucher_type_unknown",
            "message":"voucher type NADA does not exist; create it with POST /v1/voucher-types"},
            "index":1,"status":"rejected"}],"summary":{"notPosted":1,"recorded":0,"rejected":1,"replayed":0}}}"#,
    },
    Golden {
        request: "GET /v1/lookup/cbu/0000999100000287336728",
        body: r#""#,
        status: 200,
        answer: r#"
            {"cbu":"0000999100000287336728","type":"CVU","alias":"Mar.De.Sal","cuit":"27312547568",
            "holderName":"Ana Paz","personType":"human","titulares":[{"cuit":"27312547568",
            "name":"Ana Paz","personType":"human"}],"bank":{"code":"0999","name":"CAUDAL SANDBOX"},
            "currency":"ARS","active":true}"#,
    },
    Golden {
        request: "GET /v1/lookup/alias/destino.0",
        body: r#""#,
        status: 200,
        answer: r#"
            {"cbu":"2850590900000000100007","type":"CBU","alias":"DESTINO.0","cuit":"20643786436",
            "holderName":"Nicolás Juárez","personType":"human","titulares":[{"cuit":"20643786436",
            "name":"Nicolás Juárez","personType":"human"}],"bank":{"code":"285","name":"Macro"},
            "currency":"ARS","active":true}"#,
    },
    Golden {
        request: "GET /v1/lookup/alias/no.existe.nunca",
        body: r#""#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"the bank refused the operation; see bankBody",
            "timestamp":"<now>","code":"bank_refused","requestId":"golden","bankStatus":409,
            "bankBody":{"code":"PA011","message":"El alias no existe"}}"#,
    },
    Golden {
        request: "GET /v1/bank/conciliacion?fecha=2026-03-01",
        body: r#""#,
        status: 200,
        answer: r#"
            {"fecha":"2026-03-01","from":"2026-03-01","to":"2026-03-01","items":[],"total":0,
            "limit":null,"next":null,"summary":{"matched":0,"missingInLedger":0,
            "missingAtBank":0,"amountDiffers":0,"pending":0,"decided":0,"suspense":0,"contradicted":0,"amountIn":"0.00","amountOut":"0.00"}}"#,
    },
    Golden {
        request: "POST /v1/transfers",
        body: r#"{"fromCvu":"0000999100000257958477","to":{"alias":"DESTINO.2"},"amount":"1","idExterno":"pago-3"}"#,
        status: 201,
        answer: r#"
            {"id":"trf_0000004000000020000000d3a6mc075k","kind":"bank","status":"requested",
            "fromCvu":"0000999100000257958477","to":{"alias":"DESTINO.2"},
            "counterparty":{"name":null,"cuit":null,"cbu":null,"alias":"DESTINO.2","bank":null,
            "coelsaId":null,"concept":"VAR"},"amount":"1.00",
            "fee":null,"concept":"VAR","description":null,"idExterno":"pago-3",
            "originId":"XZ3JWPR5JTB36PE","bankTransferId":null,"coelsaId":null,"reversed":"0.00",
            "rejection":null,"createdAt":"2026-03-02T15:04:05.678Z",
            "updatedAt":"2026-03-02T15:04:05.678Z"}"#,
    },
];
