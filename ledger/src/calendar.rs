//! Banking days: the days on which banks are closed come in as data, by year.
//!
//! **Three dates.** Anything that happens on a business day is processed on that day if banks are
//! open, otherwise on the next banking day, and is published on the banking day after that.
//!
//! **Bounds.** For a year that the data does not cover, banking days are unknown: the answer is an
//! error, never a guess, because decrees change the lists every year.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Datelike;

use crate::time::BusinessDay;

/// The days on which banks are closed, in addition to Saturdays and Sundays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Calendar {
    closed: BTreeMap<i32, BTreeSet<BusinessDay>>,
}

/// Why there is no answer, or no calendar.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CalendarError {
    /// The data does not say which days of this year are holidays.
    #[error("the calendar does not cover {0}")]
    Uncovered(i32),
    /// The text is not a year of four digits, 1970 to 9998.
    #[error("{0} is no year")]
    NoYear(String),
    /// The text is not a day of its year.
    #[error("{day} is no day of {year}; days are written MM-DD")]
    NoDay {
        /// The year in which it is listed.
        year: i32,
        /// The text, as it was written.
        day: String,
    },
}

impl Calendar {
    /// Parses lists of days, `MM-DD`, by their year, `YYYY`. A year with an empty list is covered:
    /// banks are then closed only on weekends.
    ///
    /// # Errors
    /// The first year or day that cannot be parsed.
    pub fn read<'a, D: IntoIterator<Item = &'a str>>(
        years: impl IntoIterator<Item = (&'a str, D)>,
    ) -> Result<Self, CalendarError> {
        let mut closed = BTreeMap::new();
        for (name, days) in years {
            let year = BusinessDay::parse(&format!("{name}-01-01"));
            let year = year.ok_or_else(|| CalendarError::NoYear(name.to_owned()))?;
            let year = year.date().year();
            let day = |day: &'a str| {
                BusinessDay::parse(&format!("{name}-{day}")).ok_or_else(|| CalendarError::NoDay {
                    year,
                    day: day.to_owned(),
                })
            };
            let days: Result<_, _> = days.into_iter().map(day).collect();
            closed.insert(year, days?);
        }
        Ok(Self { closed })
    }

    /// The years that are covered.
    pub fn years(&self) -> impl Iterator<Item = i32> + '_ {
        self.closed.keys().copied()
    }

    /// Whether banks are open on a day.
    ///
    /// # Errors
    /// When its year is not covered.
    pub fn is_banking_day(&self, day: BusinessDay) -> Result<bool, CalendarError> {
        let year = day.date().year();
        let closed = self.closed.get(&year);
        let closed = closed.ok_or(CalendarError::Uncovered(year))?;
        Ok(!day.is_weekend() && !closed.contains(&day))
    }

    /// The day on which events of a day are processed (`fecha de proceso`): the same day if banks
    /// are open, otherwise the next banking day.
    ///
    /// # Errors
    /// When it needs a day of a year that is not covered.
    pub fn processed(&self, mut day: BusinessDay) -> Result<BusinessDay, CalendarError> {
        // This ends, because the data covers finitely many years.
        while !self.is_banking_day(day)? {
            day = day.next();
        }
        Ok(day)
    }

    /// The day on which events of a day are published (`fecha de publicación`): the banking day
    /// after the day on which they are processed.
    ///
    /// # Errors
    /// As [`Self::processed`].
    pub fn published(&self, day: BusinessDay) -> Result<BusinessDay, CalendarError> {
        self.processed(self.processed(day)?.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> BusinessDay {
        BusinessDay::parse(text).unwrap()
    }

    fn calendar() -> Calendar {
        let days = "03-23 03-24 04-02 04-03 12-07 12-08 12-25";
        Calendar::read([("2026", days.split(' ')), ("2027", "01-01".split(' '))]).unwrap()
    }

    #[test]
    fn what_happens_while_banks_are_closed_is_processed_when_they_open() {
        for (business, processed, published) in [
            ("2026-03-20", "2026-03-20", "2026-03-25"),
            ("2026-03-21", "2026-03-25", "2026-03-26"),
            ("2026-04-02", "2026-04-06", "2026-04-07"),
            ("2026-12-05", "2026-12-09", "2026-12-10"),
            ("2026-12-31", "2026-12-31", "2027-01-04"),
        ] {
            let calendar = calendar();
            assert_eq!(calendar.processed(day(business)), Ok(day(processed)));
            assert_eq!(calendar.published(day(business)), Ok(day(published)));
        }
    }

    #[test]
    fn a_year_without_data_is_no_guess() {
        let calendar = calendar();
        let uncovered = |year| Err(CalendarError::Uncovered(year));
        assert_eq!(calendar.processed(day("2025-12-31")), uncovered(2025));
        assert_eq!(calendar.processed(day("2027-12-31")), Ok(day("2027-12-31")));
        assert_eq!(calendar.published(day("2027-12-31")), uncovered(2028));
        assert_eq!(calendar.years().collect::<Vec<_>>(), [2026, 2027]);
    }

    #[test]
    fn years_and_days_that_are_none_are_named() {
        for (year, days, why) in [
            ("26", "01-01", "26 is no year"),
            (
                "2026",
                "02-30",
                "02-30 is no day of 2026; days are written MM-DD",
            ),
            (
                "2026",
                "1-1",
                "1-1 is no day of 2026; days are written MM-DD",
            ),
        ] {
            let read = Calendar::read([(year, [days])]);
            assert_eq!(read.unwrap_err().to_string(), why);
        }
    }
}
