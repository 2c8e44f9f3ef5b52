//! Transfers of the wallet family: the same as the native ones, under the names of a walletentidad. A transfer is an
//! operation of the sender; money that arrives is an operation of the receiver, under the id of its voucher.

pub(crate) mod bodies;

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get, post, web};
use caudal_actors::accounts::{MakeTransfer, TransferView};
use caudal_actors::realms::Target;
use caudal_http::bodies::words::ConceptWord;
use caudal_http::body::Fields;
use caudal_http::body::read as read_body;
use caudal_http::caller::Caller;
use caudal_http::declared::{self, declared, field, id};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::DryRun;
use caudal_http::problems::Problems;
use caudal_http::request::request;
use caudal_http::respond::{ApiCall, json};
use caudal_http::shapes::AmountDto;
use caudal_http::walletentidad::Operation;
use caudal_http::words::Mistake;
use caudal_ledger::alias::Alias;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::ids::{TransferId, VoucherId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::transfers::{Concept, Destination, Send};

use super::campos;
use crate::v1::transfers::{DESCRIPTION_MAX, concept};
use bodies::{Operacion, Transferencia};

/// The mistakes of a transfer without an origin, without a destination, and with two destinations.
const NO_ORIGIN: Mistake = Mistake::Required;
const NO_DESTINATION: Mistake = Mistake::RequiredOr {
    other: "alias_destino",
};
const TWO_DESTINATIONS: Mistake = Mistake::Together {
    other: "cbu_cvu_destino",
};

request! {
    /// A transfer: exactly one of `cbu_cvu_destino` and `alias_destino` says where to.
    lenient struct Transferir as TransferirDto {
        => |fields| origin_and_destination(fields);
        /// The CVU that sends.
        cvu_origen: Option<Cvu> = optional("cvuOrigen", read_body::text(Cvu::parse))
            as String { pattern = "^000[0-9]{19}$" };
        /// The same as published examples write it; the document keeps silent about it.
        cvu: Option<Cvu> = optional("cvu_origen", read_body::text(Cvu::parse))
            as Option<String> { ignore };
        /// The CBU or CVU that receives.
        key: Option<Cbu> = optional("cbu_cvu_destino", campos::code_as(Cbu::parse))
            as Option<String> { pattern = "^[0-9]{22}$" };
        /// The alias that receives.
        alias: Option<Alias> = optional("alias_destino", read_body::text(Alias::parse))
            as Option<String> { pattern = "^[A-Za-z0-9.-]{6,20}$" };
        /// ARS, greater than 0, at most 2 decimals, as text; a number is read exactly, too.
        importe: Amount = required("importe", read_body::amount) as AmountDto;
        /// A line for people.
        referencia: Option<String> = optional("referencia", campos::code(DESCRIPTION_MAX))
            as Option<String> { max_length = 100 };
        /// What for; `VAR` when absent.
        concepto: Option<Concept> = optional("concepto", read_body::text(concept))
            as Option<ConceptWord>;
        /// The tenant's own id: idempotent over the realm's transfers. Without one every request is
        /// another transfer, unless it repeats an `Idempotency-Key`.
        id_externo: Option<ExternalId> =
            optional("idExterno", campos::code_as(ExternalId::parse))
            as Option<String> { min_length = 1, max_length = 64 };
    }
}

/// Checks that there is an origin, and exactly one destination.
fn origin_and_destination(fields: &mut Fields) {
    if !fields.has("cvuOrigen") && !fields.has("cvu_origen") {
        fields.mistake("cvuOrigen", NO_ORIGIN);
    }
    match (fields.has("cbu_cvu_destino"), fields.has("alias_destino")) {
        (false, false) => fields.mistake("cbu_cvu_destino", NO_DESTINATION),
        (true, true) => fields.mistake("alias_destino", TWO_DESTINATIONS),
        (true, false) | (false, true) => {}
    }
}

impl Transferir {
    /// The CVU that sends, and the order.
    fn order(self) -> Result<(Cvu, Send), ApiError> {
        let from = self.cvu_origen.or(self.cvu);
        let key = self.key.map(Destination::Key);
        let to = key.or(self.alias.map(Destination::Alias));
        let order = Send {
            to: to.ok_or_else(|| ApiError::field("cbu_cvu_destino", NO_DESTINATION))?,
            amount: self.importe,
            concept: self.concepto.unwrap_or(Concept::Var),
            description: self.referencia,
            external_id: match self.id_externo {
                Some(named) => named,
                None => unnamed()?,
            },
            metadata: BTreeMap::new(),
        };
        let from = from.ok_or_else(|| ApiError::field("cvuOrigen", NO_ORIGIN))?;
        Ok((from, order))
    }
}

/// Makes an external id for a transfer to which its tenant gives none.
fn unnamed() -> Result<ExternalId, ApiError> {
    let id = format!("sin-idExterno-{}", uuid::Uuid::now_v7().simple());
    ExternalId::parse(&id).map_err(|why| ApiError::field("idExterno", why))
}

/// Sends money: final at once to an account of the realm; through the bank to any other, which is
/// answered before the bank is asked.
///
/// `cuit_destino` and `emails` are accepted and of no effect: CBU, CVU or alias alone say who receives, the order
/// is accepted before the bank is asked, and the service sends no mail. To see whose account it is, ask
/// `CuentaCVUByCbuCvuOrAlias` before; `cuitCuilContraparte` of the operation says who it was.
#[utoipa::path(
    operation_id = "walletTransferir",
    tag = "Wallet: transfers",
    params(
        declared::IdempotencyKey,
        DryRun
    ),
    request_body(content = Transferir),
    responses((status = 200, body = Transferencia), Problems)
)]
#[post("/wallet/v1/transferir")]
pub(crate) async fn send(mut call: ApiCall) -> HandlerResult {
    let realm = call.caller.realm();
    let render = move |view: &TransferView| Transferencia::of(realm, view);
    let (dry_run, requester, answer) = call.making_as(StatusCode::OK, render)?;
    let (from, order) = Transferir::read(call.take_body())?.order()?;
    let order = MakeTransfer {
        from: Target::Cvu(from),
        order,
        dry_run,
    };
    let answered = call.caller.ledger().order(realm, order, requester).await;
    answer.give_made(campos::as_sent(answered))
}

/// The id of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OperacionId {
    /// A transfer.
    Sent(TransferId),
    /// The voucher of money that arrived.
    Received(VoucherId),
}

impl OperacionId {
    fn parse(text: &str) -> Option<Self> {
        let received = VoucherId::parse(text).map(Self::Received);
        received.or_else(|| TransferId::parse(text).map(Self::Sent))
    }
}

declared! {
    /// `operacionId`: the id of a transfer, `trf_…`, or of a voucher, `cmp_…`
    OperacionInPath = Path "id" as String
        => OperacionId: id(OperacionId::parse, Rejection::TransferNotFound);
    /// the tenant's own id
    ExternoInPath = Path "idExterno" as String => ExternalId: field(ExternalId::parse);
}

/// Reads an operation: a transfer by its id, or money that arrived by the id of its voucher.
///
/// `estadoOperacionNombre` says how it ended, or that it waits for the bank.
#[utoipa::path(
    operation_id = "walletOperacion",
    tag = "Wallet: transfers",
    params(OperacionInPath),
    responses((status = 200, body = Operacion), Problems)
)]
#[get("/wallet/v1/Operacion/{id}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let (queries, realm) = (caller.queries(), caller.realm());
    let operation = match OperacionInPath::read(&path)? {
        OperacionId::Received(id) => {
            let found = queries.voucher(realm, id).await.ok();
            let found = found.and_then(Operation::received);
            found.ok_or(Rejection::TransferNotFound)?
        }
        OperacionId::Sent(id) => Operation::Sent(Box::new(queries.transfer_of(realm, id).await?.0)),
    };
    Ok(shown(&caller, &operation))
}

/// Reads the transfer that holds an external id.
///
/// The external id of a transfer, as it was sent.
#[utoipa::path(
    operation_id = "walletOperacionByIdExterno",
    tag = "Wallet: transfers",
    params(ExternoInPath),
    responses((status = 200, body = Operacion), Problems)
)]
#[get("/wallet/v1/OperacionByIdExterno/{idExterno}")]
pub(crate) async fn by_external(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let id = ExternoInPath::read(&path)?;
    let (queries, realm) = (caller.queries(), caller.realm());
    let id = queries.transfer_by_external(realm, id).await?;
    let (view, _) = queries.transfer_of(realm, id).await?;
    Ok(shown(&caller, &Operation::Sent(Box::new(view))))
}

fn shown(caller: &Caller, operation: &Operation) -> HttpResponse {
    json(StatusCode::OK, &Operacion::of(caller.realm(), operation))
}
