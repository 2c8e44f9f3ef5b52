//! The log against real servers, which the tests start themselves and break.

mod faults;
mod proxy;
mod refusals;
mod suite;
