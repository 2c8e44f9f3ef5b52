//! A change of limits in a body, the same for tenants and operators: one field for each kind of limit.

use std::borrow::Cow;

use caudal_ledger::limits::{LimitKind, LimitsChange, Quantity, Unit};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::limits::nullable;
use crate::body::read::{integer, money};
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
        let mut changed = LimitsChange::default();
        for kind in LimitKind::ALL {
            let sent = match kind.unit() {
                Unit::Amount => fields.change(kind.name(), money).map(Quantity::Money),
                Unit::Count => fields.change(kind.name(), count).map(Quantity::Count),
            };
            changed = changed.with(kind, sent);
        }
        Some(Self(changed))
    }

    /// Reads it from a body that has nothing else.
    ///
    /// # Errors
    /// 400 with every field that is wrong.
    pub fn read(body: Body) -> Result<Self, ApiError> {
        let mut fields = body.fields();
        let whole = Self::take(&mut fields);
        fields.finish(whole)
    }
}

impl From<UpdateLimits> for LimitsChange {
    fn from(sent: UpdateLimits) -> Self {
        sent.0
    }
}

impl PartialSchema for UpdateLimits {
    fn schema() -> RefOr<Schema> {
        let whole = ObjectBuilder::new().description(Some(
            "A change of limits: absent stays, null inherits, 0 lets nothing pass. Amounts as text, or as numbers.",
        ));
        let fields = LimitKind::ALL.into_iter();
        let whole = fields.fold(whole, |whole, kind| {
            let value: RefOr<Schema> = match kind.unit() {
                Unit::Amount => OneOfBuilder::new()
                    .item(Ref::from_schema_name(MoneyDto::name()))
                    .item(ObjectBuilder::new().schema_type(Type::Null))
                    .into(),
                Unit::Count => nullable(u64::schema()),
            };
            whole.property(kind.name(), value)
        });
        closed(whole.into())
    }
}

impl ToSchema for UpdateLimits {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("UpdateLimitsDto")
    }

    fn schemas(into: &mut Vec<(String, RefOr<Schema>)>) {
        into.push((MoneyDto::name().into_owned(), MoneyDto::schema()));
    }
}
