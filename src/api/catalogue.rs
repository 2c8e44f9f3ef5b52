//! The catalogues of error codes and of event types as Markdown, for the document and for pages.

use caudal_http::catalogue::{Audience, ErrorEntry, errors as entries};
use caudal_http::pages::catalogue::events;

/// A catalogue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Catalogue {
    /// Error codes: when each occurs and what to do.
    Errors,
    /// Event types: when each occurs and what its data is.
    Events,
}

impl Catalogue {
    /// Its tables.
    pub fn markdown(self) -> String {
        match self {
            Self::Errors => errors(),
            Self::Events => events(),
        }
    }
}

fn errors() -> String {
    let of = |audience: Audience| {
        let rows: Vec<_> = entries().into_iter().collect();
        let rows = rows.iter().filter(|entry| entry.audience == audience);
        rows.map(ErrorEntry::row).collect::<String>()
    };
    let head = "| code | status | when | what to do |\n| --- | --- | --- | --- |\n";
    format!(
        "{head}{}\n## For operators, at the admin API\n\n{head}{}\n## For the bank\n\n{head}{}",
        of(Audience::Tenants),
        of(Audience::Operators),
        of(Audience::Banks)
    )
}
