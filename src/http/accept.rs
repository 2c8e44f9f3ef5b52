//! Content negotiation: `Accept`, among the media types that an operation has.
//!
//! An operation with only one form never looks at it. Where the client accepts none of its forms, an operation
//! answers in its first one, as the others do: the answer's `Content-Type` says which form it is.

use actix_web::HttpRequest;
use actix_web::http::header::ACCEPT;

/// How much a client wants a form, from 0 (not at all) to 1000.
type Weight = u16;

/// The form that the client wants most: the first of equals, and the first of all where it accepts none.
pub fn preferred<T: Copy>(request: &HttpRequest, forms: &[(&'static str, T)]) -> Option<T> {
    let headers = request.headers().get_all(ACCEPT);
    let headers: Vec<&str> = headers.filter_map(|value| value.to_str().ok()).collect();
    chosen(&headers.join(","), forms)
}

fn chosen<T: Copy>(accept: &str, forms: &[(&'static str, T)]) -> Option<T> {
    let ranges: Vec<_> = accept.split(',').filter_map(range).collect();
    let mut best: Option<(Weight, T)> = None;
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
fn range(text: &str) -> Option<(String, Weight)> {
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
fn thousandths(text: &str) -> Option<Weight> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = rest.chars().chain("000".chars()).take(3).collect();
    let (whole, rest) = (
        whole.parse::<Weight>().ok()?,
        digits.parse::<Weight>().ok()?,
    );
    (whole <= 1).then(|| (whole * 1000 + rest).min(1000))
}

/// The weight of the narrowest range that matches a media type.
fn weight(media: &str, ranges: &[(String, Weight)]) -> Weight {
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
}
