//! Sealed days: the tree and the text of `ledger/src/seal.rs` against three verifiers that share no code with it, vectors
//! of other implementations, and files that somebody changed.
//!
//! The verifiers are the command `caudal verify-day`, `docs/verify/verify_day.py` and the script in
//! `docs/verify/verify-day.html`, which runs under Node.js here. Without python3 or node a test
//! prints `not run`, which `CAUDAL_REQUIRE_VERIFIERS` makes a failure.

#[cfg(test)]
mod day;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod programs;
#[cfg(test)]
#[expect(dead_code, reason = "only the command reads files")]
#[path = "../../src/cli/verify_day/sealed.rs"]
mod sealed;
#[cfg(test)]
mod vectors;
#[cfg(test)]
mod wrong;
