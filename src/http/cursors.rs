//! Cursors as clients carry them: opaque texts from which a list continues behind the last row of a page.
//!
//! **Shape.** URL-safe base64 of `c1:` and the number of that row, or of `c2:`, the number, the letter of the order
//! and the value by which the row was sorted when it was shown. Cursors of the first shape are still accepted for
//! every list.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caudal_actors::engine::lists::{Cursor, Listing, Mark};

/// The opaque form of the place where a list continues.
pub fn written<T>(listing: &Listing<T>) -> Option<String> {
    let next = listing.next.as_ref()?;
    let number = next.number;
    Some(URL_SAFE_NO_PAD.encode(match &next.mark {
        None => format!("c1:{number}").into_bytes(),
        Some(mark) => {
            let head = format!("c2:{number}:{}:", char::from(mark.by()));
            [head.as_bytes(), mark.value()].concat()
        }
    }))
}

/// Reads a cursor: `c1:` and the number of a row, or `c2:` with the value as well by which it was sorted.
pub fn read(text: &str) -> Option<Cursor> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u64>().ok();
    if let Some(digits) = bytes.strip_prefix(b"c1:") {
        return number(digits).map(Cursor::from);
    }
    let mut parts = bytes.strip_prefix(b"c2:")?.splitn(3, |byte| *byte == b':');
    let number = number(parts.next()?)?;
    let &[by] = parts.next()? else { return None };
    let mark = Some(Mark::new(by, parts.next()?)?);
    Some(Cursor { number, mark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back() {
        let longest = [b'n'; 160];
        let marks = [b"".as_slice(), b"ana:paz", &[0xc3], &longest];
        let marks = marks.map(|value| Some(Mark::new(b'n', value).unwrap()));
        for mark in marks.into_iter().chain([None]) {
            let next = Cursor { number: 42, mark };
            let listing = Listing {
                items: vec![()],
                total: 3,
                next: Some(next),
                looked: None,
            };
            assert_eq!(read(&written(&listing).unwrap()), Some(next));
        }
        let long = [b"c2:42:n:".as_slice(), &[b'n'; 161]].concat();
        for other in [b"c1:x".as_slice(), b"c2:42", b"c2:42:nn:a", b"c3:42", &long] {
            assert_eq!(read(&URL_SAFE_NO_PAD.encode(other)), None);
        }
    }
}
