//! The parameters that a document's operations declare.

use utoipa::openapi::path::Parameter;
use utoipa::openapi::{OpenApi, RefOr};

use super::walk;

/// Keeps the first of two parameters of one name and place: a declared parameter of a path is found a second time in the
/// route, without a description.
pub fn keep_declared(document: &mut OpenApi) {
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
}

/// The parameter, unless it is a reference to one.
pub const fn its_own(parameter: &RefOr<Parameter>) -> Option<&Parameter> {
    match parameter {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    }
}
