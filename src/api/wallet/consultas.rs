//! The holder of a CBU, a CVU or an alias, according to the bank, for clients of a walletentidad.

use actix_web::get;
use actix_web::http::StatusCode;
use caudal_actors::ports::KeyHolder;
use caudal_http::bodies::body;
use caudal_http::caller::Caller;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::params;
use caudal_http::problems::BankProblems;
use caudal_http::query::Query;
use caudal_http::respond::json;
use caudal_http::words::Mistake;
use caudal_ledger::alias::Alias;
use caudal_ledger::cvu::Cbu;
use caudal_ledger::transfers::Destination;
use serde::Serialize;
use utoipa::ToSchema;

/// A holder next to the first.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cotitular {
    /// The tax id.
    pub cuit_cuil: String,
    /// The name.
    pub nombre: String,
}

body! {
    /// Who is behind a CBU, a CVU or an alias.
    pub(crate) struct CuentaExterna from found: KeyHolder {
        => let mut holders = found.holders.into_iter();
        => let first = holders.next();
        => let (cuit, name) = first
            .map(|(cuit, name, _)| (cuit.to_string(), name))
            .unzip();
        => let (code, bank) = found.bank;
        /// Always null: the number is the bank's own.
        cuenta_id: Option<u64> = None;
        /// The CBU or CVU, 22 digits.
        cbucvu: String = found.key.to_string();
        /// Its alias.
        alias: Option<String> = found.alias;
        /// The tax id of the first holder.
        cuit_cuil: Option<String> = cuit;
        /// The name of the first holder.
        nombre: Option<String> = name.clone();
        /// The same name.
        nombre_cvu: Option<String> = name.clone();
        /// The name of the bank or PSP.
        banco_nombre: String = bank;
        /// Its code.
        entidad: String = code;
        /// Whether it can receive.
        activo: bool = found.active;
        /// Always null: the number is the bank's own.
        billetera_id: Option<u64> = None;
        /// `ARS` or `USD`.
        moneda: String = found.currency;
        /// The other holders.
        cotitulares: Vec<Cotitular> = holders
            .map(|(cuit, nombre, _)| Cotitular {
                cuit_cuil: cuit.to_string(),
                nombre,
            })
            .collect();
    }
}

/// Reads a parameter for which published examples send the word `null`, or nothing, to leave it out.
fn present<T, E: Into<Mistake>>(
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> impl FnOnce(&str) -> Result<Option<T>, E> {
    move |text| match text.trim() {
        "" | "null" => Ok(None),
        text => parse(text).map(Some),
    }
}

params! {
    /// Whom to ask about.
    struct ConsultaParams {
        /// a CBU or CVU, 22 digits
        key: Option<Option<Cbu>> = read("cbuOrCvu", present(Cbu::parse)) as Option<String>;
        /// an alias; case does not matter
        alias: Option<Option<Alias>> = read("alias", present(Alias::parse)) as Option<String>;
        => |query| if key.flatten().is_some() && alias.iter().flatten().next().is_some() {
            query.mistake("alias", Mistake::Together { other: "cbuOrCvu" });
        };
    }
}

/// Asks the bank who is behind a CBU, a CVU or an alias: exactly one of both parameters.
///
/// Ask before you send money: the answer has the holders, the entity, and whether the account can receive.
#[utoipa::path(
    operation_id = "walletCuentaByCbuCvuOrAlias",
    tag = "Wallet",
    params(ConsultaParams),
    responses((status = 200, body = CuentaExterna), BankProblems)
)]
#[get("/wallet/v1/CuentaCVUByCbuCvuOrAlias")]
pub(crate) async fn by_key_or_alias(caller: Caller, query: Query) -> HandlerResult {
    let sent = ConsultaParams::read(query)?;
    let (key, alias) = (sent.key.flatten(), sent.alias.flatten());
    let whom = key.map(Destination::Key);
    let whom = whom.or(alias.map(Destination::Alias));
    let other = "alias";
    let whom = whom.ok_or_else(|| ApiError::field("cbuOrCvu", Mistake::RequiredOr { other }))?;
    let (queries, realm) = (caller.queries(), caller.realm());
    let found = queries.lookup(realm, whom, &caller.request_id).await?;
    Ok(json(StatusCode::OK, &CuentaExterna::from(found)))
}
