//! Voucher types in memory and on disk.

use serde::{Deserialize, Serialize};

use super::TypeCode;
use crate::balance::Direction;
use crate::book_accounts::BookName;
use crate::limits::Limits;
use crate::time::Timestamp;

/// The direction of a type that a tenant defines: its vouchers are adjustments, which bring money in or take it out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sense {
    /// Its vouchers bring money in.
    Credit,
    /// Its vouchers take money out.
    Debit,
}

impl Sense {
    /// Both, credit first.
    pub const ALL: [Self; 2] = [Self::Credit, Self::Debit];

    /// The direction of its vouchers.
    pub const fn direction(self) -> Direction {
        match self {
            Self::Credit => Direction::Credit,
            Self::Debit => Direction::Debit,
        }
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        self.direction().as_str()
    }

    /// The sense for a direction; `None` for the directions that only built-in types have.
    pub const fn of(direction: Direction) -> Option<Self> {
        match direction {
            Direction::Credit => Some(Self::Credit),
            Direction::Debit => Some(Self::Debit),
            Direction::Hold | Direction::Release | Direction::ConfirmHold => None,
        }
    }
}

/// Who defined a type, and the effect of its vouchers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Built in: only the service posts it.
    System(Direction),
    /// The tenant's own: the tenant posts adjustments of it.
    Custom(Sense),
}

/// A type of voucher.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct VoucherType {
    /// Its code, unique in the realm.
    pub code: TypeCode,
    /// Its name for people, 1 to 80 characters.
    pub name: String,
    /// Who defined it, and the effect of its vouchers.
    pub origin: Origin,
    /// Whether new vouchers of it are accepted.
    pub active: bool,
    /// The numeric id of the wallet family, never reused: below 1000 for a built-in type, from 1000 for a tenant's own.
    pub legacy_id: Option<u64>,
    /// A line for people (wallet `descripcion`).
    pub description: Option<String>,
    /// The tenant's category (wallet `tipoMovimiento`).
    pub category: Option<String>,
    /// The account of the books that its vouchers go to, if the tenant has set one; see [`Self::account`].
    pub counter_account: Option<BookName>,
    /// By how many percent of a hold that names it more may be confirmed than is held, at most 100; `None` for nothing.
    pub capture_tolerance: Option<u8>,
    /// The limits of each account on vouchers of it, of the kinds that [`LimitKind::is_of_types`] names.
    ///
    /// [`LimitKind::is_of_types`]: crate::limits::LimitKind::is_of_types
    pub limits: Option<Box<Limits>>,
    /// When it was created; the start of 1970 for built-in types.
    pub created_at: Timestamp,
}

impl VoucherType {
    /// The most characters of [`Self::description`].
    pub const DESCRIPTION_MAX: usize = 200;
    /// The most characters of [`Self::category`].
    pub const CATEGORY_MAX: usize = 40;

    /// The direction of its vouchers.
    pub const fn direction(&self) -> Direction {
        match self.origin {
            Origin::System(direction) => direction,
            Origin::Custom(sense) => sense.direction(),
        }
    }

    /// Its number, if it is a tenant's own type; the number of a built-in type follows from its code.
    pub fn own_number(&self) -> Option<u64> {
        self.legacy_id.filter(|_| !self.is_system())
    }

    /// The account of the books on the other side of its vouchers; `None` for a built-in type, whose vouchers decide it.
    pub fn account(&self) -> Option<BookName> {
        let of_type = || BookName::of_type(self.code.as_str());
        let custom = (!self.is_system()).then(of_type);
        self.counter_account.clone().or(custom)
    }

    /// Whether it is built in.
    pub const fn is_system(&self) -> bool {
        matches!(self.origin, Origin::System(_))
    }
}

/// A type in its form on disk, where direction and owner are separate.
#[derive(Serialize, Deserialize)]

struct Written {
    code: TypeCode,
    name: String,
    sense: Direction,
    active: bool,
    system: bool,
    legacy_id: Option<u64>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    category: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counter_account: Option<BookName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capture_tolerance: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limits: Option<Box<Limits>>,
    created_at: Timestamp,
}

/// The error for an impossible type on disk: a tenant's own with the direction of a built-in one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a custom voucher type is credit or debit, not {0}")]
struct NoSense(Direction);

impl From<VoucherType> for Written {
    fn from(it: VoucherType) -> Self {
        Self {
            sense: it.direction(),
            system: it.is_system(),
            code: it.code,
            name: it.name,
            active: it.active,
            legacy_id: it.legacy_id,
            description: it.description,
            category: it.category,
            counter_account: it.counter_account,
            capture_tolerance: it.capture_tolerance,
            limits: it.limits,
            created_at: it.created_at,
        }
    }
}

impl TryFrom<Written> for VoucherType {
    type Error = NoSense;

    fn try_from(it: Written) -> Result<Self, NoSense> {
        let origin = if it.system {
            Origin::System(it.sense)
        } else {
            Origin::Custom(Sense::of(it.sense).ok_or(NoSense(it.sense))?)
        };
        Ok(Self {
            code: it.code,
            name: it.name,
            origin,
            active: it.active,
            legacy_id: it.legacy_id,
            description: it.description,
            category: it.category,
            counter_account: it.counter_account,
            capture_tolerance: it.capture_tolerance,
            limits: it.limits,
            created_at: it.created_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voucher_types::SystemType;

    #[test]
    fn direction_and_owner_are_separate_fields_on_disk() {
        let toll = VoucherType {
            code: TypeCode::parse("TOLL").unwrap(),
            origin: Origin::Custom(Sense::Debit),
            legacy_id: Some(1000),
            ..SystemType::Fee.voucher_type()
        };
        let hold = SystemType::Hold.voucher_type();
        for (found, sense, system) in [
            (&toll, Direction::Debit, false),
            (&hold, Direction::Hold, true),
        ] {
            let written = Written::from(found.clone());
            assert_eq!((written.sense, written.system), (sense, system));
            assert_eq!(VoucherType::try_from(written).as_ref(), Ok(found));
        }
        let mut cannot_be = Written::from(hold);
        cannot_be.system = false;
        let refused = VoucherType::try_from(cannot_be);
        assert_eq!(refused, Err(NoSense(Direction::Hold)));
    }
}
