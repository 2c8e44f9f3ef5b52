//! Parameters that several operations have: each is written once, among the components, and operations refer to it.

use caudal_http::document::parameters::{its_own, keep_declared};
use caudal_http::document::walk;
use caudal_http::paths::PARAMETERS;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::{OpenApi, Ref, RefOr};

use crate::v1::events::EventTypes;
use crate::wallet::corte::PastDay;
use crate::wallet::declared::{CuentaInPath, IdCuentaInPath};
use crate::wallet::saldos::CvuInQuery;
use caudal_http::declared::{
    CvuInPath, HoldInPath, IdExternoInPath, IdempotencyKey, IfMatch, TypeInPath, VoucherInPath,
    WebhookInPath,
};
use caudal_http::params::ClientText;

/// The parameters whose name among the components is not their own, raised, but that of their type.
macro_rules! named {
    ($($type:ident),+ $(,)?) => {
        [$((stringify!($type), <$type as IntoParams>::into_params(|| None))),+]
    };
}

/// Writes the parameters that the code names, under these names.
pub(super) fn declare(document: &mut OpenApi) {
    keep_declared(document);
    let components = document.components.get_or_insert_default();
    let named = named![
        CvuInPath,
        VoucherInPath,
        HoldInPath,
        WebhookInPath,
        TypeInPath,
        IdExternoInPath,
        CuentaInPath,
        IdCuentaInPath,
        IfMatch,
        IdempotencyKey,
        CvuInQuery,
        ClientText,
        EventTypes,
    ];
    // `Date` is that of the native family.
    let mut days = PastDay::into_params(|| None);
    days.retain(|it| it.name == "date");
    let named = named.into_iter().chain([("FechaAsDate", days)]);
    let named = named.flat_map(|(name, parameters)| {
        let parameters = parameters.into_iter();
        parameters.map(move |it| (name.to_owned(), it.into()))
    });
    components.parameters.extend(named);
}

/// Puts a reference wherever an operation has a parameter that is written among the components or that another
/// operation has, too. Comes last, since the passes before it read the parameters.
pub(super) fn share(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let written = components.parameters.iter();
    let mut known: Vec<_> = written
        .filter_map(|(name, it)| Some((name.clone(), its_own(it)?.clone())))
        .collect();
    let mut once: Vec<&Parameter> = Vec::new();
    let operations = document.paths.paths.values().flat_map(walk::operations);
    let found = operations.flat_map(|(_, operation)| {
        let id = operation.operation_id.as_deref().unwrap_or_default();
        let parameters = operation.parameters.iter().flatten();
        parameters.filter_map(move |it| Some((id, its_own(it)?)))
    });
    for (id, parameter) in found {
        if known.iter().any(|(_, it)| it == parameter) {
            continue;
        }
        if !once.contains(&parameter) {
            once.push(parameter);
            continue;
        }
        let plain = raised(&parameter.name);
        let name = if known.iter().any(|(name, _)| *name == plain) {
            format!("{plain}Of{}", raised(id))
        } else {
            plain
        };
        let shared = parameter.clone();
        components
            .parameters
            .insert(name.clone(), shared.clone().into());
        known.push((name, shared));
    }
    for item in document.paths.paths.values_mut() {
        for operation in walk::operations_mut(item) {
            for parameter in operation.parameters.iter_mut().flatten() {
                let same = |(_, it): &&(String, Parameter)| its_own(parameter) == Some(it);
                if let Some((name, _)) = known.iter().find(same) {
                    *parameter = RefOr::Ref(Ref::new(format!("{PARAMETERS}{name}")));
                }
            }
        }
    }
}

/// A name as components have them: `pageSize` is `PageSize`.
fn raised(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
