//! One value of a page: its text, its kind, and its link.

use caudal_backup::names::hex;
use caudal_ledger::chain::Digest;

/// How many bytes of a hash are shown.
const HASH_SHOWN: usize = 8;

/// How a state is to be judged; colour never stands alone, the word says it, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tone {
    /// As it should be.
    Good,
    /// An operator should look at it.
    Warn,
    /// It does not work, or it was refused.
    Bad,
    /// Ended, or of no concern.
    Quiet,
}

impl Tone {
    /// The class in the style sheet.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
            Self::Quiet => "quiet",
        }
    }
}

/// The kind of a cell, which decides how it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum CellKind {
    /// Words.
    Text,
    /// An id, which is copied rather than read.
    Code,
    /// A figure or an amount: to the right, all digits of one width.
    Figure,
    /// An instant, with its form for machines.
    Time(String),
    /// A state.
    State(Tone),
}

/// One value of a table or of a list of facts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cell {
    /// The text; an empty one is written as a dash.
    pub text: String,
    /// The address that it links to.
    pub href: Option<String>,
    /// How it is written.
    pub kind: CellKind,
    /// What a file has in its place: digits as programs write them, or the id that the text stands for.
    pub raw: Option<String>,
}

impl Cell {
    /// Words.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::of(CellKind::Text, text)
    }

    /// An id.
    pub(super) fn code(text: impl ToString) -> Self {
        Self::of(CellKind::Code, text.to_string())
    }

    /// The beginning of a hash: as much as people compare.
    pub(super) fn hash(hash: [u8; 32]) -> Self {
        Self::code(hex(&Digest(hash).first::<HASH_SHOWN>()))
    }

    /// A figure that is already formatted.
    pub(super) fn figure(text: impl ToString) -> Self {
        Self::of(CellKind::Figure, text.to_string())
    }

    /// A cell of a kind.
    pub(super) fn of(kind: CellKind, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            href: None,
            kind,
            raw: None,
        }
    }

    /// The same cell, with what a file has in its place.
    #[must_use]
    pub(super) fn with_raw(mut self, raw: impl Into<String>) -> Self {
        self.raw = Some(raw.into());
        self
    }

    /// The same cell, as a link.
    #[must_use]
    pub(super) fn to(mut self, href: impl Into<String>) -> Self {
        self.href = Some(href.into());
        self
    }

    /// The same cell, as a link if there is an address.
    #[must_use]
    pub(super) fn leads(mut self, href: Option<String>) -> Self {
        self.href = href;
        self
    }

    /// Words that may be missing.
    pub(super) fn maybe(text: Option<impl ToString>) -> Self {
        Self::text(text.map_or_else(String::new, |text| text.to_string()))
    }

    /// An id that may be missing.
    pub(super) fn maybe_code(text: Option<impl ToString>) -> Self {
        Self::code(text.map_or_else(String::new, |text| text.to_string()))
    }
}
