//! Decodes whatever the bank sends, answers and notices alike, into JSON that can be read line by line.
//!
//! **Bytes.** A byte order mark decides and is skipped; otherwise the charset that the bank declares, if all bytes fit
//! it, else UTF-8, else windows-1252, which fits always.
//!
//! **JSON.** Half a surrogate pair becomes U+FFFD. A control character inside a string is escaped, so that readers of
//! texts drop it and readers of ids refuse it; outside strings it is dropped. A backslash before anything that JSON
//! does not escape is a backslash. So one badly written text never makes the rest unreadable.

use std::fmt::Write as _;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// The text of bytes that the bank sent with this `Content-Type`.
pub(super) fn decoded(bytes: &[u8], content_type: Option<&str>) -> String {
    let marked = Encoding::for_bom(bytes);
    let marked = marked.and_then(|(encoding, length)| Some((bytes.get(length..)?, Some(encoding))));
    let (bytes, encoding) = marked.unwrap_or_else(|| (bytes, content_type.and_then(declared)));
    let whole = |encoding: &'static Encoding| {
        encoding.decode_without_bom_handling_and_without_replacement(bytes)
    };
    let text = encoding.and_then(whole).or_else(|| whole(UTF_8));
    match text {
        Some(text) => repaired(&text),
        None => repaired(&WINDOWS_1252.decode_without_bom_handling(bytes).0),
    }
}

/// The charset that a `Content-Type` names, if it is known.
fn declared(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1);
    let charset = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    Encoding::for_label(charset.trim().trim_matches('"').as_bytes())
}

/// JSON whose strings have only escapes and characters that JSON has.
fn repaired(text: &str) -> String {
    if !text.bytes().any(|b| b == b'\\' || b < b' ') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut quoted) = (text.chars(), false);
    while let Some(c) = rest.next() {
        match (quoted, c) {
            (_, '"') => {
                quoted = !quoted;
                out.push(c);
            }
            (true, '\\') => rest = escape(rest.as_str(), &mut out).chars(),
            (true, c) if c < ' ' => unit(u32::from(c), &mut out),
            (false, c) if c < ' ' && !matches!(c, '\t' | '\n' | '\r') => {}
            (_, c) => out.push(c),
        }
    }
    out
}

/// Writes the escape that begins at `rest`, behind its backslash, and returns what follows it.
fn escape<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let mut after = rest.chars();
    match after.next() {
        Some(c @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
            out.push('\\');
            out.push(c);
            after.as_str()
        }
        Some('u') => match hex(after.as_str()) {
            Some((first @ 0xD800..=0xDBFF, tail)) => {
                let second = tail.strip_prefix("\\u").and_then(hex);
                match second {
                    Some((second @ 0xDC00..=0xDFFF, tail)) => {
                        unit(first, out);
                        unit(second, out);
                        tail
                    }
                    _ => {
                        out.push(char::REPLACEMENT_CHARACTER);
                        tail
                    }
                }
            }
            Some((0xDC00..=0xDFFF, tail)) => {
                out.push(char::REPLACEMENT_CHARACTER);
                tail
            }
            Some((other, tail)) => {
                unit(other, out);
                tail
            }
            None => plain(rest, out),
        },
        Some(_) | None => plain(rest, out),
    }
}

/// Writes a backslash that escapes nothing.
fn plain<'a>(rest: &'a str, out: &mut String) -> &'a str {
    out.push_str("\\\\");
    rest
}

/// The four hexadecimal digits at the beginning of a text, and what follows them.
fn hex(text: &str) -> Option<(u32, &str)> {
    let (digits, tail) = text.split_at_checked(4)?;
    let good = digits.bytes().all(|b| b.is_ascii_hexdigit());
    let value = u32::from_str_radix(digits, 16).ok()?;
    good.then_some((value, tail))
}

/// Writes the escape of a unit of UTF-16.
fn unit(value: u32, out: &mut String) {
    // writing to a text cannot fail
    write!(out, "\\u{value:04x}").ok();
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(bytes: &[u8], content_type: Option<&str>) -> Value {
        serde_json::from_str(&decoded(bytes, content_type)).unwrap()
    }

    #[test]
    fn charsets() {
        let latin = b"{\"name\":\"Jos\xe9 Mu\xf1oz\"}";
        let utf8 = "{\"name\":\"José Muñoz\"}".as_bytes();
        let marked = [b"\xef\xbb\xbf", utf8].concat();
        let units = "{\"name\":\"José Muñoz\"}".encode_utf16();
        let little: Vec<_> = units.clone().flat_map(u16::to_le_bytes).collect();
        let big: Vec<_> = units.flat_map(u16::to_be_bytes).collect();
        let expected = json!({"name": "José Muñoz"});
        for (bytes, content_type) in [
            (latin.to_vec(), None),
            (latin.to_vec(), Some("application/json")),
            (latin.to_vec(), Some("application/json; charset=ISO-8859-1")),
            (latin.to_vec(), Some("application/json;charset=\"latin1\"")),
            // Declared wrongly, or as nothing that is known.
            (latin.to_vec(), Some("application/json; charset=utf-8")),
            (utf8.to_vec(), Some("application/json; charset=us-klingon")),
            (utf8.to_vec(), Some("application/json; Charset=UTF-8; x=y")),
            (utf8.to_vec(), None),
            (marked.clone(), None),
            (marked, Some("application/json; charset=ISO-8859-1")),
            (little.clone(), Some("application/json; charset=utf-16le")),
            ([vec![0xff, 0xfe], little].concat(), None),
            ([vec![0xfe, 0xff], big].concat(), Some("text/plain")),
        ] {
            assert_eq!(read(&bytes, content_type), expected, "{content_type:?}");
        }
    }

    #[test]
    fn escapes_and_controls() {
        for (written, expected) in [
            (r#""Kiosco \ud83d""#, "Kiosco \u{fffd}"),
            (r#""\ude00 x""#, "\u{fffd} x"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\uD83D\uDE00""#, "😀"),
            ("\"a\u{0}b\tc\nd\"", "a\u{0}b\tc\nd"),
            (r#""\u0007\n\/\"\\""#, "\u{7}\n/\"\\"),
            (r#""C:\Users\x \u12 \uzzzz""#, r"C:\Users\x \u12 \uzzzz"),
            (r#""ñ\é""#, r"ñ\é"),
        ] {
            assert_eq!(
                read(written.as_bytes(), None),
                json!(expected),
                "{written:?}"
            );
        }
        let outside = "\u{0}{\u{1}\"a\"\t:\n1\u{8}}\u{0}";
        assert_eq!(read(outside.as_bytes(), None), json!({"a": 1}));
    }
}
