//! The console: pages for those who are logged in, in both languages, and nothing that a name or another page could do.

mod acts;
pub mod browser;
mod doors;
mod pages;
mod requests;
mod sessions;
mod statements;
mod strangers;
mod tags;
