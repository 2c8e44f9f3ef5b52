//! Voucher types of the native family.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, delete, get, patch, post, web};
use caudal_actors::realms::{ChangeType, CreateType, RemoveType};
use caudal_http::bodies::update_limits::UpdateTypeLimits;
use caudal_http::bodies::voucher_types::{VoucherTypeBody, voucher_type};
use caudal_http::body::{Body, read as read_body};
use caudal_http::caller::Caller;
use caudal_http::choice::{SenseWord, one_of};
use caudal_http::declared;
use caudal_http::errors::HandlerResult;
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::request::request;
use caudal_http::respond::{ApiCall, array, give, json, plain};
use caudal_http::whole_list::WholeParams;
use caudal_http::words::Mistake;
use caudal_ledger::books::BookName;
use caudal_ledger::limits::LimitsChange;
use caudal_ledger::voucher_types::{
    CreateVoucherType, Sense, TypeCode, VoucherType, VoucherTypeChange,
};

/// The longest name of a type, in characters.
const NAME_MAX: usize = 80;

/// A number that is unique to a type: for built-in ones, which come first, their place.
pub(crate) fn type_number(place: u64, found: &VoucherType) -> u64 {
    found.legacy_id.unwrap_or(place)
}

/// Lists the built-in types and the tenant's own.
///
/// System types are of what the service posts itself; only your own can be used for adjustments.
#[utoipa::path(
    operation_id = "listVoucherTypes",
    tag = "Voucher types",
    params(WholeParams),
    responses((status = 200, body = Vec<VoucherTypeBody>), Problems)
)]
#[get("/v1/voucher-types")]
pub(crate) async fn list(caller: Caller, query: Query) -> HandlerResult {
    let page = WholeParams::alone(query)?;
    let types = caller.queries().voucher_types(caller.realm()).await?;
    let tenant = &caller.identity.tenant;
    let listing = page.page(types.all(), type_number)?;
    Ok(array(&listing, |found| voucher_type(tenant, found)))
}

request! {
    /// A new voucher type.
    strict struct NewVoucherType as CreateVoucherTypeDto {
        /// 2–40 letters without accents, digits, underscores or dashes; lower case is raised.
        code: TypeCode = required("code", read_body::text(TypeCode::parse))
            as String { pattern = "^[A-Za-z0-9_-]{2,40}$" };
        /// 1–80 characters.
        name: String = required("name", read_body::line(NAME_MAX))
            as String { min_length = 1, max_length = 80 };
        /// `credit` or `debit`.
        sense: Sense = required("sense", read_body::text(sense)) as SenseWord;
        /// A line for people (wallet `descripcion`).
        description: Option<String> = optional("description", read_body::line(VoucherType::DESCRIPTION_MAX))
            as Option<String> { max_length = 200 };
        /// The tenant's own category (wallet `tipoMovimiento`).
        movement_kind: Option<String> = optional("movementKind", read_body::line(VoucherType::CATEGORY_MAX))
            as Option<String> { max_length = 40 };
        /// The account of the books on the other side of its vouchers: 1–40 lower-case letters without accents, digits,
        /// underscores, colons, dots or dashes, and no fixed account. `adjustments:` and the code when absent.
        counter_account: Option<BookName> = optional("counterAccount", read_body::text(BookName::parse))
            as Option<String> { pattern = "^[a-z0-9_:.-]{1,40}$" };
        /// By how many percent of a hold that names the type more may be confirmed than is held, for instance for a tip; 0
        /// when absent.
        capture_tolerance: Option<u8> = optional("captureTolerance", read_body::integer(0, 100))
            as Option<u8> { maximum = 100 };
    }
}

fn sense(text: &str) -> Result<Sense, Mistake> {
    one_of(text).map_err(|_| Mistake::NotASense)
}

request! {
    /// Changes a voucher type; what is absent stays.
    strict struct ToggleVoucherType as ToggleVoucherTypeDto {
        => let changes = |fields| ["active", "counterAccount", "captureTolerance", "limits"].map(|name| fields.is_sent(name));
        /// Whether new vouchers of it are accepted.
        active: Option<bool> = not_null("active", read_body::boolean) as Option<bool> { nullable = false };
        /// The account of the books for its vouchers from now on; null for `adjustments:` and the code.
        counter_account: Option<Option<BookName>> = nullable("counterAccount", read_body::text(BookName::parse))
            as Option<String> { pattern = "^[a-z0-9_:.-]{1,40}$" };
        /// By how many percent of a hold more may be confirmed than is held, for holds that name the type from now on.
        capture_tolerance: Option<Option<u8>> = nullable("captureTolerance", read_body::integer(0, 100))
            as Option<u8> { maximum = 100 };
        /// The limits of each account on its vouchers of this type, whatever their direction, besides those of the account.
        limits: Option<UpdateTypeLimits> = not_null_object("limits", UpdateTypeLimits::take)
            as Option<UpdateTypeLimits> { nullable = false };
        => |fields| if changes == [false; 4] {
            fields.mistake("active", Mistake::RequiredOr { other: "counterAccount" });
        };
    }
}

/// A tolerance of nothing is none.
fn percent(sent: Option<u8>) -> Option<u8> {
    sent.filter(|percent| *percent > 0)
}

/// Creates a type for adjustments.
///
/// Its code and its direction stay as they are; each type also gets a number for the wallet family. Emits
/// `voucher_type.created`.
#[utoipa::path(
    operation_id = "createVoucherType",
    tag = "Voucher types",
    params(declared::IdempotencyKey),
    request_body(content = NewVoucherType),
    responses((status = 201, body = VoucherTypeBody), Problems)
)]
#[post("/v1/voucher-types")]
pub(crate) async fn create(mut call: ApiCall) -> HandlerResult {
    let tenant = call.caller.identity.tenant.clone();
    let render = move |made: &VoucherType| voucher_type(&tenant, made);
    let (requester, answer) = call.order(StatusCode::CREATED, render)?;
    let sent = NewVoucherType::read(call.take_body())?;
    let order = CreateType(CreateVoucherType {
        code: sent.code,
        name: sent.name,
        sense: sent.sense,
        description: sent.description,
        category: sent.movement_kind,
        counter_account: sent.counter_account,
        capture_tolerance: percent(sent.capture_tolerance),
    });
    let (ledger, realm) = (call.caller.ledger(), call.caller.realm());
    answer.give(ledger.order(realm, order, requester).await)
}

/// Switches a custom type on or off, or sets the account of the books for its vouchers, the tolerance of its holds or its
/// limits.
///
/// Vouchers of an inactive type are refused with `voucher_type_inactive`; those that were posted stay. Another account
/// counts for the vouchers that are posted from now on: what was posted stays where it is. Several types may have the same
/// account. Limits count the vouchers of the type that are posted while it has any; each account has a count of its own, and
/// a voucher beyond a limit is refused with `limit_exceeded` and `level: "voucher_type"`. Reversals neither count nor are
/// refused. Emits `voucher_type.updated` for each part that changes.
#[utoipa::path(
    operation_id = "toggleVoucherType",
    tag = "Voucher types",
    params(declared::TypeInPath),
    request_body(content = ToggleVoucherType),
    responses((status = 200, body = VoucherTypeBody), Problems)
)]
#[patch("/v1/voucher-types/{code}")]
pub(crate) async fn toggle(caller: Caller, path: web::Path<String>, body: Body) -> HandlerResult {
    let code = declared::TypeInPath::read(&path)?;
    let sent = ToggleVoucherType::read(body)?;
    let change = VoucherTypeChange {
        active: sent.active,
        counter_account: sent.counter_account,
        capture_tolerance: sent.capture_tolerance.map(percent),
        limits: (sent.limits).map_or_else(LimitsChange::default, Into::into),
    };
    let answered = caller
        .ledger()
        .order(caller.realm(), ChangeType(code, change), plain(&caller))
        .await;
    give(answered, |found| {
        json(
            StatusCode::OK,
            &voucher_type(&caller.identity.tenant, &found),
        )
    })
}

/// Removes a custom type; its vouchers keep its code and name.
///
/// No more vouchers of it can be posted. A type that is created with the same code is another one, with a
/// number of its own. Emits `voucher_type.removed`.
#[utoipa::path(
    operation_id = "deleteVoucherType",
    tag = "Voucher types",
    params(declared::TypeInPath),
    responses((status = 204, description = "removed"), Problems)
)]
#[delete("/v1/voucher-types/{code}")]
pub(crate) async fn remove(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let answered = caller
        .ledger()
        .order(
            caller.realm(),
            RemoveType(declared::TypeInPath::read(&path)?),
            plain(&caller),
        )
        .await;
    give(answered, |_| HttpResponse::NoContent().finish())
}
