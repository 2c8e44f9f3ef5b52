//! A store of any engine against a naive model that keeps every possible outcome.
//!
//! **Shape.** [`ops`] are the operations on a store; [`cents`] is a tiny ledger as a projection,
//! and a second version of it for the model; [`rig`] runs an engine and its ways to end; [`driver`]
//! does each operation to both and compares.
//!
//! **The model** is one list of commits in the order of their submission. The commits that were
//! answered are surely there; of the rest any prefix may be: only the next opening shows which one.

pub mod cents;
pub mod driver;
pub mod look;
pub mod ops;
pub mod rig;
