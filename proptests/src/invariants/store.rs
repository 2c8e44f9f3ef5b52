//! The invariants of a store: acknowledged is durable, all or nothing, restarts are invisible.
