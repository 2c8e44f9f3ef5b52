//! The scenarios that a bar of the project needs.

pub(crate) mod closing;
pub(crate) mod growth;
pub(crate) mod neighbours;
pub(crate) mod overload;
pub(crate) mod restoring;
