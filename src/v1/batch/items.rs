//! The body of a batch, read without copying it: what has an escape in it or is wrong costs more.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use caudal_actors::realms::{Adjustment, Target, TypeRef};
use caudal_ledger::chain::Canonical;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::money::Amount;
use caudal_ledger::text::{ExternalId, line};
use caudal_ledger::voucher_types::TypeCode;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::ITEMS_MAX;
use crate::http::body::Fingerprint;
use crate::http::errors::ApiError;
use crate::http::words::{Mistake, Refusal, Wrong};
use crate::v1::vouchers::DESCRIPTION_MAX;

/// How many unknown fields of one object are named.
const UNKNOWN_MAX: usize = 8;
/// How much of an unknown field's name is shown, in characters.
const NAME_SHOWN: usize = 40;

/// A batch as it was sent.
#[derive(Debug)]
pub struct Sent {
    /// All or nothing.
    pub atomic: bool,
    /// The items that can be read, in their order.
    pub orders: Vec<Adjustment>,
    /// The others, by their place.
    pub unreadable: BTreeMap<usize, ApiError>,
}

/// The fields of an object, by the names that it may have.
struct Names<const N: usize>([&'static str; N]);

/// What an object has of them.
struct Slots<'a, const N: usize> {
    known: [Option<&'a RawValue>; N],
    unknown: Vec<String>,
}

/// The name of a field, copied only if it is written with escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, const N: usize> Visitor<'de> for &Names<N> {
    type Value = Slots<'de, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut known, mut unknown) = ([None; N], Vec::<String>::new());
        while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
            let at = self.0.iter().position(|known| *known == name);
            match at.and_then(|at| known.get_mut(at)) {
                Some(slot @ None) => *slot = Some(value),
                Some(Some(_)) => return Err(A::Error::custom("duplicate field")),
                None if unknown.iter().any(|known| *known == name) => {
                    return Err(A::Error::custom("duplicate field"));
                }
                None if unknown.len() < UNKNOWN_MAX => unknown.push(name.into_owned()),
                None => {}
            }
        }
        Ok(Slots { known, unknown })
    }
}

impl<'de, const N: usize> DeserializeSeed<'de> for &Names<N> {
    type Value = Slots<'de, N>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<const N: usize> Names<N> {
    /// Takes an object apart; `None` when it is none, or has a field twice.
    fn read<'a>(&self, text: &'a str) -> Option<Slots<'a, N>> {
        let mut parser = serde_json::Deserializer::from_str(text);
        let slots = self.deserialize(&mut parser).ok()?;
        parser.end().ok()?;
        Some(slots)
    }
}

/// Every mistake of one object.
#[derive(Default)]
struct Mistakes(Vec<Wrong>);

impl Mistakes {
    fn add(&mut self, field: &str, mistake: Mistake) {
        self.0.push(Wrong {
            field: field.to_owned(),
            mistake,
        });
    }

    fn add_unknown(&mut self, unknown: &[String]) {
        for name in unknown {
            let shown = name.chars().filter(|c| !c.is_control());
            let shown: String = shown.take(NAME_SHOWN).collect();
            self.add(&shown, Mistake::UnknownField);
        }
    }

    fn optional<T, E: Into<Mistake>>(
        &mut self,
        name: &str,
        value: Option<&RawValue>,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let raw = value?.get();
        if raw == "null" {
            return None;
        }
        let read = read(raw);
        read.map_err(|why| self.add(name, why.into())).ok()
    }

    fn required<T, E: Into<Mistake>>(
        &mut self,
        name: &str,
        value: Option<&RawValue>,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        match value.filter(|value| value.get() != "null") {
            Some(_) => self.optional(name, value, read),
            None => {
                self.add(name, Mistake::Required);
                None
            }
        }
    }
}

/// A string, copied only if it is written with escapes.
fn string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw
        .strip_prefix('"')
        .and_then(|raw| raw.strip_suffix('"'))?;
    if inner.contains('\\') {
        serde_json::from_str(raw).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// A string, read further by `parse`.
fn text<T, E: Into<Mistake>>(
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> impl FnOnce(&str) -> Result<T, Mistake> {
    |raw| {
        let text = string(raw).ok_or(Mistake::NotAString)?;
        parse(&text).map_err(Into::into)
    }
}

/// An amount, from the text of a number or of a string that holds one.
fn amount(raw: &str) -> Result<Amount, Mistake> {
    let number = raw.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let text = if number {
        Some(Cow::Borrowed(raw))
    } else {
        string(raw)
    };
    let text = text.ok_or(Mistake::NotANumberOrString)?;
    Amount::parse(&text).map_err(Into::into)
}

const BATCH: Names<2> = Names(["mode", "items"]);
const ITEM: Names<5> = Names([
    "cvu",
    "voucherTypeCode",
    "amount",
    "idExterno",
    "description",
]);

fn item(raw: &RawValue) -> Result<Adjustment, ApiError> {
    let slots = ITEM.read(raw.get());
    let Slots { known, unknown } =
        slots.ok_or_else(|| ApiError::field("item", Mistake::NotAPlainObject))?;
    let [cvu, code, sum, external_id, description] = known;
    let mut wrong = Mistakes::default();
    let cvu = wrong.required("cvu", cvu, text(Cvu::parse));
    let code = wrong.required("voucherTypeCode", code, text(TypeCode::parse));
    let amount = wrong.required("amount", sum, amount);
    let external_id = wrong.required("idExterno", external_id, text(ExternalId::parse));
    let sentence = text(|text| {
        let max = DESCRIPTION_MAX;
        line(text, max).map_err(|why| Mistake::Line { why, max })
    });
    let description = wrong.optional("description", description, sentence);
    wrong.add_unknown(&unknown);
    let whole = (cvu, code, amount, external_id, wrong.0.is_empty());
    let (Some(cvu), Some(code), Some(amount), Some(external_id), true) = whole else {
        return Err(ApiError::invalid(wrong.0));
    };
    Ok(Adjustment {
        target: Target::Cvu(cvu),
        voucher_type: TypeRef::Code(code),
        amount,
        external_id,
        description,
        external_date: None,
        dry_run: false,
    })
}

const MODES: [(&str, bool); 2] = [("independent", false), ("atomic", true)];

fn mode(raw: &str) -> Result<bool, Mistake> {
    let sent = string(raw);
    let mut known = MODES.into_iter();
    let found = known.find(|(word, _)| Some(*word) == sent.as_deref());
    let (_, atomic) = found.ok_or_else(|| Mistake::among(&MODES))?;
    Ok(atomic)
}

fn list(raw: &str) -> Result<Vec<&RawValue>, Mistake> {
    let wrong = || Mistake::NotSomeObjects { max: ITEMS_MAX };
    let items: Vec<&RawValue> = serde_json::from_str(raw).map_err(|_| wrong())?;
    if (1..=ITEMS_MAX).contains(&items.len()) {
        Ok(items)
    } else {
        Err(wrong())
    }
}

/// The parts of a batch.
struct Parts<'a> {
    atomic: bool,
    items: Vec<&'a RawValue>,
}

fn parts(body: &[u8]) -> Result<Parts<'_>, ApiError> {
    let body = std::str::from_utf8(body).map_err(|_| Refusal::NotUtf8)?;
    let slots = BATCH.read(body);
    let Slots { known, unknown } = slots.ok_or(Refusal::NotAnObject)?;
    let [sent_mode, sent_items] = known;
    let mut wrong = Mistakes::default();
    let atomic = wrong.optional("mode", sent_mode, mode).unwrap_or(false);
    // Their texts outlive the reading.
    let items = match sent_items.filter(|items| items.get() != "null") {
        Some(items) => list(items.get())
            .map_err(|why| wrong.add("items", why))
            .ok(),
        None => {
            wrong.add("items", Mistake::Required);
            None
        }
    };
    wrong.add_unknown(&unknown);
    match items.filter(|_| wrong.0.is_empty()) {
        Some(items) => Ok(Parts { atomic, items }),
        None => Err(ApiError::invalid(wrong.0)),
    }
}

/// Reads the body of a batch.
///
/// # Errors
/// 400 when the batch itself is wrong; items that are wrong are given by their place.
pub fn read(body: &[u8]) -> Result<Sent, ApiError> {
    let Parts { atomic, items } = parts(body)?;
    let mut orders = Vec::with_capacity(items.len());
    let mut unreadable = BTreeMap::new();
    for (index, sent) in items.into_iter().enumerate() {
        match item(sent) {
            Ok(order) => orders.push(order),
            Err(why) => {
                unreadable.insert(index, why);
            }
        }
    }
    Ok(Sent {
        atomic,
        orders,
        unreadable,
    })
}

/// A hash of each field, to tell a repeat of a batch from another one. What is read alike is alike,
/// however it is written; amounts are compared exactly.
///
/// # Errors
/// As [`read`].
pub fn fingerprint(body: &[u8]) -> Result<Fingerprint, ApiError> {
    let Parts { atomic, items } = parts(body)?;
    let mode = Canonical::default().text(if atomic { "atomic" } else { "independent" });
    let mut all = Canonical::default();
    for sent in items {
        all = match item(sent) {
            Ok(order) => canonical(all.text("order"), &order),
            Err(_) => all.text("unreadable").text(sent.get()),
        };
    }
    let fields = [("mode", mode), ("items", all)];
    let hashed = fields.map(|(name, canonical)| (name.to_owned(), canonical.digest()));
    Ok(hashed.into())
}

fn canonical(all: Canonical, order: &Adjustment) -> Canonical {
    let all = match order.target {
        Target::Cvu(cvu) => all.text(cvu.as_str()),
        Target::Account(account) => all.text(&account.to_string()),
    };
    let all = match &order.voucher_type {
        TypeRef::Code(code) => all.text(code.as_str()),
        TypeRef::Legacy(id) => all.text(&id.to_string()),
    };
    all.number(order.amount.centavos())
        .text(order.external_id.as_str())
        .optional(order.description.as_deref())
}
