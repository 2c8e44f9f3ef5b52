//! Tests of the engines: the suite, the model, and every way to lose a disk that we could think of.

mod engines;
mod faults;
mod flips;
mod kill;
mod model;
mod opening;
mod parts;
mod support;
mod torn;
