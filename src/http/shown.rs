//! The CVUs that an answer shows: how reads and looks are attributed to accounts, whatever the route and the format.
//!
//! **Shape.** Every text of ours writes a CVU as its 22 digits, so one scan of the address and of the body finds them in
//! JSON, CSV and HTML alike, also on a page that does not exist yet.
//!
//! **Bounds.** A body that is made while it is sent is not scanned: then only the address counts.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::ServiceResponse;
use actix_web::web::Bytes;
use caudal_ledger::cvu::Cvu;
use memchr::memmem::Finder;

/// The digits of a CVU.
const DIGITS: usize = 22;
/// How every CVU begins.
static BEGINNING: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"000"));

/// What an answer shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shown {
    /// The CVUs in its address and its body.
    pub cvus: BTreeSet<Cvu>,
    /// Whether the body was scanned; it was not when it is made while it is sent.
    pub is_whole: bool,
}

/// An answer as it was, with what it shows.
pub fn by<B: MessageBody + 'static>(
    answer: ServiceResponse<B>,
) -> (ServiceResponse<EitherBody<B, Bytes>>, Shown) {
    let mut shown = Shown::default();
    let address = answer.request().uri().path_and_query();
    if let Some(address) = address {
        shown.cvus = cvus(address.as_str().as_bytes());
    }
    let (request, answer) = answer.into_parts();
    let (answer, body) = answer.into_parts();
    let answer = match body.try_into_bytes() {
        Ok(bytes) => {
            shown.cvus.append(&mut cvus(&bytes));
            shown.is_whole = true;
            answer.set_body(EitherBody::right(bytes))
        }
        Err(body) => answer.set_body(EitherBody::left(body)),
    };
    (ServiceResponse::new(request, answer), shown)
}

/// The CVUs in a text.
pub fn cvus(text: &[u8]) -> BTreeSet<Cvu> {
    let mut found = BTreeSet::new();
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    for at in BEGINNING.find_iter(text) {
        let end = at.strict_add(DIGITS);
        // Longer runs of digits are something else.
        if at.checked_sub(1).is_some_and(is_digit) || is_digit(end) {
            continue;
        }
        let digits = text.get(at..end).map(std::str::from_utf8);
        let cvu = digits.and_then(Result::ok).map(Cvu::parse);
        found.extend(cvu.and_then(Result::ok));
    }
    found
}

#[cfg(test)]
mod tests {
    use actix_web::HttpResponse;
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn cvus_are_found_in_any_text_and_nothing_else_is() {
        let [one, two, three] = [1, 2, 3].map(|client| Cvu::compose(7, client).unwrap());
        let text = format!(
            "{one}{{\"cvu\":\"{two}\",\"amount\":\"1000.00\"}}<a href=\"/console/accounts/{three}\">{three}</a>\
             1{one}0 {one}0 0001 0000000000000000000001 ñ000"
        );
        for (text, right) in [
            (text.as_str(), vec![one, two, three]),
            (one.as_str(), vec![one]),
            ("000", vec![]),
            ("2850590940090418135201", vec![]),
            ("", vec![]),
        ] {
            let found = cvus(text.as_bytes());
            assert_eq!(found.into_iter().collect::<Vec<_>>(), right, "{text}");
        }
    }

    #[actix_web::test]
    async fn the_address_counts_too_and_the_body_stays_as_it_was() {
        let [one, two] = [1, 2].map(|client| Cvu::compose(7, client).unwrap());
        let request = TestRequest::with_uri(&format!("/v1/accounts/{one}?a={one}"));
        let made = HttpResponse::Ok().body(two.to_string());
        let (answer, shown) = by(ServiceResponse::new(request.to_http_request(), made));
        assert_eq!(shown.cvus, BTreeSet::from([one, two]));
        assert!(shown.is_whole);
        let body = actix_web::body::to_bytes(answer.into_body()).await;
        assert_eq!(body.ok().unwrap(), two.to_string());
    }
}
