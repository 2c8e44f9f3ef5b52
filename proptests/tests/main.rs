//! Property tests of the rules and the stores: one binary, one file for each kind of question.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of this room is test code: a panic is how it reports"
)]

mod days;
mod engine;
mod fencing;
mod flows;
mod keys;
mod ledger;
mod money;
mod stores;
