//! The operations as the document has them: the methods of each path, the parameters and the forms of each operation,
//! and the spelling of wallet paths. One table, made of the document and so of the route table: no handler can be left out.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::uri::{PathAndQuery, Uri};
use utoipa::openapi::path::{Operation, Parameter, ParameterIn, PathItem};
use utoipa::openapi::{OpenApi, RefOr};

use super::document::walk;

/// The place of shared parameters in the document.
pub const PARAMETERS: &str = "#/components/parameters/";
/// The start of the wallet family's paths.
const WALLET: &str = "/wallet/";

/// Whether a path is of the wallet family, in any case.
pub fn is_wallet(path: &str) -> bool {
    let start = path.as_bytes().get(..WALLET.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(WALLET.as_bytes()))
}

/// The parameters of several operations, by their names among the components.
type SharedParameters = BTreeMap<String, RefOr<Parameter>>;

/// One path of the document.
#[derive(Clone, Debug)]
struct KnownPath {
    segments: Vec<String>,
    operations: Vec<KnownOperation>,
}

/// One operation of a path.
#[derive(Clone, Debug)]
struct KnownOperation {
    method: Method,
    parameters: Vec<String>,
    /// The media types of its answers.
    forms: Vec<String>,
}

/// The names of an operation's query parameters, in the order of the document.
fn parameters(operation: &Operation, shared: &SharedParameters) -> Vec<String> {
    let declared = operation.parameters.iter().flatten();
    let written = declared.filter_map(|parameter| match parameter {
        RefOr::T(it) => Some(it),
        RefOr::Ref(place) => match shared.get(place.ref_location.strip_prefix(PARAMETERS)?)? {
            RefOr::T(it) => Some(it),
            RefOr::Ref(_) => None,
        },
    });
    let query = written.filter(|it| it.parameter_in == ParameterIn::Query);
    query.map(|it| it.name.clone()).collect()
}

/// The media types in which an operation answers.
fn forms(operation: &Operation) -> Vec<String> {
    let answers = operation.responses.responses.iter();
    let successes = answers.filter(|(status, _)| status.starts_with('2'));
    let written = successes.filter_map(|(_, answer)| match answer {
        RefOr::T(answer) => Some(answer.content.keys().cloned()),
        RefOr::Ref(_) => None,
    });
    written.flatten().collect()
}

fn known(path: &str, item: &PathItem, shared: &SharedParameters) -> KnownPath {
    KnownPath {
        segments: path.split('/').map(str::to_owned).collect(),
        operations: walk::operations(item)
            .map(|(method, operation)| KnownOperation {
                method,
                parameters: parameters(operation, shared),
                forms: forms(operation),
            })
            .collect(),
    }
}

fn is_parameter(known: &str) -> bool {
    known.starts_with('{')
}

impl KnownPath {
    /// A path that fits, with its literal segments written as here.
    fn spelled(&self, path: &str) -> String {
        let parts = self.segments.iter().zip(path.split('/'));
        let parts = parts.map(|(known, asked)| if is_parameter(known) { asked } else { known });
        parts.collect::<Vec<_>>().join("/")
    }
}

/// The paths of the document with their operations: for telling 404 from 405, for refusing parameters that
/// an operation does not have, and for paths in another case.
#[derive(Debug)]
pub struct PathTable {
    known: Vec<KnownPath>,
    places: PathTree,
}

/// The paths as a tree of segments, for finding that of each request.
#[derive(Debug, Default)]
struct PathTree {
    /// The path that ends here, as its place among the paths of the document.
    at: Option<usize>,
    spelled: BTreeMap<String, PathTree>,
    any: Option<Box<PathTree>>,
}

impl PathTree {
    fn of(known: &[KnownPath]) -> Self {
        let mut root = Self::default();
        for (at, path) in known.iter().enumerate() {
            path.segments
                .iter()
                .fold(&mut root, |here, segment| here.under(segment))
                .at = Some(at);
        }
        root
    }

    /// The node below a segment, made if need be.
    fn under(&mut self, segment: &str) -> &mut Self {
        if is_parameter(segment) {
            return self.any.get_or_insert_default();
        }
        self.spelled.entry(segment.to_owned()).or_default()
    }

    /// The place of the path that fits these segments. Literal segments go before parameters, and are compared without
    /// their case if `any_case`.
    fn find<'p>(
        &self,
        mut rest: impl Iterator<Item = &'p str> + Clone,
        any_case: bool,
    ) -> Option<usize> {
        let Some(segment) = rest.next() else {
            return self.at;
        };
        let below = |node: &Self| node.find(rest.clone(), any_case);
        let spelled = if any_case {
            let spelled = self.spelled.iter();
            let mut same = spelled.filter(|(known, _)| known.eq_ignore_ascii_case(segment));
            same.find_map(|(_, node)| below(node))
        } else {
            self.spelled.get(segment).and_then(below)
        };
        // A parameter is never empty.
        let any = self.any.as_ref().filter(|_| !segment.is_empty());
        spelled.or_else(|| below(any?))
    }
}

/// The table, made on first use: the document from which it is made is large.
pub type Paths = &'static LazyLock<PathTable>;

impl PathTable {
    /// The table of a document.
    pub fn of(document: &OpenApi) -> Self {
        let components = document.components.as_ref();
        let none = SharedParameters::new();
        let shared = components.map_or(&none, |components| &components.parameters);
        let paths = document.paths.paths.iter();
        Self::from(
            paths
                .map(|(path, item)| known(path, item, shared))
                .collect(),
        )
    }

    fn from(known: Vec<KnownPath>) -> Self {
        let places = PathTree::of(&known);
        Self { known, places }
    }

    /// How many paths there are.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// The index of the document's path that matches this one: below [`Self::count`].
    pub fn place(&self, path: &str) -> Option<usize> {
        self.places.find(path.split('/'), false)
    }

    /// The path at an index, with its parameters in braces.
    pub fn pattern(&self, place: usize) -> Option<String> {
        Some(self.known.get(place)?.segments.join("/"))
    }

    /// The methods that a path knows, as `Allow` lists them.
    pub fn methods(&self, path: &str) -> Option<String> {
        let known = self.known.get(self.place(path)?)?;
        let methods = known.operations.iter();
        let names: Vec<_> = methods.map(|it| it.method.as_str()).collect();
        Some(names.join(", "))
    }

    /// The names of the query parameters of an operation; empty for one that is not in the document.
    pub fn parameters(&self, method: &Method, path: &str) -> &[String] {
        let known = self.operation(method, path);
        known.map_or(&[], |it| &it.parameters)
    }

    /// The media types in which an operation answers; empty for one that answers with none, or is not in the document.
    pub fn forms(&self, method: &Method, path: &str) -> &[String] {
        let known = self.operation(method, path);
        known.map_or(&[], |it| &it.forms)
    }

    fn operation(&self, method: &Method, path: &str) -> Option<&KnownOperation> {
        let known = self.known.get(self.place(path)?)?;
        known.operations.iter().find(|it| it.method == *method)
    }

    /// Respells a path of the wallet family, which its clients send in any case, as the document has it. The values
    /// of its parameters stay as they were sent.
    pub fn respell(&self, call: &mut ServiceRequest) {
        let path = call.path();
        let place = self.places.find(path.split('/'), true);
        let known = place.and_then(|place| self.known.get(place));
        let Some(spelled) = known.map(|known| known.spelled(path)) else {
            return;
        };
        if spelled == path {
            return;
        }
        let whole = match call.uri().query() {
            Some(query) => format!("{spelled}?{query}"),
            None => spelled,
        };
        let mut parts = call.uri().clone().into_parts();
        parts.path_and_query = PathAndQuery::try_from(whole).ok();
        // A path put together from one that parsed also parses.
        if let Ok(uri) = Uri::from_parts(parts) {
            call.match_info_mut().get_mut().update(&uri);
            call.head_mut().uri = uri;
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn operation(method: Method, parameters: &[&str]) -> KnownOperation {
        KnownOperation {
            method,
            parameters: parameters.iter().map(|it| (*it).to_owned()).collect(),
            forms: Vec::new(),
        }
    }

    fn table(paths: &[&str]) -> PathTable {
        let segments = paths.iter().map(|path| KnownPath {
            segments: path.split('/').map(str::to_owned).collect(),
            operations: vec![operation(Method::GET, &["q"])],
        });
        PathTable::from(segments.collect())
    }

    #[test]
    fn a_path_is_spelled_as_the_document_has_it_and_its_values_stay() {
        let table = table(&["/wallet/v1/Cuentas", "/wallet/v1/PorId/{idExterno}"]);
        for (sent, spelled) in [
            ("/wallet/v1/cuentas", "/wallet/v1/Cuentas"),
            (
                "/WALLET/V1/CUENTAS?Q=Ana%20X",
                "/wallet/v1/Cuentas?Q=Ana%20X",
            ),
            ("/wallet/v1/porid/Ab%2Fc?q=1", "/wallet/v1/PorId/Ab%2Fc?q=1"),
            ("/wallet/v1/Cuentas", "/wallet/v1/Cuentas"),
            ("/wallet/v1/nada", "/wallet/v1/nada"),
            ("/wallet/v1/PORID/", "/wallet/v1/PORID/"),
        ] {
            let mut call = TestRequest::with_uri(sent).to_srv_request();
            table.respell(&mut call);
            assert_eq!(call.uri().to_string(), spelled);
        }
    }

    #[test]
    fn literal_path_segments_win_over_parameters() {
        let mut table = table(&["/v1/x/{id}", "/v1/x/list"]);
        table.known[1].operations = vec![operation(Method::POST, &[])];
        assert_eq!(table.methods("/v1/x/list").as_deref(), Some("POST"));
        assert_eq!(table.methods("/v1/x/1").as_deref(), Some("GET"));
        assert_eq!(
            (table.methods("/v1/x/"), table.methods("/v1/x/1/2")),
            (None, None)
        );
        assert_eq!(table.parameters(&Method::GET, "/v1/x/1"), ["q"]);
        assert!(table.parameters(&Method::PUT, "/v1/x/1").is_empty());
        let pattern = |path: &str| table.pattern(table.place(path)?);
        assert_eq!(pattern("/v1/x/list").as_deref(), Some("/v1/x/list"));
        assert_eq!(pattern("/v1/x/lists").as_deref(), Some("/v1/x/{id}"));
        for none in ["/v1/x/", "/v1/x", "/v1/x/1/2", "", "/", "/v1/y/1"] {
            assert_eq!(pattern(none), None, "{none}");
        }
    }
}
