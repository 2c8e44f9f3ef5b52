//! The contents of a page before it is HTML: blocks of facts, tables and forms.
//!
//! **Shape.** A page of the console is a value; one template writes all of them. So every page has the same tables,
//! empty states and forms, and text from outside is escaped in one place. Nothing is computed in a template.
//!
//! **Bounds.** A page shows what the API gives: lists have pages of [`ROWS`].

use std::borrow::Cow;
use std::fmt::Display;

use caudal_http::current::Language;
use caudal_ledger::people::audit::REASON_MAX;
use caudal_ledger::time::Timestamp;

use super::locale::Locale;
use super::words::Word;

pub(super) use super::cells::{Cell, CellKind, Tone};

/// Rows of a page of a list.
pub(super) const ROWS: usize = 50;
/// Rows of a list that is one of several on its page.
pub(super) const BRIEF: usize = 15;

/// A column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Column {
    /// The heading.
    pub title: &'static str,
    /// Whether it holds figures, which are aligned to the right.
    pub figure: bool,
}

/// A table, with a text for when it is empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Table {
    /// The heading.
    pub title: String,
    /// The name of its file, unique on its page: the heading in English until something is added to it.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// The text when there is no row: what that means, or what to do.
    pub empty: &'static str,
    /// The note below the table: how many items there are, or how far the search went.
    pub note: Option<String>,
    /// The address of the next page.
    pub next: Option<String>,
    /// How many rows the whole list has, where that is known.
    pub total: Option<u64>,
}

impl Table {
    /// An empty table; each column has a name, and whether it holds figures.
    pub(super) fn new(locale: Locale, title: Word, empty: Word, columns: &[(Word, bool)]) -> Self {
        let column = |(word, figure): &(Word, bool)| Column {
            title: locale.say(*word),
            figure: *figure,
        };
        Self {
            title: locale.say(title).to_owned(),
            name: file_name(title),
            columns: columns.iter().map(column).collect(),
            rows: Vec::new(),
            empty: locale.say(empty),
            note: None,
            next: None,
            total: None,
        }
    }

    /// The table of one of several realms or accounts: their name is added to the heading, and their number to the
    /// name of the file.
    #[must_use]
    pub(super) fn of(mut self, title: &str, number: impl Display) -> Self {
        self.title = format!("{} · {title}", self.title);
        self.name = format!("{}-{number}", self.name);
        self
    }

    /// Adds rows.
    #[must_use]
    pub(super) fn with(mut self, rows: impl IntoIterator<Item = Vec<Cell>>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// Removes a column.
    pub(super) fn remove(&mut self, column: usize) {
        self.columns.remove(column);
        for row in &mut self.rows {
            row.remove(column);
        }
    }

    /// Sets the address of the next page, if there is one.
    #[must_use]
    pub(super) fn next(mut self, next: Option<String>) -> Self {
        self.next = next;
        self
    }

    /// Sets the note below the table and the address of the next page: the table shows a part of a list.
    #[must_use]
    pub(super) fn part(mut self, note: String, next: Option<String>) -> Self {
        self.note = Some(note);
        self.next(next)
    }
}

/// Declares a table of some items: locale, heading, text when it is empty, and the items; then what has to be
/// said before the cells (`=>`), and each column with the cell of an item. A column of figures is aligned to the right.
macro_rules! table {
    ($locale:expr, $title:expr, $empty:expr; $item:pat_param in $items:expr;
        $(=> $before:stmt;)*
        $($column:ident $($figure:ident)?: $cell:expr;)+
    ) => {{
        let columns = [$(($crate::console::words::Word::$column, table!(@is $($figure)?))),+];
        let rows = $items.into_iter().map(|$item| {
            $($before)*
            vec![$($cell),+]
        });
        $crate::console::view::Table::new($locale, $title, $empty, &columns).with(rows)
    }};
    (@is figure) => { true };
    (@is) => { false };
}
pub(super) use table;

/// Declares facts: who says their names, and each name with its value; with a heading, as a block.
macro_rules! facts {
    ($context:expr, $title:ident; $($facts:tt)+) => {
        $context.facts($crate::console::words::Word::$title, facts! { $context; $($facts)+ })
    };
    ($locale:expr; $($name:ident: $cell:expr;)+) => {
        vec![$(($locale.say($crate::console::words::Word::$name), $cell)),+]
    };
}
pub(super) use facts;

/// The name of the file with a table: its heading in English, in the letters of an address.
fn file_name(title: Word) -> String {
    let title = Locale(Language::English).say(title).chars();
    title
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect()
}

/// What a field of a form takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    /// A line.
    Line,
    /// Several lines.
    Lines,
    /// A day.
    Day,
    /// One of several choices: the value and the name of each.
    Choice(Vec<(String, String)>),
    /// Yes or no.
    Tick,
}

/// A field of a form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Field {
    /// Its name in the form that is sent.
    pub name: Cow<'static, str>,
    /// Its label.
    pub label: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Its initial value.
    pub value: String,
    /// Whether it must be filled in.
    pub required: bool,
    /// The most characters that it takes.
    pub most: usize,
}

impl Takes {
    /// Any of these states, by their words on the wire, or none in particular.
    pub(super) fn any_of(locale: Locale, states: impl IntoIterator<Item = &'static str>) -> Self {
        let any = (String::new(), locale.say(Word::Any).to_owned());
        let states = states.into_iter();
        let states = states.map(|word| (word.to_owned(), locale.state(word).text));
        Self::Choice(std::iter::once(any).chain(states).collect())
    }
}

impl Field {
    /// A required field.
    pub(super) fn new(
        locale: Locale,
        name: impl Into<Cow<'static, str>>,
        label: Word,
        takes: Takes,
        most: usize,
    ) -> Self {
        Self {
            name: name.into(),
            label: locale.say(label),
            takes,
            value: String::new(),
            required: true,
            most,
        }
    }

    /// The field for the reason of an act.
    pub(super) fn reason(locale: Locale) -> Self {
        Self::new(locale, "reason", Word::Reason, Takes::Lines, REASON_MAX)
    }

    /// Makes the field optional, with an initial value.
    #[must_use]
    pub(super) fn maybe(mut self, value: impl Into<String>) -> Self {
        self.value = value.into();
        self.required = false;
        self
    }
}

/// A form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    /// Its heading.
    pub title: String,
    /// The address to which it is sent.
    pub action: String,
    /// Whether it only queries: then its fields are in the address, and no token is needed.
    pub asks: bool,
    /// Its fields.
    pub fields: Vec<Field>,
    /// The text of its button.
    pub submit: &'static str,
    /// Whether it moves money or stops somebody.
    pub grave: bool,
}

impl Form {
    /// The same form; whether it moves money or stops somebody.
    #[must_use]
    pub(super) const fn grave(mut self, grave: bool) -> Self {
        self.grave = grave;
        self
    }
}

/// A figure that stands alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Tile {
    /// Its label.
    pub label: &'static str,
    /// The figure.
    pub cell: Cell,
    /// Further details about it.
    pub hint: String,
}

impl Tile {
    /// A figure without further details.
    pub(super) fn of(locale: Locale, label: Word, cell: Cell) -> Self {
        Self {
            label: locale.say(label),
            cell,
            hint: String::new(),
        }
    }
}

/// Figures that change while the page is open, with their charts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Live {
    /// The figures when the page is made.
    pub tiles: Vec<Tile>,
    /// The charts: the name of each, and which figure of a point it shows.
    pub charts: Vec<(&'static str, usize)>,
    /// The points so far, as JSON.
    pub past: String,
}

/// A part of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Block {
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
    /// A form that is folded until it is wanted.
    Folded(Form),
    /// The beginning of blocks that are folded together until they are wanted, with their name.
    FoldBegins(&'static str),
    /// Their end.
    FoldEnds,
    /// Text as it is: a request to the bank, or its answer.
    Text(String, String),
    /// Links to other pages about the same thing.
    Tabs(Vec<(String, &'static str, bool)>),
    /// A part that is fetched after the page, because it may take longer.
    Later {
        /// Its address.
        part: String,
        /// The text until it arrives.
        waiting: &'static str,
        /// The address to use without scripts, and its name.
        instead: (String, &'static str),
    },
}

/// An entry of the navigation: the part, its address and its name.
pub(super) type PartEntry = (Part, &'static str, Word);

/// Declares the parts of the console in the order of the navigation, group by group: each with its address and its name.
macro_rules! parts {
    ($($group:expr => {$($(#[$about:meta])+ $part:ident $place:literal $word:ident;)+})+) => {
        /// A part of the console.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Part {$($(
            $(#[$about])+
            $part,
        )+)+}

        impl Part {
            /// The groups of the navigation, each with its name and its parts; the first group needs no name.
            pub(super) const GROUPS: &[(Option<Word>, &[PartEntry])] =
                &[$(($group, &[$((Self::$part, $place, Word::$word)),+])),+];
        }
    };
}

parts! {
    None => {
        /// The present state.
        Overview "/console/" Overview;
        /// The search.
        Search "/console/search" Search;
    }
    Some(Word::GroupMoney) => {
        /// The collector accounts.
        Treasury "/console/treasury" Treasury;
        /// Whether the banks respond, and what waits for them.
        Banks "/console/banks" Banks;
        /// The bank next to the ledger.
        Reconciliation "/console/reconciliation" Reconciliation;
        /// Cases that wait for a person.
        Cases "/console/cases" Cases;
    }
    Some(Word::GroupTenants) => {
        /// Tenants and their realms.
        Tenants "/console/tenants" Tenants;
        /// Webhooks of all tenants.
        Webhooks "/console/webhooks" Webhooks;
        /// What the platform sets for tenants that set nothing.
        Settings "/console/settings-of-platform" Settings;
    }
    Some(Word::GroupSystem) => {
        /// The nodes of the log, where there are several.
        Node "/console/node" Nodes;
        /// The second place of the journal.
        Backups "/console/backups" Backups;
    }
    Some(Word::GroupPeople) => {
        /// Acts that wait for a second person.
        Approvals "/console/approvals" Approvals;
        /// The people who run the service.
        People "/console/people" People;
        /// Who did what.
        Audit "/console/audit" Audit;
    }
}

/// A page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Page {
    /// Its title.
    pub title: String,
    /// The part of the console to which it belongs.
    pub part: Part,
    /// The pages above it, from the part on: their names and addresses.
    pub above: Vec<(String, String)>,
    /// Its contents.
    pub blocks: Vec<Block>,
    /// When it was made.
    pub at: Timestamp,
}
