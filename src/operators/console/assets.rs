//! The files of the console: its own style and script, and the libraries that are kept with the project.
//!
//! **Shape.** A file's address has a hash of all of them, so that a browser keeps it for good and a new program has
//! new addresses. The source of each library, its licence and its SHA-256 are in [`VENDORED`]; a test compares.

use std::sync::{LazyLock, OnceLock};

use actix_web::{HttpRequest, HttpResponse, web};
use caudal_http::errors::ApiError;
use caudal_http::pages::cached::{CachedBody, Lasting, hash};
use caudal_http::words::Refusal;

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

struct File {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
    kept: OnceLock<CachedBody>,
}

macro_rules! files {
    ($($name:literal: $kind:expr;)+) => {
        [$(File {
            name: $name,
            kind: $kind,
            text: include_str!(concat!("assets/", $name)),
            kept: OnceLock::new(),
        }),+]
    };
}

static FILES: [File; 7] = files! {
    "console.css": CSS;
    "console.js": JS;
    "mark.svg": SVG;
    "htmx-2.0.11.min.js": JS;
    "htmx-sse-2.2.4.min.js": JS;
    "uplot-1.6.32.min.js": JS;
    "uplot-1.6.32.min.css": CSS;
};

/// The libraries: file, package and version at the npm registry, licence, SHA-256 of the file.
#[cfg(test)]
const VENDORED: [(&str, &str, &str, &str); 4] = [
    (
        "htmx-2.0.11.min.js",
        "htmx.org 2.0.11, dist/htmx.min.js",
        include_str!("assets/htmx.LICENSE"),
        "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    ),
    (
        "htmx-sse-2.2.4.min.js",
        "htmx-ext-sse 2.2.4, dist/sse.min.js",
        include_str!("assets/htmx-sse.LICENSE"),
        "98a46496de0c3605fbffdce9167ba427bdd9553184f83f149c261891a92c0136",
    ),
    (
        "uplot-1.6.32.min.js",
        "uplot 1.6.32, dist/uPlot.iife.min.js",
        include_str!("assets/uplot.LICENSE"),
        "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    ),
    (
        "uplot-1.6.32.min.css",
        "uplot 1.6.32, dist/uPlot.min.css",
        include_str!("assets/uplot.LICENSE"),
        "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    ),
];

static HASH: LazyLock<String> =
    LazyLock::new(|| hash(FILES.iter().map(|file| file.text.as_bytes())));

/// The address of a file.
pub(super) fn address(name: &str) -> String {
    format!("/console/files/{}/{name}", *HASH)
}

/// Answers with a file. None of the files is secret: the login page needs them, too.
pub(super) async fn file(
    request: HttpRequest,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, ApiError> {
    let (version, name) = path.into_inner();
    let found = FILES
        .iter()
        .find(|file| file.name == name && version == *HASH);
    let file = found.ok_or(Refusal::NoPage)?;
    let kept = file
        .kept
        .get_or_init(|| CachedBody::new(file.kind, file.text.into()));
    Ok(kept.answer(&request, Lasting::Forever))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::digest;

    use super::*;

    /// The largest style sheet of our own, in bytes.
    const STYLE_MAX: usize = 30_000;

    #[test]
    fn libraries_are_those_of_their_packages_and_have_their_licence() {
        for (name, package, licence, expected) in VENDORED {
            let file = FILES.iter().find(|file| file.name == name).unwrap();
            let found = digest::digest(&digest::SHA256, file.text.as_bytes());
            let found: String = found
                .as_ref()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(found, expected, "{package}");
            assert!(licence.contains("Permission"), "{package}");
        }
        let own = FILES
            .iter()
            .filter(|file| VENDORED.iter().all(|(name, ..)| *name != file.name));
        let own: Vec<_> = own.map(|file| file.name).collect();
        assert_eq!(own, ["console.css", "console.js", "mark.svg"]);
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        for file in &FILES {
            for foreign in ["@import", "url(http", "sourceMappingURL=http"] {
                assert!(!file.text.contains(foreign), "{}: {foreign}", file.name);
            }
        }
        let style = FILES
            .iter()
            .find(|file| file.name == "console.css")
            .unwrap();
        assert!(style.text.len() <= STYLE_MAX, "{}", style.text.len());
    }
}
