//! The outward side of the service: HTTP in (native family, wallet family, admin), HTTP out (the bank, webhooks),
//! configuration, and the composition of all parts.
//!
//! **Shape.** A library for the program `caudal`, whose command line (`main.rs`, `cli`) is in the root package, and for
//! its bench. It starts the sandbox bank, which is a crate of its own, and depends on neither the bench nor the command
//! line.

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
