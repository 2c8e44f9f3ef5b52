//! Limits and fees of the naive book: three levels, counted from the events, in whole numbers.

use super::answer::{Answer, Breach};
use super::book::{Book, Event, State, Tale, Terms};
use super::ops::Fee;
use super::{CHARGED, RATES, WORLD};
use crate::model::{LARGEST, calendar};

/// The limits in the order in which they are checked.
const NAMES: [&str; 6] = [
    "maxPerTransaction",
    "dailyAmount",
    "dailyCount",
    "monthlyAmount",
    "monthlyCount",
    "maxBalance",
];

/// Year and month of a day.
fn month(day: i64) -> (i64, i64) {
    let (year, month, _) = calendar::civil(day);
    (year, month)
}

impl Book {
    /// The three levels that apply to an account, nearest first.
    fn levels(&self, index: usize) -> [(&Terms, &'static str); 3] {
        [
            (&self.purses[index].terms, "account"),
            (&self.psp[&WORLD[index].0], "psp"),
            (&self.platform, "platform"),
        ]
    }

    fn limit(&self, index: usize, field: usize) -> Option<(i128, &'static str)> {
        let levels = self.levels(index).into_iter();
        let mut set = levels.filter_map(|(terms, level)| Some((terms.limits[field]?, level)));
        set.next()
    }

    /// The amount and the count of what left in the business day of an instant, and in its month.
    /// Money that returned no longer counts, on the day on which it had counted.
    pub fn usage(&self, index: usize, at: u64) -> [i128; 4] {
        let events = &self.purses[index].events;
        let mut left: Vec<i128> = events.iter().map(counted).collect();
        for event in events {
            if let Some(of) = event.returns {
                left[of] -= event.amount;
            }
        }
        let today = calendar::day(at);
        let this_month = month(today);
        let mut used = [0; 4];
        for (event, left) in events.iter().zip(left) {
            if left == 0 {
                continue;
            }
            let day = calendar::day(event.at);
            if day == today {
                used[0] += left;
                used[1] += 1;
            }
            if day == today || ((day - today).abs() < 32 && month(day) == this_month) {
                used[2] += left;
                used[3] += 1;
            }
        }
        used
    }

    /// The amount that a limit leaves, if the limit is set.
    pub(super) fn left(&self, index: usize, field: usize) -> Option<i128> {
        let (most, _) = self.limit(index, field)?;
        let used = self.usage(index, self.instant(index));
        let (available, held) = self.balance(index);
        Some(match field {
            1 => most - used[0],
            3 => most - used[2],
            5 => most - available - held,
            _ => most,
        })
    }

    /// Whether the limits let an amount out; what is left on a closed account may always leave.
    pub(super) fn may_leave(&self, index: usize, amount: i128) -> Result<(), Answer> {
        if self.purses[index].state == State::Closed {
            return Ok(());
        }
        let at = self.instant(index);
        let used = self.usage(index, at);
        let today = calendar::day(at);
        let mut first = today;
        while month(first) == month(today) {
            first += 1;
        }
        let (tomorrow, next) = (calendar::start(today + 1), calendar::start(first));
        let asked = [
            (0, 0, amount, None),
            (1, used[0], amount, Some(tomorrow)),
            (2, used[1], 1, Some(tomorrow)),
            (3, used[2], amount, Some(next)),
            (4, used[3], 1, Some(next)),
        ];
        let mut asked = asked.into_iter();
        asked.try_for_each(|(field, used, wanted, resets)| {
            self.judge(index, field, (used, wanted), resets)
        })
    }

    /// Whether the balance limit lets in a credit that does not come from the bank.
    pub(super) fn may_come(&self, index: usize, amount: i128) -> Result<(), Answer> {
        let (available, held) = self.balance(index);
        self.judge(index, 5, (available + held, amount), None)
    }

    fn judge(
        &self,
        index: usize,
        field: usize,
        (used, requested): (i128, i128),
        resets: Option<u64>,
    ) -> Result<(), Answer> {
        match self.limit(index, field) {
            Some((maximum, level)) if used + requested > maximum => Err(Answer::Limited(Breach {
                limit: NAMES[field],
                level,
                maximum,
                used,
                requested,
                remaining: (maximum - used).max(0),
                resets,
            })),
            _ => Ok(()),
        }
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

/// The amount that an event counts for limits: debits and holds count, except fees.
fn counted(event: &Event) -> i128 {
    let fee = matches!(event.tale, Tale::FeeOf(_) | Tale::FeeOfTransfer(_));
    if matches!(event.way, "debit" | "hold") && !fee {
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
