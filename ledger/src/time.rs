//! Instants and business days of Buenos Aires. Time always comes in as an argument.

use std::fmt;

use chrono::{
    DateTime, Datelike as _, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeZone, Utc,
    Weekday,
};
use chrono_tz::America::Argentina::Buenos_Aires;
use serde::{Deserialize, Serialize};

/// An instant: milliseconds since 1970 UTC.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The last instant that can be written as RFC 3339 with four digits of year: the end of
    /// 9999.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// This many milliseconds since 1970 UTC, at most [`Timestamp::MAX`].
    pub const fn from_millis(millis: u64) -> Self {
        if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Self(millis)
        }
    }

    /// Milliseconds since 1970 UTC.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Parses RFC 3339; instants before 1970 count as 1970.
    pub fn parse(text: &str) -> Option<Self> {
        let time = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self::from_millis(
            u64::try_from(time.timestamp_millis()).unwrap_or(0),
        ))
    }

    /// The instant this many milliseconds later.
    #[must_use]
    pub const fn plus_millis(self, millis: u64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    fn utc(self) -> DateTime<Utc> {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        DateTime::from_timestamp_millis(millis).unwrap_or_default()
    }

    /// RFC 3339 with milliseconds and the offset of Buenos Aires, so that the text begins with the business day.
    pub fn zoned(self) -> String {
        let local = self.utc().with_timezone(&Buenos_Aires);
        local.to_rfc3339_opts(SecondsFormat::Millis, false)
    }

    /// The local date and time in Buenos Aires.
    pub fn local(self) -> NaiveDateTime {
        self.utc().with_timezone(&Buenos_Aires).naive_local()
    }

    /// The business day in which the instant falls.
    pub fn business_day(self) -> BusinessDay {
        BusinessDay(self.utc().with_timezone(&Buenos_Aires).date_naive())
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> Self {
        at.to_string()
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds and `Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.utc().to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

/// A calendar day in Buenos Aires, by the zone's own rules.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BusinessDay(NaiveDate);

impl BusinessDay {
    /// Parses `YYYY-MM-DD` and nothing else; years 1970 to 9998.
    pub fn parse(text: &str) -> Option<Self> {
        let shape = text.len() == 10
            && text.bytes().enumerate().all(|(i, b)| match i {
                4 | 7 => b == b'-',
                _ => b.is_ascii_digit(),
            });
        let day = NaiveDate::parse_from_str(text, "%Y-%m-%d")
            .ok()
            .filter(|_| shape)
            .map(Self)?;
        let (first, last) = (
            NaiveDate::from_ymd_opt(1970, 1, 1)?,
            NaiveDate::from_ymd_opt(9998, 12, 31)?,
        );
        (first..=last).contains(&day.0).then_some(day)
    }

    /// The first instant of the day.
    pub fn start(self) -> Timestamp {
        let midnight = self.0.and_time(NaiveTime::MIN);
        // If a change of clocks skips midnight, the day begins with the first existing instant.
        let start = (0..4_i64)
            .filter_map(|hours| {
                let local = midnight.checked_add_signed(chrono::TimeDelta::hours(hours))?;
                Buenos_Aires.from_local_datetime(&local).earliest()
            })
            .next();
        let millis = start.map_or(0, |t| t.timestamp_millis());
        Timestamp::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// The last instant (millisecond) of the day.
    pub fn end(self) -> Timestamp {
        match self.0.succ_opt() {
            Some(next) => Timestamp::from_millis(Self(next).start().millis().saturating_sub(1)),
            None => Timestamp::MAX,
        }
    }

    /// The first day of its calendar month.
    #[must_use]
    pub fn first_of_month(self) -> Self {
        // Every month has a first day.
        self.0.with_day(1).map_or(self, Self)
    }

    /// How many days it is after 1970-01-01.
    pub fn days(self) -> i64 {
        let days = self.0.signed_duration_since(NaiveDate::default());
        days.num_days()
    }

    /// The day with this number of [`Self::days`]; `None` when it is beyond the calendar.
    pub fn from_days(days: i64) -> Option<Self> {
        let days = chrono::TimeDelta::try_days(days)?;
        NaiveDate::default().checked_add_signed(days).map(Self)
    }

    /// The last instant (millisecond) of the calendar month.
    pub fn end_of_month(self) -> Timestamp {
        let first = self.0.with_day(1);
        let next = first.and_then(|first| first.checked_add_months(chrono::Months::new(1)));
        match next.and_then(|next| next.pred_opt()) {
            Some(last) => Self(last).end(),
            None => Timestamp::MAX,
        }
    }

    /// The day before; the smallest possible date stays the same.
    #[must_use]
    pub fn before(self) -> Self {
        self.0.pred_opt().map_or(self, Self)
    }

    /// The day after; the largest possible date stays the same.
    #[must_use]
    pub fn next(self) -> Self {
        self.0.succ_opt().map_or(self, Self)
    }

    /// How many days `last` is after this one; 0 when it is not.
    pub fn days_to(self, last: Self) -> usize {
        let days = last.0.signed_duration_since(self.0).num_days();
        usize::try_from(days).unwrap_or(0)
    }

    /// Whether it is a Saturday or Sunday.
    pub fn is_weekend(self) -> bool {
        matches!(self.0.weekday(), Weekday::Sat | Weekday::Sun)
    }

    /// The calendar month, as `YYYY-MM`.
    pub fn month(self) -> String {
        self.0.format("%Y-%m").to_string()
    }

    /// The day as a calendar date.
    pub const fn date(self) -> NaiveDate {
        self.0
    }

    /// Whether both days are in the same calendar month.
    pub fn same_month(self, other: Self) -> bool {
        (self.0.year(), self.0.month()) == (other.0.year(), other.0.month())
    }
}

impl fmt::Display for BusinessDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_at_three_utc() {
        for (instant, day) in [
            ("2026-03-01T02:59:59Z", "2026-02-28"),
            ("2026-03-01T03:00:00Z", "2026-03-01"),
            ("2027-01-01T02:30:00Z", "2026-12-31"),
            // Summer time of 2008: two hours behind UTC.
            ("2008-12-31T02:00:00Z", "2008-12-31"),
        ] {
            let instant = Timestamp::parse(instant).unwrap();
            assert_eq!(instant.business_day().to_string(), day);
            assert!(instant.zoned().starts_with(day), "{}", instant.zoned());
            assert_eq!(Timestamp::parse(&instant.zoned()), Some(instant));
            let day = BusinessDay::parse(day).unwrap();
            assert!(day.start() <= instant && instant <= day.end());
        }
        let day = BusinessDay::parse("2026-03-01").unwrap();
        assert_eq!(day.start().to_string(), "2026-03-01T03:00:00.000Z");
        assert_eq!(day.end().to_string(), "2026-03-02T02:59:59.999Z");
        assert_eq!(day.end().zoned(), "2026-03-01T23:59:59.999-03:00");
        assert_eq!(day.month(), "2026-03");
    }

    #[test]
    fn bad_dates_are_refused() {
        for text in [
            "2026-02-30",
            "2026-1-01",
            "01-06-2024",
            "",
            "20260301",
            "2026-03-01T",
            "9999-12-31",
        ] {
            assert_eq!(BusinessDay::parse(text), None, "{text}");
        }
    }
}
