//! A finished span as it is handed over.

use std::time::SystemTime;

/// The kind of a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpanKind {
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
    /// The parent span, and whether it belongs to another service; `None` where a trace begins.
    pub parent: Option<(u64, bool)>,
    /// What it was.
    pub kind: SpanKind,
    /// The name of the operation, from our own code.
    pub name: String,
    /// When it began.
    pub began: SystemTime,
    /// Attributes: names from OpenTelemetry's conventions, values without anything personal.
    pub about: Vec<(&'static str, String)>,
    /// Whether it failed.
    pub failed: bool,
}
