//! The naive model: what each operation should do, written from the contract alone.
//!
//! Money is `i128` centavos, names are texts, everything is in `BTreeMap`s and nothing is clever.
//! It shares no code with the service and was written without reading the bodies of the service's
//! `decide` and `apply`.

pub mod accounts;
pub mod calendar;
pub mod decimal;
pub mod posting;
pub mod types;

use std::collections::BTreeMap;

use crate::generators::WORLD;
use crate::generators::ops::{Op, Pick, Way};

/// The largest amount of one movement, in centavos.
pub const LARGEST: i128 = 99_999_999_999_999_999;
/// The largest total that an account can hold, in centavos.
pub const CEILING: i128 = 9_223_372_036_854_775_807;

/// The answer that an operation should have, or the one that the machine gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A voucher was recorded now.
    Recorded(View),
    /// The voucher had been recorded before.
    Replayed(View),
    /// A rule refused it, with the stable word of the refusal.
    Refused(&'static str),
    /// The external id belongs to this voucher (account, sequence), and this many fields differ.
    Reused {
        number: u64,
        sequence: u64,
        differs: usize,
    },
    /// The operation led to this many facts.
    Facts(usize),
    /// There was nothing to apply the operation to.
    Nothing,
}

/// A voucher as a caller sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    pub sequence: u64,
    pub available: i128,
    pub held: i128,
    pub at: u64,
}

/// A movement that the model remembers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Movement {
    pub view: View,
    pub way: Way,
    pub amount: i128,
    pub code: String,
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

/// The bank's answer that an account waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Waiting {
    Opening,
    Alias(String),
    Identity,
    Closing,
}

/// An account of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountModel {
    pub state: State,
    pub enabled: bool,
    pub waiting: Option<Waiting>,
    pub alias: Option<String>,
    pub email: Option<String>,
    pub daily_amount: Option<i128>,
    pub available: i128,
    pub held: i128,
    pub movements: Vec<Movement>,
}

/// A voucher type of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeModel {
    pub way: Way,
    pub active: bool,
    pub legacy_id: u64,
}

/// A realm of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RealmModel {
    pub types: BTreeMap<String, TypeModel>,
    pub next_legacy_id: u64,
    pub close_requires_zero: bool,
    /// The movement that holds each (external id, direction): account and index.
    pub keys: BTreeMap<(String, char), (usize, usize)>,
}

/// The whole world, and the result of the last operation.
#[derive(Clone, PartialEq, Eq)]
pub struct Model {
    pub now: u64,
    pub realms: BTreeMap<u32, RealmModel>,
    pub accounts: Vec<AccountModel>,
    pub fresh: u64,
    /// The answer that the last operation should have.
    pub answer: Answer,
    /// The amount of the last operation, in centavos.
    pub amount: i128,
    /// The external id that the last operation used.
    pub external: String,
}

/// 2026-06-30 22:00 in Buenos Aires: a day, and a month, about to end.
pub const BEGINNING: u64 = 1_782_867_600_000;

impl Model {
    /// The world that every run starts with: two types in each realm, accounts in several states.
    pub fn new() -> Self {
        let kind = |way, legacy_id| TypeModel {
            way,
            active: true,
            legacy_id,
        };
        let realm = RealmModel {
            types: BTreeMap::from([
                ("BONUS".to_owned(), kind(Way::Credit, 1000)),
                ("TOLL".to_owned(), kind(Way::Debit, 1001)),
            ]),
            next_legacy_id: 1002,
            close_requires_zero: false,
            keys: BTreeMap::new(),
        };
        let account = |index: usize| AccountModel {
            state: if index == 4 {
                State::Registered
            } else {
                State::Active
            },
            enabled: index != 3,
            waiting: None,
            alias: None,
            email: None,
            daily_amount: None,
            available: 0,
            held: 0,
            movements: Vec::new(),
        };
        Self {
            now: BEGINNING,
            realms: (1..=3).map(|number| (number, realm.clone())).collect(),
            accounts: (0..WORLD.len()).map(account).collect(),
            fresh: 0,
            answer: Answer::Nothing,
            amount: 0,
            external: String::new(),
        }
    }

    /// Does one operation.
    pub fn step(&mut self, op: &Op) {
        self.answer = match op {
            Op::Post(posting) => self.post(posting),
            Op::Move {
                account,
                way,
                amount,
            } => self.movement(*account, *way, *amount),
            Op::Flood { account } => self.flood(*account),
            Op::Order { account, order } => self.order(*account, order),
            Op::Bank { account, yes } => self.bank(*account, *yes),
            Op::CreateType { realm, code, way } => self.create_type(*realm, *code, *way),
            Op::ToggleType {
                realm,
                code,
                active,
            } => self.toggle_type(*realm, code, *active),
            Op::RemoveType { realm, code } => self.remove_type(*realm, code),
            Op::Policy {
                realm,
                close_requires_zero,
            } => {
                self.realm(*realm).close_requires_zero = *close_requires_zero;
                Answer::Nothing
            }
            Op::Clock { millis } => {
                // Never before 2010, where the calendar's fixed offset begins.
                self.now = self
                    .now
                    .saturating_add_signed(*millis)
                    .max(1_262_304_000_000);
                Answer::Nothing
            }
            Op::Restart => Answer::Nothing,
        };
    }

    /// The realm with this number.
    pub(crate) fn realm(&mut self, number: u32) -> &mut RealmModel {
        self.realms.get_mut(&number).unwrap()
    }

    /// The chosen amount, in centavos, always one that can be written.
    pub(crate) fn resolve(&self, account: usize, pick: Pick) -> i128 {
        let account = &self.accounts[account];
        let wanted = match pick {
            Pick::Centavo => 1,
            Pick::Available(more) => account.available + i128::from(more),
            Pick::Held(more) => account.held + i128::from(more),
            Pick::Largest(less) => LARGEST - i128::from(less),
            Pick::Room(more) => CEILING - account.available - account.held + i128::from(more),
        };
        wanted.clamp(1, LARGEST)
    }
}

impl std::fmt::Debug for Model {
    /// Short: every run starts with the same world, and the operations tell the rest.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}
