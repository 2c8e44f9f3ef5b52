//! Flat notices: the bodies that a webhook of the format `walletentidad` gets in place of events.

use caudal_ledger::accounts::Account;
use caudal_ledger::events::{Event, EventKind, Subject};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::money::Amount;
use caudal_ledger::transfers::Transfer;
use caudal_ledger::vouchers::Voucher;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{OperationKind, OperationState, Other};
use crate::bodies::transfers;

/// A flat notice.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Notice {
    /// About an operation.
    Operation(Box<OperationNotice>),
    /// About an account.
    Account(AccountNotice),
    /// A test that the tenant asked for.
    Test(TestNotice),
}

/// About an operation that ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationNotice {
    mensaje_id: String,
    evento: &'static str,
    operacion_id: String,
    operacion_tipo: &'static str,
    operacion_estado: &'static str,
    cuenta_id: u64,
    importe: Box<RawValue>,
    nombre_contraparte: Option<String>,
    banco_contraparte: Option<String>,
    referencia: Option<String>,
    cuit_contraparte: Option<String>,
    cvu_cbu_contraparte: Option<String>,
    alias_contraparte: Option<String>,
    coelsa_id: Option<String>,
    id_externo: Option<String>,
    motivo_rechazo: Option<String>,
    comprobante_id: String,
    comprobante_devolucion_id: Option<String>,
    fecha_creacion: String,
    fecha_actualizacion: String,
}

/// About an account that was disabled.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountNotice {
    mensaje_id: String,
    evento: &'static str,
    motivo: &'static str,
    cuenta_id: u64,
    mensaje: &'static str,
}

/// A test that the tenant asked for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TestNotice {
    mensaje_id: String,
    evento: &'static str,
    webhook_id: String,
}

impl OperationKind {
    /// The word for the event of its notice.
    const fn event(self) -> &'static str {
        match self {
            Self::Sent => "TRANSFERENCIA_SALIENTE",
            Self::Received => "TRANSFERENCIA_ENTRANTE",
            Self::SentInside => "TRANSFERENCIA_SALIENTE_INTERNA",
            Self::ReceivedInside => "TRANSFERENCIA_ENTRANTE_INTERNA",
        }
    }

    /// The word for the operation in its notice.
    const fn word(self) -> &'static str {
        match self {
            Self::Sent => "TransferenciaSaliente",
            Self::Received => "TransferenciaEntrante",
            Self::SentInside => "TransferenciaSalienteInterna",
            Self::ReceivedInside => "TransferenciaEntranteInterna",
        }
    }
}

/// An amount as a JSON number, written exactly.
fn number(amount: Amount) -> Result<Box<RawValue>, serde_json::Error> {
    RawValue::from_string(amount.to_string())
}

/// The notice of an event; `None` for events without one.
///
/// # Errors
/// When the notice cannot be rendered.
pub(crate) fn notice(event: &Event) -> Result<Option<Notice>, serde_json::Error> {
    let notice = match &event.subject {
        Subject::Transfer(transfer) if ends(event.kind) => sent(event, transfer)?,
        Subject::Voucher(voucher) => match OperationKind::of_voucher(voucher) {
            Some(kind) => received(event, kind, voucher)?,
            None => return Ok(None),
        },
        Subject::Account(account, ..) if event.kind == EventKind::AccountDisabled => {
            return Ok(Some(disabled(event, account)));
        }
        _ => return Ok(None),
    };
    Ok(Some(Notice::Operation(Box::new(notice))))
}

/// The notice of a test that the tenant asked for.
pub(crate) fn test(id: &str, webhook: &str) -> Notice {
    Notice::Test(TestNotice {
        mensaje_id: id.to_owned(),
        evento: "PRUEBA",
        webhook_id: webhook.to_owned(),
    })
}

/// Whether an event says how a transfer ended.
const fn ends(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::TransferCompleted | EventKind::TransferRejected | EventKind::TransferReversed
    )
}

fn sent(event: &Event, transfer: &Transfer) -> Result<OperationNotice, serde_json::Error> {
    let (kind, other) = (OperationKind::of(transfer), Other::of(transfer));
    let id = transfer.id(event.id.realm, event.account);
    let rejection = transfer.rejection.as_ref();
    Ok(OperationNotice {
        mensaje_id: event.id.to_string(),
        evento: kind.event(),
        operacion_id: id.to_string(),
        operacion_tipo: kind.word(),
        operacion_estado: OperationState::of(transfer).name(),
        cuenta_id: event.account.0,
        importe: number(transfer.amount)?,
        nombre_contraparte: other.name,
        banco_contraparte: other.bank,
        referencia: transfer.description.clone(),
        cuit_contraparte: other.cuit,
        cvu_cbu_contraparte: other.key,
        alias_contraparte: other.alias,
        coelsa_id: transfer.coelsa_id.clone(),
        id_externo: Some(transfer.external_id.to_string()),
        motivo_rechazo: rejection.map(transfers::reason),
        comprobante_id: id.0.to_string(),
        comprobante_devolucion_id: None,
        fecha_creacion: transfer.created_at.to_string(),
        fecha_actualizacion: transfer.updated_at.to_string(),
    })
}

fn received(
    event: &Event,
    kind: OperationKind,
    voucher: &Voucher,
) -> Result<OperationNotice, serde_json::Error> {
    let other = Other::of_voucher(voucher);
    let id = voucher.id(event.id.realm, event.account).to_string();
    let of_rail = kind == OperationKind::Received;
    Ok(OperationNotice {
        mensaje_id: event.id.to_string(),
        evento: kind.event(),
        operacion_id: id.clone(),
        operacion_tipo: kind.word(),
        operacion_estado: OperationState::Approved.name(),
        cuenta_id: event.account.0,
        importe: number(voucher.amount)?,
        nombre_contraparte: other.name,
        banco_contraparte: other.bank,
        referencia: voucher.description.clone(),
        cuit_contraparte: other.cuit,
        cvu_cbu_contraparte: other.key,
        alias_contraparte: other.alias,
        coelsa_id: voucher.reference_id.clone().filter(|_| of_rail),
        id_externo: voucher.external_id.as_ref().map(ToString::to_string),
        motivo_rechazo: None,
        comprobante_id: id,
        comprobante_devolucion_id: None,
        fecha_creacion: voucher.at.to_string(),
        fecha_actualizacion: voucher.at.to_string(),
    })
}

fn disabled(event: &Event, account: &Account) -> Notice {
    let AccountNo(number) = account.number;
    Notice::Account(AccountNotice {
        mensaje_id: event.id.to_string(),
        evento: "DESHABILITAR_CUENTA",
        motivo: "SOLICITUD_DE_LA_ORGANIZACION",
        cuenta_id: number,
        mensaje: "La organización deshabilitó la cuenta",
    })
}
