//! The catalogue of event types as Markdown, from the service's own enum: for the page of events and for the
//! document.

use crate::bodies::events::types;

/// The table of event types: when each is sent, and the schema of its `data`.
pub fn events() -> String {
    let row =
        |(word, about, data): (&str, &str, &str)| format!("| `{word}` | {about} | `{data}` |\n");
    let rows: String = types().map(row).collect();
    format!("| type | when | data |\n| --- | --- | --- |\n{rows}")
}
