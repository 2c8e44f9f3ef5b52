//! Talks: HTTP in (native family, admin), HTTP out (the bank), configuration and command line.

pub mod clock;
pub mod http;
pub mod keys;
pub mod server;
pub mod v1;
