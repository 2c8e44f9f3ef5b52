//! Limits in bodies: one field for each kind of limit, in the order of their table.
//!
//! The kinds of the interface are always there; the others where a level sets them.

use std::borrow::Cow;

use caudal_ledger::accounts::Account;
use caudal_ledger::limits::{Level, LimitKind, Limits, PerKind, Quantity, Unit, Usage};
use caudal_ledger::time::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

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
        let kinds = LimitKind::ALL.into_iter();
        let kinds = kinds.filter(|kind| is_shown(*kind, *self.0.get(*kind)));
        fields(serializer, kinds, |kind| self.0.get(kind).map(QuantityBody))
    }
}

impl PartialSchema for LimitsBody {
    fn schema() -> RefOr<Schema> {
        let whole = ObjectBuilder::new()
            .description(Some("Limits of one level; null where the level sets none."));
        let fields = LimitKind::ALL.into_iter();
        let whole = fields.fold(whole, |whole, kind| {
            let value = quantity(kind);
            let always = kind.is_always_shown();
            whole.property(kind.name(), if always { nullable(value) } else { value })
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
        let kinds = LimitKind::ALL.into_iter();
        let kinds = kinds.filter(|it| it.is_always_shown() || *self.0.get(*it) != Level::None);
        fields(serializer, kinds, |kind| self.0.get(kind).as_str())
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
            required(whole.property(kind.name(), level), kind)
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

/// The kinds of the interface are required in the schema.
fn required(whole: ObjectBuilder, kind: LimitKind) -> ObjectBuilder {
    if kind.is_always_shown() {
        whole.required(kind.name())
    } else {
        whole
    }
}

impl Serialize for UsageBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = LimitKind::ALL.into_iter();
        let kinds = kinds.filter(|kind| self.0.get(*kind).is_some());
        fields(serializer, kinds, |kind| self.0.get(kind).map(QuantityBody))
    }
}

impl PartialSchema for UsageBody {
    fn schema() -> RefOr<Schema> {
        let whole = ObjectBuilder::new().description(Some(
            "What moved in the business day and the calendar month. Money that comes in, and both ways together, where a limit is set.",
        ));
        let kinds = LimitKind::ALL.into_iter().filter(|kind| kind.has_usage());
        let whole = kinds.fold(whole, |whole, kind| {
            required(whole.property(kind.name(), quantity(kind)), kind)
        });
        whole.into()
    }
}

impl ToSchema for UsageBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("UsageBody")
    }
}

/// The limits that are set, and no others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetLimits(pub Limits);

impl Serialize for SetLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (kind, limit) in self.0.set() {
            map.serialize_entry(kind.name(), &QuantityBody(limit))?;
        }
        map.end()
    }
}

impl PartialSchema for SetLimits {
    fn schema() -> RefOr<Schema> {
        let whole = ObjectBuilder::new().description(Some("The limits that are set."));
        let kinds = LimitKind::ALL.into_iter();
        let whole = kinds.fold(whole, |whole, kind| {
            whole.property(kind.name(), quantity(kind))
        });
        whole.into()
    }
}

impl ToSchema for SetLimits {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("SetLimits")
    }
}

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
