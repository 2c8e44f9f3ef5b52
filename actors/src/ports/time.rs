//! Time as the actors see it: the present time, and whether it is believed.

use std::fmt;

use caudal_ledger::time::Timestamp;

/// The source of the time. Every decision by time uses [`Clock::now`] and nothing else.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The present time, as far as it is believed. A clock in doubt continues from the last certain instant, so that
    /// nothing expires because somebody set the machine's clock.
    fn now(&self) -> Timestamp;

    /// Why the machine's clock is not believed; `None` while it is.
    fn doubt(&self) -> Option<ClockDoubt> {
        None
    }

    /// Begins anew with the times that the journal knows; called before anything is decided.
    fn begin(&self, _: KnownTimes) {}

    /// Believes the machine's clock as it stands, because a person confirms it.
    fn confirm(&self) {}
}

/// The times that a journal knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KnownTimes {
    /// The newest stamp among its last commits; `None` for a new journal.
    pub newest: Option<Timestamp>,
    /// A person's last confirmation: the time of the machine's clock, and the time believed until then.
    pub confirmed: Option<(Timestamp, Timestamp)>,
}

impl KnownTimes {
    /// The instant that the present cannot precede. After a person has confirmed that the past was too far ahead, the
    /// confirmed time counts until the stamps have passed the time that was believed then.
    pub fn reference(&self) -> Option<Timestamp> {
        match (self.newest, self.confirmed) {
            (Some(newest), Some((said, believed))) if newest <= believed => Some(said),
            (newest, _) => newest,
        }
    }
}

/// How a clock contradicts the known times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DoubtCause {
    /// It was set while the service ran.
    Jumped,
    /// At the start it is behind the journal.
    Behind,
    /// At the start it is further ahead of the journal than a service is ever down.
    Ahead,
}

impl DoubtCause {
    /// The name of the cause on the wire and in the log, the same for ever.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jumped => "jumped",
            Self::Behind => "behind_the_journal",
            Self::Ahead => "ahead_of_the_journal",
        }
    }
}

/// A clock that is not believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockDoubt {
    /// The contradiction that was found.
    pub cause: DoubtCause,
    /// The time of the machine's clock.
    pub says: Timestamp,
    /// The time believed instead.
    pub believed: Timestamp,
}

impl fmt::Display for ClockDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cause,
            says,
            believed,
        } = self;
        let found = match cause {
            DoubtCause::Jumped => "it was set while the service ran",
            DoubtCause::Behind => "that is before the journal's newest entry",
            DoubtCause::Ahead => "that is too long after the journal's newest entry",
        };
        write!(
            f,
            "the machine's clock says {says}, and {found}; {believed} is believed. Set the clock \
             right, or confirm it: POST /admin/clock/confirm"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_confirmed_counts_until_stamps_have_passed_what_was_believed() {
        let at = Timestamp::from_millis;
        let reference = |newest, confirmed| KnownTimes { newest, confirmed }.reference();
        assert_eq!(reference(None, None), None);
        assert_eq!(reference(Some(at(9)), None), Some(at(9)));
        // Set back from 9 to 5, and used since.
        let back = Some((at(5), at(9)));
        assert_eq!(reference(Some(at(9)), back), Some(at(5)));
        assert_eq!(reference(Some(at(6)), back), Some(at(5)));
        assert_eq!(reference(Some(at(10)), back), Some(at(10)));
        // Set ahead from 9 to 50, and used since.
        assert_eq!(reference(Some(at(51)), Some((at(50), at(9)))), Some(at(51)));
    }
}
