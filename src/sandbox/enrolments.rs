//! The effects on enrolments of CVUs in the fund: made, asked for, and changed by the sandbox's switches.

use caudal_ledger::remuneration::{BrokerageAccount, Units};
use caudal_ledger::time::BusinessDay;
use serde::Deserialize;
use serde_json::Value;

use super::book::Book;
use super::fund::{Enrolled, EnrolmentStatus, today};
use super::refusals::{NoEffect, refusal};
use super::worlds::World;

/// The fund of an enrolment that names none.
const FUND: &str = "CAUDAL MONEY MARKET";
/// The longest reference, in bytes.
const REFERENCE_MAX: usize = 40;

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
    status: Option<EnrolmentStatus>,
    units: Option<String>,
    day: Option<String>,
}

impl Book {
    /// Enrols a CVU, or returns the enrolment that the reference has already made. The last character of the
    /// brokerage account decides: with 1 it is rejected, with 2 it waits for an order to the bank.
    pub(crate) fn enrol(
        &mut self,
        world: World,
        order: &Enrol,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let now = self.time_of(world.collector, now);
        let reference = &order.reference;
        let good = (1..=REFERENCE_MAX).contains(&reference.len())
            && reference.bytes().all(|b| b.is_ascii_graphic());
        let brokerage_account = BrokerageAccount::parse(&order.brokerage_account);
        let (true, Ok(brokerage_account)) = (good, brokerage_account) else {
            return Err(NoEffect::Bad("reference or brokerage_account is none"));
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
            return if same {
                Ok(known.shown(now, &self.calendar))
            } else {
                Err(refusal("RM002").into())
            };
        }
        if self.fund.values().any(|it| it.cvu == cvu && !it.is_over()) {
            return Err(refusal("RM003").into());
        }
        let status = match order.brokerage_account.bytes().next_back() {
            Some(b'1') => EnrolmentStatus::Rejected,
            Some(b'2') => EnrolmentStatus::Pending,
            _ => EnrolmentStatus::Active,
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

    /// The state of an enrolment; that of a closed CVU has ended.
    pub(crate) fn enrolled(
        &self,
        world: World,
        reference: &str,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let now = self.time_of(world.collector, now);
        let known = self.fund.get(reference);
        let known = known.filter(|it| self.home_of(&it.cvu) == world);
        let known = known.ok_or_else(|| refusal("RM001"))?;
        let closed = self
            .by_cvu(known.cvu.as_str())
            .is_none_or(|(_, it)| !it.active);
        let mut known = known.clone();
        if closed && !known.is_over() {
            known.status = EnrolmentStatus::Ended;
        }
        Ok(known.shown(now, &self.calendar))
    }

    /// Changes an enrolment of a CVU, as the order says: the one that is not over, if there is one.
    pub(crate) fn tell_enrolled(
        &mut self,
        cvu: &str,
        order: &Tell,
        now: u64,
    ) -> Result<Value, NoEffect> {
        let units = order.units.as_deref().map(Units::parse);
        let day = order.day.as_deref().map(BusinessDay::parse);
        if units == Some(None) || day == Some(None) {
            return Err(NoEffect::Bad("units or day is none"));
        }
        let of_it = self.fund.values().filter(|it| it.cvu.as_str() == cvu);
        // Only one enrolment of a CVU can be not yet over.
        let last = of_it.min_by_key(|it| it.is_over());
        let known = last.ok_or_else(|| refusal("RM001"))?;
        let enrolled = Enrolled {
            status: order.status.unwrap_or(known.status),
            units: order.units.clone().or_else(|| known.units.clone()),
            day: day.flatten().or(known.day),
            ..known.clone()
        };
        let now = self.time_of(self.home_of(&enrolled.cvu).collector, now);
        let shown = enrolled.shown(now, &self.calendar);
        self.keep_enrolled(enrolled)?;
        Ok(shown)
    }
}
