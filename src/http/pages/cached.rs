//! Bodies that do not change while the process runs: their bytes, plain and compressed, and the tag of both.

use std::io::Write as _;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::encoding::takes_gzip;
use crate::respond::unchanged;

/// How long a client may use its copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lasting {
    /// The client asks each time whether its copy is still good; the entity tag answers that in a few bytes.
    Asked,
    /// For good: the address contains a hash of the content.
    Forever,
}

impl Lasting {
    const fn header(self) -> &'static str {
        match self {
            Self::Asked => "no-cache",
            Self::Forever => "public, max-age=31536000, immutable",
        }
    }
}

/// A kept body. Answers share its bytes: with more clients, only the buffers of their connections grow.
#[derive(Debug)]
pub struct CachedBody {
    kind: &'static str,
    plain: web::Bytes,
    gzip: web::Bytes,
    tag: String,
}

impl CachedBody {
    /// Keeps a body of a media type, and compresses it.
    #[expect(clippy::expect_used, reason = "memory takes what is written to it")]
    pub fn new(kind: &'static str, plain: Vec<u8>) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let gzip = encoder.write_all(&plain).and_then(|()| encoder.finish());
        Self {
            kind,
            tag: format!("\"{}\"", hash([plain.as_slice()])),
            plain: plain.into(),
            gzip: gzip.expect("memory takes all").into(),
        }
    }

    /// The answer to a request for this body.
    pub fn answer(&self, request: &HttpRequest, lasting: Lasting) -> HttpResponse {
        let unchanged = unchanged(request, &self.tag);
        let mut answer = HttpResponse::build(if unchanged {
            StatusCode::NOT_MODIFIED
        } else {
            StatusCode::OK
        });
        answer
            .insert_header((header::ETAG, self.tag.as_str()))
            .insert_header((header::VARY, "accept-encoding"))
            .insert_header((header::CACHE_CONTROL, lasting.header()));
        if unchanged {
            return answer.finish();
        }
        answer.content_type(self.kind);
        if takes_gzip(request.headers()) {
            answer.insert_header((header::CONTENT_ENCODING, "gzip"));
            return answer.body(self.gzip.clone());
        }
        answer.body(self.plain.clone())
    }
}

/// A short hash of some bytes, for a tag or an address.
#[expect(clippy::expect_used, reason = "the digest has 32 bytes")]
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(part);
    }
    let digest = context.finish();
    let short = digest.as_ref().first_chunk::<16>().expect("32 bytes");
    URL_SAFE_NO_PAD.encode(short)
}
