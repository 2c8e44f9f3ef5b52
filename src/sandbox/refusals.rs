//! The bank's refusals, with its own codes: HTTP 409 and `{"code", "message"}`.

use std::borrow::Cow;
use std::io;

/// A business error of the bank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// The bank's code, for instance `VW007`.
    pub code: Cow<'static, str>,
    /// The bank's words for it.
    pub message: &'static str,
}

/// Why an operation had no effect.
#[derive(Debug)]
pub(super) enum NoEffect {
    /// The bank refuses.
    Refused(Refusal),
    /// The request makes no sense to the bank, with the reason.
    Bad(&'static str),
    /// The bank could not write the effect to disk.
    Disk(io::Error),
}

impl From<Refusal> for NoEffect {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Codes and the bank's words for them.
const CODES: [(&str, &str); 31] = [
    (
        "VW001",
        "El client_id debe ser numérico de hasta 12 dígitos",
    ),
    (
        "VW003",
        "La cuenta recaudadora no corresponde a la billetera",
    ),
    ("VW005", "El CVU no pertenece a la billetera"),
    ("VW006", "El CVU no existe"),
    ("VW007", "El alias ya se encuentra en uso"),
    ("VW008", "No se pudo asignar el alias"),
    ("VW009", "El CUIT no corresponde al CVU"),
    ("VW010", "El CVU ya tiene asignado ese alias"),
    ("VW011", "El alias fue modificado hace menos de 24 horas"),
    ("VW012", "El client_id está asociado a otro CUIT"),
    ("VW013", "No se pudo crear el CVU"),
    ("VW014", "No se pudo eliminar el CVU"),
    ("VW015", "No se encontró el CVU, CUIT o billetera"),
    ("PA004", "CUIT inválido"),
    ("PA005", "CBU inválido o inexistente"),
    ("PA006", "Alias inválido"),
    ("PA011", "El alias no existe"),
    ("PA012", "CVU inválido o inexistente"),
    ("PA015", "Nombre inválido"),
    ("TX009", "Formato de alias inválido"),
    ("TX012", "Moneda inválida"),
    ("TX019", "La transferencia no existe"),
    (
        "TX033",
        "El origin_id debe tener de 1 a 15 letras mayúsculas o dígitos",
    ),
    ("TX035", "La descripción supera los 100 caracteres"),
    ("TX046", "Se superó el límite diario de la cuenta de origen"),
    ("GE409", "El estado de la transferencia no lo permite"),
    ("TX500", "No se pudo procesar la transferencia"),
    ("RM001", "La adhesión no existe"),
    ("RM002", "La referencia corresponde a otra adhesión"),
    ("RM003", "El CVU ya tiene una adhesión vigente"),
    ("RM004", "El fondo rechazó la adhesión"),
];

/// The refusal with a code; an unknown code gets a general message.
pub(super) fn refusal(code: impl Into<Cow<'static, str>>) -> Refusal {
    let code = code.into();
    let message = CODES
        .iter()
        .find(|(known, _)| *known == code)
        .map_or("Operación rechazada", |(_, message)| *message);
    Refusal { code, message }
}
