//! A naive book: the accounts, types, holds and movements that follow from the orders and their
//! answers. It adds and compares, and knows nothing of how the service does so.

use std::collections::BTreeMap;

use super::steps::Pause;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;
/// How far Buenos Aires is behind UTC, in milliseconds.
const BEHIND: i64 = 3 * 3_600_000;
/// Noon of the 26th of February 2026 in Buenos Aires, where every history begins, in milliseconds.
const NOON: i64 = 1_772_118_000_000;
/// The days around the beginning; the 26th is the second of them.
const DAYS: [&str; 4] = ["2026-02-25", "2026-02-26", "2026-02-27", "2026-02-28"];

/// A wallet account.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub id: u64,
    pub cuit: String,
    pub name: String,
    pub code: Option<String>,
    pub cvu: Option<String>,
    pub alias: Option<String>,
    pub status: &'static str,
    pub enabled: bool,
    pub available: i64,
    pub held: i64,
}

/// A voucher type of the tenant's own.
#[derive(Clone, Debug)]
pub struct Type {
    pub code: String,
    pub id: u64,
    pub credit: bool,
    pub active: bool,
    pub removed: bool,
}

/// A movement.
#[derive(Clone, Debug)]
pub struct Entry {
    pub account: usize,
    pub at: i64,
    pub direction: &'static str,
    pub code: String,
    pub centavos: i64,
    /// The available and the held amount after it.
    pub after: (i64, i64),
    /// The voucher, if it is an adjustment.
    pub id: Option<String>,
    /// The tenant's own id, if it is an adjustment.
    pub external: Option<String>,
    /// Whether the list of the realm shows it.
    pub internal: bool,
}

/// A hold, with the rest of it.
#[derive(Clone, Debug)]
pub struct Held {
    pub id: String,
    pub account: usize,
    pub left: i64,
}

/// The whole book.
#[derive(Debug)]
pub struct Book {
    pub now: i64,
    pub accounts: Vec<Account>,
    pub types: Vec<Type>,
    pub entries: Vec<Entry>,
    pub holds: Vec<Held>,
    /// The entry that has an external id, by direction.
    pub externals: BTreeMap<(String, &'static str), usize>,
    /// How often each thing happened, to tell an idle history from a busy one.
    pub seen: BTreeMap<&'static str, u32>,
}

impl Book {
    pub fn new() -> Self {
        Self {
            now: NOON,
            accounts: Vec::new(),
            types: Vec::new(),
            entries: Vec::new(),
            holds: Vec::new(),
            externals: BTreeMap::new(),
            seen: BTreeMap::new(),
        }
    }

    pub fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// The account that a step's number stands for.
    pub fn account(&self, number: usize) -> usize {
        number % self.accounts.len()
    }

    pub fn wait(&mut self, pause: Pause) {
        let next_midnight = ((self.now - BEHIND) / DAY + 1) * DAY + BEHIND;
        self.now = match pause {
            Pause::Millisecond => self.now + 1,
            Pause::Hours => self.now + 5 * 3_600_000,
            Pause::LastOfDay => next_midnight - 1,
            Pause::Midnight => next_midnight,
            Pause::Day => self.now + DAY,
        };
    }

    /// Whether an adjustment is granted.
    pub fn may_adjust(&self, account: usize, kind: usize, centavos: i64) -> bool {
        let (known, kind) = (&self.accounts[account], &self.types[kind]);
        let open = match known.status {
            "closed" => !kind.credit,
            "suspended" => kind.credit && known.enabled,
            _ => known.enabled,
        };
        let covered = kind.credit || centavos <= known.available;
        known.cvu.is_some() && kind.active && !kind.removed && open && covered
    }

    /// Whether money may be held or sent.
    pub fn may_leave(&self, account: usize, centavos: i64) -> bool {
        let known = &self.accounts[account];
        known.cvu.is_some()
            && known.status == "active"
            && known.enabled
            && centavos <= known.available
    }

    /// Whether a hold may be confirmed or released.
    pub fn may_settle(&self, hold: &Held, confirm: bool, centavos: i64) -> bool {
        let known = &self.accounts[hold.account];
        let switched = known.status == "active" && known.enabled;
        let open = !confirm || known.status == "closed" || switched;
        hold.left > 0 && centavos <= hold.left && open
    }

    /// Enters a movement.
    pub fn enter(&mut self, account: usize, direction: &'static str, code: &str, centavos: i64) {
        let known = &mut self.accounts[account];
        let (available, held) = match direction {
            "credit" => (centavos, 0),
            "debit" => (-centavos, 0),
            "hold" => (-centavos, centavos),
            "release" => (centavos, -centavos),
            _ => (0, -centavos),
        };
        known.available += available;
        known.held += held;
        self.entries.push(Entry {
            account,
            at: self.now,
            direction,
            code: code.to_owned(),
            centavos,
            after: (known.available, known.held),
            id: None,
            external: None,
            internal: code.starts_with("INTERNAL"),
        });
        self.saw(direction);
    }

    /// Marks the last movement as an adjustment.
    pub fn adjusted(&mut self, id: &str, external: &str) {
        let nth = self.entries.len() - 1;
        let last = &mut self.entries[nth];
        last.id = Some(id.to_owned());
        last.external = Some(external.to_owned());
        last.internal = true;
        let key = (external.to_owned(), last.direction);
        assert_eq!(self.externals.insert(key, nth), None);
    }

    /// The movements of an account, newest first.
    pub fn of(&self, account: usize) -> Vec<&Entry> {
        let own = self.entries.iter().rev();
        own.filter(|entry| entry.account == account).collect()
    }

    /// The days of the history: from the day before it until today.
    pub fn days(&self) -> Vec<String> {
        let today = day_of(self.now);
        let last = (self.now - NOON + DAY / 2) / DAY + 2;
        let days: Vec<_> = (0..last).map(day).collect();
        assert_eq!(days.last(), Some(&today));
        days
    }

    /// An account's state after a day: available, held, and the number of movements.
    pub fn closing(&self, account: usize, day: &str) -> (i64, i64, usize) {
        let mut closing = (0, 0, 0);
        let own = self.entries.iter().filter(|entry| entry.account == account);
        for entry in own.filter(|entry| day_of(entry.at).as_str() <= day) {
            closing = (entry.after.0, entry.after.1, closing.2 + 1);
        }
        closing
    }
}

/// A day by its number, counted from the one before the beginning.
fn day(number: i64) -> String {
    let number = usize::try_from(number).unwrap();
    match DAYS.get(number) {
        Some(day) => (*day).to_owned(),
        None => format!("2026-03-{:02}", number - DAYS.len() + 1),
    }
}

/// The day in Buenos Aires of an instant.
pub fn day_of(at: i64) -> String {
    day((at - NOON + DAY / 2) / DAY + 1)
}

/// An instant as the interfaces write it.
pub fn instant(at: i64) -> String {
    // By the day in UTC, which begins three hours earlier.
    let day = day_of(at + BEHIND);
    let rest = at % DAY;
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{day}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// An amount as the interfaces write it.
pub fn written(centavos: i64) -> String {
    format!("{}.{:02}", centavos / 100, centavos % 100)
}

/// Whether the check digits of a CVU are right.
pub fn checks(cvu: &str) -> bool {
    let digits: Vec<u32> = cvu.chars().filter_map(|digit| digit.to_digit(10)).collect();
    let right = |block: &[u32]| {
        let (check, body) = block.split_last().unwrap();
        let weights = [3, 1, 7, 9].into_iter().cycle();
        let sum: u32 = body.iter().rev().zip(weights).map(|(d, w)| d * w).sum();
        (10 - sum % 10) % 10 == *check
    };
    cvu.len() == 22 && digits.len() == 22 && right(&digits[..8]) && right(&digits[8..])
}
