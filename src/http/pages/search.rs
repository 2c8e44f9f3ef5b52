//! The index of the search over the pages: a script that the page's own script loads, so that the content security
//! policy need not allow any other request.

use serde_json::{Value, json};

use super::markdown::Rendered;

/// Its address below `/docs/`.
pub(super) const PATH: &str = "search-index.js";

/// The sections of all pages.
#[derive(Debug, Default)]
pub(super) struct SearchIndex(Vec<Value>);

impl SearchIndex {
    /// Adds a page by its name and path.
    pub(super) fn add(&mut self, name: &str, path: &str, page: Rendered) {
        let sections = page.sections.into_iter();
        let sections = sections.map(|it| [it.anchor, it.heading, it.text.trim().to_owned()]);
        let sections: Vec<_> = sections.collect();
        self.0
            .push(json!({"name": name, "path": path, "sections": sections}));
    }

    /// The index as a module: JSON is JavaScript, too.
    pub(super) fn script(self) -> Vec<u8> {
        format!("export default {};\n", Value::Array(self.0)).into_bytes()
    }
}
