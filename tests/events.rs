//! The log of events, read by page and followed as a stream: one gapless list of everything that
//! happened, as it was at the time, for clients that are cut off as for all others.

mod acts;
mod books;
mod golden;
mod pages;
pub mod sse;
mod story;
mod streams;
mod under_load;

use crate::support::{Client, Value};

const FEED: &str = "/v1/events";

/// All events, in pages of this size.
async fn all(client: &Client, limit: usize, types: &str) -> Vec<Value> {
    let (mut found, mut query) = (Vec::new(), String::new());
    loop {
        let path = format!("{FEED}?limit={limit}{types}{query}");
        let page = client.get(&path).await.is(200);
        found.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => query = format!("&after={next}"),
            None => return found,
        }
    }
}

/// The types of events.
fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect()
}
