//! The parts of the document that do not come from its operations and types: its description, its tags, the answers
//! and headers that operations share, and the events.
//!
//! **Order.** The operations are collected first, then finished in passes over the whole, so that every operation
//! that is added later is finished like the rest.

mod answers;
mod events;
mod parameters;
mod types;

use actix_web::http::Method;
use caudal_http::bodies::words;
use caudal_http::document::{examples, numbers, walk};
use caudal_http::scopes;
use caudal_ledger::tenants::scopes::Scope;
use utoipa::OpenApi as _;
use utoipa::openapi::info::{Contact, License};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::server::Server;
use utoipa::openapi::tag::Tag;
use utoipa::openapi::{Info, OpenApi};

/// Schemas that no body of an operation has: of parameters, of errors, and of the answer to the bank.
#[derive(utoipa::OpenApi)]
#[openapi(components(schemas(
    words::AccountSortWord,
    words::ListedStatusWord,
    words::VoucherSortWord,
    words::HeardWord,
    words::OrderWord,
    caudal_http::errors::ErrorBody,
    caudal_http::shapes::DayOrInstant,
    crate::wallet::cuentas::CuentaSort
)))]
struct Nested;

/// The schemas that no operation names by itself.
pub fn nested() -> OpenApi {
    Nested::openapi()
}

/// Finishes a document that has its operations and their types.
pub fn finish(document: &mut OpenApi) {
    about(document);
    parameters::declare(document);
    answers::share(document);
    scopes(document);
    events::publish(document);
    examples::show(document, include_str!("document/examples.json"));
    types::sharpen(document);
    numbers::format(document);
    order(document);
    parameters::share(document);
}

fn about(document: &mut OpenApi) {
    let mut info = Info::new("Caudal", env!("CARGO_PKG_VERSION"));
    info.description = Some(DESCRIPTION.into());
    let mut license = License::new("Apache License 2.0");
    license.identifier = Some(env!("CARGO_PKG_LICENSE").into());
    info.license = Some(license);
    let mut contact = Contact::new();
    contact.name = Some("The Caudal project".into());
    info.contact = Some(contact);
    document.info = info;
    let mut server = Server::new("/");
    server.description = Some("The service that serves this document".into());
    document.servers = Some(vec![server]);
    let components = document.components.get_or_insert_default();
    let scheme = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("x-api-key")));
    components.add_security_scheme("api-key", scheme);
    let signed = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("webhook-signature")));
    components.add_security_scheme("bank-signature", signed);
    let none: [&str; 0] = [];
    document.security = Some(vec![SecurityRequirement::new("api-key", none)]);
    let tag = |(name, description): &(&str, &str)| {
        let mut tag = Tag::new(*name);
        tag.description = Some((*description).to_owned());
        tag
    };
    document.tags = Some(TAGS.iter().map(tag).collect());
}

/// Names the scope that a key needs for each operation. An operation that no key calls has none.
fn scopes(document: &mut OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let methods = walk::operations(item).map(|(method, _)| method);
        let methods: Vec<Method> = methods.collect();
        for (method, operation) in methods.iter().zip(walk::operations_mut(item)) {
            let scope = scopes::needed(method, path).and_then(Scope::word);
            if let Some(scope) = scope.filter(|_| operation.security.is_none()) {
                let extensions = operation.extensions.get_or_insert_default();
                extensions.insert("x-scope".to_owned(), scope.into());
            }
        }
    }
}

/// Puts the operations in the order of their tags; those of one tag stay as they are.
fn order(document: &mut OpenApi) {
    let mut paths: Vec<_> = std::mem::take(&mut document.paths.paths)
        .into_iter()
        .collect();
    paths.sort_by_key(|(_, item)| {
        let first = walk::operations(item).next();
        let tags = first.and_then(|(_, operation)| operation.tags.clone());
        let tag = tags.and_then(|tags| tags.into_iter().next());
        TAGS.iter()
            .position(|(name, _)| tag.as_deref() == Some(*name))
    });
    document.paths.paths = paths.into_iter().collect();
}

const DESCRIPTION: &str = "Virtual accounts (CVU), vouchers and balances for payment service \
providers in Argentina.\n\nEvery call carries a key in `x-api-key`. A key opens one realm, live or \
test, of its tenant; what belongs to another realm answers as if it did not exist.\n\nSend amounts as \
text: `\"1234567.89\"`. A JSON number is read exactly, too, but many programs cannot write one exactly. \
Amounts go out as text with two decimals. Times \
are RFC 3339 in UTC; days are business days in Buenos Aires.\n\nErrors have one shape; `code` is a \
stable word to switch on. 503 means that nothing was lost: try again with the same \
`Idempotency-Key` or `idExterno` after `Retry-After` seconds.\n\n\
A list as CSV, XLSX or NDJSON is whole: `limit`, `offset` and `cursor` are refused, 1000000 rows are the most, NDJSON ends \
with a line `summary`, and that CSV was cut shows in the transfer alone.";

/// The tags, in the order in which an integrator needs them.
const TAGS: [(&str, &str); 20] = [
    (
        "Accounts",
        "Open, read, change, suspend and close accounts. Each has a CVU, a holder and usually an alias.",
    ),
    (
        "Voucher types",
        "The kinds of vouchers. System types are built in; your own are for adjustments.",
    ),
    (
        "Vouchers",
        "Post adjustments and list what has moved. Every movement of money is one voucher with the balances after it.",
    ),
    (
        "Holds",
        "Set money apart, then let it leave or give it back, in parts or as a whole.",
    ),
    (
        "Transfers",
        "Send money: at once between accounts of one realm, through the bank to any other CBU, CVU or alias.",
    ),
    (
        "Balances",
        "What an account can spend, what is held, and what it had at any time before.",
    ),
    ("Fees", "What a movement would cost."),
    (
        "Lookups",
        "Ask the bank who holds a CBU, a CVU or an alias before you send money to it.",
    ),
    (
        "Events",
        "Every change in order and without gaps, to read by pages or as a stream.",
    ),
    (
        "Webhooks",
        "Have events sent to you, signed by Standard Webhooks; see what was delivered and send it again.",
    ),
    events::TAG,
    (
        "Reconciliation",
        "Compare what the bank lists with what the ledger has.",
    ),
    (
        "Treasury",
        "What belongs to all clients next to what the collector account has at the bank.",
    ),
    (
        "Simulations",
        "With a test key: have money arrive, transfers end or come back, and the sandbox bank misbehave, for your realm alone.",
    ),
    ("Idempotency", "Find out what an idempotency key did."),
    (
        "Wallet",
        "The wallet family: accounts by number, fields in Spanish, the same ledger underneath.",
    ),
    (
        "Wallet: transfers",
        "Send money and follow it, in the shapes of the wallet family.",
    ),
    (
        "Wallet: treasury",
        "Treasury and client balances in the shapes of the wallet family.",
    ),
    (
        "Wallet: remuneration",
        "Enrol an account in a fund and see what its balance earns there.",
    ),
    ("Bank", "What the bank calls."),
];
