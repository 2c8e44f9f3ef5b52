//! The rest of the country: any account with right check digits exists, has an invented holder that is always the
//! same, and behaves by the last digit of its account number.

use caudal_ledger::cuit::{Cuit, PersonType};
use caudal_ledger::cvu::Cbu;
use serde_json::{Value, json};

use super::transfers::Party;

const FIRST: [&str; 16] = [
    "Ana", "Bruno", "Carla", "Diego", "Elena", "Facundo", "Gabriela", "Hugo", "Irene", "Julián",
    "Karina", "Lucas", "Marta", "Nicolás", "Olga", "Pablo",
];
const LAST: [&str; 16] = [
    "Acosta",
    "Benítez",
    "Castro",
    "Domínguez",
    "Escobar",
    "Ferreyra",
    "Giménez",
    "Herrera",
    "Ibarra",
    "Juárez",
    "Ledesma",
    "Molina",
    "Núñez",
    "Ojeda",
    "Peralta",
    "Quiroga",
];

/// What the last digit of the destination's account number does to a transfer.
pub(super) const DIGITS: [(u8, &str); 5] = [
    (0, "the transfer completes"),
    (1, "the transfer is rejected"),
    (2, "the transfer stays pending until the bank is told"),
    (3, "the transfer completes and is reversed after 2 s"),
    (4, "the transfer completes late, after 2 s"),
];

/// The accounts that have an alias: `DESTINO.0` to `DESTINO.9`, by their last digit.
pub(super) fn by_alias(alias: &str) -> Option<Cbu> {
    let folded = alias.to_ascii_lowercase();
    let digit: u64 = folded.strip_prefix("destino.")?.parse().ok()?;
    (digit <= 9).then(|| agreed(digit)).flatten()
}

/// The account of bank 285 that ends in a digit.
pub(super) fn agreed(digit: u64) -> Option<Cbu> {
    Cbu::compose(285, 590, 10_000_u64.saturating_add(digit))
}

/// Whether an account exists: all do except those whose number is all nines.
pub(super) fn exists(key: &Cbu) -> bool {
    // The account of a CVU begins with a reserved 0.
    let from = if key.cvu().is_some() { 9 } else { 8 };
    let number = key.as_str().get(from..21).unwrap_or_default();
    !number.bytes().all(|b| b == b'9')
}

/// The last digit of an account number.
pub(super) fn digit(key: &Cbu) -> Option<u8> {
    key.as_str().as_bytes().get(20).copied()
}

/// A hash of a text (FNV-1a).
fn number_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn pick(words: &[&'static str; 16], number: u64) -> &'static str {
    let index = usize::try_from(number % 16).unwrap_or(0);
    words.get(index).copied().unwrap_or("Caudal")
}

/// The invented holder of an account.
fn holder(key: &Cbu) -> Option<(Cuit, String)> {
    let number = number_of(key.as_str());
    let last = pick(&LAST, number >> 8);
    let (prefix, name) = match number % 4 {
        0 => ("30", format!("{last} Hermanos S.A.")),
        1 => ("27", format!("{} {last}", pick(&FIRST, number >> 16))),
        _ => ("20", format!("{} {last}", pick(&FIRST, number >> 16))),
    };
    let middle = (number >> 24) % 100_000_000;
    (0..=9)
        .find_map(|check| Cuit::parse(&format!("{prefix}{middle:08}{check}")).ok())
        .map(|cuit| (cuit, name))
}

/// An owner as the bank shows it.
pub(super) fn owner(cuit: Cuit, name: &str) -> Value {
    json!({
        "id": cuit,
        "display_name": name,
        "id_type": 1,
        "is_physical_person": cuit.person_type() == PersonType::Human,
    })
}

/// The alias of an account; most have none.
fn label(key: &Cbu) -> String {
    (0..=9)
        .find(|digit| agreed(*digit).as_ref() == Some(key))
        .map_or_else(String::new, |digit| format!("DESTINO.{digit}"))
}

/// The name of a bank or PSP.
fn entity(key: &Cbu) -> String {
    key.entity_name()
        .map_or_else(|| format!("Entidad {}", key.entity()), str::to_owned)
}

/// An account of the rest of the country as a side of a transfer.
pub(super) fn party(key: &Cbu) -> Party {
    let (cuit, name) =
        holder(key).map_or_else(Default::default, |(cuit, name)| (cuit.to_string(), name));
    Party {
        cbu: key.to_string(),
        label: label(key),
        cuit,
        name,
        bank_code: key.entity().to_owned(),
        bank_name: entity(key),
    }
}

/// An account of the rest of the country as the bank shows it.
pub(super) fn shown(key: &Cbu) -> Value {
    let owners: Vec<_> = holder(key)
        .map(|(cuit, name)| owner(cuit, &name))
        .into_iter()
        .collect();
    let (scheme, kind) = if key.cvu().is_some() {
        ("CVU", "CVU")
    } else {
        ("CBU", "CC")
    };
    json!({
        "owners": owners,
        "type": kind,
        "is_active": true,
        "currency": "ARS",
        "label": label(key),
        "account_routing": {"scheme": scheme, "address": key},
        "bank_routing": {
            "scheme": "NAME",
            "address": entity(key),
            "code": key.entity(),
        },
    })
}
