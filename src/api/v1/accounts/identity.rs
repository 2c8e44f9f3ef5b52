//! The holders of an account: names and co-holders.

use actix_web::{patch, web};
use caudal_http::bodies::accounts::AccountBody;
use caudal_http::body::read::{line, text};
use caudal_http::caller::Caller;
use caudal_http::choice::{PersonTypeWord, one_of};
use caudal_http::declared;
use caudal_http::errors::ApiError;
use caudal_http::persons::cuit;
use caudal_http::problems::BankProblems;
use caudal_http::request::request;
use caudal_http::respond::ApiCall;
use caudal_http::words::Mistake;
use caudal_ledger::accounts::{HOLDERS_MAX, Holder, ProfileOrder};
use caudal_ledger::cuit::{Cuit, PersonType};

use super::{HandlerResult, NAME_MAX};

request! {
    /// One holder.
    strict_part pub struct Titular as TitularDto(caller: &Caller) {
        /// Tax id, 11 digits.
        cuit: Cuit = required("cuit", cuit(caller)) as String;
        /// Name.
        name: String = required("name", line(NAME_MAX)) as String;
        /// `human` or `legal`; follows from the CUIT when absent.
        person_type: Option<PersonType> = optional("personType", text(one_of))
            as Option<PersonTypeWord>;
    }
}

impl From<Titular> for Holder {
    fn from(sent: Titular) -> Self {
        let person_type = sent.person_type.unwrap_or_else(|| sent.cuit.person_type());
        Self {
            cuit: sent.cuit,
            name: sent.name,
            person_type,
        }
    }
}

request! {
    /// Names and holders; the first of `titulares` has the CUIT of the CVU.
    strict struct UpdateAccountIdentidad as UpdateAccountIdentidadDto(caller: &Caller) {
        => |fields| fields.refuse_null("holderName");
        /// The holder's name; the same as that of the first of `titulares`.
        holder_name: Option<String> = optional("holderName", line(NAME_MAX)) as Option<String>;
        /// Has to agree with the CUIT.
        person_type: Option<PersonType> = optional("personType", text(one_of))
            as Option<PersonTypeWord>;
        /// All holders, at most 20.
        titulares: Vec<Titular> = required_objects(
            "titulares", HOLDERS_MAX, |inner| Titular::take(inner, caller)
        ) as Vec<Titular> { min_items = 1, max_items = 20 };
        => |fields| if titulares.is_none() {
            fields.mistake("titulares", Mistake::NoHolders);
        };
    }
}

/// Sets the holders; the name of the first is the account's, and the bank is told of it.
///
/// The first of `titulares` has the CUIT of the CVU; co-holders are kept here alone. Emits `account.updated`.
#[utoipa::path(
    operation_id = "changeIdentity",
    tag = "Accounts",
    params(declared::CvuInPath, declared::IfMatch),
    request_body(content = UpdateAccountIdentidad),
    responses((status = 200, body = AccountBody), BankProblems)
)]
#[patch("/v1/accounts/{cvu}/identidad")]
pub(crate) async fn change(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let sent = UpdateAccountIdentidad::read(call.take_body(), &call.caller)?;
    // The account has the name of its first holder: a request that gives both has to give the same.
    if let (Some(name), Some(first)) = (&sent.holder_name, sent.titulares.first())
        && *name != first.name
    {
        let other = "titulares.0.name";
        return Err(ApiError::field(
            "holderName",
            Mistake::DiffersFrom { other },
        ));
    }
    let order = ProfileOrder::SetIdentity {
        person_type: sent.person_type,
        holders: sent.titulares.into_iter().map(Holder::from).collect(),
    };
    super::change(&call, &path, order).await
}
