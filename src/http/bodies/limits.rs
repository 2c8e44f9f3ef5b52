//! Limits in bodies: one field for each kind of limit, in the order of their table.

use std::borrow::Cow;

use caudal_ledger::limits::{Level, LimitKind, Limits, PerKind, Quantity, Unit};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::texts::Pesos;
use super::words::LevelWord;

/// Limits of one level; null where the level sets none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitsBody(pub PerKind<Option<Quantity>>);

impl From<&Limits> for LimitsBody {
    fn from(limits: &Limits) -> Self {
        Self(PerKind::of(|kind| limits.get(kind)))
    }
}

impl Serialize for LimitsBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fields(serializer, LimitKind::ALL.into_iter(), |kind| {
            self.0.get(kind).map(QuantityBody)
        })
    }
}

impl PartialSchema for LimitsBody {
    fn schema() -> RefOr<Schema> {
        let whole = ObjectBuilder::new()
            .description(Some("Limits of one level; null where the level sets none."));
        let fields = LimitKind::ALL.into_iter();
        let whole = fields.fold(whole, |whole, kind| {
            whole.property(kind.name(), nullable(quantity(kind)))
        });
        whole.into()
    }
}

impl ToSchema for LimitsBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("LimitsBody")
    }
}

/// The level that each limit comes from: `account`, `psp`, `platform` or `none`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitSources(pub PerKind<Level>);

impl Serialize for LimitSources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fields(serializer, LimitKind::ALL.into_iter(), |kind| {
            self.0.get(kind).as_str()
        })
    }
}

impl PartialSchema for LimitSources {
    fn schema() -> RefOr<Schema> {
        let whole = ObjectBuilder::new().description(Some(
            "The level that each limit comes from: `account`, `psp`, `platform` or `none`.",
        ));
        let fields = LimitKind::ALL.into_iter();
        let whole = fields.fold(whole, |whole, kind| {
            let level = Ref::from_schema_name(LevelWord::name());
            whole.property(kind.name(), level).required(kind.name())
        });
        whole.into()
    }
}

impl ToSchema for LimitSources {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("LimitSources")
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        into.push((LevelWord::name().into_owned(), LevelWord::schema()));
    }
}

/// Outgoing money of the business day and the calendar month.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsageBody(pub PerKind<Quantity>);

/// The kinds that have a usage.
fn counted() -> impl Iterator<Item = LimitKind> {
    let kinds = LimitKind::ALL.into_iter();
    kinds.filter(|kind| kind.is_counted())
}

impl Serialize for UsageBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fields(serializer, counted(), |kind| {
            QuantityBody(*self.0.get(kind))
        })
    }
}

impl PartialSchema for UsageBody {
    fn schema() -> RefOr<Schema> {
        let whole = ObjectBuilder::new().description(Some(
            "Outgoing money of the business day and the calendar month.",
        ));
        let whole = counted().fold(whole, |whole, kind| {
            let value = quantity(kind);
            whole.property(kind.name(), value).required(kind.name())
        });
        whole.into()
    }
}

impl ToSchema for UsageBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("UsageBody")
    }
}

/// An amount as text, a count as a number.
struct QuantityBody(Quantity);

impl Serialize for QuantityBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Quantity::Money(money) => serializer.collect_str(&money),
            Quantity::Count(count) => serializer.serialize_u64(count),
        }
    }
}

fn fields<S: Serializer, T: Serialize>(
    serializer: S,
    kinds: impl Iterator<Item = LimitKind>,
    value: impl Fn(LimitKind) -> T,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for kind in kinds {
        map.serialize_entry(kind.name(), &value(kind))?;
    }
    map.end()
}

/// The schema of a value of a kind.
fn quantity(kind: LimitKind) -> RefOr<Schema> {
    match kind.unit() {
        Unit::Count => u64::schema(),
        Unit::Amount => Pesos::schema(),
    }
}

/// The same schema, with null among its values.
pub fn nullable(mut schema: RefOr<Schema>) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(object)) = &mut schema
        && let SchemaType::Type(kind) = &object.schema_type
    {
        object.schema_type = SchemaType::Array(vec![kind.clone(), Type::Null]);
    }
    schema
}
