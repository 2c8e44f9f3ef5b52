//! Ten thousand mutated answers: encodings, controls, missing and extra fields, wrong types in single lines, repeated
//! ids. Every line that can be read counts, exactly as in the answer without the mutation; every other one is reported.

use std::collections::BTreeSet;

use caudal_actors::ports::{BankMovement, MovementWay, Notice};
use caudal_ledger::cases::UnreadableLine;

use super::*;
use crate::notices;
use crate::text::decoded;
use crate::transfers::{DayLines, day_page, state};
use crate::wire::{BankResponse, Verdict};

/// How many answers are mutated.
const ANSWERS: u64 = 10_000;
/// Values that no field that decides can have, as JSON.
const NONSENSE: [&str; 9] = [
    "[]",
    "{}",
    "true",
    "7e400",
    "\"\"",
    "\"\\ud83d\"",
    "\"a b\"",
    "\"x\u{1}\"",
    "[[[[1]]]]",
];
/// Texts for people, as a program could write them, and as they are read.
const NAMES: [(&str, Option<&str>); 7] = [
    ("\"Kiosco \\ud83d\"", Some("Kiosco \u{fffd}")),
    ("\"Ki\u{0}os\u{7}co\"", Some("Kiosco")),
    ("\"\\ude00Muñoz\"", Some("\u{fffd}Muñoz")),
    ("\"C:\\Muñoz\"", Some("C:\\Muñoz")),
    ("7", Some("7")),
    ("null", None),
    ("[\"Eva\"]", None),
];

/// Numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(below).unwrap()).unwrap()
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }
}

fn day() -> BusinessDay {
    BusinessDay::parse("2026-11-21").unwrap()
}

/// The members of a line, each as JSON.
type Line = Vec<(&'static str, String)>;

fn line(way: MovementWay, number: usize) -> Line {
    let cvu = Cvu::compose(999, u64::try_from(number).unwrap() + 1).unwrap();
    let ours = json!({"cvu": cvu, "cuit": "20055361682"}).to_string();
    let other = "{\"cuit\":\"30717449076\",\"name\":\"Muñoz\"}".to_owned();
    let (ours_name, other_name) = match way {
        MovementWay::In => ("origin_credit", "origin_debit"),
        MovementWay::Out => ("origin_debit", "to"),
    };
    let mut line = vec![
        ("id", format!("\"1-30717449076-{number}-0\"")),
        ("coelsa_id", format!("\"80V1JXON1874QG39Z6{number:04}\"")),
        ("status", "\"COMPLETED\"".to_owned()),
        ("type", "\"TRANSFERENCIA\"".to_owned()),
        (
            "value",
            format!("{{\"currency\":\"ARS\",\"amount\":\"{}.50\"}}", number + 1),
        ),
        ("concept", "\"VAR\"".to_owned()),
        ("description", "\"d\"".to_owned()),
        (ours_name, ours),
        (other_name, other),
        ("start_date", "\"2026-11-21T12:00:00.000Z\"".to_owned()),
        ("business_date", "\"2026-11-21T03:00:00.000Z\"".to_owned()),
    ];
    if way == MovementWay::Out {
        line.push(("origin_id", format!("\"{}\"", super::transfers::origin(3))));
    }
    line
}

fn written(line: &Line) -> String {
    let members = line
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// What a mutation makes of a line.
enum Fate {
    /// It counts as before, but for the name of the other side.
    Counts(Option<&'static str>),
    /// It is reported.
    Reported,
    /// It is a line that is there already.
    Twice,
}

/// Mutates a line of a page; returns it with its fate.
fn mutated(dice: &mut Dice, way: MovementWay, at: usize) -> (String, Fate) {
    let mut this = line(way, at);
    let (ours, other) = match way {
        MovementWay::In => ("origin_credit", "origin_debit"),
        MovementWay::Out => ("origin_debit", "to"),
    };
    let set = |this: &mut Line, name: &str, value: &str| {
        let member = this.iter_mut().find(|(known, _)| *known == name).unwrap();
        value.clone_into(&mut member.1);
    };
    let kept = Fate::Counts(Some("Muñoz"));
    match dice.roll(9) {
        0 => {
            let (name, read) = dice.of(&NAMES);
            set(&mut this, other, &format!("{{\"name\":{name}}}"));
            (written(&this), Fate::Counts(read))
        }
        1 => {
            let name = dice.of(&["concept", "description", "start_date"]);
            set(&mut this, name, dice.of(&NONSENSE));
            (written(&this), kept)
        }
        2 => {
            this.push(("extra", dice.of(&NONSENSE).to_owned()));
            this.push(("extra", "\"\\ud83d\"".to_owned()));
            (written(&this), kept)
        }
        3 => {
            let name = dice.of(&["concept", "description", "start_date", "business_date"]);
            this.retain(|(known, _)| *known != name);
            (written(&this), kept)
        }
        4 => {
            let name = dice.of(&["id", "status", "type", "value", ours]);
            this.retain(|(known, _)| *known != name);
            (written(&this), Fate::Reported)
        }
        5 => {
            let name = dice.of(&["id", "status", "value", ours]);
            set(&mut this, name, dice.of(&NONSENSE));
            (written(&this), Fate::Reported)
        }
        6 => {
            let name = dice.of(&["id", "coelsa_id", "status", "type", "value"]);
            let (_, value) = this.iter().find(|(known, _)| *known == name).unwrap();
            this.push((name, value.clone()));
            (written(&this), Fate::Reported)
        }
        7 => (
            dice.of(&["5", "null", "[]", "\"x\"", "[{}]"]).to_owned(),
            Fate::Reported,
        ),
        _ if at == 0 => (written(&this), kept),
        _ if dice.roll(2) == 0 => (written(&line(way, 0)), Fate::Twice),
        _ => {
            set(&mut this, "id", "\"1-30717449076-0-0\"");
            (written(&this), Fate::Reported)
        }
    }
}

/// The bytes of a text in one of the ways in which a bank may send it, with their `Content-Type`.
fn encoded(dice: &mut Dice, text: &str) -> (Vec<u8>, Option<&'static str>) {
    let latin = text.chars().map(|c| u8::try_from(u32::from(c)));
    let latin: Vec<u8> = latin.collect::<Result<_, _>>().unwrap();
    let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    match dice.roll(6) {
        0 => (latin, Some("application/json; charset=ISO-8859-1")),
        1 => (latin, Some("application/json")),
        2 => (latin, None),
        3 => (
            [b"\xff\xfe".as_slice(), &units].concat(),
            Some("application/json"),
        ),
        4 => ([b"\xef\xbb\xbf", text.as_bytes()].concat(), None),
        _ => (
            text.as_bytes().to_vec(),
            Some("application/json; charset=utf-8"),
        ),
    }
}

fn answer((bytes, kind): (Vec<u8>, Option<&str>)) -> BankResponse {
    let body = decoded(&bytes, kind);
    BankResponse { status: 200, body }
}

fn listed(answer: &BankResponse, way: MovementWay) -> (Vec<BankMovement>, Vec<UnreadableLine>) {
    let mut lines = DayLines::of(day());
    lines.take(day_page(answer, day(), way).unwrap());
    lines.both()
}

#[test]
fn ten_thousand_mutated_lists() {
    let (mut counted, mut reported) = (0, 0);
    for seed in 0..ANSWERS {
        let mut dice = Dice(seed);
        let way = dice.of(&[MovementWay::In, MovementWay::Out]);
        let count = 2 + dice.roll(6);
        let (mut texts, mut right) = (Vec::new(), Vec::new());
        let mut unread = BTreeSet::new();
        for at in 0..count {
            let alone = answer((format!("[{}]", written(&line(way, at))).into_bytes(), None));
            let (mut movements, none) = listed(&alone, way);
            assert!(none.is_empty());
            let mut truth = movements.remove(0);
            // The first line is whole: others repeat it.
            let (text, fate) = if at > 0 && dice.roll(2) == 0 {
                mutated(&mut dice, way, at)
            } else {
                (written(&line(way, at)), Fate::Counts(Some("Muñoz")))
            };
            match fate {
                Fate::Counts(name) => {
                    truth.counterparty.name = name.map(str::to_owned);
                    right.push(truth);
                }
                // Lines of which nothing can be read, and that are equal, are one.
                Fate::Reported => {
                    unread.insert(text.clone());
                }
                Fate::Twice => {}
            }
            texts.push(text);
        }
        let controls = dice.of(&["", "\n", "\u{1}\u{0}", " \t\u{1f}"]);
        let body = format!("[{}]", texts.join(&format!(",{controls}")));
        let (movements, unreadable) = listed(&answer(encoded(&mut dice, &body)), way);
        let plain = |all: &[BankMovement]| {
            let all = all.iter().cloned().map(|mut it| {
                // Who is on the other side, the purpose and the instant are for people.
                it.counterparty.cuit = None;
                it.counterparty.concept = None;
                it.at = day().start();
                it
            });
            all.collect::<Vec<_>>()
        };
        assert_eq!(plain(&movements), plain(&right), "{seed}: {body}");
        assert_eq!(unreadable.len(), unread.len(), "{seed}: {body}");
        counted += movements.len();
        reported += unreadable.len();
    }
    assert!(counted > 20_000 && reported > 5_000, "{counted} {reported}");
}

#[test]
fn ten_thousand_mutated_states_and_notices() {
    let cvu = Cvu::compose(999, 1).unwrap();
    let origin = super::transfers::origin(3);
    for seed in 0..ANSWERS {
        let mut dice = Dice(seed);
        let (text, fate) = mutated(&mut dice, MovementWay::Out, 0);
        match state(origin)(&answer(encoded(&mut dice, &text))) {
            Verdict::Done(Some(known)) => {
                assert_eq!(known.bank_id, "1-30717449076-0-0", "{seed}: {text}");
                let amount = known.moved.amount.map(|amount| amount.to_string());
                assert!(amount.is_none_or(|amount| amount == "1.50"), "{text}");
            }
            Verdict::Nonsense => {
                assert!(matches!(fate, Fate::Reported), "{seed}: {text}");
            }
            other => panic!("{seed}: {other:?} of {text}"),
        }
        let (text, fate) = mutated(&mut dice, MovementWay::In, 0);
        let details = text
            .replacen("\"origin_credit\"", "\"details\":{\"origin_credit\"", 1)
            .replacen(",\"start_date\"", "},\"start_date\"", 1);
        let whole = details.contains("\"details\"") && details.contains("},\"start_date\"");
        let body = format!(
            "{{\"id\":\"ntc_1\",\"object\":\"event\",\"created\":\"2026-11-21T12:00:00.000Z\",\
             \"type\":\"transfer.cvu.received\",\"data\":{details}}}"
        );
        let (bytes, kind) = encoded(&mut dice, &body);
        let heard = notices::read(&bytes, kind, Timestamp::default());
        match (heard, fate) {
            (
                Ok(Notice::Received {
                    cvu: to, amount, ..
                }),
                _,
            ) => {
                assert_eq!((to, amount.to_string().as_str()), (cvu, "1.50"), "{body}");
            }
            (Err(_), Fate::Counts(_)) if whole => panic!("{seed}: {body}"),
            (Err(_), _) => {}
            (Ok(other), _) => panic!("{other:?}"),
        }
    }
}
