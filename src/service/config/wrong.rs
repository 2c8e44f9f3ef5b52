//! The mistakes in settings, collected so that all are reported at once.

use std::collections::BTreeSet;
use std::fmt;

use caudal_http::secret_lines::{LINES_MAX, lines};
use ipnet::IpNet;
use secrecy::{ExposeSecret as _, SecretString};

use super::SECRET_CHARS_MIN;

/// The fewest different characters in a secret: a row of zeros is not a secret.
const SECRET_VARIETY_MIN: usize = 10;

/// Words that show that a secret was copied from somewhere.
const SECRET_WORDS: [&str; 7] = [
    "change", "example", "replace", "password", "default", "of-tests", "sandbox",
];

/// Whether a secret is set to the empty text.
pub(super) fn is_empty(secret: &SecretString) -> bool {
    secret.expose_secret().trim().is_empty()
}

/// The mistakes so far.
#[derive(Debug, Default)]
pub(super) struct Mistakes(pub(super) Vec<String>);

impl Mistakes {
    /// Notes what is wrong with a setting.
    pub(super) fn add(&mut self, setting: &str, why: impl fmt::Display) {
        self.0.push(format!("{setting} {why}"));
    }

    /// Notes a number outside `min` to `max`, if it is set.
    pub(super) fn range<T: PartialOrd + fmt::Display>(
        &mut self,
        setting: &str,
        value: impl Into<Option<T>>,
        min: T,
        max: T,
    ) {
        if let Some(value) = value.into().filter(|it| *it < min || *it > max) {
            let why = format_args!("is {value}; it must be from {min} to {max}");
            self.add(setting, why);
        }
    }

    /// Reads networks, and notes those that are none.
    pub(super) fn networks(&mut self, setting: &str, texts: &[String]) -> Vec<IpNet> {
        let mut networks = Vec::with_capacity(texts.len());
        for text in texts {
            match text.parse() {
                Ok(network) => networks.push(network),
                Err(_) => {
                    let why = format_args!("`{text}` is no network: write it as 10.20.0.0/16");
                    self.add(setting, why);
                }
            }
        }
        networks
    }

    /// A secret, noted as a mistake unless each of its lines is long and varied enough; `None` if it is not set.
    pub(super) fn secret(
        &mut self,
        setting: &str,
        value: Option<&SecretString>,
    ) -> Option<SecretString> {
        let value = value.filter(|value| !is_empty(value))?;
        let given = value
            .expose_secret()
            .lines()
            .filter(|it| !it.trim().is_empty());
        if given.count() > LINES_MAX {
            self.add(setting, format_args!("has more than {LINES_MAX} lines"));
        }
        lines(value).for_each(|line| self.line(setting, line));
        Some(value.clone())
    }

    /// One line of a secret.
    fn line(&mut self, setting: &str, text: &str) {
        let variety = text.chars().collect::<BTreeSet<_>>().len();
        let lower = text.to_lowercase();
        let hint = "make one with: openssl rand -base64 32";
        if text.chars().count() < SECRET_CHARS_MIN {
            let why = format!("is too short: at least {SECRET_CHARS_MIN} characters; {hint}");
            self.add(setting, why);
        } else if variety < SECRET_VARIETY_MIN || SECRET_WORDS.iter().any(|w| lower.contains(w)) {
            self.add(setting, format_args!("looks like a placeholder; {hint}"));
        }
    }
}
