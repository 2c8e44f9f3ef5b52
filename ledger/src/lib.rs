//! Decides: the pure rules of the ledger. No I/O, no clock, no randomness, no async, no logging.
//!
//! Everything comes in as an argument: time, ids, policy, existing state. An aggregate
//! ([`accounts::Account`], [`voucher_types::VoucherTypes`], [`tenants::Platform`]) decides an order
//! with `decide(&self, order, context) -> Result<_, Rejection>`, which changes nothing, and applies
//! facts with `apply(&mut self, fact)`, which cannot refuse. Live posting, dry run, recovery and
//! verification run the same two functions.

#![deny(missing_docs, clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

#[macro_use]
mod words;

pub mod accounts;
pub mod alias;
pub mod balance;
pub mod bank;
pub mod book_accounts;
pub mod books;
pub mod calendar;
pub mod cases;
pub mod chain;
pub mod clients;
pub mod collector;
pub mod counterparty;
pub mod coverage;
pub mod cuit;
pub mod cvu;
pub mod days;
pub mod deliveries;
pub mod events;
pub mod facts;
pub mod fees;
pub mod history;
pub mod holds;
pub mod ids;
pub mod kyc;
pub mod limits;
pub mod money;
pub mod numbers;
pub mod particulars;
pub mod people;
pub mod reconciliation;
pub mod rejection;
pub mod remuneration;
pub mod seal;
pub mod statements;
pub mod tenants;
pub mod text;
pub mod time;
pub mod transfers;
pub mod treasury;
pub mod voucher_types;
pub mod vouchers;
pub mod webhooks;
