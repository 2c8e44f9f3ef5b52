//! The tables of [`super::fields`].

/// Places in a body, each with its fields.
pub type Shape = &'static [(&'static str, &'static str)];

/// Endpoints whose answers are not the interface's, or are checked elsewhere.
pub const ELSEWHERE: &[&str] = &["GET /v1/idempotency/{key}", "GET /v1/events/stream"];

const VOUCHER: &str = "id:s cvu:s amount:s availableAfter:s heldAfter:s totalAfter:s \
    voucherTypeCode:s voucherTypeName:s idExterno:s? referenceType:s referenceId:s ledgerType:s \
    description:* counterparty:o? createdAt:s sequence:i";
const TYPE: &str = "code:s name:s active:b system:b id:s? legacyId:i? description:s? movementKind:s? tenantId:* sense:s";
const PAGE: &str = "items:a total:i limit:i offset:i";
const PAGINA: &str = "totalPages:i totalRecords:i items:a";
const BALANCE: &str = "cvu:s currency:s available:s held:s total:s sequence:i asOf:s";
const PAST: &str = "cvu:s date:s available:s held:s total:s sequence:i lastMovementAt:s? final:b";
const ACCOUNT: &str = "cvu:s alias:s? status:s holder:o titulares:a currency:s walletAccountId:i \
    externalId:s? enabled:b email:s? phone:s? metadata:o kyc:o suspension:o? createdAt:s \
    updatedAt:s closedAt:s?";
const HOLDER: &str = "cuit:s name:s personType:s";
const KYC: &str = "nationality:s? birthCountry:s? birthDate:s? sex:s? dni:s? documentType:s? \
    maritalStatus:s? occupation:s? afipActivity:s? pep:b? uif:b? fatca:b? ocde:b? address:o? \
    riskLevel:s? kycLevel:i? verifiedAt:s?";
const SNAPSHOT: &str = "effective:o source:o own:o usage:o remaining:o asOf:s";
const USAGE: &str = "dailyAmount:s dailyCount:i monthlyAmount:s monthlyCount:i";
const LIMITS: &str = "maxPerTransaction:s? dailyAmount:s? dailyCount:i? monthlyAmount:s? \
    monthlyCount:i? maxBalance:s?";
const SOURCES: &str = "maxPerTransaction:s dailyAmount:s dailyCount:s monthlyAmount:s \
    monthlyCount:s maxBalance:s";
const FULL: Shape = &[
    ("", ACCOUNT),
    ("", "balance:o limits:o"),
    ("holder", HOLDER),
    ("titulares/0", HOLDER),
    ("kyc", KYC),
    ("balance", BALANCE),
    ("limits", SNAPSHOT),
    ("limits/effective", LIMITS),
    ("limits/usage", USAGE),
];
const LOOKUP: Shape = &[
    (
        "",
        "cbu:s type:s alias:s? cuit:s holderName:s personType:s titulares:a bank:o currency:s active:b",
    ),
    ("bank", "code:s name:s"),
];
const HOLD: &str = "id:s cvu:s amount:s confirmed:s released:s remaining:s status:s idExterno:s \
    expiresAt:s? createdAt:s";
const TRANSFER: &str = "id:s kind:s status:s fromCvu:s to:o counterparty:o amount:s fee:* idExterno:s \
    bankTransferId:* coelsaId:* rejection:* createdAt:s updatedAt:s";
const POSITION: &str = "cvu:s alias:s? walletAccountId:i holderName:s cuit:s status:s available:s \
    held:s total:s lastMovementAt:s?";
const CUENTA: &str = "id:i cuitCuil:s nombre:s apellido:s razonSocial:s email:s celular:s \
    actividadAfip:s habilitado:b esPep:b esFatca:b esUif:b tenantId:s domicilio:o codigo:* \
    idOrganizacion:* cvu:* alias:* nombreCvu:* estadoCvu:s? cuentaCVUId:* organizacionCuentaBancoId:* \
    fechaNacimiento:* ocupacion:* estadoCivil:* dni:* fechaAltaSiscri:* fechaMonitoreada:*";
const DOMICILIO: &str = "calle:* numero:* piso:* departamento:* localidadCodigo:* \
    provinciaCodigo:* cp:* cpa:* localidadNombre:* provinciaNombre:*";
const TIPO: &str = "id:i? nombre:s codigo:s descripcion:s? signo:n sentido:s tipoMovimiento:s? \
    habilitado:b reservado:b";
const OPERACION: &str = "id:s tipoOperacionId:i tipoOperacionNombre:s estadoOperacionId:i \
    estadoOperacionNombre:s cuentaId:i fechaCreacion:s fechaActualizacion:s fechaActualización:s \
    importe:n comprobanteId:s comprobanteDevolucionId:s? referencia:s? auditada:b idExterno:s? detalle:a";
const TRANSFERENCIA: &str = "operacionId:s operacionIdExterno:s? estadoExterno:s estadoId:i \
    origenCuentaId:i coelsaId:s? fechaInicio:s fechaFin:s? fechaNegocio:s importe:n cvuOrigen:s \
    referencia:s? concepto:s idExterno:s cvuCbuContraparte:s? aliasContraparte:s? nombreContraparte:s? \
    cuitCuilContraparte:s? comprobanteId:s comprobanteDevolucionId:s? mensajeAdicional:s? \
    esTransferenciaInterna:b estaFinalizada:b estaRechazada:b estaAAuditar:b estaPendiente:b";
const WALLET_CVU: &str = "id:i cvu:s alias:s idCuenta:i nombreCvu:s";
const SALDO: &str = "saldo:n availableBalance:s heldBalance:s totalBalance:s cvu:s idCuenta:i";
const CLIENTE: &str = "idCuenta:i cvu:s alias:s? nombre:s cuitCuil:s saldo:n availableBalance:s \
    heldBalance:s totalBalance:s fechaUltimoMovimiento:s?";
const COMPROBANTE: &str = "idComprobante:s descripcionTipoComprobante:s fecha:s importe:n \
    sentido:s signo:n saldo:n idExterno:s? cvu:s idTipoComprobante:* codigo:s idCuenta:* \
    referencia:* fechaExterna:* contraparte:o?";
const EVENT: &str = "id:s sequence:i type:s timestamp:s data:o";
const WEBHOOK: &str = "id:s url:s types:a? description:s? format:s active:b status:s progress:o \
    createdAt:s updatedAt:s";
const PROGRESS: &str = "position:s? behind:i waiting:i delivered:i parked:i lastSuccessAt:s? \
    lastFailure:o?";
const DELIVERY: &str = "id:s webhookId:s eventId:s eventType:s status:s attemptCount:i attempts:a";
const ATTEMPT: &str = "at:s durationMs:i responseStatus:i? error:s? outcome:s nextAttemptAt:s?";
const SHOWN: Shape = &[("", WEBHOOK), ("progress", PROGRESS)];
const WITH_SECRET: Shape = &[("", WEBHOOK), ("", "secret:s"), ("progress", PROGRESS)];
const ALTA: &str = "id:* cvu:s idCuenta:i cuentaComitente:s fondo:s? estado:s fechaAlta:s";

/// The endpoints of the interface and the additional ones, each with the shape of its answer; empty
/// if the answer is 204.
pub const ENDPOINTS: &[(&str, Shape)] = &[
    (
        "GET /v1/bank/conciliacion",
        &[
            (
                "",
                "fecha:s from:s to:s items:a total:i limit:i? next:s? summary:o",
            ),
            (
                "summary",
                "matched:i missingInLedger:i missingAtBank:i amountDiffers:i pending:i decided:i suspense:i contradicted:i amountIn:s amountOut:s",
            ),
            (
                "items/0",
                "date:s bankTransferId:* coelsaId:* direction:s cvu:s counterparty:o amount:s status:s bankAt:* voucher:o? result:s decision:o? contradicted:b",
            ),
            ("items/0/counterparty", "cuit:* name:* cbu:* alias:* bank:*"),
            ("items/0/voucher", "id:s amount:s createdAt:s"),
        ],
    ),
    ("GET /v1/lookup/cbu/{cbu}", LOOKUP),
    ("GET /v1/lookup/alias/{alias}", LOOKUP),
    ("GET /v1/voucher-types", &[("0", TYPE), ("12", TYPE)]),
    (
        "POST /v1/voucher-types",
        &[("", TYPE), ("", "id:s legacyId:i tenantId:s")],
    ),
    ("PATCH /v1/voucher-types/{code}", &[("", TYPE)]),
    ("DELETE /v1/voucher-types/{code}", &[]),
    ("POST /wallet/v1/TipoComprobante", &[("", "id:i")]),
    ("GET /v1/accounts/{cvu}/comprobantes", &[("0", VOUCHER)]),
    (
        "POST /v1/accounts/{cvu}/comprobantes",
        &[("", VOUCHER), ("", "idExterno:s")],
    ),
    (
        "GET /v1/comprobantes/internal",
        &[("", PAGE), ("items/0", VOUCHER)],
    ),
    (
        "GET /v1/comprobantes/by-external/{idExterno}",
        &[("", VOUCHER), ("", "idExterno:s")],
    ),
    ("GET /v1/comprobantes/{id}", &[("", VOUCHER)]),
    (
        "POST /v1/comprobantes/batch",
        &[
            ("", "results:a summary:o"),
            ("results/0", "index:i status:s voucher:o"),
            ("results/0/voucher", VOUCHER),
            ("summary", "recorded:i replayed:i rejected:i"),
        ],
    ),
    ("GET /v1/accounts/{cvu}/balance/historical", &[("", PAST)]),
    ("GET /v1/accounts/{cvu}/balance", &[("", BALANCE)]),
    (
        "GET /v1/accounts/{cvu}/statements",
        &[
            (
                "",
                "cvu:s alias:s? walletAccountId:i holderName:s cuit:s provider:s from:s to:s final:b \
                currency:s opening:o closing:o sums:o movements:i lastSequence:i hash:s lines:a",
            ),
            ("opening", "available:s held:s total:s"),
            ("sums", "credit:o debit:o hold:o release:o confirmHold:o"),
            ("sums/credit", "count:i amount:s"),
        ],
    ),
    ("GET /v1/accounts/{cvu}/movements", &[("0", VOUCHER)]),
    (
        "GET /v1/fees/preview",
        &[
            (
                "",
                "cvu:s voucherTypeCode:s direction:s importe:s currency:s fee:o tax:o totalCharges:s netAmount:s available:s sufficient:b",
            ),
            (
                "fee",
                "percentage:s fixed:s minimum:s? maximum:s? amount:s source:s",
            ),
            ("tax", "rate:s base:s amount:s"),
        ],
    ),
    ("POST /v1/accounts", FULL),
    (
        "GET /v1/accounts",
        &[("", PAGE), ("items/0", ACCOUNT), ("items/0/holder", HOLDER)],
    ),
    ("GET /v1/accounts/{cvu}", FULL),
    ("DELETE /v1/accounts/{cvu}", FULL),
    (
        "GET /v1/accounts/{cvu}/limits",
        &[
            ("", SNAPSHOT),
            ("effective", LIMITS),
            ("own", LIMITS),
            ("source", SOURCES),
            ("usage", USAGE),
        ],
    ),
    ("PATCH /v1/accounts/{cvu}/limits", FULL),
    (
        "POST /v1/accounts/{cvu}/suspend",
        &[("", ACCOUNT), ("suspension", "reason:s code:s? at:s")],
    ),
    ("POST /v1/accounts/{cvu}/reactivate", FULL),
    ("PATCH /v1/accounts/{cvu}/identidad", FULL),
    (
        "PATCH /v1/accounts/{cvu}/kyc",
        &[
            ("kyc", KYC),
            (
                "kyc/address",
                "street:s? number:s? floor:s? apartment:s? cityCode:s? provinceCode:s? postalCode:s? cpa:s? cityName:s? provinceName:s?",
            ),
        ],
    ),
    ("PUT /v1/accounts/{cvu}/alias", FULL),
    ("POST /v1/accounts/{cvu}/holds", &[("", HOLD)]),
    ("GET /v1/accounts/{cvu}/holds", &[("0", HOLD)]),
    ("GET /v1/holds/{id}", &[("", HOLD)]),
    ("POST /v1/holds/{id}/confirm", &[("", HOLD)]),
    ("POST /v1/holds/{id}/release", &[("", HOLD)]),
    ("POST /v1/transfers", &[("", TRANSFER)]),
    ("GET /v1/transfers", &[("", PAGE), ("items/0", TRANSFER)]),
    ("GET /v1/transfers/{id}", &[("", TRANSFER)]),
    (
        "GET /v1/treasury",
        &[
            (
                "",
                "asOf:s sequence:i currency:s collector:o bankBalance:s? bankAsOf:s? bankError:o? clientFunds:o accounts:o inTransit:o pspFees:s freeBalance:s? coverageRatio:s? covered:b?",
            ),
            ("collector", "cbu:s bank:s"),
            ("clientFunds", "available:s held:s total:s"),
            ("accounts", "active:i suspended:i closed:i"),
            ("inTransit", "outgoing:s incoming:s"),
        ],
    ),
    (
        "GET /v1/treasury/positions",
        &[("", PAGE), ("items/0", POSITION)],
    ),
    ("GET /v1/treasury/positions/{cvu}", &[("", POSITION)]),
    (
        "GET /v1/treasury/positions/{cvu}/movements",
        &[("0", VOUCHER)],
    ),
    (
        "GET /v1/treasury/positions/{cvu}/balance/historical",
        &[("", PAST)],
    ),
    (
        "GET /v1/events",
        &[("", "items:a next:s?"), ("items/0", EVENT)],
    ),
    (
        "GET /v1/webhooks",
        &[("0", WEBHOOK), ("0/progress", PROGRESS)],
    ),
    ("POST /v1/webhooks", WITH_SECRET),
    ("GET /v1/webhooks/{id}", SHOWN),
    ("PATCH /v1/webhooks/{id}", SHOWN),
    ("DELETE /v1/webhooks/{id}", &[]),
    ("POST /v1/webhooks/{id}/rotate-secret", WITH_SECRET),
    (
        "POST /v1/webhooks/{id}/test",
        &[("", "delivered:b responseStatus:i? error:s? durationMs:i")],
    ),
    (
        "GET /v1/webhooks/{id}/deliveries",
        &[
            ("", "items:a next:s?"),
            ("items/0", DELIVERY),
            ("items/0/attempts/0", ATTEMPT),
        ],
    ),
    (
        "POST /v1/webhooks/deliveries/{id}/redeliver",
        &[("", "from:s to:s")],
    ),
    ("POST /v1/webhooks/{id}/redeliver", &[("", "from:s to:s")]),
    ("POST /wallet/v1/Remuneracion/Alta", &[("", ALTA)]),
    (
        "GET /wallet/v1/Remuneracion/Estado/{cvu}",
        &[(
            "",
            "cvu:s idCuenta:i estado:s cuentaComitente:* fondo:* fechaAlta:* cuotapartes:* valorCuotaparte:* fechaValor:* saldoValuado:* rendimientoDiario:* tna:*",
        )],
    ),
    (
        "GET /wallet/v1/Cuentas",
        &[
            ("", PAGINA),
            ("items/0", CUENTA),
            ("items/0/domicilio", DOMICILIO),
        ],
    ),
    (
        "POST /wallet/v1/Cuenta",
        &[("", "id:i codigo:s? habilitado:b")],
    ),
    ("PUT /wallet/v1/Cuenta/{id}", &[]),
    (
        "GET /wallet/v1/Cuenta/{id}",
        &[("", CUENTA), ("domicilio", DOMICILIO)],
    ),
    (
        "GET /wallet/v1/CuentaByCuit",
        &[("0", CUENTA), ("0/domicilio", DOMICILIO)],
    ),
    ("PATCH /wallet/v1/Habilitado/Cuenta/{id}", &[]),
    ("POST /wallet/v1/CVU", &[("", WALLET_CVU)]),
    (
        "PATCH /wallet/v1/AsignarAlias/CVU/{id}",
        &[("", WALLET_CVU)],
    ),
    ("DELETE /wallet/v1/CVU/{id}", &[]),
    (
        "GET /wallet/v1/TiposComprobantes",
        &[("0", TIPO), ("13", TIPO), ("13", "id:i")],
    ),
    ("DELETE /wallet/v1/TipoComprobante/{id}", &[]),
    (
        "GET /wallet/v1/ComprobantesByFilters",
        &[
            ("", PAGINA),
            ("items/0", COMPROBANTE),
            ("comprobantes/0", COMPROBANTE),
        ],
    ),
    ("POST /wallet/v1/transferir", &[("", TRANSFERENCIA)]),
    ("GET /wallet/v1/Operacion/{id}", &[("", OPERACION)]),
    (
        "GET /wallet/v1/OperacionByIdExterno/{idExterno}",
        &[("", OPERACION)],
    ),
    (
        "GET /wallet/v1/CuentaCVUByCbuCvuOrAlias",
        &[(
            "",
            "cuentaId:i? cbucvu:s alias:s? cuitCuil:s? nombre:s? nombreCvu:s? bancoNombre:s entidad:s \
             activo:b billeteraId:i? moneda:s cotitulares:a",
        )],
    ),
    ("GET /wallet/v1/Comprobante/{id}", &[("", COMPROBANTE)]),
    (
        "GET /wallet/v1/SaldoActualByIdCuenta/{idCuenta}",
        &[("", SALDO)],
    ),
    ("GET /wallet/v1/SaldoActualByCVU/{cvu}", &[("", SALDO)]),
    (
        "GET /wallet/v1/SaldoHistoricoByIdCuenta",
        &[("", SALDO), ("", "date:s")],
    ),
    (
        "GET /wallet/v1/SaldoHistoricoByCVU",
        &[("", SALDO), ("", "date:s")],
    ),
    (
        "POST /wallet/v1/Comprobante",
        &[(
            "",
            "id:s saldo:n availableBalance:s heldBalance:s totalBalance:s",
        )],
    ),
    (
        "GET /wallet/v1/ComprobanteByIdExterno/{idExterno}",
        &[("", COMPROBANTE), ("", "idExterno:s")],
    ),
    (
        "GET /wallet/v1/SaldosActuales",
        &[("", PAGINA), ("items/0", SALDO), ("saldos/0", SALDO)],
    ),
    (
        "GET /wallet/v1/SaldoHistoricoByIdCuenta/{idCuenta}",
        &[("", SALDO), ("", "date:s")],
    ),
    (
        "GET /wallet/v1/Tesoreria",
        &[
            (
                "",
                "fecha:s moneda:s cuentaRecaudadora:o saldoBanco:n? saldoClientes:n saldoDisponible:n saldoRetenido:n saldoLibre:n? cuentas:o cobertura:n? cubierto:b? errorBanco:s?",
            ),
            ("cuentaRecaudadora", "cbu:s banco:s"),
            ("cuentas", "activas:i suspendidas:i cerradas:i"),
        ],
    ),
    (
        "GET /wallet/v1/SaldosClientes",
        &[("", PAGINA), ("items/0", CLIENTE)],
    ),
    ("GET /wallet/v1/SaldoClienteByCVU/{cvu}", &[("", CLIENTE)]),
    (
        "GET /wallet/v1/SaldoClienteByIdCuenta/{idCuenta}",
        &[("", CLIENTE)],
    ),
    (
        "GET /wallet/v1/MovimientosCliente",
        &[
            ("", "totalRecords:i items:a"),
            ("items/0", COMPROBANTE),
            (
                "items/0",
                "sentidoLedger:s availableBalance:s heldBalance:s totalBalance:s",
            ),
        ],
    ),
    (
        "GET /wallet/v1/SaldoClienteHistoricoByCVU/{cvu}",
        &[("", SALDO), ("", "date:s")],
    ),
];
