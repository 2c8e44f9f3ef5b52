//! The exact bodies of the treasury.

/// A realm without money.
pub const NOTHING: &str = r#"
    {"asOf":"<bank>","sequence":0,"currency":"ARS",
    "collector":{"cbu":"3220001805007351350083","bank":"Banco Industrial"},"bankBalance":"0.00",
    "bankAsOf":"<bank>","bankError":null,
    "clientFunds":{"available":"0.00","held":"0.00","total":"0.00"},
    "accounts":{"active":0,"suspended":0,"closed":0},
    "inTransit":{"outgoing":"0.00","incoming":"0.00"},"uncredited":"0.00","pspFees":"0.00","freeBalance":"0.00",
    "free":{"total":"0.00","fees":"0.00","feeTax":"0.00","adjustments":"0.00","funding":"0.00","interest":"0.00","bankCharges":"0.00","unexplained":"0.00"},
    "coverageRatio":null,"covered":true}"#;

/// A realm that owes more than the collector account has.
pub const SHORT: &str = r#"
    {"asOf":"<bank>","sequence":3,"currency":"ARS",
    "collector":{"cbu":"3220001805007351350083","bank":"Banco Industrial"},"bankBalance":"0.00",
    "bankAsOf":"<bank>","bankError":null,
    "clientFunds":{"available":"69.99","held":"30.00","total":"99.99"},
    "accounts":{"active":1,"suspended":0,"closed":0},
    "inTransit":{"outgoing":"0.00","incoming":"0.00"},"uncredited":"0.00","pspFees":"0.00","freeBalance":"-99.99",
    "free":{"total":"-99.99","fees":"0.00","feeTax":"0.00","adjustments":"-99.99","funding":"0.00","interest":"0.00","bankCharges":"0.00","unexplained":"0.00"},
    "coverageRatio":"0.0000","covered":false}"#;

/// A client's position.
pub const POSITION: &str = r#"
    {"cvu":"0000999103945667845133","alias":"Mar.De.Sal","walletAccountId":1,
    "holderName":"Ana Ñandú","cuit":"27312547568","status":"active","available":"70.00",
    "held":"30.00","total":"100.00","lastMovementAt":"2026-03-02T15:04:05.678Z"}"#;

/// [`NOTHING`] in the wallet family.
pub const NADA: &str = r#"
    {"fecha":"<bank>","moneda":"ARS",
    "cuentaRecaudadora":{"cbu":"3220001805007351350083","banco":"Banco Industrial"},
    "saldoBanco":0.00,"saldoClientes":0.00,"saldoDisponible":0.00,"saldoRetenido":0.00,
    "saldoLibre":0.00,"cuentas":{"activas":0,"suspendidas":0,"cerradas":0},"cobertura":null,
    "cubierto":true,"errorBanco":null}"#;

/// [`SHORT`] in the wallet family.
pub const CORTO: &str = r#"
    {"fecha":"<bank>","moneda":"ARS",
    "cuentaRecaudadora":{"cbu":"3220001805007351350083","banco":"Banco Industrial"},
    "saldoBanco":0.00,"saldoClientes":99.99,"saldoDisponible":69.99,"saldoRetenido":30.00,
    "saldoLibre":-99.99,"cuentas":{"activas":1,"suspendidas":0,"cerradas":0},"cobertura":0.0000,
    "cubierto":false,"errorBanco":null}"#;

/// A client's position, in the wallet family.
pub const SALDO: &str = r#"
    {"idCuenta":1,"cvu":"0000999103945667845133","alias":"Mar.De.Sal","nombre":"Ana Ñandú",
    "cuitCuil":"27312547568","saldo":999999999999969.99,"availableBalance":"999999999999969.99",
    "heldBalance":"30.00","totalBalance":"999999999999999.99",
    "fechaUltimoMovimiento":"2026-03-02T15:04:05.678Z"}"#;

/// A client's position on a day.
pub const HISTORICO: &str = r#"
    {"date":"2026-03-02","saldo":999999999999969.99,"availableBalance":"999999999999969.99",
    "heldBalance":"30.00","totalBalance":"999999999999999.99","cvu":"0000999103945667845133",
    "idCuenta":1}"#;

/// A client's movements.
pub const MOVIMIENTOS: &str = r#"
    {"totalRecords":2,"items":[{"idComprobante":"cmp_00000040000000200000004577q85kvb",
    "descripcionTipoComprobante":"Retención","fecha":"2026-03-02T15:04:05.678Z","importe":30.00,
    "sentido":"-1","signo":-1,"saldo":999999999999969.99,"idExterno":"reserva-1",
    "cvu":"0000999103945667845133","idTipoComprobante":3,"codigo":"HOLD","idCuenta":1,"referencia":null,
    "fechaExterna":null,"contraparte":null,"sentidoLedger":"hold","availableBalance":"999999999999969.99",
    "heldBalance":"30.00","totalBalance":"999999999999999.99",
    "fechaNegocio":"2026-03-02","fechaProceso":"2026-03-02","fechaPublicacion":"2026-03-03"},
    {"idComprobante":"cmp_00000040000000200000002fnbb8vryk","descripcionTipoComprobante":"Type IN",
    "fecha":"2026-03-02T15:04:05.678Z","importe":999999999999999.99,"sentido":"1","signo":1,
    "saldo":999999999999999.99,"idExterno":"orden-1","cvu":"0000999103945667845133",
    "idTipoComprobante":1000,"codigo":"IN","idCuenta":1,"referencia":null,"fechaExterna":null,"contraparte":null,
    "sentidoLedger":"credit","availableBalance":"999999999999999.99","heldBalance":"0.00",
    "totalBalance":"999999999999999.99",
    "fechaNegocio":"2026-03-02","fechaProceso":"2026-03-02","fechaPublicacion":"2026-03-03"}]}"#;
