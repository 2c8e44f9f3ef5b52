//! Settings of traces: the collector to which spans are sent.

use serde::Deserialize;

use super::Mistakes;

/// The settings of the section.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TracesSection {
    /// The URL to which spans are sent; without it, none are.
    pub(super) endpoint: Option<String>,
    /// One in this many requests that bring no trace begins one; 0 is none.
    pub every: u32,
}

impl Default for TracesSection {
    fn default() -> Self {
        Self {
            endpoint: None,
            every: 100,
        }
    }
}

impl TracesSection {
    /// The URL to which spans are sent, if one is set.
    pub fn endpoint(&self) -> Option<&str> {
        self.endpoint.as_deref().filter(|place| !place.is_empty())
    }

    /// Notes the mistakes of the section.
    pub(super) fn check(&self, wrong: &mut Mistakes) {
        let Some(endpoint) = self.endpoint() else {
            return;
        };
        let url = url::Url::parse(endpoint);
        if !url.is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            let why = "is the whole address of the collector, for instance http://127.0.0.1:4318/v1/traces";
            wrong.add("traces.endpoint", why);
        }
        if cfg!(not(feature = "otlp")) {
            let why = "needs a program that was built with `--features otlp`";
            wrong.add("traces.endpoint", why);
        }
    }
}
