//! The bodies of transfers and operations in the wallet family.

use caudal_actors::accounts::TransferView;
use caudal_http::bodies::body;
use caudal_http::bodies::transfers;
use caudal_http::walletentidad::{Operation, OperationKind, OperationState, Other};
use caudal_ledger::ids::RealmId;
use caudal_ledger::transfers::Transfer;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wallet::importe::Importe;
use caudal_http::bodies::texts::Instant;

body! {
    /// A transfer that was asked for.
    pub(crate) struct Transferencia of(realm: RealmId, view: &TransferView) {
        => let TransferView {
            account, transfer, ..
        } = view;
        => let (state, other) = (OperationState::of(transfer), Other::of(transfer));
        => let open = transfer.status.is_open();
        /// Its id.
        operacion_id: String = transfer.id(realm, *account).to_string();
        /// The bank's own id; null while it has none.
        operacion_id_externo: Option<String> = transfer.bank_id.clone();
        /// `PENDING`, `IN_PROGRESS`, `UNKNOWN_FOREVER`, `COMPLETED` or `FAILED`.
        estado_externo: &'static str = state.bank_word();
        /// 1 a procesar, 2 aprobada, 3 rechazada, 4 a consultar, 5 auditar, 6 devuelta, 7 devuelta
        /// parcialmente.
        estado_id: u8 = state.number();
        /// The account that sends.
        origen_cuenta_id: u64 = account.0;
        /// The id on the rail; null while it has none.
        coelsa_id: Option<String> = transfer.coelsa_id.clone();
        /// When it was asked for.
        fecha_inicio: Instant = transfer.created_at.into();
        /// When it ended; null while it has not.
        fecha_fin: Option<Instant> = (!open).then(|| transfer.updated_at.into());
        /// When it was asked for.
        fecha_negocio: Instant = transfer.created_at.into();
        /// How much.
        importe: Importe = Importe::of(transfer.amount);
        /// The CVU that sends.
        cvu_origen: String = transfer.from.to_string();
        /// A line for people.
        referencia: Option<String> = transfer.description.clone();
        /// What for: the central bank's code.
        concepto: &'static str = transfer.concept.as_str();
        /// The tenant's own id.
        id_externo: String = transfer.external_id.to_string();
        /// The CBU or CVU that receives, as far as it is known.
        cvu_cbu_contraparte: Option<String> = other.key;
        /// The alias that receives, where it was named by that.
        alias_contraparte: Option<String> = other.alias;
        /// The name of whoever receives, as far as it is known.
        nombre_contraparte: Option<String> = other.name;
        /// The tax id of whoever receives, as far as it is known.
        cuit_cuil_contraparte: Option<String> = other.cuit;
        /// The voucher that took the money, or holds it while the bank has not answered.
        comprobante_id: String = voucher(realm, view);
        /// Always null: what came back is among the vouchers of the account.
        comprobante_devolucion_id: Option<String> as Option<String> = None;
        /// Why it was rejected.
        mensaje_adicional: Option<String> = reason(transfer);
        /// Whether both accounts are of the realm.
        es_transferencia_interna: bool = transfer.receiver.is_some();
        /// Whether its state is final.
        esta_finalizada: bool = !open;
        /// Whether it was rejected.
        esta_rechazada: bool = state == OperationState::Rejected;
        /// Whether it waits for a person.
        esta_a_auditar: bool = state == OperationState::ToAudit;
        /// Whether the bank has not answered yet.
        esta_pendiente: bool = state == OperationState::ToProcess;
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
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct Detalle {
    /// What it is.
    pub nombre: &'static str,
    /// Its value; null where there is none.
    pub valor: Option<String>,
}

body! {
    /// An operation: a transfer of whoever sends, or money that arrived.
    pub(crate) struct Operacion by sent(realm: RealmId, view: &TransferView) {
        => let TransferView {
            account, transfer, ..
        } = view;
        => let (kind, state) = (OperationKind::of(transfer), OperationState::of(transfer));
        /// Its id.
        id: String = transfer.id(realm, *account).to_string();
        /// 1 saliente, 2 entrante, 4 interna saliente, 5 interna entrante.
        tipo_operacion_id: u8 = kind.number();
        /// The same for people.
        tipo_operacion_nombre: &'static str = kind.name();
        /// 1 a procesar, 2 aprobada, 3 rechazada, 4 a consultar, 5 auditar, 6 devuelta, 7 devuelta
        /// parcialmente.
        estado_operacion_id: u8 = state.number();
        /// The same for people.
        estado_operacion_nombre: &'static str = state.name();
        /// The account whose operation it is.
        cuenta_id: u64 = account.0;
        /// When it was asked for, or arrived.
        fecha_creacion: Instant = transfer.created_at.into();
        /// When it last changed.
        fecha_actualizacion: Instant = transfer.updated_at.into();
        /// The same, as some clients write it.
        #[serde(rename = "fechaActualización")]
        fecha_actualizacion_con_acento: Instant = transfer.updated_at.into();
        /// How much.
        importe: Importe = Importe::of(transfer.amount);
        /// The voucher that moved the money, or holds it.
        comprobante_id: String = voucher(realm, view);
        /// Always null: what came back is among the vouchers of the account.
        comprobante_devolucion_id: Option<String> as Option<String> = None;
        /// A line for people.
        referencia: Option<String> = transfer.description.clone();
        /// Whether a person said how it ended.
        auditada: bool = transfer.decision.is_some();
        /// The tenant's own id; null of money that arrived from outside.
        id_externo: Option<String> = Some(transfer.external_id.to_string());
        /// `CuitCuilContraparte`, `NombreContraparte`, `CvuCbuContraparte`, `CoelsaId`, `MotivoRechazo`,
        /// `EstadoExterno` and `Concepto`.
        detalle: Vec<Detalle> = details(
            &Other::of(transfer),
            transfer.coelsa_id.clone(),
            reason(transfer),
            (state, Some(transfer.concept.as_str())),
        );
    }
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
