//! How long requests take, by route, method and class of status.
//!
//! **Shape.** One set of histograms per listener. A request finds its route by the segments of its path, in the table
//! of the document, and its histogram by three small numbers: no text is compared with labels or put together. A
//! histogram is made when its first request ends.
//!
//! **Bounds.** The routes of the document, one for all pages of the console, and one for everything else; five
//! methods and one for all others; five classes of status.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use actix_web::http::{Method, StatusCode};
use caudal_storage::times::Histogram;

use super::paths::{PathTable, Paths};
use crate::measures::{Measures, REQUESTS};

/// The prefixes of documented paths; other paths are placed without the table, which is large.
const DOCUMENTED: [&str; 4] = ["/v1/", "/wallet/", "/bank/", "/admin/"];
const CONSOLE: &str = "/console";
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "other"];
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// One route: histograms by method and class.
type OfRoute = [[OnceLock<Histogram>; CLASSES.len()]; METHODS.len()];

/// The histograms of one listener.
#[derive(Debug)]
pub struct Routes {
    measures: Arc<Measures>,
    paths: Paths,
    known: OnceLock<Vec<OfRoute>>,
    console: OfRoute,
    others: OfRoute,
    /// Whether this is the listener of clients, whose requests the console shows.
    clients: bool,
}

impl Routes {
    /// The histograms of a listener with the paths of a document; `clients` is true for the listener of clients.
    pub fn new(measures: &Arc<Measures>, paths: Paths, clients: bool) -> Self {
        Self {
            measures: Arc::clone(measures),
            paths,
            known: OnceLock::new(),
            console: OfRoute::default(),
            others: OfRoute::default(),
            clients,
        }
    }

    /// Counts an answered request that took this long.
    pub fn count(&self, (method, path): (&Method, &str), status: StatusCode, took: Duration) {
        let (route, place) = self.route(path);
        let method = match *method {
            Method::GET => 0,
            Method::POST => 1,
            Method::PUT => 2,
            Method::PATCH => 3,
            Method::DELETE => 4,
            _ => 5,
        };
        let class = usize::from((status.as_u16() / 100).clamp(1, 5) - 1);
        let slot = route.get(method).and_then(|it| it.get(class));
        if let Some(slot) = slot {
            let made = || self.made(place, method, class);
            slot.get_or_init(made).record(took);
        }
        if self.clients && place != RouteMatch::Other {
            self.measures.requests.count(took);
        }
    }

    fn route(&self, path: &str) -> (&OfRoute, RouteMatch) {
        if DOCUMENTED.iter().any(|start| path.starts_with(start)) {
            let paths: &PathTable = self.paths;
            let all = || (0..paths.count()).map(|_| OfRoute::default()).collect();
            let known = self.known.get_or_init(all);
            let found = paths.place(path);
            if let Some((place, route)) = found.and_then(|at| Some((at, known.get(at)?))) {
                return (route, RouteMatch::Known(place));
            }
        } else if path.starts_with(CONSOLE) {
            return (&self.console, RouteMatch::Console);
        }
        (&self.others, RouteMatch::Other)
    }

    fn made(&self, place: RouteMatch, method: usize, class: usize) -> Histogram {
        let route = match place {
            RouteMatch::Known(at) => self.paths.pattern(at),
            RouteMatch::Console => Some(CONSOLE.to_owned()),
            RouteMatch::Other => None,
        };
        let word =
            |words: &[&'static str], at: usize| words.get(at).copied().map_or("none", |it| it);
        let labels = vec![
            ("route", route.map_or("other".into(), Into::into)),
            ("method", word(&METHODS, method).into()),
            ("status", word(&CLASSES, class).into()),
        ];
        self.measures.histogram(REQUESTS, labels)
    }
}

/// The route of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RouteMatch {
    Known(usize),
    Console,
    Other,
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use utoipa::openapi::path::{OperationBuilder, PathItem};
    use utoipa::openapi::{HttpMethod, InfoBuilder, OpenApiBuilder, PathsBuilder};

    use super::*;

    static PATHS: LazyLock<PathTable> = LazyLock::new(|| {
        let item = PathItem::new(HttpMethod::Get, OperationBuilder::new());
        let paths = PathsBuilder::new().path("/v1/accounts/{cvu}", item);
        let document = OpenApiBuilder::new().info(InfoBuilder::new()).paths(paths);
        PathTable::of(&document.build())
    });

    #[test]
    fn requests_are_counted_by_the_pattern_of_their_route_and_by_nothing_that_was_sent() {
        let measures = Arc::new(Measures::default());
        let routes = Routes::new(&measures, &PATHS, true);
        let odd = Method::from_bytes(b"BREW").unwrap();
        for (method, path, status) in [
            (&Method::GET, "/v1/accounts/0000003100010000000001", 200),
            (&Method::GET, "/v1/accounts/0000003100010000000002", 204),
            (&Method::GET, "/v1/accounts/0000003100010000000003", 404),
            (&Method::GET, "/v1/secret/20-12345678-9", 404),
            (&odd, "/20-12345678-9", 405),
            (
                &Method::GET,
                "/console/accounts/0000003100010000000001",
                999,
            ),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            routes.count((method, path), status, Duration::from_millis(1));
        }
        let text = measures.text();
        let mut lines: Vec<_> = text
            .lines()
            .filter_map(|line| line.strip_prefix("caudal_http_request_duration_seconds_count"))
            .collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "{route=\"/console\",method=\"GET\",status=\"5xx\"} 1",
                "{route=\"/v1/accounts/{cvu}\",method=\"GET\",status=\"2xx\"} 2",
                "{route=\"/v1/accounts/{cvu}\",method=\"GET\",status=\"4xx\"} 1",
                "{route=\"other\",method=\"GET\",status=\"4xx\"} 1",
                "{route=\"other\",method=\"other\",status=\"4xx\"} 1",
            ]
        );
        assert!(!text.contains("12345678") && !text.contains("00000031"));
        assert_eq!(measures.requests.read().sum(), 4);
    }
}
