//! Talks: HTTP in (native family, wallet family, admin), HTTP out (the bank), configuration and command line.

pub mod admin;
pub mod bank;
pub mod bench;
pub mod bodies;
pub mod calendar;
pub mod cli;
pub mod clients;
pub mod clock;
pub mod config;
pub mod http;
pub mod keys;
pub mod log;
pub mod notices;
pub mod sandbox;
pub mod server;
pub mod service;
pub mod signing;
pub mod traces;
pub mod v1;
pub mod wallet;
pub mod webhooks;
