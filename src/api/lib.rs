//! The interface for tenants: the native family `/v1`, the wallet family `/wallet/v1`, and what their OpenAPI document
//! says besides its operations.

pub mod catalogue;
pub mod document;
pub mod v1;
pub mod wallet;
