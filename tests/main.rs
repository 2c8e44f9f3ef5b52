//! The service from outside: one binary.
