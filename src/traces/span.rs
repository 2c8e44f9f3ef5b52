//! A span as it is handed over when it has ended.

use std::time::SystemTime;

/// What a span was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A request that was answered here.
    Answered,
    /// A request that was made from here.
    Asked,
}

/// A span that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The trace.
    pub trace: u128,
    /// The span.
    pub span: u64,
    /// The span that it is a part of, and whether that is another service's; `None` where a trace begins.
    pub parent: Option<(u64, bool)>,
    /// What it was.
    pub kind: Kind,
    /// What was done, in words of ours.
    pub name: String,
    /// When it began.
    pub began: SystemTime,
    /// What else there is to know: names of OpenTelemetry's conventions, values without anything personal.
    pub about: Vec<(&'static str, String)>,
    /// Whether it failed.
    pub failed: bool,
}
