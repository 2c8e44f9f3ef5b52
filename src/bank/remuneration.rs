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
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::read;
use super::redact::last4;
use super::refusals;
use super::wire::{self, BankRequest, BankResponse, Verdict};

/// The code of an enrolment that the bank does not know.
const UNKNOWN: &str = "RM001";
/// The operation that asks for the state of an enrolment, in the journal.
const STATUS: &str = "remuneration_status";

fn path<'a>(collector: &'a str, reference: Option<&'a str>) -> Vec<&'a str> {
    let mut path = vec!["banks", "322", "accounts", collector, "owner", "wallet"];
    path.push("remuneration");
    path.extend(reference);
    path
}

impl BankRequest<FundWord> {
    /// Enrols an account, or returns the enrolment that its reference has already made.
    pub(crate) fn enrol(collector: &str, order: &EnrolmentOrder) -> Self {
        let reference = order.reference.clone();
        let judge = Box::new(move |answer: &BankResponse| {
            if answer.is_success() {
                let record = answer
                    .read()
                    .and_then(|record: BankRecord| record.word(&reference));
                return record.map_or(Verdict::Nonsense, Verdict::Done);
            }
            wire::verdict(answer, refusals::ENROL)
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
        Self {
            method: Method::POST,
            body: Some(body),
            redacted: redacted.to_string(),
            ..Self::get("remuneration", &path(collector, None), judge)
        }
        .about(order.reference.clone())
    }

    /// Asks for an enrolment that may have been made a moment ago: if it is not there yet, it is looked for again.
    pub(crate) fn enrolled(collector: &str, reference: &str) -> Self {
        let asked = reference.to_owned();
        let judge = Box::new(
            move |answer: &BankResponse| match judge_position(answer, &asked) {
                Verdict::Done(Some(report)) => Verdict::Done(report.word),
                Verdict::Done(None) => Verdict::NotYet,
                Verdict::Refused | Verdict::NotYet | Verdict::Nonsense => Verdict::Nonsense,
            },
        );
        let path = path(collector, Some(reference));
        Self::get(STATUS, &path, judge).about(reference.to_owned())
    }
}

impl BankRequest<Option<FundReport>> {
    /// Asks for the state of an enrolment and its position.
    pub(crate) fn fund_position(collector: &str, reference: &str) -> Self {
        let asked = reference.to_owned();
        let judge = Box::new(move |answer: &BankResponse| judge_position(answer, &asked));
        let path = path(collector, Some(reference));
        Self::get(STATUS, &path, judge).about(reference.to_owned())
    }
}

fn judge_position(answer: &BankResponse, asked: &str) -> Verdict<Option<FundReport>> {
    if answer.is_success() {
        let record = answer
            .read()
            .and_then(|record: BankRecord| record.read(asked));
        return record.map_or(Verdict::Nonsense, |record| Verdict::Done(Some(record)));
    }
    // Any other refusal is about the request and tells nothing about the enrolment.
    match wire::code_of(answer).as_str() {
        UNKNOWN => Verdict::Done(None),
        _ => Verdict::Nonsense,
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
