//! The operations of money on its way, and the frequency of each.

use caudal_ledger::limits::{LimitKind, Unit, Window};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{AMOUNTS, CHARGED, KEYS, RATES, WORLD};

/// One operation. Accounts are indexes into the world; holds and transfers are counted back from the
/// newest, which is 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// An adjustment that credits or debits.
    Post {
        account: usize,
        credit: bool,
        key: Option<usize>,
        amount: Pick,
    },
    /// Money is held.
    Hold {
        account: usize,
        key: Option<usize>,
        amount: Pick,
        end: End,
        /// By how many percent more may be confirmed.
        tolerance: u8,
    },
    /// A hold is raised, lowered or extended.
    Amend {
        hold: usize,
        amount: Option<Amend>,
        end: Option<End>,
    },
    /// An adjustment or a confirmed hold is reversed, with its fee and tax or without.
    Refund {
        voucher: usize,
        part: Part,
        fees: bool,
        key: Option<usize>,
    },
    /// A hold is confirmed or released.
    Step {
        hold: usize,
        confirm: bool,
        part: Part,
    },
    /// A transfer, inside the realm or through the bank.
    Send {
        from: usize,
        to: To,
        key: Option<usize>,
        amount: Pick,
    },
    /// The bank reports something about a transfer, with or without its id on the rail.
    Word {
        transfer: usize,
        word: Word,
        rail: bool,
    },
    /// A person decides about a transfer.
    Verdict { transfer: usize, completed: bool },
    /// A transfer comes back.
    Reverse { transfer: usize, part: Part },
    /// Money arrives from the bank.
    CashIn { account: usize, amount: Pick },
    /// An account's state changes.
    Life { account: usize, change: Life },
    /// One limit of a level is set, or inherited.
    Limit {
        level: Level,
        kind: LimitKind,
        value: Option<i64>,
    },
    /// A limit of an account is set for some whole hours, or ended.
    Temporary {
        account: usize,
        limit: Option<(LimitKind, i64, u64)>,
    },
    /// One limit of the type of credits or of debits is set, or lifted.
    TypeLimit {
        credit: bool,
        kind: LimitKind,
        value: Option<i64>,
    },
    /// The fees of a level are replaced.
    Fees { level: Level, fees: Vec<Fee> },
    /// Time passes.
    Time { millis: i64 },
    /// Time passes until the next end of a hold, and this many milliseconds more.
    Until { more: i8 },
    /// Everything is forgotten and read back from the recorded bytes.
    Restart,
}

/// An amount, relative to the state at that moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// One of the usual amounts.
    Usual(usize),
    /// The available amount, plus this many centavos.
    Available(i8),
    /// The amount that the limit of this kind leaves, plus this many centavos.
    Left(LimitKind, i8),
    /// The largest amount.
    Largest,
}

/// The time at which a hold ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Never.
    Open,
    /// This many whole hours after the beginning of the present hour, so that a repetition within
    /// the hour has the same end.
    Hours(u64),
    /// At this very instant.
    Now,
}

/// A part of a hold or of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The rest of it, without stating the amount.
    Rest,
    /// The rest of it, plus this many centavos.
    Left(i8),
    /// One of the usual amounts.
    Usual(usize),
}

/// The new amount of a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amend {
    /// The present one and one of the usual amounts.
    More(usize),
    /// The present one less one of the usual amounts.
    Less(usize),
    /// What was confirmed and released of it, plus this many centavos.
    Used(i8),
}

/// The destination of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// The CVU that an account has or would have.
    Account(usize),
    /// An account of a bank.
    Outside(u8),
}

/// The bank's report on a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// It is on its way.
    Moving,
    /// The outcome is unknown: a timeout, an error.
    Unknown,
    /// The bank has given up on it.
    Lost,
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// The bank did not accept it.
    Refused,
}

/// Changes of an account's state, with the bank's answer if there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    Suspend,
    Reactivate,
    Enable(bool),
    Close,
    Open(bool),
}

/// The owner of limits and fees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    Account(usize),
    Psp(u32),
    Platform,
}

/// An entry of a fee schedule; type and rates are indexes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fee {
    pub code: usize,
    pub rate: usize,
    pub fixed: i64,
    pub least: Option<i64>,
    pub most: Option<i64>,
    pub charge: bool,
    pub tax: usize,
}

impl Op {
    /// The operation in one word, for counting.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Post { credit: true, .. } => "credit",
            Self::Post { credit: false, .. } => "debit",
            Self::Hold { .. } => "hold",
            Self::Amend { .. } => "amend",
            Self::Refund { .. } => "refund",
            Self::Step { confirm: true, .. } => "confirm",
            Self::Step { confirm: false, .. } => "release",
            Self::Send { .. } => "send",
            Self::Word { word, .. } => match word {
                Word::Moving => "moving",
                Word::Unknown => "unknown",
                Word::Lost => "lost",
                Word::Done => "done",
                Word::Failed => "failed",
                Word::Refused => "refused",
            },
            Self::Verdict { .. } => "verdict",
            Self::Reverse { .. } => "reverse",
            Self::CashIn { .. } => "cash-in",
            Self::Life { .. } => "life",
            Self::Limit { .. } => "limit",
            Self::Temporary { .. } => "temporary",
            Self::TypeLimit { .. } => "type limit",
            Self::Fees { .. } => "fees",
            Self::Time { .. } => "time",
            Self::Until { .. } => "until",
            Self::Restart => "restart",
        }
    }
}

fn account() -> impl Strategy<Value = usize> {
    // Mostly two accounts of one realm, so that operations on them collide.
    prop_oneof![10 => 0_usize..2, 5 => 2..WORLD.len()]
}

/// An external id and an amount: mostly a new id; an id used before mostly comes with the same data
/// again.
fn keyed() -> impl Strategy<Value = (Option<usize>, Pick)> {
    prop_oneof![
        10 => pick().prop_map(|amount| (None, amount)),
        5 => (0..KEYS.len()).prop_map(|key| (Some(key), Pick::Usual(key))),
        1 => (0..KEYS.len(), pick()).prop_map(|(key, amount)| (Some(key), amount)),
    ]
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![
        150 => (0..AMOUNTS.len()).prop_map(Pick::Usual),
        12 => (-1_i8..=1).prop_map(Pick::Available),
        40 => (kind(), -1_i8..=1).prop_map(|(kind, more)| Pick::Left(kind, more)),
        1 => Just(Pick::Largest),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        2 => Just(Part::Rest),
        3 => (-1_i8..=1).prop_map(Part::Left),
        3 => (0..AMOUNTS.len()).prop_map(Part::Usual),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        8 => Just(End::Open),
        10 => select(vec![0_u64, 1, 1, 2, 24, 26, 700]).prop_map(End::Hours),
        1 => Just(End::Now),
    ]
}

fn reversal_key() -> impl Strategy<Value = Option<usize>> {
    // Few ids, so that some orders are repeated as they were.
    prop_oneof![2 => Just(None), 3 => (0_usize..2).prop_map(Some)]
}

fn amend() -> impl Strategy<Value = Amend> {
    prop_oneof![
        4 => (0..AMOUNTS.len()).prop_map(Amend::More),
        3 => (0..AMOUNTS.len()).prop_map(Amend::Less),
        1 => (-1_i8..=1).prop_map(Amend::Used),
    ]
}

fn change() -> impl Strategy<Value = (Option<Amend>, Option<End>)> {
    prop_oneof![
        5 => amend().prop_map(|amount| (Some(amount), None)),
        3 => end().prop_map(|end| (None, Some(end))),
        1 => (amend(), end()).prop_map(|(amount, end)| (Some(amount), Some(end))),
    ]
}

fn to() -> impl Strategy<Value = To> {
    prop_oneof![
        2 => (0..WORLD.len()).prop_map(To::Account),
        3 => (0_usize..2).prop_map(To::Account),
        6 => Just(To::Outside(0)),
        1 => Just(To::Outside(1)),
    ]
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        2 => Just(Word::Moving),
        1 => Just(Word::Unknown),
        1 => Just(Word::Lost),
        3 => Just(Word::Done),
        1 => Just(Word::Failed),
        1 => Just(Word::Refused),
    ]
}

fn life() -> impl Strategy<Value = Life> {
    prop_oneof![
        4 => Just(Life::Suspend),
        14 => Just(Life::Reactivate),
        4 => Just(Life::Enable(false)),
        14 => Just(Life::Enable(true)),
        1 => Just(Life::Close),
        8 => prop_oneof![5 => Just(true), 1 => Just(false)].prop_map(Life::Open),
    ]
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![
        6 => account().prop_map(Level::Account),
        2 => (1_u32..=2).prop_map(Level::Psp),
        1 => Just(Level::Platform),
    ]
}

fn kind() -> impl Strategy<Value = LimitKind> {
    select(LimitKind::ALL.to_vec())
}

/// Limits near the usual amounts; most are soon lifted again.
fn limit(kinds: &[LimitKind]) -> impl Strategy<Value = (LimitKind, Option<i64>)> + use<> {
    select(kinds.to_vec()).prop_flat_map(|kind| {
        let values = match (kind.window(), kind.unit()) {
            (Window::Transaction, _) => vec![0, 99, 333, 1_000],
            (Window::Balance, _) => vec![0, 500, 8_000, 50_000],
            (Window::Month, Unit::Amount) => vec![0, 1_000, 6_000, 30_000],
            (Window::Month, Unit::Count) => vec![0, 3, 6, 12],
            (_, Unit::Amount) => vec![0, 100, 600, 3_000, 10_000],
            (_, Unit::Count) => vec![0, 1, 2, 4],
        };
        let value = prop_oneof![3 => Just(None), 3 => select(values).prop_map(Some)];
        value.prop_map(move |value| (kind, value))
    })
}

fn temporary() -> impl Strategy<Value = Op> {
    let limit = (limit(&LimitKind::ALL), select(vec![1_u64, 1, 2, 26]));
    (account(), limit).prop_map(|(account, ((kind, value), hours))| Op::Temporary {
        account,
        limit: value.map(|most| (kind, most, hours)),
    })
}

fn fee() -> impl Strategy<Value = Fee> {
    let bound = || prop_oneof![3 => Just(None), 1 => (0_i64..=60).prop_map(Some)];
    (
        0..CHARGED.len(),
        0..RATES.len(),
        select(vec![0_i64, 0, 0, 0, 1, 7, 50, 100, 333, 1_000]),
        (bound(), bound()),
        prop_oneof![3 => Just(true), 1 => Just(false)],
        select(vec![0_usize, 4, 5, 5, 5]),
    )
        .prop_map(|(code, rate, fixed, (least, more), charge, tax)| Fee {
            code,
            rate,
            fixed,
            least,
            // The service refuses a minimum fee above the maximum.
            most: more.map(|more| least.unwrap_or(0) + more),
            charge,
            tax,
        })
}

/// Schedules: at most one entry for each type, since the service accepts no other.
fn fees() -> impl Strategy<Value = Vec<Fee>> {
    let some = vec(fee(), 2..8).prop_map(|mut fees| {
        fees.sort_by_key(|fee| fee.code);
        fees.dedup_by_key(|fee| fee.code);
        fees
    });
    prop_oneof![1 => Just(Vec::new()), 2 => some]
}

/// From minutes to months; now and then the clock is set back.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0_i64..600_000,
        6 => 0_i64..5_400_000,
        2 => 0_i64..100_000_000,
        1 => 0_i64..3_000_000_000,
        1 => -100_000_000_i64..0,
    ]
}

/// Any operation. It does not depend on the state, so that a run shrinks freely.
pub fn op() -> BoxedStrategy<Op> {
    let newest = || prop_oneof![3 => 0_usize..3, 1 => 0_usize..12];
    let credit = prop_oneof![3 => Just(true), 2 => Just(false)];
    let of_types = LimitKind::ALL.map(|kind| kind.is_of_types().then_some(kind));
    let of_types: Vec<_> = of_types.into_iter().flatten().collect();
    let much = || prop_oneof![5 => (3..AMOUNTS.len()).prop_map(Pick::Usual), 1 => pick()];
    prop_oneof![
        22 => (account(), credit, keyed())
            .prop_map(|(account, credit, (key, amount))| Op::Post { account, credit, key, amount }),
        16 => (account(), keyed(), end(), select(vec![0_u8, 0, 10, 100])).prop_map(
            |(account, (key, amount), end, tolerance)| Op::Hold { account, key, amount, end, tolerance }),
        14 => (newest(), change())
            .prop_map(|(hold, (amount, end))| Op::Amend { hold, amount, end }),
        10 => (newest(), part(), any::<bool>(), reversal_key())
            .prop_map(|(voucher, part, fees, key)| Op::Refund { voucher, part, fees, key }),
        14 => (newest(), any::<bool>(), part())
            .prop_map(|(hold, confirm, part)| Op::Step { hold, confirm, part }),
        20 => (account(), to(), keyed())
            .prop_map(|(from, to, (key, amount))| Op::Send { from, to, key, amount }),
        14 => (newest(), word(), any::<bool>())
            .prop_map(|(transfer, word, rail)| Op::Word { transfer, word, rail }),
        2 => (newest(), any::<bool>())
            .prop_map(|(transfer, completed)| Op::Verdict { transfer, completed }),
        4 => (newest(), part()).prop_map(|(transfer, part)| Op::Reverse { transfer, part }),
        14 => (account(), much()).prop_map(|(account, amount)| Op::CashIn { account, amount }),
        9 => (account(), life()).prop_map(|(account, change)| Op::Life { account, change }),
        12 => (level(), limit(&LimitKind::ALL))
            .prop_map(|(level, (kind, value))| Op::Limit { level, kind, value }),
        4 => temporary(),
        3 => (any::<bool>(), limit(&of_types))
            .prop_map(|(credit, (kind, value))| Op::TypeLimit { credit, kind, value }),
        4 => (level(), fees()).prop_map(|(level, fees)| Op::Fees { level, fees }),
        12 => time().prop_map(|millis| Op::Time { millis }),
        3 => (-1_i8..=1).prop_map(|more| Op::Until { more }),
        1 => Just(Op::Restart),
    ]
    .boxed()
}
