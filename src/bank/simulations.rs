//! Orders to a sandbox to do something as if it had happened at the bank, for our collector account alone.

use caudal_actors::ports::Simulation;
use reqwest::Method;

use super::wire::{self, BankRequest, BankResponse, Verdict};

impl BankRequest<()> {
    /// Has a sandbox do something; a bank without simulations refuses with a code of its own or does not understand it.
    pub(crate) fn simulation(collector: &str, simulation: &Simulation) -> Self {
        let mut path = vec![
            "banks",
            "322",
            "accounts",
            collector,
            "owner",
            "simulations",
        ];
        path.extend(simulation.path.iter().map(String::as_str));
        let judge = Box::new(|answer: &BankResponse| {
            if answer.is_success() {
                return Verdict::Done(());
            }
            wire::of_question(answer)
        });
        Self {
            method: Method::POST,
            body: serde_json::from_str(&simulation.order).ok(),
            ..Self::get("simulation", &path, judge)
        }
    }
}
