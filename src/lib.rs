//! The service.

pub mod bank;
pub mod sandbox;
