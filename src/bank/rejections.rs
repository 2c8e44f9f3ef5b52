//! What a rejection of a transfer means, as one of the closed list that all banks share.

use caudal_ledger::text::folded;
use caudal_ledger::transfers::{RejectionCode, TransferRejection};

use super::wire;

/// The meaning of the codes with which the bank refuses an order.
const CODES: [(&str, RejectionCode); 10] = [
    ("PA005", RejectionCode::DestinationNotFound),
    ("PA006", RejectionCode::DestinationNotFound),
    ("PA011", RejectionCode::DestinationNotFound),
    ("PA012", RejectionCode::DestinationNotFound),
    ("TX009", RejectionCode::DestinationNotFound),
    ("VW009", RejectionCode::HolderMismatch),
    ("PA004", RejectionCode::HolderMismatch),
    ("TX012", RejectionCode::CurrencyMismatch),
    ("TX040", RejectionCode::CurrencyMismatch),
    ("TX046", RejectionCode::LimitExceeded),
];
/// The meaning of words in a reason, which the bank gives as free text in Spanish; the first that occurs counts.
const WORDS: [(&str, RejectionCode); 17] = [
    ("moneda", RejectionCode::CurrencyMismatch),
    ("limite", RejectionCode::LimitExceeded),
    ("tope", RejectionCode::LimitExceeded),
    ("inexistente", RejectionCode::DestinationNotFound),
    ("no existe", RejectionCode::DestinationNotFound),
    ("cerrada", RejectionCode::DestinationClosed),
    ("inactiva", RejectionCode::DestinationClosed),
    ("bloqueada", RejectionCode::DestinationClosed),
    ("de baja", RejectionCode::DestinationClosed),
    ("no admite", RejectionCode::DestinationClosed),
    ("cuit", RejectionCode::HolderMismatch),
    ("cuil", RejectionCode::HolderMismatch),
    ("titular", RejectionCode::HolderMismatch),
    ("fuera de linea", RejectionCode::BankUnavailable),
    ("fuera de servicio", RejectionCode::BankUnavailable),
    ("no disponible", RejectionCode::BankUnavailable),
    ("tiempo agotado", RejectionCode::BankUnavailable),
];

/// What a rejection means: by the code of the bank's refusal or, without one, by its words.
pub(super) fn meaning(why: &TransferRejection) -> RejectionCode {
    let code = why.bank.as_ref().map(|bank| wire::code(&bank.body));
    let by_code = |code: String| CODES.iter().find(|(known, _)| *known == code);
    let by_words = || {
        let reason = folded(&why.reason);
        WORDS.iter().find(|(word, _)| reason.contains(word))
    };
    let found = match code {
        Some(code) => by_code(code),
        None => by_words(),
    };
    found.map_or(RejectionCode::Other, |(_, meaning)| *meaning)
}
