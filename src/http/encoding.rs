//! Answers that are compressed for clients that take gzip.
//!
//! **Bounds.** Answers to GET with at least [`GZIP_BYTES`]: a voucher's answer never is compressed. Streams go out as
//! they are made, and an answer with an entity tag as it is, since the tag names its bytes. The compression runs off
//! the threads that serve requests, [`SLOTS_MAX`] answers at a time.

use std::io::{self, Write as _};

use actix_web::body::{BodySize, EitherBody, MessageBody};
use actix_web::dev::ServiceResponse;
use actix_web::http::header::{self, HeaderMap, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::web::{self, Bytes};
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::sync::Semaphore;

/// The smallest body that is compressed, in bytes: with a smaller one, a packet or two are all that could be saved.
pub(crate) const GZIP_BYTES: u64 = 4096;

/// How many answers are compressed at the same time: each takes a thread.
const SLOTS_MAX: usize = 8;
static SLOTS: Semaphore = Semaphore::const_new(SLOTS_MAX);

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const VARY: HeaderValue = HeaderValue::from_static("accept-encoding");

/// Whether a client names gzip among the encodings that it takes.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let given = headers.get_all(header::ACCEPT_ENCODING);
    let mut given = given.filter_map(|value| value.to_str().ok());
    given.any(|value| {
        value.split(',').any(|one| {
            let (name, quality) = one.split_once(';').unwrap_or((one, ""));
            let refused = matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
            name.trim().eq_ignore_ascii_case("gzip") && !refused
        })
    })
}

/// Whether an answer is to be compressed for a client that takes gzip.
fn is_large_reading<B: MessageBody>(answer: &ServiceResponse<B>) -> bool {
    let large = matches!(answer.response().body().size(), BodySize::Sized(n) if n >= GZIP_BYTES);
    let headers = answer.headers();
    let json = headers.get(header::CONTENT_TYPE);
    large
        && answer.request().method() == Method::GET
        && answer.status() == StatusCode::OK
        && json.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
        && !headers.contains_key(header::ETAG)
        && !headers.contains_key(header::CONTENT_ENCODING)
}

/// The answer, compressed where the client wants that and it is worth it.
pub(super) async fn encode<B: MessageBody + 'static>(
    mut answer: ServiceResponse<B>,
) -> ServiceResponse<EitherBody<B, Bytes>> {
    if !is_large_reading(&answer) {
        return answer.map_into_left_body();
    }
    answer.headers_mut().append(header::VARY, VARY);
    if !takes_gzip(answer.request().headers()) {
        return answer.map_into_left_body();
    }
    let (request, answer) = answer.into_parts();
    let (mut answer, body) = answer.into_parts();
    let body = match body.try_into_bytes() {
        Ok(bytes) => bytes,
        Err(body) => {
            return ServiceResponse::new(request, answer.set_body(EitherBody::left(body)));
        }
    };
    let plain = body.clone();
    // The semaphore is never closed.
    let _slot = SLOTS.acquire().await.ok();
    let packed = web::block(move || gzip(&body)).await;
    let bytes = match packed {
        Ok(Ok(packed)) => {
            answer.headers_mut().insert(header::CONTENT_ENCODING, GZIP);
            packed
        }
        // The body goes out as it is.
        Ok(Err(_)) | Err(_) => plain,
    };
    ServiceResponse::new(request, answer.set_body(EitherBody::right(bytes)))
}

fn gzip(bytes: &[u8]) -> io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use actix_web::HttpResponse;
    use actix_web::test::TestRequest;
    use flate2::read::GzDecoder;

    use super::*;

    /// The encoding of an answer and its body, unpacked.
    async fn sent(method: Method, accept: &str, mut made: HttpResponse) -> (bool, bool, Vec<u8>) {
        let json = HeaderValue::from_static("application/json");
        made.headers_mut().insert(header::CONTENT_TYPE, json);
        let request = TestRequest::default()
            .method(method)
            .insert_header((header::ACCEPT_ENCODING, accept))
            .to_http_request();
        let answer = encode(ServiceResponse::new(request, made)).await;
        let packed = answer.headers().contains_key(header::CONTENT_ENCODING);
        let varies = answer.headers().contains_key(header::VARY);
        let bytes = actix_web::body::to_bytes(answer.into_body())
            .await
            .ok()
            .unwrap();
        let mut body = Vec::new();
        if packed {
            GzDecoder::new(&bytes[..]).read_to_end(&mut body).unwrap();
        } else {
            body.extend_from_slice(&bytes);
        }
        (packed, varies, body)
    }

    #[actix_web::test]
    async fn large_readings_are_compressed_for_who_takes_it_and_nothing_else_is() {
        let (small, large) = ("x".repeat(4095), "x".repeat(4096));
        for (method, accept, body, packed, varies) in [
            (Method::GET, "gzip", &large, true, true),
            (Method::GET, "br;q=1.0, GZIP ;q=0.5", &large, true, true),
            (Method::GET, "gzip;q=0", &large, false, true),
            (Method::GET, "identity", &large, false, true),
            (Method::GET, "gzip", &small, false, false),
            (Method::POST, "gzip", &large, false, false),
        ] {
            let made = HttpResponse::Ok().body(body.clone());
            let answer = sent(method, accept, made).await;
            assert_eq!(
                answer,
                (packed, varies, body.clone().into_bytes()),
                "{accept}"
            );
        }
        let tagged = HttpResponse::Ok()
            .insert_header((header::ETAG, "\"1\""))
            .body(large.clone());
        assert!(!sent(Method::GET, "gzip", tagged).await.0);
        let refused = HttpResponse::BadRequest().body(large);
        assert!(!sent(Method::GET, "gzip", refused).await.0);
    }
}
