//! Storage: a journal that is the source of truth, and an index on sled derived from it. The feature `testing` has an
//! engine and a log in memory for the tests of other crates, and the suites that every engine and log passes.
//!
//! **Shape.** A [`Commit`] is an indivisible list of [`Entry`]s. Each entry belongs to one
//! [`StreamId`] and carries the next sequence of that stream; a store refuses a gap or a repeat. A
//! [`Projection`] that the layer above supplies computes what an entry adds to the index, so this
//! crate knows nothing about money and can always rebuild the index from the journal.
//!
//! **Order.** Commits become durable in the order of [`Store::submit`]; `done` callbacks and
//! barriers run in that order, after the flush that covers them.
//!
//! **Failure.** The first failed write or flush poisons the store: every later call answers
//! [`StoreError::Poisoned`], and only a restart, which reads the disk, can tell what is there.

#![deny(missing_docs)]

pub mod api;
mod background;
mod codec;
#[cfg(any(test, feature = "testing"))]
pub mod conformance;
mod context;
pub mod durable;
mod error;
#[cfg(any(test, feature = "testing"))]
pub mod faulty;
mod files;
pub mod filling;
mod folder;
mod health;
mod index;
mod journal;
pub mod log;
mod num;
mod rows;
mod sync;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod times;

pub use api::*;
pub use background::{give_way, yield_to_requests};
pub use durable::{
    DurableStore, End, Member, NodePart, OnProgress, OnRoleChange, Progress, Records, Restore,
    RoleChange, Spot, StoreOptions, exclusive,
};
pub use error::OpenError;
#[cfg(any(test, feature = "testing"))]
pub use faulty::FaultyStore;
pub use files::{Faults, make_folder};
pub use journal::format::DISK_FORMAT;
pub use rows::STREAM_TAG;
pub use tally::{Scale, Tally};
