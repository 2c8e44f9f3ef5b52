//! A realm as a file: taken out of a journal, checked, and put into another installation.
//!
//! **Shape.** A file ([`format`]) has one realm: its entries in the order of the journal, and nothing of anybody
//! else. [`export`] makes one of a journal or of a depot, up to an instant if that is wanted; [`read`] believes
//! nothing of it; [`import`] appends its entries to another store; [`tables`] writes a realm down for people. A realm
//! keeps its number (see [`caudal_ledger::tenants::moves`]), so every id, CVU and reference that was published goes on
//! meaning the same.
//!
//! **Bounds.** What a file has is read frame by frame, a frame being at most one commit of the store. Whoever makes or
//! reads one keeps some hundred bytes for each stream of the realm.
//!
//! **Order.** What is in a file of a later commit begins with what is in one of an earlier commit of the same
//! history. So an import goes on where it was, and a realm that was imported can be followed up until it is opened.
//! The fact that a realm is being filled is on disk before its first entry; the fact that all of it is here comes
//! after the hashes of all its streams were compared and the ledger was verified. Until an operator opens it, no
//! client is served, the bank is not asked, and no event leaves.
//!
//! **Failure.** A file is tried in a store of its own first: what cannot be projected or verified never reaches the
//! journal. An import that dies anywhere is run again.

pub mod export;
pub mod file;
pub mod format;
pub mod import;
pub mod read;
pub mod tables;
pub mod tally;
