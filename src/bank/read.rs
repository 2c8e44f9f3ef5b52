//! Readers of money and people in the bank's answers: exact about ids and amounts, within limits about texts, which
//! come from anybody. A member that decides (an id, amount, currency, CVU or status) is read or named; any other one that
//! makes no sense is left out.

use std::fmt;

use caudal_ledger::alias::Alias;
use caudal_ledger::cvu::Cbu;
use caudal_ledger::ids::OriginId;
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::transfers::{
    BankMoved, BankTransfer, BankWord, CURRENCY, Concept, Counterparty,
};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::redact::dotted;

/// The longest id, in characters.
const ID_MAX: usize = 64;
/// The longest name, in characters.
pub(super) const NAME_MAX: usize = 100;
/// The longest reason for a failure, in characters.
pub(super) const REASON_MAX: usize = 200;
/// The bank's word for a value that it does not know.
const UNKNOWN: &str = "UNAVAILABLE";
/// The longest code of a currency, in characters.
const CURRENCY_MAX: usize = 8;

/// Money as the bank writes it; the amount stays text until it is read exactly.
#[derive(Deserialize)]
pub(super) struct Worth<'a> {
    currency: String,
    #[serde(borrow)]
    amount: &'a RawValue,
}

impl Worth<'_> {
    /// The text of a number, or of a text that holds one.
    fn written(&self) -> Option<String> {
        let raw = self.amount.get().trim();
        if raw.starts_with('"') {
            return serde_json::from_str(raw).ok();
        }
        Some(raw.to_owned())
    }

    /// The same text, if the currency is pesos.
    fn digits(&self) -> Option<String> {
        self.written().filter(|_| self.currency == CURRENCY)
    }

    /// An amount of pesos.
    pub(crate) fn amount(&self) -> Option<Amount> {
        Amount::parse(&self.digits()?).ok()
    }

    /// An amount of any currency, with its code.
    fn any(&self) -> Option<(Amount, String)> {
        let amount = Amount::parse(&self.written()?).ok()?;
        Some((amount, line(&self.currency, CURRENCY_MAX)))
    }

    /// Pesos of a balance, which may be zero or less.
    pub(crate) fn money(&self) -> Option<Money> {
        let text = self.digits()?;
        let (digits, negative) = match text.strip_prefix('-') {
            Some(digits) => (digits, true),
            None => (text.as_str(), false),
        };
        let centavos = Amount::parse_or_zero(digits).ok()?;
        let signed = if negative {
            centavos.checked_neg()?
        } else {
            centavos
        };
        Some(Money::from_centavos(signed))
    }
}

/// An id of the bank or the rail: 1 to 64 visible ASCII characters.
pub(super) fn id(text: &str) -> Option<String> {
    let good = (1..=ID_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    good.then(|| text.to_owned())
}

/// The id on the rail, which may be absent so far; `None` when it is present and invalid.
pub(super) fn rail_id(text: Option<&str>) -> Option<Option<String>> {
    match text.filter(|text| !text.is_empty()) {
        None => Some(None),
        Some(text) => id(text).map(Some),
    }
}

/// A text for people within a limit, without control characters and marks that hide or reorder.
pub(super) fn line(text: &str, max: usize) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let clean: String = text.chars().filter(|c| !hidden(*c)).collect();
    let short: String = clean.trim().chars().take(max).collect();
    short.trim_end().to_owned()
}

/// The reason of a failure, in the bank's words and with long numbers cut to dots.
pub(super) fn reason(text: Option<&str>) -> String {
    dotted(&line(text.unwrap_or_default(), REASON_MAX))
}

/// The meaning of a status; `None` for a word that the bank does not have.
fn word(status: &str, why: Option<&str>) -> Option<BankWord> {
    match status {
        "COMPLETED" => Some(BankWord::Completed),
        "FAILED" => {
            let reason = reason(why);
            Some(BankWord::Failed { reason })
        }
        "PENDING" | "IN_PROGRESS" | "UNKNOWN" => Some(BankWord::InProgress),
        "UNKNOWN_FOREVER" => Some(BankWord::Lost),
        _ => None,
    }
}

/// The name of a member that decides and cannot be read.
pub(super) type UnreadableMember = &'static str;

/// The members of a JSON object, each as it is written, so that one that makes no sense spoils no other. A member that
/// is written twice cannot be read where it decides.
#[derive(Debug)]
pub(super) struct JsonMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for JsonMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = JsonMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(JsonMembers(members))
            }
        }
        deserializer.deserialize_map(Each)
    }
}

impl<'a> JsonMembers<'a> {
    /// What is no object has none.
    pub(crate) const fn none() -> Self {
        Self(Vec::new())
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &'a RawValue> {
        let those = self.0.iter().filter(move |(key, _)| key == name);
        those
            .map(|(_, value)| *value)
            .filter(|value| value.get() != "null")
    }

    /// A member that decides; `None` when it is absent or null.
    pub(crate) fn deciding<T: Deserialize<'a>>(
        &self,
        name: UnreadableMember,
    ) -> Result<Option<T>, UnreadableMember> {
        let mut values = self.named(name);
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let read = serde_json::from_str(value.get());
        read.ok()
            .filter(|_| values.next().is_none())
            .map(Some)
            .ok_or(name)
    }

    /// A text that decides.
    pub(crate) fn text(&self, name: UnreadableMember) -> Result<Option<String>, UnreadableMember> {
        self.deciding(name)
    }

    /// An object that decides; one without members when it is absent or null.
    pub(crate) fn object(&self, name: UnreadableMember) -> Result<Self, UnreadableMember> {
        Ok(self.deciding(name)?.unwrap_or(Self::none()))
    }

    /// A member for people to read; `None` when it makes no sense.
    pub(crate) fn shown<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.named(name).next()?.get()).ok()
    }

    /// The other side of a movement under a member.
    pub(crate) fn party(&self, name: &str) -> Counterparty {
        self.shown(name)
            .map_or_else(Counterparty::default, |party: Value| counterparty(&party))
    }

    /// Our reference under a member; `None` when it is absent or somebody else's.
    pub(crate) fn origin(
        &self,
        name: UnreadableMember,
    ) -> Result<Option<OriginId>, UnreadableMember> {
        Ok(self.text(name)?.as_deref().and_then(OriginId::parse))
    }

    /// The state of a transfer, as every report of the bank has it.
    ///
    /// # Errors
    /// The id, status or value that cannot be read.
    pub(crate) fn transfer(&self) -> Result<BankTransfer, UnreadableMember> {
        let coelsa_id = self.text("coelsa_id")?;
        let status = self.text("status")?.ok_or("status")?;
        let why: Option<String> = self.shown("reject_reason");
        Ok(BankTransfer {
            bank_id: self.text("id")?.as_deref().and_then(id).ok_or("id")?,
            coelsa_id: rail_id(coelsa_id.as_deref()).ok_or("coelsa_id")?,
            word: word(&status, why.as_deref()).ok_or("status")?,
            moved: self.moved()?,
        })
    }

    /// What a transfer moves, as far as the record says; the bank's CVU and destination are only ever compared, and
    /// shown to people.
    fn moved(&self) -> Result<BankMoved, UnreadableMember> {
        let worth: Option<Worth<'_>> = self.deciding("value")?;
        let (amount, currency) = match worth {
            Some(worth) => worth
                .any()
                .map(|(amount, code)| (Some(amount), Some(code)))
                .ok_or("value")?,
            None => (None, None),
        };
        let (from, to): (Option<Value>, Option<Value>) =
            (self.shown("origin_debit"), self.shown("to"));
        let of = |party: &Option<Value>, key| {
            let text = party.as_ref().and_then(|party| text_of(party, key));
            text.map(|text| line(&text, ID_MAX))
        };
        Ok(BankMoved {
            amount,
            currency,
            cvu: of(&from, "cvu"),
            to_key: of(&to, "cbu").or_else(|| of(&to, "cvu")),
            to_alias: of(&to, "label"),
        })
    }

    /// An amount of pesos that decides.
    pub(crate) fn pesos(&self) -> Result<Amount, UnreadableMember> {
        let worth: Option<Worth<'_>> = self.deciding("value")?;
        worth.and_then(|worth| worth.amount()).ok_or("value")
    }
}

/// The other side of a movement. The bank's data about it is for people to read: an invalid part is left out, since
/// the money moved all the same.
fn counterparty(party: &Value) -> Counterparty {
    let digits = |text: &String| text.bytes().all(|b| b.is_ascii_digit());
    let cuit = text_of(party, "cuit");
    let cbu = text_of(party, "cbu").or_else(|| text_of(party, "cvu"));
    let name = |value: &Value| text_of(value, "name").map(|name| line(&name, NAME_MAX));
    let filled = |text: &String| !text.is_empty();
    Counterparty {
        cuit: cuit.filter(|cuit| cuit.len() == 11 && digits(cuit)),
        name: name(party).filter(filled),
        cbu: cbu.filter(|cbu| Cbu::parse(cbu).is_ok()),
        alias: text_of(party, "label").filter(|label| Alias::parse(label).is_ok()),
        bank: party.get("bank").and_then(name).filter(filled),
        ..Counterparty::default()
    }
}

/// The purpose of a movement: one of the central bank's codes, or nothing.
pub(super) fn concept(text: Option<&str>) -> Option<String> {
    let known = Concept::ALL.into_iter().map(Concept::as_str);
    let mut record = known.filter(|code| Some(*code) == text);
    record.next().map(str::to_owned)
}

fn text_of(party: &Value, key: &str) -> Option<String> {
    let text = match party.get(key)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty() && !text.eq_ignore_ascii_case(UNKNOWN)).then_some(text)
}
