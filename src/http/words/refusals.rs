//! The refusals of the service before an actor is asked: each with its status, its stable word and its sentence in
//! both languages.

use actix_web::http::StatusCode;

use super::words;

/// Declares a table of refusals: like [`words!`], with a status and a stable word before the sentences.
macro_rules! refusals {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {$(
            $variant:ident $({ $($field:ident: $type:ty),+ })? =
                $status:ident, $code:literal, $english:literal, $spanish:literal;
        )+}
    ) => {
        words! {
            $(#[$meta])*
            pub enum $name {$(
                $variant $({ $($field: $type),+ })? = $english, $spanish;
            )+}
        }

        impl $name {
            /// The status of the answer.
            pub const fn status(&self) -> StatusCode {
                match self {$(Self::$variant { .. } => StatusCode::$status),+}
            }

            /// The status and the stable word of each.
            pub fn codes() -> impl Iterator<Item = (StatusCode, &'static str)> {
                [$((StatusCode::$status, $code)),+].into_iter()
            }

            /// The stable word that clients may switch on.
            pub const fn code(&self) -> &'static str {
                match self {$(Self::$variant { .. } => $code),+}
            }
        }
    };
}

words! {
/// What would have been right in a text that is no JSON.
#[derive(Copy)]
pub enum Expected {
    Colon = "a colon after the name of a field", "el signo : después del nombre de un campo";
    End = "the end: nothing may follow the object", "el final: nada puede seguir al objeto";
    Escape =
        "a valid escape after the backslash, such as \\n or \\u00f1",
        "un escape válido después de la barra invertida, como \\n o \\u00f1";
    Json = "JSON", "JSON";
    ListGoesOn = "a comma or the end of the list", "una coma o el final de la lista";
    More = "more: it ends too early", "más texto: termina antes de tiempo";
    Name =
        "the name of a field in double quotes",
        "el nombre de un campo entre comillas dobles";
    NoComma =
        "another entry or the end: there is an extra comma",
        "otro elemento o el final: sobra una coma";
    NoControl =
        "an escape, such as \\n, instead of a control character",
        "un escape, por ejemplo \\n, en lugar de un carácter de control";
    Number = "a number such as 10.50", "un número como 10.50";
    ObjectGoesOn = "a comma or the end of the object", "una coma o el final del objeto";
    Quote = "the double quote that ends a text", "la comilla doble que cierra un texto";
    Value =
        "a value: a text in double quotes, a number, true, false, null, a list or an object",
        "un valor: un texto entre comillas dobles, un número, true, false, null, una lista o un objeto";
}
}

refusals! {
/// A request that is refused at the door.
pub enum Refusal {
    // Who asks.
    NoKey = UNAUTHORIZED, "unauthorized",
        "API key absent or invalid; send it in the x-api-key header",
        "API key ausente o inválida; envíela en la cabecera x-api-key";
    NoAdminKey = UNAUTHORIZED, "unauthorized",
        "admin key absent or invalid; send it in the x-admin-key header",
        "clave de administración ausente o inválida; envíela en la cabecera x-admin-key";
    RoleMissing { role: &'static str } = FORBIDDEN, "role_missing",
        "your role does not allow this: it requires the role {role}, or one that includes it",
        "Su rol no lo permite: hace falta el rol {role} u otro que lo incluya";
    ReasonRequired = BAD_REQUEST, "reason_required",
        "say why, in at most 500 characters: in the X-Reason header, or in the field reason where the body has one",
        "Indique el motivo, en hasta 500 caracteres: en la cabecera X-Reason o en el campo reason del cuerpo";
    NoSignature = UNAUTHORIZED, "unauthorized",
        "no signature matches, or the timestamp is outside the tolerance",
        "ninguna firma de este aviso corresponde, o es de otro momento";
    ScopeMissing { scope: &'static str } = FORBIDDEN, "scope_missing",
        "this key does not allow this: it requires the scope {scope}; scopes are set when a key is issued",
        "Esta clave no tiene permiso: necesita el alcance {scope}, que se define al emitir la clave";
    EventScopeMissing { scope: &'static str } = FORBIDDEN, "scope_missing",
        "this key may not read the events that the webhook receives: it needs the scope {scope} (or events:read), and scopes are set when a key is issued",
        "Esta clave no puede leer los eventos que recibe el webhook: necesita el alcance {scope} (o events:read), que se define al emitir la clave";
    ScopesTooFew = FORBIDDEN, "scope_missing",
        "this key does not allow this: it requires a key without scopes",
        "Esta clave no tiene permiso: se necesita una clave sin alcances";
    KeyAddress { from: String } = FORBIDDEN, "key_address",
        "this key may be used only from allowed addresses, and the request came from {from}; use it from one of them, or issue a key for this address",
        "Esta clave solo puede usarse desde ciertas direcciones y la solicitud vino de {from}; úsela desde ellas o emita una clave para esta dirección";
    KeyRate = TOO_MANY_REQUESTS, "rate_limited",
        "too many requests with this key; wait and try again",
        "Demasiadas solicitudes con esta clave; espere y reintente";
    TooManyInFlight { limit: u32, in_flight: u32 } = TOO_MANY_REQUESTS, "too_many_in_flight",
        "the realm has {in_flight} requests and items of batches in flight, and may have {limit}; nothing was done: wait until some have ended and try again",
        "Este PSP tiene {in_flight} solicitudes e ítems de lotes en curso y puede tener {limit}; no se hizo nada: espere a que terminen algunas y reintente";
    LookRate { burst: u32, seconds: u64 } = TOO_MANY_REQUESTS, "rate_limited",
        "you opened too many pages: {burst} in a burst, then one every {seconds} s; each leaves an entry in the audit log, so wait and try again",
        "Abrió demasiadas páginas: {burst} seguidas y luego una cada {seconds} s; cada una deja un asiento en la auditoría, así que espere y reintente";
    TestRate { burst: u32, seconds: u64 } = TOO_MANY_REQUESTS, "rate_limited",
        "too many test calls to webhooks of this realm: {burst} in a burst, then one every {seconds} s; wait and try again",
        "Demasiadas llamadas de prueba a webhooks: {burst} seguidas y luego una cada {seconds} s; espere y reintente";

    // Who answers.
    NotOwner { url: String } = SERVICE_UNAVAILABLE, "not_owner",
        "this node does not own the log, and nothing was done: repeat the request at {url}",
        "Este nodo no es el dueño del registro y no se hizo nada: repita la solicitud en {url}";
    NoOwner = SERVICE_UNAVAILABLE, "not_owner",
        "no node owns the log at this moment, and nothing was done: repeat the request",
        "Ningún nodo es dueño del registro en este momento y no se hizo nada: repita la solicitud";

    // How the request comes.
    HeadTooLarge { most: usize } = REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large",
        "the request headers are larger than {most} bytes",
        "La cabecera de la solicitud es demasiado grande";
    HeadFieldsTooMany { most: usize } = REQUEST_HEADER_FIELDS_TOO_LARGE, "head_too_large",
        "the request has more than {most} header fields",
        "La cabecera de la solicitud tiene más de {most} campos";
    HeadTooSlow = REQUEST_TIMEOUT, "head_too_slow",
        "the request headers did not arrive in time",
        "La cabecera de la solicitud no llegó a tiempo";
    BareLineFeed = BAD_REQUEST, "malformed_request",
        "every header line must end in CR LF",
        "Cada línea de la cabecera debe terminar en CR LF";
    MalformedHead = BAD_REQUEST, "malformed_request",
        "the request is not valid HTTP/1.1: check the request line, the header fields and their lengths; for https use the address of a listener with TLS",
        "La cabecera de la solicitud no es HTTP/1.1: revise la línea de solicitud, los campos y sus longitudes; para https use la dirección de un servidor con TLS";
    NotJson = UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type",
        "send the body with Content-Type: application/json",
        "Envíe el cuerpo con Content-Type: application/json";
    BodyEncoded = UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type",
        "send the body as it is, without Content-Encoding",
        "Envíe el cuerpo tal cual, sin Content-Encoding";
    NotOffered { offered: String } = NOT_ACCEPTABLE, "not_acceptable",
        "Accept allows no format of this response; it is available as {offered}",
        "Accept no incluye ninguna forma de esta respuesta; se ofrece como {offered}";
    BodyTooLarge { most: usize } = PAYLOAD_TOO_LARGE, "body_too_large",
        "the body is larger than {most} bytes",
        "El cuerpo de la solicitud es demasiado grande";
    BodyTooSlow = BAD_REQUEST, "malformed_body",
        "the body did not arrive in time",
        "El cuerpo de la solicitud no llegó a tiempo";
    BodyBrokenOff = BAD_REQUEST, "malformed_body",
        "the body could not be read",
        "No se pudo leer el cuerpo de la solicitud";
    NoBody = BAD_REQUEST, "malformed_body",
        "the request needs a JSON body",
        "La solicitud necesita un cuerpo JSON";
    NotUtf8 = BAD_REQUEST, "malformed_body",
        "the body is not UTF-8",
        "El cuerpo no está en UTF-8";
    NotAnObject = BAD_REQUEST, "malformed_body",
        "the body must be a JSON object",
        "El cuerpo debe ser un objeto JSON";
    NotValidJson { line: usize, column: usize, expected: Expected } = BAD_REQUEST, "malformed_body",
        "the body is not valid JSON at line {line}, column {column}: expected {expected}",
        "El cuerpo no es JSON válido en la línea {line}, columna {column}: se esperaba {expected}";
    FieldTwice { name: String } = BAD_REQUEST, "malformed_body",
        "the body contains the field {name} more than once",
        "El cuerpo tiene dos veces el campo {name}; envíelo una sola vez";
    NoIdempotencyKey = BAD_REQUEST, "idempotency_key_required",
        "the Idempotency-Key header is required",
        "Falta la cabecera Idempotency-Key";

    // What it asks for.
    NoRoute = NOT_FOUND, "route_not_found",
        "unknown path; see /docs for the available ones",
        "No existe ese recurso; ver /docs";
    NoPage = NOT_FOUND, "route_not_found",
        "unknown page; start at /docs/",
        "No existe ese recurso; ver /docs";
    NoAdminRoute = NOT_FOUND, "route_not_found",
        "unknown path",
        "No existe ese recurso";
    NoMethod { methods: String } = METHOD_NOT_ALLOWED, "method_not_allowed",
        "allowed methods: {methods}",
        "Este recurso no admite ese método; ver la cabecera Allow";
    TooManyStreams { most: usize } = TOO_MANY_REQUESTS, "too_many_streams",
        "the realm already has {most} open streams; close one first",
        "Ya hay {most} respuestas continuas abiertas; cierre una primero";
    BatchRefused { wrong: usize, total: usize } = BAD_REQUEST, "batch_rejected",
        "nothing was posted: {wrong} of {total} items are refused",
        "Se rechazó el lote; ver details";

    // What banks and operators ask for.
    NoticeNotUnderstood { why: String } = BAD_REQUEST, "notice_not_understood",
        "{why}",
        "No se entiende el aviso";
    Verifying = CONFLICT, "verification_running",
        "a verification is already running; try again when it has finished",
        "Ya hay una verificación en curso";
    LogNotChanged { why: String } = CONFLICT, "log_not_changed",
        "the log level was not changed: {why}",
        "No se cambió cuánto se registra: {why}";
    BankInUse { mode: &'static str } = CONFLICT, "bank_in_use",
        "the {mode} realm has accounts, and their CVUs are on its present collector account: collectorCbu and baseUrl can be changed until the first account is opened",
        "El entorno {mode} tiene cuentas y sus CVU están en la cuenta recaudadora actual: collectorCbu y baseUrl se pueden cambiar hasta que se abra la primera cuenta";
    BankNotSet { mode: &'static str } = CONFLICT, "bank_not_set",
        "there is no bank for {mode} keys: set [bank.{mode}] in the settings of the service, or bank.{mode} of this tenant",
        "No hay banco para claves {mode}: configure [bank.{mode}] en el servicio, o bank.{mode} de este PSP";
    BankWrong { mode: &'static str, field: &'static str, why: String } = CONFLICT, "bank_not_set",
        "the tenant's bank cannot be used: bank.{mode}.{field} {why}",
        "No se puede usar el banco del PSP: bank.{mode}.{field} {why}";
}
}
