//! The language of the console, and how amounts, instants and states are written in it.
//!
//! Amounts come as text with two decimals and are only grouped here: nothing is computed with them.

use std::fmt::Display;

use std::time::Duration;

use caudal_http::bodies::nombres;
use caudal_http::current::Language;
use caudal_http::units;
use caudal_ledger::limits::Quantity;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::TypeCode;

use super::cells::{Cell, CellKind, Tone};
use super::words::{Word, book, state};

/// A language that pages are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Locale(pub Language);

impl Locale {
    /// The code of the language, as HTML has it.
    pub(super) const fn code(self) -> &'static str {
        match self.0 {
            Language::Spanish => "es",
            Language::English => "en",
        }
    }

    /// A text in this language.
    pub(super) const fn say(self, word: Word) -> &'static str {
        word.text(self.0)
    }

    /// An amount in pesos: `1.234,50` or `1,234.50`.
    pub(super) fn money(self, amount: impl Display) -> Cell {
        let raw = amount.to_string();
        Cell::figure(self.grouped(&raw)).with_raw(raw)
    }

    /// An amount that may be missing.
    pub(super) fn maybe_money(self, amount: Option<impl Display>) -> Cell {
        amount.map_or_else(|| Cell::figure(""), |amount| self.money(amount))
    }

    /// A count.
    pub(super) fn count(self, count: impl Display) -> Cell {
        let raw = count.to_string();
        Cell::figure(self.grouped(&raw)).with_raw(raw)
    }

    /// A count that may be missing.
    pub(super) fn maybe_count(self, count: Option<impl Display>) -> Cell {
        count.map_or_else(|| Cell::figure(""), |count| self.count(count))
    }

    /// How much of a limit, which may be missing.
    pub(super) fn maybe_quantity(self, quantity: Option<Quantity>) -> Cell {
        match quantity {
            Some(Quantity::Money(money)) => self.money(money),
            Some(Quantity::Count(count)) => self.count(count),
            None => Cell::figure(""),
        }
    }

    /// A count of tenths, with its decimal.
    pub(super) fn tenths(self, tenths: u64) -> Cell {
        self.count(format!("{}.{}", tenths / 10, tenths % 10))
    }

    /// Digits in groups of three; a text that is no number stays as it is.
    pub(super) fn grouped(self, text: &str) -> String {
        let (thousands, decimals) = match self.0 {
            Language::Spanish => ('.', ','),
            Language::English => (',', '.'),
        };
        units::grouped(text, thousands, decimals)
            .map_or_else(|| text.to_owned(), |made| made.replacen('-', "\u{2212}", 1))
    }

    /// An instant, as a clock in Buenos Aires shows it.
    pub(super) fn time(self, at: Timestamp) -> Cell {
        Cell::of(CellKind::Time(at.to_string()), clock(at))
    }

    /// An instant that may be missing.
    pub(super) fn maybe_time(self, at: Option<Timestamp>) -> Cell {
        at.map_or_else(|| Cell::text(""), |at| self.time(at))
    }

    /// An instant from its text in bodies of the API.
    pub(super) fn time_of(self, text: &str) -> Cell {
        Timestamp::parse(text).map_or_else(|| Cell::text(text), |at| self.time(at))
    }

    /// A state, by its word on the wire.
    pub(super) fn state(self, word: &str) -> Cell {
        let (tone, text) = state(word, self.0).map_or((Tone::Quiet, word), |known| known);
        Cell::of(CellKind::State(tone), text)
    }

    /// The name of a state; empty for an unknown word.
    pub(super) fn named(self, word: &str) -> &'static str {
        state(word, self.0).map_or("", |(_, text)| text)
    }

    /// A mode, by its word on the wire.
    pub(super) fn mode(self, word: &str) -> Cell {
        Cell::text(self.named(word))
    }

    /// An account of the books: its code, after its name in Spanish where the code is not the tenant's own.
    pub(super) fn book(self, code: &str) -> Cell {
        match (self.0, book(code)) {
            (Language::Spanish, Some(name)) => Cell::text(format!("{name} · {code}")),
            (Language::Spanish | Language::English, _) => Cell::code(code),
        }
    }

    /// The name of a voucher type: in this language if it is the system's, as its tenant gave it otherwise.
    pub(super) fn type_name(self, code: impl Display, given: &str) -> String {
        match (self.0, TypeCode::parse(&code.to_string())) {
            (Language::Spanish, Ok(code)) => nombres::of_type(&code, given),
            (Language::Spanish | Language::English, _) => given.to_owned(),
        }
    }

    /// Yes or no, where yes is good.
    pub(super) fn is(self, yes: bool, otherwise: Tone) -> Cell {
        if yes {
            Cell::of(CellKind::State(Tone::Good), self.say(Word::Yes))
        } else {
            Cell::of(CellKind::State(otherwise), self.say(Word::No))
        }
    }

    /// A size in bytes, in the unit that suits it.
    pub(super) fn bytes(self, bytes: u64) -> Cell {
        let (number, unit) = units::size(bytes);
        Cell::figure(format!("{} {unit}", self.grouped(&number)))
    }

    /// How long something took, in milliseconds and their tenths.
    pub(super) fn millis(self, took: Duration) -> Cell {
        let tenths = took.as_micros().div_ceil(100);
        let shown = format!("{}.{}", tenths / 10, tenths % 10);
        Cell::figure(format!("{} ms", self.grouped(&shown)))
    }

    /// How long something has lasted.
    pub(super) fn lasting(self, seconds: u64) -> Cell {
        Cell::figure(units::duration(seconds))
    }
}

/// The time on a clock in Buenos Aires at an instant.
fn clock(at: Timestamp) -> String {
    let day = at.business_day();
    let since = at.millis().abs_diff(day.start().millis()) / 1000;
    let (hours, minutes, seconds) = (since / 3600, since / 60 % 60, since % 60);
    format!("{day} {hours:02}:{minutes:02}:{seconds:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_sizes_and_instants_are_written_as_people_do() {
        let (es, en) = (Locale(Language::Spanish), Locale(Language::English));
        for (text, spanish, english) in [
            ("0.00", "0,00", "0.00"),
            ("999.90", "999,90", "999.90"),
            ("1000.00", "1.000,00", "1,000.00"),
            (
                "-1234567.89",
                "\u{2212}1.234.567,89",
                "\u{2212}1,234,567.89",
            ),
            (
                "90071992547409.93",
                "90.071.992.547.409,93",
                "90,071,992,547,409.93",
            ),
            ("none", "none", "none"),
        ] {
            assert_eq!(
                (es.grouped(text), en.grouped(text)),
                (spanish.into(), english.into())
            );
        }
        let sizes = [
            (0, "0 B"),
            (1023, "1,023 B"),
            (1024, "1.0 KiB"),
            (1_572_864, "1.5 MiB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(en.bytes(bytes).text, text);
        }
        assert_eq!(en.bytes(u64::MAX).text, "16,777,215.9 TiB");
        assert_eq!(
            es.millis(Duration::from_micros(1_234_501)).text,
            "1.234,6 ms"
        );
        assert_eq!(en.millis(Duration::from_micros(7)).text, "0.1 ms");
        let at = Timestamp::parse("2026-03-02T02:30:05Z").unwrap();
        assert_eq!(es.time(at).text, "2026-03-01 23:30:05");
        let lasting = [
            (59, "59 s"),
            (61, "1 min 1 s"),
            (7260, "2 h 1 min"),
            (90_000, "1 d 1 h"),
        ];
        for (seconds, text) in lasting {
            assert_eq!(en.lasting(seconds).text, text);
        }
    }
}
