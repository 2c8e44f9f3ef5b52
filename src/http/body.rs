//! Request bodies: read within limits and field by field; every mistake is reported by name.
//!
//! A body is one JSON object. Its fields are taken by name as raw text, so that amounts are read
//! exactly, duplicates are seen, and unknown fields can be refused. The parser's own messages never reach a client.

mod fingerprint;
pub mod json_error;
pub mod listed;
pub mod read;

use std::collections::BTreeMap;
use std::fmt;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use caudal_ledger::limits::Change;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::bytes::{Bytes, JsonBytes, is_json};
use super::errors::ApiError;
use super::nearest::{nearest, shown};
use super::words::{Mistake, Refusal, WrongField};

pub use fingerprint::{Fingerprint, canonical, fingerprint};

pub use super::bytes::{BODY_BYTES_MAX, BODY_DEADLINE, Deadlines};

/// A field that a change may clear: not sent, null, or a value.
pub type Patch<T> = Option<Option<T>>;

/// The fields of a body, not yet looked at.
#[derive(Debug, Default)]
pub struct Body(BTreeMap<String, Box<RawValue>>);

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Body;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Body, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if fields.insert(name, value).is_some() {
                        return Err(A::Error::custom("duplicate field"));
                    }
                }
                Ok(Body(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl Body {
    /// Reads a whole body as one JSON object without duplicate fields.
    ///
    /// # Errors
    /// 400 when it is anything else.
    pub fn parse(bytes: &[u8]) -> Result<Self, ApiError> {
        let text = std::str::from_utf8(bytes).map_err(|_| Refusal::NotUtf8)?;
        serde_json::from_str(text).map_err(|_| json_error::no_body(text).into())
    }

    /// The hashes that tell a repeat of a request from another request.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(self)
    }

    /// Another copy of the fields, for the fingerprint of a request that is read further.
    pub fn clone_fields(&self) -> Self {
        Self(self.0.clone())
    }

    /// All fields as texts; `None` when one is not a text.
    pub fn texts(&self) -> Option<BTreeMap<String, String>> {
        let text = |raw: &RawValue| serde_json::from_str(raw.get()).ok();
        self.0
            .iter()
            .map(|(name, raw)| Some((name.clone(), text(raw)?)))
            .collect()
    }

    /// Begins to take the fields.
    pub fn fields(self) -> Fields {
        Fields {
            values: self.0,
            prefix: String::new(),
            known: Vec::new(),
            errors: Vec::new(),
            lenient: false,
        }
    }

    /// Begins to take the fields of a client of the wallet family: unknown ones are welcome, and an
    /// empty text counts as absent.
    pub fn lenient_fields(self) -> Fields {
        Fields {
            lenient: true,
            ..self.fields()
        }
    }
}

impl FromRequest for Body {
    type Error = ApiError;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let bytes = JsonBytes::<BODY_BYTES_MAX>::from_request(request, payload);
        Box::pin(async move { Self::parse(&bytes.await?.0) })
    }
}

/// A body that may be absent, which counts as one without fields.
#[derive(Debug, Default)]
pub struct OptionalBody(pub Body);

impl FromRequest for OptionalBody {
    type Error = ApiError;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let json = is_json(request);
        let bytes = Bytes::<BODY_BYTES_MAX>::from_request(request, payload);
        Box::pin(async move {
            let Bytes(bytes) = bytes.await?;
            if bytes.is_empty() {
                return Ok(Self::default());
            }
            if !json {
                return Err(Refusal::NotJson.into());
            }
            Body::parse(&bytes).map(Self)
        })
    }
}

/// Whether raw JSON is a string that is empty or blank.
pub(super) fn is_blank(raw: &str) -> bool {
    let text = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    text.is_some_and(|text| text.trim().is_empty())
}

/// Takes fields one by one and remembers every mistake.
#[derive(Debug)]
pub struct Fields {
    values: BTreeMap<String, Box<RawValue>>,
    prefix: String,
    /// The names of the fields that the object may have, as declared so far.
    known: Vec<&'static [&'static str]>,
    errors: Vec<WrongField>,
    lenient: bool,
}

impl Fields {
    fn wrong(&mut self, name: &str, mistake: Mistake) {
        let field = format!("{}{name}", self.prefix);
        self.errors.push(WrongField { field, mistake });
    }

    /// Takes a field as raw JSON: `None` when it is absent, `Some(None)` when it is null.
    fn raw(&mut self, name: &str) -> Option<Option<Box<RawValue>>> {
        let value = self.values.remove(name)?;
        Some((!self.is_nothing(&value)).then_some(value))
    }

    fn is_nothing(&self, value: &RawValue) -> bool {
        let raw = value.get().trim();
        raw == "null" || (self.lenient && is_blank(raw))
    }

    fn read<T>(
        &mut self,
        name: &str,
        raw: &RawValue,
        read: impl FnOnce(&str) -> Result<T, Mistake>,
    ) -> Option<T> {
        match read(raw.get().trim()) {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.wrong(name, mistake);
                None
            }
        }
    }

    /// An optional field of any kind; null counts as absent.
    pub fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, Mistake>,
    ) -> Option<T> {
        let raw = self.raw(name).flatten()?;
        self.read(name, &raw, read)
    }

    /// Like [`Self::optional`], for a text for people: a blank one counts as absent.
    pub fn unless_blank<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, Mistake>,
    ) -> Option<T> {
        let raw = self.raw(name).flatten()?;
        if is_blank(raw.get().trim()) {
            return None;
        }
        self.read(name, &raw, read)
    }

    /// A field that is absent, null, or a value.
    pub fn nullable<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, Mistake>,
    ) -> Option<Option<T>> {
        match self.raw(name)? {
            None => Some(None),
            Some(raw) => self.read(name, &raw, read).map(Some),
        }
    }

    /// Like [`Self::nullable`], for a value that may be inherited: null inherits.
    pub fn change<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, Mistake>,
    ) -> Change<T> {
        match self.nullable(name, read) {
            None => Change::Unchanged,
            Some(None) => Change::Inherit,
            Some(Some(value)) => Change::Set(value),
        }
    }

    /// A required field.
    pub fn required<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, Mistake>,
    ) -> Option<T> {
        match self.raw(name).flatten() {
            Some(raw) => self.read(name, &raw, read),
            None => {
                self.wrong(name, Mistake::Required);
                None
            }
        }
    }

    /// A nested object, taken apart by `take`.
    pub fn object<T>(&mut self, name: &str, take: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let body = self.optional(name, |raw| {
            serde_json::from_str::<Body>(raw).map_err(|_| json_error::no_object(raw))
        })?;
        Some(self.nested(name, body, take))
    }

    /// Like [`Self::object`], but the object may also be null.
    pub fn nullable_object<T>(
        &mut self,
        name: &str,
        take: impl FnOnce(&mut Self) -> T,
    ) -> Option<Option<T>> {
        if self.is_null(name) {
            self.values.remove(name);
            return Some(None);
        }
        self.object(name, take).map(Some)
    }

    fn is_null(&self, name: &str) -> bool {
        let value = self.values.get(name);
        value.is_some_and(|value| self.is_nothing(value))
    }

    /// Like [`Self::optional`], for a change of a value that cannot be cleared: null is a mistake.
    pub fn not_null<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, Mistake>,
    ) -> Option<T> {
        self.refuse_null(name);
        self.optional(name, read)
    }

    /// Like [`Self::object`], for changes of something that cannot be cleared: null is a mistake.
    pub fn not_null_object<T>(
        &mut self,
        name: &str,
        take: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        self.refuse_null(name);
        self.object(name, take)
    }

    /// Like [`Self::objects`], for a list that null clears.
    pub fn nullable_objects<T>(
        &mut self,
        name: &str,
        max: usize,
        take: impl FnMut(&mut Self) -> T,
    ) -> Option<Vec<T>> {
        if self.is_null(name) {
            self.values.remove(name);
            return Some(Vec::new());
        }
        self.objects(name, max, take)
    }

    /// Notes a mistake if a field that has to keep a value was sent as null.
    pub fn refuse_null(&mut self, name: &str) {
        if self.is_null(name) {
            self.values.remove(name);
            self.wrong(name, Mistake::Required);
        }
    }

    /// Whether a field was sent, with a value or as null.
    pub fn is_sent(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Whether a field was sent with a value.
    pub fn has(&self, name: &str) -> bool {
        let value = self.values.get(name);
        value.is_some_and(|value| !self.is_nothing(value))
    }

    /// A required nested object, taken apart by `take`.
    pub fn required_object<T>(
        &mut self,
        name: &str,
        take: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        if !self.has(name) {
            self.values.remove(name);
            self.wrong(name, Mistake::Required);
            return None;
        }
        self.object(name, take)
    }

    /// A nested list of objects, at most `max`, each taken apart by `take`.
    pub fn objects<T>(
        &mut self,
        name: &str,
        max: usize,
        mut take: impl FnMut(&mut Self) -> T,
    ) -> Option<Vec<T>> {
        let bodies = self.optional(name, |raw| {
            let bodies = serde_json::from_str::<Vec<Body>>(raw);
            let bodies = bodies.map_err(|_| json_error::no_objects(raw))?;
            if bodies.len() > max {
                Err(Mistake::TooManyEntries { max })
            } else {
                Ok(bodies)
            }
        })?;
        let nested = bodies.into_iter().enumerate();
        Some(
            nested
                .map(|(at, body)| self.nested(&format!("{name}.{at}"), body, &mut take))
                .collect(),
        )
    }

    /// Like [`Self::objects`], for a required list: the declaration has a check that reports the mistake when the
    /// list is missing.
    pub fn required_objects<T>(
        &mut self,
        name: &str,
        max: usize,
        take: impl FnMut(&mut Self) -> T,
    ) -> Option<Vec<T>> {
        self.objects(name, max, take)
    }

    fn nested<T>(&mut self, name: &str, body: Body, take: impl FnOnce(&mut Self) -> T) -> T {
        let prefix = format!("{}{name}.", self.prefix);
        let mut inner = Self {
            values: body.0,
            prefix,
            known: Vec::new(),
            errors: Vec::new(),
            lenient: self.lenient,
        };
        let taken = take(&mut inner);
        inner.refuse_unknown();
        self.errors.extend(inner.errors);
        taken
    }

    fn refuse_unknown(&mut self) {
        if self.lenient {
            return;
        }
        for name in std::mem::take(&mut self.values).into_keys() {
            let known = self.known.iter().copied().flatten().copied();
            self.wrong(&shown(&name), unknown(&name, known));
        }
    }

    /// Declares fields that may come: the mistake of an unknown field names the declared one that was probably meant.
    pub fn know(&mut self, names: &'static [&'static str]) {
        self.known.push(names);
    }

    /// Adds a mistake that concerns several fields.
    pub fn mistake(&mut self, name: &str, mistake: Mistake) {
        self.wrong(name, mistake);
    }

    /// Drops a field that does not count next to another.
    pub fn forget(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// Ends the reading: unknown fields are mistakes, too, unless the reading is lenient.
    ///
    /// # Errors
    /// 400 with every mistake.
    pub fn done(self) -> Result<(), ApiError> {
        self.finish(Some(()))
    }

    /// Like [`Self::done`], and returns the value made of the fields; `made` is `None` when a required field is
    /// missing or wrong.
    ///
    /// # Errors
    /// 400 with every mistake.
    pub fn finish<T>(mut self, made: Option<T>) -> Result<T, ApiError> {
        self.refuse_unknown();
        whole(made, self.errors)
    }
}

/// The mistake of a field that is none of the known ones.
pub(super) fn unknown(name: &str, known: impl IntoIterator<Item = &'static str>) -> Mistake {
    match nearest(name, known) {
        Some(near) => Mistake::MistakenField { near },
        None => Mistake::UnknownField,
    }
}

/// The value that was made of fields, or every mistake that was found in them.
///
/// # Errors
/// 400 with every mistake.
pub(super) fn whole<T>(made: Option<T>, wrong: Vec<WrongField>) -> Result<T, ApiError> {
    debug_assert!(
        made.is_some() || !wrong.is_empty(),
        "what is missing leaves its mistake"
    );
    match made {
        Some(made) if wrong.is_empty() => Ok(made),
        Some(_) | None => Err(ApiError::invalid(wrong)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_object_without_duplicates_is_a_body() {
        for bad in [
            "",
            "[]",
            "1",
            "null",
            "{",
            r#"{"a":1,"a":2}"#,
            r#"{"a":1} x"#,
            "{\"a\":NaN}",
            "\u{feff}{}",
        ] {
            let found = Body::parse(bad.as_bytes()).unwrap_err();
            assert_eq!(found.code(), "malformed_body", "{bad}");
        }
        assert_eq!(
            Body::parse(b"{\"a\":\"\xff\"}").unwrap_err().code(),
            "malformed_body"
        );
        // Nesting costs no stack: a deep value is raw text until a field refuses it.
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
        let body = Body::parse(deep.as_bytes()).unwrap();
        assert_eq!(body.fingerprint().len(), 1);
        let mut fields = body.fields();
        assert_eq!(fields.required("a", read::amount), None);
    }

    #[test]
    fn every_mistake_is_named() {
        let body = Body::parse(br#"{"amount": 1e3, "extra": 1, "inner": {"x": 5, "y": 1}}"#);
        let mut fields = body.unwrap().fields();
        assert_eq!(fields.required("amount", read::amount), None);
        assert_eq!(fields.required("name", read::line(5)), None);
        fields.object("inner", |inner| inner.optional("x", read::boolean));
        let error = fields.done().unwrap_err();
        let wrong = error.wrong();
        let named: Vec<_> = wrong.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(named, ["amount", "name", "inner.x", "inner.y", "extra"]);
    }
}
