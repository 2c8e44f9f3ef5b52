//! What a page consists of, before it is HTML: blocks of facts, tables and forms.
//!
//! **Shape.** A page of the console is a value; one template writes all of them. So every page has the same tables,
//! empty states and forms, and what came from outside is escaped in one place. Nothing is computed in a template.
//!
//! **Bounds.** A page shows what its doors give: lists have pages of [`ROWS`].

use caudal_ledger::time::Timestamp;

use super::tongue::Tongue;
use super::words::Word;

pub use super::cells::{Cell, Kind, Tone};

/// Rows of a page of a list.
pub const ROWS: usize = 50;
/// Rows of a list that is one of several on its page.
pub const BRIEF: usize = 15;

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// What it is called.
    pub title: &'static str,
    /// Whether it holds figures, which stand to the right.
    pub figure: bool,
}

/// A table, with what to say when it is empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// What to say when there is no row: what that means, or what to do.
    pub empty: &'static str,
    /// Below the table: how many there are, how far was looked.
    pub note: Option<String>,
    /// Where it goes on.
    pub next: Option<String>,
}

impl Table {
    /// An empty table; a column is named with whether it holds figures.
    pub fn new(tongue: Tongue, title: Word, empty: Word, columns: &[(Word, bool)]) -> Self {
        let column = |(word, figure): &(Word, bool)| Column {
            title: tongue.say(*word),
            figure: *figure,
        };
        Self {
            title: tongue.say(title).to_owned(),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
            empty: tongue.say(empty),
            note: None,
            next: None,
        }
    }

    /// With these rows.
    #[must_use]
    pub fn with(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// Where it goes on, if it does.
    #[must_use]
    pub fn next(mut self, next: Option<String>) -> Self {
        self.next = next;
        self
    }

    /// With what is to be said below it, and where it goes on: what it shows is a part of a list.
    #[must_use]
    pub fn part(mut self, note: String, next: Option<String>) -> Self {
        self.note = Some(note);
        self.next(next)
    }
}

/// What a field of a form takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Takes {
    /// A line.
    Line,
    /// Several lines.
    Lines,
    /// A day.
    Day,
    /// One of some: its value and what it is called.
    Choice(Vec<(String, String)>),
    /// Yes or no.
    Tick,
}

/// A field of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name in what is sent.
    pub name: &'static str,
    /// What it is called.
    pub label: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What is in it.
    pub value: String,
    /// Whether it must be filled in.
    pub required: bool,
    /// How many characters it takes.
    pub most: usize,
}

impl Field {
    /// A field that has to be filled in.
    pub fn new(tongue: Tongue, name: &'static str, label: Word, takes: Takes, most: usize) -> Self {
        Self {
            name,
            label: tongue.say(label),
            takes,
            value: String::new(),
            required: true,
            most,
        }
    }

    /// One that may be left empty, with what is in it.
    #[must_use]
    pub fn maybe(mut self, value: impl Into<String>) -> Self {
        self.value = value.into();
        self.required = false;
        self
    }
}

/// A form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    /// What it does.
    pub title: String,
    /// Where it is sent.
    pub action: String,
    /// Whether it only asks: then its fields are in the address, and no token is needed.
    pub asks: bool,
    /// Its fields.
    pub fields: Vec<Field>,
    /// What its button says.
    pub submit: &'static str,
    /// Whether it moves money or stops somebody.
    pub grave: bool,
}

/// A figure that stands alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tile {
    /// What it is.
    pub label: &'static str,
    /// The figure.
    pub cell: Cell,
    /// What else is to be known of it.
    pub hint: String,
}

/// Figures that change while the page is open, with their charts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Live {
    /// What they are when the page is made.
    pub tiles: Vec<Tile>,
    /// The charts: what each is called, and which figure of a point it shows.
    pub charts: Vec<(&'static str, usize)>,
    /// The points so far, as JSON.
    pub past: String,
}

/// A part of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Block {
    /// Figures that change.
    Live(Live),
    /// A sentence that matters.
    Note(Tone, String),
    /// Names and values.
    Facts(String, Vec<(&'static str, Cell)>),
    /// Figures that stand alone.
    Tiles(Vec<Tile>),
    /// Rows.
    Table(Table),
    /// A form.
    Form(Form),
    /// Text as it is: what the bank was asked and answered.
    Text(String, String),
    /// Links to what else there is of the same thing.
    Tabs(Vec<(String, &'static str, bool)>),
    /// A part that is fetched once the page is there, because it may take longer.
    Later {
        /// Its address.
        part: String,
        /// What is said meanwhile.
        waiting: &'static str,
        /// Where to go without scripts, and what that is called.
        instead: (String, &'static str),
    },
}

/// The parts of the console, in the order of the navigation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// What is going on.
    Overview,
    /// Tenants and their realms.
    Tenants,
    /// Looking for something.
    Search,
    /// What waits for a person.
    Cases,
    /// What waits for a second person.
    Approvals,
    /// The collector accounts.
    Treasury,
    /// The bank beside the ledger.
    Reconciliation,
    /// Webhooks of all tenants.
    Webhooks,
    /// Actors of all realms.
    Actors,
    /// The journal and its verification.
    Journal,
    /// Where the journal is kept besides.
    Backups,
    /// How much is logged.
    Log,
    /// Who did what.
    Audit,
}

impl Part {
    /// Every part with its address and its name.
    pub const ALL: [(Self, &'static str, Word); 13] = [
        (Self::Overview, "/console/", Word::Overview),
        (Self::Search, "/console/search", Word::Search),
        (Self::Tenants, "/console/tenants", Word::Tenants),
        (Self::Cases, "/console/cases", Word::Cases),
        (Self::Approvals, "/console/approvals", Word::Approvals),
        (Self::Treasury, "/console/treasury", Word::Treasury),
        (
            Self::Reconciliation,
            "/console/reconciliation",
            Word::Reconciliation,
        ),
        (Self::Webhooks, "/console/webhooks", Word::Webhooks),
        (Self::Actors, "/console/actors", Word::Actors),
        (Self::Journal, "/console/journal", Word::Journal),
        (Self::Backups, "/console/backups", Word::Backups),
        (Self::Log, "/console/log", Word::Log),
        (Self::Audit, "/console/audit", Word::Audit),
    ];
}

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// What it is called.
    pub title: String,
    /// The part of the console that it is of.
    pub part: Part,
    /// The pages above it, from the part on: what they are called and where they are.
    pub above: Vec<(String, String)>,
    /// What is on it.
    pub blocks: Vec<Block>,
    /// When it was made.
    pub at: Timestamp,
}
