//! Transfers of the native family: to an account of the realm at once, to any other through the bank.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get, post, web};
use caudal_actors::engine::lists::Listing;
use caudal_actors::engine::money::{TransferFilter, TransferView};
use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_ledger::alias::Alias;
use caudal_ledger::cvu::{Cbu, Cvu};
use caudal_ledger::ids::TransferId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::transfers::{Concept, Destination, Send, TransferStatus};
use caudal_ledger::vouchers::Outcome;
use serde::Serialize;
use utoipa::ToSchema;

use crate::bodies::transfers::{BankCallBody, TransferBody, transfer};
use crate::http::body::{Body, Fields, read as read_body};
use crate::http::caller::Caller;
use crate::http::errors::ApiError;
use crate::http::problems::Problems;
use crate::http::query::Query;
use crate::http::respond::{self, asker_of, give, json};
use crate::http::text;
use crate::http::words::Mistake;

/// The longest description, in characters: the bank takes no more.
const DESCRIPTION_MAX: usize = 100;

type Answer = Result<HttpResponse, ApiError>;

/// A transfer with the calls to the bank that were made for it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransferDetail {
    /// The transfer.
    #[serde(flatten)]
    pub transfer: TransferBody,
    /// The calls, oldest first.
    pub bank_calls: Vec<BankCallBody>,
}

/// A page of transfers.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct TransfersPage {
    /// The transfers.
    pub items: Vec<TransferBody>,
    /// How many match in all.
    pub total: u64,
    /// The size of the page.
    pub limit: usize,
    /// What was skipped.
    pub offset: usize,
}

fn concept(text: &str) -> Result<Concept, Mistake> {
    let mut all = Concept::ALL.into_iter();
    let found = all.find(|concept| concept.as_str().eq_ignore_ascii_case(text));
    found.ok_or_else(|| Mistake::NotAmong {
        choices: Concept::ALL.into_iter().map(Concept::as_str).collect(),
    })
}

/// Reads where a transfer goes: exactly one way to say it.
fn to(fields: &mut Fields) -> Option<Destination> {
    let ways = ["cvu", "cbu", "alias"];
    let said = ways.into_iter().filter(|way| fields.has(way)).count();
    let cvu = fields.optional("cvu", read_body::text(Cvu::parse));
    let cbu = fields.optional("cbu", read_body::text(Cbu::parse));
    let alias = fields.optional("alias", read_body::text(Alias::parse));
    if said != 1 {
        fields.mistake("cvu", Mistake::Destination);
        return None;
    }
    let key = cvu.map(Cbu::from).or(cbu);
    key.map(Destination::Key).or(alias.map(Destination::Alias))
}

/// Reads a transfer.
fn order(body: Body) -> Result<(Target, Send), ApiError> {
    let mut fields = body.fields();
    let from = fields.required("fromCvu", read_body::text(Cvu::parse));
    let to = fields.required_object("to", to).flatten();
    let amount = fields.required("amount", read_body::amount);
    let concept = fields.optional("concept", read_body::text(concept));
    let description = fields.optional("description", read_body::line(DESCRIPTION_MAX));
    let external_id = fields.required("idExterno", read_body::text(ExternalId::parse));
    let made = from.zip(to).zip(amount).zip(external_id);
    let (((from, to), amount), external_id) = fields.finish(made)?;
    let order = Send {
        to,
        amount,
        concept: concept.unwrap_or_default(),
        description,
        external_id,
    };
    Ok((Target::Cvu(from), order))
}

/// Sends money: final at once to an account of the realm; through the bank to any other, which is
/// answered as `requested` before the bank is asked.
#[utoipa::path(
    operation_id = "createTransfer",
    tag = "Transfers",
    params(
        crate::http::problems::PostParams,
        ("dryRun" = Option<bool>, Query, description = "answer what would happen, do nothing")
    ),
    request_body(content = inline(super::requests::SendTransferDto)),
    responses((status = 201, body = TransferBody), (status = 200, body = TransferBody, description = "a dry run"), Problems)
)]
#[post("/v1/transfers")]
pub async fn send(request: HttpRequest, caller: Caller, mut query: Query, body: Body) -> Answer {
    let realm = caller.realm();
    let dry_run = query.flag("dryRun");
    query.done()?;
    let asker = asker_of(
        &request,
        &caller,
        &body,
        |outcome| matches!(outcome, Outcome::Replayed(_)),
        move |outcome: &Outcome<TransferView>| {
            let (Outcome::Recorded(view) | Outcome::Replayed(view)) = outcome;
            (StatusCode::CREATED, text::json(&transfer(realm, view)))
        },
    )?;
    let (from, order) = order(body)?;
    let engine = caller.engine();
    let answered = engine.transfer(realm, from, order, dry_run, asker).await;
    give(answered, |outcome| {
        respond::made(outcome, dry_run, |view| transfer(realm, view))
    })
}

/// Lists the transfers of the realm, newest first.
#[utoipa::path(
    operation_id = "listTransfers",
    tag = "Transfers",
    params(
        super::requests::PageParams,
        ("status" = Option<String>, Query, description = "requested, in_progress, audit, completed, rejected or reversed"),
        ("fromCvu" = Option<String>, Query, description = "only from this CVU"),
        ("from" = Option<String>, Query, description = "a date or date-time; not asked for before it"),
        ("to" = Option<String>, Query, description = "a date (the whole day) or date-time; not asked for after it")
    ),
    responses((status = 200, body = TransfersPage), Problems)
)]
#[get("/v1/transfers")]
pub async fn list(caller: Caller, mut query: Query) -> Answer {
    let realm = caller.realm();
    let states = TransferStatus::ALL.map(|status| (status.as_str(), status));
    let (since, until) = query.period("from", "to");
    let filter = TransferFilter {
        status: query.choice("status", &states),
        from: query.read("fromCvu", Cvu::parse).map(Target::Cvu),
        since,
        until,
    };
    let page = query.page();
    query.done()?;
    let listing = match caller.engine().transfers(realm, filter, page).await {
        // Another's CVU sent nothing here, as one that does not exist.
        Err(Failure::Rejected(Rejection::AccountNotFound)) => Listing {
            items: vec![],
            total: 0,
            next: None,
        },
        found => found?,
    };
    let items = listing.items.iter().map(|view| transfer(realm, view));
    let body = TransfersPage {
        items: items.collect(),
        total: listing.total,
        limit: page.limit,
        offset: page.offset,
    };
    Ok(respond::paged(&listing, json(StatusCode::OK, &body)))
}

/// Reads a transfer and the calls to the bank that were made for it.
#[utoipa::path(
    operation_id = "readTransfer",
    tag = "Transfers",
    params(("id" = String, Path, description = "the id of a transfer, `trf_…`")),
    responses((status = 200, body = TransferDetail), Problems)
)]
#[get("/v1/transfers/{id}")]
pub async fn read(caller: Caller, path: web::Path<String>) -> Answer {
    let id = TransferId::parse(&path).ok_or(Rejection::TransferNotFound)?;
    let (view, calls) = caller.engine().transfer_of(caller.realm(), id).await?;
    let body = TransferDetail {
        transfer: transfer(caller.realm(), &view),
        bank_calls: calls.iter().map(BankCallBody::from).collect(),
    };
    Ok(json(StatusCode::OK, &body))
}
