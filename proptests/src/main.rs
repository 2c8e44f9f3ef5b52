//! Property tests: generators that collide on purpose, a naive model, invariants, machines.
//!
//! **Shape.** [`generators`] make operations and texts; [`model`] knows what each operation should
//! do, in `i128` centavos and `BTreeMap`s, and shares no code with the service; [`machine`] drives
//! the real rules of `ledger` and keeps their records as bytes; [`invariants`] are named after the
//! list in the design (`check_i01` …) and look at histories only, never at the model. Holds,
//! transfers, limits and fees have a world of their own, [`flows`]. [`engine`] plays stories on the
//! actors themselves: orders at the same time, power cuts, and a bank. The tests are in [`tests`]:
//! one file for each kind of question.
//!
//! **Order.** An operation goes to the model first, then to the machine; answers are compared word
//! for word, then states, then invariants.
//!
//! **Failure.** proptest prints the smallest failing run and keeps its seed under
//! `proptest-regressions/`, which is committed. `CAUDAL_PROPTEST_CASES` scales every test of this
//! room: 256 is the usual run, 2560 is ten times as long.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "all of this room is test code: a panic is how it reports"
)]

pub mod engine;
pub mod flows;
pub mod generators;
pub mod invariants;
pub mod machine;
pub mod model;
pub mod scale;
pub mod store;
mod tests;

pub use scale::{cases, config};
