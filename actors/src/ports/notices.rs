//! Notices as they arrive, before it is known which bank sent them.

use std::cell::RefCell;
use std::fmt;

use caudal_ledger::chain::{Canonical, Digest};
use caudal_ledger::time::Timestamp;

/// A message to the address for notices. Nobody knows yet which bank sent it, or whether one did.
pub struct RawNotice<'a> {
    header: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The body, as it was sent.
    pub body: &'a [u8],
    /// The clocks that count: a notice has to be recent by one of them.
    pub clocks: &'a [Timestamp],
    checked: RefCell<Vec<(Digest, bool)>>,
}

impl<'a> RawNotice<'a> {
    /// A message with this body. `header` returns the value of a header that came once and is text.
    pub fn new(
        header: &'a dyn Fn(&str) -> Option<&'a str>,
        body: &'a [u8],
        clocks: &'a [Timestamp],
    ) -> Self {
        Self {
            header,
            body,
            clocks,
            checked: RefCell::default(),
        }
    }

    /// The value of a header, by its name in lower case; `None` when it is not there once, as text.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        (self.header)(name)
    }

    /// Checks the message with a secret for notices of a kind of bank, once however many relations have that secret.
    pub fn once(&self, kind: &str, secret: &str, check: impl FnOnce() -> bool) -> bool {
        let key = Canonical::default().text(kind).text(secret).digest();
        let known = self
            .checked
            .borrow()
            .iter()
            .find(|(it, _)| *it == key)
            .copied();
        if let Some((_, passed)) = known {
            return passed;
        }
        let passed = check();
        self.checked.borrow_mut().push((key, passed));
        passed
    }
}

impl fmt::Debug for RawNotice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawNotice")
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Why a notice that a bank sent cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct UnreadNotice(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_checked_once_for_each_kind() {
        let header = |_: &str| None;
        let notice = RawNotice::new(&header, b"", &[]);
        let count = std::cell::Cell::new(0);
        let check = |passed| {
            count.set(count.get() + 1);
            passed
        };
        for _ in 0..3 {
            assert!(notice.once("one", "a secret", || check(true)));
            assert!(!notice.once("one", "another", || check(false)));
            assert!(!notice.once("other", "a secret", || check(false)));
        }
        assert_eq!(count.get(), 3);
    }
}
