//! The service from outside: one binary, over HTTP, whole services in this process on free ports.

#![allow(
    unreachable_pub,
    reason = "nothing can use a test binary; `pub` is what a module has for the others"
)]

#[cfg(test)]
mod support;

#[cfg(test)]
mod accounts;
#[cfg(test)]
mod agreement;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod backup;
#[cfg(test)]
mod balances;
#[cfg(test)]
mod bank;
#[cfg(test)]
mod bank_failures;
#[cfg(test)]
mod batch;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod console;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod counterparty;
#[cfg(test)]
mod departures;
#[cfg(test)]
mod dry_runs;
#[cfg(test)]
mod events;
#[cfg(test)]
mod evidence;
#[cfg(test)]
mod exports;
#[cfg(test)]
mod fees;
#[cfg(test)]
mod find;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod format;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod holds;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod in_flight;
#[cfg(test)]
mod interface;
#[cfg(test)]
mod isolation;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod kill_transfers;
#[cfg(test)]
mod kill_webhooks;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod lookups;
#[cfg(test)]
mod monitoring;
#[cfg(test)]
mod movements;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod notices;
#[cfg(test)]
mod numbers;
#[cfg(test)]
mod owasp;
#[cfg(test)]
#[cfg(test)]
mod pages;
#[cfg(test)]
mod portable;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod problems;
#[cfg(test)]
mod reconciliation;
#[cfg(test)]
mod refilled;
#[cfg(test)]
mod rotation;
#[cfg(test)]
mod simulations;
#[cfg(test)]
mod statements;
#[cfg(test)]
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod transfers;
#[cfg(test)]
mod treasury;
#[cfg(test)]
mod unauthenticated;
mod voucher_types;
#[cfg(test)]
mod vouchers;
#[cfg(test)]
mod wallet;
#[cfg(test)]
mod walletentidad;
#[cfg(test)]
mod webhooks;
