//! Cursors as clients carry them: opaque texts from which a list continues behind the last row of a page.
//!
//! **Shape.** URL-safe base64 of the number of the list ([`list`]) and, after a colon, of the place in it. The place is
//! `c1:` and the number of the row, or `c2:`, the number, the letter of the order and the value by which the row was
//! sorted when it was shown; reconciliation has places of its own.
//!
//! **Failure.** A cursor of another list, or of the same list with other filters, is refused: it would skip rows.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use caudal_actors::engine::lists::{CursorMark, ListCursor, Listing};

use super::current;
use super::paths::is_wallet;

/// Parameters that choose a page of a list, and not its rows.
const OF_PAGES: [&str; 7] = [
    "cursor",
    "limit",
    "offset",
    "page",
    "pageNumber",
    "pageSize",
    "done",
];
/// The start and the factor of the hash that numbers lists (FNV-1a).
const HASH: (u32, u32) = (0x811c_9dc5, 0x0100_0193);

/// The number of a list: a hash of its path and of the parameters that filter and order it.
pub fn list(path: &str, query: &str) -> u32 {
    let wallet = is_wallet(path);
    let lower = path.bytes().map(|byte| {
        if wallet {
            byte.to_ascii_lowercase()
        } else {
            byte
        }
    });
    let hash = |from: u32, byte: u8| (from ^ u32::from(byte)).wrapping_mul(HASH.1);
    let path = lower.fold(HASH.0, hash);
    if query.is_empty() {
        return path;
    }
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let of_rows = pairs.filter(|(name, value)| {
        let blank = wallet && value.trim().is_empty();
        !blank && !OF_PAGES.contains(&name.as_ref())
    });
    // In any order: the sum of the parameters' hashes.
    of_rows.fold(path, |sum, (name, value)| {
        let pair = name.bytes().chain(*b"=").chain(value.bytes());
        sum.wrapping_add(pair.fold(HASH.0, hash))
    })
}

/// A place in the list that is asked for, as a cursor.
pub fn seal(place: &[u8]) -> String {
    let list = format!("{:08x}:", current::list());
    URL_SAFE_NO_PAD.encode([list.as_bytes(), place].concat())
}

/// The place that a cursor of the list that is asked for names.
pub fn open(text: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let list = format!("{:08x}:", current::list());
    bytes.strip_prefix(list.as_bytes()).map(<[u8]>::to_vec)
}

/// The opaque form of the place where a list continues.
pub fn written<T>(listing: &Listing<T>) -> Option<String> {
    let next = listing.next.as_ref()?;
    let number = next.number;
    Some(seal(&match &next.mark {
        None => format!("c1:{number}").into_bytes(),
        Some(mark) => {
            let head = format!("c2:{number}:{}:", char::from(mark.by()));
            [head.as_bytes(), mark.value()].concat()
        }
    }))
}

/// Reads a cursor of the list that is asked for.
pub fn read(text: &str) -> Option<ListCursor> {
    let bytes = open(text)?;
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u64>().ok();
    if let Some(digits) = bytes.strip_prefix(b"c1:") {
        return number(digits).map(ListCursor::from);
    }
    let mut parts = bytes.strip_prefix(b"c2:")?.splitn(3, |byte| *byte == b':');
    let number = number(parts.next()?)?;
    let &[by] = parts.next()? else { return None };
    let mark = Some(CursorMark::new(by, parts.next()?)?);
    Some(ListCursor { number, mark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_read_back() {
        let longest = [b'n'; 160];
        let marks = [b"".as_slice(), b"ana:paz", &[0xc3], &longest];
        let marks = marks.map(|value| Some(CursorMark::new(b'n', value).unwrap()));
        for mark in marks.into_iter().chain([None]) {
            let next = ListCursor { number: 42, mark };
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
            assert_eq!(read(&seal(other)), None);
        }
        assert_eq!(read(&URL_SAFE_NO_PAD.encode("c1:42")), None);
    }

    #[test]
    fn a_list_is_its_path_and_what_filters_it() {
        let accounts = list("/v1/accounts", "limit=2&status=active&q=ana");
        for (path, query, same) in [
            (
                "/v1/accounts",
                "q=ana&cursor=x&status=active&limit=50",
                true,
            ),
            ("/v1/accounts", "q=%61na&status=active&offset=3", true),
            ("/v1/accounts", "status=active", false),
            ("/v1/accounts", "q=active&status=ana", false),
            ("/v1/accounts", "", false),
            ("/v1/transfers", "limit=2&status=active&q=ana", false),
        ] {
            assert_eq!(list(path, query) == accounts, same, "{path} {query}");
        }
        let wallet = list("/wallet/v1/Cuentas", "pageSize=2");
        assert_eq!(list("/Wallet/V1/cuentas", "pageNumber=2&cuit="), wallet);
    }
}
