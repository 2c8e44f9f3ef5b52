//! The tenant's orders in the naive book: adjustments, holds and their steps.

use super::WORLD;
use super::answer::Answer;
use super::book::{Book, Event, State, Tale};
use super::ops::{End, Part, Pick};

impl Book {
    /// An adjustment; checks in this order whether it was seen before, the state, the limits, the
    /// money.
    pub(super) fn post(
        &mut self,
        index: usize,
        credit: bool,
        key: Option<usize>,
        pick: Pick,
    ) -> Answer {
        self.turn(index);
        let amount = self.resolve(index, pick);
        let key = self.resolve_key(key);
        let (way, code) = if credit {
            ("credit", "BONUS")
        } else {
            ("debit", "TOLL")
        };
        if let Some(refusal) = self.is_nobody(index) {
            return refusal;
        }
        if let Some((holder, place)) = self.find(WORLD[index].0, &key, way) {
            let before = &self.purses[holder].events[place];
            let differs = [
                ("cvu", holder != index),
                ("amount", before.amount != amount),
                ("voucherTypeCode", before.code != code),
            ];
            return seen(WORLD[holder].1, place, &differs);
        }
        let mark = self.mark();
        let event = Event {
            key: Some(key),
            ..self.event(way, amount, code, Tale::Adjustment)
        };
        let done = self
            .may_adjust(index, credit, amount)
            .and_then(|()| self.put(index, event).map_err(Answer::Refused))
            .and_then(|()| self.charge(index));
        self.close(&mark, done)
    }

    /// Whether the account's state allows an adjustment: disabled accounts take none, suspended
    /// ones let nothing out, and closed ones only give back what is left.
    fn may_adjust(&self, index: usize, credit: bool, amount: i128) -> Result<(), Answer> {
        let purse = &self.purses[index];
        match purse.state {
            State::Closed if credit => Err(Answer::Refused("account_closed")),
            State::Suspended if !credit => Err(Answer::Refused("account_suspended")),
            State::Closed => Ok(()),
            _ if !purse.enabled => Err(Answer::Refused("account_disabled")),
            _ if credit => self.may_come(index, amount),
            _ => self.may_leave(index, amount),
        }
    }

    /// Opens a hold.
    pub(super) fn hold(
        &mut self,
        index: usize,
        key: Option<usize>,
        pick: Pick,
        end: End,
    ) -> Answer {
        self.turn(index);
        let amount = self.resolve(index, pick);
        let key = self.resolve_key(key);
        let ends = self.resolve_end(end);
        if let Some(refusal) = self.is_nobody(index) {
            return refusal;
        }
        if let Some((holder, place)) = self.find(WORLD[index].0, &key, "hold") {
            let before = &self.purses[holder].events[place];
            let differs = [
                ("cvu", holder != index),
                ("amount", before.amount != amount),
            ];
            return seen(WORLD[holder].1, place, &differs);
        }
        if let Err(refusal) = self.may_send(index) {
            return refusal;
        }
        if ends.is_some_and(|end| end <= self.instant(index)) {
            return Answer::Refused("expiry_in_the_past");
        }
        let mark = self.mark();
        let event = Event {
            key: Some(key),
            ends,
            ..self.event("hold", amount, "HOLD", Tale::Opens)
        };
        let done = self
            .may_leave(index, amount)
            .and_then(|()| self.put(index, event).map_err(Answer::Refused))
            .and_then(|()| self.charge(index));
        self.close(&mark, done)
    }

    /// Confirms or releases a part of a hold, or the rest of it.
    pub(super) fn step_hold(&mut self, newest: usize, confirm: bool, part: Part) -> Answer {
        let Some((index, hold)) = self.all_holds().get(newest).copied() else {
            return Answer::Nothing;
        };
        self.target = Some((index, hold));
        self.turn(index);
        let rest = self.hold_rest(index, hold);
        let amount = self.part(rest, part);
        if rest == 0 {
            return Answer::Refused("hold_not_open");
        }
        // On a closed account an open hold can always be settled, whatever the account's other
        // state.
        let purse = &self.purses[index];
        match purse.state {
            State::Suspended if confirm => return Answer::Refused("account_suspended"),
            State::Active if confirm && !purse.enabled => {
                return Answer::Refused("account_disabled");
            }
            _ => {}
        }
        if amount > rest {
            return Answer::Refused("hold_remaining");
        }
        let mark = self.mark();
        let done = if confirm {
            let step = self.event(
                "confirm_hold",
                amount,
                "CONFIRM_HOLD",
                Tale::Step(hold, false),
            );
            let put = self.put(index, step).map_err(Answer::Refused);
            put.and_then(|()| self.charge(index))
        } else {
            let step = Event {
                returns: Some(hold),
                ..self.event("release", amount, "RELEASE", Tale::Step(hold, false))
            };
            let put = self.put(index, step).map_err(Answer::Refused);
            put.and_then(|()| self.charge(index))
        };
        self.close(&mark, done)
    }

    /// The refusal if the account does not exist for anybody, or has no CVU.
    pub(super) fn is_nobody(&self, index: usize) -> Option<Answer> {
        match self.purses[index].state {
            State::Registered => Some(Answer::Refused("account_without_cvu")),
            State::Void => Some(Answer::Refused("account_not_found")),
            State::Active | State::Suspended | State::Closed => None,
        }
    }

    /// Whether the account's state allows a new hold or transfer.
    pub(super) fn may_send(&self, index: usize) -> Result<(), Answer> {
        let purse = &self.purses[index];
        if let Some(refusal) = self.is_nobody(index) {
            return Err(refusal);
        }
        match purse.state {
            State::Closed => Err(Answer::Refused("account_closed")),
            State::Suspended => Err(Answer::Refused("account_suspended")),
            _ if !purse.enabled => Err(Answer::Refused("account_disabled")),
            _ => Ok(()),
        }
    }

    /// The adjustment or hold of a realm that has an external id in a direction.
    fn find(&self, realm: u32, key: &str, way: &str) -> Option<(usize, usize)> {
        for (index, purse) in self.purses.iter().enumerate() {
            if WORLD[index].0 != realm {
                continue;
            }
            let mut events = purse.events.iter();
            let found = events.position(|event| {
                matches!(event.tale, Tale::Adjustment | Tale::Opens)
                    && event.way == way
                    && event.key.as_deref() == Some(key)
            });
            if let Some(place) = found {
                return Some((index, place));
            }
        }
        None
    }
}

/// The answer to a repetition: the same data get the first answer; otherwise it names the fields
/// that differ.
pub(super) fn seen(number: u64, place: usize, differs: &[(&'static str, bool)]) -> Answer {
    let sequence = u64::try_from(place).unwrap() + 1;
    let fields: Vec<_> = (differs.iter())
        .filter(|(_, differs)| *differs)
        .map(|(name, _)| *name)
        .collect();
    if fields.is_empty() {
        Answer::Replayed(number, sequence)
    } else {
        Answer::Reused(number, sequence, fields)
    }
}
