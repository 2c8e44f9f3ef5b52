//! The naive book: lists of what happened, from which it counts everything that it knows.
//!
//! It keeps nothing that it can count: no balance, no usage, no state of a hold or a transfer.

use std::collections::BTreeMap;

use caudal_ledger::limits::{LimitKind, PerKind};

use super::answer::{Answer, Line};
pub use super::events::{
    Chapter, Deed, Event, HoldParts, Purse, State, Tale, Temporary, Terms, effect,
};
use super::ops::{End, Level, Life, Op, Part, Pick};
use super::{AMOUNTS, KEYS, WITHOUT_CVU, WORLD};
use crate::model::{BEGINNING, CEILING, LARGEST};

/// Everything that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Book {
    pub now: u64,
    pub purses: Vec<Purse>,
    pub deeds: Vec<Deed>,
    pub psp: BTreeMap<u32, Terms>,
    pub platform: Terms,
    /// The limits of the two voucher types, that of debits first.
    pub types: [PerKind<Option<i128>>; 2],
    pub fresh: u64,
    /// The answer that the last operation should have.
    pub answer: Answer,
    /// The subject of the last operation: amount, external id, end, hold or transfer.
    pub amount: Option<i128>,
    pub key: String,
    pub ends: Option<u64>,
    /// The new end of a hold, if it gets another one.
    pub moved_end: Option<Option<u64>>,
    pub target: Option<(usize, usize)>,
    /// The accounts that the last operation may have changed.
    pub touched: Vec<usize>,
}

impl Book {
    /// The world that every run starts with.
    pub fn new() -> Self {
        let purse = |index| Purse {
            state: if index == WITHOUT_CVU {
                State::Registered
            } else {
                State::Active
            },
            enabled: true,
            terms: Terms::default(),
            events: Vec::new(),
        };
        Self {
            now: BEGINNING,
            purses: (0..WORLD.len()).map(purse).collect(),
            deeds: Vec::new(),
            psp: BTreeMap::from([(1, Terms::default()), (2, Terms::default())]),
            platform: Terms::default(),
            types: Default::default(),
            fresh: 0,
            answer: Answer::Nothing,
            amount: None,
            key: String::new(),
            ends: None,
            moved_end: None,
            target: None,
            touched: Vec::new(),
        }
    }

    /// Does one operation.
    pub fn step(&mut self, op: &Op) {
        self.touched.clear();
        self.target = None;
        self.answer = match op {
            Op::Post {
                account,
                credit,
                key,
                amount,
            } => self.post(*account, *credit, *key, *amount),
            Op::Hold {
                account,
                key,
                amount,
                end,
                tolerance,
            } => self.hold((*account, *key), *amount, *end, *tolerance),
            Op::Amend { hold, amount, end } => self.amend(*hold, *amount, *end),
            Op::Refund {
                voucher,
                part,
                fees,
                key,
            } => self.refund(*voucher, *part, *fees, *key),
            Op::Step {
                hold,
                confirm,
                part,
            } => self.step_hold(*hold, *confirm, *part),
            Op::Send {
                from,
                to,
                key,
                amount,
            } => self.send(*from, *to, *key, *amount),
            Op::Word {
                transfer,
                word,
                rail,
            } => self.word(*transfer, *word, *rail),
            Op::Verdict {
                transfer,
                completed,
            } => self.verdict(*transfer, *completed),
            Op::Reverse { transfer, part } => self.reverse(*transfer, *part),
            Op::CashIn { account, amount } => self.cash_in(*account, *amount),
            Op::Life { account, change } => self.life(*account, *change),
            Op::Limit { level, kind, value } => self.change(*level, |terms| {
                *terms.limits.get_mut(*kind) = value.map(i128::from);
            }),
            Op::Temporary { account, limit } => self.temporary(*account, *limit),
            Op::TypeLimit {
                credit,
                kind,
                value,
            } => self.type_limit(*credit, *kind, *value),
            Op::Fees { level, fees } => self.change(*level, |terms| terms.fees.clone_from(fees)),
            Op::Time { millis } => {
                self.now = self.now.saturating_add_signed(*millis);
                Answer::Nothing
            }
            Op::Until { more } => self.until(*more),
            Op::Restart => Answer::Nothing,
        };
    }

    /// The available and the held amount, counted from nothing.
    pub fn balance(&self, index: usize) -> (i128, i128) {
        let mut sums = (0, 0);
        for event in &self.purses[index].events {
            let (available, held) = effect(event);
            sums = (sums.0 + available, sums.1 + held);
        }
        sums
    }

    /// The instant that a movement of the account would have: never earlier than the last one.
    pub fn instant(&self, index: usize) -> u64 {
        let last = self.purses[index].events.last();
        self.now.max(last.map_or(0, |event| event.at))
    }

    /// A hold as it is now.
    pub fn parts(&self, index: usize, opened: usize) -> HoldParts {
        HoldParts::of(&self.purses[index].events, opened)
    }

    /// The amount of a hold that is still set apart.
    pub fn hold_rest(&self, index: usize, opened: usize) -> i128 {
        self.parts(index, opened).rest()
    }

    /// The state of a hold in a word.
    pub fn hold_word(&self, index: usize, opened: usize) -> &'static str {
        let parts = self.parts(index, opened);
        if parts.rest() > 0 {
            "open"
        } else if parts.confirmed > 0 {
            "confirmed"
        } else if parts.expired {
            "expired"
        } else {
            "released"
        }
    }

    /// Every hold of an account, by the place of the event that opened it.
    pub fn holds(&self, index: usize) -> Vec<usize> {
        let events = self.purses[index].events.iter().enumerate();
        events
            .filter(|(_, event)| event.tale == Tale::Opens)
            .map(|(place, _)| place)
            .collect()
    }

    /// Every hold that was ever opened, newest first, by account and place.
    pub fn all_holds(&self) -> Vec<(usize, usize)> {
        let mut all: Vec<_> = (0..self.purses.len())
            .flat_map(|index| self.holds(index).into_iter().map(move |h| (index, h)))
            .collect();
        all.sort_by_key(|(index, place)| (self.purses[*index].events[*place].at, *place, *index));
        all.reverse();
        all
    }

    /// The amount that open holds and transfers of an account set apart.
    pub fn set_apart(&self, index: usize) -> i128 {
        let holds = self.holds(index).into_iter();
        let holds: i128 = holds.map(|hold| self.hold_rest(index, hold)).sum();
        let deeds = self.deeds.iter().filter(|d| d.from == index && d.is_open());
        holds + deeds.map(|d| d.amount + d.fee + d.tax).sum::<i128>()
    }

    /// Begins a turn of an account, as every turn does: releases the holds that are due, soonest
    /// first.
    pub(super) fn turn(&mut self, index: usize) {
        self.touched.push(index);
        let mut due: Vec<_> = (self.holds(index).into_iter())
            .filter_map(|hold| Some((self.parts(index, hold).ends?, hold)))
            .filter(|(end, hold)| *end <= self.instant(index) && self.hold_rest(index, *hold) > 0)
            .collect();
        due.sort_unstable();
        for (_, hold) in due {
            let rest = self.hold_rest(index, hold);
            let step = Event {
                returns: Some(hold),
                ..self.event("release", rest, "RELEASE", Tale::Step(hold, true))
            };
            self.put(index, step).expect("what is held can be released");
        }
    }

    /// Moves time to the next end of an open hold, or just before or after it.
    fn until(&mut self, more: i8) -> Answer {
        let open = self.all_holds().into_iter();
        let ends = open
            .filter(|(index, hold)| self.hold_rest(*index, *hold) > 0)
            .filter_map(|(index, hold)| self.parts(index, hold).ends)
            .filter(|end| *end > self.now);
        let Some(next) = ends.min() else {
            return Answer::Nothing;
        };
        self.now = next.saturating_add_signed(more.into());
        Answer::Changed(true)
    }

    /// An event that belongs to nothing yet.
    pub(super) fn event(
        &self,
        way: &'static str,
        amount: i128,
        code: &'static str,
        tale: Tale,
    ) -> Event {
        Event {
            at: self.now,
            way,
            amount,
            code,
            tale,
            key: None,
            ends: None,
            returns: None,
            tolerance: 0,
            limited: false,
        }
    }

    /// Appends an event to an account's, if the balance allows it.
    pub(super) fn put(&mut self, index: usize, event: Event) -> Result<(), &'static str> {
        let at = self.instant(index);
        self.purses[index].events.push(Event { at, ..event });
        let (available, held) = self.balance(index);
        let refusal = if available < 0 || held < 0 {
            "insufficient_funds"
        } else if available + held > CEILING {
            "amount_overflow"
        } else {
            return Ok(());
        };
        self.purses[index].events.pop();
        Err(refusal)
    }

    /// The number of events of each account, for going back to.
    pub(super) fn mark(&self) -> Vec<usize> {
        self.purses.iter().map(|purse| purse.events.len()).collect()
    }

    /// Keeps everything that was put since a mark, or returns the refusal and drops all of it.
    pub(super) fn close(&mut self, mark: &[usize], done: Result<(), Answer>) -> Answer {
        if let Err(refusal) = done {
            for (purse, length) in self.purses.iter_mut().zip(mark) {
                purse.events.truncate(*length);
            }
            return refusal;
        }
        let mut lines = Vec::new();
        for (index, length) in mark.iter().enumerate() {
            lines.extend((*length..self.purses[index].events.len()).map(|p| self.line(index, p)));
        }
        Answer::Recorded(lines)
    }

    /// An event as a caller sees it.
    fn line(&self, index: usize, place: usize) -> Line {
        let events = &self.purses[index].events;
        let event = &events[place];
        let mut sums = (0, 0);
        for event in &events[..=place] {
            let (available, held) = effect(event);
            sums = (sums.0 + available, sums.1 + held);
        }
        let back = event.returns.map(|of| {
            if events[of].tale == Tale::Opens {
                return (
                    events[of].at,
                    HoldParts::of(&events[..=place], of).is_back(),
                );
            }
            let returned = events[..=place].iter().filter(|e| e.returns == Some(of));
            let returned: i128 = returned.map(|e| e.amount).sum();
            (events[of].at, returned == events[of].amount)
        });
        let name = |kind, index: usize, place| format!("{kind}:{}:{}", WORLD[index].1, place + 1);
        let deed = |deed: usize| name("trf", self.deeds[deed].from, self.deeds[deed].first);
        let (kind, refers) = match event.tale {
            Tale::Adjustment => ("adjustment", String::new()),
            Tale::Opens => ("hold", name("hld", index, place)),
            Tale::Step(of, _) | Tale::Amends(of) | Tale::Extends(of) => {
                ("hold", name("hld", index, of))
            }
            Tale::Reverses(_) => ("adjustment", String::new()),
            Tale::FeeBack(of) => match events[of].tale {
                Tale::FeeOf(of) => ("fee", name("cmp", index, of)),
                _ => panic!("only fees of movements are given back"),
            },
            Tale::Bank(of) => ("transfer", deed(of)),
            Tale::Inside(of) => ("p2p", deed(of)),
            Tale::Arrived => ("cash_in", "rail".to_owned()),
            Tale::FeeOf(of) => ("fee", name("cmp", index, of)),
            Tale::FeeOfTransfer(of) => ("fee", deed(of)),
        };
        Line {
            number: WORLD[index].1,
            sequence: u64::try_from(place).unwrap() + 1,
            way: event.way,
            amount: event.amount,
            available: sums.0,
            held: sums.1,
            code: event.code.to_owned(),
            key: event.key.clone(),
            kind,
            refers,
            at: event.at,
            ends: event.ends,
            back,
        }
    }

    /// The chosen amount, always one that can be written.
    pub(super) fn resolve(&mut self, index: usize, pick: Pick) -> i128 {
        let wanted = match pick {
            Pick::Usual(which) => AMOUNTS[which],
            Pick::Available(more) => self.balance(index).0 + i128::from(more),
            Pick::Left(kind, more) => {
                let left = self.left(index, kind).unwrap_or(AMOUNTS[2]);
                left + i128::from(more)
            }
            Pick::Largest => LARGEST,
        };
        let amount = wanted.clamp(1, LARGEST);
        self.amount = Some(amount);
        amount
    }

    /// The chosen part of something of which `rest` is left; remembers the amount only if the order
    /// states it.
    pub(super) fn part(&mut self, rest: i128, part: Part) -> i128 {
        let wanted = match part {
            Part::Rest => None,
            Part::Left(more) => Some((rest + i128::from(more)).clamp(1, LARGEST)),
            Part::Usual(which) => Some(AMOUNTS[which]),
        };
        self.amount = wanted;
        wanted.unwrap_or(rest)
    }

    /// The chosen external id.
    pub(super) fn resolve_key(&mut self, key: Option<usize>) -> String {
        self.key = match key {
            Some(known) => KEYS[known].to_owned(),
            None => {
                self.fresh += 1;
                format!("fresh-{}", self.fresh)
            }
        };
        self.key.clone()
    }

    pub(super) fn resolve_end(&mut self, end: End) -> Option<u64> {
        self.ends = match end {
            End::Open => None,
            End::Hours(hours) => Some((self.now / 3_600_000 + hours) * 3_600_000),
            End::Now => Some(self.now),
        };
        self.ends
    }

    fn life(&mut self, index: usize, change: Life) -> Answer {
        self.turn(index);
        let purse = &mut self.purses[index];
        let before = (purse.state, purse.enabled);
        let refusal = match (purse.state, change) {
            (State::Void, _) => Some("account_not_found"),
            (_, Life::Enable(_) | Life::Open(_)) => None,
            (State::Registered, _) => Some("account_without_cvu"),
            (State::Closed, Life::Close) => None,
            (State::Closed, _) => Some("account_closed"),
            (State::Active, Life::Reactivate) => Some("account_not_suspended"),
            (State::Active | State::Suspended, _) => None,
        };
        if let Some(refusal) = refusal {
            return Answer::Refused(refusal);
        }
        match change {
            Life::Suspend => purse.state = State::Suspended,
            Life::Reactivate => purse.state = State::Active,
            Life::Enable(enabled) => purse.enabled = enabled,
            Life::Close => purse.state = State::Closed,
            Life::Open(yes) if purse.state == State::Registered => {
                purse.state = if yes { State::Active } else { State::Void };
            }
            Life::Open(_) => {}
        }
        Answer::Changed((purse.state, purse.enabled) != before)
    }

    fn temporary(&mut self, account: usize, limit: Option<(LimitKind, i64, u64)>) -> Answer {
        let hour = self.now / 3_600_000;
        let temporary = limit.map(|(kind, most, hours)| Temporary {
            kind,
            most: most.into(),
            until: (hour + hours) * 3_600_000,
        });
        self.change(Level::Account(account), |terms| {
            terms.temporary.clone_from(&temporary);
        })
    }

    fn type_limit(&mut self, credit: bool, kind: LimitKind, value: Option<i64>) -> Answer {
        let limit = self.types[usize::from(credit)].get_mut(kind);
        let before = std::mem::replace(limit, value.map(i128::from));
        Answer::Changed(before != *limit)
    }

    fn change(&mut self, level: Level, change: impl Fn(&mut Terms)) -> Answer {
        let terms = match level {
            Level::Platform => &mut self.platform,
            Level::Psp(realm) => self.psp.get_mut(&realm).unwrap(),
            Level::Account(index) => {
                self.turn(index);
                match self.purses[index].state {
                    State::Registered => return Answer::Refused("account_without_cvu"),
                    State::Closed => return Answer::Refused("account_closed"),
                    State::Void => return Answer::Refused("account_not_found"),
                    State::Active | State::Suspended => &mut self.purses[index].terms,
                }
            }
        };
        let before = terms.clone();
        change(terms);
        Answer::Changed(*terms != before)
    }
}

impl Default for Book {
    fn default() -> Self {
        Self::new()
    }
}
