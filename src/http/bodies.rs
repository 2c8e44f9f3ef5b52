//! The JSON of accounts, vouchers, holds, transfers, types and events, the same in the native family's answers, in
//! events and their webhooks, and for operators.

pub mod accounts;
pub mod books;
pub mod collector;
pub mod counterparty;
pub mod days;
pub mod events;
pub mod holds;
pub mod kyc;
pub mod limits;
pub mod metadata;
pub mod nombres;
pub mod reconciliation;
pub mod statements;
pub mod texts;
pub mod transfers;
pub mod treasury;
pub mod update_limits;
pub mod voucher_types;
pub mod vouchers;
pub mod webhooks;
pub mod words;
