//! A realm as a file: exported from a journal, checked, and imported into another installation.
//!
//! **Shape.** A file ([`format`]) has one realm: its entries in the order of the journal, and nothing of anybody else.
//! [`export`] makes one from a journal or a depot, up to an instant if one is given; [`read`] reads it and trusts
//! nothing in it; [`import`] appends its entries to another store; [`tables`] writes a realm as tables for people. A
//! realm keeps its number (see [`caudal_ledger::tenants::moves`]), so every id, CVU and reference that was published
//! goes on meaning the same.
//!
//! **Bounds.** What a file has is read frame by frame, a frame being at most one commit of the store. Whoever makes or
//! reads one keeps some hundred bytes for each stream of the realm.
//!
//! **Order.** The entries of a file are a prefix of those of any later file of the same history. So an import
//! continues where it was, and an imported realm can be brought up to date until it is opened. The fact that a
//! realm is being filled is on disk before its first entry; the fact that all of it is here comes after the hashes
//! of all its streams were compared and the ledger was verified. Until an operator opens it, no client is served,
//! the bank is not asked, and no event leaves.
//!
//! **Failure.** A file is first imported into a temporary store: what cannot be projected or verified never reaches
//! the journal. An import that was interrupted is run again.

pub mod export;
pub mod file;
pub mod format;
pub mod import;
pub mod read;
pub mod tables;
pub mod tally;
