//! Talks: HTTP in (native family, wallet family, admin), HTTP out (the bank, webhooks), configuration, and the
//! service that is composed of all.
//!
//! **Shape.** A library for the program `caudal`, whose command line is beside it (`main.rs`, `cli`), and for its
//! bench. It starts the sandbox bank, a crate below it, and knows neither bench nor command line.

pub mod admin;
pub mod backup;
pub mod bank;
pub mod bodies;
pub mod calendar;
pub mod clients;
pub mod clock;
pub mod config;
pub mod console;
pub mod http;
pub mod keys;
pub mod log;
pub mod measures;
pub mod memory;
pub mod notices;
pub mod outgoing;
pub mod pages;
pub mod portable;
pub mod server;
pub mod service;
pub mod sheets;
pub mod statements;
pub mod traces;
pub mod v1;
pub mod wallet;
pub mod walletentidad;
pub mod webhooks;
