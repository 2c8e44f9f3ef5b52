//! A change of limits in a body, the same for tenants and operators: one field for each kind of limit.
//!
//! That of a voucher type has the kinds that a type may set.

use caudal_ledger::limits::{LimitKind, Limits, LimitsChange, Quantity, Unit};
use caudal_ledger::time::Timestamp;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{KnownFormat, Ref, RefOr, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use super::limits::{nullable, object};
use super::schema;
use crate::body::read::{instant, integer, money, text};
use crate::body::{Body, Fields};
use crate::errors::ApiError;
use crate::request::closed;
use crate::shapes::MoneyDto;
use crate::words::Mistake;

/// The largest count of movements that a limit may have.
const COUNT_MAX: u64 = 1_000_000_000;

/// A count of movements.
///
/// # Errors
/// When the value is no count, or is above [`COUNT_MAX`].
pub fn count(raw: &str) -> Result<u64, Mistake> {
    integer(0, COUNT_MAX)(raw)
}

/// A change of limits: absent stays, null inherits, 0 lets nothing pass. Amounts as text, or as numbers.
#[derive(Clone, Copy, Debug)]
pub struct UpdateLimits(LimitsChange);

impl UpdateLimits {
    /// Takes its fields, in the order of the table of kinds.
    pub fn take(fields: &mut Fields) -> Option<Self> {
        fields.know(&LimitKind::NAMES);
        Some(Self(taken(fields, LimitKind::ALL.into_iter())))
    }
}

fn taken(fields: &mut Fields, kinds: impl Iterator<Item = LimitKind>) -> LimitsChange {
    kinds.fold(LimitsChange::default(), |changed, kind| {
        let sent = match kind.unit() {
            Unit::Amount => fields.change(kind.name(), money).map(Quantity::Money),
            Unit::Count => fields.change(kind.name(), count).map(Quantity::Count),
        };
        changed.with(kind, sent)
    })
}

fn schema_of(about: &str, kinds: impl Iterator<Item = LimitKind>) -> RefOr<Schema> {
    let value = |kind: LimitKind| match kind.unit() {
        Unit::Amount => OneOfBuilder::new()
            .item(Ref::from_schema_name(MoneyDto::name()))
            .item(ObjectBuilder::new().schema_type(Type::Null))
            .into(),
        Unit::Count => nullable(u64::schema()),
    };
    closed(object(about, kinds, value).into())
}

/// A change of the limits of a voucher type.
#[derive(Clone, Copy, Debug)]
pub struct UpdateTypeLimits(LimitsChange);

impl UpdateTypeLimits {
    fn kinds() -> impl Iterator<Item = LimitKind> {
        let kinds = LimitKind::ALL.into_iter();
        kinds.filter(|kind| kind.is_of_types())
    }

    /// Takes its fields, in the order of the table of kinds.
    pub fn take(fields: &mut Fields) -> Option<Self> {
        Some(Self(taken(fields, Self::kinds())))
    }
}

impl From<UpdateTypeLimits> for LimitsChange {
    fn from(sent: UpdateTypeLimits) -> Self {
        sent.0
    }
}

schema!(
    UpdateTypeLimits,
    "UpdateTypeLimitsDto",
    schema_of(
        "A change of a type's limits: absent stays, null is no limit, 0 lets nothing pass. Amounts as text, or as numbers.",
        Self::kinds(),
    )
);

/// A change of an account's own limits, or the limits that go before them until they end.
#[derive(Clone, Copy, Debug)]
pub struct UpdateAccountLimits {
    /// The limits.
    pub limits: LimitsChange,
    /// When the limits end; `Some(None)` to end those that were set until an instant.
    pub until: Option<Option<Timestamp>>,
}

impl UpdateAccountLimits {
    /// Reads it from a body.
    ///
    /// # Errors
    /// 400 with every field that is wrong.
    pub fn read(body: Body, now: Timestamp) -> Result<Self, ApiError> {
        let mut fields = body.fields();
        fields.know(&["until"]);
        let until = fields.nullable("until", text(instant));
        let limits = UpdateLimits::take(&mut fields).map_or_else(LimitsChange::default, Into::into);
        let without = match until {
            Some(Some(_)) => Limits::default().changed(limits).are_none(),
            Some(None) => limits != LimitsChange::default(),
            None => false,
        };
        if without {
            fields.mistake("until", Mistake::LimitsUntil);
        } else if until.flatten().is_some_and(|until| until <= now) {
            fields.mistake("until", Mistake::InThePast);
        }
        fields.finish(Some(Self { limits, until }))
    }
}

schema!(UpdateAccountLimits, "UpdateLimitsDto", with MoneyDto, {
    let mut whole = UpdateLimits::schema();
    if let RefOr::T(Schema::Object(object)) = &mut whole {
        let until = ObjectBuilder::new()
            .schema_type(SchemaType::Array(vec![Type::String, Type::Null]))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some(
                "An instant in the future: the limits sent with it go before the account's own until then, in place of earlier ones of this kind. Null, without limits, ends them now.",
            ));
        object.properties.insert("until".to_owned(), until.into());
    }
    whole
});

impl From<UpdateLimits> for LimitsChange {
    fn from(sent: UpdateLimits) -> Self {
        sent.0
    }
}

schema!(
    UpdateLimits,
    "UpdateLimitsDto",
    with MoneyDto,
    schema_of(
        "A change of limits: absent stays, null inherits, 0 lets nothing pass. Amounts as text, or as numbers.",
        LimitKind::ALL.into_iter(),
    )
);
