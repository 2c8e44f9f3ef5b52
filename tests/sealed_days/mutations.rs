//! Files that were changed at random, always in the same way: none is accepted.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::day::{Day, Realm, days};
use crate::programs::{node, python, said, written};
use crate::sealed::VerifierKey;
use crate::wrong::{verified, word};

/// How many changed files the Rust verifier reads.
const MUTATIONS: usize = 10_000;
/// Each n-th of them is read by the other verifiers, too.
const EACH: usize = 25;

/// SplitMix64: numbers that look random and are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bound = u64::try_from(bound).unwrap();
        usize::try_from((mixed ^ (mixed >> 31)) % bound).unwrap()
    }
}

/// The places of a value and of everything in it, as pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, it)| (name.clone(), it)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(n, it)| (n.to_string(), it))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, it) in below {
        let place = format!("{at}/{name}");
        places(it, &place, found);
        found.push(place);
    }
}

/// A text with a digit or a side changed, so that it keeps its form, or with a letter changed in one bit, removed, doubled
/// or moved.
fn text(text: &str, numbers: &mut Numbers) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let digits = (0..letters.len()).filter(|at| letters[*at].is_ascii_digit());
    let digits: Vec<usize> = digits.collect();
    let at = numbers.below(letters.len());
    match numbers.below(8) {
        0 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letters[at]),
        2 => letters.swap(at, 0),
        3 => {
            let bit = 1 << numbers.below(7);
            letters[at] = char::from_u32(u32::from(letters[at]) ^ bit).unwrap();
        }
        _ if text == "left" => return "right".to_owned(),
        _ if text == "right" => return "left".to_owned(),
        _ if digits.is_empty() => {}
        _ => {
            let digit = u32::try_from(numbers.below(10)).unwrap();
            letters[digits[numbers.below(digits.len())]] = char::from_digit(digit, 10).unwrap();
        }
    }
    letters.into_iter().collect()
}

/// A value that is another one in place of a value.
fn value(value: &Value, numbers: &mut Numbers) -> Value {
    match value {
        Value::String(it) if numbers.below(12) > 0 => text(it, numbers).into(),
        Value::Number(it) => {
            let number = it.as_u64().unwrap();
            match numbers.below(3) {
                0 => (number + 1).into(),
                1 => (number ^ (1 << numbers.below(53))).into(),
                _ => json!(number.to_string()),
            }
        }
        Value::Array(items) => {
            let mut items = items.clone();
            let at = numbers.below(items.len());
            match numbers.below(3) {
                0 => {
                    items.remove(at);
                }
                1 => items.insert(at, items[at].clone()),
                _ => items.reverse(),
            }
            items.into()
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_) => Value::Null,
    }
}

/// A file with one change. `other` is a file of the same kind, whose parts are put into this one.
fn mutated(file: &Value, other: &Value, numbers: &mut Numbers) -> Vec<u8> {
    let bytes = serde_json::to_vec(file).unwrap();
    if numbers.below(4) == 0 {
        // One bit, anywhere.
        let mut bytes = bytes;
        let at = numbers.below(bytes.len());
        bytes[at] ^= 1 << numbers.below(8);
        return bytes;
    }
    let mut found = Vec::new();
    places(file, "", &mut found);
    loop {
        let place = &found[numbers.below(found.len())];
        let new = match other.pointer(place) {
            Some(part) if numbers.below(4) == 0 => part.clone(),
            Some(_) | None => value(file.pointer(place).unwrap(), numbers),
        };
        let mut changed = file.clone();
        *changed.pointer_mut(place).unwrap() = new;
        if changed != *file {
            return serde_json::to_vec(&changed).unwrap();
        }
    }
}

/// Pairs of files of the same kind: proofs of other accounts, days of other dates and realms.
fn pairs(realm: &Realm, days: &[Day; 3]) -> Vec<(Value, Value)> {
    let [first, second, third] = days;
    let other_realm = Realm::new("acme", 2);
    let mut pairs = vec![
        (first.file(realm), second.file(realm)),
        (third.file(realm), third.file(&other_realm)),
    ];
    for at in [0, 1, 77, 2_048, 4_095, 4_096, 4_999] {
        let next = (at + 1) % 5_000;
        pairs.push((second.proof(realm, at), second.proof(realm, next)));
        pairs.push((second.proof(realm, at), third.proof(realm, at)));
        pairs.push((second.proof(realm, at), second.proof(&other_realm, at)));
    }
    pairs
}

#[test]
fn no_changed_file_is_accepted() {
    let realm = Realm::new("acme", 1);
    let days = days(&realm, ["2026-02-28", "2026-03-01", "2026-03-02"], 5_000);
    let key = VerifierKey::parse(&realm.key());
    let pairs = pairs(&realm, &days);
    let mut numbers = Numbers(2_026);
    let (mut accepted, mut sample, mut refused) =
        (Vec::new(), Vec::new(), std::collections::BTreeMap::new());
    for (file, _) in &pairs {
        let bytes = serde_json::to_vec(file).unwrap();
        assert!(verified(&bytes, None).is_ok() && verified(&bytes, key.as_ref()).is_ok());
    }
    for count in 0..MUTATIONS {
        let (file, other) = &pairs[numbers.below(pairs.len())];
        let bytes = mutated(file, other, &mut numbers);
        let key = key.as_ref().filter(|_| numbers.below(2) == 0);
        match verified(&bytes, key) {
            Ok(_) => accepted.push(String::from_utf8_lossy(&bytes).into_owned()),
            Err(why) => {
                let line = why.to_string();
                *refused.entry(word(&line).to_owned()).or_insert(0) += 1;
                if count % EACH == 0 && key.is_none() {
                    sample.push((format!("{count:05}.json"), bytes, word(&line).to_owned()));
                }
            }
        }
    }
    let total: usize = refused.values().sum();
    println!("{} accepted, {total} refused: {refused:?}", accepted.len());
    assert_eq!(accepted, Vec::<String>::new());
    assert_eq!(total, MUTATIONS);
    others_refuse(&sample);
}

/// The other verifiers refuse these for the same reasons.
fn others_refuse(sample: &[(String, Vec<u8>, String)]) {
    assert!(sample.len() > 100, "{}", sample.len());
    let folder = TempDir::new().unwrap();
    let files = sample
        .iter()
        .map(|(name, bytes, _)| (name.as_str(), bytes.clone()));
    let files = written(folder.path(), files);
    for (program, ended) in [
        ("python", python("docs/verify/verify_day.py", &files)),
        ("node", node(&files)),
    ] {
        let Some(ended) = ended else { continue };
        let (lines, code) = said(&ended);
        let why = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(
            (lines.len(), code),
            (sample.len(), Some(1)),
            "{program}: {why}"
        );
        let refused = lines.iter().filter(|line| word(line) != "verified").count();
        println!(
            "{program}: {} accepted, {refused} refused",
            lines.len() - refused
        );
        for (line, (_, bytes, expected)) in lines.iter().zip(sample) {
            let file = String::from_utf8_lossy(bytes);
            assert_eq!(word(line), expected, "{program}: {line}: {file}");
        }
    }
}
