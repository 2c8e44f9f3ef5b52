//! A realm as a file: exported from a journal, checked, and imported into another installation.
//!
//! **Shape.** A file ([`format`]) has one realm: its entries in the order of the journal, and nothing of other realms.
//! [`export`] makes one from a journal or a backup store, up to an instant if one is given; [`read`] reads it and trusts
//! nothing in it; [`import`] appends its entries to another store. A realm keeps its number (see [`caudal_ledger::tenants::moves`]), so every published id, CVU and reference keeps its
//! meaning.
//!
//! **Bounds.** A file is read frame by frame, a frame being at most one commit of the store. Writing or reading one
//! takes some hundred bytes of memory for each stream of the realm.
//!
//! **Order.** The entries of a file are a prefix of those of any later file of the same history. So an import continues
//! where it stopped, and an imported realm can be brought up to date until it is opened. The fact that a realm is being
//! filled is on disk before its first entry; the fact that it is complete comes after the hashes of all its streams
//! have been compared and the ledger has been verified. Until an operator opens the realm, no client is served, the
//! bank is not called, and no event is sent.
//!
//! **Failure.** A file is first imported into a temporary store: entries that cannot be projected or verified never
//! reach the journal. An interrupted import is continued by running it again.

pub mod export;
pub mod file;
pub mod format;
pub mod import;
pub mod read;
pub mod tally;
