//! Wallet accounts: made, changed, read, listed, enabled.

use super::cuenta_body::CuentaBody;
use super::cuenta_request::{CreateWalletAccount, UpdateWalletAccount};
use super::declared::CuentaInPath;
use super::{Pagina, campos};
use actix_web::http::StatusCode;
use actix_web::http::header::ETAG;
use actix_web::{HttpResponse, get, patch, post, put, web};
use caudal_actors::accounts::{AccountView, ChangeProfile};
use caudal_actors::engine::lists::{AccountFilter, AccountScope, AccountSort};
use caudal_actors::realms::{Register, Target};
use caudal_actors::reply::Answered;
use caudal_http::bodies::body;
use caudal_http::bodies::words::among;
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::{PaginaParams, params};
use caudal_http::problems::{BankProblems, Problems};
use caudal_http::query::Query;
use caudal_http::request::request;
use caudal_http::respond::{self, ApiCall, give, json, plain};
use caudal_http::whole_list::WholeParams;
use caudal_http::words::Mistake;
use caudal_ledger::accounts::{Holder, ProfileOrder};
use caudal_ledger::cuit::Cuit;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::particulars::Particulars;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

body! {
    /// A wallet account that was made (CreateWalletAccountResponse).
    pub(crate) struct CuentaCreada as CreateWalletAccountResponse from view: &AccountView {
        /// Its number.
        id: u64 = view.account.number.0;
        /// The tenant's own code.
        codigo: Option<String> = view.account.code.clone();
        /// Whether it is enabled.
        habilitado: bool = view.account.enabled;
    }
}

/// Makes a wallet account, without a CVU.
///
/// A person by `nombre` and `apellido`, a firm by `razonSocial`. Give it a CVU with `POST /wallet/v1/CVU`.
#[utoipa::path(
    operation_id = "createCuenta",
    tag = "Wallet",
    params(declared::IdempotencyKey),
    request_body(content = CreateWalletAccount),
    responses((status = 201, body = CuentaCreada), Problems)
)]
#[post("/wallet/v1/Cuenta")]
pub(crate) async fn create(mut call: ApiCall) -> HandlerResult {
    let render = |view: &AccountView| CuentaCreada::from(view);
    let (requester, answer) = call.order(StatusCode::CREATED, render)?;
    let sent = CreateWalletAccount::read(call.take_body(), &call.caller)?;
    let order = Register {
        registration: registration(sent)?,
        open: false,
        alias: None,
    };
    let (ledger, realm) = (call.caller.ledger(), call.caller.realm());
    answer.give(ledger.order(realm, order, requester).await)
}

/// The registration that a request describes.
fn registration(sent: CreateWalletAccount) -> Result<Registration, ApiError> {
    let cuit = sent.cuit_cuil;
    let sent = Particulars::from(sent);
    let fits = sent.kyc.document_fits();
    fits.map_err(|why| ApiError::field("dni", why))?;
    let name = sent.names.holder_name(cuit.person_type());
    let other = "razonSocial";
    Ok(Registration {
        number: AccountNo(0),
        holder: Holder {
            cuit,
            name: name.ok_or_else(|| ApiError::field("nombre", Mistake::RequiredOr { other }))?,
            person_type: cuit.person_type(),
        },
        code: sent.code,
        email: sent.email,
        phone: sent.phone,
        metadata: std::collections::BTreeMap::new(),
        kyc: sent.kyc,
        enabled: sent.enabled.unwrap_or(true),
        names: sent.names,
        asks_cvu: false,
    })
}

/// Changes what is sent of a wallet account; the CUIT stays once there is a CVU, and another name is
/// synchronised with the bank first.
///
/// An absent field stays as it is. The answer has no body.
#[utoipa::path(
    operation_id = "updateCuenta",
    tag = "Wallet",
    params(CuentaInPath, declared::IfMatch),
    request_body(content = UpdateWalletAccount),
    responses((status = 204, description = "changed"), BankProblems)
)]
#[put("/wallet/v1/Cuenta/{id}")]
pub(crate) async fn change(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let number = CuentaInPath::read(&path)?;
    let sent = UpdateWalletAccount::read(call.take_body(), &call.caller)?;
    let changed = changed(&call, number, ProfileOrder::ChangeParticulars(sent.into()));
    give(changed.await, |_| HttpResponse::NoContent().finish())
}

/// Changes the profile of an account.
pub(super) async fn changed<B>(
    call: &ApiCall<B>,
    number: AccountNo,
    order: ProfileOrder,
) -> Answered<AccountView> {
    let order = ChangeProfile {
        target: Target::Account(number),
        order,
        if_match: respond::if_match(&call.request),
    };
    let (ledger, realm) = (call.caller.ledger(), call.caller.realm());
    ledger.order(realm, order, plain(&call.caller)).await
}

request! {
    /// Enables or disables.
    lenient struct Habilitado as HabilitadoDto {
        /// Whether the account is enabled.
        habilitado: bool = required("habilitado", campos::boolean) as bool;
    }
}

/// Enables or disables a wallet account: a disabled one takes no adjustments and lets no money out.
///
/// The answer has no body. Reads go on while an account is disabled.
#[utoipa::path(
    operation_id = "enableCuenta",
    tag = "Wallet",
    params(CuentaInPath, declared::IfMatch),
    request_body(content = Habilitado),
    responses((status = 204, description = "done"), Problems)
)]
#[patch("/wallet/v1/Habilitado/Cuenta/{id}")]
pub(crate) async fn enable(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let number = CuentaInPath::read(&path)?;
    let Habilitado { habilitado } = Habilitado::read(call.take_body())?;
    let changed = changed(&call, number, ProfileOrder::SetEnabled(habilitado));
    give(changed.await, |_| HttpResponse::NoContent().finish())
}

/// Reads a wallet account.
///
/// What was never given is null, empty or false. The `ETag` identifies the profile, limits and state, for `If-Match`
/// only.
#[utoipa::path(
    operation_id = "readCuenta",
    tag = "Wallet",
    params(CuentaInPath),
    responses((status = 200, body = CuentaBody), Problems)
)]
#[get("/wallet/v1/Cuenta/{id}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let target = Target::Account(CuentaInPath::read(&path)?);
    let view = caller.queries().view(caller.realm(), target).await?;
    let etag = respond::etag(view.account.profile_seq);
    let mut answer = json(StatusCode::OK, &CuentaBody::of(&caller, &view.account));
    if let Ok(value) = etag.try_into() {
        answer.headers_mut().insert(ETAG, value);
    }
    Ok(answer)
}

const SORTS: [(&str, AccountSort); 4] = [
    ("id", AccountSort::CreatedAt),
    ("nombre", AccountSort::HolderName),
    ("codigo", AccountSort::Code),
    ("cuitCuil", AccountSort::Cuit),
];

/// The orders of a list of wallet accounts.
#[derive(Debug)]
pub(crate) struct CuentaSort;

impl PartialSchema for CuentaSort {
    fn schema() -> RefOr<Schema> {
        let words = SORTS.iter().map(|(word, _)| *word);
        among("What a list of wallet accounts is sorted by.", words)
    }
}

impl ToSchema for CuentaSort {}

/// A page of wallet accounts, as the document shows it.
#[derive(ToSchema)]
#[schema(as = CuentasListResponse, rename_all = "camelCase")]
#[expect(dead_code, reason = "what the document shows is never made")]
struct CuentasPage {
    /// How many pages there are.
    total_pages: u64,
    /// How many accounts match in all.
    total_records: u64,
    /// The accounts of this page.
    items: Vec<CuentaBody>,
}

const FLAGS: [(&str, bool); 2] = [("true", true), ("false", false)];

params! {
    /// Which accounts, and in which order.
    part struct CuentaParams {
        /// part of CUIT, e-mail, name (case and accents do not matter, `ł` is `l`, `ß` is `ss`) or code, or the whole id
        q: Option<String> = text("q") as Option<String>;
        /// only enabled, or only disabled
        habilitado: Option<bool> = choice("habilitado", &FLAGS) as Option<bool>;
        /// `id` when absent
        sort: Option<AccountSort> = choice("sort", &SORTS) as Option<CuentaSort>;
    }
}

/// Lists the wallet accounts of the realm, newest first.
///
/// Filter by text and state; go on by page or with `X-Next-Cursor` as `cursor`.
#[utoipa::path(
    operation_id = "listCuentas",
    tag = "Wallet",
    params(
        PaginaParams,
        CuentaParams
    ),
    responses((status = 200, body = CuentasPage), Problems)
)]
#[get("/wallet/v1/Cuentas")]
pub(crate) async fn list(caller: Caller, mut query: Query) -> HandlerResult {
    let sent = CuentaParams::take(&mut query);
    let filter = AccountFilter {
        text: sent.q,
        enabled: sent.habilitado,
        scope: AccountScope::Everyone,
        ..AccountFilter::default()
    };
    let sort = sent.sort.unwrap_or_default();
    let page = query.wallet_page();
    query.done()?;
    let listing = caller
        .queries()
        .accounts(caller.realm(), filter, sort, page)
        .await?;
    let items = listing.items.iter();
    let items = items.map(|account| CuentaBody::of(&caller, account));
    let body = Pagina::of(items.collect(), &listing, &page);
    Ok(respond::paged(&listing, json(StatusCode::OK, &body)))
}

params! {
    /// Whose accounts. Nobody has a CUIT with a wrong check digit; only a wrong shape is a mistake.
    struct CuitParams {
        /// 11 digits, with or without dashes
        cuit: Cuit = required("cuit", |text| campos::cuit(true, text)) as String;
    }
}

/// Lists the wallet accounts of a CUIT, oldest first.
///
/// An empty list when the CUIT has none.
#[utoipa::path(
    operation_id = "listCuentasByCuit",
    tag = "Wallet",
    params(
        CuitParams,
        WholeParams
    ),
    responses((status = 200, body = Vec<CuentaBody>), Problems)
)]
#[get("/wallet/v1/CuentaByCuit")]
pub(crate) async fn by_cuit(caller: Caller, mut query: Query) -> HandlerResult {
    let page = WholeParams::take(&mut query);
    let CuitParams { cuit } = CuitParams::read(query)?;
    let found = caller
        .queries()
        .accounts_of_cuit(caller.realm(), cuit)
        .await?;
    let listing = page.page(found, |_, account| account.number.0)?;
    Ok(respond::array(&listing, |account| {
        CuentaBody::of(&caller, account)
    }))
}
