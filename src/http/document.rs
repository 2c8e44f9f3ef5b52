//! What every OpenAPI document of the service goes through: passes over its parts, its parameters, its examples, and the formats of its numbers and texts.

pub mod examples;
pub mod numbers;
pub mod parameters;
pub mod texts;
pub mod walk;
