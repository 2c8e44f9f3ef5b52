//! The binary `caudal`.
fn main() {}
