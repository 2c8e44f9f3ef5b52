//! Limits in bodies: one field for each kind of limit, in the order of their table.
//!
//! The kinds of the interface are always there; the others where a level sets them.

use caudal_ledger::accounts::Account;
use caudal_ledger::limits::{Level, LimitKind, Limits, PerKind, Quantity, Unit, Usage};
use caudal_ledger::time::Timestamp;
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::schema;
use super::texts::{Instant, Pesos};
use super::words::LevelWord;

/// Whether a kind with this limit is in bodies.
fn is_shown(kind: LimitKind, limit: Option<Quantity>) -> bool {
    kind.is_always_shown() || limit.is_some()
}

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
        let shown = |kind| is_shown(kind, *self.0.get(kind));
        fields(serializer, shown, |kind| self.0.get(kind).map(QuantityBody))
    }
}

schema!(
    LimitsBody,
    "LimitsBody",
    object(
        "Limits of one level; null where the level sets none.",
        LimitKind::ALL,
        |kind| if kind.is_always_shown() {
            nullable(quantity(kind))
        } else {
            quantity(kind)
        }
    )
);

/// The level that each limit comes from: `account`, `psp`, `platform` or `none`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitSources(pub PerKind<Level>);

impl Serialize for LimitSources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = |kind: LimitKind| kind.is_always_shown() || *self.0.get(kind) != Level::None;
        fields(serializer, shown, |kind| self.0.get(kind).as_str())
    }
}

schema!(
    LimitSources,
    "LimitSources",
    with LevelWord,
    required(object(
        "The level that each limit comes from: `account`, `psp`, `platform` or `none`.",
        LimitKind::ALL,
        |_| Ref::from_schema_name(LevelWord::name()).into(),
    ))
);

/// Money of the business day and the calendar month, for each kind of limit with a period; `None` where nothing limits it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsageBody(pub PerKind<Option<Quantity>>);

impl UsageBody {
    /// The usage that limits are compared with.
    pub fn new(usage: &Usage, limits: &PerKind<Option<Quantity>>) -> Self {
        Self(PerKind::of(|kind| {
            let shown = kind.has_usage() && is_shown(kind, *limits.get(kind));
            shown.then(|| usage.used(kind))
        }))
    }
}

impl Serialize for UsageBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = |kind| self.0.get(kind).is_some();
        fields(serializer, shown, |kind| self.0.get(kind).map(QuantityBody))
    }
}

schema!(
    UsageBody,
    "UsageBody",
    required(object(
        "What moved in the business day and the calendar month. Money that comes in, and both ways together, where a limit is set.",
        LimitKind::ALL.into_iter().filter(|kind| kind.has_usage()),
        quantity,
    ))
);

/// The limits that are set, and no others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetLimits(pub Limits);

impl Serialize for SetLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = |kind| self.0.get(kind).is_some();
        fields(serializer, shown, |kind| self.0.get(kind).map(QuantityBody))
    }
}

schema!(
    SetLimits,
    "SetLimits",
    object("The limits that are set.", LimitKind::ALL, quantity)
);

/// Limits of an account that go before its own and end by themselves.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[schema(as = TemporaryLimits)]
pub struct TemporaryLimitsBody {
    /// The limits; the other kinds are as without them.
    pub limits: SetLimits,
    /// When they end.
    pub until: Instant,
}

impl TemporaryLimitsBody {
    /// Those of an account at an instant, while they apply.
    pub fn of(account: &Account, now: Timestamp) -> Option<Self> {
        let temporary = account.temporary_limits.as_deref()?;
        temporary.apply_at(now).then(|| Self {
            limits: SetLimits(temporary.limits),
            until: temporary.until.into(),
        })
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

/// Writes the kinds that are shown, each with its value.
fn fields<S: Serializer, T: Serialize>(
    serializer: S,
    shown: impl Fn(LimitKind) -> bool,
    value: impl Fn(LimitKind) -> T,
) -> Result<S::Ok, S::Error> {
    let kinds = LimitKind::ALL.into_iter().filter(|kind| shown(*kind));
    serializer.collect_map(kinds.map(|kind| (kind.name(), value(kind))))
}

/// The schema of an object with a field for each of these kinds.
pub(super) fn object(
    about: &str,
    kinds: impl IntoIterator<Item = LimitKind>,
    value: impl Fn(LimitKind) -> RefOr<Schema>,
) -> Object {
    let whole = ObjectBuilder::new().description(Some(about));
    let add = |whole: ObjectBuilder, kind: LimitKind| whole.property(kind.name(), value(kind));
    kinds.into_iter().fold(whole, add).build()
}

/// The same schema, with the kinds of the interface required.
fn required(mut whole: Object) -> Object {
    let kinds = LimitKind::ALL.into_iter();
    let always =
        kinds.filter(|kind| kind.is_always_shown() && whole.properties.contains_key(kind.name()));
    whole.required = always.map(|kind| kind.name().to_owned()).collect();
    whole
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
