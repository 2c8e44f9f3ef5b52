//! A store of any engine against a naive model that keeps every outcome that is possible.
//!
//! **Shape.** [`ops`] are what happens to a store; [`cents`] is a tiny ledger as a projection,
//! and the same once more for the model; [`rig`] runs an engine and its ways to end; [`driver`]
//! does an operation to both and compares.
//!
//! **The model** is one list of commits in the order of their submission. What was answered is
//! surely there; of the rest any prefix may be: which one is learnt only from the next opening.

pub mod cents;
pub mod driver;
pub mod look;
pub mod ops;
pub mod rig;
