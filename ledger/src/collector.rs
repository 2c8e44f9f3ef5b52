//! The movements of a collector account that belong to no client: what the bank charges and pays, and money that the
//! PSP moves in and out.
//!
//! **Shape.** Each has a class: by the first of the tenant's rules that takes it ([`classify`]), else
//! [`CollectorClass::Unclassified`]. [`crate::cases::RecordedMovement`] is its record, and [`CollectorDay`] the bank's
//! statement of a business day: opening + in − out = closing.

use serde::{Deserialize, Serialize};

use crate::chain::Canonical;
use crate::counterparty::Counterparty;
use crate::cuit::Cuit;
use crate::ids::{AccountNo, OriginId, RealmId, Tag, VoucherId};
use crate::money::{Amount, Money, Sum};
use crate::text::folded;
use crate::time::{BusinessDay, Timestamp};

/// How many rules a tenant has at most.
pub const RULES_MAX: usize = 100;
/// The longest text of a rule, in characters.
pub const RULE_TEXT_MAX: usize = 100;

words! {
    /// What a movement of the collector account is.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CollectorClass {
        /// The bank charged for its services.
        BankFee = "bank_fee",
        /// The bank withheld a tax.
        BankTax = "bank_tax",
        /// The bank paid interest.
        Interest = "interest",
        /// The PSP's own money came in.
        Funding = "funding",
        /// The PSP's own money left.
        Sweep = "sweep",
        /// Nobody has said what it is.
        Unclassified = "unclassified",
    }
}

impl CollectorClass {
    /// Reads the word of a class that somebody names: every one but `unclassified`.
    pub fn parse(word: &str) -> Option<Self> {
        let named = Self::ALL.into_iter().filter(|it| *it != Self::Unclassified);
        named.into_iter().find(|it| it.as_str() == word)
    }
}

/// A line of the bank's statement of a collector account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CollectorMovement {
    /// The bank's own id.
    pub bank_id: String,
    /// The id on the rail, if it went over the rail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coelsa_id: Option<String>,
    /// Our reference; for money that came back, the reference of the transfer that had sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginId>,
    /// Whether money of ours came back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversal: bool,
    /// Whether the money came in.
    pub incoming: bool,
    /// The amount, in centavos.
    pub amount: Amount,
    /// The bank's text for people.
    pub text: String,
    /// The other side, as far as the bank says.
    pub counterparty: Counterparty,
    /// When the bank posted it.
    pub at: Timestamp,
}

impl CollectorMovement {
    /// Whether the bank now lists the same movement differently in what decides: direction, amount or day.
    pub fn differs(&self, now: &Self) -> bool {
        let decides = |it: &Self| (it.incoming, it.amount, it.at.business_day());
        decides(self) != decides(now)
    }
}

/// A tenant's rule for the class of a movement. All of its conditions must hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CollectorRule {
    /// Whether it is about money that came in, or that left.
    pub incoming: bool,
    /// A text that the bank's text contains, whatever the case and accents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_contains: Option<String>,
    /// The tax id of the other side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterparty_cuit: Option<Cuit>,
    /// The class of what it takes.
    pub class: CollectorClass,
}

impl CollectorRule {
    fn takes(&self, movement: &CollectorMovement) -> bool {
        let cuit = movement.counterparty.cuit.as_deref();
        let says = |text: &String| folded(&movement.text).contains(&folded(text));
        self.incoming == movement.incoming
            && self.text_contains.as_ref().is_none_or(says)
            && self
                .counterparty_cuit
                .is_none_or(|it| cuit == Some(it.as_str()))
    }
}

/// The class of a movement by the first rule that takes it.
pub fn classify(rules: &[CollectorRule], movement: &CollectorMovement) -> CollectorClass {
    let found = rules.iter().find(|rule| rule.takes(movement));
    found.map_or(CollectorClass::Unclassified, |rule| rule.class)
}

/// The id of a recorded movement: realm and sequence, with a tag derived from the bank's id. Written as `col_` and 32
/// characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CollectorId {
    /// The realm that recorded it.
    pub realm: RealmId,
    /// The sequence of the fact that recorded it.
    pub sequence: u64,
    /// Derived from the bank's id, so that an id never names another movement if a sequence is used twice.
    pub tag: Tag,
}

const PREFIX: &str = "col_";

impl CollectorId {
    /// The id of the record with a sequence, of a movement with this id at the bank.
    pub fn of(realm: RealmId, sequence: u64, bank_id: &str) -> Self {
        let bank_id = Canonical::default().text(bank_id).digest();
        Self {
            realm,
            sequence,
            tag: Tag::of_record(&bank_id.0, Timestamp::default()),
        }
    }

    /// Parses an id; `None` for anything that `Display` never wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let VoucherId {
            realm,
            account,
            sequence,
            tag,
        } = VoucherId::after(PREFIX, text)?;
        (account == AccountNo(0)).then_some(Self {
            realm,
            sequence,
            tag,
        })
    }
}

impl std::fmt::Display for CollectorId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = VoucherId {
            realm: self.realm,
            account: AccountNo(0),
            sequence: self.sequence,
            tag: self.tag,
        };
        id.write(PREFIX, f)
    }
}

/// The sums of a collector account's business day, by the bank's statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectorDay {
    /// The business day.
    pub day: BusinessDay,
    /// The bank's balance before the first movement of the day.
    pub opening: Money,
    /// The sum of what came in.
    pub incoming: Sum,
    /// The sum of what left.
    pub outgoing: Sum,
    /// The bank's balance after the last movement of the day.
    pub closing: Money,
}

impl CollectorDay {
    /// The sums of a statement's movements between the bank's two balances.
    pub fn of<'a>(
        day: BusinessDay,
        (opening, closing): (Money, Money),
        movements: impl IntoIterator<Item = &'a CollectorMovement>,
    ) -> Self {
        let mut sums = Self {
            day,
            opening,
            incoming: Sum::default(),
            outgoing: Sum::default(),
            closing,
        };
        for movement in movements {
            let sum = if movement.incoming {
                &mut sums.incoming
            } else {
                &mut sums.outgoing
            };
            *sum = sum.plus(movement.amount.into());
        }
        sums
    }

    /// What the bank's balance changed by and no movement explains: zero on a day that adds up.
    pub fn unexplained(&self) -> Sum {
        let expected = Sum::from(self.opening)
            .plus(self.incoming)
            .minus(self.outgoing);
        Sum::from(self.closing).minus(expected)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn movement(
        incoming: bool,
        centavos: i64,
        text: &str,
        cuit: Option<&str>,
    ) -> CollectorMovement {
        CollectorMovement {
            bank_id: "1-2-3".to_owned(),
            coelsa_id: None,
            origin: None,
            reversal: false,
            incoming,
            amount: Amount::from_centavos(centavos).unwrap(),
            text: text.to_owned(),
            counterparty: Counterparty {
                cuit: cuit.map(str::to_owned),
                ..Counterparty::default()
            },
            at: Timestamp::from_millis(1_772_463_600_000),
        }
    }

    #[test]
    fn the_first_rule_whose_conditions_all_hold_names_the_class() {
        let cuit = Cuit::parse("30500010912").unwrap();
        let rule = |incoming, text: Option<&str>, counterparty_cuit, class| CollectorRule {
            incoming,
            text_contains: text.map(str::to_owned),
            counterparty_cuit,
            class,
        };
        let rules = [
            rule(false, Some("comisión"), None, CollectorClass::BankFee),
            rule(false, Some("ley 25413"), None, CollectorClass::BankTax),
            rule(true, None, Some(cuit), CollectorClass::Funding),
            rule(false, None, Some(cuit), CollectorClass::Sweep),
        ];
        for (incoming, text, cuit, class) in [
            (
                false,
                "COMISION MANTENIMIENTO",
                None,
                CollectorClass::BankFee,
            ),
            (
                true,
                "DEVOLUCION COMISION",
                None,
                CollectorClass::Unclassified,
            ),
            (
                false,
                "IMP. LEY 25413 S/DEBITOS",
                None,
                CollectorClass::BankTax,
            ),
            (true, "", Some("30500010912"), CollectorClass::Funding),
            (false, "", Some("30500010912"), CollectorClass::Sweep),
            (false, "", Some("20267565393"), CollectorClass::Unclassified),
            (false, "", None, CollectorClass::Unclassified),
        ] {
            let found = classify(&rules, &movement(incoming, 1, text, cuit));
            assert_eq!(found, class, "{incoming} {text} {cuit:?}");
        }
    }

    #[test]
    fn a_day_that_does_not_add_up_says_by_how_much() {
        let day = Timestamp::from_millis(1_772_463_600_000).business_day();
        let moved = [
            movement(true, 700, "", None),
            movement(false, 250, "", None),
        ];
        for (opening, closing, unexplained) in
            [(100, 550, "0.00"), (100, 500, "-0.50"), (-50, 401, "0.01")]
        {
            let balances = (Money::from_centavos(opening), Money::from_centavos(closing));
            let found = CollectorDay::of(day, balances, &moved);
            assert_eq!(found.unexplained().to_string(), unexplained);
        }
    }
}
