//! Transfers of the native family: at once to an account of the realm, through the bank to any other.

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::{get, post, web};
use caudal_actors::accounts::MakeTransfer;
use caudal_actors::engine::Queries;
use caudal_actors::engine::lists::Listing;
use caudal_actors::engine::money::{TransferFilter, TransferIds, TransferView};
use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_http::bodies::metadata::Metadata;
use caudal_http::bodies::transfers::{BankCallBody, TransferBody, transfer};
use caudal_http::bodies::words::{ConceptWord, TransferStatusWord};
use caudal_http::body::read::{amount, line, text};
use caudal_http::caller::Caller;
use caudal_http::declared::{self, declared, id};
use caudal_http::errors::HandlerResult;
use caudal_http::params::{DryRun, PageParams, params};
use caudal_http::problems::Problems;
use caudal_http::request::request;
use caudal_http::respond::{ApiCall, json};
use caudal_http::rows::ListCall;
use caudal_http::shapes::AmountDto;
use caudal_http::shapes::DayOrInstant;
use caudal_http::sheets::columns::TRANSFERS;
use caudal_http::words::Mistake;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::ids::TransferId;
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Concept, Destination, Send, TransferStatus};
use serde::Serialize;
use utoipa::ToSchema;

use super::metadata::METADATA;
use super::pages::{PageOf, page};

/// The longest description, in characters: the bank takes no more.
pub(crate) const DESCRIPTION_MAX: usize = 100;

/// A transfer with the calls to the bank that were made for it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TransferDetail {
    /// The transfer.
    #[serde(flatten)]
    pub transfer: TransferBody,
    /// The calls, oldest first.
    pub bank_calls: Vec<BankCallBody>,
}

page! {
    /// A page of transfers.
    pub(crate) TransfersPage as TransfersPage {
        /// The transfers.
        TransferBody
    }
}

/// Reads the concept of a transfer: the central bank's code for its purpose.
///
/// # Errors
/// When the text is no concept.
pub(crate) fn concept(text: &str) -> Result<Concept, Mistake> {
    let mut all = Concept::ALL.into_iter();
    let found = all.find(|concept| concept.as_str().eq_ignore_ascii_case(text));
    found.ok_or_else(|| Mistake::NotAmong {
        choices: Concept::ALL.into_iter().map(Concept::as_str).collect(),
    })
}

/// The fields that can name the destination of a transfer.
const WAYS: [&str; 3] = ["cvu", "cbu", "alias"];

request! {
    /// Where a transfer goes: exactly one of these.
    strict_part pub struct To as DestinationDto {
        => let ways = |fields| Vec::from_iter(WAYS.into_iter().filter(|way| fields.has(way)));
        /// A CVU.
        cvu: Option<Cvu> = optional("cvu", text(Cvu::parse))
            as Option<String> { pattern = "^000[0-9]{19}$" };
        /// A CBU.
        cbu: Option<Cbu> = optional("cbu", text(Cbu::parse))
            as Option<String> { pattern = "^[0-9]{22}$" };
        /// An alias.
        alias: Option<Alias> = optional("alias", text(Alias::parse))
            as Option<String> { pattern = "^[A-Za-z0-9.-]{6,20}$" };
        => |fields| match ways.as_slice() {
            [] => fields.mistake("cvu", Mistake::NoDestination),
            [_] => {}
            [first, ..] => {
                let sent = ways.iter().copied().collect();
                fields.mistake(first, Mistake::Destinations { sent });
            }
        };
    }
}

impl To {
    /// The destination; `None` when no field or several of them were sent.
    fn destination(self) -> Option<Destination> {
        match (self.cvu, self.cbu, self.alias) {
            (Some(cvu), None, None) => Some(Destination::Key(cvu.into())),
            (None, Some(cbu), None) => Some(Destination::Key(cbu)),
            (None, None, Some(alias)) => Some(Destination::Alias(alias)),
            _ => None,
        }
    }
}

request! {
    /// A transfer.
    strict struct SendTransfer as CreateTransferDto {
        /// The CVU that sends.
        from_cvu: Cvu = required("fromCvu", text(Cvu::parse))
            as String { pattern = "^000[0-9]{19}$" };
        /// Where to: exactly one of its fields.
        to: Destination = required_object("to", |inner| To::take(inner)?.destination()) as To;
        /// ARS, greater than 0, at most 2 decimals, as text; a number is read exactly, too.
        amount: Amount = required("amount", amount) as AmountDto;
        /// `ALQ`, `CUO`, `EXP`, `FAC`, `PRE`, `SEG`, `HON`, `HAB` or `VAR` (when absent).
        concept: Option<Concept> = optional("concept", text(concept)) as Option<ConceptWord>;
        /// A line for people.
        description: Option<String> = unless_blank("description", line(DESCRIPTION_MAX))
            as Option<String> { max_length = 100 };
        /// The tenant's own id: idempotent over the realm's transfers.
        id_externo: ExternalId = required("idExterno", text(ExternalId::parse))
            as String { min_length = 1, max_length = 64 };
        /// The tenant's own data: at most 20 texts with names of at most 40 characters.
        metadata: Option<BTreeMap<String, String>> = optional("metadata", |raw| METADATA.read(raw))
            as Option<Metadata>;
    }
}

/// Sends money: final at once to an account of the realm; through the bank to any other, which is
/// answered as `requested` before the bank is asked.
///
/// Idempotent by `idExterno`: the same receiver by another name (alias, CBU or CVU) is the same transfer. An
/// `Idempotency-Key` names one body, receiver included. A transfer through the bank holds amount and charges until the bank has the
/// last word; follow it with `GET /v1/transfers/{id}` or by its events, `transfer.completed` or
/// `transfer.rejected`.
#[utoipa::path(
    operation_id = "createTransfer",
    tag = "Transfers",
    params(
        declared::IdempotencyKey,
        DryRun
    ),
    request_body(content = SendTransfer),
    responses((status = 201, body = TransferBody), (status = 200, body = TransferBody, description = "a dry run"), Problems)
)]
#[post("/v1/transfers")]
pub(crate) async fn send(mut call: ApiCall) -> HandlerResult {
    let realm = call.caller.realm();
    let (dry_run, requester, answer) =
        call.making(move |view: &TransferView| transfer(realm, view))?;
    let sent = SendTransfer::read(call.take_body())?;
    let order = Send {
        to: sent.to,
        amount: sent.amount,
        concept: sent.concept.unwrap_or_default(),
        description: sent.description,
        external_id: sent.id_externo,
        metadata: sent.metadata.into_iter().flatten().collect(),
    };
    let order = MakeTransfer {
        from: Target::Cvu(sent.from_cvu),
        order,
        dry_run,
    };
    answer.give_made(call.caller.ledger().order(realm, order, requester).await)
}

params! {
    /// Which transfers.
    part struct TransferParams {
        /// only transfers in this state
        status: Option<TransferStatus> =
            choice("status", &TransferStatus::ALL.map(|status| (status.as_str(), status)))
            as Option<TransferStatusWord>;
        /// only from this CVU
        from_cvu: Option<Cvu> = read("fromCvu", Cvu::parse) as Option<String>;
        /// A date or date-time; not before it.
        from: Option<Timestamp> = since("from") as Option<DayOrInstant>;
        /// A date (the whole day) or date-time; not after it.
        to: Option<Timestamp> = until("to") as Option<DayOrInstant>;
        => |query| query.in_order("from", from, "to", to);
        /// only to whom has this CUIT, as the bank resolved it before sending; it looks at all transfers that the
        /// period or fromCvu leaves, so many on one page at most: `looked` says where that was not all
        counterparty_cuit: Option<Cuit> = read("counterpartyCuit", Cuit::parse_relaxed)
            as Option<String> { pattern = "^[0-9]{11}$" };
        /// only of exactly this amount
        amount: Option<i64> = centavos("amount") as Option<String>;
        /// the one transfer with the tenant's own id; like each of the following ids, it is found without looking at any
        /// other transfer
        id_externo: Option<ExternalId> = read("idExterno", ExternalId::parse)
            as Option<String> { min_length = 1, max_length = 64 };
        /// the one with this reference at the bank
        origin_id: Option<String> = text("originId") as Option<String>;
        /// the one with this id at the bank
        bank_transfer_id: Option<String> = text("bankTransferId") as Option<String>;
        /// the one with this id on the rail, or of which money came back under this id
        coelsa_id: Option<String> = text("coelsaId") as Option<String>;
    }
}

/// Lists the transfers of the realm, newest first.
///
/// Incoming money is not among them: it is a voucher of the account that received it.
#[utoipa::path(
    operation_id = "listTransfers",
    tag = "Transfers",
    params(
        PageParams,
        TransferParams
    ),
    responses((status = 200, content((TransfersPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/transfers")]
pub(crate) async fn list(mut call: ListCall) -> HandlerResult {
    let realm = call.caller.realm();
    let sent = TransferParams::take(&mut call.query);
    let filter = TransferFilter {
        status: sent.status,
        from: sent.from_cvu.map(Target::Cvu),
        since: sent.from,
        until: sent.to,
        counterparty: sent.counterparty_cuit,
        amount: sent.amount,
        ids: TransferIds {
            external: sent.id_externo,
            origin: sent.origin_id,
            bank: sent.bank_transfer_id,
            coelsa: sent.coelsa_id,
        },
    };
    let fetch = async move |queries: Queries<'_>, page| {
        match queries.transfers(realm, filter.clone(), page).await {
            // The CVU of another realm sent nothing here, like one that does not exist.
            Err(Failure::Rejected(Rejection::AccountNotFound)) => Ok(Listing::default()),
            found => found,
        }
    };
    let show = move |view: &TransferView| transfer(realm, view);
    let account = |view: &TransferView| Some(view.account);
    call.answer(TRANSFERS, fetch, account, show, PageOf::answer)
        .await
}

declared! {
    /// the id of a transfer, `trf_…`
    TransferInPath = Path "id" as String
        => TransferId: id(TransferId::parse, Rejection::TransferNotFound);
}

/// Reads a transfer and the calls to the bank that were made for it.
///
/// `completed`, `rejected` and `reversed` are final. One in `audit` waits for a person.
#[utoipa::path(
    operation_id = "readTransfer",
    tag = "Transfers",
    params(TransferInPath),
    responses((status = 200, body = TransferDetail), Problems)
)]
#[get("/v1/transfers/{id}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let id = TransferInPath::read(&path)?;
    let (view, calls) = caller.queries().transfer_of(caller.realm(), id).await?;
    let body = TransferDetail {
        transfer: transfer(caller.realm(), &view),
        bank_calls: calls.iter().map(BankCallBody::from).collect(),
    };
    Ok(json(StatusCode::OK, &body))
}
