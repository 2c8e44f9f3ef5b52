//! Parameters that several operations have: each is written once, among the components, and operations refer to it.

use caudal_http::declared;
use caudal_http::document::walk;
use caudal_http::paths::PARAMETERS;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::{OpenApi, Ref, RefOr};

use crate::wallet;

/// Writes the parameters that the code names, under these names. A declared parameter of a path is found a second
/// time in the route, without a description: the declared one comes first, and only that one is kept.
pub(super) fn declare(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        for operation in walk::operations_mut(item) {
            let Some(parameters) = &mut operation.parameters else {
                continue;
            };
            let mut seen = Vec::new();
            parameters.retain(|parameter| {
                let place = its_own(parameter).map(|it| (it.name.clone(), it.parameter_in.clone()));
                let first = !seen.contains(&place);
                seen.push(place);
                first
            });
        }
    }
    let components = document.components.get_or_insert_default();
    let named = declared::all()
        .chain(wallet::declared::all())
        .map(|(name, parameter)| (name.to_owned(), parameter.into()));
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
        let name = match known.iter().any(|(name, _)| *name == plain) {
            true => format!("{plain}Of{}", raised(id)),
            false => plain,
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

const fn its_own(parameter: &RefOr<Parameter>) -> Option<&Parameter> {
    match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    }
}

/// A name as components have them: `pageSize` is `PageSize`.
fn raised(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
