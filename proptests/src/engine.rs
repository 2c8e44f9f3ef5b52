//! The actors over a store and a bank: stories of orders that run at the same time, with power cuts.
//!
//! **Shape.** A [`Story`] is a list of [`Scene`]s. The orders of a scene are asked at the same time;
//! the store writes so many of their commits and then, in some scenes, power goes, with so many more
//! of them on disk and nobody told. What nobody knows the outcome of is asked again, with the same
//! external id, until it is known. At the end of each scene every account's balance is held against
//! the [`book::Book`], which knows the answers and nothing of the rules.
//!
//! **Bounds.** All actors live on one thread whose clock stands still, so a story takes milliseconds
//! and runs the same way each time.
//!
//! **Failure.** A story that fails shrinks: fewer scenes, fewer orders, smaller amounts, no power cut.
//! Every order prints as a call.

mod bank;
pub mod book;
mod stage;

use std::ops::Range;

use proptest::prelude::*;

pub use stage::play;

/// Accounts of a story.
pub const ACCOUNTS: u64 = 4;
/// What each of them has at the beginning, in centavos.
pub const FUNDS: i64 = 1_000;
/// The most that may leave the tenant in a day, in centavos: stories run into it.
pub const DAILY_TOTAL: i64 = 3_000;
const AMOUNTS: Range<i64> = 1..700;

/// One order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Credit an account.
    Credit(u64, i64),
    /// Debit an account.
    Debit(u64, i64),
    /// Hold money of an account.
    Hold(u64, i64),
    /// Move money from an account to another.
    Give(u64, u64, i64),
    /// Send money of an account through the bank, which treats it so.
    Send(u64, i64, Fate),
    /// Debit two accounts as one batch, all or nothing.
    Both(u64, u64, i64),
    /// Ask the order so many places before once more, with its external id.
    Again(usize),
}

/// What the bank does with a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It completes it.
    Complete,
    /// It refuses it.
    Refuse,
    /// It does not answer the first time, and has completed it.
    Silent,
}

/// Orders that are asked at the same time, and how the scene ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scene {
    /// The orders.
    pub orders: Vec<Order>,
    /// A power cut: after so many commits, with so many more on disk that nobody heard of.
    pub cut: Option<(usize, usize)>,
}

/// Scenes one after the other.
pub type Story = Vec<Scene>;

fn order() -> impl Strategy<Value = Order> {
    let account = || 1..=ACCOUNTS;
    let fate = prop_oneof![
        3 => Just(Fate::Complete),
        1 => Just(Fate::Refuse),
        1 => Just(Fate::Silent),
    ];
    prop_oneof![
        2 => (account(), AMOUNTS).prop_map(|(of, amount)| Order::Credit(of, amount)),
        3 => (account(), AMOUNTS).prop_map(|(of, amount)| Order::Debit(of, amount)),
        2 => (account(), AMOUNTS).prop_map(|(of, amount)| Order::Hold(of, amount)),
        3 => (account(), account(), AMOUNTS)
            .prop_map(|(from, to, amount)| Order::Give(from, to, amount)),
        3 => (account(), AMOUNTS, fate).prop_map(|(of, amount, fate)| Order::Send(of, amount, fate)),
        1 => (account(), account(), AMOUNTS)
            .prop_map(|(one, other, amount)| Order::Both(one, other, amount)),
        2 => (1..8_usize).prop_map(Order::Again),
    ]
}

/// Stories.
pub fn stories() -> impl Strategy<Value = Story> {
    let cut = proptest::option::of((0..12_usize, 0..6_usize));
    let scene = (proptest::collection::vec(order(), 1..10), cut)
        .prop_map(|(orders, cut)| Scene { orders, cut });
    proptest::collection::vec(scene, 1..5)
}
