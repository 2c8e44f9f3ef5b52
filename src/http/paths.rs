//! The operations as the document has them: which methods a path knows, and which operations can be
//! asked what they would do. One table, made from the route table, so that no handler can forget.

use std::sync::LazyLock;

use actix_web::http::Method;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

use super::query::DRY_RUN;

/// One path of the document.
#[derive(Clone, Debug)]
struct Known {
    segments: Vec<String>,
    methods: Vec<Method>,
    /// Those of the methods that know [`DRY_RUN`].
    dry: Vec<Method>,
}

/// The paths of the document with their methods, for telling 404 from 405 and for refusing dry runs
/// where there are none.
///
/// The table is made when it is first asked for: the document that it is taken from is large.
#[derive(Debug)]
pub struct Paths(LazyLock<Vec<Known>, Making>);

type Making = Box<dyn FnOnce() -> Vec<Known> + Send + Sync>;

fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let all = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    all.into_iter()
        .filter_map(|(method, operation)| operation.as_ref().map(|found| (method, found)))
}

fn knows_dry_runs(operation: &Operation) -> bool {
    let mut parameters = operation.parameters.iter().flatten();
    parameters.any(|parameter| match parameter {
        RefOr::T(it) => it.parameter_in == ParameterIn::Query && it.name == DRY_RUN,
        RefOr::Ref(_) => false,
    })
}

impl Paths {
    /// Those of a document, which is made when one is asked for.
    pub fn when_asked(document: fn() -> OpenApi) -> Self {
        let known = |(path, item): (&String, &PathItem)| Known {
            segments: path.split('/').map(str::to_owned).collect(),
            methods: operations(item).map(|(method, _)| method).collect(),
            dry: operations(item)
                .filter(|(_, operation)| knows_dry_runs(operation))
                .map(|(method, _)| method)
                .collect(),
        };
        Self(LazyLock::new(Box::new(move || {
            document().paths.paths.iter().map(known).collect()
        })))
    }

    /// The path of the document that a path is of.
    fn find(&self, path: &str) -> Option<&Known> {
        let asked: Vec<_> = path.split('/').collect();
        let parameter = |known: &String| known.starts_with('{');
        let fits = |known: &&Known| {
            let same = |(known, asked): (&String, &&str)| {
                // A parameter is never empty.
                (parameter(known) && !asked.is_empty()) || known == asked
            };
            known.segments.len() == asked.len() && known.segments.iter().zip(&asked).all(same)
        };
        // A path that is spelled out goes before one with a parameter in its place.
        let parameters = |known: &&Known| known.segments.iter().filter(|s| parameter(s)).count();
        self.0.iter().filter(fits).min_by_key(parameters)
    }

    /// The methods that a path knows, as `Allow` lists them.
    pub fn methods(&self, path: &str) -> Option<String> {
        let known = self.find(path)?;
        let names: Vec<_> = known.methods.iter().map(Method::as_str).collect();
        Some(names.join(", "))
    }

    /// Whether an operation can be asked what it would do.
    pub fn dry_runs(&self, method: &Method, path: &str) -> bool {
        let known = self.find(path);
        known.is_some_and(|known| known.dry.contains(method))
    }
}
