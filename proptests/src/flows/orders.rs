//! The tenant's orders in the naive book: adjustments, holds and their steps.

use caudal_ledger::limits::PerKind;

use super::AMOUNTS;
use super::WORLD;
use super::answer::Answer;
use super::book::{Book, Event, HoldParts, State, Tale};
use super::ops::{Amend, End, Part, Pick};
use crate::model::LARGEST;

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
        let limited = self.types[usize::from(credit)] != PerKind::default();
        let event = Event {
            key: Some(key),
            limited,
            ..self.event(way, amount, code, Tale::Adjustment)
        };
        let done = self
            .may_adjust(index, (credit, false), amount)
            .and_then(|()| self.type_allows(index, &event))
            .and_then(|()| self.put(index, event).map_err(Answer::Refused))
            .and_then(|()| self.charge(index));
        self.close(&mark, done)
    }

    /// Whether the account's state allows an adjustment: disabled accounts take none, suspended
    /// ones let nothing out, and closed ones only give back what is left.
    fn may_adjust(
        &self,
        index: usize,
        (credit, refund): (bool, bool),
        amount: i128,
    ) -> Result<(), Answer> {
        let purse = &self.purses[index];
        match purse.state {
            State::Closed if credit => Err(Answer::Refused("account_closed")),
            State::Suspended if !credit => Err(Answer::Refused("account_suspended")),
            State::Closed => Ok(()),
            _ if !purse.enabled => Err(Answer::Refused("account_disabled")),
            _ if credit && refund => self.may_return(index, amount),
            _ if credit => self.may_come(index, amount),
            _ => self.may_leave(index, amount),
        }
    }

    /// Opens a hold.
    pub(super) fn hold(
        &mut self,
        (index, key): (usize, Option<usize>),
        pick: Pick,
        end: End,
        tolerance: u8,
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
            tolerance,
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
        // A confirmation may exceed what is left by as much as the hold tolerates.
        let more = amount - rest;
        let opening = &self.purses[index].events[hold];
        let parts = self.parts(index, hold);
        let tolerated = parts.amount * i128::from(opening.tolerance) / 100;
        if more > 0 && (!confirm || more > tolerated) {
            return Answer::Refused("hold_remaining");
        }
        if more > 0 && parts.amount + more > LARGEST {
            return Answer::Refused("amount_overflow");
        }
        let mark = self.mark();
        if more > 0 {
            let raised = self.raise(index, (hold, parts.ends), more);
            if raised.is_err() {
                return self.close(&mark, raised);
            }
        }
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

    /// Sets more apart for a hold that ends then, without a fee.
    fn raise(
        &mut self,
        index: usize,
        (hold, ends): (usize, Option<u64>),
        more: i128,
    ) -> Result<(), Answer> {
        self.may_send(index)?;
        self.may_leave(index, more)?;
        let event = Event {
            ends,
            ..self.event("hold", more, "HOLD", Tale::Amends(hold))
        };
        self.put(index, event).map_err(Answer::Refused)
    }

    /// Raises, lowers or extends a hold.
    pub(super) fn amend(
        &mut self,
        newest: usize,
        amount: Option<Amend>,
        end: Option<End>,
    ) -> Answer {
        let Some((index, hold)) = self.all_holds().get(newest).copied() else {
            return Answer::Nothing;
        };
        self.target = Some((index, hold));
        self.turn(index);
        let parts = self.parts(index, hold);
        let wanted = amount.map(|amount| match amount {
            Amend::More(which) => parts.amount + AMOUNTS[which],
            Amend::Less(which) => parts.amount - AMOUNTS[which],
            Amend::Used(more) => parts.confirmed + parts.released + i128::from(more),
        });
        let wanted = wanted.map(|wanted| wanted.clamp(1, LARGEST));
        self.amount = wanted;
        self.moved_end = end.map(|end| self.resolve_end(end));
        if parts.rest() == 0 {
            return Answer::Refused("hold_not_open");
        }
        let ends = self.moved_end.unwrap_or(parts.ends);
        if ends != parts.ends && ends.is_some_and(|end| end <= self.instant(index)) {
            return Answer::Refused("expiry_in_the_past");
        }
        let mark = self.mark();
        let amount = wanted.unwrap_or(parts.amount);
        let done = self.amended(index, (hold, &parts), amount, ends);
        match self.close(&mark, done) {
            Answer::Recorded(lines) if lines.is_empty() => Answer::Changed(false),
            answer => answer,
        }
    }

    fn amended(
        &mut self,
        index: usize,
        (hold, parts): (usize, &HoldParts),
        amount: i128,
        ends: Option<u64>,
    ) -> Result<(), Answer> {
        if ends != parts.ends {
            self.may_send(index)?;
            for (way, code) in [("release", "RELEASE"), ("hold", "HOLD")] {
                let event = Event {
                    ends,
                    ..self.event(way, parts.rest(), code, Tale::Extends(hold))
                };
                self.put(index, event).map_err(Answer::Refused)?;
            }
        }
        if amount > parts.amount {
            self.raise(index, (hold, ends), amount - parts.amount)?;
            return self.charge(index);
        }
        let less = parts.amount - amount;
        if less > parts.rest() {
            return Err(Answer::Refused("hold_remaining"));
        }
        if less > 0 {
            let event = Event {
                ends,
                returns: Some(hold),
                ..self.event("release", less, "RELEASE", Tale::Amends(hold))
            };
            self.put(index, event).map_err(Answer::Refused)?;
        }
        Ok(())
    }

    /// What can be told to be reversed, newest first, by account and place: also what cannot.
    fn all_reversed(&self) -> Vec<(usize, usize)> {
        let of =
            |tale: &Tale| matches!(tale, Tale::Adjustment | Tale::Step(..) | Tale::Reverses(_));
        let mut all: Vec<_> = (self.purses.iter().enumerate())
            .flat_map(|(index, purse)| {
                let events = purse.events.iter().enumerate();
                let some = events.filter(|(_, event)| of(&event.tale));
                some.map(move |(place, event)| (event.at, place, index))
            })
            .collect();
        all.sort_unstable();
        let all = all.into_iter().rev();
        all.map(|(_, place, index)| (index, place)).collect()
    }

    /// What of an event is reversed.
    fn reversed(&self, index: usize, place: usize) -> i128 {
        let events = self.purses[index].events.iter();
        let of =
            events.filter(|it| it.tale == Tale::Reverses(place) || it.tale == Tale::FeeBack(place));
        of.map(|it| it.amount).sum()
    }

    /// Reverses an adjustment or a confirmed hold, in whole or in part.
    pub(super) fn refund(
        &mut self,
        newest: usize,
        part: Part,
        fees: bool,
        key: Option<usize>,
    ) -> Answer {
        let Some((index, place)) = self.all_reversed().get(newest).copied() else {
            return Answer::Nothing;
        };
        self.target = Some((index, place));
        self.turn(index);
        let original = self.purses[index].events[place].clone();
        let before = self.reversed(index, place);
        let rest = original.amount - before;
        let amount = self.part(rest, part);
        let key = self.resolve_key(key);
        if let Some(refusal) = self.is_nobody(index) {
            return refusal;
        }
        let adds = matches!(original.way, "credit" | "release");
        let way = if adds { "debit" } else { "credit" };
        if let Some((holder, at)) = self.find(WORLD[index].0, &key, way) {
            let known = &self.purses[holder].events[at];
            let differs = [
                ("cvu", holder != index),
                (
                    "amount",
                    self.amount.is_some_and(|sent| sent != known.amount),
                ),
                (
                    "reverses",
                    holder != index || known.tale != Tale::Reverses(place),
                ),
            ];
            return seen(WORLD[holder].1, at, &differs);
        }
        let confirms = original.way == "confirm_hold";
        if !(original.tale == Tale::Adjustment || confirms) {
            return Answer::Refused("voucher_not_reversible");
        }
        if rest == 0 || amount > rest {
            return Answer::Refused("reversal_exceeds");
        }
        let purse = &self.purses[index];
        if fees && purse.state == State::Closed {
            return Answer::Refused("account_closed");
        }
        if fees && !purse.enabled {
            return Answer::Refused("account_disabled");
        }
        let mark = self.mark();
        let event = Event {
            key: Some(key),
            ..self.event(way, amount, original.code, Tale::Reverses(place))
        };
        let done = self
            .may_adjust(index, (!adds, true), amount)
            .and_then(|()| self.put(index, event).map_err(Answer::Refused));
        let done = done.and_then(|()| match fees {
            true => self.give_back_fees(index, place, before, amount),
            false => Ok(()),
        });
        self.close(&mark, done)
    }

    /// Gives fee and tax of an event back, in proportion to what is reversed of it now.
    fn give_back_fees(
        &mut self,
        index: usize,
        place: usize,
        before: i128,
        amount: i128,
    ) -> Result<(), Answer> {
        let events = &self.purses[index].events;
        let charges: Vec<usize> = (0..events.len())
            .filter(|charge| events[*charge].tale == Tale::FeeOf(place))
            .collect();
        let whole = events[place].amount;
        let all: i128 = charges.iter().map(|it| events[*it].amount).sum();
        let left = |charge: &usize| events[*charge].amount - self.reversed(index, *charge);
        let left: Vec<i128> = charges.iter().map(left).collect();
        let total: i128 = left.iter().sum();
        // Half a centavo is rounded up.
        let due_of = |reversed: i128| (2 * all * reversed + whole) / (2 * whole);
        let due = (due_of(before + amount) - due_of(before)).min(total);
        let codes: Vec<_> = charges.iter().map(|it| events[*it].code).collect();
        let mut shares: Vec<i128> = left.iter().map(|it| due * it / total.max(1)).collect();
        let over = due - shares.iter().sum::<i128>();
        if over > 0 {
            // There are two at most, so one centavo is over: for the larger remainder, and for the fee if both are equal.
            let remainders: Vec<i128> = left.iter().map(|it| due * it % total).collect();
            let first = remainders.iter().max() == remainders.first();
            shares[usize::from(!first)] += over;
        }
        for ((charge, code), share) in charges.into_iter().zip(codes).zip(shares) {
            if share > 0 {
                let event = self.event("credit", share, code, Tale::FeeBack(charge));
                self.put(index, event).map_err(Answer::Refused)?;
            }
        }
        Ok(())
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
                matches!(
                    event.tale,
                    Tale::Adjustment | Tale::Opens | Tale::Reverses(_)
                ) && event.way == way
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
