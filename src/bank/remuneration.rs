//! Requests to the bank about remuneration: an enrolment in a fund, and its position.
//!
//! The bank's documents do not describe it, so the form is ours until they do: `POST …/owner/wallet/remuneration` and
//! `GET …/owner/wallet/remuneration/{reference}`, which answer `{reference, status, fund, units, price: {date,
//! value}, previous, month}` with units and prices as texts; `RM001` is an enrolment that the bank does not know.

use caudal_actors::ports::{EnrolmentOrder, FundReport};
use caudal_ledger::remuneration::{
    DayPrice, EnrolmentState, FundPosition, FundWord, NAME_MAX, UnitPrice, Units,
};
use caudal_ledger::time::BusinessDay;
use serde::Deserialize;
use serde_json::json;

use super::read;
use super::redact::last4;
use super::refusals;
use super::wire::{self, BankRequest, Judge, owner};

/// The code of an enrolment that the bank does not know.
const UNKNOWN: &str = "RM001";
/// The operation that asks for the state of an enrolment, in the journal.
const STATUS: &str = "remuneration_status";

/// The path of enrolments.
fn path<'a>(collector: &'a str, reference: &[&'a str]) -> Vec<&'a str> {
    owner(
        collector,
        &[&["wallet", "remuneration"], reference].concat(),
    )
}

/// Asks for an enrolment.
fn status<T>(collector: &str, reference: &str, judge: Judge<T>) -> BankRequest<T> {
    BankRequest::get(STATUS, &path(collector, &[reference]), judge).about(reference.to_owned())
}

/// Judges the state of an enrolment, which `read` reads from its record for the reference.
fn state<T: 'static>(
    reference: &str,
    read: fn(&BankRecord, &str) -> Option<T>,
) -> Judge<Option<T>> {
    let asked = reference.to_owned();
    wire::of_state(UNKNOWN, move |answer| {
        let record: BankRecord = answer.read()?;
        read(&record, &asked)
    })
}

impl BankRequest<FundWord> {
    /// Enrols an account, or returns the enrolment that its reference has already made.
    pub(crate) fn enrol(collector: &str, order: &EnrolmentOrder) -> Self {
        let reference = order.reference.clone();
        let judge = wire::of_order(refusals::ENROL, move |answer| {
            let record: BankRecord = answer.read()?;
            record.word(&reference)
        });
        let body = json!({
            "reference": order.reference,
            "cvu": order.cvu,
            "cuit": order.cuit,
            "brokerage_account": order.brokerage_account.as_str(),
            "fund": order.fund,
        });
        // The account at the broker identifies a person as much as a CUIT does.
        let redacted = json!({"cvu": last4(order.cvu.as_str()), "fund": order.fund});
        Self::post("remuneration", &path(collector, &[]), body, judge)
            .about(order.reference.clone())
            .recorded(&redacted)
    }

    /// Asks for an enrolment that may have been made a moment ago: if it is not there yet, it is looked for again.
    pub(crate) fn enrolled(collector: &str, reference: &str) -> Self {
        let word = |record: &BankRecord, asked: &str| Some(record.read(asked)?.word);
        status(
            collector,
            reference,
            wire::of_recent(state(reference, word)),
        )
    }
}

impl BankRequest<Option<FundReport>> {
    /// Asks for the state of an enrolment and its position.
    pub(crate) fn fund_position(collector: &str, reference: &str) -> Self {
        status(collector, reference, state(reference, BankRecord::read))
    }
}

/// An enrolment as the bank reports it.
#[derive(Deserialize)]
struct BankRecord {
    reference: String,
    status: String,
    #[serde(default)]
    fund: Option<String>,
    #[serde(default)]
    units: Option<String>,
    #[serde(default)]
    price: Option<Price>,
    #[serde(default)]
    previous: Option<Price>,
    #[serde(default)]
    month: Option<Price>,
}

#[derive(Deserialize)]
struct Price {
    date: String,
    value: String,
}

impl Price {
    fn read(&self) -> Option<DayPrice> {
        Some(DayPrice {
            day: BusinessDay::parse(&self.date)?,
            price: UnitPrice::parse(&self.value)?,
        })
    }
}

impl BankRecord {
    /// The state of the enrolment; `None` when it is another enrolment, or in an unknown state.
    fn word(&self, asked: &str) -> Option<FundWord> {
        let state = match self.status.as_str() {
            "PENDING" => EnrolmentState::Pending,
            "ACTIVE" => EnrolmentState::Active,
            "REJECTED" => EnrolmentState::Rejected,
            "SUSPENDED" => EnrolmentState::Suspended,
            "ENDED" => EnrolmentState::Ended,
            _ => return None,
        };
        let fund = self.fund.as_ref().map(|fund| read::line(fund, NAME_MAX));
        (self.reference == asked).then(|| FundWord {
            state,
            fund: fund.filter(|fund| !fund.is_empty()),
        })
    }

    /// Also `None` when a figure is invalid, or the prices are not in the order of their days: half of a position
    /// would be taken for the whole.
    fn read(&self, asked: &str) -> Option<FundReport> {
        let word = self.word(asked)?;
        let (Some(units), Some(price)) = (&self.units, &self.price) else {
            let position = None;
            return Some(FundReport { word, position });
        };
        let earlier = |price: &Option<Price>| match price {
            None => Some(None),
            Some(price) => price.read().map(Some),
        };
        let position = FundPosition {
            units: Units::parse(units)?,
            price: price.read()?,
            before: earlier(&self.previous)?,
            month: earlier(&self.month)?,
        };
        let newest_first = [Some(position.price), position.before, position.month];
        let days: Vec<_> = newest_first
            .into_iter()
            .flatten()
            .map(|it| it.day)
            .collect();
        let last = position.price.day;
        let ordered =
            days.is_sorted_by(|a, b| a >= b) && days.iter().filter(|it| **it == last).count() == 1;
        ordered.then_some(FundReport {
            word,
            position: Some(position),
        })
    }
}
