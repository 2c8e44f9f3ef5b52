//! The CVU of a wallet account: made, given an alias, closed. Its record has an id of its own, which clients use.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, delete, patch, post, web};
use caudal_actors::accounts::{AccountView, ChangeProfile};
use caudal_actors::realms::Target;
use caudal_http::bodies::body;
use caudal_http::body::read::{line, text as read_text};
use caudal_http::caller::Caller;
use caudal_http::declared::{self, declared, field};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::problems::BankProblems;
use caudal_http::request::request;
use caudal_http::respond::{ApiCall, give, json};
use caudal_http::text;
use caudal_ledger::accounts::{CvuRequest, ProfileOrder};
use caudal_ledger::alias::Alias;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::rejection::Rejection;

use super::cuenta_body::{cvu_id, cvu_name};
use super::cuentas::changed;
use super::{campos, number};

/// The longest name of a CVU, in characters.
const NAME_MAX: usize = 100;

body! {
    /// The CVU of a wallet account.
    pub(crate) struct CvuBody as WalletCvuResponse by body(realm: RealmId, view: &AccountView) {
        => let account = &view.account;
        => let (cvu, alias) = (account.cvu.as_ref(), account.alias.as_ref());
        /// The id of its record.
        id: u64 = cvu_id(realm, account);
        /// 22 digits.
        cvu: String = cvu.map(ToString::to_string).unwrap_or_default();
        /// Its alias; empty while it has none.
        alias: String = alias.map(ToString::to_string).unwrap_or_default();
        /// The account.
        id_cuenta: u64 = account.number.0;
        /// What the tenant calls it.
        nombre_cvu: String = cvu_name(account);
    }
}

/// 201 with a new CVU, 200 with one that the account already has or has again.
const fn status(view: &AccountView) -> StatusCode {
    if view.changed && view.account.reopened_at.is_none() {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    }
}

request! {
    /// A CVU for an account.
    lenient struct CreateWalletCvu as CreateWalletCvuDto {
        /// The account.
        id_cuenta: u64 = required("idCuenta", campos::number) as u64;
        /// What the tenant calls the CVU; the holder's name when absent.
        nombre_cvu: Option<String> = optional("nombreCVU", line(NAME_MAX))
            as Option<String> { max_length = 100 };
        /// The same as some clients write it; the document keeps silent about it.
        nombre: Option<String> = optional("nombreCvu", line(NAME_MAX)) as Option<String> { ignore };
        /// Whether the bank assigns an alias; true when absent.
        alias_automatico: Option<bool> = optional("aliasAutomatico", campos::boolean)
            as Option<bool>;
    }
}

/// Gives a wallet account its CVU; when it has one already, answers with that.
///
/// The answer comes when the bank has issued the CVU: 201 when it is new, 200 when the account had it. Emits
/// `account.created`. A CVU that was closed is the same one again, open, with all that it has: 200, and
/// `account.reactivated`. With `aliasAutomatico` it has its alias again, or another one where that is taken.
#[utoipa::path(
    operation_id = "createWalletCvu",
    tag = "Wallet",
    params(declared::IdempotencyKey),
    request_body(content = CreateWalletCvu),
    responses((status = 201, body = CvuBody), (status = 200, body = CvuBody, description = "the CVU that the account has already, or has again"), BankProblems)
)]
#[post("/wallet/v1/CVU")]
pub(crate) async fn create(mut call: ApiCall) -> HandlerResult {
    let realm = call.caller.realm();
    let requester =
        call.requester(move |view: &AccountView| (status(view), text::json(&body(realm, view))))?;
    let sent = CreateWalletCvu::read(call.take_body())?;
    let order = ProfileOrder::GetCvu(CvuRequest {
        // The account draws the client id.
        client_id: 0,
        name: sent.nombre_cvu.or(sent.nombre),
        automatic_alias: sent.alias_automatico.unwrap_or(true),
    });
    let order = ChangeProfile::new(Target::Account(AccountNo(sent.id_cuenta)), order);
    let answered = call.caller.ledger().order(realm, order, requester).await;
    give(answered, |view| json(status(&view), &body(realm, &view)))
}

/// The account whose CVU has this record; a record of another realm, or of no account, is not found.
fn account(caller: &Caller, id: u64) -> Result<AccountNo, ApiError> {
    let found = AccountNo::of_cvu_record(id, caller.realm());
    Ok(found.ok_or(Rejection::AccountNotFound)?)
}

request! {
    /// An alias for a CVU.
    lenient struct AsignarAlias as AsignarAliasDto {
        /// 6–20 letters without accents, digits, dots and dashes; case does not matter.
        alias: Alias = required("alias", read_text(Alias::parse))
            as String { pattern = "^[A-Za-z0-9.-]{6,20}$" };
        /// Whether the path names the account instead of the CVU's record; false when absent.
        id_es_cuenta: Option<bool> = optional("idEsCuenta", campos::boolean) as Option<bool>;
    }
}

declared! {
    /// the id of the CVU's record (`cuentaCVUId`); the number of the account with `idEsCuenta`
    RecordOrCuentaInPath = Path "id" as u64 => u64: field(number);
    /// the id of the CVU's record (`cuentaCVUId`)
    RecordInPath = Path "id" as u64 => u64: field(number);
}

/// Sets or replaces the alias of a CVU; its own alias again changes nothing.
///
/// The bank judges whether the alias is free over all entities; one that is taken is refused with 409. Emits
/// `account.alias.updated`.
#[utoipa::path(
    operation_id = "assignWalletAlias",
    tag = "Wallet",
    params(
        RecordOrCuentaInPath,
        declared::IfMatch
    ),
    request_body(content = AsignarAlias),
    responses((status = 200, body = CvuBody), BankProblems)
)]
#[patch("/wallet/v1/AsignarAlias/CVU/{id}")]
pub(crate) async fn assign_alias(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let id = RecordOrCuentaInPath::read(&path)?;
    let sent = AsignarAlias::read(call.take_body())?;
    let named = match sent.id_es_cuenta {
        Some(true) => AccountNo(id),
        Some(false) | None => account(&call.caller, id)?,
    };
    let realm = call.caller.realm();
    let changed = changed(&call, named, ProfileOrder::SetAlias(sent.alias));
    give(changed.await, |view| {
        json(StatusCode::OK, &body(realm, &view))
    })
}

/// Closes a CVU, in any state and at any balance; what is left stays on the ledger.
///
/// The bank closes the CVU too. Emits `account.closed`.
#[utoipa::path(
    operation_id = "closeWalletCvu",
    tag = "Wallet",
    params(
        RecordInPath,
        declared::IfMatch
    ),
    responses((status = 204, description = "closed"), BankProblems)
)]
#[delete("/wallet/v1/CVU/{id}")]
pub(crate) async fn close(call: ApiCall<()>, path: web::Path<String>) -> HandlerResult {
    let named = account(&call.caller, RecordInPath::read(&path)?)?;
    let changed = changed(&call, named, ProfileOrder::Close);
    give(changed.await, |_| HttpResponse::NoContent().finish())
}
