//! Accounts of the native family: open, read, change, suspend, close. Who holds one: [`identity`].

pub mod identity;

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::http::header::ETAG;
use actix_web::{HttpRequest, HttpResponse, delete, get, patch, post, put, web};
use caudal_actors::accounts::AccountView;
use caudal_actors::engine::lists::{AccountFilter, AccountSort};
use caudal_ledger::accounts::{Holder, Order, Status, SuspensionCode};
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::PersonType;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::kyc::Kyc;
use caudal_ledger::limits::{Change, LimitsChange};
use caudal_ledger::money::Money;
use caudal_ledger::particulars::Names;

use super::target;
use crate::bodies::accounts::{AccountBody, AccountSummary, AccountsPage, LimitsSnapshot};
use crate::http::body::{Body, Fields, read as read_body};
use crate::http::persons::{cuit, email, phone};
use crate::http::problems::Problems;
use crate::http::query::Query;
use crate::http::request::request;
use crate::http::respond::{self, asker, give, json, plain};
use crate::http::text;
use crate::http::words::{Mistake, Refusal};
use crate::http::{caller::Caller, errors::ApiError};

/// The longest name of a holder, in characters.
const NAME_MAX: usize = 100;
/// The most entries of metadata, and the longest key and value, in characters.
const METADATA_MAX: usize = 50;
const METADATA_KEY_MAX: usize = 64;
const METADATA_VALUE_MAX: usize = 500;
/// The largest count that a limit may have.
const COUNT_MAX: u64 = 1_000_000_000;

type Answer = Result<HttpResponse, ApiError>;

/// The words of a list, for OpenAPI and for reading.
const PEOPLE: [(&str, PersonType); 2] =
    [("human", PersonType::Human), ("legal", PersonType::Legal)];
const SUSPENSIONS: [(&str, SuspensionCode); 5] = [
    ("fraud", SuspensionCode::Fraud),
    ("compliance", SuspensionCode::Compliance),
    ("court_order", SuspensionCode::CourtOrder),
    ("customer_request", SuspensionCode::CustomerRequest),
    ("other", SuspensionCode::Other),
];

/// One of a few words.
fn word<T: Copy>(choices: &'static [(&'static str, T)]) -> impl FnOnce(&str) -> Result<T, Mistake> {
    read_body::text(move |text| {
        let found = choices
            .iter()
            .find(|(word, _)| *word == text)
            .map(|(_, choice)| *choice);
        found.ok_or_else(|| Mistake::among(choices))
    })
}

fn metadata(fields: &mut Fields) -> BTreeMap<String, String> {
    let pairs = fields.optional("metadata", |raw| {
        let body: Body = serde_json::from_str(raw).map_err(|_| Mistake::NotTexts)?;
        let pairs = body.texts().ok_or(Mistake::NotTexts)?;
        let bad = |(key, value): (&String, &String)| {
            key.is_empty()
                || key.chars().count() > METADATA_KEY_MAX
                || value.chars().count() > METADATA_VALUE_MAX
                || key.chars().chain(value.chars()).any(char::is_control)
        };
        if pairs.len() > METADATA_MAX || pairs.iter().any(bad) {
            return Err(Mistake::Metadata {
                most: METADATA_MAX,
                key: METADATA_KEY_MAX,
                value: METADATA_VALUE_MAX,
            });
        }
        Ok(pairs)
    });
    pairs.unwrap_or_default()
}

/// Opens an account: makes its wallet account, creates the CVU at the bank, sets the alias.
#[utoipa::path(
    operation_id = "createAccount",
    tag = "Accounts",
    params(("Idempotency-Key" = String, Header, pattern = "^[!-~]{1,255}$", description = "1–255 visible ASCII characters; the same key with the same body gives the first answer again")),
    request_body(content = inline(super::requests::CreateAccountDto)),
    responses((status = 201, body = AccountBody), Problems)
)]
#[post("/v1/accounts")]
pub async fn create(request: HttpRequest, caller: Caller, body: Body) -> Answer {
    if respond::idempotency_key(&request)?.is_none() {
        return Err(Refusal::NoIdempotencyKey.into());
    }
    let asker = asker(&request, &caller, &body, |view: &AccountView| {
        (StatusCode::CREATED, text::json(&AccountBody::from(view)))
    })?;
    let mut fields = body.fields();
    let holder_cuit = fields.required("cuit", cuit(&caller));
    let name = fields.required("holderName", read_body::line(NAME_MAX));
    let person_type = fields.optional("personType", word(&PEOPLE));
    if let (Some(given), Some(cuit)) = (person_type, holder_cuit)
        && given != cuit.person_type()
    {
        let right = cuit.person_type().as_str();
        fields.mistake("personType", Mistake::PersonType { right });
    }
    let alias = fields.optional("alias", read_body::text(Alias::parse));
    let email = fields.optional("email", email);
    let phone = fields.optional("phone", phone);
    let code = fields.optional("externalId", read_body::line(64));
    let metadata = metadata(&mut fields);
    let (cuit, name) = fields.finish(holder_cuit.zip(name))?;
    let registration = Registration {
        number: AccountNo(0),
        holder: Holder {
            cuit,
            name,
            person_type: cuit.person_type(),
        },
        code,
        email,
        phone,
        metadata,
        kyc: Kyc::default(),
        enabled: true,
        names: Names::default(),
        asks_cvu: true,
    };
    let answered = caller
        .engine()
        .register(caller.realm(), registration, true, alias, asker)
        .await;
    give(answered, |view| account(StatusCode::CREATED, &view))
}

fn account(status: StatusCode, view: &AccountView) -> HttpResponse {
    let mut answer = json(status, &AccountBody::from(view));
    tag(&mut answer, view);
    answer
}

fn tag(answer: &mut HttpResponse, view: &AccountView) {
    let etag = respond::etag(view.account.profile_seq, view.account.sequence);
    if let Ok(value) = etag.try_into() {
        answer.headers_mut().insert(ETAG, value);
    }
}

/// Lists the accounts of the realm.
#[utoipa::path(
    operation_id = "listAccounts",
    tag = "Accounts",
    params(
        super::requests::PageParams,
        ("q" = Option<String>, Query, description = "part of CVU, alias, holder's name (accents and case folded) or CUIT"),
        ("status" = Option<String>, Query, description = "active, suspended or closed"),
        ("sort" = Option<String>, Query, description = "createdAt, holderName, cvu or alias")
    ),
    responses((status = 200, body = AccountsPage), Problems)
)]
#[get("/v1/accounts")]
pub async fn list(caller: Caller, mut query: Query) -> Answer {
    let statuses = [
        ("active", Status::Active),
        ("suspended", Status::Suspended),
        ("closed", Status::Closed),
    ];
    let sorts = [
        ("createdAt", AccountSort::CreatedAt),
        ("holderName", AccountSort::HolderName),
        ("cvu", AccountSort::Cvu),
        ("alias", AccountSort::Alias),
    ];
    let filter = AccountFilter {
        text: query.text("q"),
        status: query.choice("status", &statuses),
        ..AccountFilter::default()
    };
    let sort = query.choice("sort", &sorts).unwrap_or_default();
    let page = query.page();
    query.done()?;
    let listing = caller
        .engine()
        .accounts(caller.realm(), filter, sort, page)
        .await?;
    let body = AccountsPage {
        items: listing.items.iter().map(AccountSummary::from).collect(),
        total: listing.total,
        limit: page.limit,
        offset: page.offset,
    };
    Ok(respond::paged(&listing, json(StatusCode::OK, &body)))
}

/// Reads an account with its balance, effective limits and usage.
#[utoipa::path(
    operation_id = "readAccount",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), ("If-None-Match" = Option<String>, Header, description = "an ETag read before")),
    responses((status = 200, body = AccountBody), (status = 304, description = "unchanged since"), Problems)
)]
#[get("/v1/accounts/{cvu}")]
pub async fn read(request: HttpRequest, caller: Caller, path: web::Path<String>) -> Answer {
    let view = caller.engine().view(caller.realm(), target(&path)?).await?;
    let etag = respond::etag(view.account.profile_seq, view.account.sequence);
    if respond::unchanged(&request, &etag) {
        let mut answer = HttpResponse::NotModified().finish();
        tag(&mut answer, &view);
        return Ok(answer);
    }
    Ok(account(StatusCode::OK, &view))
}

async fn change(
    request: &HttpRequest,
    caller: &Caller,
    path: &web::Path<String>,
    order: Order,
) -> Answer {
    let if_match = respond::if_match(request);
    let target = target(path)?;
    let answered = caller
        .engine()
        .change(caller.realm(), target, order, if_match, plain(caller))
        .await;
    give(answered, |view| account(StatusCode::OK, &view))
}

/// Like [`change`], for the POSTs, which honour an idempotency key.
async fn change_by_post(
    request: &HttpRequest,
    caller: &Caller,
    path: &web::Path<String>,
    body: &Body,
    order: Order,
) -> Answer {
    let asker = asker(request, caller, body, |view: &AccountView| {
        (StatusCode::OK, text::json(&AccountBody::from(view)))
    })?;
    let (target, if_match) = (target(path)?, respond::if_match(request));
    let answered = caller
        .engine()
        .change(caller.realm(), target, order, if_match, asker)
        .await;
    give(answered, |view| account(StatusCode::OK, &view))
}

/// Closes an account, in any state and at any balance; what is left stays on the ledger.
#[utoipa::path(
    operation_id = "closeAccount",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), ("If-Match" = Option<String>, Header, description = "an ETag read before")),
    responses((status = 200, body = AccountBody), Problems)
)]
#[delete("/v1/accounts/{cvu}")]
pub async fn close(request: HttpRequest, caller: Caller, path: web::Path<String>) -> Answer {
    change(&request, &caller, &path, Order::Close).await
}

/// Reads the effective limits of an account and what is left of them.
#[utoipa::path(
    operation_id = "readLimits",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$")),
    responses((status = 200, body = LimitsSnapshot), Problems)
)]
#[get("/v1/accounts/{cvu}/limits")]
pub async fn limits(caller: Caller, path: web::Path<String>) -> Answer {
    let view = caller.engine().view(caller.realm(), target(&path)?).await?;
    let mut answer = json(StatusCode::OK, &LimitsSnapshot::from(&view));
    tag(&mut answer, &view);
    Ok(answer)
}

/// Changes the account's own limits: absent stays, null inherits, 0 lets nothing pass.
#[utoipa::path(
    operation_id = "changeLimits",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), ("If-Match" = Option<String>, Header, description = "an ETag read before")),
    request_body(content = inline(super::requests::UpdateLimitsDto)),
    responses((status = 200, body = AccountBody), Problems)
)]
#[patch("/v1/accounts/{cvu}/limits")]
pub async fn change_limits(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    body: Body,
) -> Answer {
    let mut fields = body.fields();
    let mut money = |name: &str| {
        let change = fields.nullable(name, read_body::centavos);
        of_nullable(change.map(|value| value.map(Money::from_centavos)))
    };
    let mut order = LimitsChange {
        max_per_transaction: money("maxPerTransaction"),
        daily_amount: money("dailyAmount"),
        monthly_amount: money("monthlyAmount"),
        max_balance: money("maxBalance"),
        ..LimitsChange::default()
    };
    let mut count = |name: &str| of_nullable(fields.nullable(name, read_count()));
    order.daily_count = count("dailyCount");
    order.monthly_count = count("monthlyCount");
    fields.done()?;
    change(&request, &caller, &path, Order::ChangeLimits(order)).await
}

fn read_count() -> impl FnOnce(&str) -> Result<u64, Mistake> {
    read_body::integer(0, COUNT_MAX)
}

const fn of_nullable<T: Copy>(field: Option<Option<T>>) -> Change<T> {
    match field {
        None => Change::Unchanged,
        Some(None) => Change::Inherit,
        Some(Some(value)) => Change::Set(value),
    }
}

request! {
    /// A suspension.
    strict struct SuspendAccount {
        /// Why, for people.
        reason: String = required("reason", read_body::line(500))
            as String { min_length = 1, max_length = 500 };
        /// Why, as a word; `other` when absent.
        code: Option<SuspensionCode> = optional("code", word(&SUSPENSIONS))
            as Option<super::requests::SuspensionCodeDto>;
    }
}

/// Blocks outgoing movements; money that comes in is still welcome.
#[utoipa::path(
    operation_id = "suspendAccount",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), crate::http::problems::PostParams),
    request_body(content = inline(SuspendAccount)),
    responses((status = 200, body = AccountBody), Problems)
)]
#[post("/v1/accounts/{cvu}/suspend")]
pub async fn suspend(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    body: Body,
) -> Answer {
    let kept = body.clone_fields();
    let SuspendAccount { reason, code } = SuspendAccount::read(body)?;
    let code = code.unwrap_or(SuspensionCode::Other);
    let order = Order::Suspend { reason, code };
    change_by_post(&request, &caller, &path, &kept, order).await
}

/// Lets money out again.
#[utoipa::path(
    operation_id = "reactivateAccount",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), crate::http::problems::PostParams),
    responses((status = 200, body = AccountBody), Problems)
)]
#[post("/v1/accounts/{cvu}/reactivate")]
pub async fn reactivate(request: HttpRequest, caller: Caller, path: web::Path<String>) -> Answer {
    change_by_post(
        &request,
        &caller,
        &path,
        &Body::default(),
        Order::Reactivate,
    )
    .await
}

request! {
    /// An alias.
    strict struct SetAlias {
        /// 6–20 letters without accents, digits, dots and dashes; case does not matter.
        alias: Alias = required("alias", read_body::text(Alias::parse))
            as String { pattern = "^[A-Za-z0-9.-]{6,20}$" };
    }
}

/// Sets or replaces the alias.
#[utoipa::path(
    operation_id = "setAlias",
    tag = "Accounts",
    params(("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"), ("If-Match" = Option<String>, Header, description = "an ETag read before")),
    request_body(content = inline(SetAlias)),
    responses((status = 200, body = AccountBody), Problems)
)]
#[put("/v1/accounts/{cvu}/alias")]
pub async fn set_alias(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    body: Body,
) -> Answer {
    let SetAlias { alias } = SetAlias::read(body)?;
    change(&request, &caller, &path, Order::SetAlias(alias)).await
}
