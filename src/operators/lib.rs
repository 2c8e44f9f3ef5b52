//! What operators use: the admin API with health and metrics, and the console on the same listener.

pub mod admin;
pub mod console;
