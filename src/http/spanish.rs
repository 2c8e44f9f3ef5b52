//! What people of the wallet family read: a sentence for each code, and the words for a wrong field.
//!
//! Figures of a refusal are in its `details`; what a sentence here would repeat, it leaves out.

use super::errors::{ApiError, FieldError};

/// The sentence of each code, but that of `invalid_request`, which names its field.
pub const SENTENCES: &[(&str, &str)] = &[
    ("account_closed", "La cuenta está cerrada"),
    ("account_code_taken", "Ya existe una cuenta con ese código"),
    (
        "account_disabled",
        "La cuenta está deshabilitada; habilítela primero",
    ),
    (
        "account_not_empty",
        "La cuenta todavía tiene saldo; solo se cierran cuentas sin saldo",
    ),
    ("account_not_found", "La cuenta no existe"),
    ("account_not_suspended", "La cuenta no está suspendida"),
    (
        "account_suspended",
        "La cuenta está suspendida; reactívela primero",
    ),
    (
        "account_without_cvu",
        "La cuenta todavía no tiene CVU; créelo primero",
    ),
    ("alias_taken", "El alias ya está en uso"),
    (
        "amount_overflow",
        "El saldo superaría lo que una cuenta puede tener",
    ),
    (
        "bank_failed",
        "El banco falló; la operación se sigue intentando",
    ),
    (
        "bank_refused",
        "El banco rechazó la operación; ver bankBody",
    ),
    (
        "bank_timeout",
        "El banco no respondió a tiempo; la operación se sigue intentando",
    ),
    ("batch_rejected", "Se rechazó el lote; ver details"),
    (
        "body_too_large",
        "El cuerpo de la solicitud es demasiado grande",
    ),
    (
        "case_decided",
        "El caso ya fue resuelto; léalo para ver por quién y por qué",
    ),
    ("case_not_found", "El caso no existe"),
    (
        "clock_in_doubt",
        "El servicio duda de su reloj y no acepta cambios; reintente más tarde",
    ),
    (
        "cuit_immutable",
        "El CUIT no se puede cambiar cuando la cuenta ya tiene CVU",
    ),
    ("delivery_not_found", "El envío no existe"),
    ("destination_closed", "La cuenta de destino está cerrada"),
    ("destination_not_found", "La cuenta de destino no existe"),
    (
        "expiry_in_the_past",
        "El vencimiento debe estar en el futuro",
    ),
    (
        "first_holder_differs",
        "El primer titular debe tener el CUIT de la cuenta",
    ),
    (
        "head_too_large",
        "La cabecera de la solicitud es demasiado grande",
    ),
    (
        "head_too_slow",
        "La cabecera de la solicitud no llegó a tiempo",
    ),
    ("hold_not_found", "La retención no existe"),
    ("hold_not_open", "La retención ya no está abierta"),
    (
        "hold_remaining",
        "El importe supera lo que queda de la retención",
    ),
    (
        "holder_twice",
        "Un CUIT aparece dos veces entre los titulares",
    ),
    (
        "id_externo_in_flight",
        "Otra solicitud con el mismo idExterno está en curso; reintente en unos segundos",
    ),
    (
        "id_externo_reused",
        "El idExterno ya fue usado con otros datos",
    ),
    (
        "idempotency_in_flight",
        "La primera solicitud con este Idempotency-Key está en curso; reintente en unos segundos",
    ),
    (
        "idempotency_key_not_found",
        "No se conoce ninguna solicitud con este Idempotency-Key",
    ),
    (
        "idempotency_key_required",
        "Falta la cabecera Idempotency-Key",
    ),
    (
        "idempotency_key_reused",
        "El Idempotency-Key ya fue usado con otros datos",
    ),
    ("insufficient_funds", "Saldo insuficiente"),
    (
        "internal_error",
        "Error interno del servicio; no se hizo nada; avise a quien lo opera",
    ),
    ("key_not_active", "La clave está revocada o vencida"),
    ("key_not_found", "La clave no existe"),
    (
        "limit_exceeded",
        "La operación supera un límite de la cuenta; ver details",
    ),
    (
        "malformed_body",
        "El cuerpo debe ser un objeto JSON en UTF-8 sin campos repetidos",
    ),
    (
        "malformed_request",
        "Cada línea de la cabecera debe terminar en CR LF",
    ),
    (
        "method_not_allowed",
        "Este recurso no admite ese método; ver la cabecera Allow",
    ),
    (
        "nothing_to_reverse",
        "No queda nada de la transferencia que pueda devolverse",
    ),
    ("notice_not_understood", "No se entiende el aviso"),
    (
        "operation_in_flight",
        "Otra operación de la cuenta espera al banco; reintente en unos segundos",
    ),
    (
        "outcome_unknown",
        "No se conoce el resultado; repita la solicitud con el mismo Idempotency-Key o idExterno",
    ),
    (
        "overloaded",
        "El servicio está ocupado; reintente en unos segundos",
    ),
    (
        "person_type_contradicts",
        "El tipo de persona no corresponde al CUIT",
    ),
    (
        "rate_limited",
        "Demasiadas solicitudes con esta clave o de este PSP; espere y reintente",
    ),
    (
        "read_only",
        "Por el momento no se aceptan cambios; reintente más tarde",
    ),
    (
        "remuneration_enrolled",
        "La cuenta ya está adherida con otra cuenta comitente u otro fondo",
    ),
    (
        "return_in_flight",
        "La devolución ya está en curso en el banco; espere su respuesta",
    ),
    ("route_not_found", "No existe ese recurso; ver /docs"),
    ("same_account", "La transferencia debe ir a otra cuenta"),
    (
        "sender_unknown",
        "No se conoce el CBU del remitente; acredite el dinero en una CVU",
    ),
    (
        "shutting_down",
        "El servicio se está reiniciando; reintente en unos segundos",
    ),
    (
        "storage_damaged",
        "El servicio no puede leer sus datos; reintente más tarde",
    ),
    ("tenant_not_found", "El PSP no existe"),
    ("tenant_taken", "Ya existe un PSP con ese identificador"),
    (
        "too_many_accounts",
        "Se alcanzó la cantidad máxima de cuentas",
    ),
    (
        "too_many_attempts",
        "Demasiados intentos con claves incorrectas; espere y reintente",
    ),
    (
        "too_many_keys",
        "Se alcanzó la cantidad máxima de claves activas",
    ),
    (
        "too_many_open_holds",
        "La cuenta alcanzó la cantidad máxima de retenciones abiertas",
    ),
    (
        "too_many_open_transfers",
        "La cuenta alcanzó la cantidad máxima de transferencias pendientes",
    ),
    (
        "too_many_redeliveries",
        "El webhook ya tiene demasiados reenvíos en curso",
    ),
    (
        "too_many_voucher_types",
        "Se alcanzó la cantidad máxima de tipos de comprobante",
    ),
    (
        "too_many_webhooks",
        "Se alcanzó la cantidad máxima de webhooks",
    ),
    ("transfer_not_found", "La transferencia no existe"),
    (
        "transfer_not_in_audit",
        "El banco todavía puede definir la transferencia; resuélvala con force: true si le consta",
    ),
    ("transfer_not_open", "La transferencia ya es definitiva"),
    (
        "unauthorized",
        "API key ausente o inválida; envíela en la cabecera x-api-key",
    ),
    (
        "unsupported_media_type",
        "Envíe el cuerpo con Content-Type: application/json",
    ),
    ("verification_running", "Ya hay una verificación en curso"),
    (
        "version_mismatch",
        "La cuenta cambió desde que se leyó (If-Match)",
    ),
    ("voucher_not_found", "El comprobante no existe"),
    (
        "voucher_type_inactive",
        "El tipo de comprobante está inactivo",
    ),
    (
        "voucher_type_is_system",
        "El tipo de comprobante es del sistema: no se puede cambiar ni usar para ajustes",
    ),
    ("voucher_type_not_found", "El tipo de comprobante no existe"),
    (
        "voucher_type_sense",
        "Un tipo de comprobante propio es de crédito o de débito",
    ),
    (
        "voucher_type_taken",
        "Ya existe un tipo de comprobante con ese código",
    ),
    ("voucher_type_unknown", "El tipo de comprobante no existe"),
    ("webhook_not_found", "El webhook no existe"),
];

/// What is said of wrong fields; `{}` stands for what varies, in the same order on both sides.
const PHRASES: &[(&str, &str)] = &[
    ("is required", "es obligatorio"),
    ("is required, or {}", "es obligatorio, o {}"),
    ("is incomplete", "está incompleto"),
    (
        "is not a field of this request",
        "no es un campo de esta solicitud",
    ),
    (
        "is not a parameter of this operation",
        "no es un parámetro de esta operación",
    ),
    (
        "differs from the first request",
        "difiere de la primera solicitud",
    ),
    ("must be a string", "debe ser un texto"),
    ("must be a number", "debe ser un número"),
    (
        "must be a number or a string",
        "debe ser un número o un texto",
    ),
    ("must be true or false", "debe ser true o false"),
    ("must be an object", "debe ser un objeto"),
    ("must be a list of objects", "debe ser una lista de objetos"),
    (
        "must have at most {} entries",
        "debe tener como máximo {} elementos",
    ),
    ("must be sent once", "debe enviarse una sola vez"),
    (
        "must have at most {} characters",
        "debe tener como máximo {} caracteres",
    ),
    (
        "must be a whole number from {} to {}",
        "debe ser un número entero de {} a {}",
    ),
    ("must be one of {}", "debe ser uno de {}"),
    (
        "must be a date as YYYY-MM-DD",
        "debe ser una fecha AAAA-MM-DD",
    ),
    (
        "must be a date as YYYY-MM-DD or a date-time as RFC 3339",
        "debe ser una fecha AAAA-MM-DD o una fecha y hora RFC 3339",
    ),
    (
        "must be a date-time as RFC 3339",
        "debe ser una fecha y hora RFC 3339",
    ),
    ("must not be in the future", "no debe estar en el futuro"),
    ("must not be after {}", "no debe ser posterior a {}"),
    ("must not contradict {}", "no debe contradecir a {}"),
    (
        "must not come together with {}",
        "no debe enviarse junto con {}",
    ),
    (
        "must be a value of X-Next-Cursor, unchanged",
        "debe ser un valor de X-Next-Cursor, sin cambios",
    ),
    (
        "must be an e-mail address",
        "debe ser una dirección de correo electrónico",
    ),
    ("must be a phone number", "debe ser un número de teléfono"),
    (
        "must be exactly 11 digits",
        "debe tener exactamente 11 dígitos",
    ),
    (
        "prefix {} is not that of a CUIT, CUIL or CDI",
        "el prefijo {} no es de un CUIT, CUIL o CDI",
    ),
    (
        "the check digit should be {}",
        "el dígito verificador debería ser {}",
    ),
    (
        "is too long (1 to {} characters)",
        "es demasiado largo (de 1 a {} caracteres)",
    ),
    (
        "must not be empty (1 to {} characters)",
        "no debe estar vacío (de 1 a {} caracteres)",
    ),
    (
        "must not contain control characters or invisible marks (1 to {} characters)",
        "no debe contener caracteres de control ni marcas invisibles (de 1 a {} caracteres)",
    ),
    (
        "must be 1 to 64 visible ASCII characters without spaces or '/'",
        "debe tener de 1 a 64 caracteres ASCII visibles, sin espacios ni '/'",
    ),
    (
        "must be 2 to 40 letters without accents, digits or underscores",
        "debe tener de 2 a 40 letras sin acentos, dígitos o guiones bajos",
    ),
    (
        "must be sent once, with 1 to 255 visible ASCII characters",
        "debe enviarse una sola vez, con 1 a 255 caracteres ASCII visibles",
    ),
    (
        "must be a decimal number such as 1234.50: digits, no sign, no exponent",
        "debe ser un número decimal como 1234.50: dígitos, sin signo ni exponente",
    ),
    (
        "must have at most 2 decimals",
        "debe tener como máximo 2 decimales",
    ),
    ("must be greater than 0", "debe ser mayor que 0"),
    (
        "must be at most 999999999999999.99",
        "debe ser como máximo 999999999999999.99",
    ),
];

/// The sentence of an error.
pub fn sentence(error: &ApiError) -> String {
    if let Some((_, sentence)) = SENTENCES.iter().find(|(code, _)| *code == error.code) {
        return (*sentence).to_owned();
    }
    match error.errors.as_slice() {
        [one] => format!("{} {}", one.field, phrase(&one.message)),
        // A code without a sentence of its own keeps the one that it has.
        [] => error.message.clone(),
        many => format!("Hay {} campos incorrectos; ver errors", many.len()),
    }
}

/// The wrong fields of an error.
pub fn fields(errors: &[FieldError]) -> Vec<FieldError> {
    let told = |error: &FieldError| FieldError {
        field: error.field.clone(),
        message: phrase(&error.message),
    };
    errors.iter().map(told).collect()
}

/// What is said of a wrong field; what is Spanish already, or unknown, stays.
fn phrase(text: &str) -> String {
    let found = PHRASES
        .iter()
        .filter_map(|(english, spanish)| Some((holes(english, text)?, spanish)))
        .min_by_key(|(holes, _)| holes.len());
    let Some((holes, spanish)) = found else {
        return text.to_owned();
    };
    let mut holes = holes.into_iter();
    let mut told = String::with_capacity(text.len());
    for (at, part) in spanish.split("{}").enumerate() {
        if at > 0 {
            told.push_str(holes.next().unwrap_or_default());
        }
        told.push_str(part);
    }
    told
}

/// What stands in the holes of a pattern; `None` when the text is another.
fn holes<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = pattern.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut holes = Vec::new();
    for part in parts {
        let (hole, after) = match part {
            "" => (rest, ""),
            part => rest.split_once(part)?,
        };
        holes.push(hole);
        rest = after;
    }
    rest.is_empty().then_some(holes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_keep_what_varies() {
        for (english, spanish) in [
            ("is required", "es obligatorio"),
            ("is required, or date", "es obligatorio, o date"),
            (
                "must be a whole number from 1 to 200",
                "debe ser un número entero de 1 a 200",
            ),
            ("must be one of asc, desc", "debe ser uno de asc, desc"),
            ("no cambia", "no cambia"),
        ] {
            assert_eq!(phrase(english), spanish);
        }
        for (english, spanish) in PHRASES {
            let count = |text: &str| text.matches("{}").count();
            assert_eq!(count(english), count(spanish), "{english}");
        }
    }

    #[test]
    fn codes_are_in_order_and_once() {
        assert!(SENTENCES.is_sorted_by(|(a, _), (b, _)| a < b));
    }
}
