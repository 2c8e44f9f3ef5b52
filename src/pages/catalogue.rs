//! The lists on the pages that come from the service's own enums: error codes and types of events, in Markdown.

use caudal_ledger::events::EventKind;

use crate::bodies::events::shape;
use crate::http::catalogue::{self, Audience};

/// The error codes, a table for each audience.
pub fn errors() -> String {
    let all = catalogue::errors();
    let audiences = [
        (Audience::Tenants, "Codes of the API"),
        (Audience::Operators, "Codes of the admin API"),
        (Audience::Banks, "Codes of notices of the bank"),
    ];
    let table = |(audience, heading): (Audience, &str)| {
        let of = all.iter().filter(|entry| entry.audience == audience);
        let row = |entry: &catalogue::Entry| {
            let statuses: Vec<_> = entry.statuses.iter().map(u16::to_string).collect();
            let (code, statuses) = (entry.code, statuses.join(", "));
            format!(
                "| `{code}` | {statuses} | {} | {} |\n",
                entry.when, entry.then
            )
        };
        let rows: String = of.map(row).collect();
        format!(
            "\n## {heading}\n\n| code | status | when | what to do |\n| --- | --- | --- | --- |\n{rows}"
        )
    };
    audiences.map(table).concat()
}

/// The types of events, with the schema of their `data`.
pub fn events() -> String {
    let row = |kind: &EventKind| {
        let (word, about, data) = (kind.as_str(), kind.about(), shape(*kind));
        format!("| `{word}` | {about} | `{data}` |\n")
    };
    let rows: String = EventKind::ALL.iter().map(row).collect();
    format!(
        "\n## Types\n\n`data` has the schema of that name in the OpenAPI document.\n\n| type | what happened | `data` |\n\
         | --- | --- | --- |\n{rows}"
    )
}
