//! The bodies of errors.

use super::Golden;

/// Errors of each kind.
pub const ERRORS: &[Golden] = &[
    Golden {
        request: "GET /v1/accounts/1",
        body: r#""#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"cvu must be exactly 22 digits","timestamp":"<now>",
            "code":"invalid_request","requestId":"golden","errors":[{"field":"cvu",
            "message":"must be exactly 22 digits"}]}"#,
    },
    Golden {
        request: "GET /v1/accounts/0000532609100002749314",
        body: r#""#,
        status: 404,
        answer: r#"
            {"statusCode":404,"message":"account not found","timestamp":"<now>",
            "code":"account_not_found","requestId":"golden"}"#,
    },
    Golden {
        request: "GET /v1/nada",
        body: r#""#,
        status: 404,
        answer: r#"
            {"statusCode":404,"message":"there is no such path; see /docs for those there are",
            "timestamp":"<now>","code":"route_not_found","requestId":"golden"}"#,
    },
    Golden {
        request: "PUT /v1/accounts",
        body: r#""#,
        status: 405,
        answer: r#"
            {"statusCode":405,"message":"this path knows GET, POST","timestamp":"<now>",
            "code":"method_not_allowed","requestId":"golden"}"#,
    },
    Golden {
        request: "POST /v1/accounts",
        body: r#"{"cuit":"20267565392","alias":"x","extra":1}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"4 fields are wrong; see errors","timestamp":"<now>",
            "code":"invalid_request","requestId":"golden","errors":[{"field":"cuit",
            "message":"has a wrong check digit: it should be 3"},{"field":"holderName",
            "message":"is required"},{"field":"alias",
            "message":"must have 6 to 20 characters: letters without accents, digits, dots and dashes"},
            {"field":"extra","message":"is not a field of this request; did you mean externalId?"}]}"#,
    },
    Golden {
        request: "POST /v1/accounts",
        body: r#"{"#,
        status: 400,
        answer: r#"
            {"statusCode":400,
            "message":"the body is not valid JSON at line 1, column 1: expected more: it ends too early",
            "timestamp":"<now>","code":"malformed_body","requestId":"golden"}"#,
    },
    Golden {
        request: "POST /v1/accounts",
        body: r#"{"cuit":"20267565393","holderName":"Juana Azurduy","alias":"destino.0"}"#,
        status: 409,
        answer: r#"
            {"statusCode":409,"message":"the alias is taken","timestamp":"<now>",
            "code":"alias_taken","requestId":"golden","bankStatus":409,"bankBody":{"code":"VW007",
            "message":"El alias ya se encuentra en uso"}}"#,
    },
    Golden {
        request: "POST /v1/accounts",
        body: r#"{"cuit":"20267565393","holderName":"Juana Azurduy","alias":"rio.de.oro"}"#,
        status: 201,
        answer: r#"
            {"cvu":"0000999100000257958477","alias":"rio.de.oro","status":"active",
            "holder":{"cuit":"20267565393","name":"Juana Azurduy","personType":"human"},
            "titulares":[{"cuit":"20267565393","name":"Juana Azurduy","personType":"human"}],
            "currency":"ARS","walletAccountId":2,"externalId":null,"enabled":true,"email":null,
            "phone":null,"metadata":{},"kyc":{"nationality":null,"birthCountry":null,
            "birthDate":null,"sex":null,"dni":null,"documentType":null,"maritalStatus":null,
            "occupation":null,"afipActivity":null,"pep":null,"uif":null,"fatca":null,"ocde":null,
            "address":{"street":null,"number":null,"floor":null,"apartment":null,"cityCode":null,
            "provinceCode":null,"postalCode":null,"cpa":null,"cityName":null,"provinceName":null},"riskLevel":null,"kycLevel":null,
            "verifiedAt":null},"suspension":null,"createdAt":"2026-03-02T15:04:05.678Z",
            "updatedAt":"2026-03-02T15:04:05.678Z","closedAt":null,
            "balance":{"cvu":"0000999100000257958477","currency":"ARS","available":"0.00",
            "held":"0.00","total":"0.00","sequence":0,"asOf":"2026-03-02T15:04:05.678Z"},
            "limits":{"effective":{"maxPerTransaction":null,"dailyAmount":null,"dailyCount":null,
            "monthlyAmount":null,"monthlyCount":null,"maxBalance":null},
            "source":{"maxPerTransaction":"none","dailyAmount":"none","dailyCount":"none",
            "monthlyAmount":"none","monthlyCount":"none","maxBalance":"none"},
            "own":{"maxPerTransaction":null,"dailyAmount":null,"dailyCount":null,
            "monthlyAmount":null,"monthlyCount":null,"maxBalance":null},
            "usage":{"dailyAmount":"0.00","dailyCount":0,"monthlyAmount":"0.00","monthlyCount":0},
            "remaining":{"maxPerTransaction":null,"dailyAmount":null,"dailyCount":null,
            "monthlyAmount":null,"monthlyCount":null,"maxBalance":null},
            "asOf":"2026-03-02T15:04:05.678Z"}}"#,
    },
    Golden {
        request: "POST /v1/accounts",
        body: r#"{"cuit":"20267565393","holderName":"Juana Azurduy","alias":"RIO.DE.ORO"}"#,
        status: 409,
        answer: r#"
            {"statusCode":409,
            "message":"the alias is taken: your account 0000999100000257958477 has it",
            "timestamp":"<now>","code":"alias_taken","requestId":"golden",
            "details":{"cvu":"0000999100000257958477","walletAccountId":2}}"#,
    },
    Golden {
        request: "POST /v1/voucher-types",
        body: r#"{"code":"IN","name":"In","sense":"credit"}"#,
        status: 201,
        answer: r#"
            {"code":"IN","name":"In","sense":"credit","active":true,"system":false,
            "id":"vty_1000","legacyId":1000,"description":null,"movementKind":null,"tenantId":"tnt_first"}"#,
    },
    Golden {
        request: "POST /v1/voucher-types",
        body: r#"{"code":"IN","name":"In","sense":"credit"}"#,
        status: 409,
        answer: r#"
            {"statusCode":409,"message":"voucher type IN exists already","timestamp":"<now>",
            "code":"voucher_type_taken","requestId":"golden"}"#,
    },
    Golden {
        request: "POST /v1/voucher-types",
        body: r#"{"code":"OUT","name":"Out","sense":"debit"}"#,
        status: 201,
        answer: r#"
            {"code":"OUT","name":"Out","sense":"debit","active":true,"system":false,
            "id":"vty_1001","legacyId":1001,"description":null,"movementKind":null,"tenantId":"tnt_first"}"#,
    },
    Golden {
        request: "POST /v1/accounts/0000999100000257958477/comprobantes",
        body: r#"{"voucherTypeCode":"OUT","amount":"1","idExterno":"a"}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"insufficient funds: 0.00 available, 1.00 requested",
            "timestamp":"<now>","code":"insufficient_funds","requestId":"golden",
            "details":{"available":"0.00","requested":"1.00"}}"#,
    },
    Golden {
        request: "POST /v1/accounts/0000999100000257958477/comprobantes",
        body: r#"{"voucherTypeCode":"IN","amount":"1","idExterno":"a"}"#,
        status: 201,
        answer: r#"
            {"id":"cmp_00000040000000400000003297b8vryk","cvu":"0000999100000257958477","sequence":1,
            "ledgerType":"credit","amount":"1.00","availableAfter":"1.00","heldAfter":"0.00",
            "totalAfter":"1.00","voucherTypeCode":"IN","voucherTypeName":"In","idExterno":"a",
            "referenceType":"adjustment","referenceId":"cmp_00000040000000400000003297b8vryk",
            "description":null,"counterparty":null,"createdAt":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "POST /v1/accounts/0000999100000257958477/comprobantes",
        body: r#"{"voucherTypeCode":"IN","amount":"2","idExterno":"a"}"#,
        status: 409,
        answer: r#"
            {"statusCode":409,
            "message":"idExterno was used before by voucher cmp_00000040000000400000003297b8vryk with other data",
            "timestamp":"<now>","code":"id_externo_reused","requestId":"golden",
            "errors":[{"field":"amount","message":"differs from the first request"}],
            "details":{"cvu":"0000999100000257958477",
            "voucherId":"cmp_00000040000000400000003297b8vryk"}}"#,
    },
    Golden {
        request: "POST /v1/accounts/0000999100000257958477/comprobantes",
        body: r#"{"voucherTypeCode":"HOLD","amount":"1","idExterno":"b"}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,
            "message":"voucher type HOLD is a system type: it cannot be changed or used for adjustments",
            "timestamp":"<now>","code":"voucher_type_is_system","requestId":"golden"}"#,
    },
    Golden {
        request: "POST /v1/accounts/0000999100000257958477/comprobantes",
        body: r#"{"voucherTypeCode":"NADA","amount":"1","idExterno":"b"}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,
            "message":"voucher type NADA does not exist; create it with POST /v1/voucher-types",
            "timestamp":"<now>","code":"voucher_type_unknown","requestId":"golden"}"#,
    },
    Golden {
        request: "POST /v1/accounts/0000999100000257958477/reactivate",
        body: r#""#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"the account is not suspended","timestamp":"<now>",
            "code":"account_not_suspended","requestId":"golden"}"#,
    },
    Golden {
        request: "GET /v1/accounts?limit=0&sort=x",
        body: r#""#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"2 fields are wrong; see errors","timestamp":"<now>",
            "code":"invalid_request","requestId":"golden","errors":[{"field":"sort",
            "message":"must be one of createdAt, holderName, cvu, alias"},{"field":"limit",
            "message":"must be a whole number from 1 to 200"}]}"#,
    },
    Golden {
        request: "GET /v1/comprobantes/x",
        body: r#""#,
        status: 404,
        answer: r#"
            {"statusCode":404,"message":"voucher not found","timestamp":"<now>",
            "code":"voucher_not_found","requestId":"golden"}"#,
    },
    Golden {
        request: "GET /v1/idempotency/nobody",
        body: r#""#,
        status: 404,
        answer: r#"
            {"statusCode":404,"message":"no request with this Idempotency-Key is known",
            "timestamp":"<now>","code":"idempotency_key_not_found","requestId":"golden"}"#,
    },
    Golden {
        request: "DELETE /v1/voucher-types/FEE",
        body: r#""#,
        status: 400,
        answer: r#"
            {"statusCode":400,
            "message":"voucher type FEE is a system type: it cannot be changed or used for adjustments",
            "timestamp":"<now>","code":"voucher_type_is_system","requestId":"golden"}"#,
    },
    Golden {
        request: "DELETE /v1/voucher-types/NADA",
        body: r#""#,
        status: 404,
        answer: r#"
            {"statusCode":404,"message":"voucher type NADA not found","timestamp":"<now>",
            "code":"voucher_type_not_found","requestId":"golden"}"#,
    },
];
