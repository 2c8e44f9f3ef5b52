//! The life of an account in the model.

use super::{AccountModel, Answer, Model, State, Waiting};
use crate::generators::WORLD;
use crate::generators::ops::{Profile, Who};

impl Model {
    pub(super) fn order(&mut self, index: usize, order: &Profile) -> Answer {
        match self.refused_profile(index, order) {
            Some(refusal) => Answer::Refused(refusal),
            None => Answer::Facts(usize::from(self.take_order(index, order))),
        }
    }

    /// The reason for refusing an order, if there is one, in the words of the contract, §3.
    fn refused_profile(&self, index: usize, order: &Profile) -> Option<&'static str> {
        let account = &self.accounts[index];
        let needs_cvu = !matches!(
            order,
            Profile::SetEnabled(_) | Profile::Open | Profile::Contact(_)
        );
        match account.state {
            // An account that the bank refused to open never existed.
            State::Void => return Some("account_not_found"),
            // The switch belongs to the wallet account, whatever the state of its CVU.
            _ if matches!(order, Profile::SetEnabled(_)) => {}
            State::Registered if needs_cvu => return Some("account_without_cvu"),
            // Closing works in any state; an account with a CVU, even a closed one, gets the same
            // CVU again.
            State::Closed if matches!(order, Profile::Close | Profile::Open) => return None,
            State::Closed => return Some("account_closed"),
            // An account with a CVU gets it again, whatever it is waiting for.
            State::Active | State::Suspended if *order == Profile::Open => return None,
            State::Registered | State::Active | State::Suspended => {}
        }
        let total = account.available + account.held;
        let busy = account.waiting.is_some();
        let close_requires_zero = self.realms[&WORLD[index].0].close_requires_zero;
        match order {
            Profile::Reactivate if account.state != State::Suspended => {
                Some("account_not_suspended")
            }
            Profile::Close if close_requires_zero && total != 0 => Some("account_not_empty"),
            Profile::Identity(Who::OtherFirst) => Some("first_holder_differs"),
            Profile::Identity(Who::Twice) => Some("holder_twice"),
            Profile::Identity(Who::WrongType) => Some("person_type_contradicts"),
            Profile::Close | Profile::Identity(_) | Profile::Open if busy => {
                Some("operation_in_flight")
            }
            Profile::SetAlias(alias) if busy && !is_own(account, alias) => {
                Some("operation_in_flight")
            }
            _ => None,
        }
    }

    /// Applies an accepted order; returns whether anything changed.
    fn take_order(&mut self, index: usize, order: &Profile) -> bool {
        let account = &mut self.accounts[index];
        let before = account.clone();
        match order {
            Profile::Suspend(_) => account.state = State::Suspended,
            Profile::Reactivate => account.state = State::Active,
            Profile::SetAlias(alias) => {
                if !is_own(account, alias) {
                    account.waiting = Some(Waiting::Alias((*alias).to_owned()));
                }
            }
            Profile::Close => {
                if account.state != State::Closed {
                    account.waiting = Some(Waiting::Closing);
                }
            }
            Profile::Contact(Some(email)) => account.email = Some((*email).to_owned()),
            Profile::Contact(None) => {}
            Profile::DailyAmount(amount) => account.daily_amount = amount.map(i128::from),
            Profile::SetEnabled(enabled) => account.enabled = *enabled,
            Profile::Open => {
                if account.state == State::Registered {
                    account.waiting = Some(Waiting::Opening);
                }
            }
            Profile::Identity(_) => account.waiting = Some(Waiting::Identity),
        }
        *account != before
    }

    /// The bank accepts or refuses the pending request.
    pub(super) fn bank(&mut self, index: usize, yes: bool) -> Answer {
        let account = &mut self.accounts[index];
        let Some(waiting) = account.waiting.take() else {
            return Answer::Facts(0);
        };
        match (waiting, yes) {
            (Waiting::Opening, true) => account.state = State::Active,
            (Waiting::Opening, false) => account.state = State::Void,
            (Waiting::Alias(alias), true) => account.alias = Some(alias),
            (Waiting::Closing, true) => account.state = State::Closed,
            (Waiting::Identity, true)
            | (Waiting::Alias(_) | Waiting::Identity | Waiting::Closing, false) => {}
        }
        Answer::Facts(1)
    }
}

/// Whether an alias is the account's own; case does not matter.
fn is_own(account: &AccountModel, alias: &str) -> bool {
    let own = account.alias.as_deref();
    own.is_some_and(|own| own.eq_ignore_ascii_case(alias))
}
