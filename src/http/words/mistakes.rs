//! What can be wrong with one field or parameter.

use caudal_ledger::alias::AliasError;
use caudal_ledger::cuit::CuitError;
use caudal_ledger::cvu::KeyError;
use caudal_ledger::kyc::KycError;
use caudal_ledger::money::AmountError;
use caudal_ledger::people::NotAName;
use caudal_ledger::remuneration::BadBrokerageAccount;
use caudal_ledger::text::TextError;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Choices, Say as _, words};
use crate::current::Language;
use crate::log::level::NotDirectives;
use crate::webhooks::guard::UrlError;

words! {
/// What is wrong with a field or parameter and what would be right: the rest of a sentence that
/// begins with its name.
pub enum Mistake {
    // Whether it is there.
    Required = "is required", "es obligatorio";
    RequiredOr { other: &'static str } = "is required, or {other}", "es obligatorio, o {other}";
    NoHolders =
        "is required: a list of holders, the account's own first",
        "es obligatorio: una lista de titulares, primero el de la cuenta";
    UnknownField = "is not a field of this request", "no es un campo de esta solicitud";
    MistakenField { near: &'static str } =
        "is not a field of this request; did you mean {near}?",
        "no es un campo de esta solicitud; ¿quiso decir {near}?";
    NoParameters =
        "is not a parameter of this request, which has none",
        "no es un parámetro de esta solicitud, que no tiene ninguno";
    UnknownParameter { known: String } =
        "is not a parameter of this request, which has {known}",
        "no es un parámetro de esta solicitud, que tiene {known}";
    MistakenParameter { near: String } =
        "is not a parameter of this request; did you mean {near}?",
        "no es un parámetro de esta solicitud; ¿quiso decir {near}?";
    SentTwice = "must be sent once", "debe enviarse una sola vez";

    // Its kind.
    NotAString = "must be a string", "debe ser un texto";
    NotANumber = "must be a number", "debe ser un número";
    NotANumberOrString = "must be a number or a string", "debe ser un número o un texto";
    NotABoolean = "must be true or false", "debe ser true o false";
    NotAnObject = "must be an object", "debe ser un objeto";
    FieldTwice { name: String } =
        "must not contain the field {name} more than once",
        "no debe tener dos veces el campo {name}";
    NotObjects = "must be a list of objects", "debe ser una lista de objetos";
    NotSomeObjects { max: usize } =
        "must be a list of 1 to {max} objects",
        "debe ser una lista de 1 a {max} objetos";
    TooManyEntries { max: usize } =
        "must have at most {max} entries",
        "debe tener como máximo {max} elementos";

    // Numbers and words.
    NotWhole = "must be a whole number", "debe ser un número entero";
    OutOfRange { min: u64, max: u64 } =
        "must be a whole number from {min} to {max}",
        "debe ser un número entero de {min} a {max}";
    NotAmong { choices: Choices } = "must be one of {choices}", "debe ser uno de {choices}";
    Amount { why: AmountError } = "{why}", "{why}";
    Above { other: &'static str } =
        "must not be above {other}",
        "no debe ser mayor que {other}";
    Percentage { decimals: usize } =
        "must be a decimal from 0 to 100 with at most {decimals} decimals",
        "debe ser un decimal de 0 a 100 con {decimals} decimales como máximo";

    // Texts.
    Text { why: TextError } = "{why}", "{why}";
    Line { why: TextError, max: usize } =
        "{why} (1 to {max} characters)",
        "{why} (de 1 a {max} caracteres)";
    LongText { max: usize } =
        "must have at most {max} characters",
        "debe tener como máximo {max} caracteres";
    NotTexts =
        "must be an object of texts without duplicate keys",
        "debe ser un objeto de textos sin claves repetidas";
    Metadata { most: usize, key: usize, value: usize } =
        "must have at most {most} entries, keys of 1 to {key} and values of at most {value} characters without control characters",
        "debe tener como máximo {most} elementos, claves de 1 a {key} y valores de hasta {value} caracteres, sin caracteres de control";

    // Days and instants.
    NotADate = "must be a date as YYYY-MM-DD", "debe ser una fecha AAAA-MM-DD";
    NotADateEitherWay =
        "must be a date as YYYY-MM-DD or DD-MM-YYYY",
        "debe ser una fecha AAAA-MM-DD o DD-MM-AAAA";
    NotADateOrInstant =
        "must be a date as YYYY-MM-DD or a date-time as RFC 3339",
        "debe ser una fecha AAAA-MM-DD o una fecha y hora RFC 3339";
    NotAnInstant =
        "must be a date-time as RFC 3339",
        "debe ser una fecha y hora RFC 3339";
    InThePast = "must be in the future", "debe estar en el futuro";
    LimitsUntil =
        "needs at least one limit that is not null; null ends such limits, and is sent without limits",
        "necesita al menos un límite que no sea null; null los termina, y se envía sin límites";
    InTheFuture = "must not be in the future", "no debe estar en el futuro";
    LongRange { max: usize } =
        "must be at most {max} days from the first, both included",
        "debe abarcar como máximo {max} días, ambos incluidos";
    TooManyRows { rows: u64, max: u64 } =
        "asks for {rows} rows, and one stream has at most {max}: narrow the filter, or ask for pages",
        "pide {rows} filas, y una respuesta tiene como máximo {max}: acote el filtro, o pida páginas";
    TooMuchEvidence { rows: u64, mib: u64 } =
        "must be later: evidence has at most {rows} rows and {mib} MiB",
        "debe ser posterior: la evidencia tiene como máximo {rows} filas y {mib} MiB";
    TooManyLines { lines: u64, max: u64 } =
        "covers {lines} movements; a statement in this format may have at most {max}: ask for fewer days",
        "abarca {lines} movimientos; un resumen en este formato puede tener como máximo {max}: pida menos días";
    After { other: &'static str } =
        "must not be after {other}",
        "no debe ser posterior a {other}";

    // Fields next to each other.
    Contradicts { other: &'static str } =
        "must not contradict {other}",
        "no debe contradecir a {other}";
    DiffersFrom { other: &'static str } = "differs from {other}", "no coincide con {other}";
    Together { other: &'static str } =
        "must not be sent together with {other}",
        "no debe enviarse junto con {other}";
    OneOf { names: &'static str } =
        "must not be sent together with another one of {names}",
        "no debe enviarse junto con otro de {names}";
    Beside { other: &'static str } =
        "must not be sent together with {other}",
        "no debe venir junto con {other}";
    DiffersFromFirst = "differs from the first request", "difiere de la primera solicitud";

    // People and accounts.
    Cuit { why: CuitError } = "{why}", "{why}";
    PersonType { right: &'static str } =
        "contradicts the CUIT, which is that of a {right} person",
        "contradice al CUIT, que es de una persona de tipo {right}";
    Kyc { why: KycError } = "{why}", "{why}";
    Key { why: KeyError } = "{why}", "{why}";
    Alias { why: AliasError } = "{why}", "{why}";
    NotAnAccountNumber =
        "must be the number of an account",
        "debe ser el número de una cuenta";
    Brokerage { why: BadBrokerageAccount } = "{why}", "{why}";
    NoDestination =
        "is required, or cbu, or alias",
        "es obligatorio, o cbu, o alias";
    Destinations { sent: Choices } =
        "must be the only one: send exactly one of cvu, cbu and alias; {sent} were sent",
        "debe venir solo: exactamente uno de cvu, cbu y alias; se enviaron {sent}";

    // Vouchers and their types.
    NotASense = "must be credit or debit", "debe ser credit o debit";
    NotASign = "must be 1 (credit) or -1 (debit)", "debe ser 1 (crédito) o -1 (débito)";
    NoType =
        "is not the number of a voucher type",
        "no es el número de un tipo de comprobante";
    NotAVoucherKind =
        "must be credit, debit, hold, release, confirm_hold or the code of a voucher type",
        "debe ser credit, debit, hold, release, confirm_hold o el código de un tipo de comprobante";

    NotATransferId =
        "is not the id of a transfer: trf_ and 26 or 32 characters",
        "no es el id de una transferencia: trf_ y 26 o 32 caracteres";
    NotAtTheBank =
        "is a transfer between accounts of this realm: the bank has no part in it",
        "es una transferencia entre cuentas de este entorno: el banco no participa";
    NotARailId =
        "must have 22 of A-Z and 0-9",
        "debe tener 22 de A-Z y 0-9";
    NotAVoucherId =
        "is not the id of a voucher: cmp_ and 26 or 32 characters",
        "no es el id de un comprobante: cmp_ y 26 o 32 caracteres";

    // Lists, headers and keys.
    NotACursor =
        "must be a value of X-Next-Cursor, unchanged",
        "debe ser un valor de X-Next-Cursor, sin cambios";
    IdempotencyHeader =
        "must be sent once, with 1 to 255 visible ASCII characters",
        "debe enviarse una sola vez, con 1 a 255 caracteres ASCII visibles";
    IdempotencyKey =
        "must have 1 to 255 visible ASCII characters",
        "debe tener de 1 a 255 caracteres ASCII visibles";

    // Events and webhooks.
    NoEvent = "is not one of your events", "no es un evento suyo";
    EventToCome =
        "is an event that has not happened",
        "es un evento que todavía no ocurrió";
    OtherHistory =
        "is an event that this log does not have, because an older copy was restored; continue from an earlier event, or from the first",
        "es un evento que este registro no tiene: se restauró una copia anterior; léalo desde un evento anterior que tenga, o desde el primero";
    EventHeader =
        "must be sent once, with the id of an event",
        "debe enviarse una sola vez, con el id de un evento";
    NoEventType { word: String } =
        "must name types of events, or families such as `hold.*`: `{word}` is neither",
        "debe nombrar tipos de evento o familias como `hold.*`: `{word}` no es ninguno";
    NoEventTypeOf { word: String, all: Choices } =
        "must name types of events, or families such as `hold.*`: `{word}` is neither; there are {all}",
        "debe nombrar tipos de evento o familias como `hold.*`: `{word}` no es ninguno; existen {all}";
    NotEventTypes =
        "must be a list of types such as \"voucher.created\" or \"hold.*\", or null for all",
        "debe ser una lista de tipos como \"voucher.created\" o \"hold.*\", o null para todos";
    EventTypeCount { max: usize } =
        "must have 1 to {max} entries, or be null for all",
        "debe tener de 1 a {max} elementos, o ser null para todos";
    Url { why: UrlError } = "{why}", "{why}";

    // What operators send.
    NotAMode = "must be live or test", "debe ser live o test";
    NotScopes { choices: Choices } =
        "must be a list without repetitions of {choices}; leave it out for a key that may do everything",
        "debe ser una lista sin repeticiones de {choices}; omítalo para una clave sin restricciones";
    NotNetworks { max: usize } =
        "must be a list of 1 to {max} addresses or networks, such as \"203.0.113.7\" or \"10.20.0.0/16\"",
        "debe ser una lista de 1 a {max} direcciones o redes, como \"203.0.113.7\" o \"10.20.0.0/16\"";
    NotAPersonName =
        "must be 2 to 48 small letters without accents, digits, dots, dashes, underscores or @, begin with a letter or digit, and not be root",
        "debe tener de 2 a 48 letras minúsculas sin acentos, dígitos, puntos, guiones, guiones bajos o @, empezar con letra o dígito, y no ser root";
    NotAVerdict =
        "must be one of completed, rejected: the case is a transfer",
        "debe ser uno de completed, rejected: el caso es una transferencia";
    NotAResolution =
        "must be one of credit, return: the case is money in suspense",
        "debe ser uno de credit, return: el caso es dinero en suspenso";
    NotADismissal =
        "must be dismiss: the case is a bank item that could not be booked",
        "debe ser dismiss: el caso es lo que no se pudo registrar";
    NotACollectorClass =
        "must be one of bank_fee, bank_tax, interest, funding, sweep: what the movement of the collector account is",
        "debe ser uno de bank_fee, bank_tax, interest, funding, sweep: lo que es el movimiento de la cuenta recaudadora";
    NotADirectionOfMoney =
        "must be in or out",
        "debe ser in u out";
    CreditAlone =
        "is allowed only with outcome credit",
        "corresponde solo al resultado credit";
    NotACollector =
        "must be the CBU of a bank account, not a CVU",
        "debe ser el CBU de una cuenta bancaria, no un CVU";
    Bank { why: String } = "{why}", "{why}";
    NotASecretName { max: usize } =
        "must be the name of a file in the folder of secrets, no path: 1 to {max} letters, digits, dots, dashes and underscores, the first a letter or a digit",
        "debe ser el nombre de un archivo de la carpeta de secretos, no una ruta: 1 a {max} letras, dígitos, puntos, guiones y guiones bajos, el primero letra o dígito";
    NotLogDirectives =
        "must be targets in caudal, caudal_actors, caudal_api, caudal_backup, caudal_bank, caudal_http, caudal_operators, caudal_service or caudal_storage with warn, info, debug or trace, with commas between, 200 characters at most: for instance caudal_bank=debug,caudal_actors=debug",
        "debe ser destinos de caudal, caudal_actors, caudal_api, caudal_backup, caudal_bank, caudal_http, caudal_operators, caudal_service o caudal_storage con warn, info, debug o trace, separados por comas, 200 caracteres como máximo: por ejemplo caudal_bank=debug,caudal_actors=debug";
    NotCharged =
        "is not a type with fees: it must be CONFIRM_HOLD, HOLD, INTERNAL_P2P_IN, INTERNAL_P2P_OUT, RELEASE, TRANSFER_IN, TRANSFER_OUT, TRANSFER_REVERSAL or a tenant's own type that exists",
        "no es un tipo al que se cobre comisión: debe ser CONFIRM_HOLD, HOLD, INTERNAL_P2P_IN, INTERNAL_P2P_OUT, RELEASE, TRANSFER_IN, TRANSFER_OUT, TRANSFER_REVERSAL o un tipo propio que exista";
    FeeTwice =
        "has two entries for the same voucherTypeCode",
        "tiene dos elementos con el mismo voucherTypeCode";
}
}

impl Mistake {
    /// The mistake of a word that is not in a list.
    pub fn among<T>(choices: &[(&'static str, T)]) -> Self {
        let choices = Choices::of(choices);
        Self::NotAmong { choices }
    }
}

impl From<NotAName> for Mistake {
    fn from(NotAName: NotAName) -> Self {
        Self::NotAPersonName
    }
}

impl From<NotDirectives> for Mistake {
    fn from(NotDirectives: NotDirectives) -> Self {
        Self::NotLogDirectives
    }
}

/// Makes a mistake of each reason that a parser can give.
macro_rules! from {
    ($($why:ty => $variant:ident),+ $(,)?) => {$(
        impl From<$why> for Mistake {
            fn from(why: $why) -> Self {
                Self::$variant { why }
            }
        }
    )+};
}

from! {
    AliasError => Alias,
    AmountError => Amount,
    BadBrokerageAccount => Brokerage,
    CuitError => Cuit,
    KeyError => Key,
    KycError => Kyc,
    TextError => Text,
    UrlError => Url,
}

/// A field or parameter that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongField {
    /// Its name, with dots between levels.
    pub field: String,
    /// What is wrong with it.
    pub mistake: Mistake,
}

impl WrongField {
    /// The mistake as an answer shows it.
    pub fn shown(&self, language: Language) -> FieldError {
        FieldError {
            field: self.field.clone(),
            message: self.mistake.text(language),
        }
    }
}

/// One field that is wrong, as an answer shows it.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct FieldError {
    /// The field or parameter, with dots between levels.
    pub field: String,
    /// What is wrong with it and what would be right.
    pub message: String,
}
