//! The fund of the sandbox: enrolments of CVUs, their units, and a price for each business day.
//!
//! **Prices** follow from the day alone: they grow by the same sum every calendar day, and are
//! published on days on which banks are open, so that a weekend's yield is in the price of the next
//! business day. Units are what [`FIRST`] pesos bought on the day of the enrolment, unless the bank
//! is told otherwise.

use caudal_ledger::calendar::Calendar;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::money::Amount;
use caudal_ledger::remuneration::{BrokerageAccount, UnitPrice, Units};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::book::Book;
use super::refusals::{Trouble, refusal};
use super::worlds::World;

/// The form of a line of an enrolment on disk.
pub(super) const FORMAT: u8 = 1;
/// The word that sets a line of an enrolment apart.
pub(super) const KIND: &str = "remuneration";
/// The fund of who names none.
const FUND: &str = "CAUDAL MONEY MARKET";
/// What is subscribed on the day of the enrolment, in pesos.
const FIRST: &str = "100000.00";
/// The price on 2020-01-01, and what it gains every calendar day, in millionths of a peso.
const PRICE: i64 = 1_000_000_000;
const GAIN: i64 = 941_570;
/// How far back the price for the yearly rate is, in days.
const MONTH: usize = 30;
/// More days than banks are ever closed at a stretch.
const CLOSED_MAX: usize = 31;
/// The longest reference, in bytes.
const REFERENCE_MAX: usize = 40;

/// Where an enrolment stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Status {
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
    cvu: Cvu,
    brokerage_account: BrokerageAccount,
    fund: String,
    /// The fund that was asked for.
    asked: Option<String>,
    status: Status,
    /// The day of its first subscription.
    since: BusinessDay,
    /// The units that the bank was told of.
    units: Option<String>,
    /// The day as of which the bank was told to value it, instead of today.
    day: Option<BusinessDay>,
}

/// A line on disk.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    kind: String,
    format: u8,
    pub enrolment: Enrolled,
}

impl Line {
    pub fn of(enrolment: &Enrolled) -> Self {
        Self {
            kind: KIND.to_owned(),
            format: FORMAT,
            enrolment: enrolment.clone(),
        }
    }
}

/// The body of an enrolment.
#[derive(Debug, Deserialize)]
pub(super) struct Enrol {
    #[serde(default)]
    reference: String,
    #[serde(default)]
    cvu: String,
    #[serde(default)]
    cuit: String,
    #[serde(default)]
    brokerage_account: String,
    fund: Option<String>,
}

/// The body of `POST /sandbox/remuneration/{cvu}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tell {
    status: Option<Status>,
    units: Option<String>,
    day: Option<String>,
}

/// Whether banks are open; in years that nobody has listed, weekends are all that a sandbox knows of.
fn open(day: BusinessDay, calendar: &Calendar) -> bool {
    calendar.is_banking_day(day).unwrap_or(!day.is_weekend())
}

fn back(day: BusinessDay, days: usize) -> BusinessDay {
    (0..days).fold(day, |day, _| day.before())
}

/// The last business day up to and with a day.
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
    fn is_over(&self) -> bool {
        matches!(self.status, Status::Rejected | Status::Ended)
    }

    fn units(&self, calendar: &Calendar) -> Option<String> {
        let bought = || {
            let first = Amount::parse(FIRST).ok()?;
            let units = Units::bought(first, price(published(self.since, calendar))?)?;
            Some(units.to_string())
        };
        self.units.clone().or_else(bought)
    }

    fn shown(&self, now: u64, calendar: &Calendar) -> Value {
        let published = |day| published(day, calendar);
        let mut shown = json!({
            "reference": self.reference,
            "status": self.status,
            "fund": self.fund,
        });
        if matches!(self.status, Status::Active | Status::Suspended)
            && let Some(members) = shown.as_object_mut()
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

fn today(now: u64) -> BusinessDay {
    Timestamp::from_millis(now).business_day()
}

impl Book {
    /// Enrols a CVU, or gives what the reference has made before. The last character of the
    /// brokerage account decides: 1 is rejected, 2 waits until the bank is told.
    pub fn enrol(&mut self, world: World, order: &Enrol, now: u64) -> Result<Value, Trouble> {
        let reference = &order.reference;
        let good = (1..=REFERENCE_MAX).contains(&reference.len())
            && reference.bytes().all(|b| b.is_ascii_graphic());
        let brokerage_account = BrokerageAccount::parse(&order.brokerage_account);
        let (true, Ok(brokerage_account)) = (good, brokerage_account) else {
            return Err(Trouble::Bad("reference or brokerage_account is none"));
        };
        let account = self.open_by_cvu(world, &order.cvu)?;
        if account.cuit.as_str() != order.cuit {
            return Err(refusal("VW009").into());
        }
        let cvu = account.cvu;
        if let Some(known) = self.fund.get(reference) {
            let same = known.cvu == cvu
                && known.brokerage_account == brokerage_account
                && known.asked == order.fund;
            return match same {
                true => Ok(known.shown(now, &self.calendar)),
                false => Err(refusal("RM002").into()),
            };
        }
        if self.fund.values().any(|it| it.cvu == cvu && !it.is_over()) {
            return Err(refusal("RM003").into());
        }
        let status = match order.brokerage_account.bytes().next_back() {
            Some(b'1') => Status::Rejected,
            Some(b'2') => Status::Pending,
            _ => Status::Active,
        };
        let enrolled = Enrolled {
            reference: reference.clone(),
            cvu,
            brokerage_account,
            fund: order.fund.clone().unwrap_or_else(|| FUND.to_owned()),
            asked: order.fund.clone(),
            status,
            since: today(now),
            units: None,
            day: None,
        };
        let shown = enrolled.shown(now, &self.calendar);
        self.keep_enrolled(enrolled)?;
        Ok(shown)
    }

    /// How far an enrolment is; that of a closed CVU has ended.
    pub fn enrolled(&self, world: World, reference: &str, now: u64) -> Result<Value, Trouble> {
        let known = self.fund.get(reference);
        let known = known.filter(|it| self.home_of(&it.cvu) == world);
        let known = known.ok_or_else(|| refusal("RM001"))?;
        let closed = self
            .by_cvu(known.cvu.as_str())
            .is_none_or(|(_, it)| !it.active);
        let mut known = known.clone();
        if closed && !known.is_over() {
            known.status = Status::Ended;
        }
        Ok(known.shown(now, &self.calendar))
    }

    /// Changes the last enrolment of a CVU, as the bank is told to.
    pub fn tell_enrolled(&mut self, cvu: &str, order: &Tell, now: u64) -> Result<Value, Trouble> {
        let units = order.units.as_deref().map(Units::parse);
        let day = order.day.as_deref().map(BusinessDay::parse);
        if units == Some(None) || day == Some(None) {
            return Err(Trouble::Bad("units or day is none"));
        }
        let of_it = self.fund.values().filter(|it| it.cvu.as_str() == cvu);
        // One that is not over is the only one of its kind.
        let last = of_it.min_by_key(|it| it.is_over());
        let known = last.ok_or_else(|| refusal("RM001"))?;
        let enrolled = Enrolled {
            status: order.status.unwrap_or(known.status),
            units: order.units.clone().or_else(|| known.units.clone()),
            day: day.flatten().or(known.day),
            ..known.clone()
        };
        let shown = enrolled.shown(now, &self.calendar);
        self.keep_enrolled(enrolled)?;
        Ok(shown)
    }
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
            // A bridge and a holiday after a weekend.
            ("2026-03-24", "2026-03-20", "2026-03-19"),
            ("2026-03-25", "2026-03-25", "2026-03-20"),
            // Beyond the list, weekends alone.
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
