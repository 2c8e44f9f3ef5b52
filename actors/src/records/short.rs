//! Short records: field names that every record repeats are written as numbers.
//!
//! **Shape.** A record of named fields of MessagePack, in which a word of [`WORDS`] is replaced by its place there. As
//! the key of a map it is the place alone if that is below 128: keys of records are texts, so no number is mistaken for
//! one. Anywhere else it is 0xC1, which MessagePack never uses, and the place. Everything else is unchanged.
//!
//! **Order.** Words are only added, never changed or moved: bytes on disk stay for ever.
//!
//! **Bounds.** Values are nested at most [`DEPTH_MAX`] deep. A byte expands to a word of at most [`WORD_MAX`] bytes.
//!
//! **Failure.** A record that is no MessagePack, or has a key that is no text, has no short form: [`shorten`] returns
//! `None`, and the record is written with its names. [`expand`] refuses bytes that [`shorten`] did not write.
//!
//! Nearly every record takes a shortcut in both directions: [`write`] and [`read`] never produce the names at all.

mod read;
mod write;

use std::fmt::Display;
use std::num::TryFromIntError;
use std::sync::LazyLock;

use foldhash::HashMap;
use rmp::encode::ValueWriteError;
use serde::{de, ser};

pub(super) use read::read;
pub(super) use write::write;

/// The words, by their places; those of a posting first.
const WORDS: &str = "\
    Posted cvu sequence direction amount after available held type_code type_name type_number tag \
    external_id reference_type description external_date at hash reference_id expires_at gives_back \
    counted_at whole counterparty cuit name cbu alias bank coelsa_id concept key method path fields \
    status body account Registered number holder person_type code email phone metadata kyc nationality \
    birth_country birth_date sex dni document_type marital_status occupation afip_activity pep uif fatca \
    ocde address street floor apartment city_code province_code postal_code risk_level kyc_level \
    verified_at enabled OpeningRequested client_id ClosingRefused Suspended reason KycChanged \
    LimitsChanged max_per_transaction daily_amount daily_count monthly_amount monthly_count max_balance \
    EnabledChanged Opened operation reference request millis correlation transfer fact Requested \
    receiver from to Key charges fee tax bank_id rejection reversed created_at updated_at Alias Advanced \
    Completed Rejected Reversed voucher Disputed word moved currency to_alias Resolved resolved rest \
    cash_in external_date_sent tries event Status ending due progress courses replay credit debit \
    adjustment hold p2p remuneration human legal POST PUT PATCH DELETE requested in_progress audit \
    completed rejected create_cvu set_alias rename close VAR {} ClosingRequested Closed Reactivated next \
    until every_kind lanes taken streak taken_at failed rest_until stopped delivered parked seen head \
    since resumed OpeningRefused AliasRequested AliasChanged AliasRefused IdentityRequested holders \
    IdentityChanged IdentityRefused names given family business CvuRequested automatic_alias CvuRefused \
    ParticularsRequested ParticularsChanged ParticularsRefused cleared Reopened Credited case decision \
    by ReturnRequested origin ReturnNamed Returned ReturnRefused why attempt Said says Left recovered \
    Arrived Dismissed Decided verdict bank_reference forced EnrolmentRequested brokerage_account fund \
    EnrolmentChanged enrolment state refusal Set url types active secrets sealed replays Removed format \
    VoucherTypeCreated sense system category VoucherTypeToggled VoucherTypeRemoved FeesChanged \
    percentage fixed minimum maximum charge tax_rate id policy limits fees live test KeyIssued tenant \
    mode label mac ends_at";

/// The bytes of the longest word: its length fits into the byte before it.
const WORD_MAX: usize = 31;
/// The deepest nesting of values.
const DEPTH_MAX: u32 = 32;
/// The byte before the place of a word.
const WORD: u8 = 0xc1;
/// The first place that is not written alone as a key.
const ALONE: u8 = 128;

/// The record cannot be written or read the short way, for whatever reason.
#[derive(Debug, thiserror::Error)]
#[error("it goes by the way of its names")]
struct NotShort;

impl ser::Error for NotShort {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

impl de::Error for NotShort {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

impl From<ValueWriteError> for NotShort {
    fn from(_: ValueWriteError) -> Self {
        Self
    }
}

/// A length that does not fit MessagePack.
impl From<TryFromIntError> for NotShort {
    fn from(_: TryFromIntError) -> Self {
        Self
    }
}

/// Words by their places, and places by their words.
#[derive(Default)]
struct Table {
    words: Vec<&'static str>,
    places: HashMap<&'static [u8], u8>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table::default();
    for (place, word) in (0_u8..).zip(WORDS.split_ascii_whitespace()) {
        table.words.push(word);
        table.places.insert(word.as_bytes(), place);
    }
    table
});

impl Table {
    fn place(&self, text: &[u8]) -> Option<u8> {
        let may_be = text.len() <= WORD_MAX;
        may_be.then(|| self.places.get(text).copied()).flatten()
    }

    fn word(&self, place: u8) -> Option<&'static str> {
        self.words.get(usize::from(place)).copied()
    }
}

/// The next value of a record.
enum Value<'a> {
    /// A text, and its bytes with their head.
    Text { text: &'a [u8], whole: &'a [u8] },
    /// An array or a map with this many values; in a map a key precedes each.
    Nest {
        map: bool,
        values: usize,
        head: &'a [u8],
    },
    /// A place in [`WORDS`].
    Word(u8),
    /// Anything else, unchanged.
    Plain(&'a [u8]),
}

/// Walks over the bytes of a record.
struct Walk<'a>(&'a [u8]);

impl<'a> Walk<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// The number in the `width` bytes after the first.
    fn number(&self, width: usize) -> Option<usize> {
        let bytes = self.0.get(1..=width)?;
        let number = |all: usize, byte: &u8| all.checked_mul(256)?.checked_add(usize::from(*byte));
        bytes.iter().try_fold(0, number)
    }

    fn plain(&mut self, length: usize) -> Option<Value<'a>> {
        self.take(length).map(Value::Plain)
    }

    fn sized(&mut self, width: usize, more: usize) -> Option<Value<'a>> {
        let length = self.number(width)?.checked_add(1 + width + more)?;
        self.plain(length)
    }

    fn text(&mut self, width: usize, length: usize) -> Option<Value<'a>> {
        let whole = self.take(length.checked_add(1 + width)?)?;
        let text = whole.get(1 + width..)?;
        Some(Value::Text { text, whole })
    }

    fn nest(&mut self, map: bool, width: usize, values: usize) -> Option<Value<'a>> {
        let head = self.take(1 + width)?;
        Some(Value::Nest { map, values, head })
    }

    /// The next value; for an array or a map, its head.
    fn value(&mut self) -> Option<Value<'a>> {
        let first = *self.0.first()?;
        let low = |mask: u8| usize::from(first & mask);
        match first {
            0x00..=0x7f | 0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => self.plain(1),
            0x80..=0x8f => self.nest(true, 0, low(0x0f)),
            0x90..=0x9f => self.nest(false, 0, low(0x0f)),
            0xa0..=0xbf => self.text(0, low(0x1f)),
            WORD => self.take(2)?.last().copied().map(Value::Word),
            0xc4 => self.sized(1, 0),
            0xc5 => self.sized(2, 0),
            0xc6 => self.sized(4, 0),
            0xc7 => self.sized(1, 1),
            0xc8 => self.sized(2, 1),
            0xc9 => self.sized(4, 1),
            0xcc | 0xd0 => self.plain(2),
            0xcd | 0xd1 | 0xd4 => self.plain(3),
            0xd5 => self.plain(4),
            0xca | 0xce | 0xd2 => self.plain(5),
            0xd6 => self.plain(6),
            0xcb | 0xcf | 0xd3 => self.plain(9),
            0xd7 => self.plain(10),
            0xd8 => self.plain(18),
            0xd9 => self.number(1).and_then(|length| self.text(1, length)),
            0xda => self.number(2).and_then(|length| self.text(2, length)),
            0xdb => self.number(4).and_then(|length| self.text(4, length)),
            0xdc => self
                .number(2)
                .and_then(|values| self.nest(false, 2, values)),
            0xdd => self
                .number(4)
                .and_then(|values| self.nest(false, 4, values)),
            0xde => self.number(2).and_then(|values| self.nest(true, 2, values)),
            0xdf => self.number(4).and_then(|values| self.nest(true, 4, values)),
        }
    }
}

/// Rewrites a value without nested values; `None` refuses it.
type Rewrite = fn(Value<'_>, &mut Vec<u8>) -> Option<()>;

/// Rewrites the next value with everything in it: keys by the first rule, the rest by the second.
fn rewrite(
    walk: &mut Walk<'_>,
    out: &mut Vec<u8>,
    depth: u32,
    rules: (Rewrite, Rewrite),
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let (key, other) = rules;
    match walk.value()? {
        Value::Nest { map, values, head } => {
            out.extend_from_slice(head);
            for _ in 0..values {
                if map {
                    key(walk.value()?, out)?;
                }
                rewrite(walk, out, depth, rules)?;
            }
            Some(())
        }
        value @ (Value::Word(_) | Value::Plain(_) | Value::Text { .. }) => other(value, out),
    }
}

/// Appends the short form of a record to `out`; `None` if it has none (the appended bytes are then useless).
pub(super) fn shorten(named: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut walk = Walk(named);
    rewrite(&mut walk, out, DEPTH_MAX, (short_key, short_value))?;
    walk.0.is_empty().then_some(())
}

fn short_value(value: Value<'_>, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Word(_) | Value::Nest { .. } => return None,
        Value::Plain(bytes) => out.extend_from_slice(bytes),
        Value::Text { text, whole } => match TABLE.place(text) {
            Some(place) => out.extend_from_slice(&[WORD, place]),
            None => out.extend_from_slice(whole),
        },
    }
    Some(())
}

fn short_key(key: Value<'_>, out: &mut Vec<u8>) -> Option<()> {
    match key {
        Value::Text { text, .. } => match TABLE.place(text) {
            Some(place) if place < ALONE => {
                out.push(place);
                Some(())
            }
            Some(_) | None => short_value(key, out),
        },
        Value::Word(_) | Value::Plain(_) | Value::Nest { .. } => None,
    }
}

/// The record with its names; `None` if the bytes are no short form.
pub(super) fn expand(short: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(short.len() * 2);
    let mut walk = Walk(short);
    rewrite(&mut walk, &mut out, DEPTH_MAX, (named_key, named_value))?;
    walk.0.is_empty().then_some(out)
}

fn put_word(place: u8, out: &mut Vec<u8>) -> Option<()> {
    let word = TABLE.word(place)?;
    out.push(0xa0 | u8::try_from(word.len()).ok()?);
    out.extend_from_slice(word.as_bytes());
    Some(())
}

fn named_value(value: Value<'_>, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Word(place) => return put_word(place, out),
        Value::Plain(whole) | Value::Text { whole, .. } => out.extend_from_slice(whole),
        Value::Nest { .. } => return None,
    }
    Some(())
}

fn named_key(key: Value<'_>, out: &mut Vec<u8>) -> Option<()> {
    match key {
        Value::Plain([place]) if *place < ALONE => put_word(*place, out),
        Value::Word(_) | Value::Text { .. } => named_value(key, out),
        Value::Plain(_) | Value::Nest { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(named: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        shorten(named, &mut out).map(|()| out)
    }

    #[test]
    fn each_word_has_one_place_and_is_found_there() {
        let words: Vec<_> = WORDS.split_ascii_whitespace().collect();
        assert!(words.len() <= 255, "the places end");
        for (place, word) in words.iter().enumerate() {
            assert!(word.len() <= WORD_MAX, "{word}");
            let found = TABLE.place(word.as_bytes()).map(usize::from);
            assert_eq!(found, Some(place), "{word} is there twice");
        }
        assert_eq!(TABLE.place(b"no such word"), None);
        assert_eq!(TABLE.word(255), None);
    }

    #[test]
    fn every_kind_of_value_comes_back_as_it_was() {
        let text = |length: usize, head: &[u8]| [head, vec![b'x'; length].as_slice()].concat();
        let nil = |count: usize, head: &[u8]| [head, vec![0xc0; count].as_slice()].concat();
        let key = |value: &[u8]| [b"\x81\xa3cvu".as_slice(), value].concat();
        let values = [
            b"\x00".to_vec(),
            b"\x7f".to_vec(),
            b"\xe0".to_vec(),
            b"\xc3".to_vec(),
            b"\xc0".to_vec(),
            text(0, b"\xa0"),
            text(31, b"\xbf"),
            text(32, b"\xd9\x20"),
            text(256, b"\xda\x01\x00"),
            text(70_000, b"\xdb\x00\x01\x11\x70"),
            b"\xa6credit".to_vec(),
            b"\xa3cvu".to_vec(),
            text(3, b"\xc4\x03"),
            text(256, b"\xc5\x01\x00"),
            text(1, b"\xc6\x00\x00\x00\x01"),
            text(3, b"\xc7\x03\x05"),
            text(256, b"\xc8\x01\x00\x05"),
            text(1, b"\xc9\x00\x00\x00\x01\x05"),
            text(1, b"\xcc"),
            text(1, b"\xd0"),
            text(2, b"\xcd"),
            text(2, b"\xd1"),
            text(2, b"\xd4"),
            text(3, b"\xd5"),
            text(4, b"\xca"),
            text(4, b"\xce"),
            text(4, b"\xd2"),
            text(5, b"\xd6"),
            text(8, b"\xcb"),
            text(8, b"\xcf"),
            text(8, b"\xd3"),
            text(9, b"\xd7"),
            text(17, b"\xd8"),
            nil(15, b"\x9f"),
            nil(16, b"\xdc\x00\x10"),
            nil(1, b"\xdd\x00\x00\x00\x01"),
            key(b"\x81\xa2no\xa6credit"),
            [b"\xde\x00\x01".as_slice(), b"\xa3cvu\xc0"].concat(),
            [b"\xdf\x00\x00\x00\x01".as_slice(), b"\xa5debit\xc0"].concat(),
        ];
        for value in values {
            for named in [key(&value), value] {
                let made = short(&named).unwrap();
                assert!(made.len() <= named.len(), "{named:x?}");
                assert_eq!(expand(&made).as_ref(), Some(&named));
                for cut in 0..made.len() {
                    assert_ne!(expand(&made[..cut]).as_ref(), Some(&named));
                }
                for cut in 0..named.len() {
                    assert_eq!(short(&named[..cut]), None, "{named:x?}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_record_has_no_short_form_and_is_not_read() {
        let deep = [vec![0x91; 40], vec![0xc0]].concat();
        let refused = [
            &b"\xc1\x00"[..],
            b"\x81\x01\xc0",
            b"\x81\xc0\xc0",
            b"\x81\x90\xc0",
            b"\xc0\xc0",
            &deep,
        ];
        for named in refused {
            assert_eq!(short(named), None, "{named:x?}");
        }
        let unread = [
            &b"\xc1"[..],
            b"\xc1\xff",
            b"\x81\xe0\xc0",
            b"\x81\x90\xc0",
            b"\xc0\xc0",
            b"",
            &deep,
        ];
        for short in unread {
            assert_eq!(expand(short), None, "{short:x?}");
        }
    }
}
