//! The parts of the naive book: movements, accounts, transfers and the news of them.

use caudal_ledger::limits::{LimitKind, PerKind};

use super::ops::{Fee, To};

/// A movement. Its sequence is its place in the list, from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    pub at: u64,
    pub way: &'static str,
    pub amount: i128,
    pub code: &'static str,
    pub tale: Tale,
    pub key: Option<String>,
    pub ends: Option<u64>,
    /// The event whose money this one returns.
    pub returns: Option<usize>,
    /// For the opening of a hold: by how many percent more may be confirmed.
    pub tolerance: u8,
    /// For an adjustment: whether its type had limits.
    pub limited: bool,
}

/// The thing that an event belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tale {
    Adjustment,
    /// The hold that this very event opens.
    Opens,
    /// A step of the hold that this event opened; whether the hold had expired.
    Step(usize, bool),
    /// More or less to be set apart by the hold that this event opened.
    Amends(usize),
    /// One of two events that give the hold that this event opened another end.
    Extends(usize),
    /// The reversal of an event of this account, and of its fee or tax.
    Reverses(usize),
    FeeBack(usize),
    /// A transfer through the bank, by its place among all.
    Bank(usize),
    /// An internal transfer, by its place among all.
    Inside(usize),
    Arrived,
    /// A fee: of an event of this account, or of a transfer.
    FeeOf(usize),
    FeeOfTransfer(usize),
}

/// The states of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Registered,
    Active,
    Suspended,
    Closed,
    Void,
}

/// Limits and fees of a level.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    pub limits: PerKind<Option<i128>>,
    /// For an account: a limit that goes before the others.
    pub temporary: Option<Temporary>,
    pub fees: Vec<Fee>,
}

/// A limit until an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Temporary {
    pub kind: LimitKind,
    pub most: i128,
    pub until: u64,
}

/// An account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Purse {
    pub state: State,
    pub enabled: bool,
    pub terms: Terms,
    pub events: Vec<Event>,
}

/// A transfer: the order, and all news of it since.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deed {
    pub from: usize,
    /// The place of its first event on the sending account.
    pub first: usize,
    pub to: To,
    pub inside: bool,
    pub amount: i128,
    pub fee: i128,
    pub tax: i128,
    pub key: String,
    pub story: Vec<Chapter>,
}

/// A piece of news of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chapter {
    /// The bank has it, or may have it; whether the news named the bank's id, and the rail's.
    Moving(bool, bool),
    Lost(bool, bool),
    Done(bool, bool),
    Refused,
    Back(i128),
}

impl Deed {
    /// The state in a word: that of the last news.
    pub fn word(&self) -> &'static str {
        if self.inside {
            return "completed";
        }
        match self.story.last() {
            None => "requested",
            Some(Chapter::Moving(..)) => "in_progress",
            Some(Chapter::Lost(..)) => "audit",
            Some(Chapter::Done(..)) => "completed",
            Some(Chapter::Refused) => "rejected",
            Some(Chapter::Back(_)) => "reversed",
        }
    }

    /// Whether the bank's final word is still awaited.
    pub fn is_open(&self) -> bool {
        matches!(self.word(), "requested" | "in_progress" | "audit")
    }

    /// The amount of the transfer that has come back.
    pub fn returned(&self) -> i128 {
        let back = self.story.iter().map(|chapter| match chapter {
            Chapter::Back(amount) => *amount,
            _ => 0,
        });
        back.sum()
    }

    /// Whether the news ever named the bank's id, and the rail's.
    pub fn named(&self) -> (bool, bool) {
        let mut named = (false, false);
        for chapter in &self.story {
            if let Chapter::Moving(b, r) | Chapter::Lost(b, r) | Chapter::Done(b, r) = chapter {
                named = (named.0 || *b, named.1 || *r);
            }
        }
        named
    }
}

/// A hold, counted from the events of its account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HoldParts {
    pub amount: i128,
    pub confirmed: i128,
    pub released: i128,
    pub expired: bool,
    pub ends: Option<u64>,
}

impl HoldParts {
    /// The hold that an event opened, after these events.
    pub fn of(events: &[Event], opened: usize) -> Self {
        let mut parts = Self {
            amount: events[opened].amount,
            confirmed: 0,
            released: 0,
            expired: false,
            ends: events[opened].ends,
        };
        for event in events {
            match event.tale {
                Tale::Step(of, _) if of == opened && event.way == "confirm_hold" => {
                    parts.confirmed += event.amount;
                }
                Tale::Step(of, expired) if of == opened => {
                    parts.released += event.amount;
                    parts.expired |= expired;
                }
                Tale::Amends(of) if of == opened && event.way == "hold" => {
                    parts.amount += event.amount;
                }
                Tale::Amends(of) if of == opened => parts.amount -= event.amount,
                Tale::Extends(of) if of == opened => parts.ends = event.ends,
                _ => {}
            }
        }
        parts
    }

    /// The amount that is still set apart.
    pub const fn rest(&self) -> i128 {
        self.amount - self.confirmed - self.released
    }

    /// Whether all of it has returned.
    pub const fn is_back(&self) -> bool {
        self.rest() == 0 && self.confirmed == 0
    }
}

/// The effect of an event on the available and the held amount.
pub fn effect(event: &Event) -> (i128, i128) {
    let amount = event.amount;
    match event.way {
        "credit" => (amount, 0),
        "debit" => (-amount, 0),
        "hold" => (-amount, amount),
        "release" => (amount, -amount),
        "confirm_hold" => (0, -amount),
        other => panic!("no way: {other}"),
    }
}
