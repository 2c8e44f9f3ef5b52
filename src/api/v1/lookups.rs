//! The holder of a CBU, a CVU or an alias, according to the bank.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use caudal_actors::ports::KeyHolder;
use caudal_http::bodies::accounts::HolderBody;
use caudal_http::bodies::body;
use caudal_http::bodies::words::{KeyKindWord, PersonTypeWord};
use caudal_http::caller::Caller;
use caudal_http::errors::HandlerResult;
use caudal_http::problems::BankProblems;
use caudal_http::respond::json;
use caudal_ledger::accounts::Holder;
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::PersonType;
use caudal_ledger::cvu::Cbu;
use caudal_ledger::transfers::Destination;
use serde::Serialize;
use utoipa::ToSchema;

use caudal_http::declared::{declared, field};
/// A bank or a PSP.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct Entity {
    /// Its code.
    pub code: String,
    /// Its name.
    pub name: String,
}

body! {
    /// Who is behind a CBU, a CVU or an alias.
    pub(crate) struct Lookup from found: KeyHolder {
        => let holders = found.holders.into_iter().map(|(cuit, name, human)| Holder {
            cuit,
            name,
            person_type: if human {
                PersonType::Human
            } else {
                PersonType::Legal
            },
        });
        => let titulares: Vec<_> = holders.map(|holder| HolderBody::from(&holder)).collect();
        => let first = titulares.first();
        => let (code, name) = found.bank;
        /// The CBU or CVU, 22 digits.
        cbu: String = found.key.to_string();
        /// `CBU` or `CVU`.
        #[serde(rename = "type")]
        kind: &'static str as KeyKindWord = if found.key.cvu().is_some() {
            "CVU"
        } else {
            "CBU"
        };
        /// Its alias.
        alias: Option<String> = found.alias;
        /// The tax id of the first holder.
        cuit: Option<String> = first.map(|holder| holder.cuit.clone());
        /// The name of the first holder.
        holder_name: Option<String> = first.map(|holder| holder.name.clone());
        /// Whether the first holder is `human` or `legal`.
        person_type: Option<String> as Option<PersonTypeWord>
            = first.map(|holder| holder.person_type.clone());
        /// All holders.
        titulares: Vec<HolderBody> = titulares;
        /// Where the account is.
        bank: Entity = Entity { code, name };
        /// Its currency.
        currency: String = found.currency;
        /// Whether it can receive.
        active: bool = found.active;
    }
}

declared! {
    /// a CBU or CVU, 22 digits
    CbuInPath = Path "cbu" as String { pattern = "^[0-9]{22}$" } => Cbu: field(Cbu::parse);
    /// an alias; case does not matter
    AliasInPath = Path "alias" as String { pattern = "^[A-Za-z0-9.-]{6,20}$" }
        => Alias: field(Alias::parse);
}

async fn ask(caller: &Caller, whom: Destination) -> HandlerResult {
    let engine = caller.engine();
    let found = engine
        .queries()
        .lookup(caller.realm(), whom, &caller.request_id)
        .await?;
    Ok(json(StatusCode::OK, &Lookup::from(found)))
}

/// Asks the bank who is behind a CBU or CVU.
///
/// Ask before you send money: the answer has the holders, the entity, and whether the account can receive.
#[utoipa::path(
    operation_id = "lookupCbu",
    tag = "Lookups",
    params(CbuInPath),
    responses((status = 200, body = Lookup), BankProblems)
)]
#[get("/v1/lookup/cbu/{cbu}")]
pub(crate) async fn by_cbu(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let key = CbuInPath::read(&path)?;
    ask(&caller, Destination::Key(key)).await
}

/// Asks the bank who is behind an alias.
///
/// Ask before you send money: the answer has the CBU or CVU of the alias, its holders, and whether the
/// account can receive.
#[utoipa::path(
    operation_id = "lookupAlias",
    tag = "Lookups",
    params(AliasInPath),
    responses((status = 200, body = Lookup), BankProblems)
)]
#[get("/v1/lookup/alias/{alias}")]
pub(crate) async fn by_alias(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let alias = AliasInPath::read(&path)?;
    ask(&caller, Destination::Alias(alias)).await
}
