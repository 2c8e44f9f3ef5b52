//! The bank's refusals that are final, by operation.
//!
//! **Rule.** A refusal ends an order only by a code on the list of its operation: one that means that the order was
//! not made and never will be. Any other answer (an unlisted code, a general one such as `TX500`, one about our own
//! relation to the bank such as `VW003`, no code at all) leaves the outcome unknown. The order's state is then asked
//! before anything is decided, and the order is sent again under the same reference if the bank does not know it.

/// A transfer or return: a party, the currency, the form of the order or the day's limit.
pub(super) const TRANSFER: &[&str] = &[
    "VW005", "VW006", "VW009", "VW015", "PA004", "PA005", "PA006", "PA011", "PA012", "TX009",
    "TX012", "TX033", "TX035", "TX040", "TX046",
];
/// A CVU. `VW004` is not on the list: it means that there is one.
pub(super) const CREATE: &[&str] = &[
    "VW001", "VW012", "VW013", "PA004", "PA015", "TX012", "TX040",
];
/// An alias. `VW006` is tried again first, because the bank may not yet know a CVU that it created.
pub(super) const ALIAS: &[&str] = &[
    "VW005", "VW007", "VW008", "VW009", "VW011", "VW015", "PA004", "PA006", "PA012", "TX009",
];
/// The change of a holder's name.
pub(super) const RENAME: &[&str] = &["VW005", "VW006", "VW009", "VW015", "PA012", "PA015"];
/// The closing of a CVU.
pub(super) const CLOSE: &[&str] = &[
    "VW005", "VW006", "VW009", "VW014", "VW015", "PA004", "PA012",
];
/// A lookup: nobody has the key or alias.
pub(super) const LOOKUP: &[&str] = &["VW006", "PA005", "PA006", "PA011", "PA012", "TX009"];
/// An enrolment in a fund.
pub(super) const ENROL: &[&str] = &[
    "RM002", "RM003", "RM004", "VW005", "VW006", "VW009", "VW015", "PA004", "PA012",
];
