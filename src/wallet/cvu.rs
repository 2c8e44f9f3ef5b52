//! A CVU for a wallet account.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, post};
use caudal_actors::accounts::AccountView;
use caudal_ledger::ids::{AccountNo, RealmId};
use serde::Serialize;
use utoipa::ToSchema;

use super::campos;
use super::cuenta_body::{cvu_id, cvu_name};
use crate::http::body::Body;
use crate::http::body::read::line;
use crate::http::caller::Caller;
use crate::http::errors::ApiError;
use crate::http::problems::Problems;
use crate::http::request::request;
use crate::http::respond::{asker, give, json};
use crate::http::text;

/// The longest name of a CVU, in characters.
const NAME_MAX: usize = 100;

/// The CVU of a wallet account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WalletCvuResponse)]
pub struct CvuBody {
    /// The id of its record.
    pub id: u64,
    /// 22 digits.
    pub cvu: String,
    /// Its alias; empty while it has none.
    pub alias: String,
    /// The account.
    pub id_cuenta: u64,
    /// What the tenant calls it.
    pub nombre_cvu: String,
}

fn body(realm: RealmId, view: &AccountView) -> CvuBody {
    let account = &view.account;
    let (cvu, alias) = (account.cvu.as_ref(), account.alias.as_ref());
    CvuBody {
        id: cvu_id(realm, account),
        cvu: cvu.map(ToString::to_string).unwrap_or_default(),
        alias: alias.map(ToString::to_string).unwrap_or_default(),
        id_cuenta: account.number.0,
        nombre_cvu: cvu_name(account),
    }
}

/// 201 with a new CVU, 200 with the one that the account has already.
const fn status(view: &AccountView) -> StatusCode {
    if view.changed {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    }
}

request! {
    /// A CVU for an account.
    lenient struct CreateWalletCvu {
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
#[utoipa::path(
    operation_id = "createWalletCvu",
    tag = "Wallet",
    params(crate::http::problems::PostParams),
    request_body(content = inline(CreateWalletCvu)),
    responses((status = 201, body = CvuBody), (status = 200, body = CvuBody, description = "the CVU that the account has already"), Problems)
)]
#[post("/wallet/v1/CVU")]
pub async fn create(request: HttpRequest, caller: Caller, request_body: Body) -> Answer {
    let realm = caller.realm();
    let asker = asker(
        &request,
        &caller,
        &request_body,
        move |view: &AccountView| (status(view), text::json(&body(realm, view))),
    )?;
    let sent = CreateWalletCvu::read(request_body)?;
    let (number, name) = (AccountNo(sent.id_cuenta), sent.nombre_cvu.or(sent.nombre));
    let automatic_alias = sent.alias_automatico.unwrap_or(true);
    let answered = caller
        .engine()
        .get_cvu(realm, number, name, automatic_alias, asker)
        .await;
    give(answered, |view| json(status(&view), &body(realm, &view)))
}

type Answer = Result<HttpResponse, ApiError>;
