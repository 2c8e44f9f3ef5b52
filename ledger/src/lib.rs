//! Room `ledger` of Caudal.
