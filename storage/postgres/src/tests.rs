//! The log against real servers, which the tests start and break themselves.

mod clock;
mod faults;
mod proxy;
mod refusals;
mod suite;
