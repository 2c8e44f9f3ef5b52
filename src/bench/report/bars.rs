//! Limits that figures have to keep.

use serde::Serialize;

use crate::figures::Thousandths;

/// A limit that a figure has to keep.
#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    /// What is measured.
    pub what: String,
    /// What it has to be.
    pub bar: String,
    /// What it is.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
}

/// One that a figure has to reach.
pub fn at_least(what: impl Into<String>, found: Thousandths, bar: Thousandths) -> Bar {
    Bar {
        what: what.into(),
        bar: format!(">= {bar}"),
        found: found.to_string(),
        holds: found >= bar,
    }
}

/// One that a figure may reach.
pub fn at_most(what: impl Into<String>, found: Thousandths, bar: Thousandths) -> Bar {
    Bar {
        what: what.into(),
        bar: format!("<= {bar}"),
        found: found.to_string(),
        holds: found <= bar,
    }
}

/// One that a figure has to stay below.
pub fn below(what: &str, found: u64, bar: u64, show: fn(u64) -> String, unit: &str) -> Bar {
    Bar {
        what: what.to_owned(),
        bar: format!("< {} {unit}", show(bar)),
        found: format!("{} {unit}", show(found)),
        holds: found < bar,
    }
}
