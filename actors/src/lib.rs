//! The actors: one per account, a supervisor per realm, and the ports to the outside world.
//!
//! **Shape.** [`engine::Engine`] is the one door. It sends an order ([`orders`]) to the supervisor of the caller's realm;
//! the supervisor checks the rules over the whole realm and forwards the order to the account's actor; the actor
//! decides, applies at once and hands the facts to the store. The store's thread releases the answer after the flush.
//!
//! **Bounds.** Every mailbox has a named limit ([`mailbox`]); a full one answers
//! [`failure::Failure::Overloaded`]. An order whose client has left is dropped when its turn comes,
//! before it is decided, and never after.
//!
//! **Order.** A supervisor's messages to an account arrive in their order, and the commits of an account leave in the
//! order in which they were decided, on whichever thread it lives ([`threads`]).
//!
//! **Failure.** After a failed commit the actor is poisoned: it stops, and the
//! next order loads the account again from disk.

pub mod accounts;
pub mod actor_status;
pub mod banks;
pub mod commit_writer;
pub mod courier;
pub mod engine;
pub mod failure;
pub mod in_flight;
pub mod lanes;
mod loads;
pub mod mailbox;
mod meter;
pub mod orders;
pub mod outgoing_pause;
pub mod people;
pub mod persist;
pub mod platform;
pub mod ports;
pub mod realm_clock;
pub mod realm_tasks;
pub mod realms;
pub mod records;
pub mod reply;
pub mod residency;
pub mod settings;
pub mod startup_gate;
pub mod times;
pub mod trail;
pub mod treasury;
pub mod verify;
mod writing;

#[cfg(test)]
mod tests;
