//! The console: pages for people who are logged in, in both languages, which no hostile name and no other site can
//! abuse.

mod acts;
mod books;
pub mod browser;
mod doors;
mod downloads;
mod foreign_texts;
mod operations;
mod pages;
mod requests;
mod sessions;
mod statements;
mod tags;
