//! Limits and fees of the naive book: three levels, counted from the events, in whole numbers.

use caudal_ledger::limits::{Flow, LimitKind, PerKind, Unit, Window};

use super::answer::{Answer, Breach};
use super::book::{Book, Event, HoldParts, State, Tale, Terms};
use super::ops::Fee;
use super::{CHARGED, RATES, WORLD};
use crate::model::{LARGEST, calendar};

impl Book {
    /// The three levels that apply to an account, nearest first.
    fn levels(&self, index: usize) -> [(&Terms, &'static str); 3] {
        [
            (&self.purses[index].terms, "account"),
            (&self.psp[&WORLD[index].0], "psp"),
            (&self.platform, "platform"),
        ]
    }

    fn limit(&self, index: usize, kind: LimitKind) -> Option<(i128, &'static str)> {
        let at = self.instant(index);
        if let Some(temporary) = &self.purses[index].terms.temporary
            && (temporary.kind, at < temporary.until) == (kind, true)
        {
            return Some((temporary.most, "account"));
        }
        let levels = self.levels(index).into_iter();
        let mut set = levels.filter_map(|(terms, level)| Some(((*terms.limits.get(kind))?, level)));
        set.next()
    }

    /// What moved in the period of each kind of limit at an instant. Money that returned no longer counts, in the period
    /// in which it had counted.
    pub fn usage(&self, index: usize, at: u64) -> PerKind<i128> {
        let events = &self.purses[index].events;
        let mut left: Vec<i128> = events.iter().map(counted).collect();
        for event in events {
            if let Some(of) = event.returns {
                left[of] -= event.amount;
            }
        }
        let today = calendar::day(at);
        let mut used = PerKind::default();
        for (place, (event, left)) in events.iter().zip(left).enumerate() {
            // A movement of which nothing has left no longer counts as one; what a hold was raised by does.
            let counts = match event.tale {
                Tale::Opens => !HoldParts::of(events, place).is_back(),
                _ => left != 0,
            };
            let flow = match (counted(event), comes_in(event)) {
                (0, false) => continue,
                (0, true) => Flow::Incoming,
                _ => Flow::Outgoing,
            };
            let left = if flow == Flow::Incoming {
                event.amount
            } else {
                left
            };
            let day = calendar::day(event.at);
            for kind in LimitKind::ALL {
                let concerns = [flow, Flow::Gross].contains(&kind.flow());
                if concerns && calendar::within(kind.window(), day, today) {
                    *used.get_mut(kind) += match kind.unit() {
                        Unit::Amount => left,
                        Unit::Count => i128::from(counts),
                    };
                }
            }
        }
        used
    }

    /// The amount that a limit leaves, if the limit is set.
    pub(super) fn left(&self, index: usize, kind: LimitKind) -> Option<i128> {
        let (most, _) = self.limit(index, kind)?;
        let used = self.usage(index, self.instant(index));
        let (available, held) = self.balance(index);
        Some(match (kind.unit(), kind.window()) {
            (Unit::Amount, Window::Balance) => most - available - held,
            (Unit::Amount, _) => most - used.get(kind),
            (Unit::Count, _) => most,
        })
    }

    /// Whether the limits let an amount out; what is left on a closed account may always leave.
    pub(super) fn may_leave(&self, index: usize, amount: i128) -> Result<(), Answer> {
        if self.purses[index].state == State::Closed {
            return Ok(());
        }
        self.may_pass(index, amount, |kind| kind.flow() != Flow::Incoming)
    }

    /// Whether the limits let in money that does not come from the bank.
    pub(super) fn may_come(&self, index: usize, amount: i128) -> Result<(), Answer> {
        self.may_pass(index, amount, |kind| kind.flow() != Flow::Outgoing)
    }

    /// Whether the balance limit lets the account get money back.
    pub(super) fn may_return(&self, index: usize, amount: i128) -> Result<(), Answer> {
        self.may_pass(index, amount, |kind| kind.window() == Window::Balance)
    }

    fn may_pass(
        &self,
        index: usize,
        amount: i128,
        concerns: impl Fn(LimitKind) -> bool,
    ) -> Result<(), Answer> {
        let at = self.instant(index);
        let used = self.usage(index, at);
        let (available, held) = self.balance(index);
        let kinds = LimitKind::ALL.into_iter();
        kinds.filter(|kind| concerns(*kind)).try_for_each(|kind| {
            let used = match kind.window() {
                Window::Balance => available + held,
                _ => *used.get(kind),
            };
            judge(kind, self.limit(index, kind), (used, amount), at)
        })
    }

    /// Whether the limits of a type allow an adjustment, after the account's others of the type.
    pub(super) fn type_allows(&self, index: usize, event: &Event) -> Result<(), Answer> {
        let limits = &self.types[usize::from(event.way == "credit")];
        let at = self.instant(index);
        let today = calendar::day(at);
        let mut kinds = LimitKind::ALL.into_iter();
        kinds.try_for_each(|kind| {
            let before = self.purses[index].events.iter().filter(|it| {
                let counts = it.limited && it.code == event.code;
                counts && calendar::within(kind.window(), calendar::day(it.at), today)
            });
            let used = before.map(|it| of(kind, it.amount)).sum();
            let limit = limits.get(kind).map(|most| (most, "voucher_type"));
            judge(kind, limit, (used, event.amount), at)
        })
    }

    /// Fee and tax for a type and an amount: the whole entry of the nearest level that has one.
    pub fn charges(&self, index: usize, code: &str, amount: i128) -> (i128, i128) {
        for (terms, _) in self.levels(index) {
            if let Some(fee) = terms.fees.iter().find(|fee| CHARGED[fee.code] == code) {
                return if fee.charge {
                    price(fee, amount)
                } else {
                    (0, 0)
                };
            }
        }
        (0, 0)
    }

    /// Adds the fee of the account's last event and the tax on it.
    pub(super) fn charge(&mut self, index: usize) -> Result<(), Answer> {
        let place = self.purses[index].events.len() - 1;
        let (code, amount) = {
            let last = &self.purses[index].events[place];
            (last.code, last.amount)
        };
        let charges = self.charges(index, code, amount);
        self.take(index, charges, &Tale::FeeOf(place))
    }

    pub(super) fn take(
        &mut self,
        index: usize,
        (fee, tax): (i128, i128),
        tale: &Tale,
    ) -> Result<(), Answer> {
        for (code, amount) in [("FEE", fee), ("FEE_TAX", tax)] {
            if amount > LARGEST {
                return Err(Answer::Refused("amount_overflow"));
            }
            if amount > 0 {
                let event = self.event("debit", amount, code, tale.clone());
                self.put(index, event).map_err(Answer::Refused)?;
            }
        }
        Ok(())
    }

    /// Adds fee and tax if the balance covers both, and otherwise neither, without a refusal.
    pub(super) fn charge_if_covered(&mut self, index: usize) {
        let length = self.purses[index].events.len();
        if self.charge(index).is_err() {
            self.purses[index].events.truncate(length);
        }
    }
}

fn judge(
    kind: LimitKind,
    limit: Option<(i128, &'static str)>,
    (used, amount): (i128, i128),
    at: u64,
) -> Result<(), Answer> {
    let requested = of(kind, amount);
    match limit {
        Some((maximum, level)) if used + requested > maximum => Err(Answer::Limited(Breach {
            limit: kind.name(),
            level,
            maximum,
            used,
            requested,
            remaining: (maximum - used).max(0),
            resets: calendar::resets(kind.window(), calendar::day(at)),
        })),
        _ => Ok(()),
    }
}

/// Whether an event brings money in that was not the account's before.
fn comes_in(event: &Event) -> bool {
    let comes = matches!(
        event.tale,
        Tale::Adjustment | Tale::Inside(_) | Tale::Arrived
    );
    event.way == "credit" && comes
}

/// What an amount is in the unit of a limit.
fn of(kind: LimitKind, amount: i128) -> i128 {
    match kind.unit() {
        Unit::Amount => amount,
        Unit::Count => 1,
    }
}

/// The amount that an event counts for limits: debits and holds count, except fees.
fn counted(event: &Event) -> i128 {
    let fee = matches!(event.tale, Tale::FeeOf(_) | Tale::FeeOfTransfer(_));
    let extends = matches!(event.tale, Tale::Extends(_));
    if matches!(event.way, "debit" | "hold") && !fee && !extends {
        event.amount
    } else {
        0
    }
}

/// `clamp(amount × rate + fixed, least, most)`, then the tax on it; each rounded half up to
/// centavos.
pub fn price(fee: &Fee, amount: i128) -> (i128, i128) {
    let share = |of: i128, rate: usize| {
        let (_, number, decimals) = RATES[rate];
        let whole = 100 * 10_i128.pow(decimals);
        (2 * of * number + whole) / (2 * whole)
    };
    let mut charged = share(amount, fee.rate) + i128::from(fee.fixed);
    if let Some(least) = fee.least {
        charged = charged.max(least.into());
    }
    if let Some(most) = fee.most {
        charged = charged.min(most.into());
    }
    (charged, share(charged, fee.tax))
}
