//! Content negotiation: `Accept`, among the media types that an operation offers.
//!
//! Every operation of the document is checked before it does anything ([`check`]): where the client accepts none of its
//! forms, it gets 406 with those there are. `Accept` that names no media type at all counts as absent.

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT;

use super::bytes;
use super::errors::ApiError;
use super::paths::Paths;
use super::words::Refusal;

/// What a client sends that takes every form.
const ANY: &str = "*/*";

/// How much a client wants a form, from 0 (not at all) to 1000.
type Quality = u16;

/// The forms that a request accepts, each with its weight.
fn accepted(request: &HttpRequest) -> String {
    let headers = request.headers().get_all(ACCEPT);
    let headers: Vec<&str> = headers.filter_map(|value| value.to_str().ok()).collect();
    headers.join(",")
}

/// Refuses a request that accepts none of the forms that its operation offers, and one whose body is encoded: bodies
/// are read as they are sent.
///
/// # Errors
/// 406 with what is offered; 415.
pub fn check(request: &HttpRequest, paths: Option<Paths>) -> Result<(), ApiError> {
    bytes::refuse_encoded(request)?;
    let accept = accepted(request);
    if accept.is_empty() || accept == ANY {
        return Ok(());
    }
    let offered = paths.map_or(&[][..], |paths| {
        paths.forms(request.method(), request.path())
    });
    if offered.is_empty() || takes(&accept, offered) {
        return Ok(());
    }
    let offered = offered.join(", ");
    Err(Refusal::NotOffered { offered }.into())
}

/// Whether `Accept` takes one of these media types.
fn takes(accept: &str, offered: &[String]) -> bool {
    let ranges: Vec<_> = accept.split(',').filter_map(range).collect();
    ranges.is_empty() || offered.iter().any(|media| weight(media, &ranges) > 0)
}

/// The form that the client wants most: the first of equals, and the first of all where it names none.
pub fn preferred<T: Copy>(request: &HttpRequest, forms: &[(&'static str, T)]) -> Option<T> {
    chosen(&accepted(request), forms)
}

/// Whether the client wants a page rather than JSON, as browsers do.
pub fn prefers_html(request: &HttpRequest) -> bool {
    let forms = [("application/json", false), ("text/html", true)];
    preferred(request, &forms) == Some(true)
}

fn chosen<T: Copy>(accept: &str, forms: &[(&'static str, T)]) -> Option<T> {
    let ranges: Vec<_> = accept.split(',').filter_map(range).collect();
    let mut best: Option<(Quality, T)> = None;
    for (media, form) in forms {
        let weight = weight(media, &ranges);
        if weight > best.map_or(0, |(weight, _)| weight) {
            best = Some((weight, *form));
        }
    }
    let best = best.map(|(_, form)| form);
    best.or_else(|| forms.first().map(|(_, form)| *form))
}

/// A range of media types and its weight.
fn range(text: &str) -> Option<(String, Quality)> {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().filter(|media| media.contains('/'))?;
    let told = parts.find_map(|it| it.strip_prefix("q=").or_else(|| it.strip_prefix("Q=")));
    let weight = match told {
        None => Some(1000),
        Some(told) => thousandths(told),
    };
    Some((media.to_ascii_lowercase(), weight?))
}

/// `0.85` as 850.
fn thousandths(text: &str) -> Option<Quality> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = rest.chars().chain("000".chars()).take(3).collect();
    let (whole, rest) = (
        whole.parse::<Quality>().ok()?,
        digits.parse::<Quality>().ok()?,
    );
    (whole <= 1).then(|| (whole * 1000 + rest).min(1000))
}

/// The weight of the narrowest range that matches a media type.
fn weight(media: &str, ranges: &[(String, Quality)]) -> Quality {
    let kind = media.split('/').next();
    let narrow = |range: &str| match range.split_once('/') {
        Some(("*", "*")) => Some(1),
        Some((of, "*")) if Some(of) == kind => Some(2),
        Some(_) if range == media => Some(3),
        Some(_) | None => None,
    };
    let fits = ranges
        .iter()
        .filter_map(|(range, weight)| Some((narrow(range)?, *weight)));
    fits.max().map_or(0, |(_, weight)| weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_welcome_form_is_given() {
        let forms = [
            ("application/json", 'j'),
            ("text/csv", 'c'),
            ("application/pdf", 'p'),
        ];
        for (accept, form) in [
            ("", 'j'),
            ("*/*", 'j'),
            ("text/csv", 'c'),
            ("TEXT/CSV; header=present", 'c'),
            ("text/*", 'c'),
            ("text/*;q=0.5, application/pdf;q=0.8", 'p'),
            ("application/*;q=0.9, application/json;q=0.1", 'p'),
            ("application/json;q=0, */*", 'c'),
            ("text/csv;q=2, application/pdf;q=0.001", 'p'),
            ("image/png", 'j'),
            ("nonsense, ;q=, application/pdf", 'p'),
        ] {
            assert_eq!(chosen(accept, &forms), Some(form), "{accept}");
        }
    }
    #[test]
    fn a_client_takes_a_form_unless_it_names_others_only() {
        let offered = ["application/json".to_owned(), "text/csv".to_owned()];
        for (accept, taken) in [
            ("", true),
            ("*/*", true),
            ("text/html, */*;q=0.1", true),
            ("application/json; charset=utf-8", true),
            ("APPLICATION/*", true),
            ("text/csv;q=0.001", true),
            ("nonsense", true),
            ("text/html", false),
            ("text/html, application/xml;q=0.9", false),
            ("application/json;q=0", false),
            ("*/*;q=0", false),
        ] {
            assert_eq!(takes(accept, &offered), taken, "{accept}");
        }
    }
}
