//! The bodies of transfers and operations in the wallet family.

use caudal_actors::accounts::TransferView;
use caudal_http::bodies::transfers;
use caudal_http::walletentidad::{Operation, OperationKind, OperationState, Other};
use caudal_ledger::ids::RealmId;
use caudal_ledger::transfers::Transfer;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wallet::importe::Importe;
use caudal_http::bodies::texts::Instant;

/// A transfer that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Transferencia {
    /// Its id.
    pub operacion_id: String,
    /// The bank's own id; null while it has none.
    pub operacion_id_externo: Option<String>,
    /// `PENDING`, `IN_PROGRESS`, `UNKNOWN_FOREVER`, `COMPLETED` or `FAILED`.
    pub estado_externo: &'static str,
    /// 1 a procesar, 2 aprobada, 3 rechazada, 4 a consultar, 5 auditar, 6 devuelta, 7 devuelta
    /// parcialmente.
    pub estado_id: u8,
    /// The account that sends.
    pub origen_cuenta_id: u64,
    /// The id on the rail; null while it has none.
    pub coelsa_id: Option<String>,
    /// When it was asked for.
    pub fecha_inicio: Instant,
    /// When it ended; null while it has not.
    pub fecha_fin: Option<Instant>,
    /// When it was asked for.
    pub fecha_negocio: Instant,
    /// How much.
    pub importe: Importe,
    /// The CVU that sends.
    pub cvu_origen: String,
    /// A line for people.
    pub referencia: Option<String>,
    /// What for: the central bank's code.
    pub concepto: &'static str,
    /// The tenant's own id.
    pub id_externo: String,
    /// The CBU or CVU that receives, as far as it is known.
    pub cvu_cbu_contraparte: Option<String>,
    /// The alias that receives, where it was named by that.
    pub alias_contraparte: Option<String>,
    /// The name of whoever receives, as far as it is known.
    pub nombre_contraparte: Option<String>,
    /// The tax id of whoever receives, as far as it is known.
    pub cuit_cuil_contraparte: Option<String>,
    /// The voucher that took the money, or holds it while the bank has not answered.
    pub comprobante_id: String,
    /// Always null: what came back is among the vouchers of the account.
    #[schema(value_type = Option<String>)]
    pub comprobante_devolucion_id: Option<String>,
    /// Why it was rejected.
    pub mensaje_adicional: Option<String>,
    /// Whether both accounts are of the realm.
    pub es_transferencia_interna: bool,
    /// Whether its state is final.
    pub esta_finalizada: bool,
    /// Whether it was rejected.
    pub esta_rechazada: bool,
    /// Whether it waits for a person.
    pub esta_a_auditar: bool,
    /// Whether the bank has not answered yet.
    pub esta_pendiente: bool,
}

impl Transferencia {
    /// Renders a transfer.
    pub(crate) fn of(realm: RealmId, view: &TransferView) -> Self {
        let TransferView {
            account, transfer, ..
        } = view;
        let (state, other) = (OperationState::of(transfer), Other::of(transfer));
        let open = transfer.status.is_open();
        Self {
            operacion_id: transfer.id(realm, *account).to_string(),
            operacion_id_externo: transfer.bank_id.clone(),
            estado_externo: state.bank_word(),
            estado_id: state.number(),
            origen_cuenta_id: account.0,
            coelsa_id: transfer.coelsa_id.clone(),
            fecha_inicio: transfer.created_at.into(),
            fecha_fin: (!open).then(|| transfer.updated_at.into()),
            fecha_negocio: transfer.created_at.into(),
            importe: Importe::of(transfer.amount),
            cvu_origen: transfer.from.to_string(),
            referencia: transfer.description.clone(),
            concepto: transfer.concept.as_str(),
            id_externo: transfer.external_id.to_string(),
            cvu_cbu_contraparte: other.key,
            alias_contraparte: other.alias,
            nombre_contraparte: other.name,
            cuit_cuil_contraparte: other.cuit,
            comprobante_id: voucher(realm, view),
            comprobante_devolucion_id: None,
            mensaje_adicional: reason(transfer),
            es_transferencia_interna: transfer.receiver.is_some(),
            esta_finalizada: !open,
            esta_rechazada: state == OperationState::Rejected,
            esta_a_auditar: state == OperationState::ToAudit,
            esta_pendiente: state == OperationState::ToProcess,
        }
    }
}

/// The id of the first voucher of a transfer.
fn voucher(realm: RealmId, view: &TransferView) -> String {
    view.transfer.id(realm, view.account).0.to_string()
}

fn reason(transfer: &Transfer) -> Option<String> {
    transfer.rejection.as_ref().map(transfers::reason)
}

/// One of the details of an operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub(crate) struct Detalle {
    /// What it is.
    pub nombre: &'static str,
    /// Its value; null where there is none.
    pub valor: Option<String>,
}

/// An operation: a transfer of whoever sends, or money that arrived.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Operacion {
    /// Its id.
    pub id: String,
    /// 1 saliente, 2 entrante, 4 interna saliente, 5 interna entrante.
    pub tipo_operacion_id: u8,
    /// The same for people.
    pub tipo_operacion_nombre: &'static str,
    /// 1 a procesar, 2 aprobada, 3 rechazada, 4 a consultar, 5 auditar, 6 devuelta, 7 devuelta
    /// parcialmente.
    pub estado_operacion_id: u8,
    /// The same for people.
    pub estado_operacion_nombre: &'static str,
    /// The account whose operation it is.
    pub cuenta_id: u64,
    /// When it was asked for, or arrived.
    pub fecha_creacion: Instant,
    /// When it last changed.
    pub fecha_actualizacion: Instant,
    /// The same, as some clients write it.
    #[serde(rename = "fechaActualización")]
    pub fecha_actualizacion_con_acento: Instant,
    /// How much.
    pub importe: Importe,
    /// The voucher that moved the money, or holds it.
    pub comprobante_id: String,
    /// Always null: what came back is among the vouchers of the account.
    #[schema(value_type = Option<String>)]
    pub comprobante_devolucion_id: Option<String>,
    /// A line for people.
    pub referencia: Option<String>,
    /// Whether a person said how it ended.
    pub auditada: bool,
    /// The tenant's own id; null of money that arrived from outside.
    pub id_externo: Option<String>,
    /// `CuitCuilContraparte`, `NombreContraparte`, `CvuCbuContraparte`, `CoelsaId`, `MotivoRechazo`,
    /// `EstadoExterno` and `Concepto`.
    pub detalle: Vec<Detalle>,
}

impl Operacion {
    /// Renders an operation.
    pub(crate) fn of(realm: RealmId, operation: &Operation) -> Self {
        match operation {
            Operation::Sent(view) => sent(realm, view),
            Operation::Received(kind, placed) => {
                let voucher = &placed.voucher;
                let (id, at) = (voucher.id(realm, placed.account).to_string(), voucher.at);
                let of_rail = *kind == OperationKind::Received;
                Self {
                    comprobante_id: id.clone(),
                    id,
                    tipo_operacion_id: kind.number(),
                    tipo_operacion_nombre: kind.name(),
                    estado_operacion_id: OperationState::Approved.number(),
                    estado_operacion_nombre: OperationState::Approved.name(),
                    cuenta_id: placed.account.0,
                    fecha_creacion: at.into(),
                    fecha_actualizacion: at.into(),
                    fecha_actualizacion_con_acento: at.into(),
                    importe: Importe::of(voucher.amount),
                    comprobante_devolucion_id: None,
                    referencia: voucher.description.clone(),
                    auditada: false,
                    id_externo: voucher.external_id.as_ref().map(ToString::to_string),
                    detalle: details(
                        &Other::of_voucher(voucher),
                        voucher.reference_id.clone().filter(|_| of_rail),
                        None,
                        (OperationState::Approved, None),
                    ),
                }
            }
        }
    }
}

fn sent(realm: RealmId, view: &TransferView) -> Operacion {
    let TransferView {
        account, transfer, ..
    } = view;
    let (kind, state) = (OperationKind::of(transfer), OperationState::of(transfer));
    Operacion {
        id: transfer.id(realm, *account).to_string(),
        tipo_operacion_id: kind.number(),
        tipo_operacion_nombre: kind.name(),
        estado_operacion_id: state.number(),
        estado_operacion_nombre: state.name(),
        cuenta_id: account.0,
        fecha_creacion: transfer.created_at.into(),
        fecha_actualizacion: transfer.updated_at.into(),
        fecha_actualizacion_con_acento: transfer.updated_at.into(),
        importe: Importe::of(transfer.amount),
        comprobante_id: voucher(realm, view),
        comprobante_devolucion_id: None,
        referencia: transfer.description.clone(),
        auditada: transfer.decision.is_some(),
        id_externo: Some(transfer.external_id.to_string()),
        detalle: details(
            &Other::of(transfer),
            transfer.coelsa_id.clone(),
            reason(transfer),
            (state, Some(transfer.concept.as_str())),
        ),
    }
}

fn details(
    other: &Other,
    coelsa_id: Option<String>,
    reason: Option<String>,
    (state, concept): (OperationState, Option<&'static str>),
) -> Vec<Detalle> {
    let all = [
        ("CuitCuilContraparte", other.cuit.clone()),
        ("NombreContraparte", other.name.clone()),
        ("CvuCbuContraparte", other.key.clone()),
        ("CoelsaId", coelsa_id),
        ("MotivoRechazo", reason),
        ("EstadoExterno", Some(state.bank_word().to_owned())),
        ("Concepto", concept.map(str::to_owned)),
    ];
    all.map(|(nombre, valor)| Detalle { nombre, valor }).into()
}
