//! Tests of the engines: the suite, the model, and every way to lose a disk that we could think of.
#![allow(
    clippy::as_conversions,
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "tables of cases, and numbers that are small by construction"
)]

mod ahead;
mod anew;
mod apart;
mod cells;
mod checkpoint;
mod engines;
mod faults;
mod filling;
mod flips;
mod formats;
mod held;
mod kill;
mod model;
mod nodes;
mod notes;
mod opening;
mod passing;
mod reads;
mod restoring;
mod rounds;
mod support;
mod torn;
mod witness;
