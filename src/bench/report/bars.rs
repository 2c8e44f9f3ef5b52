//! Limits for figures.

use serde::Serialize;

use crate::figures::Thousandths;

/// A limit for a figure.
#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    /// The name of the figure.
    pub what: String,
    /// The limit.
    pub bar: String,
    /// The figure.
    pub found: String,
    /// Whether the figure is within the limit.
    pub holds: bool,
}

/// A limit that a figure has to reach.
pub fn at_least(what: impl Into<String>, found: Thousandths, bar: Thousandths) -> Bar {
    Bar {
        what: what.into(),
        bar: format!(">= {bar}"),
        found: found.to_string(),
        holds: found >= bar,
    }
}

/// A limit that a figure may reach but not exceed.
pub fn at_most(what: impl Into<String>, found: Thousandths, bar: Thousandths) -> Bar {
    Bar {
        what: what.into(),
        bar: format!("<= {bar}"),
        found: found.to_string(),
        holds: found <= bar,
    }
}

/// A limit that a figure has to stay below.
pub fn below(what: &str, found: u64, bar: u64, show: fn(u64) -> String, unit: &str) -> Bar {
    Bar {
        what: what.to_owned(),
        bar: format!("< {} {unit}", show(bar)),
        found: format!("{} {unit}", show(found)),
        holds: found < bar,
    }
}
