//! The properties.

mod days;
mod engine;
mod fencing;
mod flows;
mod keys;
mod ledger;
mod money;
mod stores;
