//! The console: pages for those who are logged in, in both languages, and nothing that a name or another page could do.

mod acts;
pub mod browser;
mod pages;
mod sessions;
