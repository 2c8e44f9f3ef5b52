//! The list on the page of events that comes from the service's own enum, in Markdown.

use caudal_ledger::events::EventKind;

use crate::bodies::events::shape;

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
