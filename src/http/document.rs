//! What every OpenAPI document of the service goes through: passes over its parts, and the formats of its numbers.

pub mod numbers;
pub mod walk;
