//! The OpenAPI document and the pages that show it: made once for the process, sent from shared bytes.
//!
//! **Shape.** The document is put together when it is first asked for, since that takes tens of
//! megabytes for a moment; what is kept is its text, and the same compressed.
//!
//! **Bounds.** An answer shares the bytes of the document and of the pages' files, and is sent in
//! pieces: however many ask, what grows is the buffer of each connection.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::{Arc, LazyLock};

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::GzEncoder;
use utoipa_swagger_ui::Config;

use crate::http::errors::ApiError;
use crate::http::respond::unchanged;
use crate::http::words::Refusal;

/// Where the document is.
const DOCUMENT: &str = "/openapi.json";
/// Asks each time whether the copy is still good, which the entity tag tells in a few bytes.
const REVALIDATE: &str = "no-cache";

/// The document as it is sent.
struct Document {
    json: web::Bytes,
    gzip: web::Bytes,
    tag: String,
}

static RENDERED: LazyLock<Document> = LazyLock::new(Document::render);

impl Document {
    #[expect(
        clippy::expect_used,
        reason = "the document is ours, memory takes it, and its digest has 32 bytes"
    )]
    fn render() -> Self {
        let document = super::openapi();
        let json = serde_json::to_vec(&document).expect("a document that can be written");
        drop(document);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let gzip = encoder.write_all(&json).and_then(|()| encoder.finish());
        let digest = digest::digest(&digest::SHA256, &json);
        let short = digest.as_ref().first_chunk::<16>().expect("32 bytes");
        Self {
            json: json.into(),
            gzip: gzip.expect("memory takes all").into(),
            tag: format!("\"{}\"", URL_SAFE_NO_PAD.encode(short)),
        }
    }
}

/// The routes of the document and of the pages.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource(DOCUMENT).get(document))
        .service(web::resource("/docs").get(to_docs))
        .service(web::resource("/docs/{file:.*}").get(page));
}

async fn document(request: HttpRequest) -> HttpResponse {
    // Its making takes long enough to be noticed by others on this thread.
    let made = web::block(|| LazyLock::force(&RENDERED)).await;
    let Ok(rendered) = made else {
        return HttpResponse::ServiceUnavailable().finish();
    };
    let unchanged = unchanged(&request, &rendered.tag);
    let mut answer = HttpResponse::build(match unchanged {
        true => StatusCode::NOT_MODIFIED,
        false => StatusCode::OK,
    });
    answer
        .insert_header((header::ETAG, rendered.tag.as_str()))
        .insert_header((header::VARY, "accept-encoding"))
        .insert_header((header::CACHE_CONTROL, REVALIDATE));
    if unchanged {
        return answer.finish();
    }
    answer.content_type("application/json");
    if takes_gzip(&request) {
        answer.insert_header((header::CONTENT_ENCODING, "gzip"));
        return answer.body(rendered.gzip.clone());
    }
    answer.body(rendered.json.clone())
}

/// Whether the client names gzip among the encodings that it takes.
fn takes_gzip(request: &HttpRequest) -> bool {
    let given = request.headers().get_all(header::ACCEPT_ENCODING);
    let mut given = given.filter_map(|value| value.to_str().ok());
    given.any(|value| {
        value.split(',').any(|one| {
            let (name, quality) = one.split_once(';').unwrap_or((one, ""));
            let refused = matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
            name.trim().eq_ignore_ascii_case("gzip") && !refused
        })
    })
}

async fn to_docs() -> HttpResponse {
    HttpResponse::Found()
        .insert_header(("location", "/docs/"))
        .finish()
}

/// A file of the pages.
async fn page(file: web::Path<String>) -> Result<HttpResponse, ApiError> {
    static CONFIG: LazyLock<Arc<Config<'static>>> =
        LazyLock::new(|| Arc::new(Config::from(DOCUMENT)));
    let found = utoipa_swagger_ui::serve(&file, Arc::clone(&CONFIG));
    let found = found.ok().flatten().ok_or(Refusal::NoPage)?;
    let bytes = match found.bytes {
        Cow::Borrowed(bytes) => web::Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    };
    let mut answer = HttpResponse::Ok();
    answer.content_type(found.content_type);
    if found.gzpipped {
        answer.insert_header((header::CONTENT_ENCODING, "gzip"));
    }
    Ok(answer.body(bytes))
}
