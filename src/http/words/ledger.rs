//! The sentences of the ledger: its own text is the English; the Spanish is here.
//!
//! A refusal's figures are in its `details`, so the sentences here leave them out.

use std::fmt;

use actix_web::http::StatusCode;
use caudal_ledger::alias::AliasError;
use caudal_ledger::cuit::CuitError;
use caudal_ledger::cvu::{KeyError, place};
use caudal_ledger::kyc::{ACTIVITY_DIGITS, DNI_DIGITS, DOCUMENT_CHARS, KycError};
use caudal_ledger::money::AmountError;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::remuneration::BadBrokerageAccount;
use caudal_ledger::text::TextError;

use super::Say;
use crate::current::Language;
use crate::webhooks::guard::UrlError;

/// Makes a value's English sentence from its display, and its Spanish one with `spanish`.
macro_rules! said {
    ($type:ty, $spanish:expr) => {
        impl Say for $type {
            fn say(&self, language: Language, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let spanish: fn(&Self, &mut fmt::Formatter<'_>) -> fmt::Result = $spanish;
                match language {
                    Language::English => fmt::Display::fmt(self, f),
                    Language::Spanish => spanish(self, f),
                }
            }
        }
    };
}

said!(CuitError, |why, f| match why {
    CuitError::Shape => f.write_str("debe tener exactamente 11 dígitos"),
    CuitError::Prefix(prefix) => {
        write!(
            f,
            "comienza con {prefix}, que no es prefijo de CUIT, CUIL ni CDI"
        )
    }
    CuitError::CheckDigit { right } => {
        write!(f, "tiene mal el dígito verificador: debería ser {right}")
    }
});

said!(KeyError, |why, f| match why {
    KeyError::Shape => f.write_str("debe tener exactamente 22 dígitos"),
    KeyError::CheckDigit { block, right } => {
        write!(
            f,
            "tiene mal el dígito verificador (dígito {} de 22): debería ser {right}",
            place(*block)
        )
    }
    KeyError::NotACvu => f.write_str("debe comenzar con 000, como todo CVU"),
    KeyError::NoPsp => f.write_str("no debe tener el código de PSP 0000, que no existe"),
    KeyError::Reserved => f.write_str("debe tener un 0 como dígito 9, como todo CVU"),
});

said!(AliasError, |AliasError, f| f.write_str(
    "debe tener de 6 a 20 caracteres: letras sin acentos, dígitos, puntos y guiones"
));

said!(AmountError, |why, f| f.write_str(match why {
    AmountError::NotANumber =>
        "debe ser un número decimal como 1234.50: dígitos, sin signo ni exponente",
    AmountError::TooPrecise => "debe tener como máximo 2 decimales",
    AmountError::Zero => "debe ser mayor que 0",
    AmountError::TooLarge => "debe ser como máximo 999999999999999.99",
}));

said!(TextError, |why, f| {
    f.write_str(match why {
    TextError::ExternalId =>
        "debe tener de 1 a 64 caracteres imprimibles, sin espacios al principio ni al final",
    TextError::TypeCode =>
        "debe tener de 2 a 40 letras sin acentos, dígitos, guiones bajos o guiones",
    TextError::BookName =>
        "debe tener de 1 a 40 letras minúsculas sin acentos, dígitos, guiones bajos, dos puntos, puntos o guiones",
    TextError::BookFixed => "no debe ser el nombre de una cuenta fija de los libros",
    TextError::TooLong => "es demasiado largo",
    TextError::Empty => "no debe estar vacío",
    TextError::Hidden => "no debe contener caracteres de control ni marcas invisibles",
})
});

said!(KycError, |why, f| match why {
    KycError::Country => f.write_str("debe ser un código de país de dos letras"),
    KycError::BirthDate => f.write_str("debe ser una fecha AAAA-MM-DD"),
    KycError::Dni => {
        let (min, max) = DNI_DIGITS;
        write!(f, "debe tener de {min} a {max} dígitos")
    }
    KycError::Document => {
        let (min, max) = DOCUMENT_CHARS;
        write!(f, "debe tener de {min} a {max} letras y dígitos")
    }
    KycError::Activity => write!(f, "debe tener {ACTIVITY_DIGITS} dígitos"),
    KycError::Word { choices } => write!(f, "debe ser uno de {}", choices.join(", ")),
    KycError::Email => f.write_str("debe ser una dirección de correo electrónico"),
    KycError::Phone => f.write_str("debe ser un número de teléfono"),
    KycError::Line { why, max } => {
        let why = why.text(Language::Spanish);
        write!(f, "{why} (de 1 a {max} caracteres)")
    }
});

said!(BadBrokerageAccount, |BadBrokerageAccount, f| f.write_str(
    "debe tener de 1 a 40 caracteres ASCII visibles, sin espacios"
));

impl Say for UrlError {
    /// The same in both languages: no operation of the wallet family takes a URL.
    fn say(&self, _: Language, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The status and the Spanish sentence of each rule.
macro_rules! rules {
    ($($rule:ident: $status:ident, $spanish:literal;)+) => {
        /// The rules, each with its sentence in Spanish.
        pub const RULES: &[(&str, &str)] = &[$((stringify!($rule), $spanish)),+];

        const STATUSES: &[(&str, StatusCode)] =
            &[$((stringify!($rule), StatusCode::$status)),+];

        /// The status of a refusal by a rule.
        pub const fn status(rejection: &Rejection) -> StatusCode {
            match rejection {$(Rejection::$rule { .. } => StatusCode::$status),+}
        }

        /// The sentence of a rule in Spanish.
        pub(super) const fn rule(rejection: &Rejection) -> &'static str {
            match rejection {$(Rejection::$rule { .. } => $spanish),+}
        }
    };
}

rules! {
    AccountNotFound: NOT_FOUND, "La cuenta no existe";
    AccountWithoutCvu: BAD_REQUEST, "La cuenta todavía no tiene CVU; créelo primero";
    AccountClosed: BAD_REQUEST, "La cuenta está cerrada";
    AccountSuspended: BAD_REQUEST, "La cuenta está suspendida; reactívela primero";
    AccountNotSuspended: BAD_REQUEST, "La cuenta no está suspendida";
    AccountDisabled: BAD_REQUEST, "La cuenta está deshabilitada; habilítela primero";
    AccountNotEmpty: BAD_REQUEST, "La cuenta todavía tiene saldo; solo se cierran cuentas sin saldo";
    OperationInFlight: CONFLICT, "Otra operación de la cuenta espera al banco; reintente en unos segundos";
    InsufficientFunds: BAD_REQUEST, "Saldo insuficiente";
    AmountOverflow: BAD_REQUEST, "El saldo superaría lo que una cuenta puede tener";
    AliasTaken: CONFLICT, "El alias ya está en uso";
    AccountCodeTaken: CONFLICT, "Ya existe una cuenta con ese código";
    CuitImmutable: BAD_REQUEST, "El CUIT no se puede cambiar cuando la cuenta ya tiene CVU";
    NameRequired: BAD_REQUEST, "La cuenta debe tener un titular: nombre y apellido, o razonSocial";
    Document: BAD_REQUEST, "El número de documento no corresponde a su tipo; ver errors";
    TooManyAccounts: BAD_REQUEST, "Se alcanzó la cantidad máxima de cuentas";
    FirstHolderDiffers: BAD_REQUEST, "El primer titular debe tener el CUIT de la cuenta";
    HolderTwice: BAD_REQUEST, "Un CUIT aparece dos veces entre los titulares";
    PersonTypeContradicts: BAD_REQUEST, "El tipo de persona no corresponde al CUIT";
    VoucherTypeUnknown: BAD_REQUEST, "El tipo de comprobante no existe";
    VoucherTypeNotFound: NOT_FOUND, "El tipo de comprobante no existe";
    VoucherTypeInactive: BAD_REQUEST, "El tipo de comprobante está inactivo";
    VoucherTypeIsSystem: BAD_REQUEST, "El tipo de comprobante es del sistema: no se puede cambiar ni usar para ajustes";
    VoucherTypeTaken: CONFLICT, "Ya existe un tipo de comprobante con ese código";
    VoucherTypeSense: BAD_REQUEST, "Un tipo de comprobante propio es de crédito o de débito";
    TooManyVoucherTypes: BAD_REQUEST, "Se alcanzó la cantidad máxima de tipos de comprobante";
    TooManyBookAccounts: BAD_REQUEST, "Se alcanzó la cantidad máxima de cuentas para ajustes en los libros";
    WebhookNotFound: NOT_FOUND, "El webhook no existe";
    DeliveryNotFound: NOT_FOUND, "El envío no existe";
    TooManyWebhooks: BAD_REQUEST, "Se alcanzó la cantidad máxima de webhooks";
    TooManyReplays: BAD_REQUEST, "El webhook ya tiene demasiados reenvíos en curso";
    ExternalIdReused: CONFLICT, "El idExterno ya fue usado con otros datos";
    ExternalIdTwice: CONFLICT, "El idExterno ya fue usado con otros datos";
    ExternalIdInFlight: CONFLICT, "Otra solicitud con el mismo idExterno está en curso; reintente en unos segundos";
    VoucherNotFound: NOT_FOUND, "El comprobante no existe";
    LimitExceeded: BAD_REQUEST, "La operación supera un límite de la cuenta; ver details";
    VoucherNotReversible: BAD_REQUEST, "Solo se revierten ajustes y retenciones confirmadas, y ninguna reversa";
    ReversalExceeds: BAD_REQUEST, "El importe supera lo que queda por revertir del comprobante; ver details";
    HoldNotFound: NOT_FOUND, "La retención no existe";
    HoldNotOpen: BAD_REQUEST, "La retención ya no está abierta; ver details";
    HoldRemaining: BAD_REQUEST, "El importe supera lo que queda de la retención";
    ExpiryInThePast: BAD_REQUEST, "El vencimiento debe estar en el futuro";
    TooManyOpenHolds: BAD_REQUEST, "La cuenta alcanzó la cantidad máxima de retenciones abiertas";
    TooManyOpenTransfers: BAD_REQUEST, "La cuenta alcanzó la cantidad máxima de transferencias pendientes";
    TransferNotFound: NOT_FOUND, "La transferencia no existe";
    TransferNotOpen: BAD_REQUEST, "La transferencia ya es definitiva";
    NothingToReverse: BAD_REQUEST, "No queda nada de la transferencia que pueda devolverse";
    SameAccount: BAD_REQUEST, "La transferencia debe ir a otra cuenta";
    DestinationClosed: BAD_REQUEST, "La cuenta de destino está cerrada";
    DestinationNotFound: BAD_REQUEST, "La cuenta de destino no existe";
    TransferNotInAudit: BAD_REQUEST, "El banco todavía puede definir la transferencia; resuélvala con force: true si le consta";
    CaseNotFound: NOT_FOUND, "El caso no existe";
    CollectorShared: CONFLICT, "La cuenta recaudadora es también de otra billetera: nadie puede decir de quién son sus saldos";
    DayNotClosed: NOT_FOUND, "El día todavía no está cerrado; se cierra minutos después de terminar";
    CaseDecided: CONFLICT, "El caso ya fue resuelto; léalo para ver por quién y por qué";
    ReturnInFlight: CONFLICT, "La devolución ya está en curso en el banco; espere su respuesta";
    SenderUnknown: BAD_REQUEST, "No se conoce el CBU del remitente; acredite el dinero en una CVU";
    TransferExternalIdReused: CONFLICT, "El idExterno ya fue usado con otros datos";
    EnrolledOtherwise: CONFLICT, "La cuenta ya está adherida con otra cuenta comitente u otro fondo";
    TenantNotFound: NOT_FOUND, "El PSP no existe";
    TenantTaken: CONFLICT, "Ya existe un PSP con ese identificador";
    TooManyTenants: CONFLICT, "No quedan números para los espacios de otro PSP; créelo en otro shard";
    RealmImporting: CONFLICT, "El espacio se está cargando desde un archivo; termine esa importación primero";
    KeyNotFound: NOT_FOUND, "La clave no existe";
    KeyNotActive: BAD_REQUEST, "La clave está revocada o vencida";
    TooManyKeys: BAD_REQUEST, "Se alcanzó la cantidad máxima de claves activas";
    PersonNotFound: NOT_FOUND, "Nadie con ese nombre trabaja aquí";
    PersonTaken: CONFLICT, "Esa persona ya tiene una credencial; rótela o revóquela primero";
    TooManyPeople: BAD_REQUEST, "Se alcanzó la cantidad máxima de personas con credencial";
    ApprovalNotFound: NOT_FOUND, "La aprobación no existe";
    ApprovalEnded: CONFLICT, "La aprobación ya fue resuelta o venció; vuelva a pedirla";
    ApprovalOwn: FORBIDDEN, "Debe resolverlo otra persona, con una credencial anterior al pedido";
    TooManyApprovals: BAD_REQUEST, "Hay demasiadas aprobaciones pendientes; resuelva alguna primero";
}

/// The status and the stable word of every rule.
pub fn rules() -> impl Iterator<Item = (StatusCode, &'static str)> {
    let code = |rule: &str| {
        let known = Rejection::CODES.iter().find(|(name, _)| *name == rule);
        known.map(|(_, code)| *code)
    };
    let all = STATUSES.iter();
    all.filter_map(move |(rule, status)| Some((*status, code(rule)?)))
}

said!(Rejection, |rejection, f| f.write_str(rule(rejection)));
