//! Talks: HTTP in (native family, admin), HTTP out (the bank), configuration and command line.

pub mod bank;
pub mod bench;
pub mod clock;
pub mod http;
pub mod keys;
pub mod sandbox;
pub mod server;
pub mod v1;
