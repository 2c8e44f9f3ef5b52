//! The actors over a store and a bank: stories of orders that run at the same time, with power cuts, actors that
//! die, realms that are retired, and a bank that is late, silent, forgetful or wrong.
//!
//! **Shape.** A [`Story`] is a list of [`Scene`]s. The orders of a scene are asked at the same time, while the
//! bank's notices come, each twice and the newest first; the store writes a number of their commits, and then the
//! scene ends as its [`End`] says. Orders whose outcome is unknown are asked again, with the same external id or
//! key, until it is known. Then everything comes to rest, and each account's balance is checked against the
//! [`book::Book`], which knows the answers and the prices but no other rule, and against the bank's own list.
//!
//! **Bounds.** Fewer actors than accounts. All actors live on one thread whose clock stands still, so a story takes
//! milliseconds and runs the same way each time. Some stories are also played on several threads by the clock of the
//! machine, where each run differs.
//!
//! **Failure.** A story that fails shrinks: fewer scenes, fewer orders, smaller amounts, no hazard, a calm end.
//! Every order prints as a call.

mod ask;
mod bank;
pub mod book;
mod clock;
mod pace;
mod stage;
mod strays;

use std::ops::Range;

use proptest::prelude::*;

pub use stage::{play, play_on};

/// How many accounts a story has.
pub const ACCOUNTS: u64 = 4;
/// How many of the accounts have an actor at the same time.
pub const RESIDENT: usize = 2;
/// The initial balance of each account, in centavos.
pub const FUNDS: i64 = 3_000;
/// The most that may leave the tenant in a day, in centavos: low enough that stories reach it.
pub const DAILY_TOTAL: i64 = 9_000;
/// The fee of a transfer through the bank: 1.00 and the tax on it, in centavos.
pub const SEND_FEE: i64 = 121;
/// The fee of a debit: 0.10 and the tax on it, in centavos.
pub const DEBIT_FEE: i64 = 11;
const AMOUNTS: Range<i64> = 1..2_000;

/// One order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Credit an account.
    Credit(u64, i64),
    /// Debit an account.
    Debit(u64, i64),
    /// Hold money of an account.
    Hold(u64, i64),
    /// Confirm this amount of a hold, or the rest for 0. In a story the number counts back over the holds; once the
    /// order is asked it is the number of the order that opened the hold.
    Confirm(usize, i64),
    /// Release this amount of a hold, chosen in the same way.
    Release(usize, i64),
    /// Set the amount of a hold, chosen in the same way: raise it or lower it.
    Amend(usize, i64),
    /// Give back this amount of a debit. In a story the number counts back over the debits; once the order is asked it is
    /// the number of the order that debited.
    Refund(usize, i64),
    /// Move money from an account to another.
    Give(u64, u64, i64),
    /// Send money of an account through the bank, which handles it as the fate says.
    Send(u64, i64, Fate),
    /// Debit two accounts as one batch, all or nothing.
    Both(u64, u64, i64),
    /// Money arrives for an account, and the bank reports it this often at once; the bank's list has it in any case.
    Arrive(u64, i64, u8),
    /// Money arrives for a CVU that nobody has, and a person returns it to its sender through the bank, which handles the
    /// return as the fate says. A person credits to the account whatever is not returned, and whatever comes back.
    Stray(u64, i64, Fate),
    /// Suspend an account.
    Suspend(u64),
    /// Lift an account's suspension.
    Reactivate(u64),
    /// Repeat the order this many places before, with the same external id or key.
    Again(usize),
}

/// How the bank treats a transfer, or a return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It completes the transfer.
    Complete,
    /// It refuses the transfer.
    Refuse,
    /// It completes the transfer but does not answer the first time, and does not know it when it is first asked.
    Silent,
    /// It fails the first time, without having taken the transfer.
    Deaf,
    /// It takes its time, does not say at first how far the transfer is, and completes it.
    Late,
    /// It takes its time, and the transfer fails.
    Fail,
    /// It takes its time and completes the transfer, which then comes back, whole or in part.
    Back,
    /// It takes its time and loses the transfer: a person decides whether it was done. It loses no return.
    Lose,
}

/// What goes wrong in a scene.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hazard {
    /// The store refuses the next commit.
    Refusal,
    /// The n-th question for the time panics, whether an account, the realm's supervisor or the search through the bank's
    /// list asks it.
    Panic(i64),
    /// Everything that leaves is held until the scene has ended.
    Held,
}

/// How a scene ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// When everything is answered.
    Calm,
    /// Power fails: after so many commits, with so many more on disk that nobody was told of.
    Cut(usize, usize),
    /// The realm is retired after this many commits, and continues when everything is still.
    Retire(usize),
}

/// Orders that are asked at the same time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scene {
    /// The orders.
    pub orders: Vec<Order>,
    /// The hazard, if there is one.
    pub hazard: Option<Hazard>,
    /// How it ends.
    pub end: End,
}

/// Scenes that are played one after another.
pub type Story = Vec<Scene>;

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Complete),
        1 => Just(Fate::Refuse),
        1 => Just(Fate::Silent),
        1 => Just(Fate::Deaf),
        1 => Just(Fate::Late),
        1 => Just(Fate::Fail),
        1 => Just(Fate::Back),
        1 => Just(Fate::Lose),
    ]
}

/// The fate of a return.
fn kept() -> impl Strategy<Value = Fate> {
    fate().prop_map(|fate| match fate {
        Fate::Lose => Fate::Late,
        fate => fate,
    })
}

fn order() -> impl Strategy<Value = Order> {
    let account = || 1..=ACCOUNTS;
    let part = || prop_oneof![2 => Just(0), 1 => AMOUNTS];
    prop_oneof![
        4 => (account(), AMOUNTS).prop_map(|(of, amount)| Order::Credit(of, amount)),
        12 => (account(), AMOUNTS).prop_map(|(of, amount)| Order::Debit(of, amount)),
        10 => (account(), AMOUNTS).prop_map(|(of, amount)| Order::Hold(of, amount)),
        6 => (1..4_usize, part()).prop_map(|(back, part)| Order::Confirm(back, part)),
        6 => (1..4_usize, part()).prop_map(|(back, part)| Order::Release(back, part)),
        5 => (1..4_usize, AMOUNTS).prop_map(|(back, amount)| Order::Amend(back, amount)),
        5 => (1..4_usize, AMOUNTS).prop_map(|(back, amount)| Order::Refund(back, amount)),
        6 => (account(), account(), AMOUNTS)
            .prop_map(|(from, to, amount)| Order::Give(from, to, amount)),
        6 => (account(), AMOUNTS, fate()).prop_map(|(of, amount, fate)| Order::Send(of, amount, fate)),
        2 => (account(), account(), AMOUNTS)
            .prop_map(|(one, other, amount)| Order::Both(one, other, amount)),
        3 => (account(), AMOUNTS, 0..4_u8)
            .prop_map(|(of, amount, answer)| Order::Arrive(of, amount, answer)),
        2 => (account(), AMOUNTS, kept())
            .prop_map(|(of, amount, fate)| Order::Stray(of, amount, fate)),
        1 => account().prop_map(Order::Suspend),
        1 => account().prop_map(Order::Reactivate),
        5 => (1..8_usize).prop_map(Order::Again),
    ]
}

/// Generates stories.
pub fn stories() -> impl Strategy<Value = Story> {
    let hazard = prop_oneof![
        4 => Just(None),
        1 => Just(Some(Hazard::Refusal)),
        1 => (1..40_i64).prop_map(|nth| Some(Hazard::Panic(nth))),
        1 => Just(Some(Hazard::Held)),
    ];
    let end = prop_oneof![
        2 => Just(End::Calm),
        2 => (0..12_usize, 0..6_usize).prop_map(|(after, keep)| End::Cut(after, keep)),
        1 => (0..12_usize).prop_map(End::Retire),
    ];
    let orders = proptest::collection::vec(order(), 1..10);
    let scene = (orders, hazard, end).prop_map(|(orders, hazard, end)| Scene {
        orders,
        hazard,
        end,
    });
    proptest::collection::vec(scene, 1..5)
}
