//! Objects read without copying them, for requests that have thousands. Escapes and mistakes cost extra.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::errors::ApiError;
use super::nearest::shown;
use super::words::{Mistake, WrongField};

/// How many unknown fields of one object are named.
const UNKNOWN_MAX: usize = 8;

/// The fields of an object, by the names that it may have.
struct Names<const N: usize>([&'static str; N]);

/// The fields that an object has, and the mistakes that were found in it.
#[derive(Debug)]
pub struct Slots<'a, const N: usize> {
    names: [&'static str; N],
    known: [Option<&'a RawValue>; N],
    unknown: Vec<String>,
    wrong: Vec<WrongField>,
}

/// The name of a field, copied only if it is written with escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de, const N: usize> Visitor<'de> for Names<N> {
    type Value = Slots<'de, N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Self(names) = self;
        let (mut known, mut unknown) = ([None; N], Vec::<String>::new());
        while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
            let at = names.iter().position(|known| *known == name);
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
        let wrong = Vec::new();
        Ok(Slots {
            names,
            known,
            unknown,
            wrong,
        })
    }
}

impl<'de, const N: usize> DeserializeSeed<'de> for Names<N> {
    type Value = Slots<'de, N>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a, const N: usize> Slots<'a, N> {
    /// Takes an object apart; `None` when the text is no object, or has a field twice.
    pub fn read(names: [&'static str; N], text: &'a str) -> Option<Self> {
        let mut parser = serde_json::Deserializer::from_str(text);
        let slots = Names(names).deserialize(&mut parser).ok()?;
        parser.end().ok()?;
        Some(slots)
    }

    /// The text of a field, unless it is absent or null.
    fn text(&self, name: &str) -> Option<&'a str> {
        let at = self.names.iter().position(|known| *known == name)?;
        let text = self.known.get(at).copied().flatten()?.get();
        (text != "null").then_some(text)
    }

    /// Whether a field is there and not null.
    pub fn has(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// Notes a mistake in a field.
    pub fn mistake(&mut self, field: &str, mistake: Mistake) {
        self.wrong.push(WrongField {
            field: field.to_owned(),
            mistake,
        });
    }

    /// A field that may be absent; null counts as absent.
    pub fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a str) -> Result<T, Mistake>,
    ) -> Option<T> {
        let read = read(self.text(name)?);
        read.map_err(|mistake| self.mistake(name, mistake)).ok()
    }

    /// Like [`Self::optional`], for a text for people: a blank one counts as absent.
    pub fn unless_blank<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a str) -> Result<T, Mistake>,
    ) -> Option<T> {
        let sent = self.text(name);
        sent.filter(|raw| !super::body::is_blank(raw))?;
        self.optional(name, read)
    }

    /// A required field.
    pub fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a str) -> Result<T, Mistake>,
    ) -> Option<T> {
        if self.text(name).is_none() {
            self.mistake(name, Mistake::Required);
            return None;
        }
        self.optional(name, read)
    }

    /// Ends the reading: unknown fields are mistakes, too.
    ///
    /// # Errors
    /// 400 with every mistake.
    pub fn finish<T>(mut self, whole: Option<T>) -> Result<T, ApiError> {
        for name in std::mem::take(&mut self.unknown) {
            self.mistake(&shown(&name), super::body::unknown(&name, self.names));
        }
        super::body::whole(whole, self.wrong)
    }
}
