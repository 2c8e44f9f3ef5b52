//! Bytes that pass and bytes that do not, in one piece and cut anywhere.

use super::*;

/// The outcome of these bytes in pieces of this size: how many passed, why no more, and how many heads.
fn passes(bytes: &[u8], piece: usize) -> (usize, Option<FramingError>, u64) {
    let mut scan = Scanner::default();
    let mut passed = 0;
    for mut part in bytes.chunks(piece) {
        while !part.is_empty() {
            match scan.feed(part) {
                Ok(followed) => {
                    passed += followed;
                    part = &part[followed..];
                }
                Err((keep, why)) => return (passed + keep, Some(why), scan.heads()),
            }
        }
    }
    (passed, None, scan.heads())
}

/// The outcome of these bytes, which must be the same however they are cut.
fn outcome(bytes: &[u8]) -> (Option<FramingError>, u64) {
    let (_, why, heads) = passes(bytes, bytes.len().max(1));
    for piece in 1..bytes.len().min(80) {
        let (passed, other, others) = passes(bytes, piece);
        assert_eq!((other, others), (why, heads), "in pieces of {piece}");
        assert!(passed <= bytes.len());
    }
    (why, heads)
}

const GET: &str = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";

#[test]
fn well_framed_requests_pass() {
    let chunked = "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let sized = "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length:  5 \r\n\r\n";
    for (bytes, heads) in [
        (GET.to_owned(), 1),
        (GET.repeat(3), 3),
        (format!("\r\n\r\n{GET}"), 1),
        (format!("{sized}a\nb\n\n{GET}"), 2),
        (format!("{sized}a\n"), 1),
        (format!("{chunked}5\r\na\nb\n\n\r\n0\r\n\r\n{GET}"), 2),
        (
            format!("{chunked}5;x=y\r\na\nb\n\n\r\n0\r\na: b\r\n\r\n{GET}"),
            2,
        ),
        (format!("{chunked}A\r\n0123456789\r\n"), 1),
    ] {
        assert_eq!(outcome(bytes.as_bytes()), (None, heads), "{bytes:?}");
    }
}

#[test]
fn what_is_not_stops_there() {
    let chunked = "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let long = "x".repeat(CHUNK_LINE_BYTES_MAX);
    let trailer = "x".repeat(TRAILER_BYTES_MAX);
    for (bytes, why) in [
        (
            "GET /a HTTP/1.1\nhost: x\r\n\r\n".to_owned(),
            FramingError::BareLineFeed,
        ),
        (
            "GET /a HTTP/1.1\r\nhost: x\n\r\n".to_owned(),
            FramingError::BareLineFeed,
        ),
        (
            "GET /a HTTP/1.1\r\nhost: x\r\n\n".to_owned(),
            FramingError::BareLineFeed,
        ),
        (
            "\nGET /a HTTP/1.1\r\n".to_owned(),
            FramingError::BareLineFeed,
        ),
        (
            format!("{GET}{}", GET.replace("\r\n", "\n")),
            FramingError::BareLineFeed,
        ),
        (format!("{chunked}5;{long}\r\n"), FramingError::Framing),
        (
            format!("{chunked}fffffffffffffffff\r\n"),
            FramingError::Framing,
        ),
        (format!("{chunked}0\r\na: b\n\r\n"), FramingError::Framing),
        (format!("{chunked}0\r\n\n"), FramingError::Framing),
        (format!("{chunked}0\r\na: {trailer}"), FramingError::Framing),
    ] {
        assert_eq!(outcome(bytes.as_bytes()).0, Some(why), "{bytes:?}");
    }
}

#[test]
fn a_head_of_the_longest_length_passes_and_one_byte_more_does_not() {
    let head = |length: usize| {
        let rest = "GET /a HTTP/1.1\r\nhost: x\r\nx: \r\n\r\n".len();
        let fill = "y".repeat(length - rest);
        format!("GET /a HTTP/1.1\r\nhost: x\r\nx: {fill}\r\n\r\n")
    };
    let longest = head(HEAD_BYTES_MAX);
    assert_eq!(longest.len(), HEAD_BYTES_MAX);
    assert_eq!(passes(longest.as_bytes(), 1000), (HEAD_BYTES_MAX, None, 1));
    let longer = head(HEAD_BYTES_MAX + 1);
    for piece in [1, 7, 8192, longer.len()] {
        let (passed, why, heads) = passes(longer.as_bytes(), piece);
        assert_eq!((why, heads), (Some(FramingError::LongHead), 0));
        assert!(passed <= HEAD_BYTES_MAX);
    }
    // The bound of a head counts for each head anew.
    assert_eq!(outcome(GET.repeat(700).as_bytes()), (None, 700));
}

#[test]
fn nothing_of_a_line_that_is_refused_is_shown() {
    let bytes = b"GET /a HTTP/1.1\r\nhost: x\n\n";
    assert_eq!(
        passes(bytes, bytes.len()),
        (17, Some(FramingError::BareLineFeed), 0)
    );
}

#[test]
fn the_bytes_of_the_next_request_are_not_followed_with_those_of_this_one() {
    let sized = "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabcde";
    let chunked =
        "POST /a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n";
    for first in [GET, sized, chunked] {
        let mut scan = Scanner::default();
        assert!(scan.is_between());
        let both = format!("{first}{GET}");
        assert_eq!(scan.feed(both.as_bytes()), Ok(first.len()));
        assert!(scan.is_between() && scan.heads() == 1);
        assert_eq!(scan.feed(&both.as_bytes()[..10]), Ok(10));
        assert!(!scan.is_between());
    }
}
