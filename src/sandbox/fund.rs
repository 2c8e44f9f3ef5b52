//! The fund of the sandbox: an enrolment of a CVU with its units, as it is kept and shown, and a price for each
//! business day. For the effects on enrolments see `enrolments`.
//!
//! **Prices** follow from the day alone: they grow by the same sum every calendar day, and are published on days on
//! which banks are open, so that a weekend's yield is in the price of the next business day. The units are those that
//! [`FIRST`] pesos bought on the day of the enrolment, unless an order to the bank sets others.

use caudal_ledger::calendar::Calendar;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::money::Amount;
use caudal_ledger::remuneration::{BrokerageAccount, UnitPrice, Units};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The sum that is subscribed on the day of the enrolment, in pesos.
const FIRST: &str = "100000.00";
/// The price on 2020-01-01, and what it gains every calendar day, in millionths of a peso.
const PRICE: i64 = 1_000_000_000;
const GAIN: i64 = 941_570;
/// How many days back the earlier price is from which the yearly rate follows.
const MONTH: usize = 30;
/// More days than banks are ever closed in a row.
const CLOSED_MAX: usize = 31;

/// The state of an enrolment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum EnrolmentStatus {
    Pending,
    Active,
    Rejected,
    Suspended,
    Ended,
}

/// An enrolment of a CVU.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Enrolled {
    pub reference: String,
    pub cvu: Cvu,
    pub brokerage_account: BrokerageAccount,
    pub fund: String,
    /// The fund that the order asked for.
    pub asked: Option<String>,
    pub status: EnrolmentStatus,
    /// The day of its first subscription.
    pub since: BusinessDay,
    /// The units that an order to the bank set.
    pub units: Option<String>,
    /// The day as of which an order had the bank value it, instead of today.
    pub day: Option<BusinessDay>,
}

/// Whether banks are open; in years that the calendar does not list, they are closed only at weekends.
fn open(day: BusinessDay, calendar: &Calendar) -> bool {
    calendar.is_banking_day(day).unwrap_or(!day.is_weekend())
}

fn back(day: BusinessDay, days: usize) -> BusinessDay {
    (0..days).fold(day, |day, _| day.before())
}

/// The last business day up to and including a day.
fn published(day: BusinessDay, calendar: &Calendar) -> BusinessDay {
    let days = std::iter::successors(Some(day), |day| Some(day.before()));
    let mut days = days.take(CLOSED_MAX);
    days.find(|day| open(*day, calendar)).unwrap_or(day)
}

fn price(day: BusinessDay) -> Option<UnitPrice> {
    let first = BusinessDay::parse("2020-01-01")?;
    let days = day.date().signed_duration_since(first.date()).num_days();
    let gained = GAIN.checked_mul(days)?;
    UnitPrice::from_millionths(PRICE.checked_add(gained)?)
}

fn shown_price(day: BusinessDay) -> Value {
    let value = price(day).map(|price| price.to_string());
    json!({"date": day.to_string(), "value": value})
}

impl Enrolled {
    /// Whether its state is final.
    pub(crate) fn is_over(&self) -> bool {
        matches!(
            self.status,
            EnrolmentStatus::Rejected | EnrolmentStatus::Ended
        )
    }

    fn units(&self, calendar: &Calendar) -> Option<String> {
        let bought = || {
            let first = Amount::parse(FIRST).ok()?;
            let units = Units::bought(first, price(published(self.since, calendar))?)?;
            Some(units.to_string())
        };
        self.units.clone().or_else(bought)
    }

    /// The enrolment as an answer shows it.
    pub(crate) fn shown(&self, now: u64, calendar: &Calendar) -> Value {
        let published = |day| published(day, calendar);
        let mut shown = json!({
            "reference": self.reference,
            "status": self.status,
            "fund": self.fund,
        });
        if matches!(
            self.status,
            EnrolmentStatus::Active | EnrolmentStatus::Suspended
        ) && let Some(members) = shown.as_object_mut()
        {
            let day = published(self.day.unwrap_or_else(|| today(now)));
            members.insert("units".into(), json!(self.units(calendar)));
            members.insert("price".into(), shown_price(day));
            let before = published(day.before());
            members.insert("previous".into(), shown_price(before));
            members.insert("month".into(), shown_price(published(back(day, MONTH))));
        }
        shown
    }
}

/// The day of an instant.
pub(super) fn today(now: u64) -> BusinessDay {
    Timestamp::from_millis(now).business_day()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> BusinessDay {
        BusinessDay::parse(text).unwrap()
    }

    #[test]
    fn prices_are_of_business_days_and_a_weekend_is_in_the_next_one() {
        let closed = ["03-23", "03-24"];
        let calendar = Calendar::read([("2026", closed)]).unwrap();
        for (asked, published_on, before) in [
            ("2026-03-06", "2026-03-06", "2026-03-05"),
            ("2026-03-07", "2026-03-06", "2026-03-05"),
            ("2026-03-09", "2026-03-09", "2026-03-06"),
            // A bridge day and a holiday after a weekend.
            ("2026-03-24", "2026-03-20", "2026-03-19"),
            ("2026-03-25", "2026-03-25", "2026-03-20"),
            // Beyond the list, only weekends.
            ("2031-01-05", "2031-01-03", "2031-01-02"),
        ] {
            let found = published(day(asked), &calendar);
            assert_eq!(found, day(published_on), "{asked}");
            assert_eq!(published(found.before(), &calendar), day(before), "{asked}");
        }
        let gained = |from, to| {
            let text = |at| price(day(at)).unwrap().to_string().replace('.', "");
            text(to).parse::<i64>().unwrap() - text(from).parse::<i64>().unwrap()
        };
        assert_eq!(gained("2026-03-05", "2026-03-06"), GAIN);
        assert_eq!(gained("2026-03-06", "2026-03-09"), 3 * GAIN);
    }
}
