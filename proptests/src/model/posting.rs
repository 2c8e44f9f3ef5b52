//! Movements of the model: adjustments, raw movements of every direction, and floods of credit.

use super::calendar;
use super::{Answer, CEILING, LARGEST, Model, Movement, State, View};
use crate::generators::ops::{Pick, Posting, Way};
use crate::generators::{EXTERNAL_IDS, WORLD};

impl Model {
    /// An adjustment; checks in this order whether it was seen before, the type, the account's
    /// state, the money.
    pub(super) fn post(&mut self, posting: &Posting) -> Answer {
        let index = posting.account;
        let (realm, _, _) = WORLD[index];
        self.amount = self.resolve(index, posting.amount);
        self.external = match posting.external {
            Some(known) => EXTERNAL_IDS[known].to_owned(),
            None => {
                self.fresh += 1;
                format!("fresh-{}", self.fresh)
            }
        };
        let Some((way, active, system)) = self.find_type(realm, &posting.code) else {
            return Answer::Refused("voucher_type_unknown");
        };
        // An account without a CVU cannot be posted to, whatever else is wrong.
        match self.accounts[index].state {
            State::Registered => return Answer::Refused("account_without_cvu"),
            State::Void => return Answer::Refused("account_not_found"),
            State::Active | State::Suspended | State::Closed => {}
        }
        let key = (self.external.clone(), letter(way));
        if let Some((holder, at)) = self.realm(realm).keys.get(&key).copied() {
            return self.seen(posting, holder, at);
        }
        if system {
            return Answer::Refused("voucher_type_is_system");
        }
        if !active {
            return Answer::Refused("voucher_type_inactive");
        }
        if let Some(refusal) = self.refused_by_state(index, way) {
            return Answer::Refused(refusal);
        }
        if way == Way::Debit && !self.within_daily_amount(index) {
            return Answer::Refused("limit_exceeded");
        }
        match self.record(index, way, self.amount, &posting.code) {
            Ok(view) => {
                let at = self.accounts[index].movements.len() - 1;
                self.realm(realm).keys.insert(key, (index, at));
                Answer::Recorded(view)
            }
            Err(why) => Answer::Refused(why),
        }
    }

    /// The answer to a repetition: the same data get the first answer; otherwise it counts the
    /// fields that differ.
    fn seen(&self, posting: &Posting, holder: usize, at: usize) -> Answer {
        let before = &self.accounts[holder].movements[at];
        let differs = usize::from(holder != posting.account)
            + usize::from(before.amount != self.amount)
            + usize::from(before.code != posting.code);
        match differs {
            0 => Answer::Replayed(before.view.clone()),
            _ => Answer::Reused {
                number: WORLD[holder].1,
                sequence: before.view.sequence,
                differs,
            },
        }
    }

    /// The refusal by the account's state: disabled accounts take no adjustments; suspended ones
    /// let nothing out; closed ones only give back what is left.
    fn refused_by_state(&self, index: usize, way: Way) -> Option<&'static str> {
        let account = &self.accounts[index];
        match account.state {
            State::Closed if way != Way::Debit => Some("account_closed"),
            State::Suspended if way == Way::Debit => Some("account_suspended"),
            State::Active | State::Suspended if !account.enabled => Some("account_disabled"),
            _ => None,
        }
    }

    /// Whether the movement, with what has already left on its day, stays within the account's
    /// limit. A closed account gives back what is left whatever the limit.
    fn within_daily_amount(&self, index: usize) -> bool {
        let account = &self.accounts[index];
        let last = account.movements.last().map_or(0, |last| last.view.at);
        let today = calendar::day(self.now.max(last));
        let left: i128 = (account.movements.iter())
            .filter(|m| matches!(m.way, Way::Debit | Way::Hold))
            .filter(|m| calendar::day(m.view.at) == today)
            .map(|m| m.amount)
            .sum();
        let fits = |most| left + self.amount <= most;
        account.state == State::Closed || account.daily_amount.is_none_or(fits)
    }

    /// A movement that no adjustment can make, judged by the arithmetic alone.
    pub(super) fn movement(&mut self, index: usize, way: Way, pick: Pick) -> Answer {
        self.amount = self.resolve(index, pick);
        if matches!(self.accounts[index].state, State::Registered | State::Void) {
            return Answer::Nothing;
        }
        match self.record(index, way, self.amount, "CREDIT") {
            Ok(view) => Answer::Recorded(view),
            Err(why) => Answer::Refused(why),
        }
    }

    /// Credits of the largest amount while there is room.
    pub(super) fn flood(&mut self, index: usize) -> Answer {
        let mut count = 0;
        if !matches!(self.accounts[index].state, State::Registered | State::Void) {
            while self.record(index, Way::Credit, LARGEST, "CREDIT").is_ok() {
                count += 1;
            }
        }
        Answer::Facts(count)
    }

    /// Applies the table of the domain, §6.1, in `i128`.
    fn record(
        &mut self,
        index: usize,
        way: Way,
        amount: i128,
        code: &str,
    ) -> Result<View, &'static str> {
        let account = &mut self.accounts[index];
        let (da, dh) = match way {
            Way::Credit => (amount, 0),
            Way::Debit => (-amount, 0),
            Way::Hold => (-amount, amount),
            Way::Release => (amount, -amount),
            Way::ConfirmHold => (0, -amount),
        };
        let (available, held) = (account.available + da, account.held + dh);
        if available < 0 {
            return Err("insufficient_funds");
        }
        if held < 0 {
            return Err("insufficient_held");
        }
        if available + held > CEILING {
            return Err("amount_overflow");
        }
        let last = account
            .movements
            .last()
            .map_or(0, |movement| movement.view.at);
        let sequence = u64::try_from(account.movements.len()).unwrap() + 1;
        let view = View {
            sequence,
            available,
            held,
            at: self.now.max(last),
        };
        account.available = available;
        account.held = held;
        account.movements.push(Movement {
            view: view.clone(),
            way,
            amount,
            code: code.to_owned(),
        });
        Ok(view)
    }
}

/// The direction as part of an idempotency key.
fn letter(way: Way) -> char {
    match way {
        Way::Credit => 'c',
        Way::Debit => 'd',
        Way::Hold => 'h',
        Way::Release => 'r',
        Way::ConfirmHold => 'x',
    }
}
