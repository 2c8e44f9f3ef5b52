//! The bodies of the wallet family.

use super::Golden;

/// A story that calls each operation.
pub const WALLET: &[Golden] = &[
    Golden {
        request: "POST /wallet/v1/Cuenta",
        body: r#"{"cuitCuil":"20-26756539-3","nombre":"Juana","apellido":"Azurduy","email":"j@a.example","celular":"+54 11 5555-5555","codigo":12,"esFacta":true,"fechaNacimiento":"16-02-1949","datosDomicilio":{"calle":"Maipú","numero":"1012","localidadId":247,"provinciaId":1,"cp":"1006"},"otro":1}"#,
        status: 201,
        answer: r#"
            {"id":1,"codigo":"12","habilitado":true}"#,
    },
    Golden {
        request: "GET /wallet/v1/Cuenta/1",
        body: r#""#,
        status: 200,
        answer: r#"
            {"id":1,"cuitCuil":"20267565393","nombre":"Juana","apellido":"Azurduy",
            "razonSocial":"","email":"j@a.example","celular":"+54 11 5555-5555",
            "actividadAfip":"","habilitado":true,"esPep":false,"esFatca":true,"esUif":false,
            "tenantId":"tnt_first","domicilio":{"calle":"Maipú","numero":"1012","piso":null,
            "departamento":null,"localidadCodigo":"247","provinciaCodigo":"1","cp":"1006",
            "cpa":null,"localidadNombre":null,"provinciaNombre":null},"codigo":"12",
            "idOrganizacion":1,"cvu":null,"alias":null,"nombreCvu":null,"estadoCvu":null,"cuentaCVUId":null,
            "organizacionCuentaBancoId":null,"fechaNacimiento":"1949-02-16","ocupacion":null,
            "estadoCivil":null,"dni":null,"fechaAltaSiscri":null,"fechaMonitoreada":null}"#,
    },
    Golden {
        request: "PUT /wallet/v1/Cuenta/1",
        body: r#"{"ocupacion":"JUBILADO","esFatca":false}"#,
        status: 204,
        answer: r#""#,
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
        request: "POST /wallet/v1/CVU",
        body: r#"{"idCuenta":1}"#,
        status: 200,
        answer: r#"
            {"id":20000001,"cvu":"0000999100000219821526","alias":"","idCuenta":1,
            "nombreCvu":"Ahorros"}"#,
    },
    Golden {
        request: "GET /wallet/v1/Cuenta/1",
        body: r#""#,
        status: 200,
        answer: r#"
            {"id":1,"cuitCuil":"20267565393","nombre":"Juana","apellido":"Azurduy",
            "razonSocial":"","email":"j@a.example","celular":"+54 11 5555-5555",
            "actividadAfip":"","habilitado":true,"esPep":false,"esFatca":false,"esUif":false,
            "tenantId":"tnt_first","domicilio":{"calle":"Maipú","numero":"1012","piso":null,
            "departamento":null,"localidadCodigo":"247","provinciaCodigo":"1","cp":"1006",
            "cpa":null,"localidadNombre":null,"provinciaNombre":null},"codigo":"12",
            "idOrganizacion":1,"cvu":"0000999100000219821526","alias":null,"nombreCvu":"Ahorros","estadoCvu":"ACTIVA",
            "cuentaCVUId":20000001,"organizacionCuentaBancoId":null,
            "fechaNacimiento":"1949-02-16","ocupacion":"JUBILADO","estadoCivil":null,"dni":null,
            "fechaAltaSiscri":null,"fechaMonitoreada":null}"#,
    },
    Golden {
        request: "POST /wallet/v1/TipoComprobante",
        body: r#"{"nombre":"Carga de saldo","codigo":"carga","signo":-1,"sentido":"credit"}"#,
        status: 201,
        answer: r#"
            {"id":1000}"#,
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
        request: "GET /wallet/v1/ComprobanteByIdExterno/a",
        body: r#""#,
        status: 200,
        answer: r#"
            {"idComprobante":"cmp_00000040000000200000002fnbb8vryk",
            "descripcionTipoComprobante":"Carga de saldo","fecha":"2026-03-02T15:04:05.678Z",
            "importe":1234.50,"sentido":"1","signo":1,"saldo":1234.50,"idExterno":"a",
            "cvu":"0000999100000219821526","idTipoComprobante":1000,"codigo":"CARGA","idCuenta":1,
            "referencia":"sueldo","fechaExterna":"27-02-2026","contraparte":null}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldosActuales",
        body: r#""#,
        status: 200,
        answer: r#"
            {"totalPages":1,"totalRecords":1,"items":[{"saldo":1234.50,
            "availableBalance":"1234.50","heldBalance":"0.00","totalBalance":"1234.50",
            "cvu":"0000999100000219821526","idCuenta":1}],"saldos":[{"saldo":1234.50,
            "availableBalance":"1234.50","heldBalance":"0.00","totalBalance":"1234.50",
            "cvu":"0000999100000219821526","idCuenta":1}]}"#,
    },
    Golden {
        request: "GET /wallet/v1/SaldoHistoricoByIdCuenta/1?fecha=2026-03-02",
        body: r#""#,
        status: 200,
        answer: r#"
            {"saldo":1234.50,"availableBalance":"1234.50","heldBalance":"0.00",
            "totalBalance":"1234.50","cvu":"0000999100000219821526","idCuenta":1,
            "date":"2026-03-02"}"#,
    },
    Golden {
        request: "GET /wallet/v1/Remuneracion/Estado/0000999100000219821526",
        body: r#""#,
        status: 200,
        answer: r#"
            {"cvu":"0000999100000219821526","idCuenta":1,"estado":"NO_ENROLADA",
            "cuentaComitente":null,"fondo":null,"fechaAlta":null,"cuotapartes":null,
            "valorCuotaparte":null,"fechaValor":null,"saldoValuado":null,
            "rendimientoDiario":null,"tna":null}"#,
    },
    Golden {
        request: "POST /wallet/v1/Remuneracion/Alta",
        body: r#"{"idCuenta":1,"cuentaComitente":72,"fondo":"FIMA PREMIUM","cuit":"x"}"#,
        status: 201,
        answer: r#"
            {"id":"X39DZ1NV7J70T8K","cvu":"0000999100000219821526","idCuenta":1,
            "cuentaComitente":"72","fondo":"FIMA PREMIUM","estado":"PENDIENTE",
            "fechaAlta":"2026-03-02T15:04:05.678Z"}"#,
    },
    Golden {
        request: "GET /wallet/v1/Remuneracion/Estado/0000999100000219821526",
        body: r#""#,
        status: 200,
        answer: r#"
            {"cvu":"0000999100000219821526","idCuenta":1,"estado":"PENDIENTE",
            "cuentaComitente":"72","fondo":"FIMA PREMIUM",
            "fechaAlta":"2026-03-02T15:04:05.678Z","cuotapartes":null,
            "valorCuotaparte":null,"fechaValor":null,"saldoValuado":null,
            "rendimientoDiario":null,"tna":null}"#,
    },
    Golden {
        request: "POST /wallet/v1/Remuneracion/Alta",
        body: r#"{"idCuenta":1,"cuentaComitente":"73"}"#,
        status: 409,
        answer: r#"
            {"statusCode":409,
            "message":"La cuenta ya está adherida con otra cuenta comitente u otro fondo",
            "timestamp":"<now>","code":"remuneration_enrolled","requestId":"golden"}"#,
    },
    Golden {
        request: "PATCH /wallet/v1/Habilitado/Cuenta/1",
        body: r#"{"habilitado":false}"#,
        status: 204,
        answer: r#""#,
    },
    Golden {
        request: "GET /wallet/v1/Cuentas?pageNumber=0&pageSize=1",
        body: r#""#,
        status: 200,
        answer: r#"
            {"totalPages":1,"totalRecords":1,"items":[{"id":1,"cuitCuil":"20267565393",
            "nombre":"Juana","apellido":"Azurduy","razonSocial":"","email":"j@a.example",
            "celular":"+54 11 5555-5555","actividadAfip":"","habilitado":false,"esPep":false,
            "esFatca":false,"esUif":false,"tenantId":"tnt_first","domicilio":{"calle":"Maipú",
            "numero":"1012","piso":null,"departamento":null,"localidadCodigo":"247",
            "provinciaCodigo":"1","cp":"1006","cpa":null,"localidadNombre":null,
            "provinciaNombre":null},"codigo":"12","idOrganizacion":1,
            "cvu":"0000999100000219821526","alias":null,"nombreCvu":"Ahorros","estadoCvu":"ACTIVA",
            "cuentaCVUId":20000001,"organizacionCuentaBancoId":null,
            "fechaNacimiento":"1949-02-16","ocupacion":"JUBILADO","estadoCivil":null,"dni":null,
            "fechaAltaSiscri":null,"fechaMonitoreada":null}]}"#,
    },
    Golden {
        request: "GET /wallet/v1/CuentaByCuit?cuit=20267565393",
        body: r#""#,
        status: 200,
        answer: r#"
            [{"id":1,"cuitCuil":"20267565393","nombre":"Juana","apellido":"Azurduy",
            "razonSocial":"","email":"j@a.example","celular":"+54 11 5555-5555",
            "actividadAfip":"","habilitado":false,"esPep":false,"esFatca":false,"esUif":false,
            "tenantId":"tnt_first","domicilio":{"calle":"Maipú","numero":"1012","piso":null,
            "departamento":null,"localidadCodigo":"247","provinciaCodigo":"1","cp":"1006",
            "cpa":null,"localidadNombre":null,"provinciaNombre":null},"codigo":"12",
            "idOrganizacion":1,"cvu":"0000999100000219821526","alias":null,"nombreCvu":"Ahorros","estadoCvu":"ACTIVA",
            "cuentaCVUId":20000001,"organizacionCuentaBancoId":null,
            "fechaNacimiento":"1949-02-16","ocupacion":"JUBILADO","estadoCivil":null,"dni":null,
            "fechaAltaSiscri":null,"fechaMonitoreada":null}]"#,
    },
    Golden {
        request: "POST /wallet/v1/Comprobante",
        body: r#"{"idCuenta":1,"importe":1,"codigo":"CARGA","idExterno":"b"}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"La cuenta está deshabilitada; habilítela primero",
            "timestamp":"<now>","code":"account_disabled","requestId":"golden"}"#,
    },
    Golden {
        request: "POST /wallet/v1/Comprobante",
        body: r#"{"idCuenta":1,"importe":1e3,"idExterno":"a "}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"Hay 3 campos incorrectos; ver errors",
            "timestamp":"<now>","code":"invalid_request","requestId":"golden",
            "errors":[{"field":"importe",
            "message":"debe ser un número decimal como 1234.50: dígitos, sin signo ni exponente"},
            {"field":"idTipoComprobante","message":"es obligatorio, o codigo"},
            {"field":"idExterno",
            "message":"debe tener de 1 a 64 caracteres imprimibles, sin espacios al principio ni al final"}]}"#,
    },
    Golden {
        request: "POST /wallet/v1/Cuenta",
        body: r#"{"cuitCuil":"20267565392"}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,"message":"Hay 3 campos incorrectos; ver errors",
            "timestamp":"<now>","code":"invalid_request","requestId":"golden",
            "errors":[{"field":"nombre","message":"es obligatorio, o razonSocial"},
            {"field":"apellido","message":"es obligatorio, o razonSocial"},{"field":"cuitCuil",
            "message":"tiene mal el dígito verificador: debería ser 3"}]}"#,
    },
    Golden {
        request: "POST /wallet/v1/Cuenta",
        body: r#"{"cuitCuil":"20267565393","razonSocial":"Otra","codigo":"12"}"#,
        status: 409,
        answer: r#"
            {"statusCode":409,"message":"Ya existe una cuenta con ese código","timestamp":"<now>",
            "code":"account_code_taken","requestId":"golden",
            "details":{"cvu":"0000999100000219821526","walletAccountId":1}}"#,
    },
    Golden {
        request: "PUT /wallet/v1/Cuenta/1",
        body: r#"{"cuitCuil":"27312547568"}"#,
        status: 400,
        answer: r#"
            {"statusCode":400,
            "message":"El CUIT no se puede cambiar cuando la cuenta ya tiene CVU",
            "timestamp":"<now>","code":"cuit_immutable","requestId":"golden"}"#,
    },
    Golden {
        request: "GET /wallet/v1/Cuenta/2",
        body: r#""#,
        status: 404,
        answer: r#"
            {"statusCode":404,"message":"La cuenta no existe","timestamp":"<now>",
            "code":"account_not_found","requestId":"golden"}"#,
    },
];
