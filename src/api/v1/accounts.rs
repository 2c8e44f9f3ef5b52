//! Accounts of the native family: open, read, change, suspend, close. The holders: [`identity`]; the data about them:
//! [`kyc`]; the limits: [`limits`].

pub(crate) mod identity;
pub(crate) mod kyc;
pub(crate) mod limits;

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::http::header::ETAG;
use actix_web::{HttpResponse, delete, get, post, put, web};
use caudal_actors::accounts::{AccountView, ChangeProfile};
use caudal_actors::engine::lists::{AccountFilter, AccountSort};
use caudal_actors::engine::{Queries, Requester};
use caudal_actors::realms::Register;
use caudal_http::bodies::accounts::{AccountBody, AccountSummary};
use caudal_http::bodies::words::{AccountSortWord, ListedStatusWord};
use caudal_http::body::Fields;
use caudal_http::body::read::{line, text};
use caudal_http::choice::{PersonTypeWord, SuspensionWord, one_of};
use caudal_http::declared::{self, declared};
use caudal_http::params::{PageParams, params};
use caudal_http::persons::cuit;
use caudal_http::problems::{BankProblems, Problems};
use caudal_http::request::request;
use caudal_http::respond::{self, ApiCall, give, json, plain};
use caudal_http::rows::ListCall;
use caudal_http::sheets::columns::ACCOUNTS;
use caudal_http::text;
use caudal_http::words::{Mistake, Refusal};
use caudal_http::{caller::Caller, errors::HandlerResult};
use caudal_ledger::accounts::{Account, Holder, ProfileOrder, Status, SuspensionCode};
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::{Cuit, PersonType};
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::kyc::{Kyc, email, phone};
use caudal_ledger::particulars::Names;

use super::metadata::MetadataBounds;
use super::pages::{PageOf, page};
use super::target;

/// The longest name of a holder, in characters.
const NAME_MAX: usize = 100;
/// How much metadata an account may have.
const METADATA: MetadataBounds = MetadataBounds {
    most: 50,
    key: 64,
    value: 500,
};
/// The longest id that a tenant gives an account, in characters.
const CODE_MAX: usize = 64;

request! {
    /// A new account.
    strict struct CreateAccount as CreateAccountDto(caller: &Caller) {
        /// Tax id, 11 digits with a right check digit.
        cuit: Cuit = required("cuit", cuit(caller))
            as String { pattern = "^[0-9]{11}$", example = "20267565393" };
        /// The holder's name. The bank has 5 to 40 letters of Spanish, digits and dots: it is told the nearest
        /// that it can write, which is what payers see and `GET /v1/lookup/cbu/{cvu}` shows.
        holder_name: String = required("holderName", line(NAME_MAX))
            as String { min_length = 1, max_length = 100 };
        /// `human` or `legal`; follows from the CUIT when absent.
        person_type: Option<PersonType> = optional("personType", text(one_of))
            as Option<PersonTypeWord>;
        => |fields| agree(fields, cuit, person_type);
        /// The bank assigns one when absent.
        alias: Option<Alias> = optional("alias", text(Alias::parse))
            as Option<String> { pattern = "^[A-Za-z0-9.-]{6,20}$" };
        /// E-mail.
        email: Option<String> = optional("email", text(email)) as Option<String>;
        /// Phone.
        phone: Option<String> = optional("phone", text(phone)) as Option<String>;
        /// The tenant's own id, unique in the realm.
        external_id: Option<String> = optional("externalId", line(CODE_MAX))
            as Option<String> { min_length = 1, max_length = 64 };
        /// At most 50 texts.
        metadata: Option<BTreeMap<String, String>> = optional("metadata", |raw| METADATA.read(raw))
            as Option<BTreeMap<String, String>>;
    }
}

/// Notes a mistake where the type of person does not agree with the CUIT, from which it follows.
fn agree(fields: &mut Fields, cuit: Option<Cuit>, person_type: Option<PersonType>) {
    if let (Some(given), Some(cuit)) = (person_type, cuit)
        && given != cuit.person_type()
    {
        let right = cuit.person_type().as_str();
        fields.mistake("personType", Mistake::PersonType { right });
    }
}

declared! {
    /// 1–255 visible ASCII characters; the same key with the same body gives the first answer
    /// again; bodies are the same when their JSON values are, however they are spelled
    CreationKey = Header "Idempotency-Key" as String { pattern = "^[!-~]{1,255}$" };
}

/// Opens an account: makes its wallet account, creates the CVU at the bank, sets the alias.
///
/// The answer comes when the bank has issued the CVU. Repeat it with the same `Idempotency-Key` after any
/// doubt: the account is opened once. Emits `account.created`.
#[utoipa::path(
    operation_id = "createAccount",
    tag = "Accounts",
    params(CreationKey),
    request_body(content = CreateAccount),
    responses((status = 201, body = AccountBody), BankProblems)
)]
#[post("/v1/accounts")]
pub(crate) async fn create(mut call: ApiCall) -> HandlerResult {
    if respond::idempotency_key(&call.request)?.is_none() {
        return Err(Refusal::NoIdempotencyKey.into());
    }
    let requester = call.requester(|view: &AccountView| {
        (StatusCode::CREATED, text::json(&AccountBody::from(view)))
    })?;
    let sent = CreateAccount::read(call.take_body(), &call.caller)?;
    let registration = Registration {
        number: AccountNo(0),
        holder: Holder {
            cuit: sent.cuit,
            name: sent.holder_name,
            person_type: sent.person_type.unwrap_or_else(|| sent.cuit.person_type()),
        },
        code: sent.external_id,
        email: sent.email,
        phone: sent.phone,
        metadata: sent.metadata.unwrap_or_default(),
        kyc: Kyc::default(),
        enabled: true,
        names: Names::default(),
        asks_cvu: true,
    };
    let order = Register {
        registration,
        open: true,
        alias: sent.alias,
    };
    let (ledger, realm) = (call.caller.ledger(), call.caller.realm());
    let answered = ledger.order(realm, order, requester).await;
    give(answered, |view| account(StatusCode::CREATED, &view))
}

fn account(status: StatusCode, view: &AccountView) -> HttpResponse {
    let mut answer = json(status, &AccountBody::from(view));
    tag(&mut answer, view);
    answer
}

fn tag(answer: &mut HttpResponse, view: &AccountView) {
    let etag = respond::etag(view.account.profile_seq);
    if let Ok(value) = etag.try_into() {
        answer.headers_mut().insert(ETAG, value);
    }
}

page! {
    /// A page of accounts (PaginatedAccounts).
    pub(crate) AccountsPage as PaginatedAccounts {
        /// The accounts.
        AccountSummary
    }
}

const STATUSES: [(&str, Status); 3] = [
    ("active", Status::Active),
    ("suspended", Status::Suspended),
    ("closed", Status::Closed),
];

const SORTS: [(&str, AccountSort); 4] = [
    ("createdAt", AccountSort::CreatedAt),
    ("holderName", AccountSort::HolderName),
    ("cvu", AccountSort::Cvu),
    ("alias", AccountSort::Alias),
];

params! {
    /// Which accounts, and in which order.
    part struct AccountParams {
        /// part of CVU, alias, holder's name (as typed on any keyboard: case and accents do not matter, `ł` is
        /// `l`, `ß` is `ss`) or CUIT
        q: Option<String> = text("q") as Option<String>;
        /// only accounts in this state
        status: Option<Status> = choice("status", &STATUSES) as Option<ListedStatusWord>;
        /// `createdAt` when absent
        sort: Option<AccountSort> = choice("sort", &SORTS) as Option<AccountSortWord>;
    }
}

/// Lists the accounts of the realm.
///
/// Newest first unless `sort` and `order` say otherwise. Go on with `X-Next-Cursor` as `cursor`: its pages
/// show no account twice and miss none that was there at the start, but for one whose `sort` value changes meanwhile.
#[utoipa::path(
    operation_id = "listAccounts",
    tag = "Accounts",
    params(
        PageParams,
        AccountParams
    ),
    responses((status = 200, content((AccountsPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/accounts")]
pub(crate) async fn list(mut call: ListCall) -> HandlerResult {
    let sent = AccountParams::take(&mut call.query);
    let filter = AccountFilter {
        text: sent.q,
        status: sent.status,
        ..AccountFilter::default()
    };
    let (realm, sort) = (call.caller.realm(), sent.sort.unwrap_or_default());
    let fetch = async move |queries: Queries<'_>, page| {
        queries.accounts(realm, filter.clone(), sort, page).await
    };
    let show = |account: &Account| AccountSummary::from(account);
    call.answer(ACCOUNTS, fetch, |_| None, show, PageOf::answer)
        .await
}

/// Reads an account with its balance, effective limits and usage.
///
/// The `ETag` identifies the profile, limits and state of the account, for `If-Match` only: movements change the
/// balance and not the `ETag`, so the account is never answered with 304.
#[utoipa::path(
    operation_id = "readAccount",
    tag = "Accounts",
    params(declared::CvuInPath),
    responses((status = 200, body = AccountBody), Problems)
)]
#[get("/v1/accounts/{cvu}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let view = caller
        .queries()
        .view(caller.realm(), target(&path)?)
        .await?;
    Ok(account(StatusCode::OK, &view))
}

async fn change<B>(
    call: &ApiCall<B>,
    path: &web::Path<String>,
    order: ProfileOrder,
) -> HandlerResult {
    change_as(call, path, order, plain(&call.caller)).await
}

/// Like [`change`], for the POSTs, which take an idempotency key.
async fn change_by_post<B>(
    call: &ApiCall<B>,
    path: &web::Path<String>,
    order: ProfileOrder,
) -> HandlerResult {
    let requester = call
        .requester(|view: &AccountView| (StatusCode::OK, text::json(&AccountBody::from(view))))?;
    change_as(call, path, order, requester).await
}

async fn change_as<B>(
    call: &ApiCall<B>,
    path: &web::Path<String>,
    order: ProfileOrder,
    requester: Requester<AccountView>,
) -> HandlerResult {
    let order = ChangeProfile {
        target: target(path)?,
        order,
        if_match: respond::if_match(&call.request),
    };
    let (ledger, realm) = (call.caller.ledger(), call.caller.realm());
    let answered = ledger.order(realm, order, requester).await;
    give(answered, |view| account(StatusCode::OK, &view))
}

/// Closes an account, in any state and at any balance; what is left stays on the ledger.
///
/// The bank closes the CVU too. A closed account takes no money and lets none out; holds and transfers that
/// are open still end. Emits `account.closed`.
#[utoipa::path(
    operation_id = "closeAccount",
    tag = "Accounts",
    params(declared::CvuInPath, declared::IfMatch),
    responses((status = 200, body = AccountBody), BankProblems)
)]
#[delete("/v1/accounts/{cvu}")]
pub(crate) async fn close(call: ApiCall<()>, path: web::Path<String>) -> HandlerResult {
    change(&call, &path, ProfileOrder::Close).await
}

request! {
    /// A suspension.
    strict struct SuspendAccount as SuspendAccountDto {
        /// Why, for people.
        reason: String = required("reason", line(500))
            as String { min_length = 1, max_length = 500 };
        /// Why, as a word; `other` when absent.
        code: Option<SuspensionCode> = optional("code", text(one_of))
            as Option<SuspensionWord>;
    }
}

/// Blocks outgoing movements; money that comes in is still welcome.
///
/// Debits, new holds and transfers out are refused with `account_suspended` until the account is reactivated.
/// Emits `account.suspended`.
#[utoipa::path(
    operation_id = "suspendAccount",
    tag = "Accounts",
    params(declared::CvuInPath, declared::IdempotencyKey, declared::IfMatch),
    request_body(content = SuspendAccount),
    responses((status = 200, body = AccountBody), Problems)
)]
#[post("/v1/accounts/{cvu}/suspend")]
pub(crate) async fn suspend(call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let SuspendAccount { reason, code } = SuspendAccount::read(call.body.clone_fields())?;
    let code = code.unwrap_or(SuspensionCode::Other);
    change_by_post(&call, &path, ProfileOrder::Suspend { reason, code }).await
}

/// Lets money out again.
///
/// Only a suspended account can be reactivated. Emits `account.reactivated`.
#[utoipa::path(
    operation_id = "reactivateAccount",
    tag = "Accounts",
    params(declared::CvuInPath, declared::IdempotencyKey, declared::IfMatch),
    responses((status = 200, body = AccountBody), Problems)
)]
#[post("/v1/accounts/{cvu}/reactivate")]
pub(crate) async fn reactivate(call: ApiCall<()>, path: web::Path<String>) -> HandlerResult {
    change_by_post(&call, &path, ProfileOrder::Reactivate).await
}

request! {
    /// An alias.
    strict struct SetAlias as SetAliasDto {
        /// 6–20 letters without accents, digits, dots and dashes; case does not matter.
        alias: Alias = required("alias", text(Alias::parse))
            as String { pattern = "^[A-Za-z0-9.-]{6,20}$" };
    }
}

/// Sets or replaces the alias.
///
/// The bank judges whether the alias is free over all entities; one that is taken is refused with 409
/// `alias_taken`. The account's own alias again changes nothing. Emits `account.alias.updated`.
#[utoipa::path(
    operation_id = "setAlias",
    tag = "Accounts",
    params(declared::CvuInPath, declared::IfMatch),
    request_body(content = SetAlias),
    responses((status = 200, body = AccountBody), BankProblems)
)]
#[put("/v1/accounts/{cvu}/alias")]
pub(crate) async fn set_alias(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let SetAlias { alias } = SetAlias::read(call.take_body())?;
    change(&call, &path, ProfileOrder::SetAlias(alias)).await
}
