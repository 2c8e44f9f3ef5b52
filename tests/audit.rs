//! The audit log: who was shown whom, at every page and list; and what was changed, from what to what.

mod changes;
mod keys;
mod looks;

use crate::console::browser::{Browser, credential};
use crate::support::{TestService, Value};

/// Entries of the audit log, newest first.
pub async fn entries(service: &TestService, query: &str) -> Vec<Value> {
    let path = format!("/admin/audit?limit=200&{query}");
    let page = service.admin_get(&path).await.is(200);
    page["items"].as_array().unwrap().clone()
}

/// A person with a role: their credential, and a browser in which they are logged in.
pub async fn person(service: &TestService, name: &str, role: &str) -> (String, Browser) {
    let credential = credential(service, name, role).await;
    let mut browser = Browser::new(service);
    let fields = [("key", credential.as_str())];
    browser.send("/console/login", &fields).await.is(303);
    (credential, browser)
}
